"""Test simulated runs of large clusters: grouped nodes, equal results, and storage."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.analysis.run_profile.limits.run_limits import limits_of
from assay.analysis.run_profile.run_detail import run_detail
from assay.estimation.simulator.process import simulate
from assay.estimation.simulator.reduced_cluster import reduced_scenario
from assay.estimation.simulator.scenario import Scenario, SimulationRequest, scenario_of
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.interfaces.cli.main import assay
from assay.model.plans.configuration import Configuration
from assay.specs.profiles import shipped_profile
from assay.store import Repository
from assay.workloads.workload import Size
from cluster_texts import SIMULATED, cluster_text
from simulator_support import needs_simulator

NODES = 240
GB = 10**9
DEVICES = {"hdd": "{kind: hdd, count: 2, read: 120MB/s, write: 115MB/s, capacity: 1TB}"}
PLAN = """
plan: virtual
cluster: cluster.yaml
engine: hadoop
workloads:
  - terasort: {data: 60GB, maps: 480, reduces: 120}
factors:
  layout: [HD2]
repetitions: 1
seed: 1
"""


def write_plan(folder: Path, nodes: int = NODES, more: str = "") -> Path:
    cluster = cluster_text(DEVICES, header=SIMULATED, cores=8, memory="32GB", workers=nodes)
    (folder / "cluster.yaml").write_text(cluster + more)
    (folder / "plan.yaml").write_text(PLAN)
    return folder / "plan.yaml"


def request_of(folder: Path, nodes: int = NODES, size: Size | None = None, more: str = "") -> SimulationRequest:
    plan = load_plan(write_plan(folder, nodes, more))
    configuration = Configuration({}, plan.layouts["HD2"], {}, engine="hadoop")
    size = size or Size(60 * GB, 1, maps=480, reduces=120)
    return SimulationRequest(plan.cluster, configuration, "terasort", size, shipped_profile())


def run_plan(plan: Path, *options: str) -> Repository:
    root = plan.parent / f"r{len(options)}"
    done = CliRunner().invoke(assay, ["run", str(plan), "--repository", str(root), *options])
    assert done.exit_code == 0, (done.output, done.exception)
    return Repository.open(root)


@needs_simulator
def test_nodes_of_a_large_cluster_are_observed_together_and_all_figures_are_those_of_each_alone(tmp_path: Path) -> None:
    plan = write_plan(tmp_path)
    grouped, ungrouped = run_plan(plan), run_plan(plan, "--trace-by", "node")
    [run], [ungrouped_run] = grouped.runs(), ungrouped.runs()
    assert run.duration_s == ungrouped_run.duration_s
    grouped_trace, node_trace = grouped.trace(run.run_id), ungrouped.trace(ungrouped_run.run_id)
    assert {name for name in grouped_trace.node if name != "cluster"} == {"worker"}
    assert len({name for name in node_trace.node if name.startswith("worker")}) == NODES
    assert run.recorded.node_groups is not None
    assert run.recorded.node_groups.sizes == {"worker": NODES}
    assert ungrouped_run.recorded.node_groups is None
    for name in ("disk_read_bytes", "disk_write_bytes", "nic_receive_bytes", "cpu_busy_share", "disk_busy_max_share"):
        assert run.metrics[name] == pytest.approx(ungrouped_run.metrics[name], rel=1e-6), name
    tasks = grouped.tasks(run.run_id)
    assert len(tasks) == 600
    assert tasks == ungrouped.tasks(ungrouped_run.run_id)
    detail, node_detail = run_detail(run, tasks, grouped_trace), run_detail(ungrouped_run, tasks, node_trace)
    [group] = [use for use in detail.nodes if use.worker]
    assert (group.nodes, group.attempts) == (NODES, 600)
    assert [use.nodes for use in detail.devices] == [use.nodes for use in node_detail.devices]
    limits, node_limits = limits_of(run, tasks, grouped_trace), limits_of(ungrouped_run, tasks, node_trace)
    assert limits is not None
    assert node_limits is not None
    assert limits.workers == ("worker",)
    assert limits.rests_on[0].startswith("Computed from traces of 240 workers in groups (worker")
    assert sum(limit.time_s for limit in limits.times) == pytest.approx(run.duration_s)


@needs_simulator
def test_racks_are_observed_where_there_are_some_and_not_too_many(tmp_path: Path) -> None:
    request = request_of(tmp_path, more="racks: {nodes: 40, uplink: 40Gbit/s}\n")
    [result] = simulate([scenario_of(request).with_seed(1, "x", "traces")])
    assert result.tree["node_groups"]["names"] == [f"rack{number}" for number in range(1, 7)]
    assert result.tree["node_groups"]["nodes"] == [40] * 6
    [small] = simulate([scenario_of(request_of(tmp_path, 100)).with_seed(1, "x", "traces")])
    assert "node_groups" not in small.tree
    assert len({series["node"] for series in small.tree["traces"]}) == 100


@needs_simulator
def test_a_trace_has_a_maximum_size_for_runs_of_any_length(tmp_path: Path) -> None:
    request = request_of(tmp_path, 2, Size(900 * GB, 1, maps=900, reduces=8))
    [result] = simulate([scenario_of(request).with_seed(1, "x", "traces")])
    assert result.duration_s > 7200
    assert len(result.tree["trace_t_s"]) <= 7201
    assert result.tree["trace_t_s"][-1] == pytest.approx(result.duration_s)
    read_bytes = sum(series["values"][-1] for series in result.tree["traces"] if series["metric"] == "read_bytes")
    assert read_bytes == pytest.approx(result.tree["counters"]["disk_read_bytes"], rel=1e-6)


def test_a_small_scenario_is_drawn_whole(tmp_path: Path) -> None:
    scenario = scenario_of(request_of(tmp_path, 100))
    assert reduced_scenario(scenario) is scenario


def _mean_duration_s(scenario: Scenario) -> float:
    seeds = [scenario.with_seed(seed, "x") for seed in (1, 2, 3)]
    return math.exp(sum(math.log(run.duration_s) for run in simulate(seeds)) / len(seeds))


@needs_simulator
@pytest.mark.parametrize("more", ["", "racks: {nodes: 40, uplink: 40Gbit/s}\n"], ids=["one rack", "racks"])
def test_a_smaller_cluster_with_the_same_work_for_each_node_takes_nearly_as_long(tmp_path: Path, more: str) -> None:
    request = request_of(tmp_path, 800, Size(400 * GB, 1, maps=3200, reduces=800), more)
    for changed_request in (request, replace(request, disks=0.9), replace(request, cpu=1.2)):
        scenario = scenario_of(changed_request)
        reduced = reduced_scenario(scenario)
        assert reduced.document.cluster.size == 200
        assert _mean_duration_s(reduced) == pytest.approx(_mean_duration_s(scenario), rel=0.1)
