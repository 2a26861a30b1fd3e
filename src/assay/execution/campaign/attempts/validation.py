"""Decide whether a run is valid: check its output as the workload and the layout require, and set its status.

In: a job that ended, the storage, the input's manifest. Out: a :class:`ValidationResult`; then status, cause, failure
class.
"""

import asyncio
import signal
from collections.abc import Collection
from dataclasses import replace

from assay.execution.campaign.attempts.run_context import AttemptState
from assay.execution.campaign.failures import (
    class_of_end,
    class_of_error,
    host_problems,
    memory_problems,
    problems_during_job,
)
from assay.execution.engines.contract import ShowProgress, Storage
from assay.execution.planning.forecast.call_limits import TimeLimit
from assay.foundation.errors import AssayError, LabError
from assay.foundation.installation import cache_directory, installation
from assay.model import FailureClass, Layout, Outcome, ReferenceAnswers, RunStatus
from assay.store.reference_answers import compute_answers
from assay.workloads.workload import Size, ValidationInput, ValidationResult, Workload

CHECK_TIMEOUT_S = 600.0
"""Minimum time limit of an output check, in seconds; a longer time limit of the run applies to its check too."""


async def reference_answers(workload: Workload, size: Size, show: ShowProgress) -> ReferenceAnswers | None:
    """Return reference answers for the output; None if the workload needs none. Computing them is not part of the
    run's time."""
    queries = workload.reference(size)
    if queries is None:
        return None
    show(f"{len(queries.queries)} reference answers by DuckDB")
    return await asyncio.to_thread(compute_answers, queries, installation().table_generator, cache_directory())


async def validate_run(
    workload: Workload,
    size: Size,
    layout: Layout,
    outcome: Outcome,
    validation_input: ValidationInput,
    storage: Storage,
) -> ValidationResult:
    """Check the output's content and its placement by the layout, then remove the output. Return the checks."""
    validation = await workload.validate(size, outcome, validation_input)
    paths = [
        *workload.outputs,
        *workload.kept_outputs(size),
        *([validation_input.input_path] if validation_input.input_path else []),
    ]
    placements = await storage.placements(layout, paths)
    for path in workload.outputs:
        await storage.delete(path)
    return replace(validation, checks=(*validation.checks, *placements))


def status_of(
    state: AttemptState, cause: AssayError | None, limit: TimeLimit, full_disk_messages: Collection[str] = ()
) -> tuple[RunStatus, str | None, FailureClass | None]:
    """Return status, cause and failure class of an attempt; ``cause`` is the error that ended it before its checks.

    ``full_disk_messages``: the engine's messages for a full device. The watch's observations of links, devices and
    memory take precedence over messages of programs, which report only the consequence.
    """
    status, cause_text, failure_class = _status_without_watch(state, cause, limit, full_disk_messages)
    result = state.program_result
    if status is RunStatus.VALID and result is not None:
        problems = problems_during_job(state.observations, result.started_unix_s, result.outcome.duration_s)
        causes = [f"{'; '.join(problems)}, while the job ran"] if problems else []
        causes += [result.process_paused] if result.process_paused else []
        if not causes:
            return status, cause_text, failure_class
        return RunStatus.INVALID, "; ".join(causes), FailureClass.INFRASTRUCTURE
    if isinstance(cause, LabError):  # device errors of the hosts are the consequence
        return status, cause_text, failure_class
    host_messages = [message for message in host_problems(state.observations) if message not in (cause_text or "")]
    if host_messages:
        failure_class = FailureClass.INFRASTRUCTURE
    causes = [*host_messages, *memory_problems(state.observations), *([cause_text] if cause_text else [])]
    return status, "; ".join(causes), failure_class


def _status_without_watch(
    state: AttemptState, cause: AssayError | None, limit: TimeLimit, full_disk_messages: Collection[str]
) -> tuple[RunStatus, str | None, FailureClass | None]:
    """Return status, cause and failure class from the program, the checks and ``cause`` only, without the watch."""
    if cause or state.program_result is None:
        cause_text = str(cause or "the job was not started")
        return RunStatus.FAILED, cause_text, class_of_error(cause, full_disk_messages) if cause else FailureClass.ENGINE
    outcome = state.program_result.outcome
    if outcome.exit_status != 0:
        end_text = f"the client {_end_text(outcome.exit_status)}"
        cause_text = f"{end_text}: {' | '.join(outcome.error_lines())}"
        if outcome.timed_out:
            cause_text = f"it did not end within its time limit of {limit}"
        host_lost = outcome.host_lost
        problem = state.problem or (end_text if outcome.exit_status < 0 else None)
        failure_class = class_of_end(
            outcome.output, problem=problem, host_lost=host_lost, full_disk_messages=full_disk_messages
        )
        return RunStatus.FAILED, f"{state.problem}; {cause_text}" if state.problem else cause_text, failure_class
    if state.problem:
        return RunStatus.INVALID, f"{state.problem} during the run", FailureClass.ENGINE
    validation_checks = state.validation.checks if state.validation else ()
    failed_checks = [check for check in (*state.program_result.checks, *validation_checks) if not check.passed]
    if failed_checks or state.validation is None:
        cause_text = "; ".join(f"{check.name}: {check.detail}" for check in failed_checks) or "not validated"
        failed_checker = state.validation.failed_checker if state.validation else None
        if failed_checker is None:
            only_engine = set(failed_checks) <= set(state.program_result.checks) and state.validation is not None
            return RunStatus.INVALID, cause_text, FailureClass.ENGINE if only_engine else FailureClass.VALIDATION
        # The engine could not run the check's program, so the output is unchecked.
        host_lost = failed_checker.host_lost
        return (
            RunStatus.INVALID,
            cause_text,
            class_of_end(
                failed_checker.output, problem=cause_text, host_lost=host_lost, full_disk_messages=full_disk_messages
            ),
        )
    return RunStatus.VALID, None, None


def _end_text(exit_status: int) -> str:
    """Describe the end of a failed client: its exit status or signal."""
    if exit_status >= 0:
        return f"ended with {exit_status}"
    try:
        return f"was ended by {signal.Signals(-exit_status).name}"
    except ValueError:
        return f"was ended by signal {-exit_status}"
