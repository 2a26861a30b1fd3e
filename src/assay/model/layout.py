"""Layouts: which devices hold HDFS blocks, which hold intermediate data, in how many directories each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Directories:
    """A device's share in a layout: ``count`` directories on ``device`` (a device name of the worker's node type)."""

    device: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a worker keeps HDFS blocks and where it keeps intermediate (shuffle, spill) data."""

    name: str
    hdfs: tuple[Directories, ...]
    intermediate: tuple[Directories, ...]

    def devices(self) -> tuple[str, ...]:
        """Return the names of every device in use, each once, HDFS first."""
        return tuple(dict.fromkeys(part.device for part in (*self.hdfs, *self.intermediate)))
