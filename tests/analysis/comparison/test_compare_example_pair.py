"""Test the choice of two runs that illustrate a speedup."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.analysis.comparison.details.example_pair import example_pair
from assay.analysis.statistics.runs.run_table import table_of
from assay.model.runs.run import Run
from builders import make_run


def _run(number: int, layout: str, duration_s: float, sort_factor: int) -> Run:
    return replace(
        make_run(number, layout=layout, workload="terasort"),
        duration_s=duration_s,
        levels={"layout": layout},
        parameters={"io.sort.factor": str(sort_factor)},
    )


RUNS = [
    _run(0, "HD2", 90, 10),
    _run(1, "SS2", 10, 10),  # the most extreme group
    _run(2, "HD2", 40, 20),
    _run(3, "SS2", 20, 20),  # the group nearest to the mean of three groups
    _run(4, "HD2", 21, 30),
    _run(5, "SS2", 20, 30),
    _run(6, "SS2", 5, 40),
]


def test_a_typical_group_is_shown_rather_than_the_most_extreme() -> None:
    assert example_pair(table_of(RUNS), "layout", "HD2", "SS2", np.zeros(7, dtype=bool)) == (2, 3)


def test_runs_that_were_observed_come_first_and_repetitions_next() -> None:
    observed = np.array([False, False, False, False, True, True, True])
    assert example_pair(table_of(RUNS), "layout", "HD2", "SS2", observed) == (4, 5)
    repeated = [*RUNS, _run(7, "HD2", 91, 10), _run(8, "SS2", 11, 10)]
    pair = example_pair(table_of(repeated), "layout", "HD2", "SS2", np.zeros(9, dtype=bool))
    assert pair is not None
    assert {RUNS[0].parameters["io.sort.factor"]} == {repeated[row].parameters["io.sort.factor"] for row in pair}


def test_the_observed_run_of_a_group_is_chosen() -> None:
    runs = [*RUNS[2:4], _run(9, "HD2", 41, 20)]
    assert example_pair(table_of(runs), "layout", "HD2", "SS2", np.array([False, True, True])) == (2, 1)


@pytest.mark.parametrize(("baseline", "candidate"), [("HD2", "NVE"), ("NVE", "SS2")])
def test_there_is_no_example_pair_without_matching_runs(baseline: str, candidate: str) -> None:
    assert example_pair(table_of(RUNS), "layout", baseline, candidate, np.zeros(7, dtype=bool)) is None
    unmatched = [RUNS[0], RUNS[3]]
    assert example_pair(table_of(unmatched), "layout", "HD2", "SS2", np.zeros(2, dtype=bool)) is None
