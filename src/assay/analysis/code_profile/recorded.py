"""The stacks of a run with the unit of their counts, for exports."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from assay.analysis.code_profile.stacks import Stack
from assay.model import Run

ProfileKind = Literal["cpu", "wall", "alloc", "lock"]


@dataclass(frozen=True, slots=True)
class RecordedPart:
    """The stacks of one part of a recording: a phase of a task attempt, or a stage of an executor."""

    recording: str
    part: str
    stacks: Counter[Stack]


@dataclass(frozen=True, slots=True)
class RecordedStacks:
    """All stacks of a run. Counts are samples; for ``alloc`` they are bytes, for ``lock`` nanoseconds."""

    run: Run
    kind: str
    interval_ms: float | None
    """Time between two samples; None if counts are not samples."""
    parts: tuple[RecordedPart, ...]
