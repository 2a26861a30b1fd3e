"""Form the matched groups of loaded runs.

In: runs and a factor. Out: one :class:`RunGroup` for each matched group, with the counted runs of each level, the
number of excluded runs of each level and reason, and warnings about caches. ``matched.py`` defines the groups and the
reasons.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.comparison.baselines import baseline_of
from assay.analysis.comparison.matched import COUNTED, WARM, MatchedGroups, match
from assay.analysis.statistics import ABSENT, DEPENDENT_PROPERTIES, RESERVED, coded, in_order, level_of, table_of
from assay.analysis.statistics.sessions import SideSessions, side_sessions
from assay.model import ENGINE_FACTOR, LAYOUT_FACTOR, CodedWarning, Run, WarningCode

_NEVER_ABSENT = ("data_bytes", "lab_scale")
"""Columns that distinguish runs also by their absence."""


@dataclass(frozen=True, slots=True)
class RunGroup:
    """One matched group: runs that are equal in everything but the factor."""

    workload: str
    context: str
    """Levels that distinguish this group from others of its workload (``dfs.blocksize=64MB``); empty if there are no
    others."""
    levels: dict[str, tuple[Run, ...]]
    """The runs that count by level, in the order in which they ran; empty if no run of a level counts."""
    left_out: dict[str, Counter[int]]
    """Number of runs that do not count, by level and by position in ``matched.REASONS``."""
    warnings: tuple[CodedWarning, ...]
    sessions: Mapping[str, SideSessions]
    """The runs that count with their sessions, by level."""
    example: Run
    """Any run of the group, whether it counts or not: all runs of the group have the same settings."""


def run_groups(runs: Sequence[Run], factor: str) -> list[RunGroup]:
    """Return the matched groups for ``factor``, workloads in the order in which they first ran."""
    ordered_runs = sorted((run for run in runs if level_of(run, factor) is not None), key=in_order)
    if not ordered_runs:
        return []
    name = factor if factor in (LAYOUT_FACTOR, ENGINE_FACTOR) or factor not in RESERVED else f"level:{factor}"
    plain_table = table_of(ordered_runs)
    levels = coded([level_of(run, factor) for run in ordered_runs])
    table = replace(plain_table, columns={**plain_table.columns, name: levels})
    return run_groups_of(match(table, name), ordered_runs)


def run_groups_of(matched: MatchedGroups, runs: Sequence[Run] | Mapping[int, Run]) -> list[RunGroup]:
    """Return matched groups with their loaded runs; ``runs``: the loaded runs by row of the table."""
    rows_of_group: dict[int, list[int]] = {}
    for row in sorted(runs) if isinstance(runs, Mapping) else range(len(runs)):
        rows_of_group.setdefault(int(matched.table_groups.of_row[row]), []).append(row)
    of_workload: dict[str, list[list[int]]] = {}
    for rows in rows_of_group.values():
        of_workload.setdefault(runs[rows[0]].workload, []).append(rows)
    return [
        _run_group(matched, runs, rows, context)
        for groups in of_workload.values()
        for rows, context in zip(groups, _contexts(matched, [rows[0] for rows in groups]), strict=True)
    ]


def _run_group(
    matched: MatchedGroups, runs: Sequence[Run] | Mapping[int, Run], rows: Sequence[int], context: str
) -> RunGroup:
    example = runs[rows[0]]
    column = matched.table.columns[matched.factor]
    levels: dict[str, list[Run]] = {}
    left_out: dict[str, Counter[int]] = {}
    for row in rows:
        if column.codes[row] == ABSENT:
            continue
        level, reason = column.levels[column.codes[row]], int(matched.why[row])
        level_runs = levels.setdefault(level, [])
        if reason == COUNTED:
            level_runs.append(runs[row])
        else:
            left_out.setdefault(level, Counter())[reason] += 1
    counted_runs = [run for members in levels.values() for run in members]
    warm_count = sum(count[WARM] for count in left_out.values())
    return RunGroup(
        workload=example.workload,
        context=context,
        levels={level: tuple(members) for level, members in levels.items()},
        left_out=left_out,
        warnings=_cache_warnings(counted_runs, warm_count),
        sessions=_sessions(matched, rows),
        example=example,
    )


def _sessions(matched: MatchedGroups, rows: Sequence[int]) -> dict[str, SideSessions]:
    """Return the runs of each level of one group with their sessions."""
    column = matched.table.columns[matched.factor]
    row_numbers = np.flatnonzero(np.isin(matched.positions, rows))
    codes = column.codes[matched.positions[row_numbers]]
    sessions = {}
    for code in np.unique(codes):
        level_rows = row_numbers[codes == code]
        one_group = np.zeros(len(level_rows), dtype=np.int64)
        sessions[column.levels[code]] = side_sessions(
            one_group, matched.session[level_rows], matched.sequence[level_rows], one_group[:1], matched.spread
        )
    return sessions


def _cache_warnings(counted_runs: Sequence[Run], excluded_count: int) -> tuple[CodedWarning, ...]:
    warnings = []
    warm_count = sum(run.cache_state == "warm" for run in counted_runs)
    unknown_count = sum(not run.cache_state for run in counted_runs)
    if excluded_count:
        warnings.append(f"{excluded_count} warm runs are left out, because others were made with cold caches")
    if warm_count:
        which = f"all {warm_count}" if warm_count == len(counted_runs) else f"{warm_count} of {len(counted_runs)}"
        warnings.append(f"{which} runs are warm: part of the data came from memory, not from the devices")
    if unknown_count:
        warnings.append(f"whether caches were cold is not known for {unknown_count} of {len(counted_runs)} runs")
    return tuple(CodedWarning(WarningCode.CACHES, message) for message in warnings)


def _contexts(matched: MatchedGroups, examples: Sequence[int]) -> list[str]:
    """Return the levels that distinguish the groups of one workload, from a row of each group."""
    table = matched.table
    levels_of_groups: list[dict[str, str]] = [{} for _ in examples]
    omitted_names = {matched.factor, *DEPENDENT_PROPERTIES.get(matched.factor, ())}
    for name in sorted(name for name in table.factors if name not in omitted_names):
        column = table.columns[name]
        for levels, row in zip(levels_of_groups, examples, strict=True):
            text = column.text(row)
            if text is not None or name in _NEVER_ABSENT:
                levels[name] = str(text)
    names = _distinguishing_factors(levels_of_groups)
    return [
        ", ".join(f"{name}={text}" for name, text in levels.items() if name in names) for levels in levels_of_groups
    ]


def _distinguishing_factors(levels_of_groups: Sequence[dict[str, str]]) -> set[str]:
    """Return the factors that distinguish the groups, without parameters that follow from the levels of a factor."""
    differing_names = [
        name
        for name in dict.fromkeys(name for levels in levels_of_groups for name in levels)
        if len({levels.get(name) for levels in levels_of_groups}) > 1
    ]
    dependent_names = {name for names in DEPENDENT_PROPERTIES.values() for name in names}
    distinguishing_names = {name for name in differing_names if "." not in name and name not in dependent_names}
    for name in differing_names:
        combinations = {
            tuple(levels.get(factor) for factor in sorted(distinguishing_names)) for levels in levels_of_groups
        }
        finer_combinations = {
            tuple(levels.get(factor) for factor in sorted({*distinguishing_names, name})) for levels in levels_of_groups
        }
        if len(finer_combinations) > len(combinations):
            distinguishing_names.add(name)
    return distinguishing_names


def comparisons_with(matched: MatchedGroups, baseline: str | None = None) -> int:
    """Return the number of comparisons of a group's level with its baseline, over all groups."""
    column = matched.table.columns[matched.factor]
    code = column.code(baseline or baseline_of(matched.table, matched.factor))
    levels = len(column.levels)
    cells = np.unique(matched.groups.of_row * levels + column.codes[matched.positions])
    of_group, level = cells // levels, cells % levels
    return int(np.count_nonzero(np.isin(of_group, of_group[level == code]) & (level != code)))
