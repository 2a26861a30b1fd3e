"""Test a campaign started on a page and run by real Hadoop; the pages follow it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.interfaces.web.server.app import create_app
from assay.interfaces.web.server.security import read_tokens
from assay.store import Repository
from browser_support import ObservedRun
from campaign_support import require_hadoop, write_local_plan
from web_support import served

pytestmark = [pytest.mark.hadoop, pytest.mark.later]
TOKEN = "running-token-of-the-tests"
MAKING_MS = 600_000


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_hadoop()
    return Repository.create(tmp_path_factory.mktemp("started") / "repository").root


@pytest.fixture(scope="module")
def server(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("clusters")
    write_local_plan(folder, "here", "")
    tokens = folder / "tokens"
    tokens.write_text(f"run {TOKEN}\n")
    tokens.chmod(0o600)
    app = create_app(root, tokens=read_tokens(tokens), cluster_folders=[folder], campaigns=True)
    with served(app) as url:
        yield url
        for process in app.state.context.started_campaigns:
            process.process.terminate()
            process.process.wait(timeout=120)


def test_a_plan_is_started_followed_and_its_run_shown(watched: ObservedRun, root: Path) -> None:
    page = watched.page
    page.goto(
        f"{watched.server}/plan?cluster=cluster.yaml&layouts=SSD&workload=teragen&data=8MB"
        "&options=maps%3D1&repetitions=1&name=from-the-page"
    )
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("1 run", exact=True).wait_for()
    page.get_by_role("button", name="Start it here").click()
    page.get_by_role("heading", name="Under way: from-the-page").wait_for(timeout=MAKING_MS)
    page.locator("section.live").wait_for(state="detached", timeout=MAKING_MS)
    watched.open("/runs?where=plan%3Dfrom-the-page")
    (run,) = Repository.open(root).runs()
    assert (run.status, run.workload, run.layout) == ("valid", "teragen", "SSD")
    page.locator(f"a[href^='/runs/{run.run_id}']").first.click()
    page.wait_for_selector("body[data-charts=drawn]")
    assert "valid" in page.locator("main").inner_text()
    watched.check()
