"""Serve the newest host checks, as the page Hosts and as JSON: the result of each check on each host."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from assay.interfaces.web.state.answering import page_of
from assay.interfaces.web.state.context import PROBLEMS, READERS, ContextOf
from assay.questions.clusters.hosts import CheckedCluster, checked_hosts

router = APIRouter(dependencies=READERS)


@router.get("/hosts", include_in_schema=False, response_class=HTMLResponse)
def hosts(request: Request, context: ContextOf) -> Response:
    """Show the newest check of each cluster."""
    return page_of(request, "hosts", clusters=checked_hosts(context.store.repository))


@router.get("/api/v1/hosts", responses=PROBLEMS, tags=["quality"])
def get_hosts(context: ContextOf) -> tuple[CheckedCluster, ...]:
    """Return the newest check of each cluster: the result of each check on each host, and the changes it recommends."""
    return checked_hosts(context.store.repository)
