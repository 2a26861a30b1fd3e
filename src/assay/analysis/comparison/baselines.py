"""Choose the level of a factor that other levels are compared with, by one rule for every question.

In: a table of runs, the factor, and the requested level, if any. Out: the level.
"""

import re
from collections.abc import Sequence

import numpy as np

from assay.analysis.comparison.claims.contrasts import INFINIBAND
from assay.analysis.comparison.factors.device_classes import DEVICE_CLASS, DeviceClass, device_class_of
from assay.analysis.statistics import ABSENT, RunTable, hard_disk_layouts, require_factor, usable
from assay.foundation.errors import SpecificationError, did_you_mean
from assay.foundation.units import parse_bit_rate
from assay.model import LAYOUT_FACTOR, NETWORK_FACTOR, NetworkKind, network_kind_of_name
from assay.text import level_text


def baseline_of(table: RunTable, factor: str, levels: Sequence[str] = (), *, requested: str | None = None) -> str:
    """Return ``requested`` if given, else the default baseline among ``levels`` (empty: the levels of valid runs).

    The default depends on the factor: hard disks (of several hard-disk layouts, the one with the most valid runs),
    Ethernet, the smallest number, or ``none``. If there is no such level, it is the level with the most valid runs. For
    several factors together it is hard disks, then Ethernet, then the smallest numbers. A level may be requested in
    words. Raises SpecificationError if no run has ``requested``, or if no valid run has a level.
    """
    column = require_factor(table, factor)
    if requested is not None:
        if requested not in column.levels:
            matching_levels = [level for level in column.levels if _same_level(factor, level, requested)]
            if len(matching_levels) == 1:
                return matching_levels[0]
            suggestion = did_you_mean(requested, column.levels)
            raise SpecificationError(
                f"no run has {factor} {requested!r}", hint=f"{suggestion}its levels: {', '.join(column.levels)}"
            )
        return requested
    counts = np.bincount(column.codes[usable(table) & (column.codes != ABSENT)], minlength=len(column.levels))
    levels = levels or [level for level, count in zip(column.levels, counts, strict=True) if count]
    if not levels:
        raise SpecificationError(f"no valid run has a level of {factor!r}", hint="see what failed with `assay runs`")
    levels_by_runs = sorted(levels, key=lambda level: -int(counts[column.code(level)]))
    if " + " in factor:
        preferred = _joint_baselines(factor, levels_by_runs)
    elif factor == DEVICE_CLASS:
        preferred = [DeviceClass.HARD_DISKS.value]
    elif factor == LAYOUT_FACTOR:
        hard_disks = hard_disk_layouts(table)
        preferred = [level for level in levels_by_runs if level in hard_disks]
    elif factor == NETWORK_FACTOR:
        ethernet = set(column.codes[INFINIBAND.values(table) == 0].tolist())
        preferred = [level for level in levels_by_runs if column.code(level) in ethernet]
    elif all(level.replace(".", "", 1).isdecimal() for level in levels):
        preferred = [min(levels, key=float)]
    else:
        preferred = ["none"]
    return next((level for level in preferred if level in levels), levels_by_runs[0])


def _same_level(factor: str, level: str, requested: str) -> bool:
    """Return whether ``requested`` is another text for a level: ``InfiniBand`` for IB, ``1GbE`` for ``1Gbit/s``.

    Levels of several factors may be joined as in tables and in sentences: ``1 SSD (SSD) + InfiniBand``,
    ``1 SSD per worker (SSD) with InfiniBand``.
    """
    if " + " in factor:
        factors, levels = factor.split(" + "), level.split(" + ")
        splits = (requested.split(" + "), re.split(r"\s+(?:with|and)\s+", requested))
        parts = [list(zip(factors, levels, way, strict=True)) for way in splits if len(way) == len(factors)]
        joined_text = " + ".join(level_text(*part) for part in zip(factors, levels, strict=True))
        return _plain(joined_text) == _plain(requested) or any(all(_same_level(*part) for part in way) for way in parts)
    if _plain(requested) in (_plain(level), _plain(level_text(factor, level))):
        return True
    if factor == LAYOUT_FACTOR:  # "1 SSD per worker (SSD)"
        return requested.rstrip().endswith(f"({level})")
    try:
        return factor == NETWORK_FACTOR and parse_bit_rate(level) == parse_bit_rate(requested)
    except ValueError:
        return False


def _plain(text: str) -> str:
    """Return a text without case and spaces."""
    return "".join(text.casefold().split())


def _joint_baselines(factor: str, levels_by_runs: Sequence[str]) -> list[str]:
    """Return the levels of a joint factor on hard disks: Ethernet first, then the smallest numbers, then most runs."""
    names = factor.split(" + ")
    if names[0] != LAYOUT_FACTOR:
        return []
    levels = {level: dict(zip(names, level.split(" + "), strict=True)) for level in levels_by_runs}

    def rank(level: str) -> tuple[bool, tuple[float, ...]]:
        parts = levels[level]
        is_infiniband = network_kind_of_name(parts.get(NETWORK_FACTOR, "")) is NetworkKind.INFINIBAND
        numbers = (part for name, part in parts.items() if name not in (LAYOUT_FACTOR, NETWORK_FACTOR))
        return is_infiniband, tuple(float(part) for part in numbers if part.replace(".", "", 1).isdecimal())

    layouts_on_hard_disks = [
        level
        for level in levels_by_runs
        if device_class_of(levels[level][LAYOUT_FACTOR], None) is DeviceClass.HARD_DISKS
    ]
    return sorted(layouts_on_hard_disks, key=rank)
