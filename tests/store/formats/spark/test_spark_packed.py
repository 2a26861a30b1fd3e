"""Test Spark event logs that are compressed: LZF, LZ4, Snappy, Zstandard, and damaged ones."""

from __future__ import annotations

import importlib.util
import io
import random
import re
import struct
import tracemalloc
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import spark_samples as samples
from assay.foundation.errors import FormatError
from assay.model.runs.imported import ImportedRun, SkippedItem
from assay.store.formats.source import Source
from assay.store.formats.spark import codecs as spark_codecs
from assay.store.formats.spark.codecs import codec_of, unpacked
from assay.store.formats.spark.event_import import FORMAT
from import_samples import items_of_files, only, skip_reason
from mutation import fuzz_count, mutations

LOG = samples.log(samples.application())
needs_cramjam = pytest.mark.skipif(
    importlib.util.find_spec("cramjam") is None, reason="cramjam, which packs and unpacks, is not installed"
)


def read(folder: Path, files: dict[str, bytes]) -> list[ImportedRun | SkippedItem]:
    return items_of_files(FORMAT, folder, files)


def lzf(content: bytes, *, chunk: int = 100) -> bytes:
    """Pack as LZF does: every second chunk stored, the others as literals and one reference to what repeats."""
    packed = b""
    for number, begin in enumerate(range(0, len(content), chunk)):
        part = content[begin : begin + chunk]
        if number % 2:
            packed += b"ZV\0" + struct.pack(">H", len(part)) + part
            continue
        body = b"".join(bytes([len(part[at : at + 32]) - 1]) + part[at : at + 32] for at in range(0, len(part), 32))
        packed += b"ZV\1" + struct.pack(">HH", len(body), len(part)) + body
    return packed


def unpack(content: bytes) -> bytes:
    return unpacked(io.BytesIO(content), "x").read()


def test_lzf_is_unpacked(tmp_path: Path) -> None:
    assert unpack(lzf(LOG)) == LOG
    repeated = b"ZV\1" + struct.pack(">HH", 6, 12) + b"\1ab" + bytes([7 << 5, 1, 1])
    assert unpack(repeated) == b"ab" * 6
    short = b"ZV\1" + struct.pack(">HH", 6, 7) + b"\2abc" + bytes([2 << 5, 2])
    assert unpack(short) == b"abcabca"
    packed = {"app-1.lzf": lzf(LOG)}
    assert FORMAT.recognises("app-1.lzf", packed["app-1.lzf"][:100])
    assert only(read(tmp_path, packed)).run.duration_s == 7.5


@pytest.mark.parametrize(
    "content",
    [
        b"ZV",
        b"ZV\2\0\1a",
        b"ZV\0\0\5ab",
        b"ZV\1\0\2\0\2\x20\0",
        b"ZV\1\0\2\0\3\0a",
        b"ZV\1\0\1\0\3\5",
        b"ZV\0\0\1aQQ\0\0\1a",
    ],
)
def test_damaged_lzf_is_refused(content: bytes) -> None:
    with pytest.raises(FormatError, match="damaged, cut off"):
        unpack(content)


@pytest.mark.parametrize(
    ("head", "package"),
    [(b"LZ4Block\x10", "cramjam"), (b"\x82SNAPPY\0", "cramjam"), (b"\x28\xb5\x2f\xfd", r"[a-z]+\.zstd")],
)
def test_a_missing_package_is_named(head: bytes, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(spark_codecs, "import_module", absent)
    message = skip_reason(read(tmp_path, {"app-1.zstd": head + b"x" * 20}))
    assert re.search(f"the Python package '{package}' that unpacks it is not installed", message)


def packed_lz4(content: bytes) -> bytes:
    cramjam = import_module("cramjam")
    blocks = bytearray()
    for number, begin in enumerate(range(0, len(content), 2000)):
        part = content[begin : begin + 2000]
        body = part if number % 2 else bytes(cramjam.lz4.compress_block(part, store_size=False))
        blocks += struct.pack("<8sBiii", b"LZ4Block", 0x15 if number % 2 else 0x25, len(body), len(part), 0) + body
    return bytes(blocks) + struct.pack("<8sBiii", b"LZ4Block", 0x15, 0, 0, 0)


def packed_snappy(content: bytes) -> bytes:
    cramjam = import_module("cramjam")
    whole = bytearray()
    for begin in range(0, len(content), 2000):
        body = bytes(cramjam.snappy.compress_raw(content[begin : begin + 2000]))
        header = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) if begin % 4000 == 0 else b""
        whole += header + struct.pack(">i", len(body)) + body
    return bytes(whole)


