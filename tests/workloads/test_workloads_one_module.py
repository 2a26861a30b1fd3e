"""Test that a new workload needs one new module and no change elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import assay.workloads
from assay.analysis.run_profile.run_detail import replication_of
from assay.analysis.statistics.runs.factors_of_runs import matching_factors
from assay.execution.planning.expansion import expand
from assay.execution.planning.forecast.device_space import claims_of
from assay.execution.planning.forecast.estimate import JOB_START_S, expected_time
from assay.execution.planning.forecast.inputs import datasets_after, size_of
from assay.execution.planning.order import PlannedRun, schedule
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.execution.planning.plan_files.schemas import json_schema
from assay.foundation.errors import SpecificationError
from assay.model.plans.program import Outcome, StoredFiles
from assay.text.titles import workload_title
from assay.workloads.catalogue import workloads
from assay.workloads.workload import ValidationInput
from builders import make_run
from cluster_texts import cluster_text

MODULE = '''
"""Reverse: reads lines, sends each to a reduce, and writes it backwards, twice over."""

from assay.model.plans.program import Program
from assay.workloads.common.checks import common_checks, equal
from assay.workloads.common.hadoop_options import storage_options
from assay.workloads.common.inputs import OUTPUT, generated_input
from assay.workloads.workload import MAPS, ValidationResult, Option, Workload
from assay.workloads.data_flow import DataFlow


class Reverse(Workload):
    """Write lines backwards."""

    name, title = "reverse", "Lines backwards"
    options = (MAPS, Option("turns", "How often a line is turned."), Option("by", "What is turned.", ("word", "line")))
    flow = DataFlow(read=1, shuffled=1, written=2)
    wave_options = ("turns",)
    copies = 1
    outputs = (f"{OUTPUT}/reverse",)

    def input(self, size):
        options = storage_options(size)
        return generated_input("lines", lambda path: Program("x.Lines", (path,), options), size.data_bytes, 2)

    def programs(self, size, input_path):
        turns = size.options.get("turns", "1")
        return {"hadoop": Program("x.Reverse", (input_path or "", f"{OUTPUT}/reverse", turns))}

    async def validate(self, size, outcome, evidence):
        stored = await evidence.files.stored(f"{OUTPUT}/reverse")
        doubled = equal("bytes in HDFS", stored.length_bytes, 2 * size.data_bytes)
        return ValidationResult((*common_checks(outcome), doubled))


WORKLOADS = (Reverse(),)
'''
CLUSTER = cluster_text(
    {"hdd": "{kind: hdd, count: 2, read: 100MB/s, write: 100MB/s, capacity: 500GB, directories: [/h1, /h2]}"}, header=""
)
PLAN = """\
plan: p
cluster: cluster.yaml
parameters: {dfs.replication: 2}
workloads:
  - reverse: {data: 100GB, maps: 4, by: word}
factors:
  reverse.turns: [3, 5]
