"""Test that flame graphs have the totals of the profile and of the difference, and ``--html`` of ``assay profile``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.main import assay
from assay.questions.comparisons.code_difference import difference_of_sides, difference_sentence, profiled_sides
from assay.questions.comparisons.flame_graphs import flame_graphs_of_run, flame_graphs_of_sides
from assay.questions.json_values import json_value
from assay.questions.runs.code_profiles.code_profile import code_profile
from profile_support import profiled_repository


def test_the_graph_of_a_run_has_the_samples_of_its_profile(tmp_path: Path) -> None:
    profiled = profiled_repository(tmp_path / "repository")
    answer, profile = flame_graphs_of_run(profiled.store, profiled.first), code_profile(profiled.store, profiled.first)
    assert (answer.unit, answer.unit_per_count) == ("s", (0.01,))
    assert [(graph.phase, graph.counts[0][0]) for graph in answer.graphs] == list(profile.phases)
    part = flame_graphs_of_run(profiled.store, profiled.first, "map")
    assert [(graph.phase, graph.counts[0][0]) for graph in part.graphs] == [("map", dict(profile.phases)["map"])]


def test_the_graph_of_two_sides_has_the_seconds_per_gb_of_the_difference(tmp_path: Path) -> None:
    profiled = profiled_repository(tmp_path / "repository")
    sides = profiled_sides(profiled.store, profiled.store.table(), (profiled.first, profiled.second), "configurations")
    answer = flame_graphs_of_sides(sides)
    rows = {row.code.phase: row for row in difference_of_sides(sides).difference.phases}
    assert {graph.phase for graph in answer.graphs} == set(rows)
    for graph in answer.graphs:
        values = [counts[0] * value for counts, value in zip(graph.counts, answer.unit_per_count, strict=True)]
        row = rows[graph.phase]
        assert values == pytest.approx([row.baseline_s_per_gb, row.candidate_s_per_gb])
    assert answer.graphs[0].phase == "reduce", "the phase with the largest difference is first"


def test_the_command_writes_the_answer_as_one_html_file(tmp_path: Path) -> None:
    profiled = profiled_repository(tmp_path / "repository")
    target = tmp_path / "flame.html"
    options = ["--repository", str(profiled.store.root), "--html", str(target)]
    done = CliRunner().invoke(assay, ["profile", profiled.first, *options])
    assert done.exit_code == 0, done.output
    assert data_of(target) == json_value(flame_graphs_of_run(profiled.store, profiled.first))
    done = CliRunner().invoke(assay, ["profile", "diff", profiled.first, profiled.second, *options])
    assert done.exit_code == 0, done.output
    sides = profiled_sides(profiled.store, profiled.store.table(), (profiled.first, profiled.second), "configurations")
    assert data_of(target) == json_value(flame_graphs_of_sides(sides))
    assert f"<h1>{difference_sentence(difference_of_sides(sides))}</h1>" in target.read_text("utf-8")
    refused = CliRunner().invoke(assay, ["profile", profiled.first, *options, "--node", "worker1"])
    assert isinstance(refused.exception, SpecificationError)


def data_of(page: Path) -> object:
    """Return the JSON of the page, which no name of a method can end early."""
    match = re.search(r'<script type="application/json">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    assert match
    assert "</script>_method" in match[1].replace("\\u003c", "<").replace("\\u003e", ">")
    return json.loads(match[1])
