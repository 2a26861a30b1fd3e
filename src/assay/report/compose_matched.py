"""The document of a report over matched sets.

In: a :class:`MatchedReport` and its :class:`Frame`. Out: a :class:`Document`. Nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.charts.identity import colours_of
from assay.charts.speedups import speedup_domain, speedup_forest
from assay.charts.style import FULL_PX, HALF_PX
from assay.compare.speedups import Speedup
from assay.report.compose import (
    appendix_chapter,
    findings_chapter,
    kept,
    line,
    method_chapter,
    reproduce_chapter,
    table,
    threats_chapter,
)
from assay.report.compose_cost import planes_chapter
from assay.report.document import Block, Chapter, Code, Document, Figure, Heading, Level, Line, Pair, Paragraph, Table
from assay.report.frame import Frame
from assay.report.matched import MatchedReport, MatchedSection
from assay.wording import language, ratios

_WHAT = "dot and 95 % interval, ring where there are too few sets for one; all charts have the same axis"


def _rows(first: str, named: Sequence[tuple[str, Speedup]]) -> Table:
    rows: list[tuple[Line | str, ...]] = [
        (
            name,
            (Level(s.candidate), " against ", Level(s.baseline)),
            ratios.ratio(s.ratio),
            ratios.interval(s.low, s.high),
            f"{s.sets:,}",
            f"{s.runs_candidate:,} against {s.runs_baseline:,}",
            f"{s.origin}{f', lab at scale {s.lab_scale}' if s.lab_scale else ''}",
        )
        for name, s in named
    ]
    return table((first, "Level", "#Ratio", "#95 % interval", "#Matched sets", "#Runs", "Origin"), rows)


class _Forests:
    """Charts of speedups with one axis and one colour for each level."""

    def __init__(self, content: MatchedReport) -> None:
        every = [s for section in content.sections for s in section.speedups]
        self.palette: Mapping[str, str] = colours_of(content.levels)
        self._domain = speedup_domain([*every, *content.overall])

    def figure(self, name: str, speedups: Sequence[Speedup], caption: str, wide_px: int) -> Figure:
        """Return the chart of ``speedups``."""
        several = len({(s.origin, s.lab_scale) for s in speedups}) > 1
        named = [(f"{s.candidate} ({s.origin})" if several else s.candidate, s) for s in speedups]
        return Figure(
            name,
            lambda px: speedup_forest(named, self.palette, px, domain=self._domain, counted=True),
            caption,
            wide_px,
        )


def _workload(section: MatchedSection, baseline: str, forests: _Forests, place: int) -> tuple[Block, ...]:
    name = f"speedup-{place}-{language.slug(section.title)}"
    caption = f"{section.title}: speedup over {baseline}."
    blocks: list[Block] = [Heading(section.title), forests.figure(name, section.speedups, caption, HALF_PX)]
    if section.best:
        named: list[str | Level] = []
        for level in section.best.may_be_best:
            if level not in section.best.never_compared:
                named += [", " if named else "May be the fastest (95 %): ", Level(level)]
        blocks += [Paragraph((*named, "."))] if named else []
    if section.never_compared:
        blocks.append(Paragraph(line(f"No runs equal in all else: {', '.join(section.never_compared)}."), "soft"))
    return tuple(blocks)


def _results(content: MatchedReport, forests: _Forests) -> list[Chapter]:
    overall: list[Block] = [
        Paragraph(
            line(
                "Each workload counts the same, however many sets it has. An interval that includes 1 shows no "
                "difference."
            )
        )
    ]
    if content.overall:
        caption = f"Speedup over {content.baseline}, all workloads: {_WHAT}."
        overall += [
            forests.figure("speedup-overall", content.overall, caption, FULL_PX),
            _rows("Over", [(s.group.replace("levels of workload", "workloads"), s) for s in content.overall]),
        ]
    drawn = [section for section in content.sections if section.speedups]
    cells = tuple(_workload(s, content.baseline, forests, place) for place, s in enumerate(drawn, start=1))
    every = _rows("Workload", [(section.title, s) for section in drawn for s in section.speedups])
    chapters = [Chapter("results", "Results", tuple(overall) if content.overall else ())]
    if drawn:
        chapters.append(Chapter("workloads", "By workload", (Pair(cells), every), inner=True))
    else:
        chapters = [Chapter("results", "Results", (Paragraph(line(content.answer)),))]
    return chapters


def matched_document(content: MatchedReport, frame: Frame) -> Document:
    """Return the report as a document."""
    forests = _Forests(content)
    titled = [(section.title, view) for section in content.sections for view in section.costs if view.rows]
    warnings = [Paragraph(line(f"{warning}."), "warn") for warning in content.warnings]
    command = Code(f"assay speedup --by {content.factor.replace(' + ', ',')}")
    told = (command, " prints the ratios, ", Code("assay runs"), " every run, ", Code("assay anomalies"), " odd ones.")
    note = Paragraph(told, "soft")
    return Document(
        title=content.title,
        kicker=f"By {content.factor} · {content.runs:,} runs · matched sets",
        question=frame.question,
        answer=content.answer,
        detail=content.detail,
        notes=(),
        origin=content.origin,
        tiles=content.tiles,
        chapters=kept(
            method_chapter("How it was compared", content.method, warnings),
            *_results(content, forests),
            planes_chapter(titled, forests.palette, content.unpriced),
            findings_chapter(frame),
            threats_chapter(content.threats),
            appendix_chapter(frame, (note,)),
            reproduce_chapter(frame),
        ),
        footer=f"Written by assay {content.assay_version}.",
        palette=forests.palette,
    )
