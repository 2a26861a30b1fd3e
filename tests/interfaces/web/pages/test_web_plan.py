"""Test the plan page: the resulting YAML, the number of runs, and the permission to start them."""

from __future__ import annotations

import html
import json
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.execution.planning.plan_files.plan_text import document_of_content
from assay.foundation.errors import SpecificationError
from assay.interfaces.web.api import plan as api_plan
from assay.interfaces.web.server.app import create_app
from assay.interfaces.web.server.security import read_tokens
from assay.store import Repository
from browser_support import ObservedRun
from builders import build_repository, make_run
from paths import EXAMPLES
from web_support import client_of, filled, served

CLUSTER = (EXAMPLES / "lab" / "cluster.yaml").read_text()
RUN_TOKEN = "running-token-of-the-tests"
QUESTION = api_plan.PlanQuestion(
    name="mine",
    workloads=[
        api_plan.PlannedWorkload(name="terasort", data="2GB", options={"maps": "6"}),
        api_plan.PlannedWorkload(name="wordcount", data="1GB", per_node=True),
    ],
    layouts=["HD2", "SS2"],
    levels={"dfs.blocksize": ["64MiB", "128MiB"]},
    parameters={"dfs.replication": "2"},
)
ASKED: dict[str, Any] = {
    "name": "mine",
    "cluster": "lab/cluster.yaml",
    "workloads": [{"name": "terasort", "data": "2GB"}],
    "layouts": ["HD2", "SS2"],
    "repetitions": 2,
}


def asked(**changes: Any) -> api_plan.PlanQuestion:
    return QUESTION.model_copy(update=changes)


def test_the_text_is_a_plan_of_what_was_asked_for() -> None:
    plan = api_plan.plan_of(QUESTION, CLUSTER)
    assert [(w.key, w.parameters.get("maps")) for w in plan.workloads] == [("terasort", "6"), ("wordcount", None)]
    assert plan.workloads[1].data_per_node_bytes == 10**9
    assert {factor.name: factor.levels for factor in plan.factors} == {
        "layout": ("HD2", "SS2"),
        "dfs.blocksize": ("64MiB", "128MiB"),
    }
    assert (plan.parameters["dfs.replication"], plan.repetitions) == ("2", 3)
    first = document_of_content(api_plan.content_of(asked(layouts=["HD2"], levels={}))).text
    assert "layout: HD2" in first
    assert "factors" not in first


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=10))
def test_texts_cannot_break_out_of_their_field(name: str, level: str, value: str) -> None:
    question = asked(
        name=name, layouts=["HD2"], levels={"dfs.blocksize": [level]}, parameters={"dfs.replication": value}
    )
    try:
        factors = [factor.name for factor in api_plan.plan_of(question, CLUSTER).factors]
    except SpecificationError as error:
        factors = [(error.where or "").partition(":")[0]]
    assert factors in (["layout", "dfs.blocksize"], ["plan.yaml"])


def test_too_many_runs_are_refused_before_they_are_laid_out() -> None:
    wide = {f"mapreduce.f{n}": list(map(str, range(50))) for n in range(8)}
    began = time.monotonic()
    with pytest.raises(SpecificationError, match="runs"):
        api_plan.plan_of(asked(layouts=["HD2"], levels=wide), CLUSTER)
    assert time.monotonic() - began < 5


def test_the_api_counts_runs_and_names_what_is_wrong(tmp_path: Path) -> None:
    client = client_of(filled(tmp_path / "r").root, cluster_folders=[EXAMPLES])
    assert "lab/cluster.yaml" in [entry["name"] for entry in client.get("/api/v1/clusters").json()]
    assert not [entry for entry in client.get("/api/v1/clusters").json() if "plan" in entry["name"]]
    answer = client.post("/api/v1/plan", json=ASKED).json()
    assert (answer["runs"], answer["configurations"], len(answer["rows"])) == (4, 2, 4)
    assert answer["expected_s"] > 0
    wrong = client.post("/api/v1/plan", json={**ASKED, "layouts": ["HD9"]})
    assert (wrong.status_code, wrong.json()["where"].startswith("plan.yaml:")) == (400, True)
    for name in ("../secret.yaml", "lab/hdd-vs-ssd.yaml", "/etc/passwd"):
        assert client.post("/api/v1/plan", json={**ASKED, "cluster": name}).status_code == 404
    pasted = client.post("/api/v1/plan", json={**ASKED, "cluster_text": "cluster: x\n"})
    assert (pasted.status_code, pasted.json()["where"]) == (400, "cluster.yaml:1")


def _runner(root: Path, folder: Path, **options: Any) -> Any:
    tokens = folder / "tokens"
    tokens.write_text(f"run {RUN_TOKEN}\nread reading-token-of-the-tests\n")
    tokens.chmod(0o600)
    return client_of(root, host="assay.example", tokens=read_tokens(tokens), cluster_folders=[EXAMPLES], **options)


