"""The matched sets of some runs, each with its runs whole: what a comparison of one set is made of.

In: runs and a factor. Out: one :class:`RunSet` for each set of runs that are equal in everything else, with those that
count by level, how many do not, and what to know of their caches. Sets and reasons are those of ``matched.py``.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.compare.matched import COUNTED, WARM, MatchedSets, match
from assay.model import ENGINE_FACTOR, LAYOUT_FACTOR, CodedWarning, Run, WarningCode
from assay.statistics import FOLLOWING, RESERVED, RunTable, coded, first_rows, in_order, level_of, table_of
from assay.statistics.sessions import SideSessions, side_sessions

_NEVER_ABSENT = ("data_bytes", "lab_scale")
"""What every run has: not to have it is a circumstance too."""


@dataclass(frozen=True, slots=True)
class RunSet:
    """Runs that are equal in everything but the factor."""

    workload: str
    context: str
    """What sets this one apart from others of its workload (``dfs.blocksize=64MB``); empty if it is the only one."""
    levels: dict[str, tuple[Run, ...]]
    """Level to the runs that count, in the order of their making; a level whose runs all dropped out stays, empty."""
    left_out: dict[str, Counter[int]]
    """Level to how many of its runs do not count, by the reason's place in :data:`~assay.compare.matched.REASONS`."""
    warnings: tuple[CodedWarning, ...]
    sessions: Mapping[str, SideSessions]
    """Level to how its runs that count are spread over sessions."""
    example: Run
    """Any run of the set, also one that does not count: it tells what all of them share."""


def run_sets(runs: Sequence[Run], factor: str) -> list[RunSet]:
    """Return the sets that ``factor`` can be judged in, workloads in the order in which they first ran."""
    ordered = sorted((run for run in runs if level_of(run, factor) is not None), key=in_order)
    if not ordered:
        return []
    name = factor if factor in (LAYOUT_FACTOR, ENGINE_FACTOR) or factor not in RESERVED else f"level:{factor}"
    told = table_of(ordered)
    table = RunTable(told.rows, {**told.columns, name: coded([level_of(run, factor) for run in ordered])}, told.values)
    matched = match(table, name)
    first = first_rows(matched.groups)
    members: dict[int, list[int]] = {int(number): [] for number in np.argsort(first)}
    for row, number in enumerate(matched.groups.of_row.tolist()):
        members[number].append(row)
    of_workload: dict[str, list[list[int]]] = {}
    for rows in members.values():
        of_workload.setdefault(ordered[rows[0]].workload, []).append(rows)
    return [
        _run_set(matched, ordered, rows, context)
        for sets in of_workload.values()
        for rows, context in zip(sets, _contexts(matched, [rows[0] for rows in sets]), strict=True)
    ]


def _run_set(matched: MatchedSets, runs: Sequence[Run], rows: Sequence[int], context: str) -> RunSet:
    column = matched.table.columns[matched.factor]
    levels: dict[str, list[Run]] = {}
    left_out: dict[str, Counter[int]] = {}
    for row in rows:
        level, why = column.levels[column.codes[row]], int(matched.why[row])
        counted = levels.setdefault(level, [])
        if why == COUNTED:
            counted.append(runs[row])
        else:
            left_out.setdefault(level, Counter())[why] += 1
    used = [run for members in levels.values() for run in members]
    warm = sum(count[WARM] for count in left_out.values())
    told = {level: tuple(members) for level, members in levels.items()}
    sessions = _sessions(matched, rows)
    return RunSet(runs[rows[0]].workload, context, told, left_out, _cache_warnings(used, warm), sessions, runs[rows[0]])


def _sessions(matched: MatchedSets, rows: Sequence[int]) -> dict[str, SideSessions]:
    """Return how the runs of each level of one set are spread over sessions."""
    column = matched.table.columns[matched.factor]
    counted = np.flatnonzero(np.isin(matched.positions, rows))
    codes = column.codes[matched.positions[counted]]
    found = {}
    for code in np.unique(codes):
        at = counted[codes == code]
        one_set = np.zeros(len(at), dtype=np.int64)
        sides = side_sessions(one_set, matched.units[at], 1, matched.unordered[at], matched.spread)
        found[column.levels[code]] = sides
    return found


def _cache_warnings(used: Sequence[Run], dropped: int) -> tuple[CodedWarning, ...]:
    warnings = []
    warm = sum(run.cache_state == "warm" for run in used)
    unknown = sum(not run.cache_state for run in used)
    if dropped:
        warnings.append(f"{dropped} warm runs are left out, because others were made with cold caches")
    if warm:
        which = f"all {warm}" if warm == len(used) else f"{warm} of {len(used)}"
        warnings.append(f"{which} runs are warm: part of the data came from memory, not from the devices")
    if unknown:
        warnings.append(f"whether caches were cold is not known for {unknown} of {len(used)} runs")
    return tuple(CodedWarning(WarningCode.CACHES, words) for words in warnings)


def _contexts(matched: MatchedSets, examples: Sequence[int]) -> list[str]:
    """Return what sets sets of one workload apart, from a row of each."""
    table = matched.table
    kinds: list[dict[str, str]] = [{} for _ in examples]
    passed_over = {matched.factor, *FOLLOWING.get(matched.factor, ())}
    for name in sorted(name for name in table.factors if name not in passed_over):
        column = table.columns[name]
        for kind, row in zip(kinds, examples, strict=True):
            text = column.text(row)
            if text is not None or name in _NEVER_ABSENT:
                kind[name] = str(text)
    names = _telling(kinds)
    return [", ".join(f"{name}={text}" for name, text in kind.items() if name in names) for kind in kinds]


def _telling(kinds: Sequence[dict[str, str]]) -> set[str]:
    """Return the names of what sets kinds of runs apart, without parameters that follow from the levels of a factor."""
    differing = [
        name
        for name in dict.fromkeys(name for kind in kinds for name in kind)
        if len({kind.get(name) for kind in kinds}) > 1
    ]
    followers = {name for names in FOLLOWING.values() for name in names}
    found = {name for name in differing if "." not in name and name not in followers}
    for name in differing:
        apart = {tuple(kind.get(one) for one in sorted(found)) for kind in kinds}
        more = {tuple(kind.get(one) for one in sorted({*found, name})) for kind in kinds}
        if len(more) > len(apart):
            found.add(name)
    return found
