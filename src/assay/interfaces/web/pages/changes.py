"""Show the pages Changes and Regressions: when configurations became slower, and whether any is slower than permitted.

The handlers of the API give the answers.
"""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse

from assay.foundation.errors import AssayError
from assay.interfaces.web.api import quality as api_quality
from assay.interfaces.web.state.answering import Conditions, Text, Texts, page_of
from assay.interfaces.web.state.context import READERS, ContextOf
from assay.interfaces.web.state.page_cache import cached_page
from assay.questions.runs.runs import comparable
from assay.questions.trust.changes import changes_notes, changes_sentence, changes_table
from assay.questions.trust.gate import SLOWDOWN_MAX, gate_notes, gate_sentence, gate_table

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=READERS)


@router.get("/changes")
@cached_page
def changes(request: Request, context: ContextOf, where: Conditions) -> Response:
    """Show the change points in the histories of the configurations."""
    table = context.store.table()
    if len(table) == 0:
        return page_of(request, "changes", empty=True)
    view = api_quality.changes(context, where)
    return page_of(
        request,
        "changes",
        filter_table=table,
        empty=False,
        sentence=changes_sentence(view),
        notes=changes_notes(view),
        changes=changes_table(view),
    )


@router.get("/gate")
@cached_page
def gate(
    request: Request,
    context: ContextOf,
    where: Conditions,
    baseline: Text = None,
    slowdown: Annotated[float, Query(ge=0, le=1000, allow_inf_nan=False)] = 100 * SLOWDOWN_MAX,
    ignore: Texts = [],  # noqa: B006
) -> Response:
    """Show whether a configuration is slower than permitted since a baseline. ``slowdown``: in per cent."""
    table = context.store.table()
    if len(table) == 0:
        return page_of(request, "gate", empty=True)
    ignored = [name for name in ignore if name]
    view, problem = None, None
    if baseline:
        try:
            view = api_quality.gate(context, baseline, slowdown / 100, ignored, where)
        except AssayError as error:
            problem = error
    return page_of(
        request,
        "gate",
        filter_table=table,
        empty=False,
        baseline=baseline or "",
        slowdown=slowdown,
        ignored=ignored,
        factors=comparable(table),
        where=where,
        view=view,
        problem=problem,
        sentence=gate_sentence(view) if view else "",
        notes=gate_notes(view) if view else (),
        verdicts=gate_table(view) if view else None,
    )
