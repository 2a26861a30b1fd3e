"""How a factor's levels compare, each set of otherwise equal runs by itself.

In: a repository and its table of runs, the factor, the baseline. Out: one comparison for each set and candidate level.
"""

from collections.abc import Sequence

from assay.compare.comparison import Comparison, compare
from assay.errors import SpecificationError, did_you_mean
from assay.model import Run
from assay.repository import Repository
from assay.statistics import (
    FACTOR_SYNONYMS,
    RunTable,
    default_baseline,
    factors_of,
    layout_devices,
    levels_of,
    on_hard_disks,
)


def baseline_among(runs: Sequence[Run], factor: str, baseline: str | None) -> str:
    """Return the baseline level: the named one, or hard disks, or the level that was run first.

    Raises SpecificationError that lists what exists when the factor or the level does not.
    """
    levels = levels_of(runs, factor)
    if not levels:
        found = "; ".join(f"{name} ({', '.join(values)})" for name, values in factors_of(runs).items())
        near = did_you_mean(factor, factors_of(runs), FACTOR_SYNONYMS)
        raise SpecificationError(
            f"no run has a factor {factor!r}", hint=f"{near}what the runs vary: {found or 'nothing'}"
        )
    if baseline is None:
        return default_baseline(factor, levels, on_hard_disks((run.layout, layout_devices(run)) for run in runs))
    if baseline not in levels:
        near = did_you_mean(baseline, levels)
        raise SpecificationError(f"no run has {factor} {baseline!r}", hint=f"{near}its levels: {', '.join(levels)}")
    return baseline


def comparisons(repository: Repository, table: RunTable, factor: str, baseline: str | None) -> list[Comparison]:
    """Return the comparisons of the runs of ``table``. Raises SpecificationError for what no run has."""
    runs = repository.runs_at(table, range(len(table)))
    return compare(runs, factor=factor, baseline=baseline_among(runs, factor, baseline))
