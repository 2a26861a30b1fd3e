"""Serve predictions, the importance of factors, the next runs, and the map of measured combinations.

One model is trained for each version of the index. The first request trains it; concurrent requests wait for it.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from assay.analysis.statistics import counts_by
from assay.foundation.errors import SpecificationError
from assay.foundation.progress import Progress
from assay.interfaces.web.api import runs as api_runs
from assay.interfaces.web.state.answering import PreparedRoute
from assay.interfaces.web.state.context import PROBLEMS, READERS, Context, ContextOf, Where
from assay.interfaces.web.state.search_state import SearchState
from assay.interfaces.web.state.searches import Search
from assay.questions.forecasts.coverage_map import CoverageMap, coverage_map
from assay.questions.forecasts.importance import ImportanceView, combined_factors, what_matters_by
from assay.questions.forecasts.model_cache import RepositoryModel, learned
from assay.questions.forecasts.next_plan import CLUSTER, next_plan
from assay.questions.forecasts.next_runs import (
    Budget,
    Characterisation,
    NextRunsAnswer,
    NextRunsRequest,
    characterise,
    next_runs_by,
)
from assay.questions.forecasts.partial_configuration import conditions
from assay.questions.forecasts.prediction import Prediction, predict_with
from assay.questions.forecasts.prediction_batch import BatchPrediction, batch_predicted
from assay.questions.runs.plans import newest_plan
from assay.store.formats.tables.configuration_rows import ConfigurationRow

router = APIRouter(
    prefix="/api/v1", responses=PROBLEMS, dependencies=READERS, tags=["learned"], route_class=PreparedRoute
)
NEXT_MAX = 100
"""Maximum number of proposed runs in an answer."""
BATCH_MAX = 10_000
"""Maximum number of configurations in one request."""
PREPARED_MAX = 12
"""Maximum number of workloads whose explanations are prepared."""
BACKGROUND_RUNS_MIN = 1_000
"""Minimum number of runs at which the page Predict from my runs shows its progress instead of waiting."""
QUICK_S = 0.5
"""Maximum wait for a prediction from many runs before the page shows its progress, in seconds."""
Factors = Annotated[list[str], Query(max_length=4, description="Factors whose combinations are listed.")]


def cached_model(context: Context, threads: int = 2) -> RepositoryModel:
    """Return the model trained on all runs; cached until the runs change."""
    return context.store.answer(("learned",), lambda table: learned(context.store.repository, table, threads=threads))


def prepare(context: Context) -> None:
    """Prepare slow answers: limits, the model, the map, and the importance of factors of the most common workloads."""
    if len(context.store.table()):
        api_runs.get_workload_limits(context)
    learned_model = cached_model(context, threads=1)  # one thread, to leave CPUs to requests
    table = context.store.table()
    counts = {name: number for name, number in counts_by(table, "workload").items() if name}
    for workload in sorted(counts, key=lambda name: -counts[name])[:PREPARED_MAX]:
        began_s = time.monotonic()
        with suppress(SpecificationError):
            get_reasons(context, [f"workload={workload}"], list(combined_factors(learned_model)))
        time.sleep(time.monotonic() - began_s)  # leave the same time to requests
    get_map(context)


def explain(context: Context, prediction: Prediction) -> ImportanceView | None:
    """Return the importance of factors for a prediction's workload; None without a predicted time or a workload."""
    workload = prediction.configuration.get("workload", "")
    if prediction.expected_s is None or not workload:
        return None
    return get_reasons(context, [f"workload={workload}"], list(combined_factors(cached_model(context))))


def start_learning(context: Context, where: Sequence[str]) -> Search[bool] | None:
    """Start a prediction in the background; return None if it is ready, or if few runs make it fast."""
    table = context.store.table()
    if len(table) < BACKGROUND_RUNS_MIN:
        return None

    def compute(_: object, report: Progress | None) -> bool:
        assert report is not None
        steps = (
            f"learning the times of {len(table):,} runs",
            "predicting the time of the configuration",
            "computing the effect of each factor",
        )
        with context.store.prepared_snapshot():
            report(steps[0], 0, len(steps))
            cached_model(context)
            report(steps[1], 1, len(steps))
            prediction = get_prediction(context, list(where))
            report(steps[2], 2, len(steps))
            explain(context, prediction)
        return True

    key = (context.store.snapshot().version, tuple(where))
    search = context.predictions.find(key) or context.predictions.start(key, compute)
    search.end_event.wait(QUICK_S)
    return None if search.over else search


