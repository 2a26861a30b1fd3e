"""Test ``assay profile diff``: the answer, its basis, and refusals, on runs whose slow method is known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.foundation.errors import FormatError, SpecificationError
from assay.interfaces.cli.main import assay
from assay.questions.comparisons.code_difference import difference_of_sides, difference_sentence, profiled_sides
from assay.questions.json_values import json_value
from assay.store import Repository
from profile_support import BURN, FACTS, add_run, profiled_repository


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Repository, str, str]:
    profiled = profiled_repository(tmp_path / "repository")
    return profiled.store, profiled.first, profiled.second


def test_the_burning_method_is_the_answer_in_its_phase_alone(sides: tuple[Repository, str, str]) -> None:
    store, first, second = sides
    answer = difference_of_sides(profiled_sides(store, store.table(), (first, second), "configurations"))
    assert (len(answer.baseline.run_ids), len(answer.candidate.run_ids)) == (3, 3)
    sentence = difference_sentence(answer)
    assert sentence.startswith("B uses more CPU seconds per GB than A: ")
    assert "in the phase reduce" in sentence
    assert "in user code" in sentence
    assert {row.code.phase for row in answer.difference.frames if row.verdict == "more"} == {"reduce"}
    less = difference_sentence(
        difference_of_sides(profiled_sides(store, store.table(), (second, first), "configurations"))
    )
    assert less.startswith("No code is shown to use more CPU seconds per GB in B than in A; fewer: ")


def test_the_command_prints_the_answer_first_and_json_is_the_same_object(sides: tuple[Repository, str, str]) -> None:
    store, first, second = sides
    command = ["profile", "diff", first, second, "--repository", str(store.root)]
    answer = difference_of_sides(profiled_sides(store, store.table(), (first, second), "configurations"))
    done = CliRunner().invoke(assay, command)
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[0] == difference_sentence(answer)
    assert "95 % intervals over repetitions: 3 and 3" in done.output
    assert BURN in done.output
    made = CliRunner().invoke(assay, [*command, "--json"])
    assert json.loads(made.output) == json.loads(json.dumps(json_value(answer)))
    single = CliRunner().invoke(assay, [*command, "--of", "runs"])
    assert (
        "over task attempts or executors: 2 and 2. They leave out the variation between runs, so there are no verdicts"
        in single.output
    )


def test_one_phase_is_chosen(sides: tuple[Repository, str, str]) -> None:
    store, first, second = sides
    answer = difference_of_sides(profiled_sides(store, store.table(), (first, second), "configurations", "map"))
    assert [row.code.phase for row in answer.difference.phases] == ["map"]
    with pytest.raises(FormatError):
        difference_of_sides(profiled_sides(store, store.table(), (first, second), "configurations", "cleanup"))


@pytest.mark.parametrize(
    ("facts", "part"), [(None, "it has no profile"), ({**FACTS, "kind": "wall"}, "different kinds or methods")]
)
def test_sides_without_comparable_profiles_are_refused(
    sides: tuple[Repository, str, str], facts: Mapping[str, object] | None, part: str
) -> None:
    store, first, _ = sides
    other = add_run(store, 7, "SSD", 10, facts=facts)
    with pytest.raises(FormatError, match=part):
        difference_of_sides(profiled_sides(store, store.table(), (first, other), "configurations"))


def test_allocations_are_refused_because_they_are_not_time(tmp_path: Path) -> None:
    store = Repository.create(tmp_path / "repository")
    facts = {**FACTS, "kind": "alloc", "interval_ms": None}
    ids = [add_run(store, number, layout, 10, facts=facts) for number, layout in ((1, "HDD"), (2, "SSD"))]
    with pytest.raises(FormatError, match="does not count samples of time"):
        difference_of_sides(profiled_sides(store, store.table(), ids, "configurations"))


def test_a_wrong_number_of_sides_and_options_of_one_run_are_refused(sides: tuple[Repository, str, str]) -> None:
    store, first, second = sides
    with pytest.raises(SpecificationError):
        difference_of_sides(profiled_sides(store, store.table(), (first,), "configurations"))
    for words in (["diff", first, second, "--node", "worker1"], [first, second]):
        done = CliRunner().invoke(assay, ["profile", *words, "--repository", str(store.root)])
        assert isinstance(done.exception, SpecificationError)
