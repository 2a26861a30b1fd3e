"""Test ratios of workloads to TeraSort: medians, replication, measured or derived CPU time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from assay.analysis.run_profile.workload_ratios import workload_ratios
from assay.model.runs.run import Run
from assay.model.runs.run_status import RunStatus
from builders import make_run

SORT = {"hdfs_read_bytes": 100.0, "shuffle_bytes": 100.0, "hdfs_write_bytes": 100.0, "cpu_busy_share": 0.5}
GENERATED = {"hdfs_read_bytes": 0.0, "hdfs_write_bytes": 100.0, "cpu_busy_share": 0.25}


def run_of(number: int, workload: str, metrics: dict[str, float], copies: int | None, **changes: Any) -> Run:
    parameters = {} if copies is None else {"dfs.replication": str(copies)}
    return make_run(
        number,
        workload=workload,
        metrics=metrics,
        parameters=parameters,
        workload_parameters={"program": workload},
        **changes,
    )


def test_ratios_are_to_terasort_on_the_same_layout() -> None:
    runs = [
        run_of(1, "terasort", SORT, 1),
        run_of(2, "teragen", GENERATED, 3),
        run_of(3, "terasort", SORT | {"hdfs_read_bytes": 50.0}, 1, layout="SS2", levels={"layout": "SS2"}),
        run_of(4, "wordcount", SORT, 1, layout="HS2", levels={"layout": "HS2"}),
    ]
    profiles = workload_ratios(runs)
    assert profiles.has_ratios
    sort, generated, second_layout, without_terasort = profiles.rows
    assert (sort.input_ratio, sort.shuffle_ratio, sort.output_ratio, sort.cpu_ratio) == (1, 1, 1, 1)
    ratios = (generated.input_ratio, generated.shuffle_ratio, generated.output_ratio, generated.cpu_ratio)
    assert ratios == (0, 0, 3, 0.5)
    assert (second_layout.layout, second_layout.input_ratio) == ("SS2", 1)
    assert (without_terasort.layout, without_terasort.input_ratio) == ("HS2", None)


def test_outputs_count_one_copy_if_a_side_has_no_replication() -> None:
    profiles = workload_ratios([run_of(1, "terasort", SORT, None), run_of(2, "teragen", GENERATED, 3)])
    assert profiles.rows[1].output_ratio == 1


def test_cpu_time_over_duration_replaces_the_busy_share_on_both_sides() -> None:
    metrics = {"hdfs_read_bytes": 1.0, "cpu_s": 30.0}
    profiles = workload_ratios(
        [run_of(1, "terasort", SORT | {"cpu_s": 60.0}, 1), run_of(2, "wordcount", metrics, 1, duration_s=30)]
    )
    assert profiles.rows[1].cpu_busy_share is None
    assert profiles.rows[1].cpu_ratio == 1


def test_ratios_use_medians_of_valid_runs_and_need_the_reference_workload() -> None:
    runs = [run_of(n, "terasort", SORT | {"hdfs_read_bytes": size}, 1) for n, size in enumerate((10.0, 20.0, 90.0))]
    broken = replace(runs[0], status=RunStatus.INVALID, metrics=SORT)
    (row,) = workload_ratios([*runs, broken], reference="teragen").rows
    assert (row.n, row.input_bytes, row.input_ratio) == (3, 20.0, None)


def test_runs_are_compared_although_an_option_of_one_workload_differs() -> None:
    levels = {"layout": "HD2", "dfs.blocksize": "64MB"}
    sort = run_of(1, "terasort", SORT, 1, levels=levels | {"terasort.reduces": "6"})
    varied = levels | {"terasort.reduces": "12"}  # the plan varied it, and TeraGen has nothing to do with it
    profiles = workload_ratios([sort, run_of(2, "teragen", GENERATED, 1, levels=varied)])
    assert profiles.rows[1].cpu_ratio == pytest.approx(0.5)
    assert profiles.rows[1].context == "dfs.blocksize=64MB"
