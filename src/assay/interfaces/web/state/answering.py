"""Build HTML responses and error pages, assign colours to levels, and define common query parameters."""

from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from shlex import quote
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.routing import APIRoute

from assay.analysis.comparison.factors.device_classes import layout_classes
from assay.analysis.statistics import RunTable
from assay.interfaces.charts.drawing.identity import colours_of
from assay.interfaces.web.rendering.filters import Pairs, filter_bar, filter_parameters
from assay.interfaces.web.server.security import HEADERS
from assay.interfaces.web.state.context import Context, ContextOf, get_context, get_roles
from assay.model import LAYOUT_FACTOR
from assay.questions.commands import command, from_here

Texts = Annotated[list[str], Query(max_length=50)]
Text = Annotated[str | None, Query(max_length=300)]


def conditions_in(context: Context, pairs: Pairs) -> list[str]:
    """Return the conditions in an address: ``where=COLUMN=LEVEL``, and ``COLUMN=LEVEL`` for the filter bar's columns.

    Raises SpecificationError, with the choices, for a column or level that no run has.
    """
    where = [text for name, text in pairs if name == "where" and text]
    conditions = list(dict.fromkeys([*where, *(text for _, text in filter_parameters(pairs))]))
    if len(context.store.table()):
        context.ask(lambda _, matching_runs: len(matching_runs), conditions, "matching runs")
    return conditions


def _conditions(request: Request, context: ContextOf, where: Texts = []) -> list[str]:  # noqa: B006 - for its maximum
    del where
    return conditions_in(context, request.query_params.multi_items())


Conditions = Annotated[list[str], Depends(_conditions)]
"""Conditions in the address of a page with the filter bar."""


def iso_time(unix_s: float | None) -> str | None:
    """Return a Unix time (seconds) in ISO 8601, in UTC; None for None."""
    return None if unix_s is None else datetime.fromtimestamp(unix_s, UTC).isoformat(timespec="seconds")


class PreparedRoute(APIRoute):
    """A route that answers from the snapshot with the prepared answers, and reports the time of its runs."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that uses the prepared snapshot."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            store = get_context(request).store
            with store.prepared_snapshot():
                request.state.outdated_as_of = iso_time(store.outdated_as_of())
                return await handler(request)

        return handle


def page_of(
    request: Request, name: str, *, filter_table: RunTable | None = None, status: int = 200, **values: Any
) -> HTMLResponse:
    """Return a page, or a part of a page, from its template.

    ``filter_table``: runs for the choices of the filter bar; None for a page without this bar.
    """
    context, pairs = get_context(request), request.query_params.multi_items()
    root = context.store.repository.root.absolute()
    html = context.rendering.html(
        name,
        path=request.url.path,
        version=context.version,
        roles=get_roles(request),
        guarded=bool(context.guard.tokens),
        outdated_as_of=getattr(request.state, "outdated_as_of", None),
        folder="DIR" if context.guard.tokens else quote(from_here(root)),
        serve_command=command("serve", options=replace(context.command_options(), prices="FILE")),
        repository="" if context.guard.tokens else root.resolve().name,
        carried=filter_parameters(pairs) if status == HTTPStatus.OK else [],  # an error may be in these
        bar=filter_bar(request.url.path, pairs, filter_table)
        if filter_table is not None and len(filter_table)
        else None,
        book_name=context.book.name if context.book else "",
        **values,
    )
    return HTMLResponse(html, status_code=status)


def error_page(request: Request, status: int, message: str, where: str | None, hint: str | None) -> Response:
    """Return an error as a page."""
    answer = page_of(request, "error", status=status, message=message, where=where, hint=hint)
    answer.headers.update(HEADERS)
    return answer


def redirect_to_login(request: Request) -> Response:
    """Redirect to the sign-in page, which redirects back to this page."""
    target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(f"/login?{urlencode({'next': target})}", status_code=303)


def palette(table: RunTable, factor: str) -> dict[str, str]:
    """Return a colour for each level of a factor: layouts have the colour of their device class.

    It is the same on all pages and independent of the index's order.
    """
    column = table.columns.get(factor)
    if column is None:
        return {}
    return colours_of(column.levels, layout_classes(table) if factor == LAYOUT_FACTOR else None)
