"""Summarise the runs of one level: run time, the three throughputs, phases.

In: runs with the same settings. Out: medians, the geometric mean with its 95 % interval (seconds), MB/s.

The three throughputs measure different things and differ by factors, so each has its name: per stream (stock
TestDFSIO's "Throughput"), concurrency-gated aggregate (enhanced DFSIO's), and data / wall time of the job.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from assay.analysis.comparison.details.run_groups import RunGroup
from assay.analysis.run_profile.phases import rank
from assay.analysis.statistics import geometric_mean, log_errors_max_of
from assay.model import Origin, Run
from assay.model.runs.throughput import THROUGHPUTS


@dataclass(frozen=True, slots=True)
class PhaseSummary:
    """Medians over runs, seconds from the run's start; ``duration_s`` is the sum of all parts of a phase in a run."""

    name: str
    start_s: float
    end_s: float
    duration_s: float
    n: int


@dataclass(frozen=True, slots=True)
class LevelSummary:
    """All counted runs of one workload on one level of the factor. Times are None without runs."""

    workload: str
    context: str
    level: str
    origin: Origin
    lab_scale: float | None
    n: int
    run_ids: tuple[str, ...]
    durations_s: tuple[float, ...]
    log_offsets: tuple[float, ...]
    """Maximum error of each time's logarithm, from rounding or simulation, independent of the spread."""
    geometric_mean_s: float | None
    low_s: float | None
    high_s: float | None
    median_s: float | None
    mean_s: float | None
    throughputs_mb_per_s: dict[str, float | None]
    """Median by name; None if no run has it."""
    phases: tuple[PhaseSummary, ...]
    typical_run_id: str | None
    """The run whose time is nearest to the median; its trace is shown."""


def phase_medians(runs: Sequence[Run]) -> tuple[PhaseSummary, ...]:
    """Return each phase's medians over the runs that have it, in the order in which Hadoop goes through them."""
    spans: dict[str, list[tuple[float, float, float]]] = {}
    for run in runs:
        for name in {phase.name for phase in run.phases}:
            parts = [phase for phase in run.phases if phase.name == name]
            span = (min(p.start_s for p in parts), max(p.end_s for p in parts), sum(p.duration_s for p in parts))
            spans.setdefault(name, []).append(span)
    summaries = []
    for name in sorted(spans, key=rank):
        starts, ends, durations = zip(*spans[name], strict=True)
        summaries.append(PhaseSummary(name, median(starts), median(ends), median(durations), len(starts)))
    return tuple(summaries)


def throughput_medians(runs: Sequence[Run]) -> dict[str, float | None]:
    """Return the median of each of the three throughputs, MB/s; None if no run has it."""
    values = {name: [run.metrics[name] for run in runs if name in run.metrics] for name in THROUGHPUTS}
    return {name: median(run_values) if run_values else None for name, run_values in values.items()}


def summarise(runs: Sequence[Run], *, workload: str, context: str, level: str, example: Run) -> LevelSummary:
    """Summarise ``runs`` of one level; ``example``: any run of the group, for the origin and scale."""
    durations = tuple(run.duration_s for run in runs)
    log_errors_max = log_errors_max_of(runs, sides=1)
    estimate = geometric_mean(durations, log_errors_max) if durations else None
    median_s = median(durations) if durations else None
    typical_run = min(runs, key=lambda run: abs(run.duration_s - (median_s or 0))) if runs else None
    return LevelSummary(
        workload=workload,
        context=context,
        level=level,
        origin=example.origin,
        lab_scale=example.lab_scale,
        n=len(runs),
        run_ids=tuple(run.run_id for run in runs),
        durations_s=durations,
        log_offsets=tuple(log_errors_max.tolist()),
        geometric_mean_s=estimate.value if estimate else None,
        low_s=estimate.low if estimate else None,
        high_s=estimate.high if estimate else None,
        median_s=median_s,
        mean_s=fmean(durations) if durations else None,
        throughputs_mb_per_s=throughput_medians(runs),
        phases=phase_medians(runs),
        typical_run_id=typical_run.run_id if typical_run else None,
    )


def summarise_level(group: RunGroup, level: str) -> LevelSummary:
    """Summarise the runs of one level in a matched group."""
    runs = group.levels.get(level, ())
    return summarise(runs, workload=group.workload, context=group.context, level=level, example=group.example)


def summarise_group(group: RunGroup) -> list[LevelSummary]:
    """Summarise every level of a matched group."""
    return [summarise_level(group, level) for level in group.levels]
