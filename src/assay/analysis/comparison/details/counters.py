"""Compare the job counters of two or more sides, largest relative differences first.

In: the runs of each side that count. Out: :class:`CounterTable`: each counter with its mean per run and the number of
runs. A run's counter is the sum over its jobs, in the unit of Hadoop's counter (bytes, records, milliseconds).

The relative difference is (largest mean − smallest mean) / largest absolute mean. For counters, which are not negative,
it is between 0 and 1, also if one side has 0: a ratio to 0 would be infinite. A counter that a side does not have is
absent there and has no difference, because Hadoop omits counters that a job does not use.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from assay.model import Run


@dataclass(frozen=True, slots=True)
class CounterMean:
    """A counter on one side: its mean over the ``n`` runs that have it, and the lowest and highest run."""

    mean: float
    n: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class CounterRow:
    """One counter on all sides; None where it is absent."""

    group: str
    name: str
    sides: tuple[CounterMean | None, ...]
    ratios: tuple[float | None, ...]
    """Each side's mean / the first side's mean; None for the first, for an absent counter and if the first is 0."""
    difference: float | None
    """Relative difference; None if fewer than two sides have the counter."""


@dataclass(frozen=True, slots=True)
class CounterTable:
    """The counters of all sides, largest relative differences first, then those that only one side has."""

    runs: tuple[int, ...]
    """Runs with counters on each side."""
    rows: tuple[CounterRow, ...]


def counters_of(run: Run) -> dict[tuple[str, str], int]:
    """Return a run's counters by group and name; empty unless every job has its counters."""
    totals: dict[tuple[str, str], int] = defaultdict(int)
    if not all(job.counters for job in run.jobs):
        return {}
    for job in run.jobs:
        for group, counters in job.counters.items():
            for name, value in counters.items():
                totals[group, name] += value
    return dict(totals)


def compare_counters(sides: Sequence[Sequence[Run]]) -> CounterTable:
    """Return the counters of the sides; runs without counters do not count."""
    counters_by_side = [[counters for run in side if (counters := counters_of(run))] for side in sides]
    keys = dict.fromkeys(name for side in counters_by_side for counters in side for name in counters)
    rows = [_row(group, name, counters_by_side) for group, name in keys]
    rows.sort(key=lambda row: -1.0 if row.difference is None else row.difference, reverse=True)
    return CounterTable(tuple(map(len, counters_by_side)), tuple(rows))


def _row(group: str, name: str, sides: Sequence[Sequence[Mapping[tuple[str, str], int]]]) -> CounterRow:
    means = []
    for side in sides:
        values = [counters[group, name] for counters in side if (group, name) in counters]
        means.append(CounterMean(fmean(values), len(values), min(values), max(values)) if values else None)
    first, present_means = means[0], [side.mean for side in means if side]
    largest = max(map(abs, present_means))
    difference = (max(present_means) - min(present_means)) / largest if largest else 0.0
    ratios = [side.mean / first.mean if side and first and first.mean else None for side in means[1:]]
    return CounterRow(group, name, tuple(means), (None, *ratios), difference if len(present_means) > 1 else None)
