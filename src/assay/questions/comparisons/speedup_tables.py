"""Details of speedups as tables that the terminal, pages and reports share.

In: a :class:`~.speedup.SpeedupView`. Out: tables of text, each with a note on how to read it: the speedup by scope and
cluster, all pairs of levels, the fastest candidates. The first two are two-sided, the last is one-sided.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from assay.analysis.comparison.joint import LevelPairs
from assay.analysis.comparison.result import SpeedupResult
from assay.analysis.comparison.significance import FastestLevels
from assay.analysis.comparison.verdict_text import scope_text
from assay.analysis.statistics import InferenceScope
from assay.questions.comparisons.result_sentences import name_of
from assay.questions.comparisons.speedup import SpeedupView
from assay.text import NO_VALUE, format_interval, format_ratio, interval, level_text, origin_badge, plural

PAIRS_SHOWN_MAX = 60
"""Maximum number of pairs shown per group; ``--json`` has all."""
_BY_CLUSTER_MAX = 6
"""Maximum number of clusters listed for one result."""


@dataclass(frozen=True, slots=True)
class SpeedupTable:
    """A table with its title and a note on how to read it. The header of a numeric column begins with ``#``."""

    title: str
    note: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def most_supported(results: Sequence[SpeedupResult], results_max: int) -> list[SpeedupResult]:
    """Return the results with a ratio. Of more than ``results_max``, return for each group only the result with the
    most matched groups.

    The choice does not depend on the ratio, so no result is selected for being large.
    """
    compared_results = [item for item in results if item.ratio is not None]
    if len(compared_results) <= results_max:
        return compared_results
    best_supported: dict[tuple[str, str, str | None], SpeedupResult] = {}
    for item in sorted(compared_results, key=lambda item: -item.groups):
        best_supported.setdefault((item.group, item.origin, item.lab_scale), item)
    supported_results = list(best_supported.values())[:results_max]
    return [item for item in compared_results if item in supported_results]


def _unchanged(name: str) -> str:
    return name


def tables_of(view: SpeedupView, title_of: Callable[[str], str] = _unchanged) -> list[SpeedupTable]:
    """Return the tables that have a row. ``title_of`` returns the title of a group.

    With several origins, a group's name includes its origin: measured and simulated runs make separate rows.
    """
    items: Sequence[SpeedupResult | LevelPairs | FastestLevels] = [*view.results, *view.level_pairs, *view.best]
    has_several_origins = len({(item.origin, item.lab_scale) for item in items}) > 1

    def title_with_origin(item: SpeedupResult | LevelPairs | FastestLevels) -> str:
        title = name_of(item) if isinstance(item, SpeedupResult) and item.combined else title_of(item.group)
        return f"{title} ({origin_badge(item.origin, item.lab_scale)})" if has_several_origins else title

    tables = (
        _scope_table(view.results, title_with_origin),
        _pair_table(view.level_pairs, view.factor, title_with_origin),
        _fastest_table(view.best, title_with_origin),
    )
    return [table for table in tables if table.rows]


def compared_text(factor: str, baseline: str, candidate: str) -> str:
    """Return the two levels of a comparison in words: ``2 hard disks (HD2) → 2 SSDs (SS2)``."""
    return f"{level_text(factor, baseline)} → {level_text(factor, candidate)}"


def _levels_text(factor: str, levels: Iterable[str]) -> str:
    return ", ".join(level_text(factor, level) for level in levels)


