"""Test coverage-guided fuzzing: it finds a planted defect, none in the parsers, and reads every corpus sample.

The short form makes a few thousand executions in total. `make fuzz` has no fixed limit.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import fuzz_targets
from fuzzing import can_fuzz, fuzzed

EXECUTIONS = 2_000
PLANTED_EXECUTIONS = 200_000
needs_atheris = pytest.mark.skipif(not can_fuzz(), reason="atheris is not made for this Python or platform: NOT tested")


@pytest.mark.parametrize("name", fuzz_targets.parsers())
def test_every_parser_has_a_corpus_and_reads_it(name: str, tmp_path: Path) -> None:
    read = fuzz_targets.target(name, tmp_path)
    assert sum(read(content) for content in fuzz_targets.seeds(name)) > 0


@pytest.mark.slow
@needs_atheris
def test_the_fuzzer_finds_a_defect_behind_two_conditions(tmp_path: Path) -> None:
    done = fuzzed("fuzz_planted", tmp_path, seconds=300, executions=PLANTED_EXECUTIONS)
    assert [finding.partition(" ")[0] for finding in done.findings] == ["ZeroDivisionError"]
    assert (tmp_path / "findings" / "1").read_bytes().startswith(b"RATE -7")


@pytest.mark.slow
@needs_atheris
def test_fuzzing_the_parsers_finds_no_defect(tmp_path: Path) -> None:
    done = fuzzed(fuzz_targets.EVERYTHING, tmp_path, seconds=300, executions=EXECUTIONS)
    assert done.executions >= EXECUTIONS
    assert done.findings == ()
