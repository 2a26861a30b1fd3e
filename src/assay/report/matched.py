"""A report over matched sets: what a repository of thousands of runs says of one factor, on one page.

In: a table of runs, the factor and its baseline, warnings, and the costs that ``planes.py`` made of it, if any. Out: a
:class:`MatchedReport`, which is also what ``assay report --matched --json`` prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from assay import __version__
from assay.compare.matched import baseline_of, combined_or_named
from assay.compare.significance import BestSet, indistinguishable_from_best
from assay.compare.speedups import Speedup, matched_speedups, over_groups
from assay.compare.threats import Threat, matched_threats
from assay.compare.verdict import Conclusion
from assay.model.warning import CodedWarning
from assay.questions.planes import PlaneView
from assay.report.content import TILES_MAX
from assay.report.document import Fact, Tile
from assay.statistics.run_table import RunTable
from assay.wording.language import plural
from assay.wording.ratios import format_interval, format_ratio, interval, ratio
from assay.wording.titles import workload_title

_NAMED = 6
_CAUSES = ("invalid", "failed")


@dataclass(frozen=True, slots=True)
class MatchedSection:
    """One workload: its speedups, the levels that may be the fastest there, and what a run costs."""

    title: str
    speedups: tuple[Speedup, ...]
    never_compared: tuple[str, ...]
    """Levels that no matched set compares with the baseline."""
    best: BestSet | None
    costs: tuple[PlaneView, ...]


@dataclass(frozen=True, slots=True)
class MatchedReport:
    """All that the page shows."""

    title: str
    answer: str
    detail: str
    origin: str
    factor: str
    baseline: str
    levels: tuple[str, ...]
    runs: int
    tiles: tuple[Tile, ...]
    overall: tuple[Speedup, ...]
    sections: tuple[MatchedSection, ...]
    method: tuple[Fact, ...]
    warnings: tuple[CodedWarning, ...]
    threats: tuple[Threat, ...]
    unpriced: tuple[str, ...]
    """What the price book does not price, and why."""
    assay_version: str


def _answer(overall: Sequence[Speedup], sections: Sequence[MatchedSection], baseline: str) -> tuple[str, str]:
    """Return the page's first sentence and what makes it sure: over all workloads, or of the only one."""
    known = [s for s in overall if s.ratio is not None and s.low is not None and s.high is not None]
    if not known:
        return f"No matched sets say how anything compares with {baseline}.", "No two runs are equal in all else."
    best = max(known, key=lambda s: (s.conclusion is Conclusion.FASTER, s.ratio or 0.0))
    assert best.ratio is not None
    assert best.low is not None
    assert best.high is not None
    where = f"over {plural(len(sections), 'workload')}" if len(sections) > 1 else f"on {sections[0].title}"
    how = format_ratio(best.ratio)
    sure = f"The 95 % interval is {format_interval(best.low, best.high)}, from {plural(best.sets, 'matched set')}."
    if best.conclusion is Conclusion.FASTER:
        return f"{best.candidate} is {how} times as fast as {baseline}, {where}.", sure
    return f"Nothing is shown to be faster than {baseline}, {where}.", f"The nearest is {best.candidate}, {how}. {sure}"


def _tiles(overall: Sequence[Speedup], sections: Sequence[MatchedSection]) -> tuple[Tile, ...]:
    """Return the largest gain over all workloads, and then the largest of single ones."""
    pairs = [(s, f"{s.candidate} against {s.baseline}, all workloads") for s in overall]
    single = [
        (s, f"{section.title}, {s.candidate} against {s.baseline}")
        for section in sections
        for s in section.speedups
        if s.low is not None
    ]
    single.sort(key=lambda pair: -(pair[0].ratio or 0.0))
    known = [(s, label) for s, label in (pairs if len(sections) > 1 else []) if s.ratio is not None]
    known.sort(key=lambda pair: -(pair[0].ratio or 0.0))
    return tuple(
        Tile(label, ratio(s.ratio), f"95 % interval {interval(s.low, s.high)}, {plural(s.sets, 'matched set')}")
        for s, label in [*known[:1], *single][:TILES_MAX]
    )


def _count(table: RunTable, level: str) -> int:
    column = table.columns["status"]
    return int((column.codes == column.code(level)).sum()) if level in column.levels else 0


def _levels(table: RunTable, *names: str) -> str:
    """Return the levels of these columns, joined; the first of them where there are many."""
    parts = [table.columns[name].levels for name in names if name in table.columns]
    texts = [" ".join(levels) if len(levels) == 1 else ", ".join(levels[:_NAMED]) for levels in parts if levels]
    more = sum(max(0, len(levels) - _NAMED) for levels in parts)
    return " ".join(texts) + (f" and {more} more" if more else "")


