"""Preview a plan: the number of its runs, and how long they should take.

In: a plan, a repository and the stored runs. Out: a :class:`Preview`; times in seconds. Writes nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.execution.campaign.prepare import prepare
from assay.execution.planning.forecast.forecast import rows
from assay.execution.planning.order import restarts
from assay.model import Plan, Run
from assay.specs.layouts import fitting_codes
from assay.store import Repository

LISTED_MAX = 200
"""Maximum number of runs that a preview lists."""


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
    """The source of the expected time."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The runs that executing a plan would make."""

    plan: str
    text: str
    """Text of the plan file, which names its cluster file ``cluster.yaml``."""
    cluster: str
    workers: int
    codes: tuple[str, ...]
    """Codes of layouts that fit the workers."""
    workloads: int
    configurations: int
    repetitions: int
    runs: int
    done: int
    """Runs that an unfinished campaign of the same plan has made."""
    left: int
    restarts: int
    """Number of daemon starts."""
    expected_s: float
    guessed: bool
    """Whether some expected times are based on no earlier run."""
    rows: tuple[PreviewRow, ...]
    """The first :data:`LISTED_MAX` runs."""


def preview(
    plan: Plan, repository: Repository, history_of: Callable[[str], Sequence[Run]], now_unix_s: float
) -> Preview:
    """Return the preview of a plan. ``history_of``: returns the stored runs of a cluster, by its name."""
    history = history_of(plan.cluster.name)
    schedule = prepare(plan, repository, again=False, write=False, history=history)
    schedule_rows = rows(plan, schedule, history, now_unix_s)
    return Preview(
        plan=plan.name,
        text=plan.source,
        cluster=plan.cluster.name,
        workers=len(plan.cluster.workers),
        codes=tuple(fitting_codes(plan.cluster.workers[0].type)),
        workloads=len(plan.workloads),
        configurations=len({run.configuration.key for run in schedule.runs}),
        repetitions=plan.repetitions,
        runs=len(schedule.runs),
        done=schedule.done,
        left=len(schedule.remaining),
        restarts=sum(reason is not None for reason in restarts((run for run, _ in schedule.remaining), plan)),
        expected_s=schedule_rows[-1].starts_after_s + schedule_rows[-1].expected_s if schedule_rows else 0.0,
        guessed=any(row.is_guess for row in schedule_rows),
        rows=tuple(
            PreviewRow(
                run=row.planned_run.index + 1,
                workload=row.planned_run.workload.key,
                levels=dict(row.planned_run.configuration.levels),
                repetition=row.planned_run.repetition,
                restart=row.restart,
                starts_after_s=row.starts_after_s,
                expected_s=row.expected_s,
                basis=row.basis,
            )
            for row in schedule_rows[:LISTED_MAX]
        ),
    )
