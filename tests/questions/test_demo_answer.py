"""Test that five clients get the answer of `assay decide` on the demo's runs: speedup, interval and cost.

The clients are real: a notebook under nbmake, the pipelines of the documentation in a shell, Debian's Prometheus,
Chromium on the files of a published site, and the client library of the Model Context Protocol.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult
from ruamel.yaml import YAML

from assay.interfaces.web.server.app import create_app
from assay.specs import load_prices
from browser_support import watched_page
from command import printed
from paths import EXAMPLES, ROOT, TESTS
from prometheus_support import first_result, prometheus, query_result
from simulator_support import EXAMPLE, needs_simulator
from web_support import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PRICES = EXAMPLES / "sandisk-2014" / "prices.yaml"
DEMO = TESTS / "data" / "demo.csv"
"""The runs of a demo: 3 workloads, 2 layouts, 3 repetitions."""
NIGHTLY = TESTS / "data" / "nightly.csv"
PIPELINES = ROOT / "docs" / "how-to" / "gate-a-pipeline.md"
TIMEOUT_S = 240
Figures = tuple[float, float, float, float, float, float]


def figures_of(option: Mapping[str, Any]) -> Figures:
    """Return speedup and cost ratio of an option, each with its interval."""
    low, high = ((option[name]["low"], option[name]["high"]) for name in ("time", "cost"))
    return (option["time"]["ratio"], *low, option["cost"]["ratio"], *high)


def first_option(decisions: Any) -> Figures:
    return figures_of(decisions[0]["decision"]["options"][0])


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("demo") / "repository"
    printed("import", DEMO, "--repository", root)
    return root


@pytest.fixture(scope="module")
def answer(demo: Path) -> Figures:
    """Return the figures of the command."""
    decisions = json.loads(printed("decide", "layout", "--prices", PRICES, "--repository", demo, "--json"))
    figures = first_option(decisions)
    text = printed("decide", "layout", "--prices", PRICES, "--repository", demo)
    assert f"{figures[0]:.2f}×" in text
    assert f"95 % interval {figures[1]:.2f} to {figures[2]:.2f}" in text
    assert f"{figures[3]:.2f}× ({figures[4]:.2f} to {figures[5]:.2f})" in text
    return figures


@contextmanager
def command_in(folder: Path) -> Iterator[dict[str, str]]:
    """Yield an environment in which `assay` is this source tree."""
    command = folder / "bin" / "assay"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m assay "$@"\n')
    command.chmod(0o755)
    yield {**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}


@pytest.mark.slow
def test_a_notebook_has_the_answer(demo: Path, answer: Figures, tmp_path: Path) -> None:
    source = f"""import json, assay
