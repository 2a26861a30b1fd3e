"""A report as a document: the same chapters in the same order, whatever its comparisons are of.

In: a report and its :class:`ReportFrame`. Out: a :class:`ReportDocument`. Nothing is computed here.
"""

from assay.questions.report_frame import ReportFrame
from assay.questions.report_matched import MatchedReport
from assay.questions.report_single import SingleReport
from assay.report.chapters import appendix_chapter, findings_chapter, kept, reproduce_chapter, threats_chapter
from assay.report.document import ReportDocument, numbered
from assay.report.hardware import hardware_chapter
from assay.report.matched import matched_parts
from assay.report.opening import opening
from assay.report.single import single_parts
from assay.report.whatif import whatif_chapter


def compose(report: SingleReport | MatchedReport, frame: ReportFrame) -> ReportDocument:
    """Return the report as a document."""
    parts = single_parts(report) if isinstance(report, SingleReport) else matched_parts(report)
    document = ReportDocument(
        title=frame.asked.title or report.title,
        kicker=parts.kicker,
        question=frame.question,
        answer=report.answer,
        detail=report.detail,
        notes=parts.notes,
        origin=report.origin,
        opening=opening(report),
        chapters=kept(
            parts.method,
            hardware_chapter(frame.hardware),
            *parts.results,
            parts.cost,
            whatif_chapter(frame.whatif),
            findings_chapter(frame),
            threats_chapter(report.threats),
            appendix_chapter(frame, parts.runs),
            reproduce_chapter(frame),
        ),
        byline=" · ".join(filter(None, (frame.asked.author, frame.written_on))),
        footer=f"Written by assay {report.assay_version}.",
        palette=parts.palette,
    )
    return numbered(document)
