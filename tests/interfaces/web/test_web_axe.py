"""Test that no page has a serious axe finding, on a laptop and a phone, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from assay.interfaces.web.server.app import create_app
from assay.specs.prices import prices_of
from browser_support import watched_page
from builders import PRICES_YAML, make_run, study_runs
from detail_support import make_task
from paths import EXAMPLES
from web_support import filled, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
axe = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="SKIPPED LOUDLY: no axe, pages were not checked"
)
RUNS = [run.run_id for run in study_runs() if run.workload == "terasort" and run.status == "valid"]
BOOK = PRICES_YAML.replace("per: cluster,", "per: cluster-hour,")
PAGES = {
    "overview": "/",
    "runs": f"/runs?pick={RUNS[0]}&pick={RUNS[1]}&where=workload%3Dterasort",
    "no run": "/runs?where=layout%3DSS2&where=status%3Dfailed",
    "run": f"/runs/{make_run(0).run_id}",
    "tasks": f"/runs/{make_run(950).run_id}/tasks",
    "cluster": "/clusters/lab-small",
    "configuration": f"/configurations/{make_run(0).run_id}",
    "log": f"/runs/{make_run(0).run_id}/logs/job.log",
    "compare": f"/compare?run={RUNS[0]}&run={RUNS[-1]}&of=runs",
    "compare nothing": "/compare",
    "scatter": "/scatter?by=layout",
    "speedup": "/speedup?by=layout",
    "aloja": "/speedup?method=aloja",
    "cost": "/cost?workload=terasort",
    "years": "/cost?view=years&cluster=lab-small",
    "quality": "/quality",
    "changes": "/changes",
    "gate": "/gate?baseline=2026-07-01",
    "gate failed": "/gate?baseline=yesterday",
    "what if": "/whatif",
    "recommend": "/recommend",
    "size": "/size",
    "instances": "/instances?name=i4i.*&type=i4i.large&speed-x86_64=1:1:1&rates-nvme=1GB/s:1GB/s&price-i4i.large=1",
    "hosts": "/hosts",
    "plan": "/plan",
    "plan counted": "/plan?cluster=lab%2Fcluster.yaml&layouts=HD2,SS2&workload=terasort&data=2GB&options=",
    "error": "/runs?where=nothing%3D1",
    "login": "/login",
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
    violations_by_page = {}
    with watched_page(browser, server, width_px, color_scheme=scheme, bypass_csp=True) as watched:
        for name, address in PAGES.items():
            watched.open(address)
            violations = axe.Axe().run(watched.page).response["violations"]
            serious = [item for item in violations if item["impact"] in ("serious", "critical")]
            if serious:
                violations_by_page[name] = [
                    (item["id"], [node["html"][:160] for node in item["nodes"][:3]]) for item in serious
                ]
    assert not violations_by_page, "\n".join(f"{name}: {what}" for name, what in violations_by_page.items())
