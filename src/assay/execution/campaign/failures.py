"""Classify a failed run and decide whether to retry it. Pure.

In: the error that ended an attempt, or the client's exit and the daemons' state. Out: a :class:`FailureClass`, and the
wait before the next attempt, in seconds.
"""

from collections import Counter
from collections.abc import Collection, Sequence

from assay.execution.observation.node_health import INTERVAL_S, NodeObservations, contact_losses
from assay.foundation.errors import AssayError, CommandError, HostError, LabError
from assay.model import FailureClass, Plan, Run

RETRY_WAITS_S = (5.0, 20.0, 60.0)
"""Waits before the first, second, … retry after an infrastructure failure, in seconds: hosts need time to recover."""
_CAUSES_MAX = 3
"""Maximum number of problems of one kind that a cause of failure lists."""
_DISK_FULL = ("No space left on device", "Disk quota exceeded")
"""The kernel's messages (errno(3): ENOSPC, EDQUOT)."""


def disk_is_full(text: str, engine_messages: Collection[str] = ()) -> bool:
    """Return whether a text reports a full device; ``engine_messages``: the engine's messages for that."""
    return any(message in text for message in (*_DISK_FULL, *engine_messages))


def class_of_error(error: AssayError, full_disk_messages: Collection[str] = ()) -> FailureClass:
    """Return the class of an error that prevented a job or its checks."""
    if disk_is_full(str(error), full_disk_messages):
        return FailureClass.INFRASTRUCTURE
    causes = (error, error.__cause__)
    if any(isinstance(cause, CommandError) for cause in causes):  # the host answered, so the program failed
        return FailureClass.ENGINE
    unreachable = any(isinstance(cause, HostError | LabError) for cause in causes)
    return FailureClass.INFRASTRUCTURE if unreachable else FailureClass.ENGINE


def class_of_end(
    output: str, *, problem: str | None, host_lost: bool, full_disk_messages: Collection[str] = ()
) -> FailureClass:
    """Return the failure class of a client that ended with an exit status other than 0; ``host_lost``: its host became
    unreachable."""
    if host_lost or disk_is_full(output, full_disk_messages):
        return FailureClass.INFRASTRUCTURE
    if problem:
        return FailureClass.ENGINE
    return FailureClass.WORKLOAD


def host_problems(observations: Sequence[NodeObservations]) -> list[str]:
    """Return the problems of links and devices during an attempt, as text."""
    events = [
        event for node in observations for event in (*node.links.values(), *node.devices, *node.low_space.values())
    ]
    events += contact_losses(observations)
    return list(dict.fromkeys(event.message for event in sorted(events, key=lambda event: event.at_unix_s)))[
        :_CAUSES_MAX
    ]


def memory_problems(observations: Sequence[NodeObservations]) -> list[str]:
    """Return the processes that were killed for lack of memory, as text."""
    return list(dict.fromkeys(event.message for node in observations for event in node.memory))[:_CAUSES_MAX]


def problems_during_job(observations: Sequence[NodeObservations], began_unix_s: float, took_s: float) -> list[str]:
    """Return the problems of links and devices during the job. They make its time invalid, even if its output is
    correct."""
    end_unix_s = began_unix_s + took_s + INTERVAL_S
    events = [event for node in observations for event in (*node.links.values(), *node.devices)]
    events += contact_losses(observations)
    return [event.message for event in events if began_unix_s <= event.at_unix_s <= end_unix_s][:_CAUSES_MAX]


def wait_before_retry_s(run: Run, failure_classes: Sequence[FailureClass], plan: Plan) -> float | None:
    """Return the wait before the next attempt at ``run``, in seconds; None if there is no further attempt.

    ``failure_classes``: the failure classes of this call's attempts at the run, including the last.
    """
    if run.failure_class is None or len(failure_classes) >= plan.attempts:
        return None
    failures = Counter(failure_classes)[run.failure_class]
    if failures > plan.retries[run.failure_class]:
        return None
    if run.failure_class is FailureClass.INFRASTRUCTURE:
        return RETRY_WAITS_S[min(failures, len(RETRY_WAITS_S)) - 1]
    return 0.0


def retry_text(plan: Plan) -> str:
    """Return the plan's retry rules: ``infrastructure 3, engine 2, workload 1, validation 0, at most 3 in all``."""
    rules = ", ".join(f"{name} {plan.retries[name]}" for name in FailureClass)
    return rules if plan.attempts > sum(plan.retries.values()) else f"{rules}, at most {plan.attempts - 1} in all"
