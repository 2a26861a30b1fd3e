"""Test ``assay campaign`` and ``assay run --dry-run`` for every state of the journal."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from assay.execution.planning.expansion import expand
from assay.execution.planning.order import schedule
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import RepositoryError
from assay.interfaces.cli.main import assay
from assay.store import Repository
from assay.store.campaigns.journal import CampaignJournal, create_campaign
from assay.store.campaigns.status import find_campaigns, status_of
from assay.store.campaigns.timeline import attempts_of, read_events
from paths import ROOT

EXAMPLE = ROOT / "examples" / "lab" / "hdd-vs-ssd.yaml"
PLAN = load_plan(EXAMPLE)


@pytest.fixture
def journal(tmp_path: Path) -> CampaignJournal:
    repository = Repository.create(tmp_path / "repository")
    return create_campaign(repository.folders.campaigns, PLAN, len(schedule(PLAN, expand(PLAN))))


def begin(journal: CampaignJournal, run: int, attempt: int = 1) -> None:
    journal.write("begin", run=run, title=f"run {run}", attempt=attempt, left_s=100.0, workload="terasort")


def end(journal: CampaignJournal, run: int, status: str = "valid", attempt: int = 1) -> None:
    failure = None if status == "valid" else "engine"
    journal.write("end", run=run, attempt=attempt, status=status, failure_class=failure, cause=failure and "it died")


@pytest.fixture
def going(journal: CampaignJournal) -> Iterator[CampaignJournal]:
    """A campaign in its third run, after one that failed once."""
    with journal.hold():
        journal.write("start", planned=18, done=4, left=14, restarts=3)
        begin(journal, 4)
        end(journal, 4)
        begin(journal, 5)
        end(journal, 5, "failed")
        begin(journal, 5, 2)
        journal.set_step("terasort: map 40 %, reduce 0 %")
        yield journal


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(assay, [str(argument) for argument in arguments], catch_exceptions=False)


def root(journal: CampaignJournal) -> Path:
    return journal.folder.parents[1]


def test_status_of_a_running_campaign_has_run_phase_and_end(going: CampaignJournal) -> None:
    began = read_events(going.folder)[-1]["at_unix_s"]
    status = status_of(going.folder, began + 30.0)
    assert (status.running, status.pid) == (True, os.getpid())
    assert (status.planned, status.done, status.failed) == (18, 5, 1)
    assert (status.run, status.title, status.phase) == (6, "run 5", "terasort: map 40 %, reduce 0 %")
    assert status.left_s == pytest.approx(70.0)
    assert [(f.title, f.failure_class, f.cause) for f in status.failures] == [("run 5", "engine", "it died")]
    assert status_of(going.folder, began + 500.0).left_s == 0.0


def test_the_command_prints_the_status_as_text_and_as_json(going: CampaignJournal) -> None:
    shown = invoke("campaign", "status", "--repository", root(going)).output
    assert "running (process" in shown
    assert "5 of 18 runs done, 1 failed" in shown
    assert "now: terasort: map 40 %" in shown
    assert "failed (engine)" in shown
    [status] = json.loads(invoke("campaign", "status", "--json", "--repository", root(going)).output)
    assert (status["running"], status["run"], status["failures"][0]["failure_class"]) == (True, 6, "engine")
    [listed] = json.loads(invoke("campaign", "list", "--json", "--repository", root(going)).output)
    assert listed["campaign_id"] == going.campaign_id
    assert going.campaign_id in invoke("campaign", "list", "--repository", root(going)).output


def test_an_ended_or_interrupted_attempt_is_not_shown_as_running(journal: CampaignJournal) -> None:
    with journal.hold():
        journal.write("start", planned=18, done=0, left=18)
        begin(journal, 0)
    cut = status_of(journal.folder, 0.0)
    assert (cut.running, cut.run, cut.stopped, cut.phase) == (False, None, None, None)
    assert "interrupted" in invoke("campaign", "status", "--repository", root(journal)).output
    journal.write("stop", why="interrupted")
    assert status_of(journal.folder, 0.0).stopped == "interrupted"
    assert "interrupted" in invoke("campaign", "status", "--watch", "--repository", root(journal)).output


def test_an_attempt_of_an_interrupted_call_is_not_shown_as_running(journal: CampaignJournal) -> None:
    begin(journal, 0)
    with journal.hold():
        journal.write("start", planned=18, done=0, left=18)
        assert status_of(journal.folder, 0.0).run is None


def test_campaign_status_changes_nothing(going: CampaignJournal) -> None:
    def state() -> dict[str, tuple[int, bytes]]:
        files = [path for path in root(going).rglob("*") if path.is_file()]
        return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}

    before = state()
    for command in ("status", "list"):
        invoke("campaign", command, "--repository", root(going))
    assert state() == before


def test_the_end_of_a_run_stored_with_its_retry_is_that_of_the_first_attempt(journal: CampaignJournal) -> None:
    begin(journal, 0)
    begin(journal, 0, 2)
    end(journal, 0, "failed", 1)
    assert [attempt.status for attempt in attempts_of(read_events(journal.folder))] == ["failed", None]


@given(cut=st.integers(0, 400), noise=st.binary(max_size=30))
def test_half_written_and_damaged_lines_are_left_out(
    tmp_path_factory: pytest.TempPathFactory, cut: int, noise: bytes
) -> None:
    folder = tmp_path_factory.mktemp("campaign")
    journal = CampaignJournal(folder, "c")
    begin(journal, 0)
    end(journal, 0)
    begin(journal, 1)
    path = folder / "journal.jsonl"
    path.write_bytes(path.read_bytes()[:cut] + noise)
    status_of(folder, 0.0)
    begin(journal, 2)  # a resumed campaign writes a line
    assert attempts_of(read_events(folder))[-1].run == 2


def test_without_campaigns_or_a_repository_the_answer_has_a_hint(tmp_path: Path) -> None:
    Repository.create(tmp_path / "repository")
    assert "assay run PLAN" in invoke("campaign", "list", "--repository", tmp_path / "repository").output
    assert "No campaign" in invoke("campaign", "status", "--repository", tmp_path / "repository").output
    with pytest.raises(RepositoryError, match="no repository"):
        invoke("campaign", "list", "--repository", tmp_path / "none")
    with pytest.raises(RepositoryError, match="no campaign's id begins with 'zz'"):
        find_campaigns(tmp_path / "repository" / "campaigns", "zz", 0.0)


def test_a_dry_run_prints_order_restarts_and_times_and_writes_nothing(tmp_path: Path) -> None:
    shown = json.loads(invoke("run", EXAMPLE, "--dry-run", "--json", "--repository", tmp_path / "none").output)
    assert not (tmp_path / "none").exists()
    assert (shown["planned"], shown["left"], shown["restarts"]) == (18, 18, 4)
    runs = shown["runs"]
    assert [run["run"] for run in runs] == list(range(1, 19))
    assert [bool(run["restart"]) for run in runs].count(True) == 4
    for before, after in itertools.pairwise(runs):
        assert after["starts_after_s"] == pytest.approx(before["starts_after_s"] + before["expected_s"], abs=0.2)
    assert shown["expected_s"] == pytest.approx(runs[-1]["starts_after_s"] + runs[-1]["expected_s"], abs=0.2)
    words = invoke("run", EXAMPLE, "--dry-run", "--repository", tmp_path / "none").output
    assert "layout SS2 → HD2" in words
    assert words.startswith("18 runs, about ")


def test_a_dry_run_of_a_started_campaign_changes_nothing(journal: CampaignJournal) -> None:
    before = sorted(root(journal).rglob("*"))
    shown = json.loads(invoke("run", EXAMPLE, "--dry-run", "--json", "--repository", root(journal)).output)
    assert shown["campaign_id"] == journal.campaign_id
    assert [path for path in sorted(root(journal).rglob("*")) if "index" not in str(path)] == [
        path for path in before if "index" not in str(path)
    ]


def test_a_dry_run_shows_what_only_and_until_leave(tmp_path: Path) -> None:
    options = ("--only", "terasort", "--only", "layout=HD2", "--until", "2 runs", "--repository", tmp_path / "none")
    shown = json.loads(invoke("run", EXAMPLE, "--dry-run", "--json", *options).output)
    assert [(run["workload"], run["levels"]) for run in shown["runs"]] == [("terasort", {"layout": "HD2"})] * 2
    assert shown["left"] == 3
    assert "1 run left for another call: --until 2 runs" in invoke("run", EXAMPLE, "--dry-run", *options).output
