"""Test a whole campaign on a third engine that is passed in where plans are read and run."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

import assay.workloads
from assay.execution.campaign.attempts.runner import CampaignSummary, run_campaign
from assay.execution.campaign.prepare import prepare
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import RepositoryError, SpecificationError
from assay.model.runs.origin import Origin
from assay.model.runs.run import Run
from assay.model.runs.run_status import RunStatus
from assay.store import Repository
from campaign_support import assay_json, write_local_plan
from paths import TESTS
from toy_engine import TOY, ToyRules

ENGINE_LINES_MAX = 70

MODULE = '''
"""Words: a file of lines is written once, sorted in each run, and checked by sort itself; one option makes it fail."""

from assay.model.plans.program import Program
from assay.workloads.common.checks import common_checks, equal
from assay.workloads.common.inputs import OUTPUT, generated
from assay.workloads.data_flow import DataFlow
from assay.workloads.workload import Figure, ValidationResult, Option, Workload


def sh(script):
    return Program("sh", ("-ec", script), engine="toy")


class Words(Workload):
    """Sort lines."""

    name, title = "words", "Lines sorted"
    options = (Option("how", "Whether it goes well.", ("well", "badly")),)
    flow = DataFlow(read=1, written=1)
    outputs = (f"{OUTPUT}/words",)
    figures = (Figure("sorted_bytes", "length of the sorted lines"),)

    def input(self, size):
        def writing(path):
            return sh(f'mkdir -p "$STORE{path}"; yes word | head -c {size.data_bytes} > "$STORE{path}/part-0"')

        return generated("lines", writing, size.data_bytes, 1, exact=True)

    def programs(self, size, input_path):
        if size.options.get("how") == "badly":
            return {"toy": sh("echo Exception: no words today; exit 3")}
        sorts = f'mkdir -p "$STORE{OUTPUT}/words"; sort "$STORE{input_path}/part-0" > "$STORE{OUTPUT}/words/part-0"'
        return {"toy": sh(sorts)}

    outputs = (f"{OUTPUT}/words",)

    def check_program(self, input_path):
        return sh(f'sort -c "$STORE{OUTPUT}/words/part-0"')

    async def validate(self, size, outcome, evidence):
        stored = await evidence.files.stored(f"{OUTPUT}/words")
        checked = equal("check", evidence.check_outcome.exit_status, 0, "status")
        length = equal("bytes", stored.length_bytes, size.data_bytes)
        return ValidationResult((*common_checks(outcome), length, checked), {"sorted_bytes": stored.length_bytes})


WORKLOADS = (Words(),)
'''
BODY = """
layout: SSD
workloads:
  - words: {data: 100kB}
  - words: {data: 100kB, how: badly, label: no-words}
factors: {toy.daemon: [one, two]}
repetitions: 2
attempts: 1
"""


class Quiet:
    """A watcher that keeps what it is shown."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def say(self, text: str) -> None: ...
    def step(self, text: str) -> None:
        self.steps.append(text)

    def begin(self, number: int, total: int, title: str, left_s: float | None) -> None: ...
    def end(self, run: Run) -> None: ...


@pytest.fixture
def plan_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "words.py").write_text(MODULE)
    monkeypatch.setattr(assay.workloads, "__path__", [*assay.workloads.__path__, str(folder)])
    path = write_local_plan(tmp_path, f"toy-{os.getpid()}", BODY)
    path.write_text(path.read_text().replace("engine: hadoop", "engine: toy"))
    return path


def carried_out(path: Path, repository: Repository, watcher: Quiet) -> CampaignSummary:
    plan = load_plan(path, {"toy": ToyRules()})
    todo = prepare(plan, repository, again=False)
    provide = TOY.provider_of(plan.cluster)
    work = run_campaign(plan, plan.cluster, None, repository, todo, watcher, provide, with_baseline=False)
    return asyncio.run(work)


def test_an_engine_is_written_in_few_lines() -> None:
    lines = (TESTS / "support" / "toy_engine.py").read_text().splitlines()
    assert len([line for line in lines if line.strip()]) <= ENGINE_LINES_MAX


def test_a_plan_names_only_engines_that_there_are(plan_path: Path) -> None:
    with pytest.raises(SpecificationError, match="unknown engine 'toy'; valid: hadoop"):
        load_plan(plan_path)
    assert load_plan(plan_path, {"toy": ToyRules()}).engine == "toy"


