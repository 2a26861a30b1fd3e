"""Test the arithmetic of the benchmark that counts in how many repetitions the slow method is on top."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.analysis.code_profile.flame import FlameGraph
from assay.questions.comparisons.code_difference import profiled_sides
from assay.questions.comparisons.flame_graphs import FlameGraphs, flame_graphs_of_sides
from benchmark_support import benchmark
from profile_support import BURN, profiled_repository


def test_increases_are_of_self_time_summed_over_all_callers() -> None:
    names = ("all", "first", "second", "slow")
    graph = FlameGraph("map", (0, 1, 2, 1, 2), (0, 1, 3, 2, 3), ((10, 4, 1, 6, 2), (20, 6, 3, 14, 9)))
    answer = FlameGraphs("s/GB", ("A", "B"), (1.0, 1.0), names, (graph,))
    increases = benchmark("profile_burn").increases(graph, answer)
    assert increases == {"first": 0, "second": 1, "slow": 9}
    assert sum(increases.values()) == 10


def test_the_slow_method_is_on_top_of_its_phase_alone(tmp_path: Path) -> None:
    profiled, increases = profiled_repository(tmp_path / "repository"), benchmark("profile_burn").increases
    ids = (profiled.first, profiled.second)
    answer = flame_graphs_of_sides(profiled_sides(profiled.store, profiled.store.table(), ids, "runs"))
    by_phase = {graph.phase: increases(graph, answer) for graph in answer.graphs}
    assert by_phase["reduce"].most_common(1)[0][0] == BURN
    assert BURN not in by_phase["map"]
    assert by_phase["reduce"][BURN] == pytest.approx(by_phase["reduce"].total())
