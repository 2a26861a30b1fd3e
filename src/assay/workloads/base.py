"""What a workload is to the rest of the house: programs to run, what they need before, and what makes an output valid.

A workload never talks to a host. It names programs; the engine runs them and hands back an :class:`Outcome`; the
workload judges it, looking at the file system through :class:`FileSystem`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from assay.explain.throughput import Measured
from assay.model.program import OWN_JOBS, Outcome, Program, Stored
from assay.model.run import Check, Task
from assay.units import parse_bytes

ROOT = "/assay"
INPUT = f"{ROOT}/input"
OUTPUT = f"{ROOT}/output"

_COUNTS = ("files", "maps", "reduces", "iterations", "clusters", "seed")
_ABOUT = 0.1
DEFAULT_MAPS = 6


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
    iterations: int | None = None
    clusters: int | None = None
    seed: int = 1
    payload: str = "pattern"
    """``pattern``: as stock jobs have it; ``random``: seeded bytes that can't be compressed."""
    block_bytes: int | None = None
    """Size of HDFS blocks, input's too; None: the engine's default."""
    sorted_replication: int | None = None
    """Copies of TeraSort's output, where these are not ``replication``."""

    @classmethod
    def of(cls, data_bytes: int, parameters: Mapping[str, str], options: Mapping[str, str]) -> Size:
        """Return the size that a plan's workload options say (the names are those of the fields), with what engine
        parameters say of the data.
        """
        counts = {name: int(text) for name, text in options.items() if name in _COUNTS}
        block, copies = parameters.get("dfs.blocksize"), parameters.get("mapreduce.terasort.output.replication")
        return cls(
            data_bytes,
            int(parameters["dfs.replication"]),
            payload=options.get("payload", "pattern"),
            block_bytes=(int(block) if block.isdecimal() else parse_bytes(block)) if block else None,
            sorted_replication=int(copies) if copies else None,
            **counts,
        )

    @property
    def stored(self) -> dict[str, str]:
        """The options that say how data are stored; inputs that differ in them are different inputs."""
        block = {"dfs.blocksize": str(self.block_bytes)} if self.block_bytes else {}
        return {"dfs.replication": str(self.replication), **block}


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
    files: int | None = None
    """In how many files the data lies, where the program that reads it counts on that."""

    def place_in(self, folder: str) -> str:
        """Return ``folder`` below a path made from the input's name and everything that decides its content."""
        decides = json.dumps(
            [
                self.program.main_class,
                self.program.arguments,
                sorted(self.program.options.items()),
                self.data_bytes,
                self.replication,
            ]
        )
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
    streams: tuple[Measured, ...] = ()
    """What each stream counted by itself, in seconds since 1970; empty where only the job history tells."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Metric to where it came from, where that is not what it usually is."""
    logs: Mapping[str, bytes] = field(default_factory=dict)
    """Files that metrics were made from, for the bundle."""


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

    def leaves(self, size: Size) -> tuple[str, ...]:
        """Return the paths that must not exist before the run, and that stay after it: another workload's input."""
        ...

    def check_program(self, input_path: str | None) -> Program | None:
        """Return a program that checks the output, run after the timed one and not timed; None when none is needed."""
        ...

    async def verdict(self, size: Size, outcome: Outcome, facts: Facts) -> Verdict:
        """Judge a finished run."""
        ...


class Defaults:
    """What most workloads answer: no input, nothing left, no gated aggregate, no further program for the check."""

    __slots__ = ()

    def input(self, size: Size) -> Input | None:  # noqa: ARG002 - one protocol for all workloads
        """Need nothing."""
        return None

    def leaves(self, size: Size) -> tuple[str, ...]:  # noqa: ARG002
        """Leave nothing."""
        return ()

    def streamed_bytes(self, task: Task) -> int:  # noqa: ARG002
        """Give no gated aggregate: tasks read, sort and write by turns."""
        return 0

    def check_program(self, input_path: str | None) -> Program | None:  # noqa: ARG002
        """Need no further program."""
        return None


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


def about(name: str, found_bytes: int, wanted_bytes: int) -> Check:
    """Return a check that generated data has about the size that was asked for: its generator can't hit it exactly."""
    passed = abs(found_bytes - wanted_bytes) <= _ABOUT * wanted_bytes
    return Check(name, passed, f"{found_bytes:,} bytes, {wanted_bytes:,} asked for (at most {_ABOUT:.0%} off)")


def nothing_written(outcome: Outcome) -> Check:
    """Return the check that a job left nothing in HDFS."""
    written = outcome.counter("HDFS_BYTES_WRITTEN") or 0
    return Check("nothing written", written == 0, f"{written:,} bytes written to HDFS")


def generating(size: Size) -> dict[str, str]:
    """Return the options of assay's own generators: how many maps write, and the seed."""
    return {"mapreduce.job.maps": str(size.maps or DEFAULT_MAPS), "assay.seed": str(size.seed)}


def generated(
    name: str,
    generator: Callable[[str], Program],
    data_bytes: int,
    replication: int,
    *,
    counters: tuple[str, ...] = (),
    exact: bool = False,
) -> Input:
    """Return the input that ``generator`` writes into the folder it is given."""
    wanted = Input(generator(""), name, data_bytes, replication, counters, exact=exact)
    place = wanted.place_in("data")
    return wanted.with_program(generator(place), place=place)


def reducing(size: Size) -> dict[str, str]:
    """Return the option that sets the number of reduces; {} leaves it to Hadoop, whose default is 1."""
    return {"mapreduce.job.reduces": str(size.reduces)} if size.reduces else {}


def own_program(name: str, *arguments: object, options: Mapping[str, str]) -> Program:
    """Return one of assay's own programs."""
    return Program(f"{OWN_JOBS}{name}", tuple(map(str, arguments)), options)


def replicas(stored: Stored, replication: int) -> Check:
    """Return the check that all replicas of the output exist."""
    expected = stored.length_bytes * replication
    passed = stored.replica_bytes >= expected
    detail = f"{stored.replica_bytes:,} bytes in replicas, expected {expected:,} ({replication} copies)"
    return Check("replicas", passed, detail)
