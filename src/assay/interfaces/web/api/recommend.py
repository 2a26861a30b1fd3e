"""Serve recommendations: the catalogues, the start of a search, its progress and its answer."""

from fastapi import APIRouter

from assay.interfaces.web.state.context import PROBLEMS, READERS, Context, ContextOf
from assay.interfaces.web.state.search_state import SearchState, search_state, start_once
from assay.questions.recommendation.catalogues import prepare, stored_catalogues
from assay.questions.recommendation.request import RecommendRequest

router = APIRouter(prefix="/api/v1", responses=PROBLEMS, dependencies=READERS, tags=["what if"])


def learned_version(context: Context, request: RecommendRequest) -> tuple[str, int] | None:
    """Return the version of the runs that a search learns from; None if it does not learn from them."""
    return context.store.snapshot().version if request.learn else None


def start_search(context: Context, request: RecommendRequest) -> str:
    """Start the search for a request, unless it was started before, and return its key.

    Raises SpecificationError for an invalid request.
    """
    root = context.store.repository.root
    return start_once(
        context.searches,
        request,
        lambda: prepare(request, stored_catalogues(context.cluster_folders), root),
        learned_version(context, request),
    )


@router.get("/recommend/catalogues")
def get_catalogues(context: ContextOf) -> list[str]:
    """List the stored catalogues that have a price book."""
    return list(stored_catalogues(context.cluster_folders))


@router.post("/recommend")
def post_recommend(context: ContextOf, request: RecommendRequest) -> SearchState:
    """Start a search for the best cluster for a mix of workloads. It simulates clusters and takes minutes."""
    return get_search(context, start_search(context, request))


@router.get("/recommend/{key}")
def get_search(context: ContextOf, key: str) -> SearchState:
    """Return the progress of a search, and its answer after the end."""
    return search_state(context.searches, key, "/api/v1/recommend")
