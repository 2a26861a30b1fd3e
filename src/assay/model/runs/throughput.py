"""Define the three throughputs of a run: the names of their metrics, and the job throughput. In MB/s (10^6 bytes).

They measure different things and differ by factors. Never compare one with another.

* per stream: bytes over the sum of the streams' I/O times. Workloads report it (``workloads/dfsio.py``,
  ``workloads/dfsioe.py``).
* concurrency-gated aggregate: the mean rate of the cluster while at least half of its largest number of concurrent
  tasks is active (``analysis/run_profile/gated_aggregate.py``).
* job throughput: data over the job's wall time.
"""

from typing import Final

PER_STREAM: Final = "per_stream_mb_per_s"
GATED_AGGREGATE: Final = "gated_aggregate_mb_per_s"
JOB_THROUGHPUT: Final = "job_throughput_mb_per_s"
THROUGHPUTS: Final = (PER_STREAM, GATED_AGGREGATE, JOB_THROUGHPUT)
JOB_THROUGHPUT_SOURCE: Final = "data_bytes / duration_s"
"""The source of a job throughput that assay computes."""


def job_throughput_mb_per_s(data_bytes: float, duration_s: float) -> float:
    """Return the job throughput in MB/s; ``duration_s`` is above 0."""
    return data_bytes / duration_s / 1e6
