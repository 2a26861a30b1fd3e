"""Serve searches, which compute an answer for minutes: the key of a request, the start, the progress and the answer.

Recommendations and sizes from logs are searches.
"""

import hashlib
from collections.abc import Callable
from typing import Any

from pydantic import Field

from assay.interfaces.web.api.models import Model
from assay.interfaces.web.rendering.rendering import NotFoundError
from assay.interfaces.web.state.searches import Answer, Computation, Searches
from assay.questions.json_values import json_value


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


def key_of(request: object, version: object = None) -> str:
    """Return the key of a request. Equal requests have equal keys.

    ``version``: version of the runs that the search learns from; None if it learns from none.
    """
    return hashlib.sha256(repr((request, version)).encode("utf-8", "replace")).hexdigest()[:16]


def start_once(
    searches: Searches[Answer], request: object, prepare: Callable[[], Computation[Answer]], version: object = None
) -> str:
    """Start the search for a request, unless it was started before and has not failed, and return its key.

    ``prepare`` checks the request and returns the computation. ``version``: see :func:`key_of`.
    """
    key = key_of(request, version)
    if (search := searches.find(key)) is None or search.problem is not None:
        searches.start(key, prepare(), request)
    return key


def search_state(searches: Searches[Answer], key: str, address: str) -> SearchState:
    """Return the state of the search with this key, with its answer. Raises NotFoundError if it is unknown.

    ``address``: where a search is started.
    """
    search = searches.find(key)
    if search is None:
        raise NotFoundError(
            "there is no such search on this server, or it was dropped", hint=f"POST {address} starts one"
        )
    return SearchState(
        key=key,
        over=search.over,
        step=search.step,
        done=search.done,
        most=search.most,
        problem=None if search.problem is None else str(search.problem),
        answer=None if search.answer is None else json_value(search.answer),
    )