@pytest.mark.slow
def test_only_who_may_run_starts_a_campaign_where_the_server_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = filled(tmp_path / "r").root
    run, read = ({"Authorization": f"Bearer {token}"} for token in (RUN_TOKEN, "reading-token-of-the-tests"))
    assert client_of(root).post("/api/v1/plan/start", json=ASKED).status_code == 403
    assert _runner(root, tmp_path).post("/api/v1/plan/start", json=ASKED, headers=run).status_code == 403
    client = _runner(root, tmp_path, campaigns=True)
    assert client.post("/api/v1/plan/start", json=ASKED, headers=read).status_code == 403
    assert client.post("/api/v1/plan/start", json=ASKED).status_code == 401
    pasted = client.post("/api/v1/plan/start", json={**ASKED, "cluster_text": CLUSTER}, headers=run)
    assert (pasted.status_code, "needs a cluster file" in pasted.json()["message"]) == (403, True)

    called = []

    def fake(path: Path, repository: Path, log: Path) -> Any:
        import subprocess

        called.append((path.read_text(), repository, log))
        return subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)

    monkeypatch.setattr(api_plan, "_run", fake)
    answer = client.post("/api/v1/plan/start", json=ASKED, headers=run)
    assert (answer.status_code, answer.json()["runs"]) == (200, 4)
    assert "plan: mine" in called[0][0]
    assert (called[0][2].parent / "cluster.yaml").read_text() == CLUSTER
    assert client.post("/api/v1/plan/start", json=ASKED, headers=run).status_code == 409, "one at a time"
    process = client.app.state.context.started_campaigns[-1].process
    process.kill()
    process.wait()
    assert client.post("/api/v1/plan/start", json=ASKED, headers=run).status_code == 200
    client.app.state.context.started_campaigns[-1].process.kill()
    client.app.state.context.started_campaigns[-1].process.wait()


@pytest.mark.slow
def test_a_question_without_an_answer_leads_to_its_plan(tmp_path: Path) -> None:
    """The page has the layout of the runs and counts without a cluster file; plan.yaml needs none either."""
    client = client_of(filled(tmp_path / "r").root)
    link = re.search(r'data-question="nodes".*?href="(/plan[^"]*)"', client.get("/").text, re.DOTALL)
    assert link is not None
    address = html.unescape(link[1])
    page = client.get(address).text
    fields = parse_qs(urlsplit(address).query)
    assert fields["layouts"][0] in ("HD2", "SS2")
    assert f'name="layouts" value="{fields["layouts"][0]}"' in page
    assert "<b>6 runs</b>" in page
    assert re.search(r"<b>[\d.]+ (s|min)[^<]*</b> <span>expected", page)
    file = client.post("/plan/file/plan", content=f"{urlsplit(address).query}&options=")
    assert file.status_code == 200
    assert "workers: [3, 6]" in file.text


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = filled(tmp_path_factory.mktemp("plan") / "repository").root
    with served(create_app(root, cluster_folders=[EXAMPLES])) as url:
        yield url


def test_the_page_counts_while_parts_change_and_gives_the_files(watched: ObservedRun) -> None:
    page = watched.open("/plan?cluster=lab%2Fcluster.yaml")
    assert "Enter the storage layouts" in page.locator("#plan-result").inner_text()
    page.get_by_label("Storage layouts").fill("HD2, SS2")
    page.get_by_text("6 runs", exact=True).wait_for()
    page.get_by_label("Repetitions").fill("5")
    page.get_by_text("10 runs", exact=True).wait_for()
    page.get_by_label("Workload 2", exact=True).select_option("wordcount")
    page.get_by_label("Data of workload 2").fill("1GB/node")
    page.get_by_text("20 runs", exact=True).wait_for()
    address = page.url
    with page.expect_download() as download:
        page.get_by_role("button", name="Download plan.yaml").click()
    text = Path(download.value.path()).read_text()
    assert "wordcount: {data_per_node: 1GB}" in text
    watched.open(address.removeprefix(watched.server))
    assert page.get_by_text("20 runs", exact=True).count() == 1, "a link shows a colleague the same"
    page.get_by_label("Storage layouts").fill("HD9")
    page.locator("#plan-result [role=alert]").wait_for()
    assert page.get_by_role("button", name="Start it here").count() == 0
    watched.check()


def test_a_pasted_cluster_is_in_the_link(watched: ObservedRun) -> None:
    page = watched.open("/plan?layouts=HD2&workload=terasort&data=1GB&options=")
    page.get_by_text("Another cluster").click()
    page.locator("#cluster-text").fill(CLUSTER.replace("cluster: hdd-vs-ssd", "cluster: pasted"))
    page.get_by_text("of pasted").wait_for()
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    page.get_by_text("of pasted").wait_for()
    assert json.loads(page.evaluate("JSON.stringify(location.hash.startsWith('#cluster='))"))
    watched.check()


@pytest.mark.slow
def test_a_plan_that_continues_runs_of_an_example_has_its_cluster_file(tmp_path: Path) -> None:
    client = client_of(Repository.create(tmp_path / "r").root)
    page = client.get("/plan", params={"runs_on": "bsc-2015-lab", "layouts": "HD2", "data": "1GB"}).text
    assert "cluster: bsc-2015-lab" in page
    assert "of bsc-2015-lab; layouts that fit: " in page
    assert "no file yet" in client.get("/plan", params={"runs_on": "elsewhere"}).text
    assert "assay discover HOST" in client.get("/plan").text


def test_a_time_from_runs_without_a_data_size_says_so(tmp_path: Path) -> None:
    runs = [replace(make_run(number, workload="sort", duration_s=60.0), data_bytes=None) for number in range(3)]
    client = client_of(build_repository(tmp_path / "r", runs).root)
    assert "InfiniBand, about 6 min by the stored runs, which record no data size." in client.get("/").text
    page = client.get("/plan", params={"workload": "sort", "layouts": "SSD"}).text
    assert "from the median time of each workload's runs; the runs of Sort record no data size" in page
