"""Choose the baseline level of a factor.

In: loaded runs, the factor, and the requested level, if any. Out: the level.
"""

from collections.abc import Sequence

from assay.analysis.statistics import (
    FACTOR_SYNONYMS,
    default_baseline,
    factors_of,
    layout_devices,
    levels_of,
    on_hard_disks,
)
from assay.foundation.errors import SpecificationError, did_you_mean
from assay.model import Run


def baseline_among(runs: Sequence[Run], factor: str, baseline: str | None) -> str:
    """Return the baseline level: ``baseline`` if given, else hard disks, else the level of the first run.

    Raises SpecificationError, with the available names, for an unknown factor or level.
    """
    levels = levels_of(runs, factor)
    if not levels:
        varied = "; ".join(f"{name} ({', '.join(values)})" for name, values in factors_of(runs).items())
        near = did_you_mean(factor, factors_of(runs), FACTOR_SYNONYMS)
        raise SpecificationError(
            f"no run has a factor {factor!r}", hint=f"{near}what the runs vary: {varied or 'nothing'}"
        )
    if baseline is None:
        return default_baseline(factor, levels, on_hard_disks((run.layout, layout_devices(run)) for run in runs))
    if baseline not in levels:
        near = did_you_mean(baseline, levels)
        raise SpecificationError(f"no run has {factor} {baseline!r}", hint=f"{near}its levels: {', '.join(levels)}")
    return baseline
