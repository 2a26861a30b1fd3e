"""A report over matched sets: what a repository of thousands of runs says of one factor, on one page.

In: a table of runs, its speedups with what may be best and what else differed, and the costs that ``planes.py`` made of
it, if any. Out: a :class:`MatchedReport`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from assay import __version__
from assay.compare.joint import LevelNetwork, network_of
from assay.compare.result import SpeedupResult
from assay.compare.significance import BestSet
from assay.compare.speedups import over_parts
from assay.compare.threats import threats
from assay.model import CodedWarning
from assay.questions.decisions.values import Decision
from assay.questions.planes import PlaneView
from assay.questions.report_combined import Combined
from assay.questions.report_parts import Fact
from assay.questions.report_summary import Report, decision_facts
from assay.questions.speedup import SpeedupView
from assay.questions.speedup_tables import TextTable, tables_of
from assay.statistics import RunTable, counts_by
from assay.wording import NOTHING, joined, workload_title

_NAMED = 6
_CAUSES = ("invalid", "failed")


@dataclass(frozen=True, slots=True)
class MatchedSection:
    """One workload: its speedups, the levels that may be the fastest there, and what a run costs."""

    title: str
    speedups: tuple[SpeedupResult, ...]
    never_compared: tuple[str, ...]
    """Levels that no matched set compares with the baseline."""
    best: tuple[BestSet, ...]
    costs: tuple[PlaneView, ...]

    @property
    def levels(self) -> tuple[str, ...]:
        """All levels that the section names, compared with the baseline or not."""
        known = [level for one in self.best for level in (*one.may_be_best, *one.slower)]
        return tuple(dict.fromkeys([*known, *self.never_compared]))


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedReport(Report):
    """All that the page shows."""

    runs: int
    overall: tuple[SpeedupResult, ...]
    sections: tuple[MatchedSection, ...]
    tables: tuple[TextTable, ...]
    """What the speedups say beside their rows."""
    network: LevelNetwork | None
    """What was compared with what, over all workloads; None with fewer than three levels."""
    combined: tuple[Combined, ...]
    """What storage, network and containers do to each other."""
    warnings: tuple[CodedWarning, ...]
    unpriced: tuple[str, ...]
    """What the price book does not price, and why."""


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
    found = counts_by(table, "cold")
    if found.get("simulated") == len(table):
        return "Simulated; each run starts with empty caches."
    cold, warm = found.get("cold", 0), found.get("warm", 0)
    return f"Proven cold before {cold:,} of {len(table):,} runs, warm before {warm:,}, not known of the others."


def _repetitions(used: Sequence[SpeedupResult]) -> str:
    sets, runs = sum(s.groups for s in used), sum(s.runs_baseline + s.runs_candidate for s in used)
    return f"{runs / (2 * sets):.1f} runs on a side of a matched set, on average." if sets else ""


def _method(table: RunTable, found: Sequence[SpeedupResult]) -> tuple[Fact, ...]:
    used = [s for s in found if s.ratio is not None]
    statuses = counts_by(table, "status")
    not_valid = "".join(f", {statuses[cause]:,} {cause}" for cause in _CAUSES if cause in statuses)
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
        Fact("Interval", f"95 %: {methods}. Each row says what it holds for." if methods else ""),
        Fact("Conclusions", "Corrected for how many are drawn at once (Holm)." if methods else ""),
        Fact("Origin", "; ".join(dict.fromkeys(_origin(s) for s in used))),
    )
    return tuple(fact for fact in facts if fact.text)


def _origin(speedup: SpeedupResult) -> str:
    return f"{speedup.origin} in a lab at scale {speedup.lab_scale}" if speedup.lab_scale else speedup.origin


def _not_compared(table: RunTable, found: Sequence[SpeedupResult], factor: str, baseline: str) -> tuple[Fact, ...]:
    """Return the workloads that page one has no row of, and why; nothing where it has all."""
    told = {s.group for s in found if s.ratio is not None}
    silent = [workload_title(name) for name, runs in counts_by(table, "workload").items() if runs and name not in told]
    why = f"of no runs that are equal in all but {joined(factor.split(' + '))} one side is {baseline}"
    return (Fact("Not compared", f"{joined(silent)}: {why}."),) if silent else ()


def matched_report(
    table: RunTable,
    view: SpeedupView,
    decisions: Sequence[Decision],
    costs: Sequence[PlaneView] = (),
    combined: Sequence[Combined] = (),
) -> MatchedReport:
    """Return the report."""
    found, baseline = view.results, view.baseline or ""
    sections = []
    for workload in dict.fromkeys(s.group for s in found):
        own = [s for s in found if s.group == workload]
        shown = tuple(s for s in own if s.ratio is not None)
        lonely = tuple(dict.fromkeys(s.candidate for s in own if s.ratio is None))
        here = tuple(view for view in costs if view.job.get("workload") == workload)
        if shown or here:
            fastest = tuple(b for b in view.best if b.group == workload)
            sections.append(MatchedSection(workload_title(workload), shown, lonely, fastest, here))
    overall = [s for s in over_parts(found) if s.ratio is not None]
    shown_levels = dict.fromkeys(s.candidate for s in [*overall, *(s for part in sections for s in part.speedups)])
    left_out = (f"{label}: {why}" for view in costs for label, why in (view.set_apart | view.unpriced).items())
    return MatchedReport(
        title=f"{view.factor} against {baseline}",
        decisions=tuple(decisions),
        origin="; ".join(dict.fromkeys(_origin(s) for s in found if s.ratio is not None)) or NOTHING,
        factor=view.factor,
        baseline=baseline,
        levels=(baseline, *shown_levels),
        runs=len(table),
        points=(*decision_facts(decisions), *_not_compared(table, found, view.factor, baseline)),
        overall=tuple(overall) if len(sections) > 1 else (),
        sections=tuple(sections),
        tables=tuple(tables_of(view, workload_title)),
        network=network_of(view.level_pairs),
        combined=tuple(combined),
        method=_method(table, found),
        warnings=view.warnings,
        threats=tuple(threats(table, found, view.warnings)),
        unpriced=tuple(dict.fromkeys(left_out)),
        assay_version=__version__,
    )