layout: HD2
repetitions: 1
"""


class OneFile:
    """A file system in which everything has one length."""

    def __init__(self, length_bytes: int) -> None:
        self.length_bytes = length_bytes

    async def exists(self, path: str) -> bool:
        return True

    async def stored(self, path: str) -> StoredFiles:
        return StoredFiles(1, self.length_bytes, self.length_bytes)

    async def read(self, path: str) -> bytes:
        return b""

    async def paths(self, path: str) -> list[str]:
        return [path]


@pytest.fixture(autouse=True)
def reverse_workload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "reverse.py").write_text(MODULE)
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "plan.yaml").write_text(PLAN)
    monkeypatch.setattr(assay.workloads, "__path__", [*assay.workloads.__path__, str(folder)])
    yield
    monkeypatch.undo()
    assert "reverse" not in workloads()


def planned_runs(folder: Path) -> list[PlannedRun]:
    plan = load_plan(folder / "plan.yaml")
    return schedule(plan, expand(plan))


def test_a_plan_names_the_workload_with_its_options_and_is_checked_by_them(tmp_path: Path) -> None:
    runs = planned_runs(tmp_path)
    assert sorted(run.workload.parameters["turns"] for run in runs) == ["3", "5"]
    assert json_schema("plan")["$defs"]["reverse"]["properties"]["by"]["enum"] == ["word", "line"]
    for old, new, words in (
        ("by: word", "by: page", "plan.yaml:5: by: unknown by 'page'; valid: word, line"),
        ("maps: 4", "reduces: 4", "valid: data, data_per_node, waves, label, maps, turns, by"),
        ("[3, 5]", "[3, x]", "plan.yaml:7: reverse.turns: 'x' is not a whole number"),
        ("maps: 4", "waves: 4", "waves sets reverse's turns"),
    ):
        (tmp_path / "plan.yaml").write_text(PLAN.replace(old, new))
        with pytest.raises(SpecificationError) as caught:
            planned_runs(tmp_path)
        assert words in str(caught.value)


def test_time_and_room_follow_from_its_data_flow(tmp_path: Path) -> None:
    """Read once and shuffled, 200 GB are read, and 100 GB of map output and 200 GB of output in one copy are written:
    at half of 200 MB/s on each of two workers.
    """
    plan = load_plan(tmp_path / "plan.yaml")
    run = planned_runs(tmp_path)[0]
    assert expected_time(run, plan, []).duration_s == pytest.approx(JOB_START_S + (200e9 + 300e9) / 200e6)
    [claim] = claims_of(plan, [run]).temporary
    assert [part.bytes for part in claim.hdfs] == [200e9]
    assert claim.intermediate is not None
    assert claim.intermediate.bytes == 2 * 100e9
    assert [(dataset.name, dataset.data_bytes, dataset.copies) for dataset in datasets_after(run, plan)] == [
        ("lines", 100 * 10**9, 2)
    ]


def test_pages_and_comparisons_use_a_new_workload(tmp_path: Path) -> None:
    assert workload_title("reverse") == "Lines backwards"
    options = {"program": "reverse", "turns": "8", "waves": "2"}
    run = make_run(workload="reverse", workload_parameters=options, parameters={"dfs.replication": "3"})
    assert replication_of(run) == 1
    assert "reverse.turns" not in matching_factors(run, "layout"), "what waves sets is not another difference"


def test_the_checks_of_a_workload_examine_the_output_of_its_program(tmp_path: Path) -> None:
    plan = load_plan(tmp_path / "plan.yaml")
    run = planned_runs(tmp_path)[0]
    workload, size = workloads()["reverse"], size_of(run, plan)
    program = workload.programs(size, "/in")[plan.engine]
    assert program.arguments == ("/in", "/assay/output/reverse", run.workload.parameters["turns"])
    for length_bytes, failed_checks in ((200 * 10**9, []), (100 * 10**9, ["bytes in HDFS"])):
        validation_input = ValidationInput(OneFile(length_bytes), {}, None, "/in")
        result = asyncio.run(workload.validate(size, Outcome(0, "", {}, 0, 1.0), validation_input))
        assert [check.name for check in result.checks if not check.passed] == failed_checks


def test_a_workload_without_a_data_flow_is_refused(tmp_path: Path) -> None:
    text = MODULE.replace('"reverse"', '"forgotten"').replace(
        "    flow = DataFlow(read=1, shuffled=1, written=2)\n", ""
    )
    (tmp_path / "more" / "forgotten.py").write_text(text)
    assay.workloads.__path__.append(str(tmp_path))  # another key of the catalogue's cache
    with pytest.raises(ValueError, match="'forgotten' does not declare its flow"):
        workloads()


def test_two_workloads_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "more" / "again.py").write_text(MODULE)
    assay.workloads.__path__.append(str(tmp_path))  # another key of the catalogue's cache
    with pytest.raises(ValueError, match="two workloads are called 'reverse'"):
        workloads()
