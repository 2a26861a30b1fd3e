"""Test the campaign loop with fake actions: retries by class, stops, publishing during the next run, the journal."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from assay.execution.campaign.attempts.run_context import AttemptContext, CompletedRun
from assay.execution.campaign.loop import CallResult, CampaignWork, RunSequence
from assay.execution.campaign.overheads import call_starts_s, measured_overheads
from assay.execution.campaign.prepare import PreparedCampaign, prepare, recover_unpublished
from assay.execution.planning.expansion import configuration_of
from assay.execution.planning.forecast.call_limits import Stop
from assay.execution.planning.forecast.estimate import JOB_START_S, RUN_EXTRA_S
from assay.execution.planning.next_run import NextRuns, remaining_planned
from assay.execution.planning.order import PlannedRun
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import EngineError, HostError, RepositoryError, UnusableHostError
from assay.model.clusters.device_baseline import DeviceBaseline
from assay.model.clusters.host_checks import HostCheckReport
from assay.model.plans.plan import RETRIES, Plan
from assay.model.runs.run import Run
from assay.model.runs.run_status import FailureClass, RunStatus
from assay.store import Repository
from assay.store.bundles.ids import new_run_id
from assay.store.bundles.unpublished import RESERVED_BYTES_MIN
from assay.store.campaigns.status import status_of
from assay.store.campaigns.timeline import attempts_of, read_events
from builders import make_run
from paths import ROOT
from step_recorder import StepRecorder

EXAMPLE = ROOT / "examples" / "lab" / "hdd-vs-ssd.yaml"
Failure = FailureClass | None


@dataclass
class FakeExecutor:
    """Make runs at once, each failed with the next class of ``failures``, or valid if that is None or none remains."""

    campaign_id: str
    failures: Iterator[Failure]
    unreachable: int = 0
    made: list[tuple[str, int]] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    reconnections: int = 0
    baseline: DeviceBaseline | None = None
    host_checks: HostCheckReport | None = None
    before_job: Callable[[], None] = lambda: None

    async def make(self, planned: PlannedRun, number: int, context: AttemptContext) -> CompletedRun:
        failure = next(self.failures, None)
        self.made.append((planned.title, number))
        self.limits.append(str(context.limit))
        context.report_step("restart", 1000.0, 7.0)
        await context.await_publishing()
        self.before_job()
        context.report_step("job", 1007.0, 60.0)
        return CompletedRun(self._run(planned, number, failure))

    def _run(self, planned: PlannedRun, number: int, failure: Failure) -> Run:
        status = RunStatus.INVALID if failure is FailureClass.VALIDATION else RunStatus.FAILED
        return make_run(
            run_id=new_run_id(),
            campaign_id=self.campaign_id,
            workload=planned.workload.key,
            layout=planned.configuration.layout.name,
            levels=dict(planned.configuration.levels),
            repetition=planned.repetition,
            attempt=number,
            failure_class=failure,
            status=status if failure else RunStatus.VALID,
            cause=f"{failure}!" if failure else None,
        )

    async def reconnect(self) -> None:
        self.reconnections += 1
        if self.unreachable:
            self.unreachable -= 1
            raise HostError("no answer")


class SlowExecutor(FakeExecutor):
    """Make the first attempt at once; later attempts take a minute."""

    async def make(self, planned: PlannedRun, number: int, context: AttemptContext) -> CompletedRun:
        await asyncio.sleep(60 if self.made else 0)
        return await super().make(planned, number, context)


class UnusableHostExecutor(FakeExecutor):
    """Report with each attempt that the disk of a host is full."""

    async def make(self, planned: PlannedRun, number: int, context: AttemptContext) -> CompletedRun:
        made = await super().make(planned, number, context)
        return replace(
            made, unusable_host=UnusableHostError("/mnt/hdd1 has no room left", hint="free space on that device")
        )


class FakeCampaign:
    """A campaign of an example's plan in a new repository. Its clock is ``now``, and its waits are only recorded."""

    def __init__(self, folder: Path, retries: dict[FailureClass, int] | None = None, repetitions: int = 1) -> None:
        self.plan: Plan = replace(
            load_plan(EXAMPLE), repetitions=repetitions, attempts=9, retries=dict(retries or RETRIES), timeout_s=None
        )
        self.repository = Repository.create(folder / "repository")
        self.waits: list[float] = []
        self.now = 0.0
        self.observer = StepRecorder()
        self.next_runs: NextRuns = remaining_planned

    def prepare(self, stop: Stop | None = None, only: tuple[str, ...] = ()) -> PreparedCampaign:
        return prepare(self.plan, self.repository, again=False, only=only, stop=stop, next_runs=self.next_runs)

    async def _pause(self, seconds: float) -> None:
        self.waits.append(seconds)

    def run(
        self,
        *failures: Failure,
        stop: Stop | None = None,
        only: tuple[str, ...] = (),
        unreachable: int = 0,
        before_job: Callable[[], None] = lambda: None,
        executor_type: type[FakeExecutor] = FakeExecutor,
    ) -> tuple[FakeExecutor, CallResult]:
        schedule = self.prepare(stop, only)
        executor = executor_type(schedule.journal.campaign_id, iter(failures), unreachable, before_job=before_job)
        work = CampaignWork(self.plan, self.repository, schedule, self.observer, self._pause, lambda: self.now)

        async def sequence() -> CallResult:
            return await RunSequence(work, executor).run()

        with schedule.journal.hold():
            return executor, asyncio.run(sequence())

    @property
    def folder(self) -> Path:
        return next((self.repository.root / "campaigns").iterdir())


