"""Summarise the time of each configuration on each job, without prices: what a relative time is computed from.

In: runs as a table. Out: for each origin and lab scale, the jobs, the configurations, and the mean logarithm of the run
time of each pair with its variance. A relative time of a configuration is the geometric mean, over jobs, of its mean
time / the shortest mean time of the job, as in ClickBench's summary. A reader chooses jobs and configurations, so an
interface computes the relative times from these means.

Rows are means over all runs of a configuration, like those of ``assay cost``: they may differ in other settings.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import RunTable, groups_by, means_by, same_work
from assay.questions.costs.cost_effectiveness import default_factors
from assay.questions.costs.cost_runs import valid_runs
from assay.text import level_text, workload_title

CONFIGURATIONS_MAX = 300
"""Maximum number of configurations in a summary: those with the most jobs, then the most runs."""
JOBS_MAX = 60
"""Maximum number of jobs in a summary: those with the most configurations."""


@dataclass(frozen=True, slots=True)
class JobMean:
    """Time of one job on one configuration."""

    job: int
    """Index of the job in the summary."""
    runs: int
    log_s: float
    """Mean of the logarithms of the run times in seconds."""
    variance: float | None
    """Variance of this mean; None for one run."""


@dataclass(frozen=True, slots=True)
class ConfigurationTimes:
    """Times of one configuration."""

    levels: dict[str, str]
    times: tuple[JobMean, ...]


@dataclass(frozen=True, slots=True)
class RelativeTimes:
    """The summary of one origin and lab scale."""

    origin: str
    lab_scale: str
    jobs: tuple[str, ...]
    configurations: tuple[ConfigurationTimes, ...]
    left_out: int
    """Configurations beyond :data:`CONFIGURATIONS_MAX`."""


def relative_times(table: RunTable) -> tuple[RelativeTimes, ...]:
    """Return the summaries with at least two configurations, those with the most runs first."""
    if not len(table):
        return ()
    work, factors = same_work(table), default_factors(table)
    counted = table.subset(valid_runs(table, groups_by(table, work), exclude_flagged=False).counts)
    if not len(counted) or not factors:
        return ()
    groups = groups_by(counted, [*work, *(name for name in factors if name not in work)])
    _, example = np.unique(groups.of_row, return_index=True)
    means = means_by(np.log(counted.values["duration_s"]), groups.of_row, groups.count)
    parts: dict[tuple[str, str], dict[tuple[str, ...], dict[str, tuple[int, float, float]]]] = defaultdict(dict)
    titles = [name for name in work if name not in ("origin", "lab_scale")]
    several = [name for name in titles if name != "workload" and len(counted.columns[name].levels) > 1]
    for group, row in enumerate(example.tolist()):
        text = {name: counted.columns[name].text(row) or "" for name in (*work, *factors)}
        part = parts[text.get("origin", ""), text.get("lab_scale", "")]
        sizes = [level_text(name, text[name]) for name in several if text[name]]
        job = ", ".join([workload_title(text["workload"]), *sizes])
        cell = int(means.n[group]), float(means.mean[group]), float(means.variance[group])
        part.setdefault(tuple(text[name] for name in factors), {})[job] = cell
    summaries = [_summary(*key, factors, part) for key, part in parts.items() if len(part) > 1]
    return tuple(sorted(summaries, key=lambda s: -sum(t.runs for c in s.configurations for t in c.times)))


def _summary(
    origin: str,
    lab_scale: str,
    factors: tuple[str, ...],
    part: dict[tuple[str, ...], dict[str, tuple[int, float, float]]],
) -> RelativeTimes:
    number: dict[str, int] = defaultdict(int)
    for cells in part.values():
        for job in cells:
            number[job] += 1
    jobs = sorted(number, key=lambda job: (-number[job], job))[:JOBS_MAX]
    kept = sorted(part, key=lambda levels: (-len(part[levels]), -sum(n for n, _, _ in part[levels].values()), levels))
    configurations = []
    for levels in kept[:CONFIGURATIONS_MAX]:
        cells = part[levels]
        times = tuple(
            JobMean(index, n, log_s, variance / n if math.isfinite(variance) else None)
            for index, (n, log_s, variance) in ((i, cells[job]) for i, job in enumerate(jobs) if job in cells)
        )
        configurations.append(ConfigurationTimes(dict(zip(factors, levels, strict=True)), times))
    return RelativeTimes(origin, lab_scale, tuple(jobs), tuple(configurations), max(0, len(kept) - CONFIGURATIONS_MAX))
