"""Layouts: which devices hold HDFS blocks, which hold intermediate data, in how many directories each."""

from dataclasses import dataclass
from enum import StrEnum


class StoragePolicy(StrEnum):
    """Which kinds of storage HDFS puts a block's replicas on; its own names for its policies."""

    HOT = "HOT"
    ONE_SSD = "ONE_SSD"
    ALL_SSD = "ALL_SSD"
    LAZY_PERSIST = "LAZY_PERSIST"

    def storage_types(self, replication: int) -> tuple[str, ...]:
        """Return the types of a block's replicas once they lie where the policy wants them, sorted.

        LAZY_PERSIST writes one replica to memory and soon from there to disk; both places are as it says.
        """
        match self:
            case StoragePolicy.ONE_SSD:
                return tuple(sorted(["SSD", *["DISK"] * (replication - 1)]))
            case StoragePolicy.ALL_SSD:
                return ("SSD",) * replication
        return ("DISK",) * replication


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
    policy: StoragePolicy | None = None
    """HDFS's storage policy; None: HDFS is not told what kinds its devices are."""

    def devices(self) -> tuple[str, ...]:
        """Return the names of every device in use, each once, HDFS first."""
        return tuple(dict.fromkeys(part.device for part in (*self.hdfs, *self.intermediate)))
