"""Read figures from a run's job counters: data by stage, locality, spills, garbage collection.

In: jobs with their counters. Out: bytes, records, seconds, shares; None if no job has the counter. Names of counters
and groups are Hadoop's (``org.apache.hadoop.mapreduce`` TaskCounter, FileSystemCounter, JobCounter); Hadoop 1
has the same counters in other groups.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from assay.model import Job


@dataclass(frozen=True, slots=True)
class JobFigures:
    """Totals over jobs. Bytes are as requested by the program, before replication and the page cache."""

    hdfs_read_bytes: int | None
    hdfs_write_bytes: int | None
    local_read_bytes: int | None
    """Read from intermediate directories by tasks, without the map output that NodeManagers read for reducers."""
    local_write_bytes: int | None
    map_output_bytes: int | None
    """Before compression."""
    shuffle_bytes: int | None
    """Fetched by reducers; compressed if the map output is."""
    map_output_records: int | None
    spilled_records: int | None
    cpu_s: float | None
    gc_s: float | None
    maps_launched: int | None
    maps_node_local: int | None
    """Maps that ran on a node with a replica of their split; the next two: in the same rack, in another rack."""
    maps_rack_local: int | None
    maps_off_rack: int | None

    @property
    def spill_ratio(self) -> float | None:
        """Records that maps and reduces wrote to local disks over map output records.

        1: every record was written once, at the end of its map. Further spill-and-merge passes, and records that a
        reduce could not keep in memory, increase it. A combiner lowers it. None for jobs without map output.
        """
        if self.spilled_records is None or not self.map_output_records:
            return None
        return self.spilled_records / self.map_output_records

    @property
    def node_local_share(self) -> float | None:
        """Share of node-local maps among those with a preferred location; None if no map had one."""
        located_maps = sum(count or 0 for count in (self.maps_node_local, self.maps_rack_local, self.maps_off_rack))
        return (self.maps_node_local or 0) / located_maps if located_maps else None


def total(jobs: Sequence[Job], counter: str) -> int | None:
    """Return a counter of Hadoop's groups over all jobs; None if no job has it, or if it is negative in some job."""
    values = [value for job in jobs if (value := job.counter(counter)) is not None]
    return sum(values) if values and min(values) >= 0 else None


COUNTERS: Final = {
    "hdfs_read_bytes": "HDFS_BYTES_READ",
    "hdfs_write_bytes": "HDFS_BYTES_WRITTEN",
    "local_read_bytes": "FILE_BYTES_READ",
    "local_write_bytes": "FILE_BYTES_WRITTEN",
    "map_output_bytes": "MAP_OUTPUT_BYTES",
    "shuffle_bytes": "REDUCE_SHUFFLE_BYTES",
    "map_output_records": "MAP_OUTPUT_RECORDS",
    "spilled_records": "SPILLED_RECORDS",
    "maps_launched": "TOTAL_LAUNCHED_MAPS",
    "maps_node_local": "DATA_LOCAL_MAPS",
    "maps_rack_local": "RACK_LOCAL_MAPS",
    "maps_off_rack": "OTHER_LOCAL_MAPS",
}
"""Field of :class:`JobFigures` to Hadoop's counter."""
CPU_COUNTER: Final = "CPU_MILLISECONDS"
GC_COUNTER: Final = "GC_TIME_MILLIS"


def job_figures(jobs: Sequence[Job]) -> JobFigures:
    """Return the totals over ``jobs``."""
    cpu_ms, gc_ms = total(jobs, CPU_COUNTER), total(jobs, GC_COUNTER)
    return JobFigures(
        cpu_s=cpu_ms / 1000 if cpu_ms else None,  # Hadoop writes 0 where it can't measure it
        gc_s=None if gc_ms is None else gc_ms / 1000,
        **{field: total(jobs, counter) for field, counter in COUNTERS.items()},
    )
