"""Documents for tests of reports: what a command makes from a repository, made from values."""

from __future__ import annotations

from collections.abc import Sequence

from assay.campaign.plan_texts import PlanText
from assay.report.compose_matched import matched_document
from assay.report.compose_single import single_document
from assay.report.content import ReportContent
from assay.report.document import Document
from assay.report.frame import Asked, Frame, frame_of
from assay.report.matched import MatchedReport
from assay.statistics.run_table import RunTable, table_of


def single_frame(content: ReportContent, question: str | None = None, plans: Sequence[PlanText] = ()) -> Frame:
    asked = Asked(content.factor, content.baseline, prices="prices.yaml" if content.cost else None, question=question)
    return frame_of(table_of(content.runs), content.runs, asked, levels=content.levels, plans=plans, assay_version="0")


def single(content: ReportContent, question: str | None = None, plans: Sequence[PlanText] = ()) -> Document:
    return single_document(content, single_frame(content, question, plans))


def matched(content: MatchedReport, table: RunTable) -> Document:
    asked = Asked(content.factor, content.baseline)
    return matched_document(content, frame_of(table, (), asked, levels=content.levels, assay_version="0"))
