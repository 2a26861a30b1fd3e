"""Make one attempt at a planned run: configuration, input, cold caches, observation, job, checks and record.

In: a :class:`PlannedRun` and the campaign's :class:`RunContext`. Out: a :class:`CompletedRun`. Failures of the job,
the engine or the hosts are recorded, not raised: the :class:`Run` has the status and its cause. The campaign decides
whether to make another attempt.
"""

import asyncio
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from assay.execution.campaign.attempts.before_job import configure, ensure_input, hosts_in_use
from assay.execution.campaign.attempts.health_watch import watching
from assay.execution.campaign.attempts.recording import FinishedAttempt, attempt_record
from assay.execution.campaign.attempts.run_context import AttemptContext, AttemptState, CompletedRun, RunContext
from assay.execution.campaign.attempts.sampling import drop_all_caches, publishing, sampling
from assay.execution.campaign.attempts.validation import CHECK_TIMEOUT_S, reference_answers, validate_run
from assay.execution.engines.contract import Engine, ProgramResult
from assay.execution.observation.sampling import parse_samples
from assay.execution.planning.forecast.call_limits import DEFAULT_TIMEOUT_S
from assay.execution.planning.forecast.inputs import size_of
from assay.execution.planning.order import PlannedRun
from assay.foundation.errors import AssayError, RepositoryError, UnusableHostError
from assay.model import Program
from assay.store.bundles.ids import new_run_id
from assay.workloads.common.inputs import Input
from assay.workloads.workload import Size, ValidationInput, ValidationResult, Workload, WorkloadProgram

_DEFAULT_CONTEXT = AttemptContext()