WORKLOAD, ENGINE, INFRASTRUCTURE, VALIDATION = (
    FailureClass.WORKLOAD,
    FailureClass.ENGINE,
    FailureClass.INFRASTRUCTURE,
    FailureClass.VALIDATION,
)


@pytest.mark.parametrize(("failure", "attempts"), [(INFRASTRUCTURE, 4), (ENGINE, 3), (WORKLOAD, 2), (VALIDATION, 1)])
def test_a_run_is_retried_by_the_rule_of_its_failure_class_and_then_given_up(
    tmp_path: Path, failure: FailureClass, attempts: int
) -> None:
    campaign = FakeCampaign(tmp_path)
    executor, result = campaign.run(*[failure] * attempts)
    first = executor.made[0][0]
    assert [number for title, number in executor.made if title == first] == list(range(1, attempts + 1))
    assert result.failures == {str(failure): attempts}
    assert result.statuses["valid"] == 5
    assert campaign.waits == ([5.0, 20.0, 60.0] if failure is INFRASTRUCTURE else [])
    stored = campaign.repository.runs(status="valid" if failure is None else None)
    assert sum(run.failure_class is failure for run in stored) == attempts


def test_the_remaining_time_counts_an_input_until_a_valid_run_has_made_it(tmp_path: Path) -> None:
    campaign = FakeCampaign(tmp_path, repetitions=2)
    campaign.run(INFRASTRUCTURE)
    begins = [event for event in read_events(campaign.folder) if event["event"] == "begin"]
    assert begins[0]["left_s"] == begins[1]["left_s"], "the first attempt failed, so its input may not be there"
    last = begins[-1]
    checked_s = RUN_EXTRA_S + JOB_START_S
    assert last["left_s"] == pytest.approx(last["expected_s"] + checked_s, abs=0.2), "its daemons run already"


def test_hosts_that_come_back_are_reached_anew_and_hosts_that_do_not_end_the_call(tmp_path: Path) -> None:
    campaign = FakeCampaign(tmp_path)
    executor, result = campaign.run(INFRASTRUCTURE, unreachable=2)
    assert executor.reconnections == 3
    assert result.statuses == {"failed": 1, "valid": 6}
    other = FakeCampaign(tmp_path / "other")
    with pytest.raises(HostError, match="no answer"):
        other.run(INFRASTRUCTURE, unreachable=99)
    assert status_of(other.folder, 0.0).stopped == "no answer"
    assert len(other.prepare().remaining) == 6


