"""What every page shares: answering with one, a colour for each level, and parameters of addresses."""

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from shlex import quote
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.routing import APIRoute

from assay.analysis.statistics import RunTable
from assay.interfaces.charts.drawing.identity import colours_of
from assay.interfaces.web.server.security import HEADERS
from assay.interfaces.web.state.context import get_context, get_roles

Texts = Annotated[list[str], Query(max_length=50)]
Text = Annotated[str | None, Query(max_length=300)]


def as_of(unix_s: float | None) -> str | None:
    """Return a time in ISO 8601, in UTC."""
    return None if unix_s is None else datetime.fromtimestamp(unix_s, UTC).isoformat(timespec="seconds")


class OfPrepared(APIRoute):
    """A route whose answers are of the state that what takes long was prepared for, and say so."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler."""
        answer = super().get_route_handler()

        async def answered(request: Request) -> Response:
            store = get_context(request).store
            with store.of_prepared():
                request.state.behind = as_of(store.behind())
                return await answer(request)

        return answered


def page_of(request: Request, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page, or a part of one, from its template."""
    context = get_context(request)
    html = context.rendering.html(
        name,
        path=request.url.path,
        version=context.version,
        roles=get_roles(request),
        guarded=bool(context.guard.tokens),
        behind=getattr(request.state, "behind", None),
        folder="DIR" if context.guard.tokens else quote(str(context.store.repository.root)),
        **values,
    )
    return HTMLResponse(html, status_code=status)


def error_page(request: Request, status: int, message: str, where: str | None, hint: str | None) -> Response:
    """Return an error in words as a page."""
    answer = page_of(request, "error", status=status, message=message, where=where, hint=hint)
    answer.headers.update(HEADERS)
    return answer


def to_login(request: Request) -> Response:
    """Send somebody without a token to the page that takes one, and back afterwards."""
    target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(f"/login?{urlencode({'next': target})}", status_code=303)


def palette(table: RunTable, factor: str) -> dict[str, str]:
    """Return a colour for each level of a factor: the same on every page, and in every order of the index."""
    column = table.columns.get(factor)
    return colours_of(column.levels) if column is not None else {}
