"""Test docs/reference/specifications.md: examples load, errors match, every key is described."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.execution.planning.plan_files.schemas import json_schema
from assay.foundation.errors import SpecificationError
from assay.specs import load_cluster, load_prices
from paths import ROOT

TEXT = (ROOT / "docs" / "reference" / "specifications.md").read_text()
BLOCKS: list[str] = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)


def block(first_line: str) -> str:
    return next(text for text in BLOCKS if text.startswith(first_line))


def test_the_examples_load(tmp_path: Path) -> None:
    for name, first_line in (
        ("cluster", "cluster: hdd-vs-ssd"),
        ("ssh", "cluster: rack"),
        ("plan", "plan:"),
        ("prices", "prices:"),
    ):
        (tmp_path / f"{name}.yaml").write_text(block(first_line))
    assert len(load_cluster(tmp_path / "cluster.yaml").workers) == 3
    assert load_cluster(tmp_path / "ssh.yaml").workers[2].name == "data3"
    assert set(load_plan(tmp_path / "plan.yaml").layouts) == {"HD2", "SS2", "split"}
    assert len(load_prices(tmp_path / "prices.yaml").items) == 3


@pytest.mark.parametrize("kind", ["cluster", "plan", "prices"])
def test_every_key_is_documented(kind: str) -> None:
    schema = json_schema(kind)
    keys = {key for model in (schema, *schema["$defs"].values()) for key in model.get("properties", {})}
    prose = re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)
    documented = set(re.findall(r"[a-z][a-z_-]*", " ".join(re.findall(r"`([^`]+)`", prose))))
    assert keys - documented == set()


def test_the_errors_are_what_assay_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cluster, plan = block("cluster: hdd-vs-ssd"), block("plan:")
    wrong = cluster.replace("memory: 16GB", "memroy: 16GB").replace("read: 120MB/s", "read: 120Mbit/s")
    Path("cluster.yaml").write_text(wrong.replace("count: 3}", "count: three}"))
    with pytest.raises(SpecificationError) as caught:
        load_cluster("cluster.yaml")
    assert without_lines(f"assay: {caught.value}") in without_lines(TEXT)
    Path("cluster.yaml").write_text(cluster)
    Path("hdd-vs-ssd.yaml").write_text(re.sub(r"\bSS2\b", "SS4", plan))
    with pytest.raises(SpecificationError) as caught:
        load_plan("hdd-vs-ssd.yaml")
    assert without_lines(f"assay: {caught.value}") in without_lines(TEXT)


def without_lines(text: str) -> str:
    """Return ``text`` with line numbers masked: an example may gain a comment."""
    return re.sub(r"\.yaml:\d+", ".yaml:N", text)
