"""Test that a pool of simulators ends what waits for it when it is closed."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.estimation.simulator.pool import SimulatorPool
from assay.estimation.simulator.scenario import SimulationRequest, scenario_of
from assay.estimation.simulator.scenario_document import SimulatorInput
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import HostError
from assay.model.plans.configuration import Configuration
from assay.specs.profiles import shipped_profile
from assay.workloads.workload import Size
from cluster_texts import SIMULATED, cluster_text
from simulator_support import needs_simulator

DEVICES = {"hdd": "{kind: hdd, count: 2, read: 120MB/s, write: 115MB/s, capacity: 1TB}"}
PLAN = """
plan: pool
cluster: cluster.yaml
engine: hadoop
workloads:
  - terasort: {data: 10GB, maps: 80, reduces: 20}
factors:
  layout: [HD2]
repetitions: 1
seed: 1
"""


@pytest.fixture
def scenarios(tmp_path: Path) -> list[SimulatorInput]:
    """20 scenarios of one configuration."""
    cluster = cluster_text(DEVICES, header=SIMULATED, cores=8, memory="32GB", workers=10)
    (tmp_path / "cluster.yaml").write_text(cluster)
    (tmp_path / "plan.yaml").write_text(PLAN)
    plan = load_plan(tmp_path / "plan.yaml")
    configuration = Configuration({}, plan.layouts["HD2"], {}, engine="hadoop")
    size = Size(10 * 10**9, 1, maps=80, reduces=20)
    scenario = scenario_of(SimulationRequest(plan.cluster, configuration, "terasort", size, shipped_profile()))
    return [scenario.with_seed(seed, "pool") for seed in range(20)]


@needs_simulator
def test_a_closed_pool_refuses_scenarios_with_a_message(scenarios: list[SimulatorInput]) -> None:
    pool = SimulatorPool(1)
    pool.close()
    with pytest.raises(HostError, match="the simulator pool is closed"):
        pool.simulate_each(scenarios)


@needs_simulator
def test_a_call_ends_with_an_error_if_its_pool_is_closed_before_all_results(scenarios: list[SimulatorInput]) -> None:
    pool, counts = SimulatorPool(1), list[int]()

    def close(done: int) -> None:
        counts.append(done)
        pool.close()

    with pytest.raises(HostError, match="the simulator pool is closed"):
        pool.simulate_each(scenarios, close)
    assert 0 < counts[0] < len(scenarios)
