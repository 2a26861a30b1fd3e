"""Show the page that recommends hardware. Its answer is ranked, with confidence and reasons.

In: a mix of workloads, constraints and a catalogue. The address contains the question. Sending the form starts the
search on the server; the same address then shows its progress and its answer. Pasted texts are too long for an address,
so the address contains the key of the search instead, and the stored request of the search fills the form.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool

from assay.analysis.comparison.factors.device_classes import device_class_of
from assay.foundation.errors import AssayError, SpecificationError
from assay.interfaces.charts.cost_effectiveness import cost_effectiveness_chart
from assay.interfaces.charts.drawing.identity import colours_of
from assay.interfaces.web.api import recommend as api_recommend
from assay.interfaces.web.rendering.extrapolation import bar_of_multiple
from assay.interfaces.web.state.answering import page_of
from assay.interfaces.web.state.context import READERS, Context, ContextOf, get_context
from assay.interfaces.web.state.search_state import key_of
from assay.model import LAYOUT_FACTOR
from assay.questions.commands import from_here
from assay.questions.costs.mix import RUNS_PER_DAY
from assay.questions.forecasts.learning import ProfileOrigin
from assay.questions.recommendation.catalogues import CATALOGUE_FILE, PRICES_FILE, stored_catalogues
from assay.questions.recommendation.next_run import next_commands
from assay.questions.recommendation.recommend import Recommendation
from assay.questions.recommendation.request import Objective, RecommendRequest
from assay.questions.recommendation.sentences import (
    RISK_HEADER,
    RISK_TEXT,
    choice_title,
    clusters_table,
    day_cost_text,
    extrapolation_text,
    front_cells,
    front_title,
    headline,
    interval_title,
    intervals_text,
    lead,
    sentences,
    summary,
)
from assay.specs.fields import unknown
from assay.workloads.catalogue import workloads

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=READERS)
_PREFERRED_CATALOGUE = "hardware"
_NUMBER_TYPES = {"years": float, "confidence": float, "simulations": int, "seed": int}
_OLD_NAMES = {"minimize": "--least", "confidence": "--surely"}
"""Former options of ``assay recommend``, which addresses of earlier versions use."""
_TICKED_TEXTS = ("on", "True", "true", "1")
"""Texts that a form or an address has for a ticked box."""
_REPEATED_FIELDS = (
    *("budget", "deadline", "capacity", "years", "minimize", "confidence"),
    *("simulations", "seed", "extra_costs"),
)
"""Fields of a request that a command repeats if they have no default value."""
_WORKS_MAX = 20
"""Maximum number of workloads in a mix."""
ROWS_MIN = 3
"""Minimum number of workload rows in the form."""
UNCERTAINTIES_SHOWN = 5
"""Maximum number of uncertainties listed."""
SHARE_MIN = 0.005
"""Minimum share of the value of perfect information for an uncertainty to be listed."""


@router.get("/recommend")
def recommend(request: Request, context: ContextOf) -> Response:
    """Show the form, and the search for the address's question if it was started."""
    return page_of(request, "recommend", **_values(context, parse_qs(request.url.query)))


