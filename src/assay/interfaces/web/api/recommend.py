"""Serve recommendations: the catalogues, the start of a search, its progress and its answer."""

import hashlib
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from assay.interfaces.web.api.models import BOOK_CHARACTERS_MAX, Model, ShortText
from assay.interfaces.web.rendering.rendering import NotFoundError
from assay.interfaces.web.state.context import PROBLEMS, READERS, Context, ContextOf
from assay.interfaces.web.state.searches import Search
from assay.questions.json_values import json_value
from assay.questions.recommendation.recommend import SURELY
from assay.questions.recommendation.request import SIMULATIONS_MAX, RecommendAsked, kept_catalogues, prepared

router = APIRouter(prefix="/api/v1", responses=PROBLEMS, dependencies=READERS, tags=["what if"])
LongText = Annotated[str, Field(max_length=BOOK_CHARACTERS_MAX)]


class RecommendQuestionAsked(Model):
    """A mix of work, limits, and the hardware to choose from: a catalogue that is kept, or one as text with prices."""

    works: Annotated[list[ShortText], Field(min_length=1, max_length=20)]
    catalogue: ShortText = ""
    budget: ShortText = ""
    deadline: ShortText = ""
    capacity: ShortText = ""
    years: float = 3.0
    least: ShortText = ""
    surely: float = SURELY
    simulations: int = SIMULATIONS_MAX
    catalogue_text: LongText = ""
    prices_text: LongText = ""


class SearchState(Model):
    """How far a search is; its answer when it is over."""

    key: str = Field(description="By which it is asked again.")
    over: bool
    step: str
    done: int
    most: int
    problem: str | None = None
    answer: dict[str, Any] | None = Field(None, description="As `assay recommend --json` prints it.")


def key_of(asked: RecommendAsked) -> str:
    """Return the key of a question."""
    return hashlib.sha256(repr(asked).encode("utf-8", "replace")).hexdigest()[:16]


def begun(context: Context, asked: RecommendAsked) -> str:
    """Begin a search, and return its key. Raises SpecificationError for what can't be asked."""
    key = key_of(asked)
    if (known := context.searches.known(key)) is None or known.problem is not None:
        context.searches.start(key, prepared(asked, kept_catalogues(context.cluster_folders)))
    return key


def state_of(key: str, search: Search, *, whole: bool = True) -> SearchState:
    """Return a search as the API tells it."""
    answer = json_value(search.answer) if whole and search.answer is not None else None
    problem = None if search.problem is None else str(search.problem)
    return SearchState(
        key=key, over=search.over, step=search.step, done=search.done, most=search.most, problem=problem, answer=answer
    )


@router.get("/recommend/catalogues")
def get_catalogues(context: ContextOf) -> list[str]:
    """List the catalogues on this server that have prices."""
    return list(kept_catalogues(context.cluster_folders))


@router.post("/recommend")
def post_recommend(context: ContextOf, question: RecommendQuestionAsked) -> SearchState:
    """Begin a search for the cluster that a mix of work should have; it is simulated, and takes minutes."""
    values = question.model_dump()
    key = begun(context, RecommendAsked(**{**values, "works": tuple(values["works"])}))
    return get_search(context, key)


@router.get("/recommend/{key}")
def get_search(context: ContextOf, key: str) -> SearchState:
    """Tell how far a search is, and its answer when it is over."""
    search = context.searches.known(key)
    if search is None:
        raise NotFoundError(
            "there is no such search on this server, or it was dropped", hint="POST /api/v1/recommend starts one"
        )
    return state_of(key, search)
