"""Copy bundles from and to a remote repository, for ``assay pull URL`` and ``assay push URL``.

In: the address of an ``assay serve``, a token if required, a local repository. Out: copied bundles. Each bundle is
copied completely or not at all, and checked against the checksum of the transfer and its own checksums. Bundles that
exist at the target are skipped, so the same command resumes after an interruption.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import ssl
import threading
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from assay.foundation.errors import RepositoryError
from assay.store.bundles.bundle import BundleProblem, ProblemKind, check_bundle
from assay.store.exchange.exchange import CopySummary
from assay.store.exchange.transfer import BUNDLE_ID, RefusedBundleError, bundle_ids, pack, receive
from assay.store.repository import Repository

if TYPE_CHECKING:
    import httpx

BUNDLE_BYTES_MAX = 64 * 10**9
"""Maximum size of a received bundle, in bytes."""
_BUNDLES_MAX = 1_000_000
"""Maximum number of bundles that a server may list."""
_LIST_TIMEOUT_FACTOR = 10
"""Maximum time for the whole list of bundles, in multiples of the wait for one response."""
_ANSWER_BYTES_MAX = 10_000_000
"""Maximum size of a server's JSON response, in bytes."""
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class TransferLimit:
    """Limits of slow servers. Every transfer ends: after ``wait_s``, its average rate must reach the minimum."""

    wait_s: float = 60.0
    """Maximum time for a connection, for a response header, and between two reads, in seconds."""
    bytes_per_s: float = 10_000.0
    """Minimum average rate of a body in either direction, after ``wait_s``."""

    def time_max_s(self, size_bytes: int) -> float:
        """Return the maximum time for a transfer of this size."""
        return self.wait_s + size_bytes / self.bytes_per_s


def digest_header(sha256: str) -> str:
    """Return a SHA-256 (hex) as RFC 9530's ``Repr-Digest``."""
    return f"sha-256=:{b64encode(bytes.fromhex(sha256)).decode()}:"


def digest_of(header: str | None) -> str | None:
    """Return the SHA-256 (hex) in a ``Repr-Digest``; None if the header has no valid one."""
    for part in (header or "").split(","):
        name, _, value = part.strip().partition("=")
        if name == "sha-256" and value.startswith(":") and value.endswith(":"):
            try:
                digest = b64decode(value[1:-1], validate=True)
            except ValueError:
                return None
            return digest.hex() if len(digest) == hashlib.sha256().digest_size else None
    return None


_CERTIFICATES_HINT = "SSL_CERT_FILE names a file of certificates (PEM) that are trusted"
_REFUSALS = (
    ("mismatch", "its certificate is for another name", "give the address with a name that the certificate has"),
    ("expired", "its certificate has expired", "the server needs a new certificate"),
    (
        "CERTIFICATE_VERIFY_FAILED",
        "its certificate is not signed by an authority that this host trusts",
        "SSL_CERT_FILE=FILE trusts the authority of that file (PEM), or the certificate itself",
    ),
    ("WRONG_VERSION_NUMBER", "it does not speak TLS", "without a certificate `assay serve` accepts only http://"),
)


def _connection_error_text(error: str) -> tuple[str, str]:
    """Return why a connection failed and what to do, from the message of OpenSSL or the system."""
    for part, message, hint in _REFUSALS:
        if part in error:
            return f"{message}: {error}", hint
    return f"no connection: {error}", "check that `assay serve` runs there and listens on this port"