def test_an_unusable_host_ends_the_call_at_the_first_attempt_and_the_remaining_runs_stay_planned(
    tmp_path: Path,
) -> None:
    campaign = FakeCampaign(tmp_path)
    with pytest.raises(UnusableHostError, match="no room left"):
        campaign.run(*[INFRASTRUCTURE] * 9, executor_type=UnusableHostExecutor)
    assert [event["event"] for event in read_events(campaign.folder)].count("begin") == 1
    assert len(campaign.repository.runs()) == 1
    assert campaign.waits == [], "no wait before an attempt that would fail too"
    assert len(campaign.prepare().remaining) == 6


def test_three_runs_given_up_in_a_row_end_the_call_but_wrong_output_does_not(tmp_path: Path) -> None:
    campaign = FakeCampaign(tmp_path)
    with pytest.raises(EngineError, match="3 runs in a row failed, the last because: workload!"):
        campaign.run(*[WORKLOAD] * 6)
    assert len(campaign.repository.runs()) == 6
    _, result = FakeCampaign(tmp_path / "other").run(*[VALIDATION] * 6)
    assert result.statuses == {"invalid": 6}


def test_a_call_stops_after_the_given_number_of_runs_and_the_next_continues(tmp_path: Path) -> None:
    campaign = FakeCampaign(tmp_path)
    executor, result = campaign.run(WORKLOAD, stop=Stop("2 runs were asked for", runs=2))
    assert result.stop_reason == "2 runs were asked for"
    assert [number for _, number in executor.made] == [1, 2, 1]  # a retry belongs to its run
    second_executor, result = campaign.run()
    assert result.stop_reason is None
    assert len(second_executor.made) == 4
    assert not {title for title, _ in executor.made} & {title for title, _ in second_executor.made}
    assert campaign.prepare().remaining == []


def test_no_run_and_no_retry_begins_after_the_time_is_up(tmp_path: Path) -> None:
    campaign = FakeCampaign(tmp_path)

    def advance_an_hour() -> None:
        campaign.now += 3600.0

    executor, result = campaign.run(
        None, WORKLOAD, stop=Stop("the time is up", at_unix_s=7000.0), before_job=advance_an_hour
    )
    assert [number for _, number in executor.made] == [1, 1]
    assert result.stop_reason == "the time is up"
    assert campaign.prepare().remaining[0][1] == 2  # the next call makes its second attempt


def test_only_selected_runs_are_made_and_the_others_stay_planned(tmp_path: Path) -> None:
    campaign = FakeCampaign(tmp_path)
    executor, _ = campaign.run(only=("terasort", "layout=HD2"))
    assert [title for title, _ in executor.made] == ["terasort on layout=HD2, repetition 1"]
    assert len(campaign.prepare().remaining) == 5


def test_the_next_run_can_be_unplanned_and_depend_on_earlier_ones(tmp_path: Path) -> None:
    """As a tuner would: twice the containers after each run, until one of them fails."""
    campaign = FakeCampaign(tmp_path)

    def doubled(plan: Plan, planned_runs: Sequence[PlannedRun], finished_runs: Sequence[Run]) -> list[PlannedRun]:
        if any(run.status is not RunStatus.VALID for run in finished_runs):
            return []
        first, containers = planned_runs[0], str(2 ** (1 + len(finished_runs)))
        settings = {**plan.parameters, "containers": containers}
        levels = {**first.configuration.levels, "containers": containers}
        return [
            replace(first, configuration=configuration_of(levels, first.configuration.layout, settings, plan.rules))
        ]

    campaign.next_runs = doubled
    executor, result = campaign.run(None, None, VALIDATION)
    assert [title.partition("containers=")[2] for title, _ in executor.made] == [
        "2, repetition 1",
        "4, repetition 1",
        "8, repetition 1",
    ]
    assert result.stop_reason is None
    assert campaign.prepare().remaining == []


def test_a_bundle_is_stored_before_the_next_runs_caches_are_dropped(tmp_path: Path) -> None:
    campaign = FakeCampaign(tmp_path)
    seen: list[int] = []
    campaign.run(before_job=lambda: seen.append(len(campaign.repository.runs())))
    assert seen == [0, 1, 2, 3, 4, 5]
    assert len(campaign.repository.runs()) == 6


