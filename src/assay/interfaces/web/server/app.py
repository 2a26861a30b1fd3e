"""Build the ASGI application: routes, access checks and error responses.

In: a repository, tokens, a price book. Out: the application. Under ``/api``, an error is JSON (``message``, ``where``,
``hint``); elsewhere it is a page with the same text. Answers never contain a traceback.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay.foundation.errors import AssayError, FormatError, RepositoryError, SpecificationError
from assay.foundation.version import __version__
from assay.interfaces.web.api import bundles as api_bundles
from assay.interfaces.web.api import compare as api_compare
from assay.interfaces.web.api import decisions as api_decisions
from assay.interfaces.web.api import metrics as api_metrics
from assay.interfaces.web.api import plan as api_plan
from assay.interfaces.web.api import predict as api_predict
from assay.interfaces.web.api import profiles as api_profiles
from assay.interfaces.web.api import quality as api_quality
from assay.interfaces.web.api import recommend as api_recommend
from assay.interfaces.web.api import runs as api_runs
from assay.interfaces.web.api import size as api_size
from assay.interfaces.web.api import views as api_views
from assay.interfaces.web.api import whatif as api_whatif
from assay.interfaces.web.api import why as api_why
from assay.interfaces.web.pages import campaign as pages_campaign
from assay.interfaces.web.pages import changes as pages_changes
from assay.interfaces.web.pages import clusters as pages_clusters
from assay.interfaces.web.pages import compare as pages_compare
from assay.interfaces.web.pages import cost as pages_cost
from assay.interfaces.web.pages import hosts as pages_hosts
from assay.interfaces.web.pages import overview as pages_overview
from assay.interfaces.web.pages import plan as pages_plan
from assay.interfaces.web.pages import recommend as pages_recommend
from assay.interfaces.web.pages import report as pages_report
from assay.interfaces.web.pages import run as pages_run
from assay.interfaces.web.pages import scatter as pages_scatter
from assay.interfaces.web.pages import why as pages_why
from assay.interfaces.web.pages.forecasts import instances as pages_instances
from assay.interfaces.web.pages.forecasts import predict as pages_predict
from assay.interfaces.web.pages.forecasts import size as pages_size
from assay.interfaces.web.pages.forecasts import tuning as pages_tuning
from assay.interfaces.web.pages.forecasts import whatif as pages_whatif
from assay.interfaces.web.rendering.rendering import NotFoundError, Rendering
from assay.interfaces.web.server.security import (
    COOKIE,
    HEADERS,
    LOGIN_BYTES_MAX,
    NO_TOKEN,
    SAFE_METHODS,
    Guard,
    Refusal,
    Roles,
)
from assay.interfaces.web.state.answering import error_page, iso_time, redirect_to_login
from assay.interfaces.web.state.context import Context, DeniedError, bearer_of, check_token
from assay.interfaces.web.state.store import Store
from assay.model import PriceBook
from assay.store.exchange.transfer import RefusedBundleError

UPLOAD_BYTES_MAX = 8 * 10**9
"""Default maximum size of an uploaded bundle, in bytes."""
BODY_BYTES_MAX = 4_000_000
"""Maximum size of a request's body, except for uploads, in bytes."""
COMPRESSED_FROM_BYTES = 1_000
"""Minimum size of a compressed answer, in bytes."""
RUNS_AS_OF = "Assay-Runs-As-Of"
"""Header of an answer without the newest runs: the time at which its runs were read, in ISO 8601."""
UNCOMPRESSED_PATH = "/api/v1/bundles"
"""Path prefix of answers that are not compressed: bundles are compressed files, and they are streamed."""
ROUTE_MODULES = (
    api_runs,
    api_views,
    api_compare,
    api_decisions,
    api_plan,
    api_quality,
    api_bundles,
    api_why,
    api_recommend,
    api_size,
    api_whatif,
    api_predict,
    api_profiles,
    api_metrics,
    pages_overview,
    pages_changes,
    pages_cost,
    pages_compare,
    pages_hosts,
    pages_clusters,
    pages_plan,
    pages_predict,
    pages_run,
    pages_scatter,
    pages_campaign,
    pages_tuning,
    pages_recommend,
    pages_instances,
    pages_size,
    pages_report,
    pages_whatif,
    pages_why,
)
"""Modules with routes, in matching order."""
_STATUS_OF_ERRORS: tuple[tuple[type[AssayError], int], ...] = (
    (NotFoundError, 404),
    (RefusedBundleError, 422),
    (SpecificationError, 400),
    (FormatError, 400),
    (RepositoryError, 409),
)


