"""Who may ask what of the server, and what a browser may do with its answers.

- Without tokens the server listens on loopback alone, anybody there may read, and nobody may change anything. The
  ``Host`` must then be a name of this machine: a foreign name that was made to point here (DNS rebinding) is refused.
- With tokens every request needs one: as ``Authorization: Bearer``, or as the cookie that the page ``/login`` gives for
  one. Roles are ``read``, ``upload`` and ``run``; each includes ``read``.
- What could change something must come from a program or from a page of this very server (``Sec-Fetch-Site`` and
  ``Origin``): no other site can make a browser do it.
- Every answer forbids inline scripts, foreign sources, frames and guessing of types.

Tokens are kept as SHA-256 and compared in constant time; wrong ones are answered slowly, and not many of them.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import ip_address
from math import ceil
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from assay.foundation.errors import SpecificationError
from assay.interfaces.web.server.login_limits import Tries

COOKIE: Final = "assay_session"
SESSION_S: Final = 12 * 3600.0
SESSIONS_MAX: Final = 1000
TOKEN_LENGTH_MIN: Final = 20
LOGIN_BYTES_MAX: Final = 10_000
_FILE_BYTES_MAX = 100_000
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


class Role(StrEnum):
    """What a token is good for."""

    READ = "read"
    UPLOAD = "upload"
    RUN = "run"


Roles = frozenset[Role]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not answered: an HTTP status and words."""

    status: int
    message: str
    hint: str


NO_TOKEN: Final = Refusal(
    401,
    "this server asks for a token",
    "Authorization: Bearer TOKEN; `assay pull` and `push`: --token-file FILE or ASSAY_TOKEN; in a browser: /login",
)


@dataclass(slots=True)
class Guard:
    """What the server asks of requests. ``tokens``: SHA-256 (hex) to roles; empty: loopback without tokens."""

    tokens: Mapping[str, Roles]
    sessions: dict[str, tuple[float, Roles]] = field(default_factory=dict)
    """SHA-256 of a session's secret to its end (Unix time) and roles."""
    tries: Tries = field(default_factory=Tries)
    wrong_s: float = 1.0
    """How long whoever shows a wrong token waits for the answer."""

    def roles(self, bearer: str | None, cookie: str | None) -> Roles:
        """Return what a request may do; nothing when it has to show a token first."""
        if not self.tokens:
            return frozenset({Role.READ})
        if bearer is not None:
            return self.roles_of_token(bearer)
        if cookie is not None:
            ends, roles = self.sessions.get(_hashed(cookie), (0.0, frozenset[Role]()))
            return roles if ends > time.time() else frozenset()
        return frozenset()

    def roles_of_token(self, token: str) -> Roles:
        """Return a token's roles; none for a token that is not known."""
        hashed, found = _hashed(token), frozenset[Role]()
        for known, roles in self.tokens.items():  # all of them: how long it takes tells nothing
            if hmac.compare_digest(known, hashed):
                found = roles | {Role.READ}
        return found

    def tried(self, address: str, token: str) -> Roles | Refusal:
        """Return the roles of a token that somebody at an address shows, none for a wrong one, or why it isn't read."""
        hashed = _hashed(token)
        wait_s = self.tries.wait_s(address, hashed)
        if wait_s > 0:
            return Refusal(429, "too many wrong tokens came from your address", f"try again in {ceil(wait_s)} s")
        roles = self.roles_of_token(token)
        if roles:
            self.tries.right(address, hashed)
        else:
            self.tries.wrong(address)
        return roles

    def open_session(self, roles: Roles) -> str:
        """Return the secret of a new session with these roles."""
        now = time.time()
        for key in [key for key, (ends, _) in self.sessions.items() if ends <= now]:
            del self.sessions[key]
        while len(self.sessions) >= SESSIONS_MAX:
            self.sessions.pop(next(iter(self.sessions)))
        secret = secrets.token_urlsafe(32)
        self.sessions[_hashed(secret)] = (now + SESSION_S, roles)
        return secret

    def close_session(self, secret: str) -> None:
        """Forget a session."""
        self.sessions.pop(_hashed(secret), None)

    def refuse_host(self, host: str | None) -> Refusal | None:
        """Return why the ``Host`` of a request is refused; None when it is not."""
        if self.tokens or (host is not None and is_loopback(_name_of(host))):
            return None
        return Refusal(421, "this server answers on this machine alone", "open it as localhost or 127.0.0.1")

    def refuse_change(
        self, *, bearer: bool, cookie: bool, site: str | None, origin: str | None, host: str | None
    ) -> Refusal | None:
        """Return why a request that could change something is refused; None when it is not.

        A browser always says from where it posts; what says nothing and has no cookie is a program.
        """
        program = site is None and origin is None and not cookie
        own_page = site in (None, "same-origin", "none") and origin is not None and _host_of(origin) == host
        if bearer or program or own_page:
            return None
        return Refusal(
            403,
            "this request does not come from a page of this server",
            "a program shows its token: Authorization: Bearer …",
        )


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _host_of(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _name_of(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def is_loopback(name: str) -> bool:
    """Say whether a host name or address is this machine's own, whatever a name server says."""
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def read_tokens(path: Path) -> dict[str, Roles]:
    """Return the tokens of a file by their SHA-256: a line each, ``ROLE[,ROLE] TOKEN``; ``#`` begins a comment.

    Raises :class:`SpecificationError` when the file can't be read, others may read it, or a line has another form.
    """
    try:
        mode = path.stat().st_mode
        with path.open("rb") as file:
            text = file.read(_FILE_BYTES_MAX).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecificationError(f"the token file can't be read: {error}", where=str(path)) from error
    if mode & 0o077:
        raise SpecificationError("others may read the token file", where=str(path), hint=f"chmod 600 {path}")
    found: dict[str, Roles] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        where = f"{path}:{number}"
        if len(words) != 2:
            raise SpecificationError("a line is ROLES TOKEN", where=where, hint="such as: read,upload 3kT9…")
        try:
            roles = frozenset(Role(name) for name in words[0].split(","))
        except ValueError as error:
            raise SpecificationError(
                f"{words[0]!r} are no roles", where=where, hint=f"roles: {', '.join(Role)}, joined by commas"
            ) from error
        if len(words[1]) < TOKEN_LENGTH_MIN:
            raise SpecificationError(
                f"a token has at least {TOKEN_LENGTH_MIN} characters",
                where=where,
                hint="python3 -c 'import secrets; print(secrets.token_urlsafe(32))'",
            )
        found[_hashed(words[1])] = roles
    if not found:
        raise SpecificationError("there is no token in the file", where=str(path), hint="a line is: read TOKEN")
    return found
