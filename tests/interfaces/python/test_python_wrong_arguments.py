"""Call every method of the Python API with wrong arguments: it answers, or raises a documented error with a message."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import assay
from assay.interfaces.python.answer import Answer
from builders import build_repository, study_runs
from effort import examples
from question_table import SANDISK

pytestmark = pytest.mark.slow
SANDISK_PRICES = str(SANDISK / "prices.yaml")
DOCUMENTED = (assay.SpecificationError, assay.RepositoryError, assay.FormatError)
TEXTS = st.sampled_from(
    (
        *(
            "",
            "layout",
            "layout=HD2",
            "layout=",
            "=",
            "HD2",
            "SS2",
            "workload=terasort",
            "nodes",
            "storage",
            "cheapest",
        ),
        *("0", "1", "-1", "5%", "nan", "2h", "20runs", "2026-03-11", "lab-small", "campaign-1", "duration_s", "a,b"),
        *("\0", "é", "terasort:1TB", "terasort:1TB:daily", "/", ".", "a" * 300, "layout,network", SANDISK_PRICES),
    )
)
ODD = st.one_of(
    TEXTS,
    st.text(max_size=8),
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.binary(max_size=4),
    st.just(object()),
    st.just(Path("nowhere.yaml")),
    st.just({1, 2}),
)
VALUES = st.one_of(
    ODD, st.lists(ODD, max_size=3), st.dictionaries(st.one_of(TEXTS, st.integers(), st.none()), ODD, max_size=2)
)
METHODS = sorted(
    name
    for name, _ in inspect.getmembers(assay.OpenedRepository, inspect.isfunction)
    if not name.startswith("_") and name != "close"
)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[assay.OpenedRepository]:
    root = tmp_path_factory.mktemp("wrong") / "r"
    build_repository(root, study_runs())
    with assay.open(root) as repository:
        yield repository


@st.composite
def calls(draw: st.DrawFn, name: str) -> tuple[list[Any], dict[str, Any]]:
    """Return positional and named arguments that fit the signature of a method."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in list(inspect.signature(getattr(assay.OpenedRepository, name)).parameters.values())[1:]:
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += draw(st.lists(VALUES, max_size=3))
        elif parameter.default is parameter.empty or draw(st.integers(0, 2)) == 0:
            named[parameter.name] = draw(VALUES)
    return positional, named


@pytest.mark.parametrize("name", METHODS)
def test_a_method_answers_or_raises_a_documented_error(name: str, opened: assay.OpenedRepository) -> None:
    @settings(max_examples=examples(50), suppress_health_check=list(HealthCheck))
    @given(calls(name))
    def check(arguments: tuple[list[Any], dict[str, Any]]) -> None:
        positional, named = arguments
        message = "an answer"
        try:
            answer = getattr(opened, name)(*positional, **named)
            assert isinstance(answer, Answer)
            answer.to_dict()
        except DOCUMENTED as error:
            message = error.message
        assert message

    check()
