"""Decide which requests the server answers, and set the security headers of its answers.

- Without tokens the server listens on loopback only. Every local user may read; no user may change anything. The
  ``Host`` header must name this machine, which blocks DNS rebinding.
- With tokens, every request needs a token, as ``Authorization: Bearer`` or through the session cookie that ``/login``
  sets. Roles are ``read``, ``upload`` and ``run``; each includes ``read``.
- A request that can change data must come from a program or from a page of this server (``Sec-Fetch-Site`` and
  ``Origin``). Other sites therefore cannot make a browser send it.
- Every answer forbids inline scripts, foreign sources, frames and content sniffing.

Tokens are stored as SHA-256 and compared in constant time. The answer to a wrong token is delayed, and the number of
wrong tokens per address is limited.
"""

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import ip_address
from math import ceil
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

from assay.foundation.errors import SpecificationError

COOKIE: Final = "assay_session"
SESSION_S: Final = 12 * 3600.0
"""Duration of a session, in seconds."""
SESSIONS_MAX: Final = 1000
"""Maximum number of open sessions; a new session replaces the oldest."""
TOKEN_LENGTH_MIN: Final = 20
"""Minimum length of a token, in characters."""
LOGIN_BYTES_MAX: Final = 10_000
"""Maximum size of a sign-in request's body, in bytes."""
_FILE_BYTES_MAX = 100_000
"""Maximum number of bytes read from a token file."""
ATTEMPTS_MAX: Final = 5
"""Maximum number of wrong tokens from an address before it must wait."""
ATTEMPTS_PER_S: Final = 0.5
"""Rate at which an address regains attempts, per second."""
ATTEMPTS_MAX_OF_ALL: Final = 100
ATTEMPTS_PER_S_OF_ALL: Final = 10.0
"""The same limits for all addresses together."""
_ADDRESSES_MAX: Final = 10_000
"""Maximum number of addresses, and of accepted pairs of address and token, that the login limiter remembers."""
K = TypeVar("K")
V = TypeVar("V")
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class AccessRole(StrEnum):
    """Role of a token."""

    READ = "read"
    UPLOAD = "upload"
    RUN = "run"


Roles = frozenset[AccessRole]


@dataclass(frozen=True, slots=True)
class Refusal:
    """The refusal of a request: an HTTP status, a message and a hint."""

    status: int
    message: str
    hint: str


NO_TOKEN: Final = Refusal(
    401,
    "this server needs a token",
    "Authorization: Bearer TOKEN; `assay pull` and `push`: --token-file FILE or ASSAY_TOKEN; in a browser: /login",
)


