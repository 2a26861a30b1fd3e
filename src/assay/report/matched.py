"""What is its own in the document of a report over matched sets.

In: a :class:`MatchedReport`. Out: the parts of its document that are its own. Nothing is computed here.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from assay.charts.combinations import combinations
from assay.charts.identity import colours_of
from assay.charts.network import comparison_network
from assay.charts.speedups import speedup_domain, speedup_forest
from assay.charts.style import FULL_PX, HALF_PX
from assay.compare.result import SpeedupResult
from assay.questions.report_combined import Combined
from assay.questions.report_matched import MatchedReport, MatchedSection
from assay.questions.result_sentences import name_of
from assay.report.chapters import Parts, line, method_chapter, ratios_table, table
from assay.report.cost import planes_chapter
from assay.report.document import Block, Chapter, Code, Heading, Level, Pair, Paragraph, ReportFigure, Table
from assay.wording import NOTHING, language, origin_badge, plural
from assay.wording.verdicts import scope_text

_WHAT = "dot and 95 % interval, ring where there are too few sets for one; all charts have the same axis"


def _rows(first: str, named: Sequence[tuple[str, SpeedupResult]]) -> Table:
    return ratios_table(
        first,
        "Level",
        ("Scope", "#Matched groups", "#Runs", "Origin"),
        (
            (
                name,
                s,
                (
                    scope_text(s.scope) if s.low is not None else NOTHING,
                    f"{s.groups:,}",
                    f"{s.runs_candidate:,} against {s.runs_baseline:,}",
                    f"{s.origin}{f', lab at scale {s.lab_scale}' if s.lab_scale else ''}",
                ),
            )
            for name, s in named
        ),
    )


class _Forests:
    """Charts of speedups with one axis and one colour for each level."""

    def __init__(self, report: MatchedReport) -> None:
        every = [s for section in report.sections for s in section.speedups]
        named = [level for section in report.sections for level in section.levels]
        self.palette: Mapping[str, str] = colours_of([*report.levels, *named])
        self._domain = speedup_domain([*every, *report.overall])

    def figure(self, name: str, speedups: Sequence[SpeedupResult], caption: str, wide_px: int) -> ReportFigure:
        """Return the chart of ``speedups``."""
        several = len({(s.origin, s.lab_scale) for s in speedups}) > 1
        named = [(f"{s.candidate} ({s.origin})" if several else s.candidate, s) for s in speedups]
        return ReportFigure(
            name,
            lambda px: speedup_forest(named, self.palette, px, domain=self._domain, counted=True),
            caption,
            wide_px,
        )


def _workload(section: MatchedSection, baseline: str, forests: _Forests, place: int) -> tuple[Block, ...]:
    name = f"speedup-{place}-{language.slug(section.title)}"
    caption = f"{section.title}: speedup over {baseline}."
    blocks: list[Block] = [Heading(section.title), forests.figure(name, section.speedups, caption, HALF_PX)]
    several = len({(best.origin, best.lab_scale) for best in section.best}) > 1
    for best in section.best:
        of = f"{origin_badge(best.origin, best.lab_scale)}; 95 %" if several else "95 %"
        named: list[str | Level] = []
        for level in best.may_be_best:
            named += [", " if named else f"Fastest candidates, {scope_text(best.scope)} ({of}): ", Level(level)]
        blocks += [Paragraph((*named, "."))] if named else []
    if section.never_compared:
        blocks.append(Paragraph(line(f"No runs equal in all else: {', '.join(section.never_compared)}."), "soft"))
    return tuple(blocks)


def _network(report: MatchedReport, forests: _Forests) -> tuple[Block, ...]:
    network = report.network
    if network is None:
        return ()
    caption = "What was compared with what: matched sets that have both, over all workloads. No line: never directly."
    return (ReportFigure("network", lambda px: comparison_network(network, forests.palette, px), caption, FULL_PX),)


def _combined(found: Sequence[Combined]) -> Chapter:
    """Return the chapter of what storage, network and containers do to each other."""
    blocks: list[Block] = [
        Paragraph(
            line(
                "Lines that run beside each other: neither factor changes what the other is worth. Lines that cross or "
                "part: it does. Times are predicted, by what the model learned from the runs, with all else as it was "
                "measured; only combinations that were measured are drawn."
            ),
            "soft",
        )
    ]
    for place, one in enumerate(found, start=1):
        name = f"combined-{place}-{language.slug(one.title)}"
        more = f" {plural(one.guessed, 'combination')} that nobody measured left out." if one.guessed else ""
        caption = f"{one.title}: expected time by {' × '.join(one.by)}, predicted from measured runs.{more}"
        blocks.append(ReportFigure(name, partial(combinations, one.cells, one.by), caption, FULL_PX))
    return Chapter("combined", "Storage × network × containers", tuple(blocks), inner=True)


def _results(report: MatchedReport, forests: _Forests) -> list[Chapter]:
    overall: list[Block] = [
        Paragraph(
            line(
                "Each workload counts the same, however many sets it has. An interval that includes 1 shows no "
                "difference."
            )
        )
    ]
    if report.overall:
        caption = f"Speedup over {report.baseline}, all workloads: {_WHAT}."
        overall += [
            forests.figure("speedup-overall", report.overall, caption, FULL_PX),
            _rows("Over", [(name_of(s), s) for s in report.overall]),
        ]
    drawn = [section for section in report.sections if section.speedups]
    cells = tuple(_workload(s, report.baseline, forests, place) for place, s in enumerate(drawn, start=1))
    every = _rows("Workload", [(section.title, s) for section in drawn for s in section.speedups])
    chapters = [Chapter("results", "Results", tuple(overall) if report.overall else ())]
    if drawn:
        chapters.append(Chapter("workloads", "By workload", (Pair(cells), every), inner=True))
        told: list[Block] = list(_network(report, forests))
        for one in report.tables:
            told += [Heading(one.title), Paragraph(line(one.note), "soft"), table(one.headers, one.rows)]
        chapters.append(Chapter("questions", "What it holds for", tuple(told), inner=True))
        if report.combined:
            chapters.append(_combined(report.combined))
    else:
        chapters = [Chapter("results", "Results", (Paragraph(line(report.answer)),))]
    return chapters


def matched_parts(report: MatchedReport) -> Parts:
    """Return the parts of the document that are this report's own."""
    forests = _Forests(report)
    titled = [(section.title, view) for section in report.sections for view in section.costs if view.rows]
    warnings = [Paragraph(line(f"{warning}."), "warn") for warning in report.warnings]
    command = Code(f"assay speedup --by {report.factor.replace(' + ', ',')}")
    told = (command, " prints the ratios, ", Code("assay runs"), " every run, ", Code("assay anomalies"), " odd ones.")
    return Parts(
        kicker=f"By {report.factor} · {report.runs:,} runs · matched sets",
        notes=(),
        method=method_chapter("How it was compared", report.method, warnings),
        results=tuple(_results(report, forests)),
        cost=planes_chapter(titled, forests.palette, report.unpriced),
        runs=(Paragraph(told, "soft"),),
        palette=forests.palette,
    )
