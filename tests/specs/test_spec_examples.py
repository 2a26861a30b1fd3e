"""Test that the plans in examples/ load, vary what the papers varied, and fit the described disks."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from assay.execution.campaign.attempts.before_job import is_complete
from assay.execution.engines.hadoop.settings.containers import MAP_MEMORY, containers_per_node
from assay.execution.planning.expansion import expand
from assay.execution.planning.forecast.inputs import size_of
from assay.execution.planning.order import PlannedRun, schedule
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.model.plans.plan import Plan
from assay.model.plans.program import StoredFiles
from assay.workloads.catalogue import workloads
from assay.workloads.common.inputs import Input
from assay.workloads.workload import Size
from paths import EXAMPLES

PLANS = sorted(path for path in EXAMPLES.glob("*/*.yaml") if re.search(r"^plan: ", path.read_text(), re.MULTILINE))
REAL = [path for path in PLANS if path.name == "plan.yaml"]
LAB = [path for path in PLANS if path.name == "lab-plan.yaml"]
REDUCING = {"terasort", "teravalidate", "wordcount", "shuffle", "sort"}


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def planned(path: Path) -> tuple[Plan, list[PlannedRun]]:
    plan = load_plan(path)
    return plan, schedule(plan, expand(plan))


@pytest.mark.parametrize("path", PLANS, ids=name_of)
def test_every_plan_loads_and_has_runs(path: Path) -> None:
    assert planned(path)[1]


@pytest.mark.parametrize("path", [*REAL, *LAB], ids=name_of)
def test_no_job_has_a_single_reduce_or_an_input_with_few_writers(path: Path) -> None:
    plan, runs = planned(path)
    for run in runs:
        options = run.workload.parameters
        if run.workload.name in REDUCING:
            assert int(options["reduces"]) >= len(plan.cluster.workers), run.title
        if workloads()[run.workload.name].input(size_of(run, plan)) is not None:
            assert int(options.get("maps", options.get("files", "0"))) >= len(plan.cluster.workers), run.title


def held(plan: Plan, runs: list[PlannedRun]) -> Counter[str]:
    """Return the bytes of kept data on each device of a worker: every layout keeps its own, once for all runs."""
    kept: dict[tuple[str, str], tuple[int, PlannedRun]] = {}
    for run in runs:
        size, workload = size_of(run, plan), workloads()[run.workload.name]
        layout, needed = run.configuration.layout.name, workload.input(size)
        for dataset in workload.kept_outputs(size):
            kept[layout, dataset] = (workload.data_bytes(size) * size.replication, run)
        while needed is not None:
            kept[layout, needed.path] = (needed.data_bytes * needed.replication, run)
            needed = needed.needs
    counts: Counter[str] = Counter()
    for data_bytes, run in kept.values():
        parts = run.configuration.layout.hdfs
        for part in parts:
            share = part.count / sum(piece.count for piece in parts)
            counts[part.device] += round(data_bytes * share / len(plan.cluster.workers))
    return counts


@pytest.mark.parametrize("path", PLANS, ids=name_of)
def test_the_kept_data_of_all_layouts_leaves_room_for_a_run(path: Path) -> None:
    plan, runs = planned(path)
    devices = plan.cluster.workers[0].type.devices
    capacity = {device.name: device.capacity_bytes * plan.cluster.scale for device in devices}
    for device, data_bytes in held(plan, runs).items():
        assert data_bytes <= 0.6 * capacity[device], device


def test_sandisks_files_are_theirs() -> None:
    plan, runs = planned(EXAMPLES / "sandisk-2014" / "plan.yaml")
    assert {size_of(run, plan) for run in runs} == {Size(512 * 2000 * 2**20, 3, files=512)}
    assert {run.workload.name for run in runs} == {"dfsioe-write", "dfsioe-read"}
    assert {run.configuration.layout.name for run in runs} == {"All-HDD", "All-SSD"}
    assert {containers_per_node(run.configuration.parameters, MAP_MEMORY) for run in runs} == {12}


def test_bscs_plan_has_its_storage_networks_and_containers() -> None:
    _, runs = planned(EXAMPLES / "bsc-2015" / "plan.yaml")
    levels = {(run.configuration.layout.name, run.configuration.network) for run in runs}
    setups = ("HDD", "HD2", "HD3", "HD4", "HD5", "SSD", "SS2", "HS5")
    assert levels == {(setup, network) for setup in setups for network in ("ETH", "IB")}
    assert {containers_per_node(run.configuration.parameters, MAP_MEMORY) for run in runs} == {12, 16, 24}
    assert {run.workload.name for run in runs} == {"terasort", "dfsioe-write", "dfsioe-read", "wordcount", "sort"}
    assert {run.workload.data_bytes for run in runs if run.workload.name == "terasort"} == {100 * 10**9}


def test_lisas_plan_runs_two_containers_a_core_in_single_waves() -> None:
    plan, runs = planned(EXAMPLES / "lisa14" / "plan.yaml")
    assert len({run.workload.name for run in runs}) == 7
    assert len({run.configuration.layout.name for run in runs}) == 7
    assert {run.configuration.parameters["mapreduce.map.output.compress"] for run in runs} == {"true", "false"}
    memory_mib = plan.cluster.workers[0].type.memory_bytes / 2**20
    for run in runs:
        parameters = run.configuration.parameters
        assert containers_per_node(parameters, MAP_MEMORY) == 2 * plan.cluster.workers[0].type.cores
        assert int(parameters["yarn.nodemanager.resource.memory-mb"]) < memory_mib
        assert int(run.workload.parameters["maps"]) == 8 * 16 - 1
        assert run.workload.data_bytes == 8 * 33 * 10**9
        assert run.repetition <= 5


@pytest.mark.parametrize("path", LAB, ids=name_of)
def test_lab_plans_say_how_long_they_take(path: Path) -> None:
    assert re.search(r"about [0-9.]+ hours by --dry-run", path.read_text().replace("\n# ", " "))


@pytest.mark.parametrize(
    ("stored", "complete"),
    [
        (StoredFiles(6, 600, 1800), True),
        (StoredFiles(12, 600, 1800), False),
        (StoredFiles(6, 500, 1500), False),
        (StoredFiles(6, 600, 1799), False),
    ],
)
def test_an_input_with_another_number_of_files_bytes_or_copies_is_made_again(
    stored: StoredFiles, complete: bool
) -> None:
    needed = workloads()["dfsioe-read"].input(Size(600, 3, files=6))
    assert isinstance(needed, Input)

    async def stored_files(_path: str) -> StoredFiles:
        return stored

    storage = SimpleNamespace(stored=stored_files)
    assert asyncio.run(is_complete(needed, cast(Any, storage))) is complete
