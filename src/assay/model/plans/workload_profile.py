"""Workload profiles: data flow and CPU per byte of a workload, independent of the cluster.

A :class:`~assay.model.plans.cost_profile.CostProfile` holds the profiles of one kind of machine. Bytes are uncompressed
unless a name says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

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
    full_splits = max(0, math.ceil(bytes_per_file / block_bytes - _SPLIT_SLOP))
    return max(1, files) * (full_splits + 1)


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
    """Smallest data size of these runs, in bytes; ``data_bytes_max``: the largest."""
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
