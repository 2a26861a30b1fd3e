"""What a call would do, before it does anything: the runs that are left, their times and limits, what to be warned of.

In: a plan, its runs in order, runs already made. Out: a :class:`Schedule`, and the same as rows. Pure; seconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from assay.execution.planning.forecast import device_space
from assay.execution.planning.forecast.call_limits import Selection, Stop, TimeLimit
from assay.execution.planning.forecast.estimate import (
    Overheads,
    around_s,
    expected,
    inputs_s,
    inputs_there,
    remaining_s,
    time_limit,
)
from assay.execution.planning.forecast.inputs import Key
from assay.execution.planning.next_run import NextRuns, as_planned, key_of, numbered
from assay.execution.planning.order import PlannedRun, restarts
from assay.foundation.errors import SpecificationError
from assay.model import Placement, Plan, Run, RunStatus


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a call will do: every planned run, and those that are left with their attempt's number."""

    runs: Sequence[PlannedRun]
    campaign_id: str | None = None
    """The campaign to resume; None for a new campaign."""
    left: Sequence[tuple[PlannedRun, int]] = ()
    done: int = 0
    """Planned runs with a valid result."""
    expected_s: float = 0.0
    overheads: Overheads = field(default_factory=Overheads)
    selection: Selection = field(default_factory=Selection)
    stop: Stop | None = None
    inputs_there: frozenset[Key] = frozenset()
    """Inputs that need not be made, as far as runs tell."""
    warnings: tuple[str, ...] = ()
    """What the user should know before it begins, in words."""
    next_runs: NextRuns = as_planned

    def left_after(self, plan: Plan, finished: Sequence[Run]) -> list[tuple[PlannedRun, int]]:
        """Return what is left once the campaign has ``finished`` these runs, each with its next attempt's number.

        The caller bounds the attempts of one call: a user who starts the campaign again has fixed something.
        """
        runs = [run for run in self.next_runs(plan, self.runs, finished) if self.selection.takes(run)]
        return numbered(runs, finished)


S = TypeVar("S", bound=Schedule)


@dataclass(frozen=True, slots=True)
class Row:
    """One run of a schedule. ``starts_after_s`` and ``expected_s`` count what comes before it to the run: a restart,
    and the making of its input.
    """

    planned: PlannedRun
    attempt: int
    restart: str | None
    """Why the daemons start or restart before it; None if they keep running."""
    starts_after_s: float
    expected_s: float
    basis: str
    limit: TimeLimit
    if_needed: bool
    """Made only when the repetitions before it leave the mean too uncertain."""
    input_s: float = 0.0
    """What of ``expected_s`` goes into making inputs: always a guess."""


def renewed(plan: Plan, todo: S, history: Sequence[Run]) -> S:
    """Return ``todo`` without the runs in ``history``: another process may have added runs since the count."""
    there = _done(todo, history)
    left = todo.left_after(plan, _of_campaign(todo, history))
    made = inputs_there(todo.runs, plan, history)
    expected_s = remaining_s([planned for planned, _ in left], plan, history, todo.overheads, made)
    expected_s += around_s(plan, todo.overheads) if left else 0.0
    planned = {run.key for run in todo.runs}
    done = (
        len(there & planned) if todo.next_runs is as_planned else len(there)
    )  # unplanned runs are not known beforehand
    return replace(todo, left=left, done=done, expected_s=expected_s, inputs_there=made)


def with_warnings(plan: Plan, todo: S, history: Sequence[Run], *, refuse: bool) -> S:
    """Return ``todo`` with what the user should know: of the engine's parameters, and of devices that get full by the
    runs that are left, on hosts that stay by those that are done as well.

    With ``refuse``, raises :class:`SpecificationError` where a call that makes all that is left can't but fail.
    """
    texts = [plan.rules_of(run.configuration).warnings(run.configuration.parameters, plan.cluster) for run in todo.runs]
    lines = list(dict.fromkeys(line for lines in texts for line in lines))
    left = [planned for planned, _ in todo.left]
    if left:
        why = device_space.refusal(plan, left)
        if why and refuse:
            raise SpecificationError(why, where=f"plan {plan.name}", hint=device_space.remedy(plan.cluster))
        done = set() if plan.cluster.placement is Placement.LAB else _done(todo, history)
        lines += [f"it can't be executed: {why}"] if why else []
        lines += device_space.warnings(plan, [*left, *(run for run in todo.runs if run.key in done)])
    return replace(todo, warnings=tuple(lines))


def _of_campaign(todo: Schedule, history: Sequence[Run]) -> list[Run]:
    return [run for run in history if todo.campaign_id is not None and run.campaign_id == todo.campaign_id]


def _done(todo: Schedule, history: Sequence[Run]) -> set[tuple[str, str, int]]:
    """Return the keys of the planned runs that the campaign has a valid result of."""
    return {key_of(run) for run in _of_campaign(todo, history) if run.status is RunStatus.VALID}


def rows(plan: Plan, todo: Schedule, history: Sequence[Run], now_unix_s: float) -> list[Row]:
    """Return the runs that this call should make, in order: up to where it is to stop, as far as one can tell."""
    rows_: list[Row] = []
    after_s = around_s(plan, todo.overheads)
    known: dict[tuple[str, str], tuple[float, str, TimeLimit]] = {}
    left = [run for run, _ in todo.left]
    before = zip(restarts(left, plan), inputs_s(left, plan, todo.inputs_there), strict=True)
    for (planned, number), (restart, input_s) in zip(todo.left, before, strict=True):
        if todo.stop and todo.stop.reached(len(rows_), now_unix_s + after_s):
            break
        if planned.key[:2] not in known:
            job = expected(planned, plan, history)
            known[planned.key[:2]] = (job.duration_s, job.basis, time_limit(planned, plan, history))
        job_s, basis, limit = known[planned.key[:2]]
        overhead_s = todo.overheads.around_job_s(planned)
        took_s = input_s + job_s + overhead_s + (todo.overheads.restart_s if restart else 0.0)
        if_needed = plan.until is not None and planned.repetition > plan.repetitions
        rows_.append(Row(planned, number, restart, after_s, took_s, basis, limit, if_needed, input_s))
        after_s += took_s
    return rows_
