"""What comes from others is bounded and checked: headers of archives, answers of servers, tables, checksums or not."""

from __future__ import annotations

import contextlib
import gzip
import io
import tarfile
import threading
import tracemalloc
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO, cast

import pytest
from click.testing import CliRunner

from assay.cli.main import assay
from assay.errors import RepositoryError
from assay.repository import Repository
from assay.repository.bundle import write_sums
from assay.repository.exchange import copy_bundles
from assay.repository.package import write_package
from assay.repository.remote import Remote
from assay.repository.transfer import RefusedBundleError, bundle_ids, unpack
from builders import build_repository, make_run, make_trace

CLAIM = 1 << 32
MEMORY_BYTES_MAX = 20 << 20


class Endless(io.RawIOBase):
    """An archive that begins with some bytes and goes on with as many zeros as its header claims, made when read."""

    def __init__(self, begin: bytes, more: int) -> None:
        self._begin, self._more = begin, more

    def read(self, size: int = -1) -> bytes:
        size = size if size >= 0 else self._more
        piece, self._begin = self._begin[:size], self._begin[size:]
        rest = min(size - len(piece), self._more)
        self._more -= rest
        return piece + bytes(rest)


def header(kind: bytes, size: int, name: str = "run.json") -> bytes:
    entry = tarfile.TarInfo(name)
    entry.type, entry.size = kind, size
    return entry.tobuf(tarfile.GNU_FORMAT)


def extended(records: dict[str, str], kind: bytes = tarfile.XHDTYPE) -> bytes:
    content = b""
    for key, value in records.items():
        rest = f" {key}={value}\n".encode()
        size = len(rest) + 1
        while len(str(size)) + len(rest) != size:
            size += 1
        content += str(size).encode() + rest
    return header(kind, len(content)) + content + bytes(-len(content) % 512)


KINDS = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)


@pytest.mark.parametrize("kind", KINDS)
def test_a_header_that_claims_much_is_not_read(tmp_path: Path, kind: bytes) -> None:
    tar = cast("BinaryIO", Endless(header(kind, CLAIM), CLAIM))
    tracemalloc.start()
    try:
        with pytest.raises(RefusedBundleError):
            unpack(tar, tmp_path, bytes_max=1 << 36)
        assert tracemalloc.get_traced_memory()[1] < MEMORY_BYTES_MAX
    finally:
        tracemalloc.stop()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "records",
    [
        {"size": "-1"},
        {"size": str(1 << 40)},
        {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9"},
        {"GNU.sparse.map": "0,1", "GNU.sparse.size": "9"},
        {"GNU.sparse.size": "9", "GNU.sparse.numblocks": "1"},
    ],
)
def test_sizes_that_can_not_be_and_sparse_files_are_refused(tmp_path: Path, records: dict[str, str]) -> None:
    tar = io.BytesIO(extended(records) + header(tarfile.REGTYPE, 9) + bytes(1024))
    with pytest.raises(RefusedBundleError):
        unpack(tar, tmp_path, bytes_max=1 << 30)


def test_a_chain_of_headers_is_refused(tmp_path: Path) -> None:
    tar = io.BytesIO(extended({"comment": "x"}) * 5000 + header(tarfile.REGTYPE, 0) + bytes(1024))
    with pytest.raises(RefusedBundleError, match="header"):
        unpack(tar, tmp_path, bytes_max=1 << 30)


def test_a_file_that_is_read_whole_is_no_longer_than_such_files_are(tmp_path: Path) -> None:
    size = 65 << 20
    with pytest.raises(RefusedBundleError, match="too large"):
        unpack(cast("BinaryIO", Endless(header(tarfile.REGTYPE, size), size)), tmp_path, bytes_max=1 << 30)


def test_a_package_that_gnu_tar_made_with_a_long_name_is_read(tmp_path: Path) -> None:
    name = "/".join(["a" * 90] * 3)
    entry = tarfile.TarInfo(name)
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        folder = tmp_path / str(form)
        folder.mkdir()
        unpack(io.BytesIO(entry.tobuf(form) + bytes(1024)), folder, bytes_max=10)
        assert (folder / name).is_file()


def test_pull_refuses_such_a_package_in_words(tmp_path: Path) -> None:
    package = tmp_path / "evil.tar.gz"
    with gzip.open(package, "wb") as file:
        file.write(header(tarfile.XHDTYPE, CLAIM) + bytes(1 << 20))
    done = CliRunner().invoke(assay, ["pull", str(package), "--repository", str(tmp_path / "r")])
    assert isinstance(done.exception, RepositoryError)
    assert "header" in str(done.exception)
    assert list((tmp_path / "r" / "partial").iterdir()) == []


class _Talker(BaseHTTPRequestHandler):
    """A server whose every answer is endless."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        with contextlib.suppress(OSError):
            for _ in range(200):
                self.wfile.write(b" " * (1 << 20))

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_an_endless_answer_is_not_read_to_its_end(tmp_path: Path) -> None:
    target = Repository.create(tmp_path / "r")
    with ThreadingHTTPServer(("127.0.0.1", 0), _Talker) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        tracemalloc.start()
        try:
            with pytest.raises(RepositoryError, match="no assay server"):
                Remote(f"http://127.0.0.1:{server.server_address[1]}").__enter__()
            assert tracemalloc.get_traced_memory()[1] < 3 * MEMORY_BYTES_MAX
        finally:
            tracemalloc.stop()
            server.shutdown()
    assert bundle_ids(target) == []


def text_for_numbers(path: Path) -> None:
    import duckdb

    with duckdb.connect() as opened:
        opened.sql(
            "SELECT 'a' AS t_s, 'w' AS node, 's' AS subject, 'm' AS metric, true AS counter, 1.0::DOUBLE AS value"
        ).write_parquet(str(path))


def other_columns(path: Path) -> None:
    import duckdb

    with duckdb.connect() as opened:
        opened.sql("SELECT 1 AS a").write_parquet(str(path))


def cut(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * (len(whole) // 3) + whole[4 + len(whole) // 3 :])


def junk(path: Path) -> None:
    path.write_bytes(b"PAR1 this is no table PAR1")


@pytest.mark.parametrize("spoil", [junk, cut, other_columns, text_for_numbers])
def test_a_table_that_is_none_is_refused_though_its_checksum_is_right(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    source, target = Repository.create(tmp_path / "s"), Repository.create(tmp_path / "t")
    bundle = source.publish(make_run(1), trace=make_trace(make_run(1)))
    source.publish(make_run(2), trace=make_trace(make_run(2)))
    spoil(min((bundle / "trace").iterdir()))
    write_sums(bundle)
    assert [problem.file.partition("/")[0] for problem in source.verify()] == ["trace"]
    copied = copy_bundles(source, target, lambda *_: None)
    assert (copied.copied, [problem.run_id for problem in copied.refused]) == (1, [make_run(1).run_id])
    assert str(tmp_path) not in copied.refused[0].detail
    assert bundle_ids(target) == [make_run(2).run_id]


@pytest.mark.slow
def test_whole_repositories_verify_and_travel(tmp_path: Path) -> None:
    repository = build_repository(tmp_path / "r")
    assert repository.verify() == []
    package = tmp_path / "all.tar.gz"
    write_package(package, repository, bundle_ids(repository), {})
    done = CliRunner().invoke(assay, ["pull", str(package), "--repository", str(tmp_path / "other")])
    assert done.exit_code == 0
    assert bundle_ids(Repository.open(tmp_path / "other")) == bundle_ids(repository)
