"""Show the page of a campaign: its progress with the remaining time, its failures, and links to its runs."""

import time

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from assay.interfaces.web.state.answering import page_of
from assay.interfaces.web.state.context import READERS, ContextOf
from assay.questions.forecasts.tuning import is_tuning
from assay.questions.runs.campaigns import campaigns_named, runs_of_campaign

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=READERS)


@router.get("/campaigns/{campaign_id}")
def campaign(request: Request, context: ContextOf, campaign_id: str) -> Response:
    """Show one campaign; a running one is followed in the browser."""
    repository, table = context.store.repository, context.store.table()
    status = campaigns_named(repository, campaign_id, time.time())[0]
    runs = runs_of_campaign(table, status.campaign_id)
    return page_of(request, "campaign", campaign=status, runs=runs, tuning=is_tuning(repository, status.campaign_id))
