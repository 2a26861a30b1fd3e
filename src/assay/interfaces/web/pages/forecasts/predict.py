"""Show the page Predict from my runs: a prediction, the important factors, and unmeasured combinations."""

from functools import partial

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from assay.analysis.statistics import RunTable
from assay.foundation.errors import SpecificationError
from assay.interfaces.charts.combinations import combinations
from assay.interfaces.web.api import predict as api_predict
from assay.interfaces.web.rendering.extrapolation import bar_of_basis
from assay.interfaces.web.state.answering import PreparedRoute, Texts, page_of
from assay.interfaces.web.state.context import READERS, Context, ContextOf
from assay.interfaces.web.state.page_cache import cached_page
from assay.interfaces.web.state.searches import Search
from assay.questions.forecasts.coverage_map import SETUP
from assay.questions.forecasts.partial_configuration import first_question
from assay.questions.forecasts.prediction import prediction_sentence
from assay.questions.runs.runs import comparable, levels_in

router = APIRouter(
    include_in_schema=False, default_response_class=HTMLResponse, dependencies=READERS, route_class=PreparedRoute
)

LEVELS_MAX = 40
"""Maximum number of levels of a setting that the form offers; settings with more levels have no field."""


def _has_plan(context: Context) -> bool:
    return any(context.store.repository.folders.campaigns.glob("*/plan.yaml"))


def _conditions_to_predict(table: RunTable, chosen_conditions: list[str]) -> list[str]:
    """Return the conditions to predict; without a choice, those of the first question."""
    return chosen_conditions or (list(first_question(table)) if len(table) else [])


@router.get("/predict")
def predict(request: Request, context: ContextOf, where: Texts = []) -> Response:  # noqa: B006
    """Show the prediction, or the progress of learning while it takes long."""
    chosen_conditions = [condition for condition in where if condition and not condition.endswith("=")]
    conditions = _conditions_to_predict(context.store.table(), chosen_conditions)
    search = api_predict.start_learning(context, conditions) if conditions else None
    if search is not None:
        return _page(request, context, chosen_conditions, search)
    return _cached_page(request=request, context=context, chosen_conditions=chosen_conditions)


@partial(cached_page, extra_key=_has_plan)
def _cached_page(request: Request, context: Context, chosen_conditions: list[str]) -> Response:
    return _page(request, context, chosen_conditions, None)


def _page(request: Request, context: Context, chosen_conditions: list[str], search: Search[bool] | None) -> Response:
    """Show the requested prediction, the important factors of its workload, and the map."""
    table = context.store.table()
    conditions = _conditions_to_predict(table, chosen_conditions)
    prediction = importance = None
    problem: SpecificationError | None = None
    if conditions and search is None:
        try:
            prediction = api_predict.get_prediction(context, conditions)
            importance = api_predict.explain(context, prediction)
        except SpecificationError as error:
            problem = error
    choices = {name: levels_in(table, name) for name in ("workload", *SETUP) if name in table.columns}
    settings = {
        name: levels
        for name in (comparable(table) if len(table) else ())
        if name not in choices and 1 < len(levels := levels_in(table, name)) <= LEVELS_MAX
    }
    chosen_levels = dict(condition.split("=", 1) for condition in conditions if "=" in condition)
    offered_conditions = {f"{name}={level}" for name, levels in {**choices, **settings}.items() for level in levels}
    other_conditions = [condition for condition in conditions if condition not in offered_conditions]
    coverage = api_predict.get_map(context)
    return page_of(
        request,
        "predict",
        empty=not len(table),
        choices=choices,
        chosen_levels=chosen_levels,
        settings=settings,
        settings_chosen=any(name in settings for name in chosen_levels),
        other_conditions=other_conditions,
        extrapolation_bar=bar_of_basis(prediction.basis) if prediction is not None else None,
        is_default_question=not chosen_conditions,
        prediction=prediction,
        sentence=prediction_sentence(prediction) if prediction is not None else "",
        search=search,
        importance=importance,
        problem=problem,
        has_plan=_has_plan(context),
        query_pairs=[("where", condition) for condition in conditions],
        chart=combinations(importance.cells, importance.by) if importance is not None and importance.cells else None,
        coverage=coverage,
        addresses=[[("where", f"{name}={level}") for name, level in row.levels.items()] for row in coverage.setups],
    )
