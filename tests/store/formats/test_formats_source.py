"""Test source files: compressed, truncated, other encodings, binary."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.foundation.errors import FormatError
from assay.model.runs.imported import ImportedRun, SkippedItem, foreign_run
from assay.store.formats import source as source_module
from assay.store.formats.format import read_each
from assay.store.formats.source import Source, decoded, sources_in, with_progress

TEXT = "Tag;Größe\n1;2\n"


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_compression_is_recognised_by_content(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "results.txt"
    path.write_bytes(pack(TEXT.encode()))
    source = Source(path, "results.txt")
    assert source.text() == TEXT
    assert source.head() == TEXT.encode()


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_file_that_was_cut_off_is_refused_by_name(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(pack(bytes(range(256)) * 40)[:-12])
    with pytest.raises(FormatError) as caught:
        Source(path, "cut.gz").content()
    assert caught.value.where == "cut.gz"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_text_is_decoded(encoding: str) -> None:
    assert decoded(TEXT.encode(encoding), "a") == TEXT


def test_binary_files_are_no_text() -> None:
    with pytest.raises(FormatError, match="binary"):
        decoded(b"Obj\x01\x00\x02", "a")


def test_folders_are_walked_in_order_without_hidden_files(tmp_path: Path) -> None:
    for name in ("b/two", "b/one", ".hidden/x", "a"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [source.name for source in sources_in([tmp_path])] == [
        f"{tmp_path.name}/a",
        f"{tmp_path.name}/b/one",
        f"{tmp_path.name}/b/two",
    ]
    with pytest.raises(FormatError, match="no such file"):
        list(sources_in([tmp_path / "nothing"]))


def test_a_name_that_is_no_text_can_be_shown(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).touch()
    (source,) = sources_in([tmp_path])
    assert source.name.encode() == f"{tmp_path.name}/caf\\xe9.txt".encode()


def test_the_same_content_has_one_digest_however_it_is_packed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(TEXT)
    (tmp_path / "a.gz").write_bytes(gzip.compress(TEXT.encode()))
    (tmp_path / "cut.gz").write_bytes(gzip.compress(bytes(range(256)) * 40)[:-9])
    digests = {source.name.rsplit("/", 1)[-1]: source.digest() for source in sources_in([tmp_path])}
    assert digests["a"] == digests["a.gz"] != digests["cut.gz"]


def test_a_broken_file_does_not_keep_the_others_from_being_read(tmp_path: Path) -> None:
    for name, content in (("good", "1"), ("bad", "x"), ("last", "2")):
        (tmp_path / name).write_text(content)

    def read_file(source: Source) -> Iterator[ImportedRun | SkippedItem]:
        text = source.text()
        if not text.isdecimal():
            raise FormatError("is not a number", where=f"{source.name}:1")
        yield ImportedRun(text, source.name, foreign_run(workload="sort", duration_s=float(text)))

    sources = [Source(tmp_path / name, name) for name in ("good", "bad", "last")]
    items = list(read_each(read_file)(sources))
    assert [type(item).__name__ for item in items] == ["ImportedRun", "SkippedItem", "ImportedRun"]
    assert items[1] == SkippedItem("bad:1", "is not a number")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_progress_counts_the_stored_bytes(
    pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_module, "_REPORT_BYTES", 2**20)
    path = tmp_path / "log"
    path.write_bytes(pack(b"".join(b"%d %s\n" % (number, os.urandom(500).hex().encode()) for number in range(8000))))
    reports: list[tuple[str, int, int]] = []
    (source,) = with_progress([Source(path, "log")], lambda *report: reports.append(report))
    assert sum(1 for _ in source.lines()) == 8000
    total = path.stat().st_size // 10**6
    assert {(stage, most) for stage, _, most in reports} == {("MB read", total)}
    done = [count for _, count, _ in reports]
    assert done == sorted(done)
    assert total - 2 <= done[-1] <= total
