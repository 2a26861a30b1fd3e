"""Serve recommendations: the catalogues, the start of a search, its progress and its answer."""

import hashlib
from typing import Any

from fastapi import APIRouter
from pydantic import Field

from assay.interfaces.web.api.models import Model
from assay.interfaces.web.rendering.rendering import NotFoundError
from assay.interfaces.web.state.context import PROBLEMS, READERS, Context, ContextOf
from assay.interfaces.web.state.searches import Search
from assay.questions.json_values import json_value
from assay.questions.recommendation.catalogues import prepare, stored_catalogues
from assay.questions.recommendation.request import RecommendRequest

router = APIRouter(prefix="/api/v1", responses=PROBLEMS, dependencies=READERS, tags=["what if"])


class SearchState(Model):
    """The progress of a search, and its answer after the end."""

    key: str = Field(description="Identifies the search in later requests.")
    over: bool
    step: str
    done: int
    most: int
    problem: str | None = None
    answer: dict[str, Any] | None = Field(
        None, description="As `assay recommend --json` or `assay size --json` prints it."
    )


def key_of(request: RecommendRequest) -> str:
    """Return the key of a request. Equal requests have equal keys."""
    return hashlib.sha256(repr(request).encode("utf-8", "replace")).hexdigest()[:16]


def start_search(context: Context, request: RecommendRequest) -> str:
    """Start the search for a request, unless it was started before, and return its key.

    Raises SpecificationError for an invalid request.
    """
    key = key_of(request)
    if (known := context.searches.known(key)) is None or known.problem is not None:
        context.searches.start(key, prepare(request, stored_catalogues(context.cluster_folders)))
    return key


def state_of(key: str, search: Search[Any], *, whole: bool = True) -> SearchState:
    """Return the state of a search for the API. ``whole``: include the answer."""
    answer = json_value(search.answer) if whole and search.answer is not None else None
    problem = None if search.problem is None else str(search.problem)
    return SearchState(
        key=key, over=search.over, step=search.step, done=search.done, most=search.most, problem=problem, answer=answer
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
    search = context.searches.known(key)
    if search is None:
        raise NotFoundError(
            "there is no such search on this server, or it was dropped", hint="POST /api/v1/recommend starts one"
        )
    return state_of(key, search)