def packed_zstd(content: bytes) -> bytes:
    cramjam = import_module("cramjam")
    return bytes(cramjam.zstd.compress(content))


PACKERS = pytest.mark.parametrize("pack", [packed_lz4, packed_snappy, packed_zstd], ids=["lz4", "snappy", "zstd"])


@needs_cramjam
@PACKERS
def test_packed_logs_are_unpacked(tmp_path: Path, pack: Any) -> None:
    content = pack(LOG)
    name = f"app-1.{codec_of(content)}"
    assert FORMAT.recognises(name, content[:65536])
    assert only(read(tmp_path, {name: content})).run.duration_s == 7.5
    assert unpack(pack(LOG * 300)) == LOG * 300


@needs_cramjam
@PACKERS
def test_damaged_packed_logs_give_runs_or_reasons(tmp_path: Path, pack: Any) -> None:
    for damaged in mutations(pack(LOG), fuzz_count()):
        samples.check_damaged(damaged, tmp_path / "log")


@needs_cramjam
def test_a_block_that_would_fill_the_memory_is_refused() -> None:
    with pytest.raises(FormatError, match="a block of 34359738367 bytes"):
        unpack(b"\x82SNAPPY\0" + bytes(8) + struct.pack(">i", 6) + b"\xff\xff\xff\xff\x7f\0")
    with pytest.raises(FormatError, match="a block of 2147483647 bytes"):
        unpack(b"\x82SNAPPY\0" + bytes(8) + struct.pack(">i", 2**31 - 1))
    with pytest.raises(FormatError, match="a block of -1 bytes"):
        unpack(struct.pack("<8sBiii", b"LZ4Block", 0x15, -1, 10, 0))


@pytest.mark.slow
@needs_cramjam
@PACKERS
def test_a_packed_log_is_read_as_a_stream(tmp_path: Path, pack: Any) -> None:
    """Only a part of the decompressed text is in memory: 64 MB of events need less than 16 MB."""
    event = b'{"Event":"SparkListenerTaskGettingResult","Padding":"' + b"x" * 1000 + b'"}\n'
    path = tmp_path / "app-1"
    path.write_bytes(pack(event * 64_000))
    tracemalloc.start()
    try:
        assert sum(1 for _ in Source(path, "app-1").lines(unpacked)) == 64_000
        assert tracemalloc.get_traced_memory()[1] < 16e6
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@needs_cramjam
@PACKERS
def test_a_packed_log_reports_its_progress(tmp_path: Path, pack: Any) -> None:
    path = tmp_path / "app-1"
    path.write_bytes(pack(random.Random(1).randbytes(2**20).hex().encode() * 20 + b"\n"))
    reported: list[int] = []
    list(Source(path, "app-1", reported.append).lines(unpacked))
    assert 0 < sum(reported) <= path.stat().st_size


@needs_cramjam
@PACKERS
def test_a_cut_packed_log_is_refused(pack: Any) -> None:
    content = pack(LOG * 50)
    for end in (len(content) - 30, len(content) // 2, 20):  # LZ4 ends with an empty block of 21 bytes
        with pytest.raises(FormatError, match="damaged, cut off"):
            unpack(content[:end])


def test_damaged_lzf_logs_give_runs_or_reasons(tmp_path: Path) -> None:
    for damaged in mutations(lzf(LOG), fuzz_count()):
        samples.check_damaged(damaged, tmp_path / "log")
