"""Forecast a call: the remaining runs, their times and limits, and warnings.

In: a plan, its runs in order, runs already made. Out: a :class:`Schedule`, and its runs as rows with times in seconds.
Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from assay.execution.planning.forecast import device_space
from assay.execution.planning.forecast.call_limits import Selection, Stop, TimeLimit
from assay.execution.planning.forecast.estimate import (
    ExpectedTime,
    Overheads,
    call_overhead_s,
    existing_inputs,
    expected_time,
    inputs_s,
    remaining_s,
    time_limit,
)
from assay.execution.planning.forecast.inputs import Key
from assay.execution.planning.next_run import NextRuns, key_of, remaining_planned, with_attempt_numbers
from assay.execution.planning.order import PlannedRun, restarts
from assay.foundation.errors import SpecificationError
from assay.model import Placement, Plan, Run, RunStatus


@dataclass(frozen=True, slots=True)
class Schedule:
    """The schedule of a call: every planned run, and the remaining runs with the number of their next attempt."""

    runs: Sequence[PlannedRun]
    campaign_id: str | None = None
    """The campaign to resume; None for a new campaign."""
    remaining: Sequence[tuple[PlannedRun, int]] = ()
    done: int = 0
    """Planned runs with a valid result."""
    expected_s: float = 0.0
    overheads: Overheads = field(default_factory=Overheads)
    selection: Selection = field(default_factory=Selection)
    stop: Stop | None = None
    existing_inputs: frozenset[Key] = frozenset()
    """Inputs that exist already, according to earlier runs."""
    warnings: tuple[str, ...] = ()
    """Warnings to show before the call begins."""
    next_runs: NextRuns = remaining_planned

    def remaining_after(self, plan: Plan, finished_runs: Sequence[Run]) -> list[tuple[PlannedRun, int]]:
        """Return the runs that are left after ``finished_runs``, each with the number of its next attempt.

        The number of attempts is not limited here, because a user who starts the campaign again has fixed the cause.
        The caller limits the attempts of one call.
        """
        runs = [run for run in self.next_runs(plan, self.runs, finished_runs) if self.selection.contains(run)]
        return with_attempt_numbers(runs, finished_runs)


S = TypeVar("S", bound=Schedule)


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """One run of a schedule. ``starts_after_s`` and ``expected_s`` include restarts and the making of inputs."""

    planned_run: PlannedRun
    attempt: int
    restart: str | None
    """Why the daemons start or restart before it; None if they keep running."""
    starts_after_s: float
    expected_s: float
    basis: str
    is_guess: bool
    """Whether no earlier run supports the expected time of the job."""
    limit: TimeLimit
    is_conditional: bool
    """Whether the run is made only if the mean of the earlier repetitions is too uncertain."""
    input_s: float = 0.0
    """The part of ``expected_s`` for making inputs, a rough estimate."""


def update_schedule(plan: Plan, schedule: S, history: Sequence[Run]) -> S:
    """Return ``schedule`` with its counts, inputs and expected time updated from ``history``.

    Another process may have added runs since the previous count.
    """
    done_keys = _done_keys(schedule, history)
    remaining_runs = schedule.remaining_after(plan, _of_campaign(schedule, history))
    existing_keys = existing_inputs(schedule.runs, plan, history)
    expected_s = remaining_s(
        [planned_run for planned_run, _ in remaining_runs], plan, history, schedule.overheads, existing_keys
    )
    expected_s += call_overhead_s(plan, schedule.overheads) if remaining_runs else 0.0
    planned_keys = {run.key for run in schedule.runs}
    # Other implementations of ``next_runs`` make runs that are not planned.
    done_count = len(done_keys & planned_keys) if schedule.next_runs is remaining_planned else len(done_keys)
    return replace(
        schedule, remaining=remaining_runs, done=done_count, expected_s=expected_s, existing_inputs=existing_keys
    )


def with_warnings(plan: Plan, schedule: S, history: Sequence[Run], *, refuse: bool) -> S:
    """Return ``schedule`` with warnings about the engine's parameters and about devices that get full.

    The devices hold the data of the remaining runs, and on permanent hosts also of the finished runs. With ``refuse``,
    raises :class:`SpecificationError` if a call that makes all remaining runs must fail.
    """
    warnings_by_run = [
        plan.rules_of(run.configuration).warnings(run.configuration.parameters, plan.cluster) for run in schedule.runs
    ]
    lines = list(dict.fromkeys(line for lines in warnings_by_run for line in lines))
    remaining_runs = [planned_run for planned_run, _ in schedule.remaining]
    if remaining_runs:
        refusal = device_space.refusal(plan, remaining_runs)
        if refusal and refuse:
            raise SpecificationError(refusal, where=f"plan {plan.name}", hint=device_space.remedy(plan.cluster))
        done_keys = set() if plan.cluster.placement is Placement.LAB else _done_keys(schedule, history)
        lines += [f"the plan can't be executed: {refusal}"] if refusal else []
        lines += device_space.warnings(plan, [*remaining_runs, *(run for run in schedule.runs if run.key in done_keys)])
    return replace(schedule, warnings=tuple(lines))


def _of_campaign(schedule: Schedule, history: Sequence[Run]) -> list[Run]:
    return [run for run in history if schedule.campaign_id is not None and run.campaign_id == schedule.campaign_id]


def _done_keys(schedule: Schedule, history: Sequence[Run]) -> set[tuple[str, str, int]]:
    """Return the keys of the planned runs with a valid result in the campaign."""
    return {key_of(run) for run in _of_campaign(schedule, history) if run.status is RunStatus.VALID}


def rows(plan: Plan, schedule: Schedule, history: Sequence[Run], now_unix_s: float) -> list[ScheduleRow]:
    """Return the runs that this call is expected to make, in order, up to its stop."""
    schedule_rows: list[ScheduleRow] = []
    after_s = call_overhead_s(plan, schedule.overheads)
    estimates: dict[tuple[str, str], tuple[ExpectedTime, TimeLimit]] = {}
    remaining_runs = [run for run, _ in schedule.remaining]
    preparations = zip(
        restarts(remaining_runs, plan), inputs_s(remaining_runs, plan, schedule.existing_inputs), strict=True
    )
    for (planned_run, attempt_number), (restart, input_s) in zip(schedule.remaining, preparations, strict=True):
        if schedule.stop and schedule.stop.is_reached(len(schedule_rows), now_unix_s + after_s):
            break
        if planned_run.key[:2] not in estimates:
            estimates[planned_run.key[:2]] = (
                expected_time(planned_run, plan, history),
                time_limit(planned_run, plan, history),
            )
        job_time, limit = estimates[planned_run.key[:2]]
        overhead_s = schedule.overheads.run_overhead_s(planned_run)
        run_expected_s = input_s + job_time.duration_s + overhead_s + (schedule.overheads.restart_s if restart else 0.0)
        is_conditional = plan.until is not None and planned_run.repetition > plan.repetitions
        schedule_rows.append(
            ScheduleRow(
                planned_run=planned_run,
                attempt=attempt_number,
                restart=restart,
                starts_after_s=after_s,
                expected_s=run_expected_s,
                basis=job_time.basis,
                is_guess=job_time.is_guess,
                limit=limit,
                is_conditional=is_conditional,
                input_s=input_s,
            )
        )
        after_s += run_expected_s
    return schedule_rows
