"""A smaller cluster with the same work for each node: what a large scenario is asked for many times.

In: a scenario. Out: the same with fewer nodes, and as many fewer tasks, bytes and files, so that a node has as much to
do. Its times are nearly those of the whole: what differs is in docs/simulator.md. The interval of a large run is from
draws of it, as a ratio; the run's own time is always of the whole cluster.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from assay.estimation.simulator.scenario import Scenario

NODES_MAX = 200
"""A cluster of more nodes is drawn smaller."""
TASKS_MAX = 20_000
"""So are more tasks than this, as far as nodes are left."""
NODES_MIN = 20


def smaller(scenario: Scenario) -> Scenario:
    """Return a scenario of at most some 200 nodes and 20,000 tasks; the same where it is that already."""
    tree = scenario.tree
    nodes = sum(len(kind["names"]) for kind in tree["cluster"]["nodes"])
    tasks = sum(stage["tasks"] for job in tree["jobs"] for stage in job["stages"])
    times = min(max(nodes / NODES_MAX, tasks / TASKS_MAX), nodes / NODES_MIN)
    if times <= 1:
        return scenario
    cluster = _cluster(tree["cluster"], times)
    times = nodes / sum(len(kind["names"]) for kind in cluster["nodes"])
    return replace(
        scenario,
        tree={
            **tree,
            "cluster": cluster,
            "jobs": [{**job, "stages": [_stage(stage, times) for stage in job["stages"]]} for job in tree["jobs"]],
            "datasets": [
                {**dataset, "bytes": dataset["bytes"] / times, "files": _fewer(dataset["files"], times)}
                for dataset in tree["datasets"]
            ],
        },
    )


def _fewer(count: int, times: float) -> int:
    return max(1, round(count / times))


def _cluster(cluster: Mapping[str, Any], times: float) -> dict[str, Any]:
    nodes = [{**kind, "names": kind["names"][: _fewer(len(kind["names"]), times)]} for kind in cluster["nodes"]]
    tree: dict[str, Any] = {**cluster, "nodes": nodes}
    if "cpu_pool" in cluster:
        tree["cpu_pool"] = {name: cores / times for name, cores in cluster["cpu_pool"].items()}
    if "racks" in cluster:
        # Of fewer racks, less of the traffic crosses uplinks: these are slower by as much.
        size, uplink = cluster["racks"]["nodes"], cluster["racks"]["uplink_bytes_per_s"]
        before, after = (
            1 - 1 / max(1.0, sum(len(kind["names"]) for kind in kinds) / size) for kinds in (cluster["nodes"], nodes)
        )
        tree["racks"] = {"nodes": size, "uplink_bytes_per_s": uplink * (after / before if after > 0 else 1.0)}
    return tree


def _stage(stage: Mapping[str, Any], times: float) -> dict[str, Any]:
    source = stage["input"]
    if "bytes" in source:
        source = {**source, "bytes": source["bytes"] / times}
    return {**stage, "tasks": _fewer(stage["tasks"], times), "input": source}