@router.get("/predict/progress", include_in_schema=False)
def get_progress(context: ContextOf, where: Where) -> SearchState:
    """Return the progress of the prediction that the page Predict from my runs waits for."""
    search = start_learning(context, where)
    if search is None:
        return SearchState(key="", over=True, step="done", done=1, most=1)
    return SearchState(key="", over=False, step=search.step, done=search.done, most=search.most)


@router.get("/predict")
def get_prediction(context: ContextOf, where: Where) -> Prediction:
    """Predict the duration of a configuration with the interval of a single run, or state why that is impossible."""
    repository = context.store.repository
    return context.store.answer(
        ("prediction", tuple(where)), lambda _: predict_with(repository, cached_model(context), where)
    )


class BatchRequest(BaseModel):
    """Configurations to predict."""

    model_config = ConfigDict(extra="forbid")

    rows: list[dict[str, str | int | float | bool | None]] = Field(min_length=1, max_length=BATCH_MAX)
    """Mapping of column to level for each configuration: ``{"workload": "terasort", "layout": "SSD", "maps": 16}``.
    Null and an empty text mean that the level is not given."""
    where: list[str] = Field(default=[], max_length=50)
    """``COLUMN=LEVEL``, applied to every row without a level of the column."""


@router.post("/predict")
def post_predictions(context: ContextOf, request: BatchRequest) -> BatchPrediction:
    """Predict many configurations; values equal those of single predictions. Nothing is stored."""
    rows = [
        ConfigurationRow(number, {name: _text(value) for name, value in row.items() if value not in (None, "")})
        for number, row in enumerate(request.rows, 1)
    ]
    return batch_predicted(cached_model(context), rows, request.where)


def _text(value: str | int | float | bool | None) -> str:
    """Return a level in the repository's notation: numbers without trailing zeros, ``true`` and ``false``."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.15g}" if isinstance(value, float) else str(value)


@router.get("/matters")
def get_reasons(context: ContextOf, where: Where = [], by: Factors = []) -> ImportanceView:  # noqa: B006
    """Return the share of the variance of run times that each factor explains, alone and in pairs."""
    return context.store.answer(
        ("matters", tuple(where), tuple(by)),
        lambda table: what_matters_by(cached_model(context), context.store.repository, table, where, by),
    )


@router.get("/next")
def get_next(
    context: ContextOf,
    where: Where = [],  # noqa: B006
    about: Annotated[str, Query(min_length=1, max_length=300)] = "surface",
    runs: Annotated[int, Query(ge=1, le=NEXT_MAX)] = 10,
) -> NextRunsAnswer:
    """Propose the next runs, the most informative first."""
    request = NextRunsRequest(Budget(runs, None), tuple(where), about=about)
    return context.store.answer(
        ("next", request), lambda table: next_runs_by(cached_model(context), context.store.repository, table, request)
    )


@router.get("/enough-runs")
def get_enough_runs(
    context: ContextOf,
    cluster: Annotated[str, Query(min_length=1, max_length=300)],
    precision: Annotated[float, Query(ge=0.01, le=0.9, description="Median error: 0.1 is 10 %.")] = 0.1,
    where: Where = [],  # noqa: B006
) -> Characterisation:
    """Count the runs on a cluster that are enough to predict its other runs."""
    repository = context.store.repository
    return context.store.answer(
        ("enough runs", cluster, precision, tuple(where)),
        lambda _: characterise(repository, cluster, precision, tuple(where)),
    )


@router.get(
    "/missing", response_class=Response, responses={200: {"content": {"text/plain": {}}, "description": "A plan file."}}
)
def get_missing(context: ContextOf, where: Where) -> Response:
    """Send a plan file that measures a configuration, based on the newest campaign's plan on its cluster."""
    where_conditions = conditions(where, cached_model(context).model.encoding)
    base = newest_plan(context.store.repository, where_conditions.get(CLUSTER))
    return PlainTextResponse(next_plan([where_conditions], base, "missing").plan.source)


@router.get("/map")
def get_map(context: ContextOf) -> CoverageMap:
    """Count the valid runs of each workload on each cluster, layout and network."""
    return context.store.answer(("map",), coverage_map)
