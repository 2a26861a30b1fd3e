"""Test a plan on a cluster that exists only as a file, with the simulator as engine."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.analysis.comparison.details.differences import environment_warnings, host_facts
from assay.estimation.profiles.learning import learned_profile
from assay.estimation.simulator.engine import shipped_simulator
from assay.estimation.simulator.extrapolation import extrapolation_error
from assay.estimation.simulator.scenario import SimulationRequest
from assay.execution.engines.catalogue import engine_kind
from assay.execution.engines.contract import ProviderKind
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.interfaces.cli.main import assay
from assay.model.plans.configuration import Configuration
from assay.model.runs.environment import Environment
from assay.model.runs.origin import Origin
from assay.model.runs.run_status import RunStatus
from assay.specs.profiles import profile_text, shipped_profile
from assay.store import Repository
from assay.workloads.workload import Size
from builders import make_run
from paths import ROOT
from simulator_support import SIMULATED_PLAN, needs_simulator, write_simulated_plan
from staged_samples import watched_stages

SHIPPED = ROOT / "examples" / "profiles" / "lab.yaml"


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return write_simulated_plan(tmp_path)


def test_a_simulated_cluster_needs_neither_addresses_nor_directories(plan: Path) -> None:
    cluster = load_plan(plan).cluster
    assert cluster.simulated
    assert [node.name for node in cluster.workers] == [f"worker{number}" for number in range(1, 6)]
    kind = engine_kind("hadoop", shipped_simulator)
    assert kind.provider_of(cluster) is kind.providers[ProviderKind.SIMULATED]


@needs_simulator
def test_a_written_plan_is_executed_and_a_second_call_has_no_remaining_runs(plan: Path) -> None:
    root = plan.parent / "r"
    for _ in range(2):
        result = CliRunner().invoke(assay, ["run", str(plan), "--repository", str(root)])
        assert result.exit_code == 0, (result.output, result.exception)
    runs = Repository.open(root).runs()
    assert [(run.origin, run.status, run.cold) for run in runs] == [(Origin.SIMULATED, RunStatus.VALID, None)] * 4
    times = {(run.layout, run.repetition): run.duration_s for run in runs}
    assert times["HD2", 1] > times["SSD", 1]
    for run in runs:
        assert run.metrics["duration_low_s"] < run.duration_s < run.metrics["duration_high_s"]
        assert {phase.name for phase in run.phases} >= {"setup", "map", "shuffle", "reduce"}
        assert run.environment["simulation"]["profile"] == "lab"
        assert run.metrics["disk_read_bytes"] > 0
        assert "simulated" in run.sources["disk_read_bytes"]
        assert "assay_own_s" not in run.metrics
    assert len({run.environment["simulation"]["seed"] for run in runs}) == 2


@needs_simulator
def test_a_campaign_stops_after_the_requested_runs_and_continues_later(plan: Path) -> None:
    root = ["--repository", str(plan.parent / "r")]

    def output_of(*arguments: str) -> str:
        result = CliRunner().invoke(assay, [*arguments, *root])
        assert result.exit_code == 0, (result.output, result.exception)
        return result.stdout

    output_of("run", str(plan), "--until", "1 run")
    [status] = json.loads(output_of("campaign", "status", "--json"))
    assert (status["running"], status["done"], status["planned"]) == (False, 1, 4)
    assert status["stopped"] == "--until 1 run"
    output_of("run", str(plan))
    assert len(Repository.open(plan.parent / "r").runs()) == 4


@needs_simulator
def test_a_simulated_run_is_not_called_cold_and_its_remaining_time_is_that_of_the_simulator(plan: Path) -> None:
    arguments = [str(plan), "--repository", str(plan.parent / "r")]
    preview = CliRunner().invoke(assay, ["run", *arguments, "--dry-run"])
    assert preview.output.startswith("4 runs to simulate: seconds each")
    result = CliRunner().invoke(assay, ["run", *arguments])
    assert result.exit_code == 0, (result.output, result.exception)
    progress_lines = [line for line in result.stderr.splitlines() if line.startswith("run ")]
    assert len(progress_lines) == 4
    assert "left" not in progress_lines[0]
    for line in progress_lines[1:]:
        seconds = re.search(r"about (\d+(\.\d+)?) s left", line)
        assert seconds is not None, line
        assert float(seconds[1]) < 60
    assert result.stderr.count("valid, simulated") == 4
    assert "cold" not in result.stderr
    listing = CliRunner().invoke(assay, ["runs", "--repository", str(plan.parent / "r")])
    assert listing.exit_code == 0
    assert "cold" not in listing.output
    run = Repository.open(plan.parent / "r").runs()[0]
    assert run.cold is None
    assert run.cache_state == "simulated"


def test_runs_that_were_recorded_as_simulated_and_cold_before_are_shown_as_simulated() -> None:
    assert make_run(origin=Origin.SIMULATED, cold=True).cache_state == "simulated"
    assert [make_run(cold=cold).cache_state for cold in (True, False, None)] == ["cold", "warm", ""]


@needs_simulator
def test_a_plan_that_cannot_be_simulated_is_refused_before_its_first_run(plan: Path) -> None:
    plan.write_text(SIMULATED_PLAN.replace("10GB, reduces: 10}", "10GB, reduces: 10}\n  - sql-join: {data: 1GB}"))
    result = CliRunner().invoke(assay, ["run", str(plan), "--repository", str(plan.parent / "r")])
    assert result.exit_code != 0
    assert not Repository.open(plan.parent / "r").runs()


@needs_simulator
def test_a_workload_without_a_profile_is_refused(plan: Path) -> None:
    plan.write_text(SIMULATED_PLAN.replace("engine: hadoop", "engine: spark"))
    arguments = ["run", str(plan), "--repository", str(plan.parent / "r")]
    wrong_engine = CliRunner().invoke(assay, [*arguments, "--profile", str(SHIPPED)])
    assert wrong_engine.exit_code != 0
    assert "was learned on hadoop, but the run uses spark" in str(wrong_engine.exception)
    plan.write_text(plan.read_text().replace("terasort", "shuffle"))
    unknown_workload = CliRunner().invoke(assay, arguments)
    assert unknown_workload.exit_code != 0
    assert "the profile lab-spark has no workload 'shuffle'" in str(unknown_workload.exception)


def test_a_prediction_far_from_the_training_data_has_a_note_and_a_wider_interval(plan: Path) -> None:
    plan_ = load_plan(plan)
    profile = shipped_profile()
    configuration = Configuration({}, plan_.layouts["HD2"], {})
    near, far = (
        extrapolation_error(SimulationRequest(plan_.cluster, configuration, "terasort", Size(data, 1), profile))
        for data in (10**8, 10**12)
    )
    assert near == (0.0, [])
    assert far[0] > 0.5
    assert "data: " in far[1][0]
    assert "times the learned range" in far[1][0]


def test_hosts_differ_by_the_profile_of_a_simulation_and_not_by_its_results() -> None:
    def facts(cpu: float, profile: str) -> dict[str, set[str]]:
        tree = {"simulation": {"profile": profile, "limits": {"cpu": cpu}}}
        return dict(host_facts([Environment(tree)], ""))

    assert environment_warnings(facts(0.1, "a"), facts(0.2, "a")) == []
    [warning] = environment_warnings(facts(0.1, "a"), facts(0.2, "b"))
    assert "simulation.profile" in warning.words


@needs_simulator
def test_spark_is_simulated_with_stages_and_executors_like_hadoop(plan: Path) -> None:
    root, profile = plan.parent / "r", plan.parent / "spark.yaml"
    profile.write_text(profile_text(learned_profile([watched_stages() for _ in range(3)], "sorted-on-spark")))
    text = plan.read_text().replace("  layout: [HD2, SSD]", "  layout: [HD2, SSD]\n  engine: [hadoop, spark]")
    plan.write_text(text.replace("engine: hadoop\n", ""))
    arguments = ["run", str(plan), "--repository", str(root)]
    refusal = CliRunner().invoke(assay, [*arguments, "--profile", str(SHIPPED)])
    assert "was learned on hadoop, but the run uses spark" in str(refusal.exception)
    assert not list(root.glob("bundles/*")), "no run started"
    result = CliRunner().invoke(assay, [*arguments, "--profile", str(profile), "--profile", str(SHIPPED)])
    assert result.exit_code == 0, (result.output, result.exception)
    runs = Repository.open(root).runs()
    spark_runs = [run for run in runs if run.engine == "spark"]
    assert len(spark_runs) == len(runs) / 2
    assert {(run.origin, run.status) for run in runs} == {(Origin.SIMULATED, RunStatus.VALID)}
    for run in spark_runs:
        assert [stage.parents for stage in run.stages] == [(), (0,)]
        assert run.stages[0].shuffle_write_bytes == pytest.approx(0.5 * 1.2 * 10e9, rel=0.01), (
            "lz4 is the default codec"
        )
        assert (run.stages[1].start_s or 0.0) >= (run.stages[0].end_s or 1e9), (
            "a stage begins when its parent has ended"
        )
        assert len(run.executors) == 5
        assert [phase.name for phase in run.phases] == ["setup", "stage 0", "stage 1", "cleanup"]
    times = {(run.layout, run.engine): run.duration_s for run in runs}
    assert times["SSD", "spark"] <= times["HD2", "spark"], "two cores of a node's eight: its disks wait for them"
