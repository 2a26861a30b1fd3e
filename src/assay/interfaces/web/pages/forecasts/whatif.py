"""Show the page What if: sliders for disks, network, nodes, containers, data and prices, and the predicted effect.

The address contains the whole state: settings by the names of ``assay whatif --set``
(``?run=…&layout=SS2&nic=25Gbit/s``), and prices as ``price.NAME``. Nothing is stored.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool

from assay.execution.planning.plan_files.changed_plan import Change
from assay.foundation.errors import AssayError, SpecificationError
from assay.interfaces.charts.whatif import TimeCostPoint, change_chart, limit_bars
from assay.interfaces.web.api import whatif as api_whatif
from assay.interfaces.web.api.decisions import question_answers_on
from assay.interfaces.web.pages.cost_state import PRICE_PREFIX
from assay.interfaces.web.rendering.extrapolation import bar_of_multiple
from assay.interfaces.web.state.answering import page_of
from assay.interfaces.web.state.context import READERS, Context, ContextOf, get_context
from assay.model import PriceBook
from assay.questions.costs.changed_prices import price_amount, prices_in
from assay.questions.decisions.buyer import NETWORK, NODES
from assay.questions.decisions.sentences.question_sentences import QuestionView, view_of
from assay.questions.forecasts.prediction import can_learn
from assay.questions.forecasts.whatif.example_prices import example_prices_sentence
from assay.questions.forecasts.whatif.simulation_obstacle import near_answers
from assay.questions.forecasts.whatif.whatif import Anchor
from assay.questions.forecasts.whatif.whatif_costs import price_name
from assay.questions.forecasts.whatif.whatif_page import Control, controls_of
from assay.questions.forecasts.whatif.whatif_sentences import cost_lines_table, effect_notes, effects_table
from assay.questions.runs.workload_limits import limit_text

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=READERS)
_FIELD_CHARACTERS_MAX = 300
"""Maximum length of a name or a value, in characters."""
_PAIRS_MAX = 100
"""Maximum number of query parameters that are read."""
_CLUSTER = "cluster"
"""Name of the field with the cluster file of runs without a stored one."""
_EXTRA_COSTS = "extra_costs"
"""Name of the field with the extra costs of a day."""
_SHOWN_ONLY = "shown_only"
"""Name of the form field that asks for the shown configuration alone."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
GROUPS = (("disks", "Disks and layout"), ("cluster", "Nodes and network"), ("work", "Work"))
_EMPTY_VALUES: dict[str, Any] = {
    "runs": (),
    "cluster": "",
    "clusters": (),
    "measured": (),
    "obstacle": None,
    "near_answers": (),
    "run": None,
    "controls": (),
    "groups": GROUPS,
    "prices": (),
    "currency": "",
    "has_price_book": False,
    "price_name": "",
    "missing_prices": (),
    "example_prices": "",
    "answer": None,
    "effects": None,
    "effect_notes": (),
    "extra_costs": "",
    "cost_lines": None,
    "limit_text": limit_text,
    "others_follow": False,
    "details_row": None,
    "changes": (),
    "changed": False,
    "cost_chart": None,
    "limits": None,
    "problem": None,
    "reset_address": "/whatif",
}


@dataclass(frozen=True, slots=True)
class PriceControl:
    """The slider of a price: its price in the server's price book, its current price and its upper end."""

    name: str
    book_price: float
    current_price: float
    slider_max: float


@dataclass(frozen=True, slots=True)
class _PageState:
    """The question in an address: a run, changed settings, and changed prices."""

    run_id: str
    values: dict[str, str]
    prices: dict[str, float]
    cluster: str = ""
    """Name of the cluster file of runs without a stored one."""
    extra_costs: str = ""
    """Text of the extra costs of a day."""
    shown_only: bool = False
    """Whether to simulate only the configuration of ``run_id``."""


@router.get("/forecast")
def forecast(context: ContextOf) -> Response:
    """Redirect to the forecast that these runs allow: from a stored plan, learned from many runs, or without runs."""
    if api_whatif.get_configurations(context):
        return RedirectResponse("/whatif", status_code=303)
    is_learnable = context.store.answer("can learn", can_learn)
    return RedirectResponse("/predict" if is_learnable else "/recommend", status_code=303)


