"""Assign the task attempts of a node to containers, and cut reduces into their parts, for exports of timelines."""

from collections.abc import Iterator, Sequence

from assay.model import TaskAttempt

Interval = tuple[str, float, float]
"""Name, start and end in seconds."""


def containers_of(tasks: Sequence[TaskAttempt]) -> list[list[TaskAttempt]]:
    """Return the attempts of a node by container: each starts in the first container that is free."""
    containers: list[list[TaskAttempt]] = []
    for task in sorted(tasks, key=lambda task: (task.start_s, task.end_s)):
        container = next((attempts for attempts in containers if attempts[-1].end_s <= task.start_s), None)
        if container is None:
            containers.append(container := [])
        container.append(task)
    return containers


def parts_of(task: TaskAttempt) -> Iterator[Interval]:
    """Yield shuffle, merge and reduce of an attempt whose history has them."""
    if task.shuffle_end_s is not None and task.merge_end_s is not None:
        yield "shuffle", task.start_s, task.shuffle_end_s
        yield "merge", task.shuffle_end_s, task.merge_end_s
        yield "reduce", task.merge_end_s, task.end_s
