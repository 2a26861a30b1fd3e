"""Find what limits the workloads on each kind of storage, from the traces of their newest runs.

In: a repository and a table of its runs. Out: :class:`WorkloadLimits`, whose sentence answers "What limits a run?".
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from assay.analysis.comparison.factors.device_classes import DEVICE_CLASS, with_device_class
from assay.analysis.run_profile.limits.loads import DISKS, Resource
from assay.analysis.run_profile.limits.run_limits import Limits, limits_of
from assay.analysis.run_profile.tables.limits_tables import limit_sentence
from assay.analysis.statistics import RunTable
from assay.model import Origin, Run, RunStatus
from assay.questions.decisions.sentences.option_words import option_text
from assay.questions.runs.complete_run import with_jobs
from assay.questions.runs.runs import in_order_of_start, level_at
from assay.store import Repository
from assay.text import capitalised, joined, plural, workload_title

RUNS_PER_WORKLOAD_MAX = 3
"""Maximum number of runs that are read for each workload on each kind of storage (the newest)."""
WORKLOADS_MAX = 8
"""Maximum number of workloads with their storage whose runs are read (the newest)."""
_NAMED_MAX = 2
"""Maximum number of workloads that the sentence names for a limit."""
_PAIR = 2
_SUBJECTS = {
    Resource.CPU: "the CPU",
    Resource.DISK: "the disks",
    Resource.NETWORK: "the network",
    Resource.MEMORY: "memory",
    Resource.CONTAINERS: "waiting for containers",
    Resource.FIXED: "fixed costs of jobs",
    Resource.NO_TASK: "idle nodes",
    Resource.NONE: "no busy resource",
}


@dataclass(frozen=True, slots=True)
class WorkloadLimit:
    """What limited the runs of one workload on one kind of storage for the longest time."""

    storage: str
    """The kind of storage in words; empty if the runs do not record it."""
    workload: str
    limit: Resource
    """The disks are one limit, whatever they held."""
    time_share: float
    """Share of the run time."""
    runs: int


@dataclass(frozen=True, slots=True)
class WorkloadLimits:
    """What limits each workload on each kind of storage; ``sentence`` is empty without runs with a trace."""

    sentence: str
    workloads: tuple[WorkloadLimit, ...]
    runs: int
    """Number of runs that were read. ``traced``: number of valid measured runs with a trace."""
    traced: int


@dataclass(slots=True)
class _LimitTimes:
    """The time of each limit over the runs of a workload, in seconds."""

    by_limit: dict[Resource, float] = field(default_factory=dict)
    duration_s: float = 0.0
    runs: int = 0

    def add(self, limits: Limits) -> None:
        for entry in limits.times:
            limit = Resource.DISK if entry.limit in DISKS else entry.limit
            self.by_limit[limit] = self.by_limit.get(limit, 0.0) + entry.time_s
        self.duration_s += limits.duration_s
        self.runs += 1


def workload_limits(repository: Repository, table: RunTable) -> WorkloadLimits:
    """Return what limits each workload on each kind of storage, from the newest runs of each."""
    positions = list(_traced_positions(repository, table))
    storage = with_device_class(table)
    chosen: dict[tuple[str, str], list[int]] = {}
    for position in positions:
        level = level_at(storage, DEVICE_CLASS, position)
        key = option_text(DEVICE_CLASS, level) if level else "", level_at(table, "workload", position) or ""
        if key in chosen or len(chosen) < WORKLOADS_MAX:
            chosen.setdefault(key, []).append(position)
    rows = []
    for (kind, workload), newest in sorted(chosen.items()):
        times = _LimitTimes()
        for run in repository.runs_at(table, newest[:RUNS_PER_WORKLOAD_MAX]):
            if (limits := _limits(repository, run)) is not None:
                times.add(limits)
        if not times.runs:
            continue
        limit, time_s = max(times.by_limit.items(), key=lambda entry: entry[1])
        rows.append(WorkloadLimit(kind, workload, limit, time_s / times.duration_s, times.runs))
    return WorkloadLimits(limits_sentence(rows), tuple(rows), sum(row.runs for row in rows), len(positions))


def _traced_positions(repository: Repository, table: RunTable) -> Iterator[int]:
    """Yield the positions of the valid measured runs with a trace, the newest first."""
    traced_ids = repository.traced_runs()
    traced = set(repository.positions_of(table, sorted(traced_ids))) if traced_ids and len(table) else set()
    for position in reversed(in_order_of_start(repository, table) if traced else []):
        kind = level_at(table, "origin", position), level_at(table, "status", position)
        if position in traced and kind == (Origin.MEASURED, RunStatus.VALID):
            yield position


def listed_limits(repository: Repository, run_ids: Sequence[str]) -> dict[str, str]:
    """Return the limit of each run in a sentence; runs without a trace are omitted."""
    traced = repository.traced_runs()
    limits = {run_id: _limits(repository, repository.run(run_id)) for run_id in run_ids if run_id in traced}
    return {run_id: limit_sentence(known) for run_id, known in limits.items() if known is not None}


def _limits(repository: Repository, run: Run) -> Limits | None:
    tasks = tuple(repository.tasks(run.run_id))
    return limits_of(with_jobs(repository, run), tasks, repository.trace(run.run_id))


def limits_sentence(rows: Sequence[WorkloadLimit]) -> str:
    """Return the limits by kind of storage: ``On hard disks, the disks limit all 3 workloads longest.``"""
    sentences = []
    for storage in dict.fromkeys(row.storage for row in rows):
        workloads = [row for row in rows if row.storage == storage]
        by_limit = Counter(row.limit for row in workloads)
        parts = [_part(limit, workloads) for limit, _ in by_limit.most_common()]
        longest = joined(parts)
        sentences.append(f"{f'On {storage}, {longest}' if storage else capitalised(longest)}.")
    return " ".join(sentences)


def _part(limit: Resource, rows: Sequence[WorkloadLimit]) -> str:
    limited = [row for row in rows if row.limit is limit]
    verb = "limit" if limit in (Resource.DISK, Resource.FIXED, Resource.NO_TASK) else "limits"
    if len(limited) == len(rows) == 1:
        what = workload_title(rows[0].workload)
    elif len(limited) == len(rows):
        what = "both workloads" if len(rows) == _PAIR else f"all {len(rows)} workloads"
    elif len(limited) <= _NAMED_MAX:
        what = joined([workload_title(row.workload) for row in limited])
    else:
        what = f"{len(limited)} of {plural(len(rows), 'workload')}"
    return f"{_SUBJECTS[limit]} {verb} {what}"