class LoginLimiter:
    """Limits the rate of wrong tokens, with a token bucket per address and a token bucket for all addresses.

    An address without attempts left is refused even with a valid token; otherwise guessing would stay fast. A token
    that was accepted from the same address before always passes, so one client behind a proxy cannot lock out others.
    ``clock``: monotonic clock, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._spent_attempts: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """By address: number of spent attempts that are not yet regained, and the time of that number."""
        self._spent_attempts_of_all = (0.0, clock())
        self._accepted_tokens: OrderedDict[tuple[str, str], None] = OrderedDict()

    def wait_s(self, address: str, token_hash: str) -> float:
        """Return the wait in seconds before a token from this address is checked; 0 for no wait.

        ``token_hash``: SHA-256 of the token.
        """
        if (address, token_hash) in self._accepted_tokens:
            return 0.0
        spent_of_address = self._spent_attempts_now(self._spent_attempts.get(address, (0.0, 0.0)), ATTEMPTS_PER_S)
        spent_of_all = self._spent_attempts_now(self._spent_attempts_of_all, ATTEMPTS_PER_S_OF_ALL)
        return max(
            0.0,
            (spent_of_address + 1 - ATTEMPTS_MAX) / ATTEMPTS_PER_S,
            (spent_of_all + 1 - ATTEMPTS_MAX_OF_ALL) / ATTEMPTS_PER_S_OF_ALL,
        )

    def accept(self, address: str, token_hash: str) -> None:
        """Remember that this token was accepted."""
        _remember(self._accepted_tokens, (address, token_hash), None)

    def reject(self, address: str) -> None:
        """Count a wrong token."""
        now = self._clock()
        _remember(
            self._spent_attempts,
            address,
            (self._spent_attempts_now(self._spent_attempts.get(address, (0.0, now)), ATTEMPTS_PER_S) + 1, now),
        )
        self._spent_attempts_of_all = (
            self._spent_attempts_now(self._spent_attempts_of_all, ATTEMPTS_PER_S_OF_ALL) + 1,
            now,
        )

    def _spent_attempts_now(self, spent: tuple[float, float], per_s: float) -> float:
        """Return the attempts that are not yet regained. ``spent``: their number at an earlier time, and this time."""
        return max(0.0, spent[0] - (self._clock() - spent[1]) * per_s)


def _remember(entries: OrderedDict[K, V], key: K, value: V) -> None:
    entries[key] = value
    entries.move_to_end(key)
    if len(entries) > _ADDRESSES_MAX:
        entries.popitem(last=False)


@dataclass(slots=True)
class Guard:
    """The server's access rules. ``tokens``: SHA-256 of a token (hex) to its roles; empty for no tokens."""

    tokens: Mapping[str, Roles]
    sessions: dict[str, tuple[float, Roles]] = field(default_factory=dict)
    """SHA-256 of a session's secret to the session's end (Unix time) and roles."""
    login_limiter: LoginLimiter = field(default_factory=LoginLimiter)
    wrong_token_delay_s: float = 1.0
    """Delay of the answer to a wrong token, in seconds."""

    def roles(self, bearer: str | None, cookie: str | None) -> Roles:
        """Return the roles of a request; an empty set if it needs a token."""
        if not self.tokens:
            return frozenset({AccessRole.READ})
        if bearer is not None:
            return self.roles_of_token(bearer)
        if cookie is not None:
            ends_at_s, roles = self.sessions.get(_hash_of(cookie), (0.0, frozenset[AccessRole]()))
            return roles if ends_at_s > time.time() else frozenset()
        return frozenset()

    def roles_of_token(self, token: str) -> Roles:
        """Return a token's roles; an empty set for an unknown token."""
        token_hash, token_roles = _hash_of(token), frozenset[AccessRole]()
        for stored_hash, roles in self.tokens.items():  # no early exit: the time must not reveal which token matched
            if hmac.compare_digest(stored_hash, token_hash):
                token_roles = roles | {AccessRole.READ}
        return token_roles

    def check_token(self, address: str, token: str) -> Roles | Refusal:
        """Return the roles of a token (an empty set for a wrong token), or a refusal if the address must wait."""
        token_hash = _hash_of(token)
        wait_s = self.login_limiter.wait_s(address, token_hash)
        if wait_s > 0:
            return Refusal(429, "too many wrong tokens came from your address", f"try again in {ceil(wait_s)} s")
        roles = self.roles_of_token(token)
        if roles:
            self.login_limiter.accept(address, token_hash)
        else:
            self.login_limiter.reject(address)
        return roles

    def open_session(self, roles: Roles) -> str:
        """Return the secret of a new session with these roles."""
        now = time.time()
        for key in [key for key, (ends_at_s, _) in self.sessions.items() if ends_at_s <= now]:
            del self.sessions[key]
        while len(self.sessions) >= SESSIONS_MAX:
            self.sessions.pop(next(iter(self.sessions)))
        secret = secrets.token_urlsafe(32)
        self.sessions[_hash_of(secret)] = (now + SESSION_S, roles)
        return secret

    def close_session(self, secret: str) -> None:
        """Forget a session."""
        self.sessions.pop(_hash_of(secret), None)

    def refuse_host(self, host: str | None) -> Refusal | None:
        """Return the refusal of a request's ``Host`` header; None if it is permitted."""
        if self.tokens or (host is not None and is_loopback(_host_name_of(host))):
            return None
        return Refusal(421, "this server answers only on this machine", "open it as localhost or 127.0.0.1")

    def refuse_change(
        self, *, bearer: bool, cookie: bool, site: str | None, origin: str | None, host: str | None
    ) -> Refusal | None:
        """Return the refusal of a request that can change data; None if it is permitted.

        A browser always sends the site that it posts from. A request without this site and without a cookie comes from
        a program.
        """
        is_from_program = site is None and origin is None and not cookie
        is_from_this_server = site in (None, "same-origin", "none") and origin is not None and _host_of(origin) == host
        if bearer or is_from_program or is_from_this_server:
            return None
        return Refusal(
            403,
            "this request does not come from a page of this server",
            "programs send their token: Authorization: Bearer …",
        )


def _hash_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _host_of(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _host_name_of(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def is_loopback(name: str) -> bool:
    """Return whether a host name or address is loopback, without a DNS query."""
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def read_tokens(path: Path) -> dict[str, Roles]:
    """Read a token file; return the roles by SHA-256 of the token.

    A line is ``ROLE[,ROLE] TOKEN``; ``#`` starts a comment. Raises :class:`SpecificationError` if the file can't be
    read, has no token or a malformed line, or can be read by other users.
    """
    try:
        mode = path.stat().st_mode
        with path.open("rb") as file:
            text = file.read(_FILE_BYTES_MAX).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecificationError(f"the token file can't be read: {error}", where=str(path)) from error
    if mode & 0o077:
        raise SpecificationError("other users may read the token file", where=str(path), hint=f"chmod 600 {path}")
    tokens: dict[str, Roles] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        parts = line.partition("#")[0].split()
        if not parts:
            continue
        where = f"{path}:{number}"
        if len(parts) != 2:
            raise SpecificationError("a line must be ROLES TOKEN", where=where, hint="for example: read,upload 3kT9…")
        try:
            roles = frozenset(AccessRole(name) for name in parts[0].split(","))
        except ValueError as error:
            raise SpecificationError(
                f"unknown roles: {parts[0]!r}", where=where, hint=f"roles: {', '.join(AccessRole)}, joined by commas"
            ) from error
        if len(parts[1]) < TOKEN_LENGTH_MIN:
            raise SpecificationError(
                f"the token is too short: at least {TOKEN_LENGTH_MIN} characters",
                where=where,
                hint="python3 -c 'import secrets; print(secrets.token_urlsafe(32))'",
            )
        tokens[_hash_of(parts[1])] = roles
    if not tokens:
        raise SpecificationError("the token file has no token", where=str(path), hint="add a line: read TOKEN")
    return tokens
