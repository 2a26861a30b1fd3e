"""Find the resource that limited a measured run, by second and phase, and the maximum speedup from faster resources.

In: a run, its attempts, its trace. Out: :class:`Limits`. It needs neither a simulator nor other runs. :mod:`.bounds`
computes the maximum speedup; :mod:`.job_limits` finds the limit of a job of which there is only a log.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from assay.analysis.run_profile.devices import as_observed
from assay.analysis.run_profile.limits.bounds import BOUND_ERROR_RATE, Bound, bounds_of
from assay.analysis.run_profile.limits.loads import DISKS, Loads, Resource, loads_of, overlap_s
from assay.analysis.run_profile.phases import rank, task_phases
from assay.analysis.statistics import Floats
from assay.foundation.units import format_percent
from assay.model import Run, TaskAttempt, Trace

BUSY_SHARE = 0.5
"""Minimum busy share of a resource that counts as the limit of a second."""

_CLOSE_SHARE = 0.8
"""Minimum time of the second limit, as a share of the first's, for the main limit to be unclear."""

LIMIT_ERROR_RATE = (
    "In 7 % of 397 simulated runs limited by disks, network or CPU, another resource saved at least twice as much time."
)
"""Counted by ``benchmarks/limit_errors.py``; docs/measurements/limits.md has the tables."""


@dataclass(frozen=True, slots=True)
class LimitMoment:
    """One step of one worker: its phase, its limit, and how busy the limit was."""

    t_s: float
    node: str
    phase: str
    limit: Resource
    share: float | None
    """None if the limit is not measured, for example fixed costs."""


@dataclass(frozen=True, slots=True)
class LimitSpan:
    """A time in which ``limit`` was the limit of more workers than any other resource."""

    start_s: float
    end_s: float
    limit: Resource


