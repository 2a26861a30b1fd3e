"""Test that the API gives the JSON of the command: one table of questions for all interfaces, one address for each."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import assay
from assay.specs import load_prices
from command import printed
from doc_commands import parse
from question_table import (
    CATALOGUE,
    HARDWARE_PRICES,
    PROFILED_RUN,
    QUESTIONS,
    SIMULATED,
    Question,
    command_json,
    question_repositories,
    simulated_repository,
)
from simulator_support import needs_simulator
from web_support import client_of

pytestmark = pytest.mark.slow
ADDRESSES = {
    "runs": "export?form=json",
    "runs, selected": "export?form=json&where=layout=HD5&limit=2",
    "questions": "questions",
    "decide": "decisions?factor=storage",
    "decide, a factor": "decisions?factor=layout&baseline=HD5&where=network=IB",
    "decide, no decision": "decisions?factor=nodes",
    "speedup": "speedup?by=network",
    "scatter": "scatter?x=gc_s&y=duration_s&by=layout",
    "changes": "changes",
    "gate": "gate?baseline=2026-03-11&ignore=build",
    "anomalies": "anomalies?limit=1000",
    "findings": "findings",
    "limits": "runs/0/limits",
    "workload_limits": "limits",
    "profile": f"runs/{PROFILED_RUN}/code-profile",
    "profile, a second of a phase": f"runs/{PROFILED_RUN}/code-profile?phase=reduce&at_s=3.5",
    "tasks": "runs/0/task-durations",
    "explain": "matters?by=layout",
    "predict": "predict?where=workload=terasort&where=layout=SSD",
    "next": "next?runs=3",
    "enough_runs": "enough-runs?cluster=c8&precision=0.2",
    "whatif": "whatif?set=layout=SS2&where=layout=HD2",
    "whatif, extra costs": "whatif?set=layout=SS2&where=layout=HD2&extra_costs=idle=3h",
    "whatif, an instance type": (
        "whatif?set=worker.type=m7i.2xlarge&set=worker.volumes=gp3:1TB:2&set=worker.cpu.speed=1&where=layout=HD2"
    ),
}
"""Question of the table to its address below ``/api/v1``."""
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "cost": ("cost", {}),
    "cost_over_years": ("tco", {"years": 3, "rounding": "paper"}),
    "recommend": (
        "recommend",
        {
            "workloads": ["terasort:2GB:daily"],
            "catalogue_text": Path(CATALOGUE).read_text(),
            "prices_text": Path(HARDWARE_PRICES).read_text(),
            "simulations": 20,
        },
    ),
}
"""Question of the table to its address and the body of its request."""
SEARCH_S_MAX = 120.0
"""Maximum duration of a search, in seconds."""


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return question_repositories(tmp_path_factory)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated_repository(tmp_path_factory)


def _client(question: Question, root: Path) -> TestClient:
    words = question.words
    if "--prices" not in words:
        return client_of(root)
    book_path = Path(words[words.index("--prices") + 1])
    return client_of(root, book=load_prices(book_path), book_path=book_path)


def _answered(client: TestClient, name: str) -> Any:
    """Return the API's answer to a question; of a search, its answer after the end."""
    path, body = REQUESTS[name] if name in REQUESTS else (ADDRESSES[name], None)
    answer = client.get(f"/api/v1/{path}") if body is None else client.post(f"/api/v1/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json() if name != "recommend" else _searched(client, answer.json()["key"])


def _searched(client: TestClient, key: str) -> Any:
    """Return the answer of a search after its end."""
    end_s = time.monotonic() + SEARCH_S_MAX
    while not (state := client.get(f"/api/v1/recommend/{key}").json())["over"]:
        assert time.monotonic() < end_s
        time.sleep(0.1)
    assert state["problem"] is None
    return state["answer"]


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_api_has_the_json_of_the_command(
    name: str, repositories: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # paths below the folder of a server are relative in its commands
    question, root = QUESTIONS[name], repositories[QUESTIONS[name].repository]
    assert _answered(_client(question, root), name) == command_json(question, root)


@needs_simulator
@pytest.mark.parametrize("name", SIMULATED)
def test_the_api_has_the_simulated_json_of_the_command(name: str, measured: Path) -> None:
    question = SIMULATED[name]
    with _client(question, measured) as client:  # it stops the simulators
        assert _answered(client, name) == command_json(question, measured)


@needs_simulator
def test_a_recommendation_that_learns_from_the_runs_is_the_same_in_the_api_and_the_command(measured: Path) -> None:
    question, (path, body) = SIMULATED["recommend"], REQUESTS["recommend"]
    learned = json.loads(printed(*question.words, "--repository", measured, "--json"))
    named, formerly = (parse([*question.words, name, str(measured)]) for name in ("--repository", "--learn-from"))
    assert named.params == formerly.params
    assert (learned["profile_origin"], learned["profile"]) == ("runs", measured.name)
    assert learned != command_json(question, measured)
    with _client(question, measured) as client:
        started = client.post(f"/api/v1/{path}", json={**body, "learn": True})
        assert _searched(client, started.json()["key"]) == learned
        [workload] = body["workloads"]
        form = {key: str(value) for key, value in body.items() if key != "workloads"} | {"w": workload, "learn": "on"}
        headers = {"origin": str(client.base_url)}
        address = client.post("/recommend", data=form, headers=headers, follow_redirects=False).headers["location"]
        assert _searched(client, address.partition("key=")[2]) == learned
        page = client.get(address).text
        assert f"times: the profile learned from the measured runs of {measured.name}" in page
        assert 'name="learn" value="on" checked' in client.get("/recommend?learn=True").text


def test_the_api_compares_runs_as_the_command(repositories: dict[str, Path]) -> None:
    runs = {run.layout: run.run_id for run in assay.open(repositories["bsc"]).runs().value}
    first, second = list(runs.values())[:2]
    answer = client_of(repositories["bsc"]).get("/api/v1/sides", params={"run": [first, second]})
    assert answer.json() == json.loads(printed("compare", first, second, "--repository", repositories["bsc"], "--json"))


def test_every_question_has_an_address() -> None:
    assert {*ADDRESSES, *REQUESTS} == {*QUESTIONS, *SIMULATED}
