"""Test bounds and checks on foreign data: archive headers, server answers, tables, checksums."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import subprocess
import sys
import tarfile
import threading
import time
import tracemalloc
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO, cast

import pytest
from click.testing import CliRunner

from assay.foundation.errors import RepositoryError
from assay.interfaces.cli.main import assay
from assay.store import Repository
from assay.store.bundles.bundle import write_sums
from assay.store.exchange.exchange import copy_bundles
from assay.store.exchange.package import pull_package, write_package
from assay.store.exchange.remote import Remote, TransferLimit, pull
from assay.store.exchange.transfer import RefusedBundleError, bundle_ids, unpack
from builders import build_repository, make_run, make_trace

pytestmark = pytest.mark.slow

CLAIM = 1 << 32
MEMORY_BYTES_MAX = 20 << 20


class Endless(io.RawIOBase):
    """An archive with a few bytes and as many zeros as its header claims, generated while it is read."""

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
def test_impossible_sizes_and_sparse_files_are_refused(tmp_path: Path, records: dict[str, str]) -> None:
    tar = io.BytesIO(extended(records) + header(tarfile.REGTYPE, 9) + bytes(1024))
    with pytest.raises(RefusedBundleError):
        unpack(tar, tmp_path, bytes_max=1 << 30)


def test_a_chain_of_headers_is_refused(tmp_path: Path) -> None:
    tar = io.BytesIO(extended({"comment": "x"}) * 5000 + header(tarfile.REGTYPE, 0) + bytes(1024))
    with pytest.raises(RefusedBundleError, match="header"):
        unpack(tar, tmp_path, bytes_max=1 << 30)


def test_a_file_read_whole_has_a_size_limit(tmp_path: Path) -> None:
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


def test_pull_refuses_an_invalid_package_with_the_reason(tmp_path: Path) -> None:
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


class _Dripper(BaseHTTPRequestHandler):
    """A server that sends a byte every 50 ms, in the part of the answer that the test names."""

    part = "header"

    def do_GET(self) -> None:
        answers = {"/api/v1/about": b'{"assay": "1"}', "/api/v1/bundles": b'{"bundles": ["x"], "more": false}'}
        content = answers.get(self.path.partition("?")[0])
        with contextlib.suppress(OSError):
            if content is not None and self.part == "bundle":
                self.send_response(200)
                self.end_headers()
                self.wfile.write(content)
                return
            self.wfile.write(b"HTTP/1.1 200 OK\r\n" + (b"\r\n" if self.part != "header" else b"X: "))
            for _ in range(2_000):
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(0.05)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize("part", ["header", "answer", "bundle"])
def test_a_server_that_sends_byte_by_byte_holds_a_pull_no_longer_than_its_bound(
    tmp_path: Path, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Dripper, "part", part)
    target = Repository.create(tmp_path / "r")
    with ThreadingHTTPServer(("127.0.0.1", 0), _Dripper) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            began_s = time.monotonic()
            with (
                pytest.raises(RepositoryError, match="does not answer in time") as refused,
                Remote(f"http://127.0.0.1:{server.server_address[1]}", limit=TransferLimit(1.0, 1000.0)) as remote,
            ):
                pull(remote, target, lambda *_: None)
            assert time.monotonic() - began_s < 50, "as long as the server sends"
        finally:
            server.shutdown()
    assert "1 kB/s" in (refused.value.hint or "")
    assert (bundle_ids(target), list(target.folders.partial.iterdir())) == ([], [])


def test_a_cyclic_list_of_bundles_is_refused(tmp_path: Path) -> None:
    class Round(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            about = self.path.endswith("about")
            self.wfile.write(b'{"assay": "1"}' if about else b'{"bundles": ["a", "b"], "more": true}')

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Round) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            with (
                pytest.raises(RepositoryError, match="not in order"),
                Remote(f"http://127.0.0.1:{server.server_address[1]}") as remote,
            ):
                remote.ids()
        finally:
            server.shutdown()


@pytest.mark.parametrize("name", ["run.json", "SHA256SUMS", "SHA256SUMS.sig", "logs/x.gz", "logs", "further"])
@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_pull_refuses_what_is_no_plain_file_and_takes_the_rest(tmp_path: Path, name: str, kind: str) -> None:
    source = Repository.create(tmp_path / "source")
    for number in (1, 2):
        source.publish(make_run(number), logs={"x": b"words"})
    path = source.folders.bundles / make_run(1).run_id / name
    elsewhere = tmp_path / "elsewhere"
    if path.exists():
        path.rename(elsewhere)
    if kind == "link":
        elsewhere.touch()
        path.symlink_to(elsewhere)
    else:
        os.mkfifo(path)
    done = assay_within(60, "pull", tmp_path / "source", "--repository", tmp_path / "r")
    assert done.returncode == 6, done.stdout + done.stderr
    assert f"{make_run(1).run_id}: {name}: not a regular file" in done.stderr
    target = Repository.open(tmp_path / "r")
    assert bundle_ids(target) == [make_run(2).run_id]
    assert [path for path in target.root.rglob("*") if path.is_symlink() or path.is_fifo()] == []
    assert [problem.detail for problem in source.verify()] == ["not a regular file"]


def test_pull_refuses_a_bundle_that_is_a_link_and_a_marker_that_is_a_fifo(tmp_path: Path) -> None:
    source, other = Repository.create(tmp_path / "source"), Repository.create(tmp_path / "other")
    bundle = other.publish(make_run(1))
    (source.folders.bundles / bundle.name).symlink_to(bundle)
    done = assay_within(60, "pull", source.root, "--repository", tmp_path / "r")
    assert (done.returncode, "symbolic link" in done.stderr) == (6, True)
    assert bundle_ids(Repository.open(tmp_path / "r")) == []
    source.folders.marker.unlink()
    os.mkfifo(source.folders.marker)
    done = assay_within(60, "pull", source.root, "--repository", tmp_path / "r")
    assert (done.returncode, "not a regular file" in done.stderr) == (6, True)


def assay_within(seconds: float, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run assay, which must end within a time."""
    command = [sys.executable, "-m", "assay", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)