def _when(table: RunTable) -> str:
    known = table.values["started_unix_s"]
    known = known[np.isfinite(known)]
    if len(known) == 0:
        return ""
    first, last = (datetime.fromtimestamp(float(at), UTC) for at in (known.min(), known.max()))
    return f"{first:%Y-%m-%d} to {last:%Y-%m-%d} (UTC)."


def _caches(table: RunTable) -> str:
    column = table.columns.get("cold")
    cold, warm = (
        int((column.codes == column.code(name)).sum()) if column and name in column.levels else 0
        for name in ("cold", "warm")
    )
    return f"Proven cold before {cold:,} of {len(table):,} runs, warm before {warm:,}, not known of the others."


def _repetitions(used: Sequence[Speedup]) -> str:
    sets, runs = sum(s.sets for s in used), sum(s.runs_baseline + s.runs_candidate for s in used)
    return f"{runs / (2 * sets):.1f} runs on a side of a matched set, on average." if sets else ""


def _method(table: RunTable, found: Sequence[Speedup]) -> tuple[Fact, ...]:
    used = [s for s in found if s.ratio is not None]
    not_valid = "".join(f", {_count(table, cause):,} {cause}" for cause in _CAUSES if _count(table, cause))
    methods = "; ".join(dict.fromkeys(s.method for s in used if s.low is not None))
    facts = (
        Fact("Plans", _levels(table, "plan")),
        Fact("Clusters", _levels(table, "cluster")),
        Fact("Engines", _levels(table, "engine", "engine_version")),
        Fact("Runs", f"{len(table):,} looked at{not_valid}. Only valid ones count."),
        Fact("When", _when(table)),
        Fact("Caches", _caches(table)),
        Fact("Repetitions", _repetitions(used)),
        Fact(
            "Matched set",
            "Runs that are equal in everything but the factor: workload, data, cluster, network, "
            "engine and all its parameters. A run without a counterpart does not count.",
        ),
        Fact(
            "Ratio",
            "The geometric mean over the sets of baseline time / candidate time: above 1, the candidate is "
            "faster. Over all workloads, each workload counts the same.",
        ),
        Fact("Interval", f"95 %: {methods}." if methods else ""),
        Fact("Origin", "; ".join(dict.fromkeys(_origin(s) for s in used))),
    )
    return tuple(fact for fact in facts if fact.text)


def _origin(speedup: Speedup) -> str:
    return f"{speedup.origin} in a lab at scale {speedup.lab_scale}" if speedup.lab_scale else speedup.origin


def matched_report(
    table: RunTable,
    factor: str | Sequence[str],
    baseline: str | None = None,
    *,
    warnings: Sequence[CodedWarning] = (),
    costs: Sequence[PlaneView] = (),
) -> MatchedReport:
    """Return the report's content; ``baseline``: hard disks, or the level that ran first, unless named.

    SpecificationError for factors and levels that no run has.
    """
    joined, name = combined_or_named(table, factor)
    first = baseline_of(joined, name) if baseline is None else baseline
    found = matched_speedups(joined, name, first)
    best = indistinguishable_from_best(joined, name)
    sections = []
    for workload in dict.fromkeys(s.group for s in found):
        own = [s for s in found if s.group == workload]
        shown = tuple(s for s in own if s.ratio is not None)
        lonely = tuple(dict.fromkeys(s.candidate for s in own if s.ratio is None))
        here = tuple(view for view in costs if view.job.get("workload") == workload)
        if shown or here:
            fastest = next((b for b in best if b.group == workload), None)
            sections.append(MatchedSection(workload_title(workload), shown, lonely, fastest, here))
    overall = [s for s in over_groups(found) if s.ratio is not None]
    shown_levels = dict.fromkeys(s.candidate for s in [*overall, *(s for part in sections for s in part.speedups)])
    answer, detail = _answer(overall, sections, first)
    return MatchedReport(
        title=f"{name} against {first}",
        answer=answer,
        detail=detail,
        origin="; ".join(dict.fromkeys(_origin(s) for s in found if s.ratio is not None)) or "–",
        factor=name,
        baseline=first,
        levels=(first, *shown_levels),
        runs=len(table),
        tiles=_tiles(overall, sections),
        overall=tuple(overall) if len(sections) > 1 else (),
        sections=tuple(sections),
        method=_method(table, found),
        warnings=tuple(warnings),
        threats=tuple(matched_threats(table, found, warnings)),
        unpriced=tuple(dict.fromkeys(f"{label}: {why}" for view in costs for label, why in view.unpriced.items())),
        assay_version=__version__,
    )