def create_app(
    root: Path,
    *,
    tokens: Mapping[str, Roles] | None = None,
    book: PriceBook | None = None,
    book_text: str = "",
    book_path: Path | None = None,
    upload_bytes_max: int = UPLOAD_BYTES_MAX,
    cluster_folders: Sequence[Path] = (),
    campaigns: bool = False,
    first_search: bool = False,
) -> FastAPI:
    """Return the application for the repository at ``root``. Raises RepositoryError if there is none.

    ``cluster_folders``: folders with the cluster files that plans can use. ``campaigns``: whether the server may start
    campaigns. ``first_search``: whether the page on hardware within a budget begins with a search with default values.
    Without ``tokens``, every client may read, so the server must listen on loopback only.
    """
    app = FastAPI(
        title="assay",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        description="Filter, compare and price runs of Hadoop and Spark benchmarks. Origins are never mixed.",
        lifespan=_lifespan,
    )
    context = app.state.context = Context(
        store=Store(root),
        guard=Guard(tokens or {}),
        book=book,
        book_text=book_text,
        upload_bytes_max=upload_bytes_max,
        rendering=Rendering(),
        cluster_folders=tuple(cluster_folders),
        campaigns=campaigns,
        book_path=book_path,
        first_search=first_search,
    )
    context.store.prepare = partial(api_predict.prepare, context)
    for module in ROUTE_MODULES:
        app.include_router(module.router)
    app.add_exception_handler(AssayError, _assay_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected_error)
    app.add_middleware(AccessControl)
    app.add_middleware(Compression)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Stop the simulators and remove temporary files when the server stops."""
    yield
    app.state.context.searches.close()
    app.state.context.sizes.close()
    app.state.context.logs.close()
    app.state.context.predictions.close()
    app.state.context.simulators.close()
    app.state.context.store.repository.close()  # here, because the signal ends the process without clean-up


class Compression:
    """Compress text for clients that accept it, and answer HEAD as GET without the content."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._compressor = GZipMiddleware(app, minimum_size=COMPRESSED_FROM_BYTES, compresslevel=4)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or scope["path"].startswith(UNCOMPRESSED_PATH):
            await self._app(scope, receive, send)
            return
        if scope["method"] != "HEAD":
            await self._compressor(scope, receive, send)
            return

        async def send_without_body(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self._app({**scope, "method": "GET"}, receive, send_without_body)


@dataclass(frozen=True, slots=True)
class AccessControl:
    """Check every request, and add the security headers to every answer."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        request.state.outdated_as_of = iso_time(request.app.state.context.store.outdated_as_of())

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [(name, value) for name, value in message["headers"]]
                header_names = {name.lower() for name, _ in headers}
                extra_headers = {**HEADERS, "Cache-Control": "no-store"}
                if request.state.outdated_as_of:
                    extra_headers[RUNS_AS_OF] = request.state.outdated_as_of
                headers += [
                    (name.encode(), value.encode())
                    for name, value in extra_headers.items()
                    if name.lower().encode() not in header_names
                ]
                message = {**message, "headers": headers}
            await send(message)

        refusal = _request_refusal(request) or await _token_refusal(request)
        if refusal is not None:
            await _error_response(request, refusal.status, refusal.message, None, refusal.hint)(
                scope, receive, send_with_headers
            )
            return
        await self.app(scope, receive, send_with_headers)


def _is_for_programs(request: Request) -> bool:
    """Return whether programs read the answer: it is then neither a page nor a redirect to the login page."""
    return request.url.path.startswith("/api/") or request.url.path == "/metrics"


async def _token_refusal(request: Request) -> Refusal | None:
    """Return the refusal of a request with a wrong token, or of an API change without a token; None if permitted.

    The check runs before the request's body is read.
    """
    guard: Guard = request.app.state.context.guard
    bearer, is_for_programs = bearer_of(request), _is_for_programs(request)
    if not guard.tokens:
        return None
    roles = guard.roles(None, request.cookies.get(COOKIE)) if bearer is None else await check_token(request, bearer)
    if isinstance(roles, Refusal):
        return roles
    return NO_TOKEN if is_for_programs and not roles and request.method not in SAFE_METHODS else None


def _request_refusal(request: Request) -> Refusal | None:
    guard: Guard = request.app.state.context.guard
    host = request.headers.get("host")
    refusal = guard.refuse_host(host)
    if refusal is None and request.method not in SAFE_METHODS:
        refusal = guard.refuse_change(
            bearer=bearer_of(request) is not None,
            cookie=COOKIE in request.cookies,
            site=request.headers.get("sec-fetch-site"),
            origin=request.headers.get("origin"),
            host=host,
        )
        size = request.headers.get("content-length", "0")
        is_chunked = "transfer-encoding" in request.headers
        size_max = LOGIN_BYTES_MAX if request.url.path == "/login" else BODY_BYTES_MAX
        is_too_large = is_chunked or not size.isdecimal() or int(size) > size_max
        if refusal is None and request.method != "PUT" and is_too_large:
            refusal = Refusal(413, "the request is too large", f"the maximum is {size_max:,} bytes")
    return refusal


def _encodable_text(text: str | None) -> str | None:
    """Replace characters that UTF-8 can't encode, for example half of a surrogate pair from a request."""
    return None if text is None else text.encode("utf-8", "replace").decode()


def _error_response(request: Request, status: int, message: str, where: str | None, hint: str | None) -> Response:
    texts = [_encodable_text(text) for text in (message, where, hint)]
    root = request.app.state.context.store.repository.root
    for folder in {f"{root.resolve()}/", f"{root.absolute()}/"}:  # the path on the server is private
        texts = [text and text.replace(folder, "") for text in texts]
    message, where, hint = texts[0] or "", texts[1], texts[2]
    if _is_for_programs(request):
        return JSONResponse({"message": message, "where": where, "hint": hint}, status_code=status)
    return error_page(request, status, message, where, hint)


async def _assay_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, AssayError)
    status = (
        error.status
        if isinstance(error, DeniedError)
        else next((code for kind, code in _STATUS_OF_ERRORS if isinstance(error, kind)), 500)
    )
    if status == 401 and not _is_for_programs(request):
        return redirect_to_login(request)
    return _error_response(request, status, error.message, error.where, error.hint)


