"""A run: one execution of a workload on a configuration, with results and validity checks.

Times are in seconds; ``*_s`` of phases and tasks count from the run's start. Metrics are numbers whose names end in
their unit (``per_stream_mb_per_s``); MB is 10^6 bytes except where a name says ``mib``.
"""

from dataclasses import dataclass, field
from typing import Any

from assay.model.runs.environment import Environment
from assay.model.runs.job import Executor, Job, Stage
from assay.model.runs.origin import Origin
from assay.model.runs.phase import Phase
from assay.model.runs.run_status import FailureClass, RunStatus
from assay.model.runs.warning import CodedWarning

RUN_SCHEMA_VERSION = 2
"""Schema version of a stored run. In version 1, warnings are texts without codes."""
SIMULATED_LOW_S, SIMULATED_HIGH_S = "duration_low_s", "duration_high_s"
"""Metrics of a simulated run: bounds of the 90 % interval of its duration, in seconds."""


@dataclass(frozen=True, slots=True)
class Check:
    """A validity check of a run's output, with the expected and the actual value as text."""

    name: str
    passed: bool
    detail: str


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
