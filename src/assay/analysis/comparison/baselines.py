"""Choose the level of a factor that other levels are compared with, by one rule for every question.

In: a table of runs, the factor, and the requested level, if any. Out: the level.
"""

from collections.abc import Sequence

import numpy as np

from assay.analysis.comparison.claims.contrasts import INFINIBAND
from assay.analysis.comparison.factors.device_classes import DEVICE_CLASS, DeviceClass, device_class_of
from assay.analysis.statistics import ABSENT, RunTable, hard_disk_layouts, require_factor, usable
from assay.foundation.errors import SpecificationError, did_you_mean
from assay.foundation.units import parse_bit_rate
from assay.model import LAYOUT_FACTOR, NETWORK_FACTOR
from assay.text import level_text


def baseline_of(table: RunTable, factor: str, levels: Sequence[str] = (), *, requested: str | None = None) -> str:
    """Return ``requested`` if given, else the default baseline among ``levels`` (empty: the levels of valid runs).

    The default: hard disks (of several hard-disk layouts, the one with the most valid runs); Ethernet; the smallest
    number; ``none``; else the level with the most valid runs. A level may be requested in words. Raises
    SpecificationError if no run has ``requested``, or if no valid run has a level.
    """
    column = require_factor(table, factor)
    if requested is not None:
        if requested not in column.levels:
            meant = [level for level in column.levels if _same_level(factor, level, requested)]
            if len(meant) == 1:
                return meant[0]
            near = did_you_mean(requested, column.levels)
            raise SpecificationError(
                f"no run has {factor} {requested!r}", hint=f"{near}its levels: {', '.join(column.levels)}"
            )
        return requested
    counts = np.bincount(column.codes[usable(table) & (column.codes != ABSENT)], minlength=len(column.levels))
    levels = levels or [level for level, count in zip(column.levels, counts, strict=True) if count]
    if not levels:
        raise SpecificationError(f"no valid run has a level of {factor!r}", hint="see what failed with `assay runs`")
    by_runs = sorted(levels, key=lambda level: -int(counts[column.code(level)]))
    if " + " in factor:
        preferred = _on_hard_disks(factor, by_runs)
    elif factor == DEVICE_CLASS:
        preferred = [DeviceClass.HARD_DISKS.value]
    elif factor == LAYOUT_FACTOR:
        hard_disks = hard_disk_layouts(table)
        preferred = [level for level in by_runs if level in hard_disks]
    elif factor == NETWORK_FACTOR:
        ethernet = set(column.codes[INFINIBAND.values(table) == 0].tolist())
        preferred = [level for level in by_runs if column.code(level) in ethernet]
    elif all(level.replace(".", "", 1).isdecimal() for level in levels):
        preferred = [min(levels, key=float)]
    else:
        preferred = ["none"]
    return next((level for level in preferred if level in levels), by_runs[0])


def _same_level(factor: str, level: str, requested: str) -> bool:
    """Return whether ``requested`` is another text for a level: ``InfiniBand`` for IB, ``1GbE`` for ``1Gbit/s``."""
    asked = "".join(requested.casefold().split())
    if asked in ("".join(text.casefold().split()) for text in (level, level_text(factor, level))):
        return True
    try:
        return factor == NETWORK_FACTOR and parse_bit_rate(level) == parse_bit_rate(requested)
    except ValueError:
        return False


def _on_hard_disks(factor: str, by_runs: Sequence[str]) -> list[str]:
    """Return the levels of a joint factor that join a layout on hard disks with a level of another factor."""
    if not factor.startswith(f"{LAYOUT_FACTOR} + "):
        return []
    layouts = {level: level.split(" + ")[0] for level in by_runs}
    return [level for level in by_runs if device_class_of(layouts[level], None) is DeviceClass.HARD_DISKS]
