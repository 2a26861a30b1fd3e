"""Serve the state of a tuning, while it runs and afterwards, as a page and as JSON."""

import time

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from assay.interfaces.charts.tuning import tuning_course
from assay.interfaces.web.rendering.rendering import NotFoundError
from assay.interfaces.web.state.answering import page_of
from assay.interfaces.web.state.context import PROBLEMS, READERS, Context, ContextOf
from assay.questions.forecasts.tuning import NoTuningError, TuningState, tuning_state
from assay.questions.runs.campaigns import campaigns_named

router = APIRouter()


def _state(context: Context, campaign: str) -> TuningState:
    """Return the tuning whose campaign id begins with ``campaign``. Raises NotFoundError without a match."""
    try:
        return tuning_state(context.store.repository, campaign)
    except NoTuningError as error:
        raise NotFoundError(error.message, hint="the list of campaigns has all ids") from error


@router.get("/api/v1/tuning/{campaign}", responses=PROBLEMS, dependencies=READERS, tags=["campaigns"])
def get_tuning(context: ContextOf, campaign: str) -> TuningState:
    """Return the state or the result of a tuning. ``campaign``: the beginning of its campaign's id."""
    return _state(context, campaign)


@router.get("/tuning/{campaign}", include_in_schema=False, response_class=HTMLResponse, dependencies=READERS)
def tuning(request: Request, context: ContextOf, campaign: str) -> Response:
    """Show the runs of a tuning in their order, the fastest configurations, and the comparison."""
    state = _state(context, campaign)
    [status] = campaigns_named(context.store.repository, state.campaign_id, time.time())
    timed_trials = [trial for trial in state.trials if trial.duration_s is not None]
    return page_of(
        request,
        "tuning",
        state=state,
        is_running=status.running,
        chart=tuning_course(state.trials) if timed_trials else None,
    )
