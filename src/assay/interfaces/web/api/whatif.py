"""Serve what-if questions: the measured runs to start from, and their predicted time after changes.

The simulation of the measured configurations is cached until the repository changes. Each question then takes a few
more simulations in the server's pool of simulators.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from assay.execution.planning.plan_files.changed_plan import Change, parse_question
from assay.interfaces.web.state.context import PROBLEMS, READERS, Context, ContextOf
from assay.questions.costs.changed_prices import changed_book
from assay.questions.forecasts.whatif import Anchors, WhatIfAnswer, WhatIfQuestion, anchors_of, answer_of
from assay.questions.forecasts.whatif_page import AnchorChoice, anchor_choices

router = APIRouter(prefix="/api/v1", responses=PROBLEMS, dependencies=READERS, tags=["what if"])
RunId = Annotated[
    str, Query(max_length=100, description="As TARGET of `assay whatif`; empty: all measured configurations.")
]
Changes = Annotated[
    Sequence[str], Query(alias="set", max_length=50, description="NAME=VALUE, as `assay whatif --set`.")
]


def cached_anchors(context: Context) -> Anchors:
    """Return the anchors of all measured configurations: their measured runs with their simulation. Cached."""
    ask, repository = context.simulators.simulate, context.store.repository
    return context.store.answer(("anchors",), lambda table: anchors_of(repository, table, WhatIfQuestion(()), ask))


def answer_on(
    context: Context, anchors: Anchors, changes: Sequence[Change], prices: Mapping[str, float]
) -> WhatIfAnswer:
    """Return the answer. Costs use the server's price book with the changed ``prices``."""
    book = context.book
    if book is not None and prices:
        book = changed_book(book, prices)
    return answer_of(anchors, changes, book, context.simulators.simulate)


@router.get("/whatif/places", deprecated=True, include_in_schema=False)
@router.get("/whatif/configurations")
def get_configurations(context: ContextOf) -> tuple[AnchorChoice, ...]:
    """List the measured configurations to start from, by workload."""
    return context.store.answer(("asked from",), lambda table: anchor_choices(context.store.repository, table))


@router.get("/whatif")
def get_whatif(context: ContextOf, changes: Changes = (), run: RunId = "") -> WhatIfAnswer:
    """Predict the times of measured configurations after changes: simulated, and anchored on their measured runs."""
    anchors = cached_anchors(context)
    return answer_on(context, anchors.of_target(run) if run else anchors, parse_question(changes), {})
