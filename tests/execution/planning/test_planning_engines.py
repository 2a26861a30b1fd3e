"""Test that the engine named in a plan checks, orders and estimates it, with the toy engine."""

from __future__ import annotations

from pathlib import Path

import pytest

import assay.workloads
from assay.execution.engines.rules_catalogue import all_rules
from assay.execution.planning.expansion import expand
from assay.execution.planning.order import restarts, schedule
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import SpecificationError
from assay.model.plans.plan import Plan
from paths import EXAMPLES
from toy_engine import ToyRules

ENGINES = {**all_rules(), "toy": ToyRules()}
MODULE = """
from assay.model.plans.program import Program
from assay.workloads.data_flow import DataFlow
from assay.workloads.workload import ValidationResult, Workload

class Echo(Workload):
    name, title, flow = "echo", "Echo", DataFlow(written=1)

    def programs(self, size, input_path):
        return {"toy": Program("echo", ())}

    async def validate(self, size, outcome, evidence):
        return ValidationResult(())

WORKLOADS = (Echo(),)
"""
PLAN = """\
plan: p
cluster: cluster.yaml
engine: toy
workloads:
  - echo: {data: 1GB}
factors:
  toy.daemon: [a, b]
  toy.job: [a, b]
layout: SSD
repetitions: 1
"""


@pytest.fixture(autouse=True)
def echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "echo.py").write_text(MODULE)
    monkeypatch.setattr(assay.workloads, "__path__", [*assay.workloads.__path__, str(tmp_path / "more")])
    (tmp_path / "cluster.yaml").write_text((EXAMPLES / "lab" / "cluster.yaml").read_text())


def load(folder: Path, text: str = PLAN) -> Plan:
    (folder / "plan.yaml").write_text(text)
    return load_plan(folder / "plan.yaml", ENGINES)


def test_restarts_are_where_the_engine_says_that_daemons_need_them(tmp_path: Path) -> None:
    plan = load(tmp_path)
    reasons = restarts(schedule(plan, expand(plan)), plan)
    assert [reason is not None for reason in reasons] == [True, False, True, False]
    assert reasons[2] in ("toy.daemon a → b", "toy.daemon b → a")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("engine: toy", "engine: tyo", "plan.yaml:3: engine: unknown engine 'tyo'; did you mean 'toy'? valid: hadoop"),
        ("engine: toy", "engine: hadoop", "plan.yaml:5: echo has no program for hadoop; valid: toy"),
        ("[a, b]\nlayout", "[a, b]\n  toy.shell: [sh, fish]\nlayout", "plan.yaml:9: toy.shell: it is not sh"),
        ("toy.job: [a, b]", "toy.not.one: [a, b]", "plan.yaml:8: none of the toy's (layout=SSD toy.daemon=a"),
        (
            "toy.job: [a, b]",
            "containers: [2, 4]",
            "plan.yaml:8: unknown factor 'containers'; valid: layout, engine, network",
        ),
        (
            "layout: SSD",
            "layout: x\nlayouts:\n  x: {hdfs: [ssd1], intermediate: [ssd1], policy: HOT}",
            "no storage policies",
        ),
    ],
)
def test_values_refused_by_the_engine_are_named_with_their_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in PLAN
    with pytest.raises(SpecificationError) as caught:
        load(tmp_path, PLAN.replace(old, new, 1))
    assert words in str(caught.value).replace(f"{tmp_path}/", "")
