"""Execute the runs of a campaign in sequence: attempts, retries by failure class, publishing, and when to stop.

In: a :class:`RunExecutor` that makes one attempt at a time, the remaining runs, and a :class:`ProgressObserver`. Out:
completed bundles, the journal's lines and a :class:`CallResult`. Times are in seconds; clock and pause are passed in,
so that tests need not wait.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Protocol

import msgspec

from assay.execution.campaign.attempts.run_context import AttemptContext, CompletedRun
from assay.execution.campaign.failures import RETRY_WAITS_S, wait_before_retry_s
from assay.execution.campaign.prepare import PreparedCampaign
from assay.execution.planning.forecast.estimate import expected_time, remaining_s, time_limit
from assay.execution.planning.forecast.inputs import datasets_after
from assay.execution.planning.order import PlannedRun, restarts
from assay.foundation.cancellation import end_tasks, finish
from assay.foundation.errors import AssayError, EngineError, HostError, LabLostError, RepositoryError
from assay.foundation.units import format_duration
from assay.model import Configuration, DeviceBaseline, FailureClass, HostCheckReport, Plan, Run, RunStatus
from assay.specs.redaction import files_of_bundles
from assay.store import Repository
from assay.store.bundles.bundle import Contents
from assay.store.bundles.unpublished import RESERVED_BYTES_MIN, keep_unpublished, reserve_space, size_of

CONSECUTIVE_FAILURES_MAX = 3
"""Number of consecutive failed runs after which a call ends, because the cluster is probably broken."""


class ProgressObserver(Protocol):
    """Shows a campaign's progress."""

    def say(self, text: str) -> None:
        """Show a permanent line."""

    def step(self, text: str) -> None:
        """Show the current step; the next call replaces it."""

    def begin(self, number: int, total: int, title: str, left_s: float | None) -> None:
        """Show that run ``number`` of ``total`` begins, with the expected time for all remaining runs, if known."""

    def end(self, run: Run) -> None:
        """Show a finished run."""


class RunExecutor(Protocol):
    """Executes runs on the cluster."""

    async def make(self, planned_run: PlannedRun, attempt_number: int, context: AttemptContext) -> CompletedRun:
        """Make one attempt and return its record, also of a failed run."""

    async def reconnect(self) -> None:
        """Reconnect to the cluster after a host was out of reach. Raises HostError or EngineError if that fails."""

    @property
    def baseline(self) -> DeviceBaseline | None:
        """The baseline of the cluster's devices and links, stored in each bundle."""

    @property
    def host_checks(self) -> HostCheckReport | None:
        """The host checks before the campaign, stored in each bundle."""


@dataclass(frozen=True, slots=True)
class CampaignWork:
    """The remaining work of a campaign, and where it is stored and shown."""

    plan: Plan
    repository: Repository
    schedule: PreparedCampaign
    observer: ProgressObserver
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    now_unix_s: Callable[[], float] = time.time


@dataclass(slots=True)
class CallResult:
    """The result of one call of a campaign."""

    statuses: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    """Number of attempts that were not valid, by failure class."""
    runs: int = 0
    """Number of planned runs that were started."""
    stop_reason: str | None = None
    """Why the call ended before it made all runs; None if it made them all."""
    lab_lost: LabLostError | None = None
    """The lab's error, if the call ended because the lab was lost."""
    stopped_early: int = 0
    """Number of attempts that were stopped because faster runs are known."""


