"""Fetch Hadoop's jars from a Maven repository without Maven, and verify their checksums.

In: the list in a wheel, one line for each jar, ``SHA-256  bytes  path in the repository``; and the repository's
address, which the user sets: the environment's ``MAVEN_REPOSITORY``, else the mirror of Maven Central or the repository
``central`` in Maven's settings, ``~/.m2/settings.xml``. assay itself names no host. Out: a folder of verified jars.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

from assay.foundation.errors import EngineError

if TYPE_CHECKING:
    import httpx

VARIABLE = "MAVEN_REPOSITORY"
_LINE = re.compile(r"([0-9a-f]{64})  (\d+)  (\S+)")
_MIRRORS_OF_CENTRAL = frozenset({"central", "*", "external:*"})
_DOWNLOADS_MAX = 6
"""Maximum number of concurrent downloads."""
_TRIES = 3
"""Maximum number of downloads of one jar."""
_PAUSE_S = 1.0
"""Pause before another attempt at a jar, in seconds."""
_TIMEOUT_S = 60.0
"""Maximum wait for a connection or for more bytes of a download, in seconds."""
_CHUNK_BYTES = 1 << 20
"""Bytes of a jar that are read at a time."""
_HINT = (
    f"set {VARIABLE} to a Maven repository's address (https://… or file:///…), name a mirror of central in "
    "~/.m2/settings.xml, or install Maven (apt-get install maven)"
)


@dataclass(frozen=True, slots=True)
class Jar:
    """One jar: its path in a Maven repository, size and checksum."""

    path: str
    size_bytes: int
    sha256: str

    @property
    def name(self) -> str:
        """The file's name, with artifact and version."""
        return PurePosixPath(self.path).name


def read_list(text: str) -> tuple[Jar, ...]:
    """Return the jars of a list; raise EngineError for an invalid line."""
    jars = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.fullmatch(line)
        if match is None or ".." in match[3]:
            raise EngineError(f"line {number} is not a jar entry: {line!r}", where="the list of Hadoop's jars")
        jars.append(Jar(match[3], int(match[2]), match[1]))
    return tuple(jars)


def repository(environment: Mapping[str, str], home: Path) -> str:
    """Return the address of the Maven repository in the user's settings.

    Raises EngineError, with a hint, if the settings name no address or an invalid address.
    """
    settings = home / ".m2" / "settings.xml"
    address = environment.get(VARIABLE) or _address_in_settings(settings, environment)
    if address is None:
        raise EngineError("no Maven repository is configured, so Hadoop's jars can't be fetched", hint=_HINT)
    if not re.match(r"(https?://[^/\s]|file:///)\S*$", address):
        raise EngineError(f"{_without_password(address)!r} is not the address of a Maven repository", hint=_HINT)
    return address.rstrip("/")


def _without_password(address: str) -> str:
    """Return an address without its password."""
    return re.sub(r"//.*@", "//", address)


def _address_in_settings(path: Path, environment: Mapping[str, str]) -> str | None:
    """Return the mirror of Maven Central, else the repository ``central`` of a profile; None if there is neither."""
    if not path.is_file():
        return None
    try:
        root = ElementTree.fromstring(path.read_text())  # noqa: S314 - the user's own file, which Maven trusts too
    except (ElementTree.ParseError, UnicodeDecodeError) as error:
        raise EngineError(f"Maven's settings can't be read: {error}", where=str(path), hint=_HINT) from error
    mirrors = [_child_texts(element) for element in root.findall(".//{*}mirror")]
    addresses = [mirror.get("url", "") for mirror in mirrors if _mirrors_central(mirror)]
    repository_texts = [_child_texts(element) for element in root.findall(".//{*}repository")]
    addresses += [entry.get("url", "") for entry in repository_texts if entry.get("id") == "central"]
    return next((_with_variables(address, environment) for address in addresses if address), None)


def _child_texts(element: ElementTree.Element) -> dict[str, str]:
    """Return an element's children by name, without namespaces."""
    return {child.tag.rpartition("}")[2]: (child.text or "").strip() for child in element}


