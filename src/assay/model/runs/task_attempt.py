"""A task attempt: one try of an engine at a task of a job, with its times in seconds and its counters.

Times count from the start of the run.
"""

from msgspec import Struct


class TaskAttempt(Struct, frozen=True, gc=False):
    """One task attempt of a job. ``shuffle_end_s`` and ``merge_end_s`` are None for maps and in Spark.

    A Struct, because jobs have tens of thousands of attempts and a frozen dataclass takes thirty times as long to
    create.

    For Spark, ``job_id`` is the number of the first job with the stage, ``task_id`` is ``stage.attempt.partition``, the
    ``hdfs_*`` bytes are all bytes read from storage or Spark's cache and written to storage, and ``spilled_records`` is
    None: Spark counts bytes, which are in the metrics.
    """

    job_id: str
    task_id: str
    attempt_id: str
    kind: str
    """``map`` or ``reduce``; for Spark ``shuffle_map`` or ``result``, and ``task`` if the type is not recorded."""
    node: str
    status: str
    """``succeeded``, ``failed`` or ``killed``."""
    start_s: float
    end_s: float
    shuffle_end_s: float | None
    merge_end_s: float | None
    hdfs_read_bytes: int
    hdfs_write_bytes: int
    local_read_bytes: int
    local_write_bytes: int
    spilled_records: int | None
    """None if not recorded, as for ``cpu_s`` and ``gc_s``. Bundles of older versions have 0."""
    cpu_s: float | None
    gc_s: float | None
