"""Documents for tests of reports: what a command makes from a repository, made from values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assay.campaign.plan_texts import PlanText
from assay.compare.findings import findings
from assay.model.warning import CodedWarning
from assay.questions.findings import FindingsView
from assay.questions.report_frame import ReportFrame, frame_of
from assay.questions.report_matched import MatchedReport, matched_report
from assay.questions.report_parts import ReportQuestion
from assay.questions.report_single import SingleReport
from assay.questions.speedup import speedups_over
from assay.report.compose import compose
from assay.report.document import Level, Line, ReportDocument
from assay.statistics.run_table import RunTable, table_of


def plain_text(line: Line) -> str:
    """Return a line without its marks."""
    return "".join(
        part if isinstance(part, str) else part.name if isinstance(part, Level) else part.text for part in line
    )


def claims_of(table: RunTable) -> FindingsView:
    return FindingsView({origin: tuple(found) for origin, found in findings(table).items()}, 0, False, None)


def single_frame(report: SingleReport, question: str | None = None, plans: Sequence[PlanText] = ()) -> ReportFrame:
    prices = "prices.yaml" if report.cost else None
    asked = ReportQuestion(report.factor, report.baseline, prices=prices, question=question)
    return frame_of(
        table_of(report.runs),
        report.runs,
        asked,
        claims_of(table_of(report.runs)),
        levels=report.levels,
        plans=plans,
        assay_version="0",
    )


def single(report: SingleReport, question: str | None = None, plans: Sequence[PlanText] = ()) -> ReportDocument:
    return compose(report, single_frame(report, question, plans))


def matched_of(table: RunTable, baseline: str, warnings: Sequence[CodedWarning] = ()) -> MatchedReport:
    """Return the report by layout of a table, as if ``warnings`` were told of its hosts."""
    return matched_report(table, replace(speedups_over(table, ["layout"], baseline), warnings=tuple(warnings)))


def matched(report: MatchedReport, table: RunTable) -> ReportDocument:
    asked = ReportQuestion(report.factor, report.baseline)
    return compose(report, frame_of(table, (), asked, claims_of(table), levels=report.levels, assay_version="0"))
