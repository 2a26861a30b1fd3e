"""Provide the dependencies of request handlers: the store, the guard, the price book and the sender's roles.

In: a request. Out: values that FastAPI passes to handlers.
"""

import asyncio
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from threading import Lock
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query, Request

from assay.analysis.statistics import RunTable
from assay.estimation.simulator.pool import SimulatorPool
from assay.foundation.errors import AssayError
from assay.foundation.version import __version__
from assay.interfaces.web.api.models import Problem
from assay.interfaces.web.rendering.rendering import Rendering
from assay.interfaces.web.server.security import COOKIE, NO_TOKEN, AccessRole, Guard, Refusal, Roles
from assay.interfaces.web.state.background_answer import BackgroundAnswer
from assay.interfaces.web.state.searches import Searches
from assay.interfaces.web.state.store import Store
from assay.interfaces.web.state.uploaded_logs import UploadedLogs
from assay.model import PriceBook
from assay.questions.commands import CommandOptions, from_here
from assay.questions.recommendation.recommend import Recommendation
from assay.questions.recommendation.size import SizeAnswer
from assay.questions.runs.monitoring import DecisionFigures
from assay.questions.runs.runs import selected
from assay.store import Repository

API_VERSION = 1
PREDICTIONS_WAITING_MAX = 40
"""Maximum number of predictions that are running or waiting."""
SIMULATION_S_MAX = 60.0
"""Maximum duration of a simulation that a page waits for, in seconds."""
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class StartedCampaign:
    """A campaign that this server started, with its process and log file."""

    plan: str
    process: Popen[bytes]
    log: Path


@dataclass(frozen=True, slots=True)
class Context:
    """Shared state of a server."""

    store: Store
    guard: Guard
    book: PriceBook | None
    book_text: str
    """Text of the price book's file, for editing; empty without a book."""
    upload_bytes_max: int
    rendering: Rendering
    cluster_folders: tuple[Path, ...] = ()
    """Folders with the cluster files that plans can use."""
    campaigns: bool = False
    """Whether this server may start campaigns."""
    book_path: Path | None = None
    """File of the price book; None without a book, or if the book has no file."""
    first_search: bool = False
    """Whether the page Hardware within my budget starts a search with default values when it is first opened."""
    start_lock: Lock = field(default_factory=Lock)
    started_campaigns: list[StartedCampaign] = field(default_factory=list)
    """Campaigns that this server started; the lock ``start_lock`` protects this list."""
    simulators: SimulatorPool = field(default_factory=lambda: SimulatorPool(timeout_s=SIMULATION_S_MAX))
    """Simulators for what-if questions. They start at the first question and stop with the server."""
    searches: Searches[Recommendation] = field(default_factory=Searches)
    """Searches for recommendations."""
    sizes: Searches[SizeAnswer] = field(default_factory=Searches)
    """Sizes from logs."""
    logs: UploadedLogs = field(default_factory=UploadedLogs)
    """Logs that visitors sent."""
    predictions: Searches[bool] = field(default_factory=lambda: Searches(PREDICTIONS_WAITING_MAX))
    """Predictions that learn from many runs."""
    decision_figures: BackgroundAnswer[DecisionFigures] = field(default_factory=BackgroundAnswer)
    """Decisions for `/metrics`."""
    version: str = __version__

    def command_options(self, where: Sequence[str] = (), cluster: str = "") -> CommandOptions:
        """Return the options of this server's answers in commands. A server with tokens publishes no paths."""
        if self.guard.tokens:
            return CommandOptions("DIR", "FILE" if self.book else "", "FILE" if cluster else "", tuple(where))
        prices = from_here(self.book_path) if self.book_path else "FILE" if self.book else ""
        return CommandOptions(from_here(self.store.repository.root), prices, cluster, tuple(where))

    def ask(self, question: Callable[[Repository, RunTable], Answer], where: Sequence[str], name: Hashable) -> Answer:
        """Return the answer to a question about the matching runs, cached by ``name`` and ``where``."""
        repository = self.store.repository
        return self.store.answer((name, tuple(where)), lambda table: question(repository, selected(table, where)))


class DeniedError(AssayError):
    """The server refuses the request. ``status``: HTTP status."""

    def __init__(self, status: int, message: str, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.status = status


def get_context(request: Request) -> Context:
    """Return this server's context."""
    context: Context = request.app.state.context
    return context


def bearer_of(request: Request) -> str | None:
    """Return the bearer token of a request."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def get_roles(request: Request) -> Roles:
    """Return the sender's roles. They are looked up once per request and stored in its state."""
    if not hasattr(request.state, "roles"):
        request.state.roles = get_context(request).guard.roles(bearer_of(request), request.cookies.get(COOKIE))
    roles: Roles = request.state.roles
    return roles


def require_role(role: AccessRole) -> Callable[[Request], None]:
    """Return a FastAPI dependency that raises DeniedError if the sender lacks ``role``."""

    def check(request: Request) -> None:
        roles = get_roles(request)
        if role in roles:
            return
        if not get_context(request).guard.tokens:
            raise DeniedError(
                403,
                f"this server runs without tokens, and {role!s} needs one",
                "start it with --token-file FILE, and send a token from that file",
            )
        if roles:
            raise DeniedError(403, f"this token lacks the role {role!s}", "use a token with that role")
        raise DeniedError(NO_TOKEN.status, NO_TOKEN.message, NO_TOKEN.hint)

    return check


async def check_token(request: Request, token: str) -> Roles | Refusal:
    """Return a token's roles, or a refusal if the address must wait. The answer to a wrong token is delayed."""
    guard = get_context(request).guard
    roles = guard.check_token(request.client.host if request.client else "", token)
    if not roles:
        await asyncio.sleep(guard.wrong_token_delay_s)
    return roles


READERS = [Depends(require_role(AccessRole.READ))]
"""Dependencies of handlers that need the role ``read``."""
Where = Annotated[
    list[str],
    Query(max_length=50, description="COLUMN=LEVEL, repeatable. Several levels of one column match any of them."),
]
ContextOf = Annotated[Context, Depends(get_context)]
RolesOf = Annotated[Roles, Depends(get_roles)]
PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {"model": Problem, "description": text}
    for code, text in {
        400: "The request is invalid.",
        401: "A token is needed.",
        403: "The sender lacks a role.",
        404: "Not found.",
        409: "The repository can't answer this in its present state.",
        421: "The server accepts requests from its own machine only.",
        422: "A parameter is invalid.",
        429: "Too many wrong tokens.",
    }.items()
}
"""Error responses, for the API description."""
