"""What every request handler needs: the store, the guard, the price book, and who is asking.

Handlers take these by FastAPI's dependencies; there are no globals.
"""

import asyncio
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from threading import Lock
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query, Request

from assay import __version__
from assay.analysis.statistics import RunTable
from assay.estimation.simulator.pool import SimulatorPool
from assay.foundation.errors import AssayError
from assay.interfaces.web.api.models import Problem
from assay.interfaces.web.rendering.rendering import Rendering
from assay.interfaces.web.server.security import COOKIE, NO_TOKEN, Guard, Refusal, Role, Roles
from assay.interfaces.web.state.searches import Searches
from assay.interfaces.web.state.store import Store
from assay.model import PriceBook
from assay.questions.runs.runs import selected
from assay.store import Repository

API_VERSION = 1
SIMULATION_S_MAX = 60.0
"""How long one simulation may take that a page waits for."""
Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True)
class StartedCampaign:
    """A campaign that this server started: the process that carries it out, and where that writes."""

    plan: str
    process: Popen[bytes]
    log: Path


@dataclass(frozen=True, slots=True)
class Context:
    """One server's own things."""

    store: Store
    guard: Guard
    book: PriceBook | None
    book_text: str
    """The price book's file as it is, to begin an edit from; empty without one."""
    upload_bytes_max: int
    rendering: Rendering
    cluster_folders: tuple[Path, ...] = ()
    """Folders whose cluster files plans can be made for."""
    campaigns: bool = False
    """Whether it may start campaigns."""
    starting: Lock = field(default_factory=Lock)
    started: list[StartedCampaign] = field(default_factory=list)
    """The campaigns that it started, under ``starting``."""
    simulators: SimulatorPool = field(default_factory=lambda: SimulatorPool(timeout_s=SIMULATION_S_MAX))
    """Kept warm for what-if questions; none is started before the first, and they end with the server."""
    searches: Searches = field(default_factory=Searches)
    """Recommendations that were asked for."""
    version: str = __version__

    def ask(self, question: Callable[[Repository, RunTable], Kept], where: Sequence[str], name: Hashable) -> Kept:
        """Return the answer to a question about the runs that match; it is kept under its ``name`` and conditions."""
        repository = self.store.repository
        return self.store.answer((name, tuple(where)), lambda table: question(repository, selected(table, where)))


class DeniedError(AssayError):
    """A request that its sender may not make; ``status`` is HTTP's."""

    def __init__(self, status: int, message: str, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.status = status


def get_context(request: Request) -> Context:
    """Return this server's context."""
    context: Context = request.app.state.context
    return context


def bearer_of(request: Request) -> str | None:
    """Return the token that a program shows."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else None


def get_roles(request: Request) -> Roles:
    """Return what the sender may do; looked up once, as a page may be made again when the sender is gone."""
    if not hasattr(request.state, "roles"):
        request.state.roles = get_context(request).guard.roles(bearer_of(request), request.cookies.get(COOKIE))
    roles: Roles = request.state.roles
    return roles


def require(role: Role) -> Callable[[Request], None]:
    """Return a dependency that refuses senders without a role."""

    def check(request: Request) -> None:
        roles = get_roles(request)
        if role in roles:
            return
        if not get_context(request).guard.tokens:
            raise DeniedError(
                403,
                f"without tokens this server lets nobody {role}",
                "start it with --token-file FILE, and show a token of that file",
            )
        if roles:
            raise DeniedError(403, f"this token has no role {role!s}", "ask for another token")
        raise DeniedError(NO_TOKEN.status, NO_TOKEN.message, NO_TOKEN.hint)

    return check


async def tried(request: Request, token: str) -> Roles | Refusal:
    """Return the roles of a token that somebody shows, or why it is not looked at; a wrong one takes its time."""
    guard = get_context(request).guard
    found = guard.tried(request.client.host if request.client else "", token)
    if not found:
        await asyncio.sleep(guard.wrong_s)
    return found


READERS = [Depends(require(Role.READ))]
"""What handlers depend on that answer whoever may read."""
Where = Annotated[list[str], Query(max_length=50, description="COLUMN=LEVEL, repeatable; several of one column: any.")]
ContextOf = Annotated[Context, Depends(get_context)]
RolesOf = Annotated[Roles, Depends(get_roles)]
PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {"model": Problem, "description": text}
    for code, text in {
        400: "What was asked for does not make sense.",
        401: "A token is asked for.",
        403: "The sender may not do that.",
        404: "There is no such thing.",
        409: "The repository can't answer that as it is.",
        421: "This server answers on its own machine alone.",
        422: "A parameter is wrong.",
        429: "Too many wrong tokens.",
    }.items()
}
"""The answers besides the good one, for the documentation."""