async def _validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first_error = next(iter(error.errors()), {"loc": (), "msg": "invalid request"})
    field_path = ".".join(str(part) for part in first_error["loc"] if part not in ("query", "path", "body"))
    return _error_response(
        request,
        422,
        _validation_message(first_error),
        field_path or None,
        "/api/v1/openapi.json describes every parameter",
    )


def _validation_message(problem: Mapping[str, Any]) -> str:
    """Return a message for an invalid request: a plain text for common problems, otherwise pydantic's message."""
    limits = problem.get("ctx", {})
    match problem.get("type"):
        case "too_long":
            return f"{limits['actual_length']:,} entries exceed the maximum of {limits['max_length']:,}"
        case "too_short":
            return f"at least {limits['min_length']:,} entry is required"
        case "missing":
            return "this parameter is required"
        case "extra_forbidden":
            return "unknown field"
        case "json_invalid" | "model_attributes_type":
            return "the request's body is not a valid JSON object"
        case "float_parsing" | "int_parsing":
            return f"{problem['input']!r} is not a number"
    return str(problem["msg"]).replace("Input should be", "the value must be")


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    is_unknown_address = error.status_code == HTTPStatus.NOT_FOUND and error.detail == HTTPStatus.NOT_FOUND.phrase
    message = f"there is no page {request.url.path}" if is_unknown_address else str(error.detail)
    answer = _error_response(request, error.status_code, message, None, None)
    answer.headers.update(error.headers or {})
    return answer


async def _unexpected_error(request: Request, error: Exception) -> Response:
    del error  # uvicorn logs it
    answer = _error_response(request, 500, "internal error", None, "see the server's log, and please report it")
    answer.headers.update(HEADERS)  # this answer bypasses AccessControl
    return answer
