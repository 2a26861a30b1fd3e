"""Serve what-if questions: the measured runs to start from, and their predicted time after changes.

The simulation of the measured configuration is cached until the repository changes. Each question then takes a few
more simulations in the server's pool of simulators.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from assay.execution.planning.plan_files.changed_plan import Change, parse_question
from assay.interfaces.web.state.context import PROBLEMS, READERS, Context, ContextOf
from assay.questions.costs.changed_prices import changed_book
from assay.questions.forecasts.whatif import Anchor, WhatIf, answered
from assay.questions.forecasts.whatif_page import AnchorChoice, anchor_choices, anchor_of

router = APIRouter(prefix="/api/v1", responses=PROBLEMS, dependencies=READERS, tags=["what if"])
RunId = Annotated[str, Query(min_length=4, max_length=100, description="A prefix of a run's id.")]
Changes = Annotated[list[str], Query(alias="set", max_length=50, description="NAME=VALUE, as `assay whatif --set`.")]


def cached_anchor(context: Context, run_id: str) -> Anchor:
    """Return the anchor of a run's configuration: its measured runs with their simulation. Cached."""
    ask = context.simulators.simulate
    return context.store.answer(
        ("anchor", run_id), lambda table: anchor_of(context.store.repository, table, run_id, ask)
    )


def answer_of(context: Context, anchor: Anchor, changes: Sequence[Change], prices: Mapping[str, float]) -> WhatIf:
    """Return the answer. Costs use the server's price book with the changed ``prices``."""
    book = context.book
    if book is not None and prices:
        book = changed_book(book, prices)
    return answered(anchor, changes, book, context.simulators.simulate)


@router.get("/whatif/places", deprecated=True, include_in_schema=False)
@router.get("/whatif/configurations")
def get_configurations(context: ContextOf) -> tuple[AnchorChoice, ...]:
    """List the measured configurations to start from, by workload."""
    return context.store.answer(("asked from",), lambda table: anchor_choices(context.store.repository, table))


@router.get("/whatif")
def get_whatif(context: ContextOf, run: RunId, changes: Changes) -> WhatIf:
    """Predict the time of a measured configuration after changes: simulated, and anchored on its measured runs."""
    return answer_of(context, cached_anchor(context, run), parse_question(changes), {})
