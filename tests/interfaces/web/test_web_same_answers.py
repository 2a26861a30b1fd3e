"""Test that the API gives the JSON of the command: one table of questions for all interfaces, one row per address."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.specs import load_prices
from question_table import PRICES, QUESTIONS, printed, question_repositories
from web_support import client_of

pytestmark = pytest.mark.slow
ADDRESSES = {
    "questions": "questions",
    "decide": "decisions?factor=storage",
    "decide, a factor": "decisions?factor=layout&baseline=HD5&where=network=IB",
    "decide, no decision": "decisions?factor=nodes",
    "scatter": "scatter?x=gc_s&y=duration_s&by=layout",
    "limits": "runs/0/limits",
    "tasks": "runs/0/task-durations",
    "explain": "matters?by=layout",
}
"""Question of the table to its address below ``/api/v1``."""


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return question_repositories(tmp_path_factory.mktemp("rest"))


@pytest.mark.parametrize("name", ADDRESSES)
def test_the_api_has_the_json_of_the_command(name: str, repositories: dict[str, Path]) -> None:
    question = QUESTIONS[name]
    root = repositories[question.repository]
    book = load_prices(Path(PRICES)) if "--prices" in question.words else None
    answer = client_of(root, book=book).get(f"/api/v1/{ADDRESSES[name]}")
    assert answer.status_code == 200, answer.text
    assert answer.json() == json.loads(printed(*question.words, "--repository", root, "--json"))