def _mirrors_central(mirror: Mapping[str, str]) -> bool:
    mirrored_names = {word.strip() for word in mirror.get("mirrorOf", "").split(",")}
    return (
        mirror.get("blocked") != "true"
        and "!central" not in mirrored_names
        and bool(mirrored_names & _MIRRORS_OF_CENTRAL)
    )


def _with_variables(text: str, environment: Mapping[str, str]) -> str:
    return re.sub(r"\$\{env\.(\w+)\}", lambda match: environment.get(match[1], match[0]), text)


def fetch(jars: Sequence[Jar], address: str, folder: Path, progress: Callable[[str], None]) -> None:
    """Fetch every jar into ``folder``, several concurrently.

    Raises EngineError if a jar is missing, fails three times, or does not match the list; the remaining jars are
    then not fetched.
    """
    folder.mkdir(parents=True)
    total_mb = sum(jar.size_bytes for jar in jars) / 1e6
    server = urlsplit(address).hostname or address
    progress(f"Maven is not installed: fetching {len(jars)} jars, {total_mb:.0f} MB, from {server}")
    with _source(address) as source, ThreadPoolExecutor(_DOWNLOADS_MAX, thread_name_prefix="jar") as pool:
        downloads = [pool.submit(_fetch_one, jar, source, folder) for jar in jars]
        try:
            for task in downloads:
                task.result()
        finally:
            for task in downloads:
                task.cancel()
    progress(f"verified the checksums of {len(jars)} jars")


Source = Callable[[Jar], Iterator[bytes]]


@contextmanager
def _source(address: str) -> Iterator[Source]:
    """Yield a function that returns a jar's content in pieces, from a folder or a server."""
    parts = urlsplit(address)
    if parts.scheme == "file":
        yield lambda jar: _from_folder(Path(unquote(parts.path)) / jar.path)
        return
    import httpx  # imported here: no other part of the engine needs it

    with httpx.Client(follow_redirects=True, timeout=_TIMEOUT_S) as client:
        yield lambda jar: _from_server(client, f"{address}/{jar.path}")


def _from_folder(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while piece := file.read(_CHUNK_BYTES):
                yield piece
    except FileNotFoundError as error:
        raise EngineError("the Maven repository lacks this jar", where=str(path), hint=_HINT) from error


def _from_server(client: httpx.Client, url: str) -> Iterator[bytes]:
    """Yield a file's content; raise EngineError for an answer that a retry would not change."""
    with client.stream("GET", url) as answer:
        if answer.status_code < 500 and answer.is_error and answer.status_code != 429:
            raise EngineError(
                f"the Maven repository answers {answer.status_code} {answer.reason_phrase}",
                where=_without_password(url),
                hint=_HINT,
            )
        answer.raise_for_status()
        yield from answer.iter_bytes(_CHUNK_BYTES)


def _fetch_one(jar: Jar, source: Source, folder: Path) -> None:
    import httpx

    for tries_left in reversed(range(_TRIES)):
        try:
            with (folder / f"{jar.name}.part").open("wb") as file:
                checksum = _write(jar, source(jar), file)
            break
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            if not tries_left:
                raise EngineError(
                    f"the transfer failed: {_without_password(str(error)) or type(error).__name__}",
                    where=jar.path,
                    hint=_HINT,
                ) from error
            time.sleep(_PAUSE_S)
    if checksum != jar.sha256:
        raise EngineError(
            f"the jar's SHA-256 is {checksum}, but {jar.sha256} was expected: assay was built with another file",
            where=jar.path,
            hint="use another Maven repository",
        )
    (folder / f"{jar.name}.part").replace(folder / jar.name)


def _write(jar: Jar, pieces: Iterator[bytes], file: BinaryIO) -> str:
    """Write at most the jar's size, and return the checksum of the received bytes."""
    digest, size = hashlib.sha256(), 0
    for piece in pieces:
        digest.update(piece)
        size += len(piece)
        if size > jar.size_bytes:
            raise EngineError(f"the jar is larger than the expected {jar.size_bytes} bytes", where=jar.path, hint=_HINT)
        file.write(piece)
    return digest.hexdigest()
