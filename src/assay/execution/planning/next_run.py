"""Decide what to run next from a plan, its planned runs and its finished runs: as planned, or by a tuner. Pure.

A campaign calls its :class:`NextRuns` before each run, with all finished runs. :func:`remaining_planned` returns the
rest of the plan, and with ``until`` drops combinations whose mean is precise enough. Another implementation can return
unplanned runs of configurations that it chooses.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from assay.analysis.comparison.significance import precise_enough
from assay.execution.planning.order import PlannedRun
from assay.model import Plan, Run, RunStatus


class NextRuns(Protocol):
    """Decides which runs come next."""

    def __call__(
        self, plan: Plan, planned_runs: Sequence[PlannedRun], finished_runs: Sequence[Run]
    ) -> Sequence[PlannedRun]:
        """Return the remaining runs in order, as far as they are known.

        The campaign executes the first run and calls again; an empty result ends the campaign. ``finished_runs``: the
        campaign's runs, including failed runs. The result may contain runs that this call has
        given up; the campaign skips them.
        """


def key_of(run: Run) -> tuple[str, str, int]:
    """Return the key of the planned run to which a finished run belongs."""
    return run.workload, " ".join(f"{name}={level}" for name, level in run.levels.items()), run.repetition


def remaining_planned(plan: Plan, planned_runs: Sequence[PlannedRun], finished_runs: Sequence[Run]) -> list[PlannedRun]:
    """Return the planned runs without a valid result.

    With ``until``, repetitions beyond ``plan.repetitions`` are needed only while the confidence interval of the mean
    duration is wider than requested. The mean is over the valid runs of the workload and configuration.
    """
    valid_keys: set[tuple[str, str, int]] = set()
    durations_s: dict[tuple[str, str], list[float]] = {}
    for run in finished_runs:
        if run.status is RunStatus.VALID:
            key = key_of(run)
            valid_keys.add(key)
            durations_s.setdefault(key[:2], []).append(run.duration_s)
    remaining_runs = [run for run in planned_runs if run.key not in valid_keys]
    if plan.until is None:
        return remaining_runs
    half_width = plan.until.half_width
    precise_keys = {
        key for key, durations_of_key_s in durations_s.items() if precise_enough(durations_of_key_s, half_width)
    }
    return [run for run in remaining_runs if run.repetition <= plan.repetitions or run.key[:2] not in precise_keys]


def with_attempt_numbers(runs: Sequence[PlannedRun], finished_runs: Sequence[Run]) -> list[tuple[PlannedRun, int]]:
    """Return each run with the number of its next attempt, from 1."""
    attempts = Counter(key_of(run) for run in finished_runs)
    return [(run, attempts[run.key] + 1) for run in runs]
