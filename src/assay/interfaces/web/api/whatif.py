"""Serve what-if questions: the measured runs to start from, and their predicted time after changes.

The simulation of the measured configurations is cached until the repository changes. Each question then takes a few
more simulations in the server's pool of simulators.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from assay.analysis.statistics import RunTable
from assay.execution.planning.plan_files.changed_plan import Change, parse_question
from assay.foundation.errors import SpecificationError
from assay.interfaces.web.api.plan import cluster_files
from assay.interfaces.web.state.context import PROBLEMS, READERS, Context, ContextOf, Where
from assay.questions.forecasts.measured import fitting_clusters, measured_runs
from assay.questions.forecasts.whatif.simulation_obstacle import SimulationObstacle, simulation_obstacle
from assay.questions.forecasts.whatif.whatif import Anchors, WhatIfQuestion, anchors_of, answer_of
from assay.questions.forecasts.whatif.whatif_answer import WhatIfAnswer
from assay.questions.forecasts.whatif.whatif_costs import parse_prices, stated_prices
from assay.questions.forecasts.whatif.whatif_page import AnchorChoice, anchor_choices

router = APIRouter(prefix="/api/v1", responses=PROBLEMS, dependencies=READERS, tags=["what if"])
Target = Annotated[
    str, Query(max_length=100, description="As TARGET of `assay whatif`; empty: all measured configurations.")
]
Changes = Annotated[
    Sequence[str], Query(alias="set", max_length=50, description="NAME=VALUE, as `assay whatif --set`.")
]

Prices = Annotated[
    Sequence[str], Query(alias="price", max_length=50, description="NAME=AMOUNT, as `assay whatif --price`.")
]
ExtraCostsText = Annotated[
    str, Query(max_length=120, description="As `assay whatif --extra-costs`: storage=2TB,egress=50GB,idle=3h.")
]


def cached_anchors(context: Context, cluster: str = "", where: Sequence[str] = ()) -> Anchors:
    """Return the anchors of the measured configurations that match: their measured runs with their simulation. Cached.

    ``cluster``: name of a cluster file on the server to use instead of the stored files.
    """
    simulate, repository = context.simulators.simulate, context.store.repository
    question = WhatIfQuestion((), tuple(where), cluster=_cluster_text(context, cluster))
    return context.store.answer(
        ("anchors", cluster, tuple(where)), lambda table: anchors_of(repository, table, question, simulate)
    )


def cached_choices(context: Context, cluster: str = "") -> tuple[AnchorChoice, ...]:
    """Return the measured configurations to start from, by workload. ``cluster``: as for :func:`cached_anchors`."""
    repository, text = context.store.repository, _cluster_text(context, cluster)
    return context.store.answer(("asked from", cluster), lambda table: anchor_choices(repository, table, text))


def cached_clusters(context: Context) -> tuple[str, ...]:
    """Return the names of the cluster files on the server that fit the measured runs. Cached."""
    repository, texts = context.store.repository, cluster_files(context)

    def fitting_names(table: RunTable) -> tuple[str, ...]:
        return fitting_clusters(repository, measured_runs(repository, table), texts) if len(table) else ()

    return context.store.answer(("fitting clusters",), fitting_names)


def cached_obstacle(context: Context, changes: Sequence[Change] = ()) -> SimulationObstacle | None:
    """Return why the measured runs, which have no cluster file, can't be simulated; None without runs. Cached."""
    repository = context.store.repository

    def obstacle(table: RunTable) -> SimulationObstacle | None:
        runs = measured_runs(repository, table) if len(table) else []
        return simulation_obstacle(repository, table, runs, changes) if runs else None

    return context.store.answer(("simulation obstacle", tuple(changes)), obstacle)


def _cluster_text(context: Context, name: str) -> str:
    """Return the text of a cluster file on the server; empty without a name. Raises SpecificationError if unknown."""
    texts = cluster_files(context) if name else {"": ""}
    if name not in texts:
        raise SpecificationError(f"there is no cluster file {name[:100]!r} on this server", where="cluster")
    return texts[name]


def answer_on(
    context: Context,
    anchors: Anchors,
    changes: Sequence[Change],
    prices: Mapping[str, float | str],
    extra_costs: str = "",
) -> WhatIfAnswer:
    """Return the answer. Costs use the server's price book with the changed and the added ``prices``."""
    prices_of_question = None if context.book is None else stated_prices(context.book, prices, extra_costs)
    return answer_of(anchors, changes, prices_of_question, context.simulators.simulate)


@router.get("/whatif/places", deprecated=True, include_in_schema=False)
@router.get("/whatif/configurations")
def get_configurations(context: ContextOf) -> tuple[AnchorChoice, ...]:
    """List the measured configurations to start from, by workload."""
    return cached_choices(context)


@router.get("/whatif")
def get_whatif(
    context: ContextOf,
    changes: Changes = (),
    run: Target = "",
    where: Where = [],  # noqa: B006
    prices: Prices = (),
    extra_costs: ExtraCostsText = "",
) -> WhatIfAnswer:
    """Predict the times of measured configurations after changes: simulated, and anchored on their measured runs."""
    anchors = cached_anchors(context, where=where)
    target_anchors = anchors.of_target(run) if run else anchors
    return answer_on(context, target_anchors, parse_question(changes), parse_prices(prices), extra_costs)