def _mean_text(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return NO_VALUE
    return (
        format_ratio(value) if low is None or high is None else f"{format_ratio(value)} ({format_interval(low, high)})"
    )


def _clusters_text(item: SpeedupResult) -> str:
    lines = [
        f"{line.cluster or 'unnamed'} {_mean_text(line.ratio, line.low, line.high)}, {plural(line.groups, 'group')}"
        for line in item.clusters[:_BY_CLUSTER_MAX]
    ]
    more_count = len(item.clusters) - len(lines)
    return "; ".join([*lines, *([f"{more_count} more"] if more_count > 0 else [])]) or NO_VALUE


def _scope_table(results: Sequence[SpeedupResult], name_of_result: Callable[[SpeedupResult], str]) -> SpeedupTable:
    rows = []
    for item in results:
        by_scope = {estimate.scope: estimate for estimate in item.by_scope}
        similar = by_scope.get(InferenceScope.SIMILAR)
        if similar is None:
            continue
        tested, other_clusters = (
            by_scope.get(scope) for scope in (InferenceScope.TESTED, InferenceScope.OTHER_CLUSTERS)
        )
        rows.append(
            (
                name_of_result(item),
                compared_text(item.factor, item.baseline, item.candidate),
                *(
                    _mean_text(estimate.ratio, estimate.low, estimate.high) if estimate else NO_VALUE
                    for estimate in (tested, similar)
                ),
                interval(similar.single_low, similar.single_high),
                _mean_text(other_clusters.ratio, other_clusters.low, other_clusters.high)
                if other_clusters
                else NO_VALUE,
                _mean_text(item.trimmed.value, item.trimmed.low, item.trimmed.high) if item.trimmed else NO_VALUE,
                _clusters_text(item),
            )
        )
    return SpeedupTable(
        "Scope",
        "The mean speedup with its 95 % interval, for three scopes. A single further setting: the range that holds "
        "its speedup in 19 of 20 cases. An interval for the tested settings that is wider than that for similar "
        "settings is omitted. Trimmed: without the smallest and largest fifth of the matched groups.",
        (
            "Group",
            "Compared",
            "#Tested settings only",
            "#Similar settings on these clusters",
            "#A single further setting",
            "#Other clusters",
            "#Trimmed",
            "By cluster",
        ),
        tuple(rows),
    )


def _pair_table(
    level_pairs: Sequence[LevelPairs], factor: str, name_of_pairs: Callable[[LevelPairs], str]
) -> SpeedupTable:
    def rows() -> Iterator[tuple[str, ...]]:
        for item in level_pairs:
            if len(item.levels) < 3:  # the result against the baseline says the same
                continue
            for pair in item.pairs[:PAIRS_SHOWN_MAX]:
                joint_text = _mean_text(pair.joint.value, pair.joint.low, pair.joint.high) if pair.joint else NO_VALUE
                yield (
                    name_of_pairs(item),
                    compared_text(factor, pair.baseline, pair.candidate),
                    f"{pair.groups:,}",
                    _mean_text(pair.ratio, pair.low, pair.high),
                    joint_text + (" !" if pair.contradicted else ""),
                )

    uneven_names = [name_of_pairs(item) for item in level_pairs if not item.same_groups]
    separate_parts = [
        f"{name_of_pairs(item)}: {' / '.join(_levels_text(factor, part) for part in item.parts)}"
        for item in level_pairs
        if len(item.parts) > 1
    ]
    note = (
        "The matched groups that hold both levels, the speedup in these groups alone, and the joint estimate from all "
        "groups, which also compares through other levels. Scope: similar settings on these clusters."
    )
    if any(pair.contradicted for item in level_pairs for pair in item.pairs):
        note += " Marked !: the joint estimate contradicts the groups that hold both. Trust these groups."
    if uneven_names:
        note += f" Rows of {', '.join(uneven_names)} rest on different groups: compare levels here, not by rows."
    if separate_parts:
        note += f" No group connects the levels on both sides of a slash: {'; '.join(separate_parts)}."
    return SpeedupTable(
        "Each level against each",
        note,
        ("Group", "Compared", "#Groups with both", "#These groups alone", "#Joint estimate"),
        tuple(rows()),
    )


def _fastest_table(
    fastest_levels: Sequence[FastestLevels], name_of_levels: Callable[[FastestLevels], str]
) -> SpeedupTable:
    rows = tuple(
        (
            name_of_levels(item),
            scope_text(item.scope),
            *(
                _levels_text(item.factor, names) or NO_VALUE
                for names in (item.fastest_candidates, item.slower, item.never_compared)
            ),
        )
        for item in fastest_levels
        if item.slower or item.never_compared or len(item.fastest_candidates) > 1
    )
    return SpeedupTable(
        "Fastest candidates (95 %)",
        "With 95 % confidence, the fastest compared level is one of the candidates. The test is one-sided: a level "
        "that is not the fastest can still be faster than the baseline.",
        ("Group", "Scope", "Fastest candidates", "Not the fastest", "Not compared with these"),
        rows,
    )
