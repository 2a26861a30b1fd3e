"""Test a whole campaign on a third engine, which is passed in where plans are read and run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import RepositoryError, SpecificationError
from assay.model.runs.origin import Origin
from assay.model.runs.run_status import RunStatus
from assay.store import Repository
from campaign_support import assay_json
from paths import TESTS
from step_recorder import StepRecorder
from toy_campaign import run_toy_campaign, write_toy_plan
from toy_engine import ToyRules

ENGINE_LINES_MAX = 70

BODY = """
layout: SSD
workloads:
  - words: {data: 100kB}
  - words: {data: 100kB, how: badly, label: no-words}
factors: {toy.daemon: [one, two]}
repetitions: 2
attempts: 1
"""


@pytest.fixture
def plan_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return write_toy_plan(tmp_path, BODY, monkeypatch)


def test_an_engine_is_written_in_few_lines() -> None:
    lines = (TESTS / "support" / "toy_engine.py").read_text().splitlines()
    assert len([line for line in lines if line.strip()]) <= ENGINE_LINES_MAX


def test_a_plan_names_only_engines_that_exist(plan_path: Path) -> None:
    with pytest.raises(SpecificationError, match="unknown engine 'toy'; valid: hadoop"):
        load_plan(plan_path)
    assert load_plan(plan_path, {"toy": ToyRules()}).engine == "toy"


@pytest.mark.slow
def test_a_third_engine_makes_every_run_of_a_plan_and_records_it(plan_path: Path, tmp_path: Path) -> None:
    repository, observer = Repository.create(tmp_path / "repository"), StepRecorder()
    # Three consecutive failures end a campaign; here every second run fails.
    summary = run_toy_campaign(plan_path, repository, observer)
    assert (summary.made, dict(summary.statuses)) == (8, {"valid": 4, "failed": 4})
    assert any(step.startswith("job: sh") for step in observer.steps)

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

    description = assay_json("show", run.run_id, "--repository", repository.root)
    assert (description["engine"], description["status"]) == ("toy", "valid")
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
    assert run_toy_campaign(plan_path, repository, StepRecorder()).made == 2
    again = run_toy_campaign(plan_path, repository, StepRecorder())
    assert (again.made, again.already_there) == (0, 2)


class JournalBreaker(StepRecorder):
    """A watcher that replaces the journal by a folder when the first job starts."""

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
    breaker = JournalBreaker(repository)
    with pytest.raises(RepositoryError, match="the campaign can't be stored: Is a directory"):
        run_toy_campaign(plan_path, repository, breaker)
    assert repository.runs() == []
    breaker.journal.rmdir()
    breaker.journal.with_suffix(".kept").rename(breaker.journal)
    assert run_toy_campaign(plan_path, repository, StepRecorder()).made == 4
