"""Decide whether a run is valid: check its output by workload and layout, and set its status.

In: a job that ended, the storage, the input's manifest. Out: a :class:`ValidationResult`; then status, cause, failure
class.
"""

import asyncio
import signal
from collections.abc import Collection
from dataclasses import replace

from assay.execution.campaign.attempts.run_context import AttemptState
from assay.execution.campaign.failures import class_of_end, class_of_error, of_hosts, of_memory, problems_during_job
from assay.execution.engines.contract import ShowProgress, Storage
from assay.execution.planning.forecast.call_limits import TimeLimit
from assay.foundation.errors import AssayError, LabError
from assay.foundation.installation import cache_directory, installation
from assay.model import FailureClass, Layout, Outcome, ReferenceAnswers, RunStatus
from assay.store.reference import compute_answers
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
        *workload.leaves(size),
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
    status, why, failure_class = _validation_checks(state, cause, limit, full_disk_messages)
    finished = state.finished
    if status is RunStatus.VALID and finished is not None:
        spoiled = problems_during_job(state.seen, finished.started_unix_s, finished.outcome.duration_s)
        causes = [f"{'; '.join(spoiled)}, while the job ran"] if spoiled else []
        causes += [finished.process_paused] if finished.process_paused else []
        if not causes:
            return status, why, failure_class
        return RunStatus.INVALID, "; ".join(causes), FailureClass.INFRASTRUCTURE
    if isinstance(cause, LabError):  # device errors of the hosts are the consequence
        return status, why, failure_class
    hosts = [message for message in of_hosts(state.seen) if message not in (why or "")]
    if hosts:
        failure_class = FailureClass.INFRASTRUCTURE
    causes = [*hosts, *of_memory(state.seen), *([why] if why else [])]
    return status, "; ".join(causes), failure_class


def _validation_checks(
    state: AttemptState, cause: AssayError | None, limit: TimeLimit, full_disk_messages: Collection[str]
) -> tuple[RunStatus, str | None, FailureClass | None]:
    """Return status, cause and failure class from the program, the checks and ``cause`` only, without the watch."""
    if cause or state.finished is None:
        why = str(cause or "the job was not started")
        return RunStatus.FAILED, why, class_of_error(cause, full_disk_messages) if cause else FailureClass.ENGINE
    outcome = state.finished.outcome
    if outcome.exit_status != 0:
        ended = f"the client {_end_of(outcome.exit_status)}"
        why = f"{ended}: {' | '.join(outcome.error_lines())}"
        if outcome.timed_out:
            why = f"it did not end within its time limit of {limit}"
        lost = outcome.host_lost
        problem = state.problem or (ended if outcome.exit_status < 0 else None)
        failure_class = class_of_end(outcome.output, problem=problem, lost=lost, full_disk_messages=full_disk_messages)
        return RunStatus.FAILED, f"{state.problem}; {why}" if state.problem else why, failure_class
    if state.problem:
        return RunStatus.INVALID, f"{state.problem} during the run", FailureClass.ENGINE
    validation_checks = state.validation.checks if state.validation else ()
    broken = [check for check in (*state.finished.checks, *validation_checks) if not check.passed]
    if broken or state.validation is None:
        why = "; ".join(f"{check.name}: {check.detail}" for check in broken) or "not validated"
        failed_checker = state.validation.failed_checker if state.validation else None
        if failed_checker is None:
            only_engine = set(broken) <= set(state.finished.checks) and state.validation is not None
            return RunStatus.INVALID, why, FailureClass.ENGINE if only_engine else FailureClass.VALIDATION
        # The engine could not run the check's program, so the output is unchecked.
        lost = failed_checker.host_lost
        return (
            RunStatus.INVALID,
            why,
            class_of_end(failed_checker.output, problem=why, lost=lost, full_disk_messages=full_disk_messages),
        )
    return RunStatus.VALID, None, None


def _end_of(exit_status: int) -> str:
    """Describe the end of a failed client: its exit status or signal."""
    if exit_status >= 0:
        return f"ended with {exit_status}"
    try:
        return f"was ended by {signal.Signals(-exit_status).name}"
    except ValueError:
        return f"was ended by signal {-exit_status}"
