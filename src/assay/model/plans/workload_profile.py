"""Workload profiles: data flow, CPU per byte, and an engine's fixed costs, independent of the cluster.

A *profile* is learned from measured runs (:mod:`assay.estimation.profiles.learning`) or shipped with assay, and is the
simulator's input about a workload. CPU seconds are those of one core of the machine that made the runs (``cpu_model``);
a node type's ``cpu: {speed}`` is relative to it. Bytes are uncompressed unless a name says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from assay.model.plans.engine_parameters import SHUFFLE_CODEC, SHUFFLE_COMPRESS

SPLITS = "splits"
BLOCK_BYTES = 128 * 2**20
"""HDFS's default block size (hdfs-default.xml)."""
_SPLIT_SLOP = 1.1
"""Maximum length of a file's last split, in blocks (FileInputFormat)."""


DEFAULT_CODEC = "lz4"
"""Spark's default codec for shuffle files."""
COMPRESSED_SHARES: Mapping[str, float] = {"lz4": 0.5, "lzf": 0.5, "snappy": 0.45, "zstd": 0.35}
"""Codec to compressed share of shuffled bytes, assumed if no measured run states it."""


def shuffle_codec(parameters: Mapping[str, str]) -> str:
    """Return the codec of Spark's shuffle files; empty if they are not compressed."""
    if parameters.get(SHUFFLE_COMPRESS) == "false":
        return ""
    return parameters.get(SHUFFLE_CODEC, DEFAULT_CODEC)


def splits_of(data_bytes: int, files: int, block_bytes: int) -> int:
    """Return the total number of splits of ``files`` equal files."""
    bytes_per_file = data_bytes / max(1, files)
    whole = max(0, math.ceil(bytes_per_file / block_bytes - _SPLIT_SLOP))
    return max(1, files) * (whole + 1)


@dataclass(frozen=True, slots=True)
class Uncertain:
    """A value with its 90 % interval and its number of runs; ``n`` 0: assumed, not measured."""

    value: float
    low: float
    high: float
    n: int = 0

    @classmethod
    def assumed(cls, value: float, factor: float = 1.5) -> Uncertain:
        """Return an assumed value that may be wrong by ``factor`` in either direction."""
        return cls(value, value / factor, value * factor)


@dataclass(frozen=True, slots=True)
class EngineCosts:
    """Fixed costs of each job, independent of its data."""

    client_start_s: Uncertain
    """From the start of the client to the submission of the first job, once per run."""
    job_start_s: Uncertain
    """From submission to the first task's container: the start of the ApplicationMaster."""
    job_end_s: Uncertain
    """From the end of the last task to the end of the job."""
    client_end_s: Uncertain
    """From the end of the last job to the end of the client."""
    task_cpu_s: Uncertain
    """CPU of an empty task: its JVM if it has one, set-up and commit."""
    job_cpu_s: Uncertain
    """CPU of processes that run as long as a job: the ApplicationMaster, and on Spark each executor's JVM."""
    io_cpu_s_per_byte: Uncertain
    """CPU of daemons and kernel for each byte that a task moves through a disk or a link."""


@dataclass(frozen=True, slots=True)
class StageProfile:
    """One stage of a workload on an engine with stages (Spark), per byte of the workload's data.

    A stage reads storage or the shuffle files of its parents, and writes shuffle files or storage.
    """

    tasks: str
    """Source of the number of tasks: ``files``, ``maps``, ``splits``, ``reduces``, or a number."""
    job: int = 0
    """Index of its job in the run; stages of a later job wait for it."""
    parents: tuple[int, ...] = ()
    """Indexes of the stages whose shuffle files it reads."""
    read: float = 0.0
    """Read from storage, per byte of data."""
    shuffled: float = 0.0
    """Written to shuffle files, before compression."""
    written: float = 0.0
    """Written to storage, one replica."""
    memory: float = 0.0
    """Peak execution memory of a task, per byte that it handles; 0: none."""
    cpu_s_per_byte: Uncertain = field(default_factory=lambda: Uncertain.assumed(2e-8))
    """CPU per handled byte: bytes read or fetched, or bytes written if it reads and fetches none."""


@dataclass(frozen=True, slots=True)
class WorkloadProfile:
    """Costs and data flow of a workload per byte of its data."""

    workload: str
    """Name of the workload in plans."""
    n: int
    """Number of runs that the profile was learned from."""
    data_bytes_min: int
    """Smallest data size of these runs; ``data_bytes_max``: the largest."""
    data_bytes_max: int
    maps: str
    """Source of the number of map tasks: ``files``, ``maps``, ``splits`` of the input, ``reduces``, or a
    number."""
    reduces: str
    jobs: int = 1
    """Jobs of a run with one iteration."""
    read: float = 0.0
    """Read from HDFS by maps, per byte of data."""
    map_output: float = 0.0
    """Map output, per byte of data, before a combiner."""
    combined: float = 1.0
    """Share of map output that remains after a combiner."""
    written: float = 0.0
    """Written to HDFS, one replica."""
    written_by_maps: bool = False
    located: bool = True
    """Whether maps are placed where their data is."""
    map_cpu_s_per_byte: Uncertain = field(default_factory=lambda: Uncertain.assumed(2e-8))
    """CPU per byte of data that maps handle."""
    reduce_cpu_s_per_byte: Uncertain = field(default_factory=lambda: Uncertain.assumed(2e-8))
    """CPU per byte that reduces handle."""
    compression: Mapping[str, Uncertain] = field(default_factory=dict)
    """Codec to compressed share of map output."""
    stages: tuple[StageProfile, ...] = ()
    """On an engine with stages: all stages in order; the fields above are their sums. Empty: maps, then reduces."""


@dataclass(frozen=True, slots=True)
class ProfileSource:
    """The runs that a profile was learned from."""

    source: str
    """The source as text."""
    runs: int
    clusters: tuple[str, ...] = ()
    layouts: tuple[str, ...] = ()
    workers_min: int = 0
    workers_max: int = 0
    lab_scale: float | None = None
    date: str = ""
    excluded: int = 0
    """Valid measured runs that were excluded: unknown data size, or no tasks."""


@dataclass(frozen=True, slots=True)
class CostProfile:
    """Costs of an engine and its workloads on one kind of machine."""

    name: str
    engine: str
    cpu_model: str
    """Processor on which CPU seconds were measured; empty if unknown."""
    machine_cores: int | None
    """In a lab: cores of the machine that all nodes share; None on real hosts."""
    costs: EngineCosts
    workloads: Mapping[str, WorkloadProfile]
    learned: ProfileSource
    background_cores: float = 0.0
    """In a lab: cores used by the master, by disk emulation and by the machine itself."""
    other_engines: tuple[CostProfile, ...] = ()
    """Profiles of other engines, stored together with this profile."""

    def of_engine(self, name: str) -> CostProfile:
        """Return the profile of the engine ``name``; this profile if there is none."""
        return next((profile for profile in (self, *self.other_engines) if profile.engine == name), self)

    def together_with(self, others: Sequence[CostProfile]) -> CostProfile:
        """Return this profile with those of other engines added."""
        return replace(
            self, other_engines=(*self.other_engines, *(other for other in others if other.engine != self.engine))
        )
