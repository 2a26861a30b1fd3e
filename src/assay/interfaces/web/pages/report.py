"""Serve the report on the matching runs as a file, as ``assay report -o report.html`` writes it."""

from datetime import UTC, datetime

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse

from assay.analysis.statistics import RunTable
from assay.interfaces.report.compose import compose
from assay.interfaces.report.output.html import html
from assay.interfaces.web.state.answering import Conditions
from assay.interfaces.web.state.context import READERS, ContextOf
from assay.questions.report.build import report_of
from assay.questions.report.request import ReportRequest
from assay.questions.runs.runs import selected

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=READERS)


@router.get("/report.html")
def report(context: ContextOf, where: Conditions) -> Response:
    """Send the report with the server's price book. It is cached until the runs change."""
    request = ReportRequest(
        prices=context.book_path.name if context.book_path else None,
        date=datetime.now(UTC).date().isoformat(),
        conditions=tuple(where),
    )

    def make(table: RunTable) -> str:
        matching_runs = selected(table, request.where)
        return html(compose(report_of(context.store.repository, matching_runs, request, context.book)))

    text = context.store.answer(request, make)
    return HTMLResponse(text, headers={"Content-Disposition": 'attachment; filename="report.html"'})
