"""The API of what was learned: predictions, what matters, what to run next, and what was measured of what.

The model is learned once for each index, by the first who asks; everybody else waits for the same.
"""

import time
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from assay.analysis.statistics import counts_by
from assay.foundation.errors import SpecificationError
from assay.interfaces.web.state.answering import PreparedRoute
from assay.interfaces.web.state.context import PROBLEMS, READERS, Context, ContextOf, Where
from assay.questions.forecasts.configuration_asked import conditions
from assay.questions.forecasts.coverage_map import CoverageMap, coverage_map
from assay.questions.forecasts.importance import ImportanceView, combined_factors, what_matters_by
from assay.questions.forecasts.model_cache import RepositoryModel, learned
from assay.questions.forecasts.next_plan import CLUSTER, newest_plan, next_plan
from assay.questions.forecasts.next_runs import NextRunsAnswer, budget_of, next_runs_by
from assay.questions.forecasts.prediction import Prediction, predicted_by
from assay.questions.forecasts.prediction_batch import BatchPrediction, batch_predicted
from assay.store.formats.tables.asked_rows import ConfigurationRow

router = APIRouter(
    prefix="/api/v1", responses=PROBLEMS, dependencies=READERS, tags=["learned"], route_class=PreparedRoute
)
NEXT_MAX = 100
BATCH_MAX = 10_000
"""Maximum number of rows in one request."""
PREPARED_MAX = 12
"""Workloads."""
Factors = Annotated[list[str], Query(max_length=4, description="Factors whose combinations are listed.")]


def kept_model(context: Context, threads: int = 2) -> RepositoryModel:
    """Return what is learned from all runs, kept as long as they stay as they are."""
    return context.store.answer(("learned",), lambda table: learned(context.store.repository, table, threads=threads))


def prepare(context: Context) -> None:
    """Ask for what takes long: the model, and what matters for each of the workloads that have most runs."""
    known, table = kept_model(context, threads=1), context.store.table()  # the other processor is for requests
    counts = {name: number for name, number in counts_by(table, "workload").items() if name}
    for workload in sorted(counts, key=lambda name: -counts[name])[:PREPARED_MAX]:
        began_s = time.monotonic()
        with suppress(SpecificationError):
            get_reasons(context, [f"workload={workload}"], list(combined_factors(known)))
        time.sleep(time.monotonic() - began_s)  # requests have as much time
    get_map(context)


@router.get("/predict")
def get_prediction(context: ContextOf, where: Where) -> Prediction:
    """Tell how long a configuration will take, with the interval of one run, or that it cannot be predicted."""
    repository = context.store.repository
    return context.store.answer(
        ("prediction", tuple(where)), lambda _: predicted_by(repository, kept_model(context), where)
    )


class BatchRequest(BaseModel):
    """Configurations to predict."""

    model_config = ConfigDict(extra="forbid")

    rows: list[dict[str, str | int | float | bool | None]] = Field(min_length=1, max_length=BATCH_MAX)
    """Column to level by configuration: ``{"workload": "terasort", "layout": "SSD", "maps": 16}``. Null and empty text
    name nothing, as empty cells do."""
    where: list[str] = Field(default=[], max_length=50)
    """``COLUMN=LEVEL`` for all rows that do not name another level."""


@router.post("/predict")
def post_predictions(context: ContextOf, asked: BatchRequest) -> BatchPrediction:
    """Predict many configurations, with the same values as one by one. Nothing is kept."""
    rows = [
        ConfigurationRow(number, {name: _text(value) for name, value in row.items() if value not in (None, "")})
        for number, row in enumerate(asked.rows, 1)
    ]
    return batch_predicted(kept_model(context), rows, asked.where)


def _text(value: str | int | float | bool | None) -> str:
    """Return a level as repositories have it: numbers without needless decimals, ``true`` and ``false``."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.15g}" if isinstance(value, float) else str(value)


@router.get("/matters")
def get_reasons(context: ContextOf, where: Where = [], by: Factors = []) -> ImportanceView:  # noqa: B006
    """Tell how much of the times' variation each factor makes, alone and with another."""
    return context.store.answer(
        ("matters", tuple(where), tuple(by)),
        lambda table: what_matters_by(kept_model(context), context.store.repository, table, where, by),
    )


@router.get("/next")
def get_next(
    context: ContextOf,
    where: Where = [],  # noqa: B006
    about: Annotated[str, Query(min_length=1, max_length=300)] = "surface",
    runs: Annotated[int, Query(ge=1, le=NEXT_MAX)] = 10,
) -> NextRunsAnswer:
    """Tell which configurations to run next, the most telling first."""
    return context.store.answer(
        ("next", tuple(where), about, runs),
        lambda table: next_runs_by(
            kept_model(context), context.store.repository, table, where, about, budget_of(f"{runs}runs")
        ),
    )


@router.get(
    "/missing", response_class=Response, responses={200: {"content": {"text/plain": {}}, "description": "A plan file."}}
)
def get_missing(context: ContextOf, where: Where) -> Response:
    """Send the plan file that measures a configuration, by the newest campaign's plan on its cluster."""
    named = conditions(where, kept_model(context).model.encoding)
    base = newest_plan(context.store.repository, named.get(CLUSTER))
    return PlainTextResponse(next_plan([named], base, "missing").plan.source)


@router.get("/map")
def get_map(context: ContextOf) -> CoverageMap:
    """Tell how many valid runs there are of each workload on each cluster, layout and network."""
    return context.store.answer(("map",), coverage_map)
