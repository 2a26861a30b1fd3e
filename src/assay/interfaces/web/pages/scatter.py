"""Show the page Scatter: a metric of the matching runs against another metric."""

from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from assay.interfaces.charts.scatter import scatter_points
from assay.interfaces.web.api import views as api_views
from assay.interfaces.web.state.answering import Conditions, Text, page_of, palette
from assay.interfaces.web.state.context import READERS, ContextOf
from assay.interfaces.web.state.page_cache import cached_page
from assay.questions.runs.runs import level_at, levels_by_number
from assay.questions.runs.scatter import counts_text

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=READERS)
ROWS_LISTED = 10
"""Maximum number of runs listed below the chart: the runs with the largest y values."""


@router.get("/scatter")
@cached_page
def scatter(
    request: Request,
    context: ContextOf,
    where: Conditions,
    x: Text = None,
    y: Text = None,
    by: Text = None,
    shape: Text = None,
) -> Response:
    """Show the points, with pickers for axes, colour and shape."""
    table = context.store.table()
    if len(table) == 0:
        return page_of(request, "scatter", view=None)
    workloads = levels_by_number(table, "workload")
    if not where and "where" not in request.query_params and len(workloads) > 1:
        # Times of several workloads have no common scale. The filter "all" keeps an empty condition in the address.
        parameters = [*request.query_params.multi_items(), ("where", f"workload={workloads[0]}")]
        return RedirectResponse(f"/scatter?{urlencode(parameters)}", status_code=303)
    default_factor = "layout" if "layout" in table.columns else ""
    view = api_views.get_scatter(
        context, x or "", y or "duration_s", default_factor if by is None else by, shape or "", where
    )
    colours = palette(table, view.by) if view.by else {}
    return page_of(
        request,
        "scatter",
        filter_table=table,
        view=view,
        chart=scatter_points(view, colours) if view.points else None,
        counts=counts_text(view),
        where=where,
        listed_points=[
            (point, *(level_at(table, name, position) for name in (view.by, view.shape)))
            for point in sorted(view.points, key=lambda point: -point.y)[:ROWS_LISTED]
            for position in context.store.repository.positions_of(table, [point.run_id])
        ],
    )
