"""The API of what-if questions: measured runs to ask from, and what they would take with some things set otherwise.

The simulator is asked once for what was measured, which is kept as long as the repository stays as it is; a change then
takes a few simulations on the server's own simulators.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated

from fastapi import APIRouter, Query

from assay.analysis.cost.repricing import repriced
from assay.execution.planning.plan_files.changed_plan import Change, parse_question
from assay.interfaces.web.state.context import PROBLEMS, READERS, Context, ContextOf
from assay.questions.forecasts.whatif import Anchor, WhatIf, answered
from assay.questions.forecasts.whatif_page import AnchorChoice, anchor_choices, anchor_of

router = APIRouter(prefix="/api/v1", responses=PROBLEMS, dependencies=READERS, tags=["what if"])
RunId = Annotated[str, Query(min_length=4, max_length=100, description="The beginning of a run's id.")]
Changes = Annotated[list[str], Query(alias="set", max_length=50, description="NAME=VALUE, as `assay whatif --set`.")]


def kept_anchor(context: Context, run_id: str) -> Anchor:
    """Return the anchor of the runs that are like one, the simulator asked for them."""
    ask = context.simulators.simulate
    return context.store.answer(
        ("anchor", run_id), lambda table: anchor_of(context.store.repository, table, run_id, ask)
    )


def answer_of(context: Context, anchor: Anchor, changes: Sequence[Change], prices: Mapping[str, float]) -> WhatIf:
    """Return the answer under the server's price book, with some of its prices changed."""
    book = context.book
    if book is not None and prices:
        book = repriced(book, {name: Decimal(str(amount)) for name, amount in prices.items()})
    return answered(anchor, changes, book, context.simulators.simulate)


@router.get("/whatif/places", deprecated=True, include_in_schema=False)
@router.get("/whatif/configurations")
def get_configurations(context: ContextOf) -> tuple[AnchorChoice, ...]:
    """List the measured runs that can be asked from, by workload and configuration."""
    return context.store.answer(("asked from",), lambda table: anchor_choices(context.store.repository, table))


@router.get("/whatif")
def get_whatif(context: ContextOf, run: RunId, changes: Changes) -> WhatIf:
    """Tell what the measured runs like one would take with changes: simulated, anchored on what was measured."""
    return answer_of(context, kept_anchor(context, run), parse_question(changes), {})
