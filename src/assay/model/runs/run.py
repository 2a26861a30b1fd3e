"""A run: one workload on one configuration, once, with what came out and how sure it is.

Times are in seconds; ``*_s`` of phases and tasks count from the run's start. Metrics are numbers whose names end in
their unit (``per_stream_mb_per_s``); MB is 10^6 bytes everywhere except where a name says ``mib``.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from msgspec import Struct

from assay.model.runs.environment import Environment
from assay.model.runs.warning import CodedWarning

RUN_SCHEMA_VERSION = 2
"""Version of a stored run's form. In version 1 warnings are words without codes."""
SIMULATED_LOW_S, SIMULATED_HIGH_S = "duration_low_s", "duration_high_s"
"""Metrics of a simulated run: the bounds between which nine of ten run times lie, in seconds."""


class Origin(StrEnum):
    """Where a number comes from; never mixed, always shown."""

    MEASURED = "measured"
    SIMULATED = "simulated"
    PREDICTED = "predicted"
    PUBLISHED = "published"


class RunStatus(StrEnum):
    """How a run ended: ``valid``: every check passed; ``invalid``: a check did not; ``failed``: it did not finish."""

    VALID = "valid"
    INVALID = "invalid"
    FAILED = "failed"


class FailureClass(StrEnum):
    """Whose fault it was that a run is not valid; each class is tried again by its own rule."""

    INFRASTRUCTURE = "infrastructure"
    """A host out of reach, a link that was down, a full or failing disk, a lab that is gone."""
    ENGINE = "engine"
    """Daemons, executors or a client that died, daemons that did not start, an input that could not be made, a check
    that could not run, a record of the job that has gaps.
    """
    WORKLOAD = "workload"
    """The job itself failed, or was stopped at its time limit."""
    VALIDATION = "validation"
    """The job ended well, and a check of its output did not pass."""


@dataclass(frozen=True, slots=True)
class Check:
    """One validity check of a run's output, with what was expected and what was found, in words."""

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
        """Length of the interval."""
        return self.end_s - self.start_s


class Task(Struct, frozen=True, gc=False):
    """One task attempt of a job. ``shuffle_end_s`` and ``merge_end_s`` are None for maps and in Spark.

    A Struct because jobs have tens of thousands of them, and a frozen dataclass takes thirty times as long to make.

    Of Spark, ``job_id`` is the number of the first job that has the stage, ``task_id`` is ``stage.attempt.partition``,
    the ``hdfs_*`` bytes are all that was read from storage or Spark's cache and written to storage, and
    ``spilled_records`` is None: Spark counts bytes, which stand among the metrics.
    """

    job_id: str
    task_id: str
    attempt_id: str
    kind: str
    """``map`` or ``reduce``; of Spark ``shuffle_map`` or ``result``, and ``task`` where its type is not told."""
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
    """None, like the two times below, where the attempt does not tell; bundles of older versions have 0 there."""
    cpu_s: float | None
    gc_s: float | None


@dataclass(frozen=True, slots=True)
class Job:
    """One job of a run as its history tells it; a run can have several. Its attempts carry its ``job_id``."""

    job_id: str
    name: str
    status: str
    """``succeeded``, ``failed``, ``killed`` or ``error``."""
    submit_s: float
    launch_s: float | None
    """When the ApplicationMaster had set the job up; None when the job ended before."""
    finish_s: float
    maps: int
    reduces: int
    counters: dict[str, dict[str, int]] = field(default_factory=dict)
    """The job's totals: group to counter to value; empty for a job that did not succeed."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One attempt of a Spark stage, with the sums over its task attempts; None where its times are not told."""

    stage_id: int
    attempt: int
    name: str
    parents: tuple[int, ...]
    """The stages whose shuffle files it reads."""
    tasks: int
    start_s: float | None
    end_s: float | None
    failure: str | None
    read_bytes: int
    """From storage, or from what Spark keeps."""
    written_bytes: int
    """To storage."""
    shuffle_read_bytes: int
    shuffle_write_bytes: int
    spilled_bytes: int
    """To disks."""
    gc_s: float
    peak_memory_bytes: int
    """The most execution memory of one attempt."""


