"""One forecast, one answer: the terminal, --json, the API, pages and reports show the same object and figures."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from answer_repositories import text_of
from assay.analysis.run_profile.tables.limits_tables import limit_title
from assay.interfaces.cli.forecast.recommend import recommend
from assay.interfaces.cli.main import assay
from assay.questions.recommendation.request import RecommendRequest
from assay.text import interval_s, seconds, workload_title
from builders import build_repository
from paths import ROOT
from simulator_support import measured_repository, needs_simulator
from web_support import client_of

pytestmark = pytest.mark.slow
TEMPLATES = ROOT / "src/assay/interfaces/web/templates"


def printed(root: Path, *arguments: str) -> str:
    result = CliRunner().invoke(assay, [*arguments, "--repository", str(root)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def assert_rows(text: str, answer: dict[str, Any]) -> None:
    """Assert that ``text`` has a line with the figures of each configuration."""
    lines = text.splitlines()
    for row in answer["configurations"]:
        ratio = f"{row['ratio']:.2f} ({row['ratio_low']:.2f} to {row['ratio_high']:.2f})"
        times = seconds(row["measured_s"]), seconds(row["simulated_s"]), interval_s(row["low_s"], row["high_s"])
        cells = (row["configuration"], *times, ratio, limit_title(row["limit_after"]))
        names = (row["workload"], workload_title(row["workload"]))
        assert any(all(cell in line for cell in cells) and any(name in line for name in names) for line in lines), row


@needs_simulator
@pytest.mark.parametrize("changes", [["layout=SS2"], ["workers.count=6", "nic=25Gbit/s"], []])
def test_every_interface_gives_the_same_answer_to_a_what_if_question(tmp_path: Path, changes: list[str]) -> None:
    root = measured_repository(tmp_path / "repository").root
    flags = [part for change in changes for part in ("--set", change)]
    plain = json.loads(printed(root, "whatif", *flags, "--json"))
    assert len(plain["configurations"]) == 6
    shown = printed(root, "whatif", *flags, "--all")
    with client_of(root) as client:
        assert client.get("/api/v1/whatif", params={"set": changes}).json() == plain
        page = text_of(client.get("/whatif", params=dict(change.split("=", 1) for change in changes)).text)
        run_id = plain["configurations"][3]["run_id"]
        [of_run] = client.get("/api/v1/whatif", params={"set": changes, "run": run_id}).json()["configurations"]
        [of_target] = json.loads(printed(root, "whatif", run_id, *flags, "--json"))["configurations"]
        assert of_run == of_target == plain["configurations"][3]
    texts = [shown, page]
    if changes:
        report = tmp_path / "report.html"
        printed(root, "report", "-o", str(report), *flags)
        texts.append(text_of(report.read_text(encoding="utf-8")))
    assert "2 hard disks per worker (HD2)" in {row["configuration"] for row in plain["configurations"]}
    for text in texts:
        assert not re.search(r"\b(layout|nic|workers\.count)=", plain["sentence"])
        assert plain["sentence"] in text
        assert_rows(text, plain)


@needs_simulator
def test_a_change_that_one_configuration_refuses_is_answered_for_the_others(tmp_path: Path) -> None:
    root = measured_repository(tmp_path / "repository").root
    # Read and write need 3 times the data for the copies; hard disks of this size hold them, the SSDs do not.
    flags = ["--set", "data=1TB"]
    plain = json.loads(printed(root, "whatif", *flags, "--json"))
    refused = {(row["workload"], row["configuration"]) for row in plain["refused"]}
    answered = {(row["workload"], row["configuration"]) for row in plain["configurations"]}
    assert refused
    assert answered
    assert not refused & answered
    assert len(refused | answered) == 6
    shown = printed(root, "whatif", *flags)
    with client_of(root) as client:
        page = client.get("/whatif", params={"data": "1TB"}).text
    for row in plain["refused"]:
        assert (
            f"- not possible for {workload_title(row['workload'])} on {row['configuration']}: {row['reason']}" in shown
        )
        assert f"Not possible for {workload_title(row['workload'])} on {row['configuration']}" in page


def test_the_page_and_the_command_start_a_recommendation_from_the_same_defaults(tmp_path: Path) -> None:
    build_repository(tmp_path / "repository")
    defaults = RecommendRequest()
    with client_of(tmp_path / "repository") as client:
        page = client.get("/recommend").text
        overview = text_of(client.get("/").text)
    fields = dict(re.findall(r'<input name="([^"]+)"[^>]*? value="([^"]*)"', page))
    assert (fields["deadline"], fields["budget"], fields["capacity"]) == ("", "", "")
    assert (fields["years"], fields["confidence"]) == (f"{defaults.years:g}", f"{defaults.confidence:g}")
    named = ("workloads", "budget", "deadline", "capacity", "years", "confidence", "simulations", "seed")
    options = {option.name: option.default for option in recommend.params}
    assert {name: options[name] for name in named} == {name: getattr(defaults, name) for name in named}
    assert "For TeraSort of 1 TB, daily." in overview
    assert 'value="1TB"' in page


def test_an_example_in_an_empty_field_is_marked_as_an_example() -> None:
    templates = [path.read_text(encoding="utf-8") for path in TEMPLATES.glob("*.j2")]
    placeholders = [text for template in templates for text in re.findall(r'placeholder="([^"]*)"', template)]
    assert placeholders
    assert all(text.startswith("for example") for text in placeholders)
