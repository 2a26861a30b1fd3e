"""Test exported profiles: an independent decoder and go tool pprof read the totals of the run."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.analysis.code_profile.stacks import Stack, parse_collapsed
from assay.foundation.errors import FormatError, SpecificationError
from assay.interfaces.cli.main import assay
from assay.questions.runs.code_profiles.code_profile import code_profile
from assay.store import Repository
from builders import make_run
from profile_support import FACTS, add_run
from protobuf_support import fields, message, numbers


@pytest.fixture
def store(tmp_path: Path) -> Repository:
    store = Repository.create(tmp_path / "repository")
    add_run(store, 1, "HDD", 300)
    add_run(store, 2, "HDD", 5, facts={**FACTS, "kind": "alloc", "interval_ms": None})
    store.publish(make_run(3))
    return store


def export_run(store: Repository, number: int, form: str) -> Path:
    target = store.root.parent / f"{number}.{form}"
    command = ["export", form, "--run", make_run(number).run_id, "-o", str(target), "--repository", str(store.root)]
    result = CliRunner().invoke(assay, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return target


def samples_of(path: Path) -> tuple[dict[str, Counter[Stack]], list[tuple[str, str]], int]:
    """Return the stacks by phase, the types and units of values, and the sum of the last value."""
    profile = fields(gzip.decompress(path.read_bytes()))
    strings = [text.decode() for text in profile[6] if isinstance(text, bytes)]
    assert strings[0] == ""
    functions = {item[1][0]: strings[int(item[2][0])] for item in map(message, profile[5])}
    locations = {item[1][0]: functions[message(item[4][0])[1][0]] for item in map(message, profile[4])}
    types = [(strings[int(item[1][0])], strings[int(item[2][0])]) for item in map(message, profile[1])]
    stacks, last_values_sum = defaultdict[str, Counter[Stack]](Counter), 0
    for sample in map(message, profile[2]):
        labels = {strings[int(item[1][0])]: strings[int(item[2][0])] for item in map(message, sample[3])}
        values = numbers(sample[2][0])
        stack = tuple(locations[number] for number in reversed(numbers(sample[1][0])))
        stacks[labels["phase"]][stack] += values[0]
        last_values_sum += values[-1]
    return dict(stacks), types, last_values_sum


def test_pprof_has_the_stacks_of_each_phase_in_samples_and_nanoseconds(store: Repository) -> None:
    stacks, types, nanoseconds = samples_of(export_run(store, 1, "pprof"))
    profile = code_profile(store, make_run(1).run_id)
    assert {phase: counts.total() for phase, counts in stacks.items()} == dict(profile.phases)
    assert stacks["reduce"]["a", "io/github/assay/jobs/Burner.burnCpu"] == 300
    assert types == [("samples", "count"), ("cpu", "nanoseconds")]
    assert nanoseconds == profile.total * 10_000_000
    assert samples_of(export_run(store, 2, "pprof"))[1] == [("alloc", "bytes")]


def test_collapsed_text_has_the_phase_as_the_first_frame(store: Repository) -> None:
    stacks, skipped = parse_collapsed(export_run(store, 1, "collapsed").read_text())
    phases = Counter[str]()
    for stack, count in stacks.items():
        phases[stack[0]] += count
    assert (phases, skipped) == (Counter(dict(code_profile(store, make_run(1).run_id).phases)), 0)
    command = ["export", "collapsed", "--run", make_run(1).run_id, "--repository", str(store.root)]
    assert parse_collapsed(CliRunner().invoke(assay, command).stdout)[0] == stacks


def test_go_tool_pprof_prints_the_same_totals(store: Repository) -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("NOT tested: no go, so pprof itself read no export")
    command = [go, "tool", "pprof", "-top", "-tagfocus=phase=reduce", str(export_run(store, 1, "pprof"))]
    printed = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    assert "Type: cpu" in printed
    assert "Showing nodes accounting for 4.07s" in printed
    assert re.search(r"^\s+3s .* io/github/assay/jobs/Burner.burnCpu$", printed, re.MULTILINE), printed


def test_wrong_requests_are_refused(store: Repository) -> None:
    run_id = make_run(1).run_id
    for words in (
        ["pprof"],
        ["csv", "--run", run_id],
        ["pprof", "--run", run_id],
        ["pprof", "--run", run_id, "--layout", "HDD"],
    ):
        result = CliRunner().invoke(assay, ["export", *words, "--repository", str(store.root)])
        assert isinstance(result.exception, SpecificationError), words
    result = CliRunner().invoke(
        assay, ["export", "pprof", "--run", make_run(3).run_id, "-o", "x", "--repository", str(store.root)]
    )
    assert isinstance(result.exception, FormatError)
