"""Find the plan and the cluster file of a run, which a simulation of the run starts from, and the newest plan.

In: a repository and a run. Out: the texts of both, from the campaign that made the run, or else from the run's own
bundle, which holds copies of them. A shipped example can describe the cluster of runs without a cluster file.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.analysis.statistics import has_level, usable
from assay.execution.planning.plan_files.plan_reader import plan_of_texts
from assay.foundation.errors import RepositoryError, SpecificationError
from assay.foundation.installation import installation
from assay.model import Cluster, Origin, Plan, Run, devices_of_code
from assay.specs.document import document_of
from assay.specs.redaction import CLUSTER_FILE, PLAN_FILE
from assay.store import Repository
from assay.store.campaigns.plan_texts import cluster_text, plan_text, plan_texts
from assay.text import scale_text

_BYTES_MAX = 1_000_000
"""Maximum number of bytes read from a file."""


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The texts of a plan and of a cluster file; empty where neither the campaign nor the bundle has them."""

    plan: str
    cluster: str


def run_files(repository: Repository, run: Run) -> RunFiles:
    """Return the plan and the cluster file of a run, as far as they are stored."""
    campaigns, plan, cluster = repository.folders.campaigns, "", ""
    if run.campaign_id and Path(run.campaign_id).name == run.campaign_id:
        plan, cluster = plan_text(campaigns, run.campaign_id), cluster_text(campaigns, run.campaign_id)
    if plan and cluster:
        return RunFiles(plan, cluster)
    try:
        bundle = repository.bundle_path(run.run_id)
    except RepositoryError:
        return RunFiles(plan, cluster)
    return RunFiles(plan or _text(bundle / PLAN_FILE), cluster or _text(bundle / CLUSTER_FILE))


def recorded_plan(run: Run) -> str:
    """Return the text of a plan of one configuration and one workload, from the run's own records.

    It is for bundles of older versions, which have no plan.
    """
    options = {name: value for name, value in run.workload_parameters.items() if name != "program"}
    if "waves" in options:
        options.pop("reduces", None)  # the recorded number follows from the waves
    program, scale = run.workload_parameters.get("program", run.workload), run.lab_scale or 1.0
    if not {"data", "data_per_node"} & options.keys() and run.data_bytes:
        options["data"] = f"{round(run.data_bytes / scale)}B"
    content: dict[str, object] = {
        "plan": run.plan or "recorded",
        "cluster": CLUSTER_FILE,
        "engine": run.engine,
        "layout": run.layout,
        "parameters": {**run.parameters},
        "workloads": [{program: options if program == run.workload else {"label": run.workload, **options}}],
    }
    recorded_cluster = run.recorded.cluster
    if recorded_cluster is not None and recorded_cluster.layout is not None and not devices_of_code(run.layout):
        layout = {
            "hdfs": dict(recorded_cluster.layout.hdfs),
            "intermediate": dict(recorded_cluster.layout.intermediate),
        }
        content["layouts"] = {run.layout: layout}
    return json.dumps(content)


def refuse_another_scale(cluster: Cluster, run: Run) -> None:
    """Raise SpecificationError if ``cluster``, given for ``run``, has another scale than the run was measured at."""
    if math.isclose(cluster.scale, run.lab_scale or 1.0):
        return
    file_text = f"a lab at scale {scale_text(cluster.scale)}" if cluster.lab else "hosts at full scale"
    run_text = f"in a lab at scale {scale_text(run.lab_scale)}" if run.lab_scale else "at full scale"
    requirement = f"has lab: {{scale: {scale_text(run.lab_scale)}}}" if run.lab_scale else "has no section lab"
    raise SpecificationError(
        f"cluster {cluster.name} is {file_text}, but run {run.run_id[:13]} was measured {run_text}",
        where="--cluster",
        hint=f"give the cluster file of the measured runs, which {requirement}; --set changes its hardware",
    )


def example_of(cluster: str) -> str:
    """Return the text of the example file that describes the cluster of this name; empty without one."""
    folder = installation().examples
    paths = sorted(folder.glob("*/*cluster.yaml")) if folder and cluster else []
    texts = (path.read_text(encoding="utf-8") for path in paths)
    return next((text for text in texts if describes(text, cluster)), "")


def describes(text: str, cluster: str) -> bool:
    """Return whether a cluster file describes the cluster of this name."""
    return bool(cluster) and f"cluster: {cluster}" in text.splitlines()


def newest_plan(repository: Repository, cluster: str | None) -> Plan:
    """Return the newest plan, on ``cluster`` unless that is None.

    For a cluster without a stored plan, it is that of its newest run, on the example file that describes the cluster.
    Raises SpecificationError if there is neither.
    """
    for stored_plan in plan_texts(repository.folders.campaigns):
        text = cluster_text(repository.folders.campaigns, stored_plan.campaign_id)
        try:
            plan = plan_of_texts(document_of(stored_plan.text.encode(), PLAN_FILE).content, text)
        except SpecificationError:
            continue
        if cluster in (None, plan.cluster.name):
            return plan
    example = example_of(cluster or "")
    run = _newest_run(repository, cluster) if cluster and example else None
    if run is not None:
        plan = plan_of_texts(document_of(recorded_plan(run).encode(), PLAN_FILE).content, example)
        refuse_another_scale(plan.cluster, run)
        return plan
    on = f" on {cluster}" if cluster else ""
    raise SpecificationError(
        f"the repository has no plan{on} to start from",
        hint="name a plan file, which gives cluster, data and options: --like PLAN",
    )


def _newest_run(repository: Repository, cluster: str) -> Run | None:
    """Return the newest valid measured run on a cluster; None if there is none."""
    table = repository.table()
    rows = usable(table) & has_level(table, "cluster", cluster) & has_level(table, "origin", Origin.MEASURED)
    positions = np.flatnonzero(rows)
    if not len(positions):
        return None
    newest = positions[np.argmax(np.nan_to_num(table.values["started_unix_s"][positions]))]
    return repository.runs_at(table, [int(newest)])[0]


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_BYTES_MAX).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
