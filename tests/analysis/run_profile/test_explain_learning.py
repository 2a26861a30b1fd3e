"""Test that profiles learned from runs recover the values that produced them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.estimation.profiles.learning import ObservedRun, learned_profile
from assay.foundation.errors import SpecificationError
from assay.model.plans.workload_profile import splits_of
from assay.model.runs.job import Job
from assay.model.runs.origin import Origin
from assay.model.runs.run import Run
from assay.model.runs.task_attempt import TaskAttempt
from assay.model.runs.traces.trace import Trace
from assay.specs.profiles import load_profile, profile_text
from builders import WORKERS, make_run
from detail_support import make_task

JVM_S, MASTER_S, BYTE_S = 1.5, 3.0, 5e-9
BACKGROUND = 0.2
"""Cores that other programs use during the 24 s of attempts."""
DATA = 100_000_000


def _tasks(maps: int, reduces: int) -> tuple[TaskAttempt, ...]:
    first = [make_task(n, 6.0, 16.0, cpu_s=0.3 + 4e-8 * DATA / maps) for n in range(maps)]
    then = [
        make_task(
            maps + n, 10.0, 30.0, kind="reduce", shuffle_end_s=20.0, merge_end_s=22.0, cpu_s=0.3 + 3e-8 * DATA / 4
        )
        for n in range(reduces)
    ]
    return (*first, *then)


def _watched(maps: int = 8, reduces: int = 4, **changes: Any) -> ObservedRun:
    metrics = {
        "map_tasks": float(maps),
        "reduce_tasks": float(reduces),
        "hdfs_read_bytes": float(DATA),
        "hdfs_write_bytes": float(DATA),
        "map_output_bytes": 1.02 * DATA,
        "shuffle_bytes": 1.02 * DATA,
        "local_read_bytes": float(DATA),
        "local_write_bytes": 2.0 * DATA,
        "node_local_share": 1.0,
    }
    disk_bytes = DATA + 2 * DATA + 3 * DATA + 1.02 * DATA
    tasks = _tasks(maps, reduces)
    used_s = MASTER_S + JVM_S * len(tasks) + BYTE_S * disk_bytes + sum(task.cpu_s or 0 for task in tasks)
    trace = Trace()
    for node in WORKERS:
        for t_s, share in ((0.0, 0.0), (6.0, 0.0), (30.0, 1.0), (33.0, 1.0)):
            trace.append(t_s, node, "cgroup", "cpu_s", counter=True, value=share * used_s / len(WORKERS))
            trace.append(t_s, node, "cpu", "user_s", counter=True, value=share * (used_s + BACKGROUND * 24.0))
    environment = {"nodes": {WORKERS[0]: {"hardware": {"cpu": {"model": "EPYC", "logical_cores": 2}}}}}
    fields: dict[str, Any] = {
        "origin": Origin.MEASURED,
        "workload": "terasort",
        "workload_parameters": {"program": "terasort", "maps": str(maps), "reduces": str(reduces)},
        "parameters": {"dfs.replication": "2", "dfs.blocksize": "64MiB"},
        "duration_s": 33.0,
        "data_bytes": DATA,
        "lab_scale": 0.05,
        "metrics": metrics,
        "jobs": (Job("job_1_0001", "one", "succeeded", 3.0, 4.0, 31.0, maps, reduces),),
        "environment": environment,
    }
    return ObservedRun(make_run(**fields | changes), tasks, trace)


def test_runs_of_unknown_data_size_or_without_tasks_are_left_out_and_counted() -> None:
    bare = {"map_tasks": 8.0, "reduce_tasks": 4.0, "hdfs_read_bytes": float(DATA)}
    unusable = [_watched(data_bytes=None), _watched(data_bytes=0), ObservedRun(_watched(jobs=(), metrics=bare).run)]
    learned = learned_profile([_watched(), *unusable, _watched()], "mine")
    assert (learned.learned.runs, learned.learned.excluded) == (2, 3)
    assert learned.learned.source.endswith("; left out: 2 runs with unknown data size, 1 run without tasks")
    alone = learned_profile([_watched(), _watched()], "mine")
    assert (learned.costs, learned.workloads) == (alone.costs, alone.workloads)
    with pytest.raises(SpecificationError, match="left out: 2 runs with unknown data size, 1 run without tasks"):
        learned_profile(unusable, "mine")


def test_costs_are_learned_from_runs() -> None:
    learned = learned_profile([_watched() for _ in range(3)], "mine")
    costs, terasort = learned.costs, learned.workloads["terasort"]
    assert (costs.client_start_s.value, costs.job_start_s.value) == pytest.approx((3.0, 3.0))
    assert (costs.job_end_s.value, costs.client_end_s.value) == pytest.approx((1.0, 2.0))
    assert (terasort.maps, terasort.reduces) == ("splits", "reduces")
    assert (terasort.read, terasort.map_output, terasort.written) == pytest.approx((1.0, 1.02, 1.0))
    assert terasort.map_cpu_s_per_byte.value == pytest.approx(4e-8, rel=0.02)
    assert terasort.reduce_cpu_s_per_byte.value == pytest.approx(3e-8, rel=0.05)
    # One workload can't tell a job's share from an attempt's and a byte's: what they add up to is found.
    disk_bytes = 7.02 * DATA
    total = costs.job_cpu_s.value + 12 * (costs.task_cpu_s.value - 0.3) + disk_bytes * costs.io_cpu_s_per_byte.value
    assert total == pytest.approx(MASTER_S + 12 * JVM_S + disk_bytes * BYTE_S, rel=0.05)
    assert (learned.machine_cores, learned.cpu_model) == (2, "EPYC")
    assert learned.background_cores == pytest.approx(BACKGROUND)


def test_a_profile_is_kept_in_a_file(tmp_path: Path) -> None:
    learned = learned_profile([_watched()], "mine")
    text = profile_text(learned)
    (tmp_path / "mine.yaml").write_text(text)
    read = load_profile(tmp_path / "mine.yaml")
    assert profile_text(read) == text
    assert read.workloads.keys() == learned.workloads.keys()
    assert read.learned.source == learned.learned.source


def test_a_wrong_profile_is_refused_with_its_line(tmp_path: Path) -> None:
    text, file = profile_text(learned_profile([_watched()], "mine")), tmp_path / "profile.yaml"
    file.write_text(text.replace("maps: splits", "maps: most"))
    with pytest.raises(SpecificationError, match=r"profile\.yaml:\d+: .*maps: 'most' is not"):
        load_profile(file)
    file.write_text(text.replace("map_cpu_s_per_byte: {value: 4e-08", "map_cpu_s_per_byte: {value: 4"))
    with pytest.raises(SpecificationError, match="between low and high"):
        load_profile(file)


def _simulated() -> Run:
    return make_run(origin=Origin.SIMULATED)


@pytest.mark.parametrize(
    ("watched", "words"),
    [
        ([], "no valid measured run"),
        ([ObservedRun(_simulated())], "no valid measured run"),
        ([_watched(), _watched(engine="spark")], "several engines"),
        ([_watched(), _watched(lab_scale=None)], "labs and real hosts"),
    ],
)
def test_unusable_runs_are_refused_with_the_reason(watched: list[ObservedRun], words: str) -> None:
    with pytest.raises(SpecificationError, match=words):
        learned_profile(watched, "mine")


def test_splits_are_hadoops() -> None:
    assert splits_of(1000, 10, 100) == 10
    assert splits_of(1000, 1, 100) == 10
    assert splits_of(1009, 1, 100) == 10  # the last one may be longer by a tenth
    assert splits_of(1011, 1, 100) == 11
