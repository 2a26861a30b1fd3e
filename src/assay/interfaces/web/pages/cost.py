"""Show the page Cost: a workload, its editable prices, and the resulting costs. Nothing is stored.

The page has two views: the cost of a run on hardware paid by the hour, and the cost of a job on hardware that is bought
and used for years (``view=years``). The address contains the state of the page (``cost_state.py``).
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from assay.analysis.comparison.factors.device_classes import DEVICE_CLASS
from assay.analysis.outliers.anomaly_column import TIME_KINDS
from assay.analysis.statistics import RunTable
from assay.foundation.errors import AssayError, SpecificationError
from assay.interfaces.charts.cost_effectiveness import cost_effectiveness_chart
from assay.interfaces.charts.costs import cost_bars, over_years_bars, storage_costs
from assay.interfaces.charts.drawing.identity import colours_of
from assay.interfaces.web.api import views as api_views
from assay.interfaces.web.api.models import CostQuestion, JobCostQuestion
from assay.interfaces.web.pages.cost_state import CostPageState, page_state_of
from assay.interfaces.web.rendering.filters import COLUMNS
from assay.interfaces.web.state.answering import Conditions, conditions_in, page_of, palette
from assay.interfaces.web.state.context import READERS, Context, ContextOf, get_context
from assay.interfaces.web.state.page_cache import cached_page
from assay.model import LAYOUT_FACTOR, PriceBook
from assay.questions.costs.changed_prices import changed_book, items_by_name, prices_in
from assay.questions.costs.cost_rows import CostEffectivenessRow, JobCostEffectiveness, SwitchingPriceRow
from assay.questions.costs.job_cost import CostView
from assay.questions.costs.years_of_use import compared_jobs_first, most_common
from assay.questions.decisions.answers import answer_question
from assay.questions.decisions.buyer import levels_of_factor, question_named
from assay.questions.decisions.decision import DecisionRequest
from assay.questions.decisions.sentences.cost_sentences import cost_headline
from assay.questions.decisions.sentences.option_words import context_text
from assay.questions.decisions.sentences.question_sentences import QuestionView, view_of
from assay.questions.decisions.sentences.years_sentences import costs_over_years
from assay.questions.runs.conditions import with_conditions
from assay.questions.runs.runs import comparable, levels_in
from assay.text import levels_text, price_basis

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=READERS)


def row_where(job_cost: JobCostEffectiveness, row: CostEffectivenessRow) -> list[tuple[str, str]]:
    """Return the query parameters that list the runs of a row."""
    return [("where", f"{name}={text}") for name, text in {**job_cost.job, **row.levels, "status": "valid"}.items()]


_FREE_PRICE_DISTANCE = 100.0
"""Distance of a price of 0: its ratio to the switching price is undefined. It sorts before prices without a
switching price."""
ROWS_OF_YEARS_MAX = 12
"""Maximum number of jobs listed in the view of years."""
_EMPTY_VALUES: dict[str, Any] = {
    "outlier_kinds": tuple(TIME_KINDS),
    "row_where": row_where,
    "card": None,
    "job_cost": None,
    "over_years": None,
    "years_lead": False,
    "tables_scope": "",
    "titles": None,
    "previous_rows": {},
    "named_charts": [],
    "jobs": [],
    "prices": (),
    "currency": "",
    "has_changed_prices": False,
    "years_view": None,
    "answer": None,
    "options_chart": None,
    "charts_of_years": {},
    "problem": None,
    "colours": {},
    "unlisted_count": 0,
}


@dataclass(frozen=True, slots=True)
class PriceField:
    """An editable price: its price in the book, current price and switching price, in the book's currency."""

    name: str
    per: str
    book_price: float
    current_price: float
    slider_max: float
    """Upper end of the slider."""
    switching_price: SwitchingPriceRow | None = None
    """Switching price; None in the view of years, which has no switching prices."""

    @property
    def unit(self) -> str:
        """The unit of the price in words."""
        return price_basis(self.per)

    @property
    def current_price_text(self) -> str:
        """Current price, as text for the form field."""
        return _number_text(self.current_price)

    @property
    def book_price_text(self) -> str:
        """Price in the book, as text for the form field."""
        return _number_text(self.book_price)

    @property
    def is_always_shown(self) -> bool:
        """Whether the price was changed or has a switching price. The page collapses all other prices."""
        if self.current_price != self.book_price:
            return True
        return self.switching_price is not None and (
            self.switching_price.below is not None or self.switching_price.above is not None
        )