class Remote:
    """A server with a repository. Use as a context manager; every method raises :class:`RepositoryError` on failure."""

    def __init__(self, url: str, token: str | None = None, limit: TransferLimit = TransferLimit()) -> None:
        import httpx  # imported here: only remote repositories need it

        self.url = url.rstrip("/")
        self._limit = limit
        self._socket: socket.socket | None = None
        self._too_slow = threading.Event()
        headers = {"Accept-Encoding": "identity", **({"Authorization": f"Bearer {token}"} if token else {})}
        try:
            self._client = httpx.Client(
                base_url=f"{self.url}/api/v1/",
                headers=headers,
                timeout=limit.wait_s,
                follow_redirects=False,
                limits=httpx.Limits(max_connections=1),
            )
        except (httpx.InvalidURL, ValueError, ssl.SSLError, OSError) as error:
            raise RepositoryError(
                f"this address or its certificates can't be used: {error}",
                where=url,
                hint=_CERTIFICATES_HINT if isinstance(error, OSError) else None,
            ) from error

    def __enter__(self) -> Remote:
        """Check that the address is an assay server. Raises :class:`RepositoryError`."""
        if not isinstance(self._json("about").get("assay"), str):
            raise self._not_assay()
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self._client.close()
        if self._socket is not None:
            self._socket.close()

    def ids(self) -> list[str]:
        """Return the ids of all bundles on the server."""
        all_ids: list[str] = []
        began_s = time.monotonic()
        while len(all_ids) <= _BUNDLES_MAX:
            if time.monotonic() - began_s > _LIST_TIMEOUT_FACTOR * self._limit.wait_s:
                raise self._timeout_error()
            page = self._json("bundles", params={"after": all_ids[-1] if all_ids else ""})
            ids = page.get("bundles")
            if not isinstance(ids, list) or not all(isinstance(i, str) and BUNDLE_ID.fullmatch(i) for i in ids):
                raise self._not_assay()
            if any(later <= earlier for earlier, later in pairwise([*all_ids[-1:], *ids])):
                raise self._not_assay("its list of bundles is not in order")
            all_ids += ids
            if not page.get("more") or not ids:
                return all_ids
        raise self._not_assay(f"it lists more than {_BUNDLES_MAX:,} bundles")

    def fetch(self, bundle_id: str, target: Repository) -> bool:
        """Receive a bundle; return whether it is new. Also raises if it is truncated or differs from its checksum."""
        digest, size = hashlib.sha256(), 0
        with target.scratch_file() as file, self._stream("GET", f"bundles/{bundle_id}") as answer:
            for chunk in self._chunks(answer.iter_raw()):
                size += len(chunk)
                if size > BUNDLE_BYTES_MAX:
                    raise RepositoryError(f"more than {BUNDLE_BYTES_MAX} bytes in one bundle", where=bundle_id)
                digest.update(chunk)
                file.write(chunk)
            if digest_of(answer.headers.get("Repr-Digest")) != digest.hexdigest():
                raise RefusedBundleError(
                    "the received data do not match their checksum",
                    where=f"{self.url}: {bundle_id}",
                    hint="the same command copies the missing bundles",
                )
            file.seek(0)
            return receive(target, bundle_id, cast("BinaryIO", file), bytes_max=BUNDLE_BYTES_MAX)

    def send(self, bundle_id: str, source: Repository) -> bool:
        """Send a bundle; return whether it is new on the server."""
        packed = pack(source, bundle_id)
        headers = {
            "Content-Type": "application/x-tar",
            "Content-Length": str(packed.size_bytes),
            "Repr-Digest": digest_header(packed.sha256),
        }
        content = self._chunks(packed.chunks())
        header_max_s = self._limit.time_max_s(packed.size_bytes)  # the header follows the whole bundle
        with self._stream("PUT", f"bundles/{bundle_id}", header_max_s, content=content, headers=headers) as answer:
            return answer.status_code == 201

    def _json(self, path: str, **options: Any) -> dict[str, Any]:
        with self._stream("GET", path, **options) as answer:
            value = self._object(answer)
        if value is None:
            raise self._not_assay()
        return value

    @contextmanager
    def _stream(
        self, method: str, path: str, header_max_s: float | None = None, **options: Any
    ) -> Iterator[httpx.Response]:
        """Send a request and yield its response, whose header must arrive in time: httpx limits only single reads."""
        timer = threading.Timer(self._limit.wait_s if header_max_s is None else header_max_s, self._close)
        timer.daemon = True
        timer.start()
        try:
            extensions = {"trace": self._note_socket}
            with (
                self._translate_errors(),
                self._client.stream(method, path, extensions=extensions, **options) as answer,
            ):
                timer.cancel()
                self._raise_for_status(answer)
                yield answer
        finally:
            timer.cancel()

    def _note_socket(self, event: str, details: dict[str, Any]) -> None:
        """Store a duplicate descriptor of a new connection, because TLS takes over the first descriptor."""
        if event == "connection.connect_tcp.complete":
            descriptor = os.dup(details["return_value"].get_extra_info("socket").fileno())
            if self._socket is not None:
                self._socket.close()
            self._socket = socket.socket(fileno=descriptor)

    def _close(self) -> None:
        """Close the connection, so that a waiting read ends."""
        self._too_slow.set()
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _chunks(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield data as it is received or sent. Raises :class:`RepositoryError` if the transfer is too slow."""
        began_s, size_bytes = time.monotonic(), 0
        for chunk in chunks:
            size_bytes += len(chunk)
            if time.monotonic() - began_s > self._limit.time_max_s(size_bytes):
                raise self._timeout_error()
            yield chunk

    def _timeout_error(self) -> RepositoryError:
        return RepositoryError(
            "it does not answer in time",
            where=self.url,
            hint=f"a transfer must reach {self._limit.bytes_per_s / 1000:g} kB/s on average; "
            "the same command resumes where this one ended",
        )

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Convert network errors into :class:`RepositoryError`."""
        import httpx

        try:
            yield
        except httpx.HTTPError as error:
            if self._too_slow.is_set():
                raise self._timeout_error() from error
            raise self._network_error(error) from error
        except httpx.InvalidURL as error:
            raise RepositoryError(f"the request failed: {error}", where=self.url) from error

    def _network_error(self, error: httpx.HTTPError) -> RepositoryError:
        import httpx

        hint = "the same command resumes where this one ended"
        match error:
            case httpx.ConnectError():
                message, hint = _connection_error_text(str(error))
            case httpx.TimeoutException():
                return self._timeout_error()
            case httpx.TransportError():
                message = f"the connection broke: {error}"
                if isinstance(error, httpx.RemoteProtocolError) and self.url.startswith("http:"):
                    hint = f"this server may accept only https: try https{self.url.removeprefix('http')}"
            case _:
                message = f"the request failed: {error}"
        return RepositoryError(message, where=self.url, hint=hint)

    def _raise_for_status(self, answer: httpx.Response) -> None:
        if answer.status_code in (200, 201):
            return
        body = self._object(answer)
        if body is None or not isinstance(body.get("message"), str):
            raise self._not_assay(f"it answers {answer.status_code}")
        hint = body.get("hint")
        kind = RefusedBundleError if answer.status_code == 422 else RepositoryError
        raise kind(body["message"], where=self.url, hint=hint if isinstance(hint, str) else None)

    def _object(self, answer: httpx.Response) -> dict[str, Any] | None:
        """Return the JSON object of a response; None for other or too large responses."""
        content = bytearray()
        for chunk in self._chunks(answer.iter_raw()):
            content += chunk
            if len(content) > _ANSWER_BYTES_MAX:
                return None
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    def _not_assay(self, why: str = "its answers have an unknown format") -> RepositoryError:
        return RepositoryError(
            f"this is not an assay server: {why}", where=self.url, hint="give the address that `assay serve` prints"
        )


def pull(remote: Remote, target: Repository, progress: Progress) -> CopySummary:
    """Receive every bundle that ``target`` lacks. Bundles that arrive damaged are listed as refused."""
    remote_ids = remote.ids()
    local_ids = set(bundle_ids(target))
    missing_ids = [name for name in remote_ids if name not in local_ids]
    return _copy_all(missing_ids, len(remote_ids), lambda name: remote.fetch(name, target), progress)


def push(source: Repository, remote: Remote, progress: Progress) -> CopySummary:
    """Send every bundle that the server lacks. Bundles that are damaged locally are listed as refused, and not sent."""
    local_ids = bundle_ids(source)
    remote_ids = set(remote.ids())
    missing_ids = [name for name in local_ids if name not in remote_ids]
    folder = source.folders.bundles
    problem_by_id = {name: problems[0] for name in missing_ids if (problems := check_bundle(folder / name))}
    summary = _copy_all(
        [name for name in missing_ids if name not in problem_by_id],
        len(local_ids) - len(problem_by_id),
        lambda name: remote.send(name, source),
        progress,
    )
    return CopySummary(summary.copied, summary.already_there, (*problem_by_id.values(), *summary.refused))


def _copy_all(bundle_names: list[str], total: int, copy: Callable[[str], bool], progress: Progress) -> CopySummary:
    copied = 0
    refused: list[BundleProblem] = []
    for done, name in enumerate(bundle_names, start=1):
        try:
            copied += copy(name)
        except RefusedBundleError as error:
            refused.append(BundleProblem(name, "bundle", ProblemKind.CHANGED, error.message))
        progress(done, len(bundle_names))
    return CopySummary(copied, total - copied - len(refused), tuple(refused))
