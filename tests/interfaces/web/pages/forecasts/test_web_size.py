"""Test sizes from logs on the web: the upload with its limits, the answer of the command, and the page."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient

from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.main import assay
from assay.interfaces.web.server.app import create_app
from assay.interfaces.web.state.uploaded_logs import FILE_BYTES_MAX, FILES_MAX, UPLOADS_MAX, UploadedLogs
from assay.questions.recommendation.instances import CatalogueRequest, catalogue_text
from assay.store import Repository
from browser_support import watched_page
from cluster_texts import rented_prices
from paths import EXAMPLES
from simulator_support import needs_simulator
from web_support import client_of, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

LOGS = EXAMPLES / "logs" / "terasort"
KEY = "0123456789abcdef" * 2
SAME = {"origin": "http://localhost", "sec-fetch-site": "same-origin"}
TIMEOUT_S = 300
PRICES = rented_prices("0.4746", m6id_2xlarge="0.4746", i4i_2xlarge="0.686")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Repository.create(tmp_path_factory.mktemp("size") / "r").root


@pytest.fixture
def client(root: Path) -> Iterator[TestClient]:
    with client_of(root) as client_:
        yield client_


def sent(client: TestClient, key: str = KEY) -> None:
    for path in sorted(LOGS.iterdir()):
        answer = client.put(f"/api/v1/size/logs/{key}/{path.name}", content=path.read_bytes(), headers=SAME)
        assert (answer.status_code, answer.json()["size_bytes"]) == (201, path.stat().st_size), answer.text


def over(client: TestClient, body: dict[str, Any]) -> dict[str, Any]:
    state = client.post("/api/v1/size", json=body, headers=SAME)
    assert state.status_code == 200, state.text
    until = time.monotonic() + TIMEOUT_S
    while time.monotonic() < until:
        search: dict[str, Any] = client.get(f"/api/v1/size/{state.json()['key']}").json()
        if search["over"]:
            return search
        time.sleep(0.1)
    raise AssertionError("the computation does not end")


def printed(*words: str | Path) -> str:
    result = CliRunner().invoke(assay, ["size", str(LOGS), *map(str, words)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.slow
def test_the_api_has_the_json_of_the_command_and_the_page_its_sentences(client: TestClient) -> None:
    sent(client)
    state = over(client, {"upload": KEY, "grow": "3x"})
    assert state["problem"] is None
    assert state["answer"] == json.loads(printed("--grow", "3x", "--json"))
    answer = client.post("/size", data={"upload": KEY, "grow": "3x"}, headers=SAME, follow_redirects=False)
    assert answer.headers["location"] == f"/size?{urlencode({'grow': '3x', 'upload': KEY})}"
    page = client.get(answer.headers["location"]).text.replace("&#39;", "'")
    for line in printed("--grow", "3x").splitlines()[:5]:
        assert line in page
    assert 'name="grow" value="3x"' in page


@needs_simulator
def test_with_hardware_the_page_has_a_chart_and_a_table_of_the_candidates(client: TestClient, tmp_path: Path) -> None:
    request = CatalogueRequest(
        ("m6id.2xlarge", "i4i.2xlarge"),
        count="3-5",
        cpu_speeds=("x86_64=1:0.6:1.6",),
        disk_rates=("nvme=1.4GB/s:900MB/s",),
    )
    catalogue, prices = tmp_path / "cloud.yaml", tmp_path / "prices.yaml"
    catalogue.write_text(catalogue_text(request))
    prices.write_text(PRICES)
    sent(client)
    texts = {"catalogue_text": catalogue.read_text(), "prices_text": PRICES}
    question = {"upload": KEY, "grow": "20x", "deadline": "40min", "budget": "$20/h", "simulations": 6, **texts}
    answer = over(client, question)["answer"]
    files = ("--catalogue", catalogue, "--prices", prices, "--simulations", "6")
    assert answer == json.loads(printed("--grow", "20x", "--deadline", "40min", "--budget", "$20/h", *files, "--json"))
    candidates = answer["candidates"]
    assert 3 <= len(candidates) <= 10
    assert [shape["label"] for shape in answer["shapes"]] == [
        shape["label"] for shape in candidates if shape in answer["shapes"]
    ]
    assert any(shape["on_pareto_front"] for shape in candidates)
    location = client.post("/size", data=question, headers=SAME, follow_redirects=False).headers["location"]
    page = client.get(location).text
    assert 'id="size-cost"' in page
    assert location.startswith("/size?key=")
    for field in (f'name="upload" value="{KEY}"', 'name="grow" value="20x"', 'name="deadline" value="40min"'):
        assert field in page
    assert "catalogue: instances" in page
    for shape in candidates:
        assert f'<th scope="row">{shape["label"]}</th>' in page
    assert page.index("<h2>Rough estimate: ") < page.index("<h3>Assumptions</h3>") < page.index("<h3>Candidates")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nothex/a.jhist", "32 hexadecimal digits"),
        (f"{KEY}/..a", "is not a file name"),
        (f"{KEY}/a%00b", "is not a file name"),
        (f"{KEY}/a%20b", "is not a file name"),
    ],
)
def test_an_upload_of_an_unusable_name_is_refused(client: TestClient, path: str, words: str) -> None:
    answer = client.put(f"/api/v1/size/logs/{path}", content=b"x", headers=SAME)
    assert (answer.status_code, words in answer.json()["message"]) == (400, True), answer.text


def test_a_file_above_the_limit_is_refused_before_it_is_read(client: TestClient) -> None:
    length = {"content-length": str(FILE_BYTES_MAX + 1)}
    answer = client.put(f"/api/v1/size/logs/{KEY}/a.jhist", content=iter([b"x"]), headers={**SAME, **length})
    assert answer.status_code == 413
    assert "accepts at most" in answer.json()["message"]


def test_a_log_that_is_cut_off_or_was_never_sent_is_refused_without_a_path_of_the_server(client: TestClient) -> None:
    missing = client.post("/api/v1/size", json={"upload": "f" * 32}, headers=SAME)
    assert (missing.status_code, "send it again" in missing.json()["hint"]) == (404, True)
    [history, *_] = sorted(LOGS.glob("*.jhist*"))
    client.put(f"/api/v1/size/logs/{KEY}/{history.name}", content=history.read_bytes()[:300], headers=SAME)
    problem = over(client, {"upload": KEY})["problem"]
    assert problem
    assert "assay-logs-" not in problem
    page = client.get("/size", params={"upload": KEY}).text
    assert 'role="alert"' in page
    assert "assay-logs-" not in page


def test_a_deadline_without_a_catalogue_and_an_unknown_catalogue_are_refused(client: TestClient) -> None:
    sent(client)
    for body, words in (
        ({"deadline": "1h"}, "needs a catalogue of hardware: name one"),
        ({"catalogue": "hardwear"}, "did you mean"),
    ):
        answer = client.post("/api/v1/size", json={"upload": KEY, **body}, headers=SAME)
        assert (answer.status_code, words in answer.json()["message"]) == (400, True), answer.text


def test_new_uploads_displace_the_oldest_and_closing_removes_all() -> None:
    logs = UploadedLogs()
    keys = [f"{number:032x}" for number in range(UPLOADS_MAX + 1)]
    folder = logs.begin(keys[0], "a", FILE_BYTES_MAX).parent
    for key in keys[1:5]:
        (logs.begin(key, "a", FILE_BYTES_MAX)).write_text("x")
    assert logs.folder(keys[0]) is None
    assert not folder.exists()
    assert logs.folder(keys[4]) is not None
    for key in keys:
        logs.begin(key, "a", 1)
    assert logs.folder(keys[0]) is None
    for number in range(1, FILES_MAX):
        logs.begin(keys[-1], f"f{number}", 1)
    with pytest.raises(SpecificationError, match="at most"):
        logs.begin(keys[-1], "more", 1)
    logs.close()
    assert not folder.parent.exists()


@pytest.mark.browser
def test_the_page_sends_the_chosen_log_and_shows_its_answer(browser: Browser, root: Path) -> None:
    with served(create_app(root)) as url, watched_page(browser, url, 390) as watched:
        page = watched.open("/size")
        page.locator("#size-logs").set_input_files([str(path) for path in sorted(LOGS.iterdir())])
        page.locator("main button.button").click()
        page.wait_for_url("**/size?upload=*", timeout=TIMEOUT_S * 1000)
        page.wait_for_selector("#searching", state="detached", timeout=TIMEOUT_S * 1000)
        assert "TeraSort's tasks spent" in page.locator("main").inner_text()
        watched.check()
