"""Make a repository of measured runs with their campaign, for questions that need the simulator."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from click.testing import CliRunner, Result

from assay.execution.planning.expansion import expand
from assay.execution.planning.order import PlannedRun, schedule
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.installation import installation
from assay.interfaces.cli.main import assay
from assay.model.runs.job import Job
from assay.model.runs.origin import Origin
from assay.model.runs.task_attempt import TaskAttempt
from assay.model.runs.traces.trace import Trace
from assay.specs.redaction import files_of_bundles
from assay.store import Repository
from assay.store.campaigns.journal import create_campaign
from builders import make_run
from cluster_texts import SIMULATED, SIMULATED_DEVICES, cluster_text
from detail_support import make_task


def has_simulator() -> bool:
    """Return whether the simulator is built or ASSAY_SIMULATE names one."""
    return bool(os.environ.get("ASSAY_SIMULATE")) or installation().simulator is not None


_there = pytest.mark.skipif(
    not has_simulator(), reason="the simulator is not built: make setup (cargo build --release in rust/)"
)
Test = TypeVar("Test", bound=Callable[..., None])


def needs_simulator(test: Test) -> Test:
    """Mark a test that needs the simulator: as slow, and to skip with a reason if the simulator is not built."""
    marked: Test = pytest.mark.slow(_there(test))
    return marked


SIMULATED_PLAN = """
plan: virtual
cluster: cluster.yaml
engine: hadoop
workloads:
  - terasort: {data: 10GB, reduces: 10}
factors:
  layout: [HD2, SSD]
repetitions: 2
seed: 1
"""
"""A plan on the cluster of :func:`write_simulated_plan`."""


def write_simulated_plan(folder: Path) -> Path:
    """Write :data:`SIMULATED_PLAN` and a cluster of five simulated workers; return the plan's path."""
    cluster = cluster_text(SIMULATED_DEVICES, header=SIMULATED, cores=8, memory="32GB", workers=5)
    (folder / "cluster.yaml").write_text(cluster)
    (folder / "plan.yaml").write_text(SIMULATED_PLAN)
    return folder / "plan.yaml"


EXAMPLE = Path(__file__).parents[2] / "examples" / "lab" / "hdd-vs-ssd.yaml"
TIMES_S = {"dfsio-write": (36.0, 22.0), "dfsio-read": (30.0, 18.0), "terasort": (53.0, 28.0)}
"""By workload on HD2 and on SS2: as the demo measures them."""
_BYTES = 100_000_000


def measured_repository(root: Path, *, carried: bool = False, campaigns: int = 1) -> Repository:
    """Return a repository with the example's plan as if it had been measured: times, bytes, attempts, CPU.

    ``carried``: each bundle has its plan and cluster; bundles of older versions have not. ``campaigns``: number of
    campaigns, each with six configurations.
    """
    plan = load_plan(EXAMPLE)
    planned = schedule(plan, expand(plan))
    store = Repository.create(root)
    files = files_of_bundles(plan) if carried else {}
    for campaign in range(campaigns):
        journal = create_campaign(store.folders.campaigns, plan, len(planned))
        for number, run_of_plan in enumerate(planned, campaign * len(planned)):
            _publish(store, run_of_plan, number, plan.name, journal.campaign_id, files)
    return store


def _publish(
    store: Repository, planned: PlannedRun, number: int, plan: str, campaign_id: str, files: dict[str, bytes]
) -> None:
    name, layout = planned.workload.name, planned.configuration.layout.name
    time_s = TIMES_S[name][layout == "SS2"] * (1 + 0.02 * (planned.repetition - 2))
    reduces, size = (6, _BYTES) if name == "terasort" else (1, 182_452_224)
    tasks = _tasks(time_s, reduces, name, number)
    job = Job(tasks[0].job_id, name, "succeeded", 3.0, 4.0, time_s - 0.7, 6, reduces)
    run = make_run(
        run_id=f"00000000-0000-7000-8000-{number:012x}",
        campaign_id=campaign_id,
        plan=plan,
        origin=Origin.MEASURED,
        cluster="hdd-vs-ssd",
        lab_scale=0.05,
        workload=name,
        workload_parameters={"program": name, **planned.workload.parameters},
        layout=layout,
        levels=dict(planned.configuration.levels),
        parameters=dict(planned.configuration.parameters),
        repetition=planned.repetition,
        duration_s=time_s,
        data_bytes=size,
        jobs=(job,),
        metrics=_metrics(name, size, reduces),
        environment={
            "nodes": {
                "worker1": {"hardware": {"cpu": {"model": "EPYC", "logical_cores": 2}}, "kernel": {"machine": "x86_64"}}
            },
            "cluster": {"workers": 3, "worker_names": ["worker1", "worker2", "worker3"]},
        },
    )
    store.publish(replace(run, phases=()), tasks=tasks, trace=_trace(tasks), files=files)


def _metrics(name: str, size: int, reduces: int) -> dict[str, float]:
    sorts = name == "terasort"
    return {
        "map_tasks": 6.0,
        "reduce_tasks": float(reduces),
        "hdfs_read_bytes": 0.0 if name == "dfsio-write" else float(size),
        "hdfs_write_bytes": 0.0 if name == "dfsio-read" else float(size),
        "map_output_bytes": 1.02 * size if sorts else 0.0,
        "shuffle_bytes": 1.02 * size if sorts else 0.0,
        "local_read_bytes": 1.04 * size if sorts else 0.0,
        "local_write_bytes": 2.1 * size if sorts else 0.0,
        "node_local_share": 1.0,
    }


def _tasks(time_s: float, reduces: int, name: str, number: int) -> list[TaskAttempt]:
    fields: dict[str, Any] = {"job_id": f"job_1_{number:04d}", "cpu_s": 0.9 if name == "terasort" else 0.5}
    nodes = ["worker1", "worker2", "worker3"]
    half_s = 7.0 + 0.5 * (time_s - 8.0)
    maps = [make_task(n, 7.0, half_s, node=nodes[n % 3], **fields) for n in range(6)]
    ends = {"shuffle_end_s": half_s, "merge_end_s": half_s + 0.5}
    reduce_numbers = range(6, 6 + reduces)
    return [
        *maps,
        *(make_task(n, 9.0, time_s - 0.8, kind="reduce", node=nodes[n % 3], **fields, **ends) for n in reduce_numbers),
    ]


def _trace(tasks: list[TaskAttempt]) -> Trace:
    trace = Trace()
    first, last = min(task.start_s for task in tasks), max(task.end_s for task in tasks)
    used_s = 5.0 + 2.3 * len(tasks)
    for node in ("worker1", "worker2", "worker3"):
        for t_s, share in ((0.0, 0.0), (first, 0.0), (last, 1.0), (last + 2.0, 1.0)):
            trace.append(t_s, node, "cgroup", "cpu_s", counter=True, value=share * used_s / 3)
    return trace


def command_result(*arguments: str) -> Result:
    """Return the result of a command of assay."""
    return CliRunner().invoke(assay, list(arguments))


def whatif_answers(repository: Path, *arguments: str) -> list[dict[str, Any]]:
    """Return the configurations in the JSON of ``assay whatif``."""
    result = command_result("whatif", *arguments, "--json", "--repository", str(repository))
    assert result.exit_code == 0, (result.output, result.exception)
    answers: list[dict[str, Any]] = json.loads(result.output)["configurations"]
    return answers