@dataclass(frozen=True, slots=True)
class Executor:
    """One Spark executor that had task attempts, with the sums over them."""

    executor_id: str
    node: str
    cores: int | None
    attempts: int
    busy_s: float
    gc_s: float
    spilled_bytes: int
    peak_memory_bytes: int
    """The most execution memory of one attempt."""
    peak_heap_bytes: int | None
    """The most of its heap that was seen in use; None where the log does not tell."""


@dataclass(frozen=True, slots=True)
class CacheState:
    """Page cache of one node around a drop. ``data_resident_bytes``: cached bytes of the layout's data files."""

    node: str
    cached_before_bytes: int
    cached_after_bytes: int
    data_resident_before_bytes: int | None
    data_resident_after_bytes: int | None
    dropped: bool
    reason: str | None
    """Why the drop did not happen, or why the data files could not be counted, in words; None when all went well."""


@dataclass(frozen=True, slots=True)
class Run:
    """The record of a run, without its logs, tasks and traces, which are separate files of the bundle."""

    run_id: str
    campaign_id: str
    plan: str
    origin: Origin
    status: RunStatus
    cause: str | None
    """Why the run is invalid or failed, in words; None when valid."""
    cluster: str
    lab_scale: float | None
    """None on real hosts."""
    engine: str
    engine_version: str
    workload: str
    workload_parameters: dict[str, str]
    layout: str
    levels: dict[str, str]
    """Every factor of the plan with this run's level; the layout is among them when the plan varies it."""
    parameters: dict[str, str]
    """Engine parameters that assay set."""
    repetition: int
    block: int
    """Which ABBA block the run belongs to: runs of one block are compared as pairs."""
    position: int
    attempt: int
    started_at: str
    """ISO 8601 in UTC."""
    duration_s: float
    """Wall time of the workload's client program, from start to exit: what a user waits for."""
    cold: bool | None
    """True: caches proven cold. False: shown to be warm. None: not known, or simulated."""
    data_bytes: int | None
    """Bytes that the workload had to process, after scaling; None when an imported run does not tell."""
    metrics: dict[str, float] = field(default_factory=dict)
    phases: tuple[Phase, ...] = ()
    checks: tuple[Check, ...] = ()
    caches: tuple[CacheState, ...] = ()
    warnings: tuple[CodedWarning, ...] = ()
    environment: dict[str, Any] = field(default_factory=dict)
    """The record of hosts, cluster and programs as it was written; :attr:`recorded` reads it."""
    baseline_id: str | None = None
    """The device and link baseline that was measured on this cluster before; its file is in the bundle."""
    sources: dict[str, str] = field(default_factory=dict)
    """Metric or field name to where it came from, such as ``{"phases": "job history"}``."""
    schema_version: int = RUN_SCHEMA_VERSION
    failure_class: FailureClass | None = None
    """Whose fault it is that the run is not valid; None when it is valid, and in runs from before this was recorded."""
    jobs: tuple[Job, ...] = ()
    """The jobs in the order of their submission; empty in bundles of older versions and where nothing tells them."""
    stages: tuple[Stage, ...] = ()
    """Spark's, in the order in which they were completed."""
    executors: tuple[Executor, ...] = ()
    """Spark's."""
    source_id: str = ""
    """What an imported run is called in the file it came from, such as ALOJA's ``id_exec``; empty where nothing is."""

    @property
    def cache_state(self) -> str:
        """``cold``, ``warm`` or ``simulated``; empty when not known."""
        if self.origin is Origin.SIMULATED:
            return str(Origin.SIMULATED)
        return {True: "cold", False: "warm", None: ""}[self.cold]

    @property
    def recorded(self) -> Environment:
        """What was recorded with the run of hosts, cluster and programs."""
        return Environment(self.environment)
