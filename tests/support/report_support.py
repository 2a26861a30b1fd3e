"""Documents for tests of reports: what a command makes from a repository, made from values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from assay.campaign.plan_texts import PlanText
from assay.compare.findings import findings
from assay.model.run import Run
from assay.model.trace import Trace
from assay.model.warning import CodedWarning
from assay.questions.decisions.costs import run_costs
from assay.questions.decisions.decide import decide
from assay.questions.decisions.values import DecisionRequest
from assay.questions.findings import FindingsView
from assay.questions.report_frame import ReportFrame, frame_of
from assay.questions.report_matched import MatchedReport, matched_report
from assay.questions.report_parts import ReportQuestion
from assay.questions.report_single import SingleReport, single_report
from assay.questions.speedup import speedups_over
from assay.report.compose import compose
from assay.report.document import Level, Line, ReportDocument
from assay.statistics.run_table import RunTable, table_of


def plain_text(line: Line) -> str:
    """Return a line without its marks."""
    return "".join(
        part if isinstance(part, str) else part.name if isinstance(part, Level) else part.text for part in line
    )


def single_of(runs: Sequence[Run], *, factor: str = "layout", baseline: str = "HD2", **options: Any) -> SingleReport:
    """Return the report on ``runs`` with the decisions that they allow."""
    made = {"trace_of": lambda _: Trace(), **options}
    table, book = table_of(list(runs)), options.get("book")
    costs = run_costs({}, table, book) if book else None
    decisions = decide(table, DecisionRequest(factor, baseline), costs)
    return single_report(runs, factor=factor, baseline=baseline, decisions=decisions, **made)


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
    view = replace(speedups_over(table, ["layout"], baseline), warnings=tuple(warnings))
    return matched_report(table, view, decide(table, DecisionRequest("layout", baseline)))


def matched(report: MatchedReport, table: RunTable) -> ReportDocument:
    asked = ReportQuestion(report.factor, report.baseline)
    return compose(report, frame_of(table, (), asked, claims_of(table), levels=report.levels, assay_version="0"))
