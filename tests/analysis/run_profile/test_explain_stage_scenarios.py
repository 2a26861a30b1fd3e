"""Test scenarios built from Spark stage graphs: bytes read, tasks per node, and sorted shuffles."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.estimation.profiles.learning import learned_profile
from assay.estimation.simulator.process import simulate
from assay.estimation.simulator.scenario import SimulationRequest, scenario_of
from assay.estimation.simulator.scenario_document import ScenarioDocument
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.model.plans.configuration import Configuration
from assay.model.plans.cost_profile import CostProfile
from assay.model.plans.workload_profile import StageProfile, Uncertain
from assay.workloads.workload import Size
from paths import ROOT
from simulator_support import needs_simulator
from staged_samples import watched_stages

EXAMPLE = ROOT / "examples" / "spark-shuffle" / "quick-plan.yaml"
CPU = Uncertain(1e-8, 1e-8, 1e-8, 1)
DATA = 60_000_000


def _profile(*stages: StageProfile) -> CostProfile:
    learned = learned_profile([watched_stages() for _ in range(3)], "mine")
    workload = learned.workloads["terasort"]
    return replace(learned, workloads={"terasort": replace(workload, stages=stages or workload.stages)})


def _document(profile: CostProfile, parameters: dict[str, str] | None = None) -> ScenarioDocument:
    plan = load_plan(EXAMPLE)
    given = {"spark.shuffle.compress": "false", "spark.executor.cores": "2", **(parameters or {})}
    configuration = Configuration({}, plan.layouts["All-SSD"], given, engine="spark")
    size = Size(DATA, 1, maps=6, reduces=4, block_bytes=32 * 2**20)
    return scenario_of(SimulationRequest(plan.cluster, configuration, "terasort", size, profile)).with_seed(
        1, "terasort", "tasks"
    )


def test_executors_are_spread_evenly_and_their_cores_take_tasks() -> None:
    [nodes] = _document(_profile()).cluster.nodes
    assert nodes.containers.cores == 2
    more = _document(_profile(), {"spark.executor.instances": "3"}).cluster.nodes
    assert sorted((len(kind.names), kind.containers.cores) for kind in more) == [(1, 2), (1, 4)]


def test_a_shuffle_of_few_partitions_is_written_twice_and_one_of_many_is_sorted() -> None:
    first = _document(_profile()).jobs[0].stages[0]
    assert first.sort is not None
    assert first.sort.buffer_bytes == pytest.approx(DATA * 1.2 / 6 / 8)
    ends = _profile().workloads["terasort"].stages
    many = _document(_profile(ends[0], replace(ends[1], tasks="300"))).jobs[0].stages[0]
    assert many.sort is not None
    assert many.sort.buffer_bytes > DATA, "it fits into the memory of a task"


@needs_simulator
def test_joins_and_jobs_after_each_other_are_carried_out_in_their_order() -> None:
    graph = (
        StageProfile("splits", 0, (), read=0.5, shuffled=0.5, cpu_s_per_byte=CPU),
        StageProfile("splits", 0, (), read=0.5, shuffled=0.1, cpu_s_per_byte=CPU),
        StageProfile("reduces", 0, (0, 1), shuffled=0.2, memory=2.0, cpu_s_per_byte=CPU),
        StageProfile("4", 1, (2,), written=0.2, cpu_s_per_byte=CPU),
        StageProfile("maps", 2, (), shuffled=0.01, cpu_s_per_byte=CPU),
        StageProfile("1", 2, (4,), cpu_s_per_byte=CPU),
    )
    tree = _document(_profile(*graph))
    assert [dataset.bytes for dataset in tree.datasets] == [DATA / 2, DATA / 2]
    [done] = simulate([tree])
    [job] = done.tree["jobs"]
    spans = [(stage["start_s"], stage["end_s"]) for stage in job["stages"]]
    assert spans[1][0] < spans[0][1], "both sides of a join are read at the same time"
    assert spans[2][0] >= max(spans[0][1], spans[1][1])
    assert spans[4][0] >= spans[3][1], "the next job waits for the one before"
    assert done.tree["counters"]["dfs_write_bytes"] == pytest.approx(0.2 * DATA, rel=0.01)


@needs_simulator
def test_data_beyond_the_memory_of_a_task_is_spilled() -> None:
    ends = _profile().workloads["terasort"].stages
    roomy, tight = (
        simulate([_document(_profile(ends[0], replace(ends[1], memory=held)))])[0].tree["counters"]
        for held in (1.5, 20.0)
    )
    assert tight["intermediate_write_bytes"] > 1.3 * roomy["intermediate_write_bytes"]
