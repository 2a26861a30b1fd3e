"""Test that ``assay examples`` copies the documented files, and that ``assay demo`` lists missing programs first."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.execution.lab.probe import Capabilities
from assay.foundation.errors import HostError, SpecificationError
from assay.interfaces.cli.main import assay
from assay.interfaces.cli.start import demo as demo_module
from assay.specs import load_cluster
from paths import EXAMPLES


def test_examples_are_listed_with_their_path() -> None:
    result = CliRunner().invoke(assay, ["examples"])
    assert result.exit_code == 0
    assert str(EXAMPLES / "lab" / "hdd-vs-ssd.yaml") in result.output.splitlines()


def test_examples_are_copied_and_nothing_is_overwritten(tmp_path: Path) -> None:
    result = CliRunner().invoke(assay, ["examples", str(tmp_path / "mine")])
    assert result.exit_code == 0
    assert load_cluster(tmp_path / "mine" / "lab" / "cluster.yaml").workers
    again = CliRunner().invoke(assay, ["examples", str(tmp_path / "mine")])
    assert isinstance(again.exception, SpecificationError)


@pytest.mark.parametrize(("options", "missing"), [(["--local"], "java"), ([], "java, fio, iperf3")])
def test_a_demo_names_the_packages_of_what_is_missing_before_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], missing: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("assay.execution.lab.probe.probe", lambda: Capabilities((), {}, can_shape_links=True))
    monkeypatch.setattr(
        "assay.interfaces.cli.measure.run.run_campaign_request", lambda *_, **__: pytest.fail("it was started")
    )
    result = CliRunner().invoke(assay, ["demo", *options, "--repository", str(tmp_path / "runs")])
    assert isinstance(result.exception, HostError)
    assert result.exception.message == f"not installed: {missing}"
    assert "apt-get install openjdk-17-jre-headless" in str(result.exception)
    assert all(package in str(result.exception) for name, package in demo_module._PROGRAMS.items() if name in missing)
