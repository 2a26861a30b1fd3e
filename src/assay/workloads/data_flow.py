"""The data flow of a workload: bytes that it reads, shuffles and writes per byte of its data."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DataFlow:
    """Uncompressed bytes moved per byte of a workload's data in each iteration. A few per cent are stated as 0."""

    read: float = 0
    """Read from HDFS."""
    shuffled: float = 0
    """Sent from maps to reduces: written to intermediate data once, and read from there."""
    written: float = 0
    """Written to HDFS, counting one replica."""
    iterations: int = 1
    """Number of iterations if the plan does not set it."""
