"""Summarise the time of each configuration on each job, without prices: the data that relative times are computed from.

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
    valid_table = table.subset(valid_runs(table, groups_by(table, work), exclude_flagged=False).counts)
    if not len(valid_table) or not factors:
        return ()
    groups = groups_by(valid_table, [*work, *(name for name in factors if name not in work)])
    _, example_rows = np.unique(groups.of_row, return_index=True)
    means = means_by(np.log(valid_table.values["duration_s"]), groups.of_row, groups.count)
    cells_by_origin: dict[tuple[str, str], dict[tuple[str, ...], dict[str, tuple[int, float, float]]]] = defaultdict(
        dict
    )
    titles = [name for name in work if name not in ("origin", "lab_scale")]
    varied_names = [name for name in titles if name != "workload" and len(valid_table.columns[name].levels) > 1]
    for group, row in enumerate(example_rows.tolist()):
        text = {name: valid_table.columns[name].text(row) or "" for name in (*work, *factors)}
        cells_by_levels = cells_by_origin[text.get("origin", ""), text.get("lab_scale", "")]
        sizes = [level_text(name, text[name]) for name in varied_names if text[name]]
        job = ", ".join([workload_title(text["workload"]), *sizes])
        cell = int(means.n[group]), float(means.mean[group]), float(means.variance[group])
        cells_by_levels.setdefault(tuple(text[name] for name in factors), {})[job] = cell
    summaries = [
        _summary(*key, factors, cells_by_levels)
        for key, cells_by_levels in cells_by_origin.items()
        if len(cells_by_levels) > 1
    ]
    return tuple(sorted(summaries, key=lambda s: -sum(t.runs for c in s.configurations for t in c.times)))


def _summary(
    origin: str,
    lab_scale: str,
    factors: tuple[str, ...],
    cells_by_levels: dict[tuple[str, ...], dict[str, tuple[int, float, float]]],
) -> RelativeTimes:
    configurations_by_job: dict[str, int] = defaultdict(int)
    for cells in cells_by_levels.values():
        for job in cells:
            configurations_by_job[job] += 1
    jobs = sorted(configurations_by_job, key=lambda job: (-configurations_by_job[job], job))[:JOBS_MAX]
    ranked_levels = sorted(
        cells_by_levels,
        key=lambda levels: (
            -len(cells_by_levels[levels]),
            -sum(n for n, _, _ in cells_by_levels[levels].values()),
            levels,
        ),
    )
    configurations = []
    for levels in ranked_levels[:CONFIGURATIONS_MAX]:
        cells = cells_by_levels[levels]
        times = tuple(
            JobMean(index, n, log_s, variance / n if math.isfinite(variance) else None)
            for index, (n, log_s, variance) in ((i, cells[job]) for i, job in enumerate(jobs) if job in cells)
        )
        configurations.append(ConfigurationTimes(dict(zip(factors, levels, strict=True)), times))
    return RelativeTimes(
        origin, lab_scale, tuple(jobs), tuple(configurations), max(0, len(ranked_levels) - CONFIGURATIONS_MAX)
    )