async def attempt(
    planned_run: PlannedRun, attempt_number: int, run_context: RunContext, context: AttemptContext = _DEFAULT_CONTEXT
) -> CompletedRun:
    """Execute one attempt and return its record, even if the run failed.

    Raises RepositoryError if a result can't be stored; this is not a failure of the run.
    """
    cluster, transports = hosts_in_use(planned_run.configuration, run_context.cluster, run_context.transports)
    run_context = replace(run_context, cluster=cluster, transports=transports)
    workload = run_context.workloads[planned_run.workload.name]
    size = size_of(planned_run, run_context.plan)
    run_id, started_unix_s, began_s = new_run_id(), time.time(), time.monotonic()
    state = AttemptState()
    cause: AssayError | None = None
    try:
        await _Attempt(planned_run, workload, size, run_context, context, state).execute()
    except RepositoryError:
        raise
    except AssayError as error:
        cause = error
    client_succeeded = state.program_result is not None and state.program_result.outcome.exit_status == 0
    engine = run_context.provider.engine
    if engine and (not client_succeeded or state.problem or cause):
        state.logs |= await engine.logs()
    finished_attempt = FinishedAttempt(run_id, attempt_number, started_unix_s, time.monotonic() - began_s, cause)
    # With a million task attempts this takes seconds, which would block the event loop.
    completed_run = await asyncio.to_thread(
        attempt_record, planned_run, workload, workload.data_bytes(size), run_context, context, state, finished_attempt
    )
    device_errors = tuple(event.message for observations in state.observations for event in observations.devices)
    return replace(
        completed_run,
        unusable_host=cause if isinstance(cause, UnusableHostError) else None,
        device_errors=device_errors,
    )


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The steps of one attempt; each adds to the attempt's state. A step that fails raises AssayError."""

    planned_run: PlannedRun
    workload: Workload
    size: Size
    run_context: RunContext
    context: AttemptContext
    state: AttemptState

    async def execute(self) -> None:
        needed_input = self.workload.input(self.size)
        engine = await self._configure()
        async with watching(self.run_context, engine) as monitor:
            try:
                await monitor.guard(self._run_on_engine(needed_input, engine), self.context.report_problem)
            finally:
                if not self.state.succeeded:
                    await monitor.final_check()
                self.state.observations = monitor.observations

    async def _run_on_engine(self, needed_input: Input | None, engine: Engine) -> None:
        manifest = await self._ensure_input(needed_input, engine)
        result = await self._run_observed_job(needed_input, engine)
        self.state.logs |= result.logs
        self.state.problem = await engine.health_check() or result.lost_executors
        if result.outcome.exit_status == 0:
            with self.context.step("validation"):
                await self._validate(needed_input, manifest, engine, result)

    async def _configure(self) -> Engine:
        run_context, state = self.run_context, self.state
        with state.exclude_time(), self.context.step("restart") as step:
            configured_engine = await configure(
                self.planned_run.configuration,
                run_context.cluster,
                run_context.provider,
                run_context.links,
                run_context.show,
            )
            state.network = configured_engine.network
            if not configured_engine.is_restarted:
                step.name = "health"
        return configured_engine.engine

    async def _ensure_input(self, needed_input: Input | None, engine: Engine) -> dict[str, int]:
        with self.state.exclude_time(), self.context.step("input"):
            if needed_input is None or not engine.facts.runs_programs:
                return {}
            parameters = self.planned_run.configuration.parameters
            return await ensure_input(
                needed_input, engine, parameters, timeout_s=self._limit_s, show=self.run_context.show
            )

    @property
    def _limit_s(self) -> float:
        """The time limit of the steps other than the timed job."""
        return self.run_context.plan.timeout_s or DEFAULT_TIMEOUT_S

    async def _run_observed_job(self, needed_input: Input | None, engine: Engine) -> ProgramResult:
        run_context, context, state = self.run_context, self.context, self.state
        async with AsyncExitStack() as stack:
            with context.step("clear"):
                for path in (*self.workload.outputs, *self.workload.kept_outputs(self.size)):
                    await engine.storage.delete(path)
                running_samplers = sampling(run_context.transports, run_context.sampler_options, self._store_samples)
                samplers = await stack.enter_async_context(running_samplers)
                directories = {
                    name: [*options.disks.values(), *engine.data_directories.get(name, ())]
                    for name, options in run_context.sampler_options.items()
                }
                await stack.enter_async_context(publishing(samplers, directories, run_context.host_samples))
            with context.step("caches"):
                if run_context.transports:
                    run_context.show("dropping caches")
                await context.await_publishing()
                state.caches = await drop_all_caches(
                    run_context.cluster, run_context.transports, engine.data_directories
                )
            result = await self._run_job(needed_input, engine)
            with context.step("samples"):
                await samplers.stop()
        state.trace.extend(result.trace)
        return result

    async def _run_job(self, needed_input: Input | None, engine: Engine) -> ProgramResult:
        program = self._program(needed_input, engine)
        self.run_context.show("the job starts")
        with self.context.step("job and history"):
            result = await engine.run(
                program,
                self.planned_run.configuration.parameters,
                timeout_s=self.context.limit.seconds,
                label="job",
                show=self.run_context.show,
            )
        self.state.program_result = result
        self.context.report_step("job", result.started_unix_s, result.outcome.duration_s)
        return result

    def _program(self, needed_input: Input | None, engine: Engine) -> Program:
        """Return the program to time: the workload's program, or a :class:`WorkloadProgram` for a simulated
        engine."""
        if engine.facts.runs_programs:
            return self.workload.programs(self.size, needed_input.path if needed_input else None)[engine.facts.name]
        seed = self.run_context.plan.seed * 1000 + self.planned_run.repetition
        return WorkloadProgram(self.workload.name, (), engine=engine.facts.name, size=self.size, seed=seed)

    def _store_samples(self, raw_samples: Mapping[str, bytes]) -> None:
        """Store the samplers' files and the trace parsed from them."""
        state = self.state
        started_unix_s = state.program_result.started_unix_s if state.program_result else 0.0
        for node, content in raw_samples.items():
            state.logs[f"samples-{node}.jsonl"] = content
            state.warnings += parse_samples(node, content, started_unix_s, state.trace)

    async def _check_output(self, needed_input: Input | None, engine: Engine) -> ProgramResult | None:
        """Run the program that checks the workload's output; return None if the workload has no check program."""
        program = self.workload.check_program(needed_input.path if needed_input else None)
        if program is None:
            return None
        return await engine.check(
            program,
            self.planned_run.configuration.parameters,
            reads_bytes=self.workload.data_bytes(self.size),
            timeout_s=max(CHECK_TIMEOUT_S, self._limit_s),
            show=self.run_context.show,
        )

    async def _validate(
        self, needed_input: Input | None, manifest: Mapping[str, int], engine: Engine, result: ProgramResult
    ) -> None:
        run_context, state = self.run_context, self.state
        if not engine.facts.runs_programs:
            state.validation = ValidationResult(())  # no output was written
            return
        run_context.show("validating")
        with state.exclude_time():
            check_result = await self._check_output(needed_input, engine)
            reference = await reference_answers(self.workload, self.size, run_context.show)
        if check_result:
            state.logs["check.log"] = check_result.logs.get("check.log", b"")
        check_outcome = check_result.outcome if check_result else None
        input_path = needed_input.path if needed_input else None
        validation_input = ValidationInput(engine.storage, manifest, check_outcome, input_path, reference)
        layout = self.planned_run.configuration.layout
        state.validation = await validate_run(
            self.workload, self.size, layout, result.outcome, validation_input, engine.storage
        )
        state.logs |= state.validation.logs