@pytest.mark.slow
def test_a_third_engine_makes_every_run_of_a_plan_and_records_it(plan_path: Path, tmp_path: Path) -> None:
    repository, watcher = Repository.create(tmp_path / "repository"), Quiet()
    # Three runs in a row that fail end a campaign: here every second one does.
    summary = carried_out(plan_path, repository, watcher)
    assert (summary.made, dict(summary.statuses)) == (8, {"valid": 4, "failed": 4})
    assert any(step.startswith("job: sh") for step in watcher.steps)

    runs = {status: [run for run in repository.runs() if run.status is status] for status in RunStatus}
    run = runs[RunStatus.VALID][0]
    assert (run.engine, run.engine_version, run.origin) == ("toy", "1", Origin.MEASURED)
    assert run.environment["engine"] == {
        "name": "toy",
        "version": "1",
        "jobs": None,
        "java": None,
        "java_options": "",
        "ports": {},
    }
    assert run.environment["parameters"] == {"toy.shell": "sh", "toy.daemon": run.levels["toy.daemon"]}
    assert [phase.name for phase in run.phases] == ["map"]
    assert [job.status for job in run.jobs] == ["succeeded"]
    assert {check.name for check in run.checks if check.passed} >= {"exit status", "bytes", "check"}
    assert run.sources["phases"] == run.sources["tasks"] == "the command"
    assert run.sources["sorted_bytes"] == "length of the sorted lines"
    assert "per_stream_mb_per_s" not in run.sources, "that is TestDFSIO's own"
    assert run.metrics["sorted_bytes"] == 100_000
    failed = runs[RunStatus.FAILED][0]
    assert failed.cause == "the client ended with 3: Exception: no words today"

    shown = assay_json("show", run.run_id, "--repository", repository.root)
    assert (shown["engine"], shown["status"]) == ("toy", "valid")
    trace = repository.trace(run.run_id)
    assert ("toy", "commands") in set(zip(trace.subject, trace.metric, strict=True))
    [journal] = repository.root.glob("campaigns/*/journal.jsonl")
    events = [json.loads(line) for line in journal.read_text().splitlines()]
    restarts = [event for event in events if event["event"] == "step" and event["step"] == "restart"]
    assert len(restarts) == 3, "one at the start, and one in each of two blocks"


@pytest.mark.slow
def test_a_campaign_of_a_third_engine_continues_where_it_ended(plan_path: Path, tmp_path: Path) -> None:
    plan_path.write_text(plan_path.read_text().replace("  - words: {data: 100kB, how: badly, label: no-words}\n", ""))
    plan_path.write_text(plan_path.read_text().replace("repetitions: 2", "repetitions: 1"))
    repository = Repository.create(tmp_path / "repository")
    assert carried_out(plan_path, repository, Quiet()).made == 2
    again = carried_out(plan_path, repository, Quiet())
    assert (again.made, again.already_there) == (0, 2)


class Breaking(Quiet):
    """A watcher that puts a folder in the journal's place when the first job starts."""

    def __init__(self, repository: Repository) -> None:
        super().__init__()
        self._repository = repository

    @property
    def journal(self) -> Path:
        [folder] = self._repository.root.glob("campaigns/*")
        return folder / "journal.jsonl"

    def step(self, text: str) -> None:
        if text.startswith("job: ") and self.journal.is_file():
            self.journal.rename(self.journal.with_suffix(".kept"))
            self.journal.mkdir()


@pytest.mark.slow
def test_a_campaign_that_cannot_be_recorded_ends_without_failing_a_run(plan_path: Path, tmp_path: Path) -> None:
    plan_path.write_text(plan_path.read_text().replace("  - words: {data: 100kB, how: badly, label: no-words}\n", ""))
    repository = Repository.create(tmp_path / "repository")
    breaking = Breaking(repository)
    with pytest.raises(RepositoryError, match="the campaign can't be stored: Is a directory"):
        carried_out(plan_path, repository, breaking)
    assert repository.runs() == []
    breaking.journal.rmdir()
    breaking.journal.with_suffix(".kept").rename(breaking.journal)
    assert carried_out(plan_path, repository, Quiet()).made == 4
