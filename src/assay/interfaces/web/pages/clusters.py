"""Serve a cluster or a configuration, as a page and as JSON.

In: the name of a cluster or the id of a run. Out: hardware, prices, and the history of runs.
"""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from assay.analysis.run_profile.tables.environment_tables import environment_tables
from assay.interfaces.charts.history import run_history
from assay.interfaces.web.api import runs as api_runs
from assay.interfaces.web.state.answering import page_of, palette
from assay.interfaces.web.state.context import PROBLEMS, READERS, Context, ContextOf
from assay.interfaces.web.state.page_cache import cached_page
from assay.questions.clusters.clusters import ClusterView, ConfigurationView, cluster_view, configuration_view
from assay.text import TextTable

router = APIRouter(dependencies=READERS)
Name = Annotated[str, Path(max_length=300)]
LISTED_MAX = 60
"""Maximum number of entries in a list on these pages."""
_FACTS = {
    "vm_size": "machine",
    "ram_gb": "memory of a node (GB)",
    "cores": "cores of a node",
    "service_type": "service",
}
"""Titles of recorded facts about a cluster, by field name."""


def _cluster(context: Context, name: str) -> ClusterView:
    store = context.store
    return store.answer(
        ("cluster", name), lambda _: cluster_view(store.repository, store.flagged(), name, context.book)
    )


def _configuration(context: Context, run_id: str) -> ConfigurationView:
    store, run = context.store, api_runs.find_run(context, run_id)
    return store.answer(
        ("configuration", run.run_id),
        lambda _: configuration_view(store.repository, store.flagged(), run, context.book),
    )


@router.get("/api/v1/cluster/{name:path}", responses=PROBLEMS, tags=["places"])
def get_cluster(context: ContextOf, name: Name) -> ClusterView:
    """Return a cluster: hardware, prices by layout, and the history of its runs with outliers."""
    return _cluster(context, name)


@router.get("/api/v1/configuration/{run_id}", responses=PROBLEMS, tags=["places"])
def get_configuration(context: ContextOf, run_id: api_runs.RunId) -> ConfigurationView:
    """Return the configuration of a run: mean, price, share of the bare devices' bandwidth, and history."""
    return _configuration(context, run_id)


@router.get("/clusters/{name:path}", include_in_schema=False, response_class=HTMLResponse)
@cached_page
def cluster(request: Request, context: ContextOf, name: Name) -> Response:
    """Show a cluster."""
    view = _cluster(context, name)
    values = [point.value for point in view.history]
    is_wide_range = bool(values) and max(values) > 3 * min(values)
    title = "Time / median of its repetitions"
    chart = run_history(view.history, title, logarithmic=is_wide_range) if values else None
    return page_of(
        request,
        "cluster",
        view=view,
        chart=chart,
        recorded_table=None if view.hardware.nodes else _recorded_facts(context, view),
        rows_max=LISTED_MAX,
        colours=palette(context.store.table(), "layout"),
    )


def _recorded_facts(context: Context, view: ClusterView) -> TextTable | None:
    """Return facts about the cluster from an imported run, except the facts that depend on the layout."""
    facts = api_runs.find_run(context, view.setups[0].example).environment.get("cluster")
    if not isinstance(facts, Mapping):
        return None
    titled_facts = {
        _FACTS.get(name, name.replace("_", " ")): f"{value:g}" if isinstance(value, float) else value
        for name, value in facts.items()
        if name != "name" and not name.startswith("layout")
    }
    return next(iter(environment_tables({"cluster": titled_facts})), None) if titled_facts else None


@router.get("/configurations/{run_id}", include_in_schema=False, response_class=HTMLResponse)
@cached_page
def configuration(request: Request, context: ContextOf, run_id: api_runs.RunId) -> Response:
    """Show the configuration of a run."""
    view = _configuration(context, run_id)
    if view.example.run_id != run_id:
        return RedirectResponse(f"/configurations/{view.example.run_id}", status_code=307)
    chart = run_history(view.history, "Time (s)") if view.history else None
    return page_of(
        request,
        "configuration",
        view=view,
        chart=chart,
        rows_max=LISTED_MAX,
        colours=palette(context.store.table(), "layout"),
    )
