"""One attempt at one planned run: configuration, input, cold caches, observation, the job, its checks, and the record.

Nothing here raises for a job that fails: that is a :class:`Run` with status ``failed`` and its cause. What does raise
(:class:`AssayError`) concerns the cluster, and the campaign decides.
"""

import asyncio
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from assay.campaign.before_job import configure, ensure_input, in_use
from assay.campaign.judging import checked_output, judged, reference_answers
from assay.campaign.observing import drop_all, sampling
from assay.campaign.recording import Attempted, recorded
from assay.campaign.setting import Around, Gathered, Published, Setting
from assay.campaign.watching import watching
from assay.engines.contract import Engine, Finished
from assay.errors import AssayError, RepositoryError, UnfitError
from assay.model import Program
from assay.observe.sampling import parse_samples
from assay.planning.inputs import size_of
from assay.planning.limits import DEFAULT_TIMEOUT_S
from assay.planning.order import PlannedRun
from assay.repository.ids import new_run_id
from assay.workloads.inputs import Input
from assay.workloads.workload import Evidence, Judgement, Size, Workload, WorkloadProgram

_ALONE = Around()


async def attempt(planned: PlannedRun, number: int, setting: Setting, around: Around = _ALONE) -> Published:
    """Carry out one attempt and return its record, whatever became of it.

    Raises RepositoryError when what was done can't be kept: that is no failure of the run.
    """
    cluster, transports = in_use(planned.configuration, setting.cluster, setting.transports)
    setting = replace(setting, cluster=cluster, transports=transports)
    workload = setting.workloads[planned.workload.name]
    size = size_of(planned, setting.plan)
    run_id, started, clock = new_run_id(), time.time(), time.monotonic()
    gathered = Gathered()
    cause: AssayError | None = None
    try:
        await _Attempt(planned, workload, size, setting, around, gathered).carry_out()
    except RepositoryError:
        raise
    except AssayError as error:
        cause = error
    ended_well = gathered.finished is not None and gathered.finished.outcome.exit_status == 0
    engine = setting.provider.engine
    if engine and (not ended_well or gathered.trouble or cause):
        gathered.logs |= await engine.logs()
    attempted = Attempted(run_id, number, started, time.monotonic() - clock, cause)
    # A million attempts take seconds, in which the event loop must go on.
    published = await asyncio.to_thread(
        recorded, planned, workload, workload.data_bytes(size), setting, around, gathered, attempted
    )
    errors = tuple(change.words for seen in gathered.seen for change in seen.devices)
    return replace(published, unfit=cause if isinstance(cause, UnfitError) else None, device_errors=errors)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The steps of one attempt, each of which adds to what is gathered. Raises AssayError where one can't be done."""

    planned: PlannedRun
    workload: Workload
    size: Size
    setting: Setting
    around: Around
    gathered: Gathered

    async def carry_out(self) -> None:
        needed = self.workload.input(self.size)
        engine = await self._configured()
        async with watching(self.setting, engine) as vigil:
            try:
                await vigil.guard(self._on_engine(needed, engine), self.around.noticed)
            finally:
                if not self.gathered.sound:
                    await vigil.last_look()
                self.gathered.seen = vigil.seen

    async def _on_engine(self, needed: Input | None, engine: Engine) -> None:
        manifest = await self._input(needed, engine)
        finished = await self._observed_job(needed, engine)
        self.gathered.logs |= finished.logs
        self.gathered.trouble = await engine.trouble() or finished.trouble
        if finished.outcome.exit_status == 0:
            with self.around.step("validation"):
                await self._judge(needed, manifest, engine, finished)

    async def _configured(self) -> Engine:
        setting, gathered = self.setting, self.gathered
        with gathered.not_own(), self.around.step("restart") as step:
            found = await configure(
                self.planned.configuration, setting.cluster, setting.provider, setting.links, setting.show
            )
            gathered.network = found.network
            if not found.restarted:
                step.name = "health"
        return found.engine

    async def _input(self, needed: Input | None, engine: Engine) -> dict[str, int]:
        with self.gathered.not_own(), self.around.step("input"):
            if needed is None or not engine.facts.real:
                return {}
            parameters = self.planned.configuration.parameters
            return await ensure_input(needed, engine, parameters, timeout_s=self._limit_s, show=self.setting.show)

    @property
    def _limit_s(self) -> float:
        """The time limit of what is not the timed job."""
        return self.setting.plan.timeout_s or DEFAULT_TIMEOUT_S

    async def _observed_job(self, needed: Input | None, engine: Engine) -> Finished:
        setting, around, gathered = self.setting, self.around, self.gathered
        async with AsyncExitStack() as stack:
            with around.step("clear"):
                for path in (*self.workload.outputs, *self.workload.leaves(self.size)):
                    await engine.storage.delete(path)
                watched = sampling(setting.transports, setting.samplers, self._keep)
                samplers = await stack.enter_async_context(watched)
            with around.step("caches"):
                if setting.transports:
                    setting.show("dropping caches")
                await around.settled()
                gathered.caches = await drop_all(setting.cluster, setting.transports, engine.data_directories)
            finished = await self._job(needed, engine)
            with around.step("samples"):
                await samplers.stop()
        gathered.trace.extend(finished.trace)
        return finished

    async def _job(self, needed: Input | None, engine: Engine) -> Finished:
        program = self._program(needed, engine)
        self.setting.show("the job starts")
        with self.around.step("job and history"):
            finished = await engine.run(
                program,
                self.planned.configuration.parameters,
                timeout_s=self.around.limit.seconds,
                label="job",
                show=self.setting.show,
            )
        self.gathered.finished = finished
        self.around.ended("job", finished.started_unix_s, finished.outcome.duration_s)
        return finished

    def _program(self, needed: Input | None, engine: Engine) -> Program:
        """Return what is timed: the workload's program for the engine, or itself for one that only computes."""
        if engine.facts.real:
            return self.workload.programs(self.size, needed.place if needed else None)[engine.facts.name]
        seed = self.setting.plan.seed * 1000 + self.planned.repetition
        return WorkloadProgram(self.workload.name, (), engine=engine.facts.name, size=self.size, seed=seed)

    def _keep(self, raw: Mapping[str, bytes]) -> None:
        """Keep the samplers' files, and the trace that is in them."""
        gathered = self.gathered
        started = gathered.finished.started_unix_s if gathered.finished else 0.0
        for node, content in raw.items():
            gathered.logs[f"samples-{node}.jsonl"] = content
            gathered.warnings += parse_samples(node, content, started, gathered.trace)

    async def _judge(
        self, needed: Input | None, manifest: Mapping[str, int], engine: Engine, finished: Finished
    ) -> None:
        setting, gathered = self.setting, self.gathered
        if not engine.facts.real:
            gathered.judgement = Judgement(())  # nothing was written that could be looked at
            return
        setting.show("validating")
        with gathered.not_own():
            parameters, timeout_s = self.planned.configuration.parameters, self._limit_s
            checked = await checked_output(
                self.workload, self.size, needed, engine, parameters, timeout_s=timeout_s, show=setting.show
            )
            reference = await reference_answers(self.workload, self.size, setting.show)
        if checked:
            gathered.logs["check.log"] = checked.logs.get("check.log", b"")
        outcome, place = checked.outcome if checked else None, needed.place if needed else None
        evidence = Evidence(engine.storage, manifest, outcome, place, reference)
        layout = self.planned.configuration.layout
        gathered.judgement = await judged(self.workload, self.size, layout, finished.outcome, evidence, engine.storage)
        gathered.logs |= gathered.judgement.logs
