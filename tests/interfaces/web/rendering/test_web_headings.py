"""Test that the heading of a page is its answer in a sentence, the same as in the API."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from assay.questions.runs.run_quality import PRECISION
from assay.specs.prices import prices_of
from assay.store import Repository
from builders import PRICES_YAML
from learning import learning_runs
from web_support import client_of, filled

BOOK = PRICES_YAML.replace("per: cluster,", "per: cluster-hour,")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    root: Path = filled(tmp_path_factory.mktemp("headings") / "repository").root
    with client_of(root, book=prices_of(BOOK, "prices")) as served_client:
        yield served_client


def heading(client: TestClient, address: str) -> str:
    """Return the text of the only heading of the first level."""
    [text] = re.findall(r"<h1[^>]*>(.*?)</h1>", client.get(address).text, re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", "", text)).strip()


def test_the_heading_of_speedup_is_the_decision(client: TestClient) -> None:
    first, *_ = client.get("/api/v1/decisions", params={"factor": "layout"}).json()
    assert heading(client, "/speedup?by=layout") == first["headline"]


def test_the_heading_of_cost_is_the_answer_of_the_api(client: TestClient) -> None:
    (view, *_) = client.post("/api/v1/cost", json={"where": ["workload=terasort"]}).json()
    assert heading(client, "/cost?workload=terasort") == view["headline"]


def test_the_heading_of_quality_counts_valid_runs_and_outliers(client: TestClient) -> None:
    counts = {level["level"]: level["runs"] for level in client.get("/api/v1/summary").json()["counts"]["by"]["status"]}
    text = heading(client, "/quality")
    assert text.startswith(f"{counts['valid']} of {sum(counts.values())} runs are valid, with ")
    questions = client.get("/api/v1/questions").json()
    decided = [view for view in questions if "decided at 95 %" in view["confidence"]]
    assert text.endswith(f"The runs decide {len(decided)} of {len(questions)} questions at 95 %.")
    assert f"A time within {100 * PRECISION:g} % needs more: " in html.unescape(
        re.sub(r"<[^>]+>", "", client.get("/quality").text)
    )


@pytest.mark.slow
def test_the_heading_of_a_prediction_is_its_sentence(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r")
    for run in learning_runs(slots=(2, 4, 8)):
        repository.publish(run)
    with client_of(repository.root) as client:
        address = "/predict?where=workload%3Dterasort"
        assert heading(client, address).startswith("TeraSort: ")
        assert re.search(r"Predicted: \d+ s \(90 % interval of a single run: ", heading(client, address))


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("/", "Which hardware should this cluster have?"),
        ("/plan", "How many runs, and how long do they take?"),
        ("/compare", "Which runs do you want to compare?"),
        ("/scatter?where=workload%3Dterasort", "How does run time depend on start time (UTC)?"),
        ("/hosts", "Are the hosts ready for measurements?"),
        ("/gate", "Are the runs slower since a baseline?"),
    ],
)
def test_the_heading_of_a_page_without_an_answer_is_its_question(client: TestClient, address: str, text: str) -> None:
    assert heading(client, address) == text


def test_the_headings_of_changes_and_compare_are_answers(client: TestClient) -> None:
    assert heading(client, "/changes") == "No change can be found yet: no configuration has 12 valid runs."
    runs = [
        run["run_id"]
        for run in client.get("/api/v1/runs?where=workload%3Dterasort&where=status%3Dvalid").json()["runs"]
    ]
    assert heading(client, f"/compare?run={runs[0]}&run={runs[-1]}") not in ("", "Compare")


def test_the_unit_of_a_price_is_in_words(client: TestClient) -> None:
    assert ">cluster, per hour</td>" in client.get("/cost?workload=terasort").text
