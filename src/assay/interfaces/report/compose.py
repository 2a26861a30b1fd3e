"""Compose a report into a document: page one has the first decision; the chapters have the details.

In: a report. Out: a :class:`ReportDocument`. Nothing is computed here.
"""

from assay.interfaces.report.background import (
    appendix_chapter,
    findings_chapter,
    method_chapter,
    reproduce_chapter,
    threats_chapter,
)
from assay.interfaces.report.cost import job_cost_chapter, run_cost_chapter
from assay.interfaces.report.decisions import (
    decisions_chapter,
    first_page,
    palette_of,
    questions_chapter,
    report_headline,
    report_lead,
    report_question,
)
from assay.interfaces.report.energy import energy_chapter
from assay.interfaces.report.figures import figures_of
from assay.interfaces.report.groups import combined_chapter, groups_chapter
from assay.interfaces.report.hardware import hardware_chapter
from assay.interfaces.report.output.document import Chapter, Paragraph, ReportDocument, with_numbered_captions
from assay.interfaces.report.whatif import whatif_chapter
from assay.interfaces.report.workloads import workload_chapters
from assay.questions.report.values import Report
from assay.text import origins_text, plural


def compose(report: Report) -> ReportDocument:
    """Return the report as a document."""
    palette = palette_of(report)
    figures = figures_of(report, palette)
    details = [
        *workload_chapters(report, figures),
        groups_chapter(report, palette),
        combined_chapter(report),
        job_cost_chapter(report, figures.cost),
        run_cost_chapter(report, palette),
    ]
    chapters = [
        questions_chapter(report),
        method_chapter(report),
        decisions_chapter(report, palette),
        hardware_chapter(report.hardware),
        energy_chapter(report),
        _details() if any(details) else None,
        *details,
        whatif_chapter(report.whatif),
        findings_chapter(report.findings),
        threats_chapter(report),
        appendix_chapter(report),
        reproduce_chapter(report),
    ]
    question = report_question(report)
    document = ReportDocument(
        title=report.request.title or question,
        kicker=f"{plural(report.runs, 'run')}",
        question=question,
        answer=report_headline(report),
        lead=report_lead(report),
        origin=origins_text(report.origins),
        opening=first_page(report, palette),
        chapters=tuple(chapter for chapter in chapters if chapter is not None),
        byline=" · ".join(filter(None, (report.request.author, f"report of {report.written_on}"))),
        footer=f"Written by assay {report.assay_version}.",
        palette=palette,
    )
    return with_numbered_captions(document)


def _details() -> Chapter:
    text = (
        "The chapters below explain the decisions. A ratio here is of one matched group, one pair of options or one "
        "scope; the answer to the question is the decision on page one."
    )
    return Chapter("details", "Details", (Paragraph((text,)),))
