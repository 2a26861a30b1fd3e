"""A run: one execution of a workload on a configuration, with results and validity checks.

Times are in seconds; ``*_s`` of phases and tasks count from the run's start. Metrics are numbers whose names end in
their unit (``per_stream_mb_per_s``); MB is 10^6 bytes except where a name says ``mib``.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from msgspec import Struct

from assay.model.runs.environment import Environment
from assay.model.runs.warning import CodedWarning

RUN_SCHEMA_VERSION = 2
"""Schema version of a stored run. In version 1, warnings are texts without codes."""
SIMULATED_LOW_S, SIMULATED_HIGH_S = "duration_low_s", "duration_high_s"
"""Metrics of a simulated run: bounds of the 90 % interval of its duration, in seconds."""


class Origin(StrEnum):
    """Origin of a number; origins are never mixed and always shown."""

    MEASURED = "measured"
    SIMULATED = "simulated"
    PREDICTED = "predicted"
    PUBLISHED = "published"


class RunStatus(StrEnum):
    """Status of a run. ``valid``: all checks passed; ``invalid``: a check failed; ``failed``: the run did not
    finish."""

    VALID = "valid"
    INVALID = "invalid"
    FAILED = "failed"


class FailureClass(StrEnum):
    """Class of the cause if a run is not valid. Each class has its own number of retries."""

    INFRASTRUCTURE = "infrastructure"
    """An unreachable host, a link that was down, a full or failing disk, a lab that is gone."""
    ENGINE = "engine"
    """Daemons, executors or a client that died, daemons that did not start, an input that could not be generated, a
    check that could not run, an incomplete job history."""
    WORKLOAD = "workload"
    """The job itself failed or exceeded its time limit."""
    VALIDATION = "validation"
    """The job succeeded, and a check of its output failed."""


@dataclass(frozen=True, slots=True)
class Check:
    """A validity check of a run's output, with the expected and the actual value as text."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Phase:
    """A labelled interval of a run: setup, map, shuffle, merge, reduce, cleanup. Phases may overlap."""

    name: str
    start_s: float
    end_s: float

    @property
    def duration_s(self) -> float:
        """Length of the interval in seconds."""
        return self.end_s - self.start_s


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
    """None if not recorded, like the two times below; bundles of older versions have 0."""
    cpu_s: float | None
    gc_s: float | None


@dataclass(frozen=True, slots=True)
class Job:
    """One job of a run, from its job history. Its attempts carry its ``job_id``."""

    job_id: str
    name: str
    status: str
    """``succeeded``, ``failed``, ``killed`` or ``error``."""
    submit_s: float
    launch_s: float | None
    """Time at which the ApplicationMaster finished the job's setup; None if the job ended before."""
    finish_s: float
    maps: int
    reduces: int
    counters: dict[str, dict[str, int]] = field(default_factory=dict)
    """Total counters of the job: group to counter to value; empty for a job that did not succeed."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One attempt of a Spark stage, with sums over its task attempts; None if its times are not recorded."""

    stage_id: int
    attempt: int
    name: str
    parents: tuple[int, ...]
    """Stages whose shuffle files it reads."""
    tasks: int
    start_s: float | None
    end_s: float | None
    failure: str | None
    read_bytes: int
    """From storage, or from Spark's cache."""
    written_bytes: int
    """To storage."""
    shuffle_read_bytes: int
    shuffle_write_bytes: int
    spilled_bytes: int
    """Spilled to disk."""
    gc_s: float
    peak_memory_bytes: int
    """Peak execution memory of one attempt."""


@dataclass(frozen=True, slots=True)
class Executor:
    """A Spark executor with task attempts, and sums over these."""

    executor_id: str
    node: str
    cores: int | None
    attempts: int
    busy_s: float
    gc_s: float
    spilled_bytes: int
    peak_memory_bytes: int
    """Peak execution memory of one attempt."""
    peak_heap_bytes: int | None
    """Peak heap in use; None if the log does not record it."""


@dataclass(frozen=True, slots=True)
class CacheState:
    """Page cache of a node before and after a drop. ``data_resident_bytes``: cached bytes of the layout's data
    files."""

    node: str
    cached_before_bytes: int
    cached_after_bytes: int
    data_resident_before_bytes: int | None
    data_resident_after_bytes: int | None
    dropped: bool
    reason: str | None
    """Why the cache was not dropped, or why the data files could not be counted; None on success."""


@dataclass(frozen=True, slots=True)
class Run:
    """The record of a run. Logs, tasks and traces are separate files of the bundle."""

    run_id: str
    campaign_id: str
    plan: str
    origin: Origin
    status: RunStatus
    cause: str | None
    """Why the run is invalid or failed; None if valid."""
    cluster: str
    lab_scale: float | None
    """None on real hosts."""
    engine: str
    engine_version: str
    workload: str
    workload_parameters: dict[str, str]
    layout: str
    levels: dict[str, str]
    """Each factor of the plan with this run's level, including the layout if the plan varies it."""
    parameters: dict[str, str]
    """Engine parameters that assay set."""
    repetition: int
    block: int
    """ABBA block of the run. Runs of one block are compared as pairs."""
    position: int
    attempt: int
    started_at: str
    """ISO 8601 in UTC."""
    duration_s: float
    """Wall time of the workload's client program, from start to exit, as the user sees it."""
    cold: bool | None
    """True: caches proven cold. False: proven warm. None: unknown, or simulated."""
    data_bytes: int | None
    """Bytes that the workload processed, after scaling; None if an imported run does not record it."""
    metrics: dict[str, float] = field(default_factory=dict)
    phases: tuple[Phase, ...] = ()
    checks: tuple[Check, ...] = ()
    caches: tuple[CacheState, ...] = ()
    warnings: tuple[CodedWarning, ...] = ()
    environment: dict[str, Any] = field(default_factory=dict)
    """Recorded hosts, cluster and programs as written; :attr:`recorded` reads it."""
    baseline_id: str | None = None
    """The baseline that was measured on this cluster before; its file is in the bundle."""
    sources: dict[str, str] = field(default_factory=dict)
    """Metric or field name to its source, for example ``{"phases": "job history"}``."""
    schema_version: int = RUN_SCHEMA_VERSION
    failure_class: FailureClass | None = None
    """Class of the cause if the run is not valid; None if it is valid, and in runs of versions without classes."""
    jobs: tuple[Job, ...] = ()
    """Jobs in order of submission; empty in bundles of older versions and if not recorded."""
    stages: tuple[Stage, ...] = ()
    """Spark stages in order of completion."""
    executors: tuple[Executor, ...] = ()
    """Spark executors."""
    source_id: str = ""
    """Id of an imported run in its source file, for example ALOJA's ``id_exec``; empty if there is none."""

    @property
    def cache_state(self) -> str:
        """``cold``, ``warm`` or ``simulated``; empty if unknown."""
        if self.origin is Origin.SIMULATED:
            return str(Origin.SIMULATED)
        return {True: "cold", False: "warm", None: ""}[self.cold]

    @property
    def recorded(self) -> Environment:
        """The recorded environment of the run."""
        return Environment(self.environment)
