"""Lay out Spark's stages and executors as tables: dependencies, times, bytes, spills and memory.

In: a run. Out: :class:`TextTable`s that fit a terminal of 80 columns; empty for a run without stages. Nothing is
computed here.
"""

from collections.abc import Sequence

from assay.foundation.units import format_bytes
from assay.model import Run, Stage
from assay.text import NO_VALUE, TextTable, share, tenths

_SHOWN_MAX = 30
"""Maximum number of stages listed (the longest)."""
_NAME_MAX = 32
"""Maximum length of a stage's name, in characters."""


def stages_table(run: Run) -> TextTable:
    """Return the stages with their times and the stages whose shuffle files they read."""
    rows = tuple(
        (
            label(stage),
            ", ".join(map(str, stage.parents)) or NO_VALUE,
            tenths(stage.start_s),
            tenths(stage.end_s),
            str(stage.tasks),
            stage.name[:_NAME_MAX] + (": failed" if stage.failure else ""),
        )
        for stage in _longest_stages(run)
    )
    headers = ("stage", "reads stages", "start (s)", "end", "tasks", "what it does")
    return TextTable("stages", headers, rows, _omission_note(run))


def stage_sums_table(run: Run) -> TextTable:
    """Return the sums over each stage's attempts: bytes read, moved and spilled, garbage collection, memory."""
    rows = tuple(
        (
            label(stage),
            *(
                _bytes(value)
                for value in (
                    stage.read_bytes,
                    stage.shuffle_read_bytes,
                    stage.shuffle_write_bytes,
                    stage.written_bytes,
                    stage.spilled_bytes,
                )
            ),
            f"{tenths(stage.gc_s)} s",
            _bytes(stage.peak_memory_bytes),
        )
        for stage in _longest_stages(run)
    )
    headers = ("stage", "read", "fetched", "shuffled", "written", "spilled", "GC", "peak memory")
    return TextTable("what stages moved", headers, rows, (_SUMS_NOTE, *_omission_note(run)) if rows else ())


_SUMS_NOTE = (
    "Sums over task attempts. Peak memory: the maximum of one attempt for sorting, joining and grouping. "
    "Spilled: bytes on disks."
)


def executors_table(run: Run) -> TextTable:
    """Return the attempts, busy time, garbage collection, spills and peak heap of each executor."""
    rows = tuple(
        (
            executor.executor_id,
            executor.node,
            NO_VALUE if executor.cores is None else str(executor.cores),
            str(executor.attempts),
            f"{tenths(executor.busy_s)} s",
            share(executor.gc_s / executor.busy_s) if executor.busy_s > 0 else NO_VALUE,
            _bytes(executor.spilled_bytes),
            NO_VALUE if executor.peak_heap_bytes is None else format_bytes(executor.peak_heap_bytes),
        )
        for executor in run.executors
    )
    headers = ("executor", "node", "cores", "attempts", "busy", "GC", "spilled", "peak heap")
    return TextTable("executors", headers, rows)


def label(stage: Stage) -> str:
    """Return a stage's number, with the number of its attempt from the second on."""
    return f"{stage.stage_id}.{stage.attempt}" if stage.attempt else str(stage.stage_id)


def _bytes(value: int) -> str:
    return format_bytes(value) if value else NO_VALUE


def _longest_stages(run: Run) -> Sequence[Stage]:
    """Return the stages that ran, in their order; if there are many, the longest."""
    started_stages = [stage for stage in run.stages if stage.start_s is not None]
    longest = sorted(started_stages, key=lambda stage: (stage.start_s or 0.0) - (stage.end_s or stage.start_s or 0.0))[
        :_SHOWN_MAX
    ]
    return sorted(longest, key=lambda stage: (stage.stage_id, stage.attempt))


def _omission_note(run: Run) -> tuple[str, ...]:
    started_stages = sum(stage.start_s is not None for stage in run.stages)
    return (
        (f"The longest {_SHOWN_MAX} of {started_stages} stages; --json has all.",)
        if started_stages > _SHOWN_MAX
        else ()
    )
