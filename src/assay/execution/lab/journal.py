"""The undo journal of a lab: each resource is recorded on disk before it is created, so that any process can remove it.

``journal.jsonl`` holds one JSON object per line. The first is the :class:`LabHeader` (name, owner, whether the lab
outlives its owner). Each other line is an :class:`UndoStep`: a kind of :mod:`assay.execution.lab.undo` and its
arguments. A crash can truncate only the last line. Its step was not started, so the line is ignored.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import msgspec

from assay.foundation.process import Owner

JOURNAL = "journal.jsonl"


@dataclass(frozen=True, slots=True)
class LabHeader:
    """Owner of a lab. A ``persistent`` lab outlives its owner once it is up."""

    lab: str
    persistent: bool
    owner: Owner


@dataclass(frozen=True, slots=True)
class UndoStep:
    """A resource that is about to be created: its kind, and the arguments of its removal."""

    kind: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UndoJournal:
    """An append-only file of steps. Every append is on disk before the call returns."""

    path: Path

    @classmethod
    def begin(cls, directory: Path, header: LabHeader) -> Self:
        """Start the journal in ``directory`` with ``header``."""
        journal = cls(directory / JOURNAL)
        journal._append([msgspec.json.encode(header)])
        return journal

    def record(self, *steps: UndoStep) -> None:
        """Write ``steps`` to disk, in order."""
        self._append([msgspec.json.encode(step) for step in steps])

    def _append(self, lines: Sequence[bytes]) -> None:
        with self.path.open("ab") as file:
            file.write(b"".join(line + b"\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())


def read_journal(directory: Path) -> tuple[LabHeader | None, list[UndoStep]]:
    """Return the header and the steps of the journal in ``directory``; (None, []) if there is no journal."""
    try:
        lines = (directory / JOURNAL).read_bytes().split(b"\n")
    except OSError:
        return None, []
    header: LabHeader | None = None
    steps: list[UndoStep] = []
    for number, line in enumerate(lines[:-1]):  # the text after the last newline is empty or incomplete
        try:
            if number == 0:
                header = msgspec.json.decode(line, type=LabHeader)
            else:
                steps.append(msgspec.json.decode(line, type=UndoStep))
        except msgspec.MsgspecError:
            continue  # the disk lost a block in a power failure; the other lines are still valid
    return header, steps
