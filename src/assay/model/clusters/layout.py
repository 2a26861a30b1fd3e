"""Storage layouts: devices and directories for HDFS blocks and for intermediate data."""

from dataclasses import dataclass
from enum import StrEnum


class StoragePolicy(StrEnum):
    """HDFS storage policies under their HDFS names. A policy selects the kinds of storage for a block's replicas."""

    HOT = "HOT"
    ONE_SSD = "ONE_SSD"
    ALL_SSD = "ALL_SSD"
    LAZY_PERSIST = "LAZY_PERSIST"

    def storage_types(self, replication: int) -> tuple[str, ...]:
        """Return the storage types of a block's replicas once the policy is satisfied, sorted.

        LAZY_PERSIST writes one replica to memory and soon moves it to disk; both states satisfy it.
        """
        match self:
            case StoragePolicy.ONE_SSD:
                return tuple(sorted(["SSD", *["DISK"] * (replication - 1)]))
            case StoragePolicy.ALL_SSD:
                return ("SSD",) * replication
        return ("DISK",) * replication


@dataclass(frozen=True, slots=True)
class Directories:
    """A device of a layout: ``count`` directories on ``device`` (a device name of the worker's node type)."""

    device: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Layout:
    """The devices of a worker for HDFS blocks and for intermediate (shuffle, spill) data."""

    name: str
    hdfs: tuple[Directories, ...]
    intermediate: tuple[Directories, ...]
    policy: StoragePolicy | None = None
    """HDFS storage policy; None: HDFS gets no storage types."""

    def devices(self) -> tuple[str, ...]:
        """Return the names of all devices in use without duplicates, HDFS first."""
        return tuple(dict.fromkeys(part.device for part in (*self.hdfs, *self.intermediate)))