class RunSequence:
    """The remaining runs of a campaign, made by one call."""

    def __init__(self, work: CampaignWork, executor: RunExecutor) -> None:
        self._work = work
        self._executor = executor
        self._journal = work.schedule.journal
        self._history: list[Run] = []
        self._attempt_durations_s: list[float] = []
        """Wall time of each attempt of this call."""
        self._publishing: asyncio.Task[None] | None = None
        self._queue: list[tuple[PlannedRun, int]] = list(work.schedule.remaining)
        """The needed runs, each with the number of its next attempt."""
        self._started_keys: set[tuple[str, str, int]] = set()
        self._inputs = set(work.schedule.existing_inputs)
        self._reserved_bytes = RESERVED_BYTES_MIN
        self._running: Configuration | None = None
        """The configuration of the running daemons, according to the last attempt."""
        self._result = CallResult()
        self._specification_files = files_of_bundles(work.plan)

    async def run(self) -> CallResult:
        """Make the remaining runs until all are made or the call must stop.

        Raises EngineError when several runs in a row fail: the cluster is broken then.
        """
        schedule, plan = self._work.schedule, self._work.plan
        cluster = plan.cluster.name
        runs = await asyncio.to_thread(lambda: self._work.repository.runs(environment=False))
        self._history = [run for run in runs if run.cluster == cluster or run.campaign_id == self._journal.campaign_id]
        daemon_starts = sum(reason is not None for reason in restarts((run for run, _ in self._queue), plan))
        self._journal.write(
            "start", planned=len(schedule.runs), done=schedule.done, left=len(self._queue), restarts=daemon_starts
        )
        stop_reason = "an error"
        try:
            await self._make_all()
            stop_reason = self._result.stop_reason or "all its runs are done"
        except asyncio.CancelledError:
            stop_reason = "interrupted"
            raise
        except LabLostError as error:
            self._result.lab_lost, stop_reason = error, error.message
        except AssayError as error:
            stop_reason = error.message
            raise
        finally:
            await finish(self._await_publishing(), "storing the last run", None)
            self._journal.write("stop", why=stop_reason)
            publish_error = self._publish_error()
        if publish_error is not None:
            raise publish_error
        return self._result

    async def _make_all(self) -> None:
        stop, consecutive_failures = self._work.schedule.stop, 0
        while queue := self._updated_queue():
            if stop and stop.is_reached(self._result.runs, self._work.now_unix_s()):
                self._result.stop_reason = stop.text
                return
            planned_run, attempt_number = queue[0]
            self._started_keys.add(planned_run.key)
            last_run = await self._make(planned_run, attempt_number)
            stopped_early = planned_run.at_most_s is not None and last_run.failure_class is FailureClass.WORKLOAD
            is_failed = last_run.status is RunStatus.FAILED and not stopped_early
            consecutive_failures = consecutive_failures + 1 if is_failed else 0
            if consecutive_failures >= CONSECUTIVE_FAILURES_MAX:
                raise EngineError(
                    f"{consecutive_failures} runs in a row failed, the last because: {last_run.cause}",
                    where=f"campaign {self._journal.campaign_id}",
                    hint="fix the cause; the same command resumes the campaign",
                )

    def _updated_queue(self) -> list[tuple[PlannedRun, int]]:
        """Update the queue of needed runs from the finished runs, without runs that this call has started; return
        the queue."""
        finished_runs = [run for run in self._history if run.campaign_id == self._journal.campaign_id]
        remaining_runs = self._work.schedule.remaining_after(self._work.plan, finished_runs)
        previous_queue, self._queue = (
            self._queue,
            [pair for pair in remaining_runs if pair[0].key not in self._started_keys],
        )
        needed_keys = {planned_run.key for planned_run, _ in self._queue} | self._started_keys
        for planned_run, _ in previous_queue:
            if planned_run.key not in needed_keys:
                self._work.observer.step(f"the mean is precise enough: {planned_run.title} is not needed")
        return self._queue

    async def _make(self, planned_run: PlannedRun, attempt_number: int) -> Run:
        """Attempt one run until it is valid or given up; return its last attempt."""
        failure_classes: list[FailureClass] = []
        self._result.runs += 1
        while True:
            run = await self._attempt(planned_run, attempt_number)
            if run.failure_class is not None:
                failure_classes.append(run.failure_class)
            wait_s = wait_before_retry_s(run, failure_classes, self._work.plan)
            stop = self._work.schedule.stop
            if wait_s is None or (stop and stop.is_reached(0, self._work.now_unix_s())):
                return run
            if run.failure_class is FailureClass.INFRASTRUCTURE:
                await self._wait_and_reconnect(wait_s)
            attempt_number += 1

    def _left_s(self) -> float | None:
        """Return the expected wall time of all remaining runs, in seconds; None if it is unknown.

        For simulations this is computing time, estimated by the mean of this call's earlier simulations.
        """
        work = self._work
        if work.plan.cluster.simulated:
            return fmean(self._attempt_durations_s) * len(self._queue) if self._attempt_durations_s else None
        queued_runs = [run for run, _ in self._queue]
        return remaining_s(queued_runs, work.plan, self._history, work.schedule.overheads, self._inputs, self._running)

    async def _attempt(self, planned_run: PlannedRun, attempt_number: int) -> Run:
        work, began_s = self._work, time.monotonic()
        title = planned_run.title if attempt_number == 1 else f"{planned_run.title}, attempt {attempt_number}"
        left_s = self._left_s()
        limit = time_limit(planned_run, work.plan, self._history)
        work.observer.begin(planned_run.index + 1, len(work.schedule.runs), title, left_s)
        self._journal.write(
            "begin",
            run=planned_run.index,
            title=title,
            workload=planned_run.workload.key,
            attempt=attempt_number,
            left_s=None if left_s is None else round(left_s, 1),
            time_limit=str(limit),
            expected_s=None
            if work.plan.cluster.simulated
            else round(expected_time(planned_run, work.plan, self._history).duration_s, 1),
        )

        def report_step(step: str, began_unix_s: float, took_s: float) -> None:
            self._journal.write(
                "step",
                synced=False,
                run=planned_run.index,
                attempt=attempt_number,
                step=step,
                began_unix_s=round(began_unix_s, 3),
                took_s=round(took_s, 3),
            )

        def report_problem(message: str) -> None:
            self._journal.write("trouble", run=planned_run.index, attempt=attempt_number, words=message)
            work.observer.step(f"ending the attempt: {message}")

        reservation = await asyncio.to_thread(reserve_space, work.repository.folders, self._reserved_bytes)
        try:
            completed_run = await self._await_or_storage_error(
                self._executor.make(
                    planned_run,
                    attempt_number,
                    AttemptContext(limit, self._await_publishing, report_step, report_problem),
                )
            )
        except BaseException:
            reservation.close()
            raise
        work.observer.end(completed_run.run)
        self._attempt_durations_s.append(time.monotonic() - began_s)
        self._history.append(completed_run.run)
        self._result.statuses[str(completed_run.run.status)] += 1
        self._running = planned_run.configuration if completed_run.run.status is RunStatus.VALID else None
        if completed_run.run.status is RunStatus.VALID:
            self._inputs |= {dataset.key for dataset in datasets_after(planned_run, work.plan)}
        if planned_run.at_most_s == limit.seconds and completed_run.run.duration_s >= limit.seconds:
            self._result.stopped_early += 1
        if completed_run.run.failure_class is not None:
            self._result.failures[str(completed_run.run.failure_class)] += 1
        self._publishing = asyncio.create_task(self._publish(planned_run, completed_run, reservation, report_step))
        if completed_run.unusable_host:
            raise completed_run.unusable_host
        return completed_run.run

    async def _await_or_storage_error(self, attempt: Coroutine[Any, Any, CompletedRun]) -> CompletedRun:
        """Await an attempt; if the previous run can't be stored, cancel the attempt and raise that error."""
        task = asyncio.create_task(attempt)
        try:
            publishing = {self._publishing} if self._publishing else set()
            await asyncio.wait({task, *publishing}, return_when=asyncio.FIRST_COMPLETED)
            if self._publish_error() is None:
                await asyncio.wait({task})
            await self._await_publishing()
            if (publish_error := self._publish_error()) is not None:
                raise publish_error
            return task.result()
        finally:
            await end_tasks(task)

    async def _publish(
        self,
        planned_run: PlannedRun,
        completed_run: CompletedRun,
        reservation: ExitStack,
        report_step: Callable[[str, float, float], None],
    ) -> None:
        """Store a bundle while the next run is prepared. The next run drops caches only after this has ended.

        ``reservation``: disk space reserved for the bundle. If the bundle can't be stored, save a copy of the run and
        raise RepositoryError with the copy's path.
        """
        began_unix_s, began_s = self._work.now_unix_s(), time.monotonic()
        attachments = {"baseline.json": self._executor.baseline, "host-checks.json": self._executor.host_checks}
        files = {name: msgspec.json.format(msgspec.json.encode(value)) for name, value in attachments.items() if value}
        files |= self._specification_files

        def store() -> int:
            reservation.close()
            try:
                bundle = self._work.repository.publish(
                    completed_run.run,
                    tasks=completed_run.tasks,
                    trace=completed_run.trace,
                    logs=completed_run.logs,
                    files=files,
                )
            except RepositoryError as error:
                contents = Contents(
                    completed_run.run, completed_run.tasks, completed_run.trace, completed_run.logs, files
                )
                copy_path = keep_unpublished(self._journal.campaign_id, contents)
                hint = f"the run was saved to {copy_path}; fix this and run the same command, which then stores the run"
                raise RepositoryError(error.message, where=error.where, hint=hint) from error
            return size_of(bundle)

        self._reserved_bytes = max(self._reserved_bytes, 2 * await asyncio.to_thread(store))
        report_step("publish", began_unix_s, time.monotonic() - began_s)
        self._journal.record_end(planned_run.index, completed_run.run)

    async def _await_publishing(self) -> None:
        """Wait until the previous run is stored. Never raise: the waiting attempt has not failed."""
        if self._publishing is not None and not self._publishing.done():
            await asyncio.wait({self._publishing})

    def _publish_error(self) -> BaseException | None:
        if self._publishing is None or not self._publishing.done() or self._publishing.cancelled():
            return None
        return self._publishing.exception()

    async def _wait_and_reconnect(self, wait_s: float) -> None:
        """Wait for the hosts and reconnect to the cluster. Raises the error of the last try if all tries fail."""
        pauses_s = [wait_s, *RETRY_WAITS_S]
        for index, pause_s in enumerate(pauses_s):
            self._work.observer.step(f"waiting {format_duration(pause_s)} for the hosts")
            await self._work.pause(pause_s)
            try:
                await self._executor.reconnect()
            except (HostError, EngineError):
                if index == len(pauses_s) - 1:
                    raise
            else:
                return