@router.get("/whatif")
def whatif(request: Request, context: ContextOf) -> Response:
    """Show the controls and the answer."""
    return page_of(request, "whatif", **_values(context, request.query_params.multi_items()))


@router.post("/whatif/results")
async def results(request: Request) -> Response:
    """Return the part of the page with the answer for the sliders' values."""
    pairs = parse_qsl((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)
    return page_of(request, "whatif_results", **await run_in_threadpool(_values, get_context(request), pairs))


def _page_state_of(pairs: Sequence[tuple[str, str]]) -> _PageState:
    run_id, cluster, values, prices, extra_costs, has_shown_only = "", "", {}, {}, "", False
    for name, value in pairs[:_PAIRS_MAX]:
        if name == "run":
            run_id = value[:_FIELD_CHARACTERS_MAX]
        elif name == _CLUSTER:
            cluster = value[:_FIELD_CHARACTERS_MAX]
        elif name == _EXTRA_COSTS:
            extra_costs = value.strip()[:_FIELD_CHARACTERS_MAX]
        elif name == _SHOWN_ONLY:
            has_shown_only = True
        elif name.startswith(PRICE_PREFIX) and value:
            stated_name = name[len(PRICE_PREFIX) :][:_FIELD_CHARACTERS_MAX]
            prices[stated_name] = price_amount(stated_name, value)
        elif value.strip():
            values[name[:_FIELD_CHARACTERS_MAX]] = value.strip()[:_FIELD_CHARACTERS_MAX]
    return _PageState(run_id, values, prices, cluster, extra_costs, has_shown_only and bool(run_id))


def _values(context: Context, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the values for the page's template. The page shows the error of an invalid question."""
    values: dict[str, Any] = dict(_EMPTY_VALUES)
    try:
        page_state = _page_state_of(pairs)
        values["runs"] = runs = api_whatif.cached_choices(context, page_state.cluster)
        values["cluster"] = page_state.cluster
        if not runs:
            return {**values, **_values_without_simulation(context, page_state), "changes": pairs}
        if page_state.run_id and not any(choice.run_id.startswith(page_state.run_id) for choice in runs):
            raise SpecificationError(f"no run {page_state.run_id[:40]!r} can be asked about here", where="run")
        _add_answer(context, values, page_state)
    except AssayError as error:
        values["problem"] = error
    return values


def _values_without_simulation(context: Context, page_state: _PageState) -> dict[str, Any]:
    """Return why no run can be simulated, the cluster files that fit, and what the runs show instead."""
    changes = [
        (name, f"{value}Gbit/s" if name == "nic" and _NUMBER.fullmatch(value) else value)
        for name, value in page_state.values.items()
    ]
    obstacle = api_whatif.cached_obstacle(context, changes)
    if obstacle is None:
        return {}
    return {
        "obstacle": obstacle,
        "near_answers": near_answers(obstacle, context.command_options()),
        "measured": _measured_effects(context),
        "clusters": api_whatif.cached_clusters(context),
    }


def _measured_effects(context: Context) -> tuple[QuestionView, ...]:
    """Return the answers on network and workers, for runs that cannot be simulated; empty without runs."""
    if not len(context.store.table()):
        return ()
    questions = (NETWORK, NODES)
    options = context.command_options()
    answers = question_answers_on(context)
    return tuple(view_of(answer, options) for answer in answers if answer.question.name in questions)


def _add_answer(context: Context, values: dict[str, Any], page_state: _PageState) -> None:
    anchors = api_whatif.cached_anchors(context, page_state.cluster)
    anchor = anchors.of_target(page_state.run_id).anchors[0]
    # Without a chosen configuration, the question is that of `assay whatif --set`: every value is a change.
    changes = changes_of(anchor, page_state.values, all_values=not page_state.run_id)
    values |= _controls(anchor, changes, page_state)
    values["extra_costs"] = page_state.extra_costs
    values["has_price_book"] = context.book is not None
    if context.book is not None:
        values["price_name"] = price_name(context.book)
        values |= {"prices": _price_controls(context.book, page_state.prices), "currency": context.book.currency}
    target_anchors = anchors.of_target(page_state.run_id) if page_state.shown_only else anchors
    answer = api_whatif.answer_on(context, target_anchors, changes, page_state.prices, page_state.extra_costs)
    if not page_state.run_id:
        anchor = anchors.of_target(answer.most_changed.run_id).anchors[0]
        values |= _controls(anchor, changes, page_state)
    row = next((row for row in answer.configurations if row.run_id == values["run"]), None)
    values["others_follow"] = page_state.shown_only
    extra_pairs = [(_EXTRA_COSTS, page_state.extra_costs)] if page_state.extra_costs else []
    changes_shown = [*_cluster_pairs(page_state), *answer.configurations[0].changes.items(), *extra_pairs]
    missing_prices = {
        part.name: part for configuration in answer.configurations for part in configuration.missing_prices
    }
    values["missing_prices"] = missing_prices.values()
    if context.book is not None:
        values["example_prices"] = example_prices_sentence(missing_prices.values(), context.book)
    values["effect_notes"] = effect_notes(answer.effects)
    values |= {"effects": effects_table(answer.effects), "answer": answer, "details_row": row, "changes": changes_shown}
    if row is None:
        refusal = next(refusal for refusal in answer.refused if refusal.run_id == values["run"])
        raise SpecificationError(refusal.reason, where=refusal.configuration, hint=refusal.remedy)
    values["cost_lines"] = cost_lines_table([row])
    values["extrapolation_bar"] = bar_of_multiple(row.extrapolation, row.extrapolated or "data and workers")
    changed_point = TimeCostPoint("with these changes", row.simulated_s, row.cost_after, row.low_s, row.high_s)
    values["cost_chart"] = change_chart(
        TimeCostPoint("measured", row.measured_s, row.cost_before), changed_point, row.currency
    )
    sides = (("simulated as measured", row.limits_before), ("simulated with changes", row.limits_after))
    values["limits"] = limit_bars(sides if values["changed"] else sides[:1])


def _cluster_pairs(page_state: _PageState) -> list[tuple[str, str]]:
    return [(_CLUSTER, page_state.cluster)] if page_state.cluster else []


def _controls(anchor: Anchor, changes: Sequence[Change], page_state: _PageState) -> dict[str, Any]:
    """Return the shown configuration and its controls."""
    run_id = anchor.measured.runs[0].run_id
    return {
        "run": run_id,
        "controls": controls_of(anchor, changes),
        "reset_address": f"/whatif?{urlencode([*_cluster_pairs(page_state), ('run', run_id)])}",
        "changed": bool(changes or page_state.prices or page_state.extra_costs),
    }


def changes_of(anchor: Anchor, values: Mapping[str, str], *, all_values: bool = False) -> tuple[Change, ...]:
    """Return the values that differ from the measured values, or all values.

    A number without a unit gets the control's unit.
    """
    controls = {control.name: control for control in controls_of(anchor, ())}
    changes = []
    for name, text in values.items():
        control = controls.get(name)
        if control is not None and control.unit and _NUMBER.fullmatch(text):
            changes.append((name, f"{text}{control.unit}"))
        else:
            changes.append((name, text))
    return tuple(
        change
        for change in changes
        if all_values or change[0] not in controls or not _is_measured_value(change[1], controls[change[0]])
    )


def _is_measured_value(text: str, control: Control) -> bool:
    value_text = text.removesuffix(control.unit).strip() if control.unit else text
    if _NUMBER.fullmatch(value_text) and _NUMBER.fullmatch(control.measured):
        return float(value_text) == float(control.measured)
    return value_text == control.measured


def _price_controls(book: PriceBook, changed_prices: Mapping[str, float]) -> tuple[PriceControl, ...]:
    book_prices = prices_in(book)
    fallback_max = max(book_prices.values(), default=1.0) or 1.0
    return tuple(
        PriceControl(name, amount, changed_prices.get(name, amount), 4 * amount or fallback_max)
        for name, amount in book_prices.items()
    )
