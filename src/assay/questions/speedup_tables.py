"""What a speedup's answer says beside its rows, as tables that terminal, page and report show alike.

In: the parts of a speedup's answer. Out: tables of text, each with what it is and how to read it: how far sets and
clusters differ, each level against each, who may be the fastest. Statements against the baseline are two-sided, who is
not the fastest is a one-sided statement: these stand in tables of their own.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from assay.compare.answers import Answer
from assay.compare.matched import HoldsFor
from assay.compare.significance import BestSet
from assay.compare.speedups import Speedup
from assay.compare.together import ComparedLevels
from assay.wording import NOTHING, format_interval, format_ratio, interval, origin_badge

PAIRS_SHOWN_MAX = 60
"""Of one group, so that forty levels do not fill the page; ``--json`` has all."""
_BY_CLUSTER_MAX = 6


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table with its name and a sentence on how to read it. Headers of columns of numbers begin with ``#``."""

    title: str
    note: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def foremost(speedups: Sequence[Speedup], most: int) -> list[Speedup]:
    """Return the speedups that compare something; of more than ``most`` the one of each group with most matched sets.

    Which that is does not depend on what it says, so nothing is picked for being large.
    """
    told = [item for item in speedups if item.ratio is not None]
    if len(told) <= most:
        return told
    first: dict[tuple[str, str, str | None], Speedup] = {}
    for item in sorted(told, key=lambda item: -item.sets):
        first.setdefault((item.group, item.origin, item.lab_scale), item)
    kept = list(first.values())[:most]
    return [item for item in told if item in kept]


def _same(name: str) -> str:
    return name


def tables_of(
    speedups: Sequence[Speedup],
    compared: Sequence[ComparedLevels],
    best: Sequence[BestSet],
    titled: Callable[[str], str] = _same,
) -> list[TextTable]:
    """Return the tables that have a row; ``titled`` names groups.

    Where origins differ, a group's name says which one it is of: measured and simulated runs make rows of their own.
    """
    everything: Sequence[Speedup | ComparedLevels | BestSet] = [*speedups, *compared, *best]
    several = len({(one.origin, one.lab_scale) for one in everything}) > 1

    def named(one: Speedup | ComparedLevels | BestSet) -> str:
        return f"{titled(one.group)} ({origin_badge(one.origin, one.lab_scale)})" if several else titled(one.group)

    found = (_spread(speedups, named), _pairs(compared, named), _fastest(best, named))
    return [one for one in found if one.rows]


def _of(item: Speedup, question: HoldsFor) -> Answer | None:
    return next((one for one in item.answers if one.holds_for is question), None)


def _mean(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return NOTHING
    return (
        format_ratio(value) if low is None or high is None else f"{format_ratio(value)} ({format_interval(low, high)})"
    )


def _clusters(item: Speedup) -> str:
    lines = [
        f"{line.cluster or 'unnamed'} {_mean(line.ratio, line.low, line.high)}, {line.sets} set{'s' * (line.sets > 1)}"
        for line in item.clusters[:_BY_CLUSTER_MAX]
    ]
    more = len(item.clusters) - len(lines)
    return "; ".join([*lines, *([f"{more} more"] if more > 0 else [])]) or NOTHING


def _spread(speedups: Sequence[Speedup], named: Callable[[Speedup], str]) -> TextTable:
    rows = []
    for item in speedups:
        these, here, elsewhere = (_of(item, one) for one in (HoldsFor.THESE, HoldsFor.HERE, HoldsFor.ELSEWHERE))
        if here is None:
            continue
        trimmed = item.trimmed
        rows.append(
            (
                named(item),
                f"{item.baseline} → {item.candidate}",
                *(_mean(one.ratio, one.low, one.high) if one else NOTHING for one in (these, here)),
                interval(here.one_low, here.one_high),
                _mean(elsewhere.ratio, elsewhere.low, elsewhere.high) if elsewhere else NOTHING,
                _mean(trimmed.value, trimmed.low, trimmed.high) if trimmed else NOTHING,
                _clusters(item),
            )
        )
    return TextTable(
        "For which question",
        "The mean gain with its 95 % interval as an answer to three questions: of just these configurations, of "
        "configurations like these on these clusters, of other clusters. A single further configuration lies between "
        "the ends of the fifth column in 19 of 20 cases. Trimmed: without the fifth of the sets at each end.",
        (
            "Group",
            "Compared",
            "#For these configurations",
            "#For another configuration here",
            "#A single one",
            "#For another cluster",
            "#Trimmed",
            "By cluster",
        ),
        tuple(rows),
    )


def _pairs(compared: Sequence[ComparedLevels], named: Callable[[ComparedLevels], str]) -> TextTable:
    def rows() -> Iterator[tuple[str, ...]]:
        for levels_here in compared:
            if len(levels_here.levels) < 3:  # the row itself
                continue
            for pair in levels_here.pairs[:PAIRS_SHOWN_MAX]:
                both = pair.together
                yield (
                    named(levels_here),
                    f"{pair.baseline} → {pair.candidate}",
                    f"{pair.sets:,}",
                    _mean(pair.ratio, pair.low, pair.high),
                    (_mean(both.value, both.low, both.high) if both else NOTHING) + (" !" if pair.contradicted else ""),
                )

    apart = [named(levels_here) for levels_here in compared if not levels_here.same_sets]
    alone = [
        f"{named(levels_here)}: {' / '.join(', '.join(part) for part in levels_here.parts)}"
        for levels_here in compared
        if len(levels_here.parts) > 1
    ]
    note = (
        "What was compared with what: how many matched sets have both, what these say alone, and what all sets say "
        "together, by way of other levels too. For another configuration here."
    )
    if any(pair.contradicted for levels_here in compared for pair in levels_here.pairs):
        note += " Marked !: together is not what the sets that have both say; gains differ with who ran, believe those."
    if apart:
        note += f" Rows of {', '.join(apart)} rest on different sets: compare levels here, not by rows."
    if alone:
        note += f" No set connects what a stroke parts: {'; '.join(alone)}."
    return TextTable(
        "Each against each",
        note,
        ("Group", "Compared", "#Sets with both", "#These sets alone", "#All sets together"),
        tuple(rows()),
    )


def _fastest(best: Sequence[BestSet], named: Callable[[BestSet], str]) -> TextTable:
    rows = tuple(
        (
            named(item),
            item.holds_for.words,
            *(", ".join(names) or NOTHING for names in (item.may_be_best, item.slower, item.never_compared)),
        )
        for item in best
        if item.slower or item.never_compared or len(item.may_be_best) > 1
    )
    return TextTable(
        "Which may be the fastest?",
        "With 95 % confidence the fastest of those that are compared is in the third column. These are one-sided "
        "statements: not to be the fastest is not to be slower than the baseline.",
        ("Group", "Holds", "May be the fastest", "Not the fastest", "Not compared with these"),
        rows,
    )