def test_a_bundle_that_cannot_be_stored_ends_the_call_and_the_next_call_stores_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    campaign = FakeCampaign(tmp_path)
    publish = campaign.repository.publish

    def full(*_: object, **__: object) -> Path:
        raise RepositoryError("it could not be stored: No space left on device")

    monkeypatch.setattr(campaign.repository, "publish", full)
    began_s = time.monotonic()
    with pytest.raises(RepositoryError, match="could not be stored") as raised:
        campaign.run(executor_type=SlowExecutor)
    assert time.monotonic() - began_s < 30, "the call waited for the concurrent run"
    assert str(tmp_path / "state" / "assay" / "unpublished") in str(raised.value)
    events = read_events(campaign.folder)
    assert [event["event"] for event in events].count("begin") == 2
    assert events[-1]["event"] == "stop"
    assert campaign.repository.runs() == []

    monkeypatch.setattr(campaign.repository, "publish", publish)
    lines: list[str] = []
    recover_unpublished(campaign.repository, campaign.prepare().journal, lines.append)
    assert len(campaign.repository.runs()) == 1
    assert "is stored now" in lines[0]
    assert campaign.repository.verify() == []
    executor, _ = campaign.run()
    assert len(executor.made) == 5, "the stored run is not made again"
    assert not any((tmp_path / "state").rglob("run.json"))
    assert attempts_of(read_events(campaign.folder))[0].status == "valid"


def test_no_run_is_started_without_room_for_its_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = FakeCampaign(tmp_path)
    monkeypatch.setattr("assay.execution.campaign.loop.RESERVED_BYTES_MIN", 1 << 60)
    with pytest.raises(RepositoryError, match="no run is started, because its bundle might not be stored"):
        campaign.run()
    assert [event["event"] for event in read_events(campaign.folder)].count("begin") == 1
    assert campaign.repository.runs() == []
    assert list(campaign.repository.folders.partial.iterdir()) == []
    monkeypatch.undo()
    reserved_bytes: list[int] = []
    partial = campaign.repository.folders.partial
    campaign.run(before_job=lambda: reserved_bytes.extend(path.stat().st_size for path in partial.glob("room~*/room")))
    assert reserved_bytes == [RESERVED_BYTES_MIN] * 6
    assert list(partial.iterdir()) == [], "the reserved space is free again"


def module_at(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def test_the_journal_has_the_time_of_each_step_and_the_overheads_of_later_calls(tmp_path: Path) -> None:
    campaign = FakeCampaign(tmp_path)
    campaign.run(WORKLOAD)
    attempts = attempts_of(read_events(campaign.folder))
    assert [attempt.status for attempt in attempts] == ["failed", *["valid"] * 6]
    assert attempts[0].failure_class == "workload"
    assert {step.name for step in attempts[1].steps} == {"restart", "job", "publish"}
    benchmark = module_at(ROOT / "benchmarks" / "campaign_share.py")
    calls = (("start", 1.0), ("connect", 5.0), ("end", 9.0), ("connect", 100.0), ("stop", 103.0))
    assert benchmark.calls_s([{"event": name, "at_unix_s": at} for name, at in calls]) == 7.0
    share = benchmark.time_share(attempts, job_s_min=60.0)
    assert (share.runs, share.job_s) == (6, 360.0)
    assert share.steps_s["restart"] == 42.0
    assert benchmark.time_share(attempts, job_s_min=61.0).runs == 0
    measured = measured_overheads(campaign.repository.folders.campaigns, campaign.plan.cluster.name)
    assert measured.restart_s == 7.0
    another = measured_overheads(campaign.repository.folders.campaigns, "another")
    assert (another.restart_s, another.begin_s) == (15.0, None)
    assert call_starts_s({"event": name, "at_unix_s": at} for name, at in (*calls[1:], ("start", 104.0))) == [4.0]


def test_later_runs_are_limited_by_the_times_of_comparable_runs(tmp_path: Path) -> None:
    executor, _ = FakeCampaign(tmp_path, repetitions=2).run()
    assert all("no comparable run" in limit for limit in executor.limits[:6])
