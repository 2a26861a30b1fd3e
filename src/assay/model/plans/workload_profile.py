"""What a workload costs, whatever cluster it runs on: its data flow, CPU per byte, and an engine's fixed costs.

A *profile* is learned from measured runs (:mod:`assay.estimation.profiles.learning`) or shipped with assay, and is what
the simulator needs of a workload. Seconds of CPU are those of one core of the machine that the runs were made on
(``cpu_model``); a node type's ``cpu: {speed}`` is relative to it. Bytes are uncompressed unless a name says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from assay.model.plans.engine_parameters import SHUFFLE_CODEC, SHUFFLE_COMPRESS

SPLITS = "splits"
BLOCK_BYTES = 128 * 2**20
"""HDFS's own block size (hdfs-default.xml)."""
_SPLIT_SLOP = 1.1
"""The last split of a file may be so much longer than a block (FileInputFormat)."""


DEFAULT_CODEC = "lz4"
"""What Spark compresses shuffle files with, where nothing is said."""
COMPRESSED_SHARES: Mapping[str, float] = {"lz4": 0.5, "lzf": 0.5, "snappy": 0.45, "zstd": 0.35}
"""Codec to the share that it leaves of shuffled bytes, where no measured run tells: assumed."""


def shuffle_codec(parameters: Mapping[str, str]) -> str:
    """Return the codec of Spark's shuffle files; empty for none."""
    if parameters.get(SHUFFLE_COMPRESS) == "false":
        return ""
    return parameters.get(SHUFFLE_CODEC, DEFAULT_CODEC)


def splits_of(data_bytes: int, files: int, block_bytes: int) -> int:
    """Return how many splits ``files`` equal files have together."""
    bytes_per_file = data_bytes / max(1, files)
    whole = max(0, math.ceil(bytes_per_file / block_bytes - _SPLIT_SLOP))
    return max(1, files) * (whole + 1)


@dataclass(frozen=True, slots=True)
class Uncertain:
    """A value with its 90 % interval, and from how many runs it is; ``n`` 0: assumed, not measured."""

    value: float
    low: float
    high: float
    n: int = 0

    @classmethod
    def assumed(cls, value: float, factor: float = 1.5) -> Uncertain:
        """Return an assumed value, which may be wrong by ``factor`` in either direction."""
        return cls(value, value / factor, value * factor)


@dataclass(frozen=True, slots=True)
class EngineCosts:
    """What every job costs whatever its data."""

    client_start_s: Uncertain
    """From the client's start to the job's submission, once a run."""
    job_start_s: Uncertain
    """From the submission to the first task's container: the ApplicationMaster."""
    job_end_s: Uncertain
    """From the last task's end to the job's end."""
    client_end_s: Uncertain
    """From the last job's end to the client's end."""
    task_cpu_s: Uncertain
    """CPU of a task that has nothing to do: its JVM where it has one, its set-up, its commit."""
    job_cpu_s: Uncertain
    """CPU of what lives as long as a job, while tasks run: its ApplicationMaster, on Spark each executor's JVM."""
    io_cpu_s_per_byte: Uncertain
    """CPU of daemons and kernel for each byte that crosses a disk or a link for a task."""


@dataclass(frozen=True, slots=True)
class StageProfile:
    """One stage of a workload on an engine of stages (Spark), for each byte of the workload's data.

    A stage reads storage, or what the stages that it comes after have shuffled, and puts out one of both.
    """

    tasks: str
    """What their number follows: ``files``, ``maps``, ``splits``, ``reduces``, or a number."""
    job: int = 0
    """Which of the run's jobs it belongs to: those of a later one wait for it."""
    parents: tuple[int, ...] = ()
    """The stages whose shuffle files it reads, by their places."""
    read: float = 0.0
    """Read from storage."""
    shuffled: float = 0.0
    """Put into shuffle files, before a codec."""
    written: float = 0.0
    """Written to storage, one copy."""
    memory: float = 0.0
    """The most execution memory of a task, for each byte that it handles; 0: it holds nothing."""
    cpu_s_per_byte: Uncertain = field(default_factory=lambda: Uncertain.assumed(2e-8))
    """Per byte that it handles: what it reads or fetches, and puts out where it does neither."""


@dataclass(frozen=True, slots=True)
class WorkloadProfile:
    """What one workload does with each byte of its data."""

    workload: str
    """The workload's name in plans."""
    n: int
    """Runs that it was learned from."""
    data_bytes_min: int
    """The least data that it was learned from; ``data_bytes_max``: the most."""
    data_bytes_max: int
    maps: str
    """What the number of map tasks follows: ``files``, ``maps``, ``splits`` of the input, ``reduces``, or a number."""
    reduces: str
    jobs: int = 1
    """Jobs of a run of one iteration."""
    read: float = 0.0
    """Read from HDFS by maps, for each byte of data."""
    map_output: float = 0.0
    """Put out by maps to reduces, before a combiner."""
    combined: float = 1.0
    """What a combiner leaves of that."""
    written: float = 0.0
    """Written to HDFS, one copy."""
    written_by_maps: bool = False
    located: bool = True
    """Whether maps are placed where their data lies."""
    map_cpu_s_per_byte: Uncertain = field(default_factory=lambda: Uncertain.assumed(2e-8))
    """Per byte of data that maps handle."""
    reduce_cpu_s_per_byte: Uncertain = field(default_factory=lambda: Uncertain.assumed(2e-8))
    """Per byte that reduces handle."""
    compression: Mapping[str, Uncertain] = field(default_factory=dict)
    """Codec to stored over uncompressed bytes of map output."""
    stages: tuple[StageProfile, ...] = ()
    """On an engine of stages: all stages, in order; the fields above are their sums. Empty: maps, then reduces."""


@dataclass(frozen=True, slots=True)
class Learned:
    """Where a profile is from."""

    source: str
    """In words."""
    runs: int
    clusters: tuple[str, ...] = ()
    layouts: tuple[str, ...] = ()
    workers_min: int = 0
    workers_max: int = 0
    lab_scale: float | None = None
    date: str = ""
    excluded: int = 0
    """Valid measured runs that were left out: of unknown data size, or without tasks."""


@dataclass(frozen=True, slots=True)
class CostProfile:
    """What an engine and its workloads cost on a kind of machine."""

    name: str
    engine: str
    cpu_model: str
    """The processor that CPU seconds are of, as the hosts name it; empty: not known."""
    machine_cores: int | None
    """In a lab: cores of the one machine that all nodes share; None on real hosts."""
    costs: EngineCosts
    workloads: Mapping[str, WorkloadProfile]
    learned: Learned
    background_cores: float = 0.0
    """In a lab: of these cores, what its master, its disks' emulation and the machine itself always take."""
    other_engines: tuple[CostProfile, ...] = ()
    """Profiles of other engines that are known together with this one."""

    def of_engine(self, name: str) -> CostProfile:
        """Return the profile of the engine ``name``; this profile if there is none."""
        return next((profile for profile in (self, *self.other_engines) if profile.engine == name), self)

    def together_with(self, others: Sequence[CostProfile]) -> CostProfile:
        """Return this profile together with those of other engines."""
        return replace(
            self, other_engines=(*self.other_engines, *(other for other in others if other.engine != self.engine))
        )