decided = assay.open({str(demo)!r}).decide("layout", prices={str(PRICES)!r})
option = decided.value[0].decision.options[0]
ratios = (option.time, option.cost)
print(json.dumps([value for ratio in ratios for value in (ratio.ratio, ratio.low, ratio.high)]))
decided"""
    notebook = tmp_path / "demo.ipynb"
    cell: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "id": "a",
        "metadata": {},
        "outputs": [],
        "source": source,
    }
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    notebook.write_text(json.dumps({"cells": [cell], "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}))
    words = ["-m", "pytest", "-q", "-c", os.devnull, "--noconftest", "-p", "no:cacheprovider", "-p", "no:schemathesis"]
    with command_in(tmp_path) as environment:
        done = subprocess.run(
            [sys.executable, *words, f"--rootdir={tmp_path}", "--nbmake", "--overwrite", str(notebook)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
    assert done.returncode == 0, done.stdout[-2000:]
    stream, shown = json.loads(notebook.read_text())["cells"][0]["outputs"]
    assert tuple(json.loads("".join(stream["text"]))) == answer
    html = "".join(shown["data"]["text/html"])
    assert f"{answer[0]:.2f}×" in html
    assert f"95 % interval {answer[1]:.2f} to {answer[2]:.2f}" in html
    assert f"{answer[3]:.2f}× ({answer[4]:.2f} to {answer[5]:.2f})" in html
    assert "<svg" in html


def github_script(described: Any) -> list[tuple[str, bool]]:
    """Return the commands of a GitHub workflow, and whether each runs after a failure."""
    (job,) = described["jobs"].values()
    return [(step["run"], step.get("if") == "always()") for step in job["steps"] if "run" in step]


def gitlab_script(described: Any) -> list[tuple[str, bool]]:
    """Return the commands of a GitLab job."""
    (job,) = described.values()
    return [(line, False) for line in job["script"]]


@needs_simulator
@pytest.mark.slow
@pytest.mark.parametrize(("number", "script_of"), [(0, github_script), (1, gitlab_script)])
@pytest.mark.parametrize(("baseline", "fails"), [("2026-03-11", True), ("2026-03-16", False)])
def test_a_documented_pipeline_has_the_answer(
    number: int, script_of: Any, baseline: str, fails: bool, answer: Figures, tmp_path: Path
) -> None:
    printed("import", DEMO, "--repository", tmp_path / "nightly")
    printed("import", NIGHTLY, "--repository", tmp_path / "nightly")
    shutil.copy(PRICES, tmp_path / "prices.yaml")
    plan = EXAMPLE.read_text().replace("cluster.yaml", str(tmp_path / "cluster.yaml"))
    (tmp_path / "plan.yaml").write_text(re.sub(r"  - dfsio.*\n", "", plan).replace("repetitions: 3", "repetitions: 1"))
    cluster = (EXAMPLE.parent / "cluster.yaml").read_text()
    (tmp_path / "cluster.yaml").write_text(re.sub(r"^lab:.*$", "provider: simulated", cluster, flags=re.MULTILINE))
    described = YAML(typ="safe").load(re.findall(r"```yaml\n(.*?)```", PIPELINES.read_text(), re.DOTALL)[number])
    failed, codes = False, []
    with command_in(tmp_path) as environment:
        environment["GITHUB_STEP_SUMMARY"] = str(tmp_path / "summary.md")
        for line, always in script_of(described):
            if failed and not always:
                continue
            for shown, used in (("/data/nightly", "nightly"), ("rack-7", "hdd-vs-ssd"), ("2026-03-11", baseline)):
                line = line.replace(shown, used)
            done = subprocess.run(
                ["bash", "-ec", line], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S
            )
            codes.append(done.returncode)
            assert done.returncode == 0 or "assay gate" in line, (line, done.stderr)
            failed = failed or done.returncode != 0
    assert first_option(json.loads((tmp_path / "decision.json").read_text())) == answer
    suite = ET.fromstring((tmp_path / "gate.xml").read_bytes())
    assert (int(suite.attrib["failures"]) > 0) == (1 in codes) == failed == fails
    verdict = (tmp_path / "gate.md").read_text()
    assert verdict.startswith("**Failed: " if failed else "**Passed: ")
    if number == 0:
        assert (tmp_path / "summary.md").read_text() == verdict


@pytest.mark.slow
def test_prometheus_has_the_answer(demo: Path, answer: Figures, tmp_path: Path) -> None:
    app = create_app(demo, book=load_prices(PRICES))
    with served(app) as server, prometheus(tmp_path, server) as database:
        names = [f"assay_decision_{name}{end}" for name in ("speedup", "cost_ratio") for end in ("", "_low", "_high")]
        labels = '{question="storage",factor="layout",baseline="HD2",option="SS2",origin="measured"}'
        values = []
        for name in names:
            ((_, value),) = first_result(database, name + labels)
            values.append(value)
        assert tuple(values) == answer
        ((_, runs),) = query_result(database, "assay_decision_runs" + labels)
        assert runs == 18
        shown = urllib.request.urlopen(f"{server}/metrics", timeout=30).read()
    checked = subprocess.run(["promtool", "check", "metrics"], input=shown, capture_output=True, timeout=60)
    assert checked.returncode == 0, checked.stderr


@needs_simulator
@pytest.mark.slow
def test_prometheus_watches_a_campaign(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    printed("run", EXAMPLE, "--simulate", "--until", "1 runs", "--repository", root)
    words = ["run", str(EXAMPLE), "--simulate", "--repository", str(root)]
    with served(create_app(root)) as server, prometheus(tmp_path, server) as database:
        first_result(database, 'assay_runs{status="valid"} == 1')
        with command_in(tmp_path) as environment:
            subprocess.run(["assay", *words], env=environment, check=True, capture_output=True, timeout=TIMEOUT_S)
        first_result(database, 'assay_runs{status="valid"} == 18')
        ((labels, planned),) = query_result(database, "max_over_time(assay_campaign_planned_runs[10m])")
        assert (labels["plan"], planned) == ("hdd-vs-ssd", 18)
        ((_, done),) = query_result(database, "max_over_time(assay_campaign_done_runs[10m])")
        assert 1 <= done <= 18
        assert first_result(database, "count(assay_campaign_done_runs) or vector(0)")


@pytest.mark.browser
def test_a_visitor_of_a_published_folder_has_the_answer(
    browser: Browser, demo: Path, answer: Figures, tmp_path: Path
) -> None:
    printed("publish", tmp_path / "site", "--prices", PRICES, "--repository", demo)
    with watched_page(browser, (tmp_path / "site").as_uri()) as watched:
        page = watched.open("/index.html")
        card = page.locator("#storage").inner_text()
        assert f"{answer[0]:.2f}×" in card
        assert f"{answer[1]:.2f} to {answer[2]:.2f}" in card
        assert f"{answer[3]:.2f}× ({answer[4]:.2f} to {answer[5]:.2f})" in card
        watched.check()
    decisions = json.loads((tmp_path / "site" / "downloads" / "decisions.json").read_text())["decisions"]
    assert first_option(decisions["storage"]) == answer


@pytest.mark.slow
def test_an_assistant_has_the_answer(demo: Path, answer: Figures) -> None:
    async def asked() -> Any:
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "assay", "mcp", "--repository", str(demo)],
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        )
        async with Client(server) as client:
            return await client.call_tool("decide", {"question": "layout", "prices": str(PRICES)}, TIMEOUT_S)

    result = asyncio.run(asked())
    assert isinstance(result, CallToolResult)
    assert first_option(result.structured_content["values"]) == answer
    text = str(result.content[0])
    assert f"{answer[0]:.2f}×" in text
    assert f"95 % interval {answer[1]:.2f} to {answer[2]:.2f}" in text
    assert f"{answer[3]:.2f}× ({answer[4]:.2f} to {answer[5]:.2f})" in text
