"""A plan put together from its parts: its YAML, how many runs it is, and how long they should take.

In: a cluster file's text, workloads, layouts, levels, repetitions. Out: the plan's text, and a :class:`Preview` of what
carrying it out would do (``campaign.prepare``, nothing written). Nothing that is named in a part is opened: the cluster
is text, and the plan names it ``cluster.yaml``.
"""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.campaign.prepare import Schedule, prepare, rows
from assay.errors import SpecificationError
from assay.model.plan import Plan
from assay.model.run import Run
from assay.planning.order import restarts
from assay.repository import Repository
from assay.spec import load_plan
from assay.spec.layouts import fitting_codes

PLAN_FILE, CLUSTER_FILE = "plan.yaml", "cluster.yaml"
RUNS_MAX = 5_000
"""More runs than this are no plan that anybody carries out, and take long to lay out."""
LISTED_MAX = 200
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/%+-]*")


@dataclass(frozen=True, slots=True)
class WorkloadDraft:
    """One workload: its name, its data at full scale (such as ``2GB``), and its options."""

    name: str
    data: str
    per_node: bool = False
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Draft:
    """The parts of a plan, as texts."""

    name: str
    workloads: tuple[WorkloadDraft, ...]
    layouts: tuple[str, ...]
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    repetitions: str = "3"
    seed: str = "1"


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """One run of the plan, in order; times in seconds."""

    run: int
    workload: str
    levels: dict[str, str]
    repetition: int
    restart: str | None
    starts_after_s: float
    expected_s: float
    basis: str
    """What says how long it takes."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What carrying out a plan would do."""

    plan: str
    text: str
    """The plan file; it names its cluster ``cluster.yaml``."""
    cluster: str
    workers: int
    codes: tuple[str, ...]
    """Codes of layouts that fit the workers."""
    workloads: int
    configurations: int
    repetitions: int
    runs: int
    done: int
    """Runs that an unfinished campaign of the very same plan has made."""
    left: int
    restarts: int
    """How often the daemons start."""
    expected_s: float
    guessed: bool
    """Whether no like run tells how long some of them take."""
    rows: tuple[PreviewRow, ...]
    """The first :data:`LISTED_MAX` of them."""


def _scalar(text: str) -> str:
    plain = _PLAIN.fullmatch(text) and text.lower() != "null"
    return text if plain else json.dumps(text, ensure_ascii=False)


def _inline(values: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{_scalar(name)}: {_scalar(text)}" for name, text in values.items()) + "}"


def plan_text(draft: Draft) -> str:
    """Return the plan as YAML."""
    lines = [f"plan: {_scalar(draft.name)}", f"cluster: {CLUSTER_FILE}"]
    if draft.parameters:
        lines += ["parameters:", *(f"  {_scalar(k)}: {_scalar(v)}" for k, v in draft.parameters.items())]
    lines += ["", "workloads:"]
    for workload in draft.workloads:
        amount = "data_per_node" if workload.per_node else "data"
        lines.append(f"  - {_scalar(workload.name)}: {_inline({amount: workload.data, **workload.options})}")
    several = {"layout": draft.layouts, **draft.levels} if len(draft.layouts) > 1 else dict(draft.levels)
    if several:
        lines += ["", "factors:"]
        lines += [f"  {_scalar(name)}: [{', '.join(map(_scalar, levels))}]" for name, levels in several.items()]
    lines.append("")
    if len(draft.layouts) == 1:
        lines.append(f"layout: {_scalar(draft.layouts[0])}")
    return "\n".join([*lines, f"repetitions: {_scalar(draft.repetitions)}", f"seed: {_scalar(draft.seed)}", ""])


def check_size(draft: Draft) -> None:
    """Raise :class:`SpecificationError` for a plan of too many runs, before any of them is laid out."""
    repetitions = int(draft.repetitions) if draft.repetitions.isdecimal() and len(draft.repetitions) < 7 else 1
    count = math.prod(
        [
            len(draft.workloads),
            max(1, len(draft.layouts)),
            repetitions,
            *(len(levels) for levels in draft.levels.values()),
        ]
    )
    if count > RUNS_MAX:
        raise SpecificationError(
            f"these are {count:,} runs, and a plan may have {RUNS_MAX:,} here",
            where="the plan",
            hint="fewer levels or repetitions; `assay run` takes larger plans",
        )


def write_plan(folder: Path, draft: Draft, cluster_text: str) -> Path:
    """Write the plan and its cluster into ``folder`` and return the plan's path."""
    (folder / CLUSTER_FILE).write_text(cluster_text, encoding="utf-8")
    path = folder / PLAN_FILE
    path.write_text(plan_text(draft), encoding="utf-8")
    return path


def checked_plan(draft: Draft, cluster_text: str) -> Plan:
    """Return the plan. Raises :class:`SpecificationError` that names the line of plan or cluster that is wrong."""
    check_size(draft)
    with tempfile.TemporaryDirectory(prefix="assay-plan-") as folder:
        try:
            return load_plan(write_plan(Path(folder), draft, cluster_text))
        except SpecificationError as error:
            message, where = (text.replace(f"{folder}/", "") for text in (error.message, error.where or ""))
            raise SpecificationError(message, where=where or None, hint=error.hint) from error


def preview(
    draft: Draft,
    cluster_text: str,
    repository: Repository,
    history_of: Callable[[str], Sequence[Run]],
    now_unix_s: float,
) -> Preview:
    """Return what carrying out the plan would do. ``history_of``: runs that there are of a cluster, by its name."""
    plan = checked_plan(draft, cluster_text)
    history = history_of(plan.cluster.name)
    todo = prepare(plan, repository, again=False, write=False, history=history)
    listed = rows(plan, todo, history, now_unix_s)
    return Preview(
        plan=plan.name,
        text=plan_text(draft),
        cluster=plan.cluster.name,
        workers=len(plan.cluster.workers),
        codes=tuple(fitting_codes(plan.cluster.workers[0].type)),
        workloads=len(plan.workloads),
        configurations=len({run.configuration.key for run in todo.runs}),
        repetitions=plan.repetitions,
        runs=len(todo.runs),
        done=todo.done,
        left=len(todo.left),
        restarts=_starts(plan, todo),
        expected_s=listed[-1].starts_after_s + listed[-1].expected_s if listed else 0.0,
        guessed=any(row.basis == "the devices' bandwidth" for row in listed),
        rows=tuple(
            PreviewRow(
                row.planned.index + 1,
                row.planned.workload.key,
                dict(row.planned.configuration.levels),
                row.planned.repetition,
                row.restart,
                row.starts_after_s,
                row.expected_s,
                row.basis,
            )
            for row in listed[:LISTED_MAX]
        ),
    )


def _starts(plan: Plan, todo: Schedule) -> int:
    return sum(reason is not None for reason in restarts((run for run, _ in todo.left), plan.cluster))
