"""Test that further states of pages have no serious axe finding, on a laptop and a phone, light and dark.

`test_web_widths.py` looks at the pages themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from assay.interfaces.web.server.app import create_app
from assay.specs.prices import prices_of
from browser_support import serious_findings, watched_page
from builders import PRICES_YAML, make_run, study_runs
from detail_support import make_task
from paths import EXAMPLES
from web_support import filled, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
RUNS = [run.run_id for run in study_runs() if run.workload == "terasort" and run.status == "valid"]
BOOK = PRICES_YAML.replace("per: cluster,", "per: cluster-hour,")
PAGES = {
    "no run": "/runs?where=layout%3DSS2&where=status%3Dfailed",
    "runs of a workload": f"/runs?pick={RUNS[0]}&pick={RUNS[1]}&where=workload%3Dterasort",
    "tasks": f"/runs/{make_run(950).run_id}/tasks",
    "log": f"/runs/{make_run(0).run_id}/logs/job.log",
    "compare nothing": "/compare",
    "gate failed": "/gate?baseline=yesterday",
    "plan": "/plan",
    "error": "/runs?where=nothing%3D1",
}

OTHER_PAIRS = [pytest.param(*pair, marks=pytest.mark.long) for pair in ((1280, "dark"), (390, "light"))]
"""Colours depend on the scheme and positions on the width, so two pairs have each scheme and each width."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    repository = filled(tmp_path_factory.mktemp("axe") / "repository")
    slow = make_task(12, 0.0, 40.0)
    repository.publish(make_run(950), tasks=[*(make_task(n, 0.0, 5.0 + n / 10) for n in range(12)), slow])
    root = repository.root
    app = create_app(root, cluster_folders=[EXAMPLES], book=prices_of(PRICES_YAML, "prices"), book_text=PRICES_YAML)
    with served(app) as url:
        yield url


@pytest.mark.parametrize(("width_px", "scheme"), [(1280, "light"), (390, "dark"), *OTHER_PAIRS])
def test_no_page_has_a_serious_finding(browser: Browser, server: str, width_px: int, scheme: str) -> None:
    findings_by_page = {}
    with watched_page(browser, server, width_px, color_scheme=scheme, bypass_csp=True) as watched:
        for name, address in PAGES.items():
            if findings := serious_findings(watched.open(address)):
                findings_by_page[name] = findings
    assert findings_by_page == {}