@router.get("/cost")
@cached_page
def cost(request: Request, context: ContextOf, where: Conditions) -> Response:
    """Show what runs cost, and the prices to change."""
    del where  # checked; the state of the page has them
    return _page(request, context, request.query_params.multi_items())


@router.post("/cost")
async def cost_with_book(request: Request) -> Response:
    """Show the costs under a pasted price book, in browsers without scripts."""
    pairs = parse_qsl((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)
    return await run_in_threadpool(_page, request, get_context(request), pairs)


@router.post("/cost/results")
async def results(request: Request) -> Response:
    """Price the runs with the prices that the page sends, and send the part of the page that shows them."""
    pairs = parse_qsl((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)
    return page_of(request, "cost_results", **await run_in_threadpool(_results, get_context(request), pairs))


def _page(request: Request, context: Context, pairs: Sequence[tuple[str, str]]) -> Response:
    table = context.store.table()
    return page_of(
        request,
        "cost",
        filter_table=table,
        empty=len(table) == 0,
        workloads=levels_in(table, "workload"),
        clusters=levels_in(table, "cluster"),
        classes=levels_of_factor(table, DEVICE_CLASS)[0],
        factors=comparable(table),
        has_book=context.book is not None,
        **(_results(context, pairs) if len(table) else {**_EMPTY_VALUES, "page_state": CostPageState()}),
    )


def _results(context: Context, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the template values of the selected view: costs, charts and prices, or the problem."""
    page_state = CostPageState()
    try:
        page_state = page_state_of(pairs)
        page_state = replace(page_state, state=_with_recorded_levels(context, page_state.state))
        if context.book is None and page_state.book_text is None:
            return {**_EMPTY_VALUES, "page_state": page_state}
        results = (
            _values_of_job_costs(context, page_state)
            if page_state.state["view"] == "run"
            else _values_of_years(context, page_state)
        )
        card = _card(context, page_state)
        if page_state.state["view"] == "years":
            results |= _years_of_card(card)
        return {**_EMPTY_VALUES, **results, "card": card, "page_state": page_state}
    except ValidationError as error:
        problem: AssayError = SpecificationError(str(error.errors()[0]["msg"]), where="the form")
    except AssayError as error:
        problem = error
    return {**_EMPTY_VALUES, "page_state": page_state, "problem": problem}


def _with_recorded_levels(context: Context, state: Mapping[str, str]) -> dict[str, str]:
    """Return the fields with the filter's levels as the runs record them: ``terasort`` for ``TeraSort``.

    Without a workload, a view of runs has the workload with the most runs. Raises SpecificationError, with the choices,
    for a level that no run has.
    """
    table = context.store.table()
    conditions = conditions_in(context, [(name, state[name]) for name in COLUMNS])
    fields = {**state, **{name: levels[0] for name, levels in with_conditions(table, conditions)[1].items()}}
    if not fields["workload"] and state["view"] != "years":
        fields["workload"] = most_common(table, "workload")
    return fields


def _where(page_state: CostPageState) -> list[str]:
    return [f"{name}={page_state.state[name]}" for name in COLUMNS if page_state.state.get(name)]


def _card(context: Context, page_state: CostPageState) -> QuestionView | None:
    """Return the answer to the question whose card leads to this page, with the prices and filters of the page."""
    question = question_named(page_state.state.get("question", ""))
    if question is None:
        return None
    book = api_views.book_of(context, page_state.book_text, {})
    where, years = _where(page_state), page_state.state["years"] if page_state.state["view"] == "years" else None
    prices = changed_book(book, changes := page_state.changed_in(book))
    request = DecisionRequest(where=tuple(where), prices=prices, years=None if years is None else float(years))

    def make(table: RunTable) -> QuestionView:
        answer = answer_question(context.store.repository, table, question, request)
        return view_of(answer, replace(context.command_options(where), years=request.years))

    key = ("card", question.name, tuple(where), years, tuple(changes.items()), page_state.book_text)
    return context.store.answer(key, make)


def job_text(job_cost: JobCostEffectiveness) -> str:
    """Return origin, scale and data size of a job as text for an address; they distinguish the jobs of a workload."""
    return ", ".join(f"{text}" for name, text in job_cost.job.items() if name != "workload")


def _job_title(job_cost: JobCostEffectiveness) -> str:
    """Return data size, origin and scale of a job as a title: ``2 GB (100 MB in the lab, 1/20), simulated``."""
    return context_text({name: level for name, level in job_cost.job.items() if name != "workload"})


def _values_of_job_costs(context: Context, page_state: CostPageState) -> dict[str, Any]:
    """Return the template values of a job's costs: with current prices, with the book's, and the editable prices."""
    state = page_state.state
    book = api_views.book_of(context, page_state.book_text, {})
    changes = page_state.changed_in(book)
    question = CostQuestion(
        prices=page_state.book_text,
        by=[state["by"]] if state.get("by") else [],
        where=_where(page_state),
        take=state["take"],
        exclude_flagged=bool(state.get("unflagged")),
    )
    book_costs = {job_text(job_cost): job_cost for job_cost in api_views.run_costs(context, question)}
    current_costs = (
        {
            job_text(cost): cost
            for cost in api_views.run_costs(context, question.model_copy(update={"changes": changes}))
        }
        if changes
        else book_costs
    )
    jobs = sorted(
        book_costs, key=lambda job: (not book_costs[job].rows, -sum(row.n_all for row in book_costs[job].rows))
    )
    job = state["job"] if state.get("job") in book_costs else jobs[0]
    job_cost, book_cost = current_costs[job], book_costs[job]
    colours = palette(context.store.table(), LAYOUT_FACTOR)
    previous_rows = {row.label: row for row in book_cost.rows} if changes else {}
    charts = [
        (
            group.name,
            cost_effectiveness_chart(
                group.rows,
                colours,
                job_cost.currency,
                divide=job_cost.quadrants,
                previous_points=[previous_rows[row.label] for row in group.rows if row.label in previous_rows],
            ),
        )
        for group in job_cost.groups
    ]
    return {
        "job_cost": job_cost,
        "previous_rows": previous_rows,
        "title_of": {row.label: levels_text(row.levels) for row in [*book_cost.rows, *job_cost.rows]},
        "named_charts": charts,
        "jobs": [(name, _job_title(book_costs[name]), name == job) for name in jobs],
        "prices": _price_fields(book_cost, job_cost, prices_in(book)),
        "currency": job_cost.currency,
        "has_changed_prices": bool(changes),
        "colours": colours,
    }


def _price_fields(
    book_cost: JobCostEffectiveness, job_cost: JobCostEffectiveness, book_prices: Mapping[str, float]
) -> tuple[PriceField, ...]:
    """Return the editable prices of the rows, closest to their switching price first.

    The prices of the book define the order, so a price stays in its place while you change it.
    """
    current_rows = {item.price.name: item for item in job_cost.switching_prices}
    fields = []
    for book_row in sorted(book_cost.switching_prices, key=_switching_distance):
        name, amount = book_row.price.name, float(book_row.price.amount)
        current_row = current_rows.get(name, book_row)
        current_amount = float(current_row.price.amount)
        ends = [
            end for end in (book_row.below, book_row.above, current_row.below, current_row.above) if end is not None
        ]
        amount_in_book = book_prices.get(name, amount)
        slider_max = max([2 * amount_in_book, current_amount, *(1.25 * end for end in ends)])
        fields.append(
            PriceField(name, book_row.price.per, amount_in_book, current_amount, slider_max or 1.0, current_row)
        )
    return tuple(fields)


def _number_text(amount: float) -> str:
    return f"{int(amount)}" if amount == int(amount) else repr(amount)


def _switching_distance(price: SwitchingPriceRow) -> float:
    """Return the logarithm of the factor by which a price must change until another row is the cheapest."""
    ends = [end for end in (price.below, price.above) if end is not None]
    if not ends:
        return math.inf
    amount = float(price.price.amount)
    if not amount:
        return _FREE_PRICE_DISTANCE
    return min(abs(math.log(max(end, 1e-9) / amount)) for end in ends)


def _values_of_years(context: Context, page_state: CostPageState) -> dict[str, Any]:
    book = api_views.book_of(context, page_state.book_text, {})
    question = JobCostQuestion(
        prices=page_state.book_text,
        changes=page_state.changed_in(book),
        where=_where(page_state),
        years=page_state.state["years"],
        rounding=page_state.state["rounding"],
        exclude_flagged=bool(page_state.state.get("unflagged")),
    )
    costs = api_views.job_costs_answer(context, question)
    view = costs.view
    rows = compared_jobs_first(view.rows)
    listed_view = replace(view, rows=rows[:ROWS_OF_YEARS_MAX], ratios=view.ratios[:ROWS_OF_YEARS_MAX])
    titles = view.titles_of(listed_view.rows)
    colours = colours_of(view.bills) | palette(context.store.table(), LAYOUT_FACTOR)
    current_book = changed_book(book, question.changes)
    return {
        "years_view": listed_view,
        "over_years": costs.over_years,
        "years_lead": costs.over_years is not None,
        "answer": cost_headline(costs.decisions[0]) if costs.decisions else None,
        "tables_scope": costs.tables_scope,
        "titles": titles,
        "colours": colours,
        "charts_of_years": _charts_of_years(listed_view, titles.by_workload, colours),
        "options_chart": over_years_bars(costs.over_years) if costs.over_years else None,
        "unlisted_count": len(view.rows) - len(listed_view.rows),
        "prices": _price_fields_of_years(book, current_book, costs.prices),
        "currency": view.currency,
        "has_changed_prices": bool(question.changes),
    }


def _years_of_card(card: QuestionView | None) -> dict[str, Any]:
    """Return the costs over years of the card's decision, so that the page has one baseline and one verdict.

    Where the effect or the result on cost depends on the storage, no single option has a cost: the card's answer leads
    then, and the table has combinations.
    """
    if card is None:
        return {}
    over_years = costs_over_years(card.decisions[0].decision) if card.decisions else None
    if over_years is None:
        return {"years_lead": False}
    return {"over_years": over_years, "options_chart": over_years_bars(over_years)}


def _price_fields_of_years(
    book: PriceBook, current_book: PriceBook, price_names: Collection[str]
) -> tuple[PriceField, ...]:
    """Return the editable prices of the costs over years. ``price_names``: their names."""
    items, current_prices = items_by_name(book), prices_in(current_book)
    fields = []
    for name, book_price in prices_in(book).items():
        if name in price_names:
            item = items.get(name)  # electricity is a price without an item
            slider_max = max(2 * book_price, current_prices[name]) or 1.0
            fields.append(PriceField(name, item.per if item else "kWh", book_price, current_prices[name], slider_max))
    return tuple(fields)


def _charts_of_years(view: CostView, titles: Mapping[str, str], colours: dict[str, str]) -> dict[str, Any]:
    charts = {"jobs": cost_bars(view.rows, colours, titles)} if view.rows else {}
    if any(row.cost_per_capacity is not None for row in view.performance):
        charts["storage"] = storage_costs(view.performance, view.baseline, colours)
    return charts