@dataclass(frozen=True, slots=True)
class LimitTime:
    """How long ``limit`` was the limit in ``phase``: seconds of the run, mean over the workers."""

    phase: str
    limit: Resource
    time_s: float


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a run. ``times`` add up to its duration."""

    run_id: str
    origin: str
    duration_s: float
    step_s: float
    workers: tuple[str, ...]
    main: Resource
    """The limit for the longest time; all kinds of disks are one limit, of which this is the kind with most time."""
    times: tuple[LimitTime, ...]
    bounds: tuple[Bound, ...]
    moments: tuple[LimitMoment, ...]
    rests_on: tuple[str, ...]
    """Basis and exclusions of the result, as sentences."""

    def total_s(self, limit: Resource) -> float:
        """Return the time for which ``limit`` was the limit, over all phases."""
        return sum(entry.time_s for entry in self.times if entry.limit is limit)

    @property
    def totals_s(self) -> dict[Resource, float]:
        """The time of each limit over all phases, the longest first; all kinds of disks are one limit."""
        totals: dict[Resource, float] = {}
        for entry in self.times:
            limit = disks_as_one(entry.limit)
            totals[limit] = totals.get(limit, 0.0) + entry.time_s
        return dict(sorted(totals.items(), key=lambda item: -item[1]))

    @property
    def rival(self) -> Resource | None:
        """The second limit if it held for almost as long as the first; None if the first is clear."""
        totals = list(self.totals_s.items())
        if len(totals) < 2 or totals[1][1] < _CLOSE_SHARE * totals[0][1]:
            return None
        return totals[1][0]


def disks_as_one(limit: Resource) -> Resource:
    """Return the disks for each kind of disks; other limits are returned unchanged."""
    return Resource.DISK if limit in DISKS else limit


def limit_spans(limits: Limits) -> tuple[LimitSpan, ...]:
    """Return the limit of most workers over time; between equally many, the limit with the longer time in the run."""
    counts_by_step: dict[float, Counter[Resource]] = {}
    for moment in limits.moments:
        counts_by_step.setdefault(moment.t_s, Counter())[moment.limit] += 1
    total_s = {limit: limits.total_s(limit) for limit in {moment.limit for moment in limits.moments}}
    starts_s = sorted(counts_by_step)
    spans: list[LimitSpan] = []
    for start_s, end_s in pairwise([*starts_s, limits.duration_s]):
        counts = counts_by_step[start_s]
        limit = max(counts, key=lambda resource: (counts[resource], total_s[resource]))
        if spans and spans[-1].limit is limit:
            spans[-1] = replace(spans[-1], end_s=end_s)
        else:
            spans.append(LimitSpan(start_s, end_s, limit))
    return tuple(spans)


def limits_of(run: Run, tasks: Sequence[TaskAttempt], trace: Trace) -> Limits | None:
    """Return the limits of ``run``; None if its trace has no worker."""
    loads, tasks = loads_of(run, tasks, trace), as_observed(run, tasks)
    if loads is None:
        return None
    moments = _moments(run, tasks, loads)
    weight_s = float(loads.steps_s[0]) / len(loads.workers)
    times: dict[tuple[str, Resource], float] = {}
    for moment in moments:
        key = moment.phase, moment.limit
        times[key] = times.get(key, 0.0) + weight_s
    ordered_times = sorted(times.items(), key=lambda item: (rank(item[0][0]), -item[1]))
    time_by_limit: dict[Resource, float] = {}
    for (_, limit), time_s in ordered_times:
        for name in {limit, disks_as_one(limit)}:
            time_by_limit[name] = time_by_limit.get(name, 0.0) + time_s
    return Limits(
        run_id=run.run_id,
        origin=str(run.origin),
        duration_s=run.duration_s,
        step_s=float(loads.steps_s[0]),
        workers=loads.workers,
        main=max(
            (limit for _, limit in times), key=lambda limit: (time_by_limit[disks_as_one(limit)], time_by_limit[limit])
        ),
        times=tuple(LimitTime(phase, limit, time_s) for (phase, limit), time_s in ordered_times),
        bounds=bounds_of(run, tasks, loads),
        moments=moments,
        rests_on=_basis(run, tasks, loads),
    )


def _moments(run: Run, tasks: Sequence[TaskAttempt], loads: Loads) -> tuple[LimitMoment, ...]:
    phases, attempt_s = _phase_times(tasks, loads)
    resources = list(loads.shares)
    shares = np.stack([loads.shares[resource] for resource in resources])
    busiest = shares.argmax(axis=0)
    idle_phases = _idle_phases(run, loads)
    last_start = [max((task.start_s for task in tasks if task.node == node), default=0.0) for node in loads.workers]
    moments = []
    for step, t_s in enumerate(loads.edges_s[:-1].tolist()):
        phase_s_anywhere = attempt_s[:, :, step].sum(axis=1)
        for row, node in enumerate(loads.workers):
            phase_s_on_node = attempt_s[:, row, step]
            if phase_s_on_node.sum() > 0:
                share = float(shares[busiest[row, step], row, step])
                limit = resources[busiest[row, step]] if share >= BUSY_SHARE else Resource.NONE
                if limit is Resource.NONE and Resource.CPU in loads.shares:
                    computing = float(loads.computing[row, step])
                    limit, share = (Resource.CPU, computing) if computing >= BUSY_SHARE else (limit, share)
                moments.append(LimitMoment(t_s, node, phases[int(phase_s_on_node.argmax())], limit, share))
            elif phase_s_anywhere.sum() > 0:
                limit = Resource.CONTAINERS if t_s < last_start[row] else Resource.NO_TASK
                moments.append(LimitMoment(t_s, node, phases[int(phase_s_anywhere.argmax())], limit, None))
            else:
                moments.append(LimitMoment(t_s, node, idle_phases[step], Resource.FIXED, None))
    return tuple(moments)


def _phase_times(tasks: Sequence[TaskAttempt], loads: Loads) -> tuple[list[str], Floats]:
    """Return phases, and the time that attempts spent in each, by worker and step."""
    row_of = {node: row for row, node in enumerate(loads.workers)}
    parts = [(phase, row_of[task.node]) for task in tasks if task.node in row_of for phase in task_phases(task)]
    names = sorted({phase.name for phase, _ in parts}, key=rank) or ["overhead"]
    attempt_s = np.zeros((len(names), len(loads.workers), len(loads.edges_s) - 1))
    for phase, row in parts:
        attempt_s[names.index(phase.name), row] += overlap_s(loads.edges_s, phase.start_s, phase.end_s)
    return names, attempt_s


def _idle_phases(run: Run, loads: Loads) -> list[str]:
    """Return the phase of each step as if no attempt ran: setup, cleanup, or overhead outside of jobs."""
    middles = (loads.edges_s[1:] + loads.edges_s[:-1]) / 2
    phases = []
    for middle in middles.tolist():
        job = next((job for job in run.jobs if job.submit_s <= middle <= job.finish_s), None)
        in_first_half = job is not None and middle < (job.submit_s + job.finish_s) / 2
        phases.append("overhead" if job is None else "setup" if in_first_half else "cleanup")
    return phases


def _basis(run: Run, tasks: Sequence[TaskAttempt], loads: Loads) -> tuple[str, ...]:
    step = f"{float(loads.steps_s[0]):.2g} s"
    groups = run.recorded.node_groups
    workers_text = f"{len(loads.workers)} workers"
    if groups is not None:
        workers_text = f"{sum(groups.sizes.values())} workers in groups ({', '.join(list(groups.sizes)[:3])} …)"
    sentences = [
        f"Computed from traces of {workers_text} in steps of {step} and {len(tasks)} task attempts of this run.",
        f"The limit of a step is the busiest resource, if it was busy for at least {format_percent(BUSY_SHARE)} of the "
        f"step. Otherwise it is the CPU, if the attempts computed for at least {format_percent(BUSY_SHARE)} of their "
        f"time. {LIMIT_ERROR_RATE}",
        "A bound assumes the same data, placement, order and containers, and that tasks waited whenever the resource "
        f"was busy. So it is an upper limit of the gain, not an estimate. {BOUND_ERROR_RATE}",
    ]
    if not tasks:
        sentences.append("Task attempts were not recorded, so the bounds shorten the run as a whole.")
    if run.lab_scale is not None:
        sentences.append("A lab's nodes share one machine, so each node has that machine's CPU load.")
    return (*sentences, *(f"{sentence[0].upper()}{sentence[1:]}." for sentence in loads.unknown))