def test_an_endless_answer_is_not_read_to_its_end(tmp_path: Path) -> None:
    target = Repository.create(tmp_path / "r")
    with ThreadingHTTPServer(("127.0.0.1", 0), _Talker) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        tracemalloc.start()
        try:
            with pytest.raises(RepositoryError, match="not an assay server"):
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
    path.write_bytes(b"PAR1 this is not a table PAR1")


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


def _add(folder: Path) -> None:
    (folder / "extra").write_text("x")


def _remove(folder: Path) -> None:
    next(folder.rglob("run.json")).unlink()


def _change(folder: Path) -> None:
    next(folder.rglob("run.json")).write_text("{}")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_add, r"'extra' is not listed in SHA256SUMS"),
        (_remove, r"run\.json' is missing"),
        (_change, r"run\.json' does not match its checksum"),
    ],
)
def test_a_package_with_a_missing_an_additional_or_a_changed_file_is_refused_with_that_reason(
    tmp_path: Path, spoil: Callable[[Path], None], message: str
) -> None:
    repository = Repository.create(tmp_path / "s")
    repository.publish(make_run(1))
    package, folder, target = tmp_path / "p.tar.gz", tmp_path / "unpacked", Repository.create(tmp_path / "t")
    write_package(package, repository, bundle_ids(repository), {})
    with tarfile.open(package) as tar:
        tar.extractall(folder, filter="data")
    [top] = folder.iterdir()
    spoil(top)
    with tarfile.open(package, "w:gz") as tar:
        for file in (file for file in top.rglob("*") if file.is_file()):
            tar.add(file, file.relative_to(folder))
    with pytest.raises(RepositoryError, match=message):
        pull_package(package, target, lambda *_: None)
    assert bundle_ids(target) == []


@pytest.mark.slow
def test_whole_repositories_verify_and_travel(tmp_path: Path) -> None:
    repository = build_repository(tmp_path / "r")
    assert repository.verify() == []
    package = tmp_path / "all.tar.gz"
    write_package(package, repository, bundle_ids(repository), {})
    done = CliRunner().invoke(assay, ["pull", str(package), "--repository", str(tmp_path / "other")])
    assert done.exit_code == 0
    assert bundle_ids(Repository.open(tmp_path / "other")) == bundle_ids(repository)
