"""Test the damaged copies used by parser tests: the requested number, reproducible, and really damaged."""

from __future__ import annotations

import re

import pytest

from mutation import fuzz_count, mutations
from paths import TESTS

SOUND = b"".join(b"line %d: value %d.%d\n" % (n, n * 7, n) for n in range(40))


def test_copies_are_counted_repeatable_and_mostly_different() -> None:
    copies = list(mutations(SOUND, 500, seed=3))
    assert len(copies) == 500
    assert copies == list(mutations(SOUND, 500, seed=3))
    assert copies != list(mutations(SOUND, 500, seed=4))
    assert len(set(copies) - {SOUND}) > 450


def test_every_kind_of_damage_occurs() -> None:
    copies = list(mutations(SOUND, 500))
    lines = SOUND.splitlines()
    assert any(copy and SOUND.startswith(copy) and len(copy) < len(SOUND) for copy in copies), "cut off"
    assert any(sorted(copy.splitlines()) == sorted(lines) and copy != SOUND for copy in copies), "lines swapped"
    assert any(len(copy) > len(SOUND) + 10 for copy in copies), "doubled"
    assert any(b"\xff" in copy for copy in copies), "no text"


@pytest.mark.parametrize("content", [b"", b"\n", b"a"])
def test_tiny_files_can_be_damaged_too(content: bytes) -> None:
    assert len(list(mutations(content, 200))) == 200


def test_the_number_of_copies_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_FUZZ", raising=False)
    assert fuzz_count() == 200
    monkeypatch.setenv("ASSAY_FUZZ", "10000")
    assert fuzz_count() == 10000


def test_make_fuzz_finds_every_test_that_reads_damaged_copies() -> None:
    """It selects them by their names, `-k damaged`."""
    readers = [
        (path.name, function.partition("(")[0])
        for path in (TESTS / "store" / "formats").rglob("test_*.py")
        for function in re.split(r"^(?:async )?def ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        if re.search(r"\b(fuzz_count|survives_damage)\(", function)
    ]
    assert len(readers) >= 15
    assert [reader for reader in readers if "damaged" not in reader[1]] == []