@router.post("/recommend")
async def begin(request: Request) -> Response:
    """Begin the search of the form, and redirect to the address that shows it."""
    form = parse_qs((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)
    return await run_in_threadpool(_start_search, request, get_context(request), form)


def _start_search(request: Request, context: Context, form: Mapping[str, Sequence[str]]) -> Response:
    try:
        search_request = _request_of(form, default_request(context))
        key = api_recommend.start_search(context, search_request)
    except AssayError as error:
        return page_of(request, "recommend", **{**_values(context, form), "problem": error})
    query = urlencode([("key", key)]) if search_request.has_texts else _query(search_request)
    return RedirectResponse(f"/recommend?{query}", status_code=303)


def _query(search_request: RecommendRequest) -> str:
    """Return a request as a query string, without default values."""
    defaults = RecommendRequest()
    pairs = [("w", text) for text in search_request.workloads]
    for request_field in fields(RecommendRequest):
        value = getattr(search_request, request_field.name)
        if request_field.name == "where":
            pairs += [("where", text) for text in value]
        elif request_field.name != "workloads" and value != getattr(defaults, request_field.name):
            pairs.append((request_field.name, f"{value:g}" if isinstance(value, float) else str(value)))
    return urlencode(pairs)


def _request_of(form: Mapping[str, Sequence[str]], defaults: RecommendRequest) -> RecommendRequest:
    """Return the request in a form or an address. It has the catalogue of ``defaults`` if it names none.

    Raises SpecificationError for an unknown objective or a text that is not a number.
    """
    request_fields: dict[str, Any] = {}
    for request_field in fields(RecommendRequest):
        values = (*form.get(request_field.name, ()), *form.get(_OLD_NAMES.get(request_field.name, "").lstrip("-"), ()))
        text = next((value.strip() for value in values if value.strip()), "")
        if request_field.name in ("workloads", "where") or not text:
            continue
        if request_field.name in ("learn", "prices_spot"):
            request_fields[request_field.name] = text in _TICKED_TEXTS
            continue
        if request_field.name == "minimize":
            if text not in list(Objective):
                raise SpecificationError(unknown("objective", text, list(Objective)), where=request_field.name)
            request_fields[request_field.name] = Objective(text)
            continue
        number_type = _NUMBER_TYPES.get(request_field.name)
        try:
            request_fields[request_field.name] = number_type(text[:40]) if number_type else text.replace("\r\n", "\n")
        except ValueError:
            raise SpecificationError(f"{text[:40]!r} is no number", where=request_field.name) from None
    workload_texts = tuple(text.strip() for text in form.get("w", ())[:_WORKS_MAX] if text.strip())
    where = tuple(text.strip() for text in form.get("where", ())[:_WORKS_MAX] if text.strip())
    workload_texts = (*workload_texts, *_works_in_fields(form))
    if not workload_texts and not {"w", "work"} & form.keys():  # an address without workloads has the default workloads
        workload_texts = RecommendRequest().workloads
    if not workload_texts:
        raise SpecificationError("no workload is chosen", where="Work", hint="choose one in the field Workload 1")
    if "catalogue_text" not in request_fields:
        request_fields.setdefault("catalogue", defaults.catalogue)
    return RecommendRequest(workload_texts, where=where, **request_fields)


def _works_in_fields(form: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the workloads in the form as ``NAME:SIZE:FREQUENCY[:OPTIONS]``. A workload's fields share a position."""
    columns = [form.get(name, ())[:_WORKS_MAX] for name in ("work", "size", "often", "options")]
    rows = (tuple(text.strip() for text in row) for row in zip(*columns, strict=False))
    return [
        ":".join((name, size, frequency, *filter(None, (options,)))) for name, size, frequency, options in rows if name
    ]


@dataclass(frozen=True, slots=True)
class WorkFields:
    """The form fields of one workload of the mix."""

    name: str = ""
    size: str = ""
    often: str = ""
    options: str = ""

    @property
    def size_text(self) -> str:
        """The size as in sentences: ``1 TB``."""
        return re.sub(r"(?<=\d)(?=[A-Za-z])", " ", self.size)


def default_request(context: Context) -> RecommendRequest:
    """Return a request with the defaults of ``assay recommend``, and a catalogue that this server has."""
    catalogues = stored_catalogues(context.cluster_folders)
    catalogue = _PREFERRED_CATALOGUE if _PREFERRED_CATALOGUE in catalogues else next(iter(catalogues), "")
    return RecommendRequest(catalogue=catalogue)


def _values(context: Context, form: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the values for the page's template."""
    catalogues = list(stored_catalogues(context.cluster_folders))
    problem: AssayError | None = None
    search_request = default_request(context)
    key = next(iter(form.get("key", ())), "")
    if form and not key:
        try:
            search_request = _request_of(form, search_request)
            key = key_of(search_request, api_recommend.learned_version(context, search_request))
        except SpecificationError as error:
            problem = error
    is_first_search = not form and bool(catalogues) and context.first_search
    if is_first_search:
        try:
            key = api_recommend.start_search(context, search_request)
        except AssayError as error:
            problem = error
    search = context.searches.find(key) if key else None
    if search is not None and isinstance(search.request, RecommendRequest):
        search_request = search.request
    recommendation = search.answer if search is not None else None
    return {
        "intervals": intervals_text("the learned runs"),
        "search_request": search_request,
        "rows": (rows := max(ROWS_MIN, len(search_request.workloads) + 1)),
        "works": [WorkFields(*text.split(":", 3)) for text in search_request.workloads]
        + [WorkFields()] * (rows - len(search_request.workloads)),
        "workload_names": list(workloads()),
        "often_choices": list(RUNS_PER_DAY),
        "catalogues": catalogues,
        "search": search,
        "is_first_search": is_first_search,
        "key": key,
        "form_key": bool(form.get("key")),
        "problem": problem or (search.problem if search is not None else None),
        "recommendation": recommendation,
        **(_answer_values(recommendation) if recommendation is not None else {}),
        "commands": _commands(context, search_request, recommendation),
    }


def _commands(context: Context, request: RecommendRequest, answer: Recommendation | None) -> tuple[str, ...]:
    """Return the commands that turn a rough estimate from this repository into a forecast; empty for other answers."""
    if answer is None or not request.learn:
        return ()
    folder = stored_catalogues(context.cluster_folders).get(request.catalogue)
    files = {"--catalogue": (request.catalogue_text, CATALOGUE_FILE), "--prices": (request.prices_text, PRICES_FILE)}
    words = [word for text in request.workloads for word in ("--workload", text)]
    for option, (text, name) in files.items():
        is_public = folder is not None and not text.strip() and not context.guard.tokens
        words += [option, from_here(folder / name) if folder is not None and is_public else "FILE"]
    defaults = RecommendRequest()
    for name in (
        "budget",
        "deadline",
        "capacity",
        "years",
        "minimize",
        "confidence",
        "simulations",
        "seed",
        "extra_costs",
    ):
        value = getattr(request, name)
        if value != getattr(defaults, name):
            words += [f"--{name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else str(value)]
    words += [word for text in request.where for word in ("--where", text)]
    return next_commands(answer, words, context.command_options())


def _answer_values(recommendation: Recommendation) -> dict[str, Any]:
    """Return the template values of an answer: its chart, sentences and uncertainties."""
    extrapolation = extrapolation_text(recommendation)
    bar = bar_of_multiple(recommendation.extrapolation, "data per worker")
    classes = {
        finalist.storage: device_class
        for finalist in recommendation.finalists
        if (device_class := device_class_of(finalist.levels["layout"], finalist.levels["devices"])) is not None
    }
    layouts = colours_of([finalist.storage for finalist in recommendation.finalists], classes)
    points = [
        _Point(
            label=f"{choice.levels['workers']} workers",
            levels={**choice.levels, LAYOUT_FACTOR: choice.storage},
            time_s=choice.day_s,
            time_low_s=choice.day_low_s,
            time_high_s=choice.day_high_s,
            cost=choice.cost,
            cost_low=choice.cost_low,
            cost_high=choice.cost_high,
            on_pareto_front=choice.on_pareto_front,
            pareto_front_probability=choice.pareto_front_probability,
        )
        for choice in recommendation.front
    ]
    cost_title = (
        "Cost of a day's work"
        if recommendation.objective is Objective.DAY_COST
        else f"Price over {recommendation.constraints.years:g} years"
    )
    return {
        "summary": summary(recommendation),
        "lead": [line for line in lead(recommendation) if line != extrapolation],
        "clusters": clusters_table(recommendation),
        "from_shipped_profile": recommendation.profile_origin is ProfileOrigin.SHIPPED
        and not recommendation.time_model,
        "headline": list(headline(recommendation)),
        "extrapolation_bar": replace(bar, text=extrapolation) if extrapolation else bar,
        "front_title": front_title,
        "day_cost_text": day_cost_text,
        "interval_title": interval_title,
        "choice_title": choice_title,
        "front_cells": front_cells,
        "sentences": list(sentences(recommendation)),
        "risk_header": RISK_HEADER,
        "risk_text": RISK_TEXT,
        "cost_chart": cost_effectiveness_chart(
            points, layouts, recommendation.currency, axis_titles=("Time of a day's work", cost_title)
        )
        if points
        else None,
        "uncertainties": [
            uncertainty for uncertainty in recommendation.uncertainties if uncertainty.share >= SHARE_MIN
        ][:UNCERTAINTIES_SHOWN],
    }


@dataclass(frozen=True, slots=True)
class _Point:
    """A candidate in the chart of cost against time."""

    label: str
    levels: Mapping[str, str]
    time_s: float
    time_low_s: float
    time_high_s: float
    cost: float
    cost_low: float
    cost_high: float
    on_pareto_front: bool
    pareto_front_probability: float
    runs: int = 0
    """Measured runs; always 0."""
