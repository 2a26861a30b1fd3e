"""Divide recordings into named parts by time: phases of task attempts, stages of Spark executors and drivers. Pure.

In: the tasks of a job with their times in seconds from its start, or the stages that ran on each executor. Out: for
each part its start and end as Unix milliseconds. File names follow :mod:`assay.analysis.code_profile.files`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, pairwise
from typing import NamedTuple

from assay.analysis.code_profile.files import DRIVER, EXECUTOR, OTHER_STAGES, UNKNOWN, stage_part
from assay.model import Stage, TaskAttempt

PARTS_MAX = 60
"""Maximum number of named parts of a recording, so that files and tables stay few."""
_OPEN_START = "1"
"""Start of the first part, in Unix milliseconds: all samples until its end belong to it."""


class PartSpan(NamedTuple):
    """One part of a recording, with its start and end as Unix milliseconds; empty where it is open."""

    recording: str
    part: str
    from_ms: str = ""
    to_ms: str = ""

    def shifted(self, by_s: float) -> "PartSpan":
        """Return the part with its times moved later by ``by_s``; open ends stay open."""
        shifted_times = (
            text if text in ("", _OPEN_START) else str(round(int(text) + by_s * 1000))
            for text in (self.from_ms, self.to_ms)
        )
        return PartSpan(self.recording, self.part, *shifted_times)


class StageSpan(NamedTuple):
    """The time in which a stage ran on one JVM, in Unix seconds."""

    stage_id: int
    start_unix_s: float
    end_unix_s: float


@dataclass(frozen=True, slots=True)
class RecordedParts:
    """The parts of the recordings of one job."""

    expected_recordings: frozenset[str]
    """Recordings that a job leaves if its JVMs ended normally."""
    jvms: int
    """Number of JVMs with the profiler's option."""
    spans_of: Callable[[Sequence[str]], Iterable[PartSpan]]
    """Function that returns the parts of the recordings with these names."""
    clock_node: str = ""
    """The node whose clock gives the times of the parts: for Spark, the driver's node. Empty: the node of each
    recording, because a MapReduce task reports the ends of its shuffle and merge by its own clock."""


def task_parts(tasks: Sequence[TaskAttempt], started_unix_s: float) -> RecordedParts:
    """Return the parts of MapReduce's task attempts: their phases."""
    succeeded_ids = frozenset(task.attempt_id for task in tasks if task.status == "succeeded")
    return RecordedParts(succeeded_ids, len(tasks), partial(phase_spans, tasks, started_unix_s))


def phase_spans(tasks: Iterable[TaskAttempt], started_unix_s: float, recordings: Sequence[str]) -> Iterator[PartSpan]:
    """Yield the phases of task attempts.

    The first phase starts with the JVM and the last ends with it, so each sample of a known attempt has a phase. The
    samples of an attempt that the job history does not have are in the part ``unknown``.
    """
    task_by_id = {task.attempt_id: task for task in tasks}
    for name in recordings:
        task = task_by_id.get(name)
        if task is None:
            yield PartSpan(name, UNKNOWN)
            continue
        ends = [("shuffle", task.shuffle_end_s), ("merge", task.merge_end_s)] if task.kind == "reduce" else []
        start_ms = _OPEN_START
        for phase, end_s in ends:
            if end_s is not None:
                end_ms = str(round((started_unix_s + end_s) * 1000))
                yield PartSpan(name, phase, start_ms, end_ms)
                start_ms = end_ms
        yield PartSpan(name, task.kind, start_ms if start_ms != _OPEN_START else "")


def stage_parts(
    executors: Mapping[str, Sequence[StageSpan]], stages: Iterable[Stage], started_unix_s: float, driver_node: str = ""
) -> RecordedParts:
    """Return the parts of Spark's executors, by their tasks' stages, and of the driver, by the stages that run.

    ``driver_node``: the node of the driver, which writes the event log.
    """
    driver_spans = [
        StageSpan(stage.stage_id, started_unix_s + stage.start_s, started_unix_s + stage.end_s)
        for stage in stages
        if stage.start_s is not None and stage.end_s is not None
    ]
    spans = {
        DRIVER: driver_spans,
        **{f"{EXECUTOR}{number}": list(executor_spans) for number, executor_spans in executors.items()},
    }
    return RecordedParts(frozenset(spans), len(spans), partial(stage_spans_of, spans), driver_node)


def stage_spans_of(spans: Mapping[str, Sequence[StageSpan]], recordings: Sequence[str]) -> Iterator[PartSpan]:
    """Yield the stages of executors and drivers; all of a JVM's time is in a part.

    Stages that run at once share a part, because a sample does not name its stage. If there are more than
    :data:`PARTS_MAX` parts, the shortest are in one part.
    """
    for name in recordings:
        if name not in spans:  # an executor without tasks, or one that the event log does not have
            yield PartSpan(name, UNKNOWN)
            continue
        spans_ms = [
            (span.stage_id, round(span.start_unix_s * 1000), round(span.end_unix_s * 1000)) for span in spans[name]
        ]
        bounds = sorted({time_ms for span in spans_ms for time_ms in span[1:]})
        pieces = [(stage_part(()), 0, bounds[0] if bounds else 0)]
        for start, end in pairwise(bounds):
            running_stages = {stage_id for stage_id, start_ms, end_ms in spans_ms if start_ms < end and end_ms > start}
            pieces.append((stage_part(running_stages), start, end))
        longest_pieces = sorted(pieces[1:], key=lambda piece: piece[1] - piece[2])[:PARTS_MAX]
        pieces[1:] = [piece if piece in longest_pieces else (OTHER_STAGES, *piece[1:]) for piece in pieces[1:]]
        pieces.append((stage_part(()), bounds[-1] if bounds else 0, 0))
        for part, group in groupby(pieces, key=lambda piece: piece[0]):
            group_pieces = list(group)
            start, end = group_pieces[0][1], group_pieces[-1][2]
            yield PartSpan(name, part, str(start) if start else _OPEN_START, str(end) if end else "")
