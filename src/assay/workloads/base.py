"""What a workload is to the rest of the house: programs to run, what they need before, and what makes an output valid.

A workload never talks to a host. It names programs; the engine runs them and hands back an :class:`Outcome`; the
workload judges it, looking at the file system through :class:`FileSystem`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from assay.model.program import Outcome, Program, Stored
from assay.model.run import Check, Task

ROOT = "/assay"
INPUT = f"{ROOT}/input"
OUTPUT = f"{ROOT}/output"


class FileSystem(Protocol):
    """What a workload may ask the distributed file system."""

    async def exists(self, path: str) -> bool:
        """Say whether there is something at ``path``."""
        ...

    async def stored(self, path: str) -> Stored:
        """Return files, bytes and replica bytes below ``path``."""
        ...

    async def read(self, path: str) -> bytes:
        """Return a small file's content."""
        ...

    async def paths(self, path: str) -> list[str]:
        """Return the paths of the files below ``path``, markers left out."""
        ...


@dataclass(frozen=True, slots=True)
class Size:
    """A workload's parameters after scaling."""

    data_bytes: int
    replication: int
    files: int | None = None
    maps: int | None = None
    reduces: int | None = None


@dataclass(frozen=True, slots=True)
class Input:
    """Data that must be there before a run; made once per layout and kept at ``place``, with a manifest beside it."""

    program: Program
    """The generator."""
    name: str
    data_bytes: int
    replication: int
    counters: tuple[str, ...] = ()
    """Counters of the generator that later checks need; they are kept in the manifest."""
    place: str = ""
    """Folder that the generator writes."""
    exact: bool = True
    """Whether the data has exactly ``data_bytes``; random text is only about as long."""
    needs: Input | None = None
    """What must be there before the generator can run."""

    def place_in(self, folder: str) -> str:
        """Return ``folder`` below a path made from the input's name and everything that decides its content."""
        decides = json.dumps([self.program.main_class, self.program.arguments, sorted(self.program.options.items()),
                              self.data_bytes, self.replication])  # fmt: skip
        return f"{INPUT}/{self.name}-{hashlib.sha256(decides.encode()).hexdigest()[:10]}/{folder}"

    def with_program(self, program: Program, *, place: str) -> Input:
        """Return this input with its generator and its place."""
        return replace(self, program=program, place=place)

    @property
    def manifest_path(self) -> str:
        """Where the manifest lies: beside the data, not in it."""
        return f"{self.place.rsplit('/', 1)[0]}/manifest.json"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a workload says of an outcome: its checks and its own metrics."""

    checks: tuple[Check, ...]
    metrics: Mapping[str, float] = field(default_factory=dict)


class Workload(Protocol):
    """One benchmark program with its input and its validity."""

    @property
    def name(self) -> str:
        """The name that plans use."""
        ...

    def data_bytes(self, size: Size) -> int:
        """Return the bytes that a run of ``size`` really processes."""
        ...

    def input(self, size: Size) -> Input | None:
        """Return what must be generated before; None when nothing."""
        ...

    def program(self, size: Size, input_path: str | None) -> Program:
        """Return the program that is timed."""
        ...

    def streamed_bytes(self, task: Task) -> int:
        """Return what a task streamed, for the concurrency-gated aggregate; 0 where that figure has no meaning."""
        ...

    def outputs(self) -> tuple[str, ...]:
        """Return the paths that must not exist before the run, and that are removed after it."""
        ...

    def check_program(self) -> Program | None:
        """Return a program that checks the output, run after the timed one and not timed; None when none is needed."""
        ...

    async def verdict(self, size: Size, outcome: Outcome, facts: Facts) -> Verdict:
        """Judge a finished run."""
        ...


@dataclass(frozen=True, slots=True)
class Facts:
    """What a verdict can look at besides the outcome."""

    files: FileSystem
    manifest: Mapping[str, int]
    """The input's kept counters."""
    check_outcome: Outcome | None
    input_place: str | None


def common_checks(outcome: Outcome) -> tuple[Check, ...]:
    """Return the checks that every workload has: the client's exit status and failed task attempts."""
    return (
        Check("exit status", outcome.exit_status == 0, f"the client ended with {outcome.exit_status}"),
        Check("failed tasks", outcome.failed_tasks == 0, f"{outcome.failed_tasks} task attempts failed"),
    )


def equal(name: str, found: float | None, expected: float, unit: str = "bytes") -> Check:
    """Return a check that two counts agree exactly."""
    if found is None:
        return Check(name, False, f"not reported; expected {expected:,.0f} {unit}")
    return Check(name, found == expected, f"{found:,.0f} {unit}, expected {expected:,.0f}")


def replicas(stored: Stored, replication: int) -> Check:
    """Return the check that all replicas of the output exist."""
    expected = stored.length_bytes * replication
    passed = stored.replica_bytes >= expected
    detail = f"{stored.replica_bytes:,} bytes in replicas, expected {expected:,} ({replication} copies)"
    return Check("replicas", passed, detail)
