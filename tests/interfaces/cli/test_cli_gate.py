"""Test `assay gate`: exit codes, verdicts, baselines, and the JUnit and Markdown files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from assay.foundation.errors import AssayError, SpecificationError
from assay.interfaces.cli.main import assay
from builders import build_repository
from nightly import nightly_runs

SINCE = ("--baseline", "2026-03-11T12:00", "--ignore", "build")
"""Nights up to 11 March precede the slowdown, whose first run starts on 12 March."""


def gate(root: Path, *options: str | Path) -> Result:
    return CliRunner().invoke(assay, ["gate", "--repository", str(root), *map(str, options)])


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("gate") / "slower"
    build_repository(root, nightly_runs(1.2))
    return root


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("gate") / "steady"
    build_repository(root, nightly_runs(1.0))
    return root


def test_a_slowdown_fails_the_gate_and_names_the_configuration(slower: Path) -> None:
    done = gate(slower, *SINCE, "--json")
    assert done.exit_code == 1
    view = json.loads(done.stdout)
    first, second = view["rows"]
    assert (view["passed"], view["baseline"]) == (False, "2026-03-11T12:00:00+00:00")
    assert (first["configuration"], first["verdict"]) == ({"layout": "SS2"}, "slower than permitted")
    assert (first["runs_before"], first["runs_since"]) == (11, 9)
    assert 1.05 < first["low"] < 1.2 < first["high"]
    assert second["verdict"] == "not distinguishable"
    text = gate(slower, *SINCE).stdout
    sentence, configuration = text.splitlines()[:2]
    assert sentence == "Failed: 1 of 2 configurations more than 5 % slower since 2026-03-11T12:00:00+00:00."
    assert configuration.startswith("2 SSDs (SS2): ")


def test_no_slowdown_and_a_permitted_one_pass(steady: Path, slower: Path) -> None:
    assert gate(steady, *SINCE).exit_code == 0
    permitted = gate(slower, *SINCE, "--max-slowdown", "30%", "--json")
    assert permitted.exit_code == 0
    assert json.loads(permitted.stdout)["rows"][0]["verdict"] == "slower"


def test_one_slow_night_passes(tmp_path: Path) -> None:
    build_repository(tmp_path / "r", nightly_runs(1.5, nights=12, slow_from=11))
    done = gate(tmp_path / "r", "--baseline", "2026-03-09T12:00", "--ignore", "build")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    "reference", ["build=b10", "2026-03-11T12:00:00+01:00", "00000000-0000-7000-8000-000000000021"]
)
def test_a_baseline_is_a_time_a_condition_or_a_run(reference: str, slower: Path) -> None:
    done = gate(slower, "--baseline", reference, "--ignore", "build", "--json")
    first = json.loads(done.stdout)["rows"][0]
    assert (done.exit_code, first["runs_before"], first["runs_since"]) == (1, 11, 9)


def test_a_campaign_is_a_baseline(slower: Path) -> None:
    done = gate(slower, "--baseline", "campaign-1", "--ignore", "build")
    assert isinstance(done.exception, SpecificationError)
    assert "no configuration has 3 valid runs" in str(done.exception)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--baseline", "yesterday"), "not a time, condition, campaign or run"),
        (("--baseline", "build=b99"), "b99"),
        (("--baseline", "2026-03-11", "--ignore", "biuld"), "did you mean 'build'"),
        (("--baseline", "2026-03-11"), "ignore the factors that differ from run to run"),
        (("--baseline", "2026-03-11", "--max-slowdown", "much"), "such as 5% or 0.05"),
        (("--baseline", "2026-03-11", "--junit", "/nowhere/gate.xml"), "can't be written"),
    ],
)
def test_a_mistake_is_an_error_and_not_a_failed_gate(options: tuple[str, ...], words: str, slower: Path) -> None:
    error = gate(slower, *options).exception
    assert isinstance(error, AssayError)
    assert words in str(error)


def test_junit_and_markdown_have_every_configuration(slower: Path, tmp_path: Path) -> None:
    junit, markdown = tmp_path / "gate.xml", tmp_path / "gate.md"
    assert gate(slower, *SINCE, "--junit", junit, "--markdown", markdown).exit_code == 1
    root = ET.fromstring(junit.read_bytes())
    cases = {case.attrib["name"]: case for case in root.iter("testcase")}
    assert (root.attrib["tests"], root.attrib["failures"]) == ("2", "1")
    assert list(cases) == ["2 SSDs (SS2)", "2 hard disks (HD2)"]
    failure = cases["2 SSDs (SS2)"].find("failure")
    assert failure is not None
    assert failure.attrib["message"].startswith("slower than permitted, 1.")
    assert cases["2 hard disks (HD2)"].find("failure") is None
    text = markdown.read_text(encoding="utf-8")
    assert text.startswith("**Failed: 1 of 2 configurations more than 5 % slower")
    assert "| 2 SSDs (SS2) | slower than permitted | 1." in text


def test_control_characters_leave_the_junit_file_readable(tmp_path: Path) -> None:
    notes = {"HD2": "<a>\x1b|b", "SS2": "plain"}
    named = [replace(run, levels={**run.levels, "note": notes[run.layout]}) for run in nightly_runs(1.2)]
    build_repository(tmp_path / "r", named)
    gate(tmp_path / "r", *SINCE, "--junit", tmp_path / "gate.xml", "--markdown", tmp_path / "gate.md")
    names = [case.attrib["name"] for case in ET.fromstring((tmp_path / "gate.xml").read_bytes()).iter("testcase")]
    assert any("<a>" in name for name in names)
    assert "\\|" in (tmp_path / "gate.md").read_text(encoding="utf-8")
