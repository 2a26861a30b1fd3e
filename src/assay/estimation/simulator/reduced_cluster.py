"""Shrink a large scenario to fewer nodes with the same work for each node, for repeated simulations.

In: a scenario. Out: the scenario with fewer nodes, and proportionally fewer tasks, bytes and files. Its times are close
to those of the whole cluster (docs/explanation/simulator.md). Reduced scenarios give only the interval of a large run,
relative to its time; the time itself is simulated on the whole cluster.
"""

from dataclasses import replace

from msgspec.structs import replace as struct_replace

from assay.estimation.simulator.scenario import Scenario
from assay.estimation.simulator.scenario_document import CpuPool, RackUplinks, ScenarioCluster, ScenarioStage

NODES_MAX = 200
"""Maximum number of nodes of a shrunk cluster."""
TASKS_MAX = 20_000
"""Maximum number of tasks, if that leaves :data:`NODES_MIN` nodes."""
NODES_MIN = 20
"""Minimum number of nodes of a shrunk cluster."""


def reduced_scenario(scenario: Scenario) -> Scenario:
    """Return a scenario of about 200 nodes and 20,000 tasks at most; the same scenario if it is not larger."""
    document = scenario.document
    nodes = document.cluster.size
    tasks = sum(stage.tasks for job in document.jobs for stage in job.stages)
    divisor = min(max(nodes / NODES_MAX, tasks / TASKS_MAX), nodes / NODES_MIN)
    if divisor <= 1:
        return scenario
    cluster = _cluster(document.cluster, divisor)
    divisor = nodes / cluster.size
    jobs = [struct_replace(job, stages=[_stage(stage, divisor) for stage in job.stages]) for job in document.jobs]
    datasets = [
        struct_replace(dataset, bytes=dataset.bytes / divisor, files=_divided_count(dataset.files, divisor))
        for dataset in document.datasets
    ]
    return replace(scenario, document=struct_replace(document, cluster=cluster, jobs=jobs, datasets=datasets))


def _divided_count(count: int, divisor: float) -> int:
    return max(1, round(count / divisor))


def _cluster(cluster: ScenarioCluster, divisor: float) -> ScenarioCluster:
    nodes = [
        struct_replace(kind, names=kind.names[: _divided_count(len(kind.names), divisor)]) for kind in cluster.nodes
    ]
    reduced = struct_replace(cluster, nodes=nodes)
    pool, racks = cluster.cpu_pool, cluster.racks
    if pool is not None:
        pool = CpuPool(pool.cores / divisor, pool.background_cores / divisor)
    if racks is not None:
        # With fewer racks, less of the traffic crosses uplinks, so these are slowed down by the same factor.
        before, after = (1 - 1 / max(1.0, size / racks.nodes) for size in (cluster.size, reduced.size))
        racks = RackUplinks(racks.nodes, racks.uplink_bytes_per_s * (after / before if after > 0 else 1.0))
    return struct_replace(reduced, cpu_pool=pool, racks=racks)


def _stage(stage: ScenarioStage, divisor: float) -> ScenarioStage:
    source = stage.input
    if source.bytes is not None:
        source = struct_replace(source, bytes=source.bytes / divisor)
    return struct_replace(stage, tasks=_divided_count(stage.tasks, divisor), input=source)
