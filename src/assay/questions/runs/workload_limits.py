"""Find what limits the workloads on each kind of storage, from the traces of their newest runs.

In: a repository and a table of its runs. Out: :class:`WorkloadLimits`, whose sentence answers "What limits a run?".
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from assay.analysis.comparison.factors.device_classes import DEVICE_CLASS, with_device_class
from assay.analysis.run_profile.limits.loads import Resource
from assay.analysis.run_profile.limits.run_limits import Limits, disks_as_one, limits_of
from assay.analysis.run_profile.tables.limits_tables import LIMIT_SUBJECTS, LIMIT_TITLES
from assay.analysis.statistics import RunTable, groups_by
from assay.foundation.units import format_percent
from assay.model import Origin, Run, RunStatus
from assay.questions.commands import NO_OPTIONS, CommandOptions, command
from assay.questions.decisions.sentences.option_words import option_text
from assay.questions.runs.complete_run import with_jobs
from assay.questions.runs.runs import in_order_of_start, level_at
from assay.store import Repository
from assay.store.index.coverage import has_only_imports
from assay.text import NO_VALUE, capitalised, joined, plural, workload_title

LIMITS = "limits"
LIMITS_QUESTION = "What limits these runs?"
"""Name of the question on the command line: ``assay decide limits``."""
RUNS_PER_WORKLOAD_MAX = 3
"""Maximum number of runs that are read for each workload on each kind of storage (the newest)."""
WORKLOADS_MAX = 8
"""Maximum number of workloads with their storage whose runs are read (the newest)."""
_NAMED_MAX = 2
"""Maximum number of workloads that the sentence names for a limit."""
_UNCLEAR_NAMED_MAX = 3
"""Maximum number of workloads without a clear limit that the sentence names."""


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
    runs_with_limit: int
    """Number of the runs that ``limit`` limited for the longest time."""
    runs_with_clear_limit: int
    """Number of these runs in which no other limit held for almost as long."""
    second: Resource | None = None
    """The limit with the second longest time; None if there is only one."""
    second_share: float = 0.0
    """Share of the run time of ``second``."""
    in_lab: bool = False
    """Whether the runs are of a lab, whose workers share the CPU of one machine."""
    newest_run: str = ""
    """Id of the newest of the runs."""

    @property
    def is_clear(self) -> bool:
        """Whether ``limit`` is the limit of every run, and clear in most of them."""
        return self.runs_with_limit == self.runs and 2 * self.runs_with_clear_limit > self.runs

    @property
    def line(self) -> str:
        """The limit with its share of the time and its runs, or the two longest limits if none is clear."""
        limits = f"{LIMIT_TITLES[self.limit]}, {_share_of_time(self)}"
        if not self.is_clear:
            limits = f"no clear limit ({self.longest})"
        return f"{_with_storage(self)}: {limits}, {plural(self.runs, 'run')}"

    @property
    def longest(self) -> str:
        """The two longest limits with their shares of the run time."""
        first = f"{LIMIT_TITLES[self.limit]} {format_percent(self.time_share)}"
        second = "" if self.second is None else f", {LIMIT_TITLES[self.second]} {format_percent(self.second_share)}"
        return f"{first}{second} of the run time"


@dataclass(frozen=True, slots=True)
class WorkloadLimits:
    """What limits each workload on each kind of storage; ``sentence`` is empty without runs with a trace."""

    sentence: str
    workloads: tuple[WorkloadLimit, ...]
    runs: int
    """Number of runs that were read. ``traced``: number of valid measured runs with a trace."""
    traced: int
    imported: bool = False
    """Whether all runs of the repository were imported."""

    @property
    def answer(self) -> str:
        """The limits, or why none are known."""
        if self.sentence:
            return self.sentence
        if self.imported:
            return (
                "Not measured: the imported files of these runs contain no traces of the load of their devices over "
                "time."
            )
        return "Not measured: no run has a trace of the load of its devices over time."

    @property
    def basis(self) -> str:
        """When a limit is clear, and the runs whose traces state the limits; empty without any."""
        if not self.sentence:
            return ""
        lab = (
            " In a lab, all workers share the CPU of one machine." if any(row.in_lab for row in self.workloads) else ""
        )
        newest = f"the newest {self.runs} of " if self.runs < self.traced else ""
        return (
            "A limit is clear if it held longest in every run, and in most runs no other held for 80 % as long."
            f"{lab} From the traces of {newest}{plural(self.traced, 'run')}."
        )

    def next_step(self, options: CommandOptions = NO_OPTIONS) -> str:
        """Return how to see the limits of one run; where none are known, how to measure them."""
        if self.workloads:
            row = next((row for row in self.workloads if row.is_clear), self.workloads[0])
            show = command("show", row.newest_run[:13], "--limits", options=options)
            return f"`{show}` shows each phase and second of one run, the newest of {_with_storage(row)}."
        return (
            f"Run a plan with `{command('run', 'PLAN.yaml', options=options)}`: it stores the traces of its runs. "
            "Or watch a job of your cluster with `assay observe`."
        )


@dataclass(slots=True)
class _LimitTimes:
    """The time of each limit over the runs of a workload, in seconds."""

    by_limit: dict[Resource, float] = field(default_factory=dict)
    duration_s: float = 0.0
    mains: list[Resource] = field(default_factory=list)
    """The limit of each run."""
    clear: list[Resource] = field(default_factory=list)
    """The limit of each run with a clear limit."""

    def add(self, limits: Limits) -> None:
        for limit, time_s in limits.totals_s.items():
            self.by_limit[limit] = self.by_limit.get(limit, 0.0) + time_s
        self.duration_s += limits.duration_s
        main_limits = disks_as_one(limits.main)
        self.mains.append(main_limits)
        if limits.rival is None:
            self.clear.append(main_limits)


def workload_limits(repository: Repository, table: RunTable) -> WorkloadLimits:
    """Return what limits each workload on each kind of storage, from the newest runs of each."""
    positions = list(_traced_positions(repository, table))
    storage = with_device_class(table)
    rows_by_workload: dict[tuple[str, str], list[int]] = {}
    for position in positions:
        level = level_at(storage, DEVICE_CLASS, position)
        key = option_text(DEVICE_CLASS, level) if level else "", level_at(table, "workload", position) or ""
        if key in rows_by_workload or len(rows_by_workload) < WORKLOADS_MAX:
            rows_by_workload.setdefault(key, []).append(position)
    rows = []
    for (kind, _), newest in sorted(rows_by_workload.items()):
        runs = repository.runs_at(table, newest[:RUNS_PER_WORKLOAD_MAX])
        if (limit := _limit_of(repository, runs, kind)) is not None:
            rows.append(limit)
    is_imported = len(table) > 0 and has_only_imports(repository.folders.bundles)
    number = sum(row.runs for row in rows)
    return WorkloadLimits(limits_sentence(rows), tuple(rows), number, len(positions), is_imported)


def limit_of_runs(repository: Repository, runs: Sequence[Run]) -> WorkloadLimit | None:
    """Return what limited runs of one configuration, oldest first, from the traces of the newest; None without any."""
    traced_ids = repository.traced_runs()
    newest = [run for run in runs if run.run_id in traced_ids][-RUNS_PER_WORKLOAD_MAX:]
    return _limit_of(repository, newest, "")


def _limit_of(repository: Repository, runs: Sequence[Run], storage: str) -> WorkloadLimit | None:
    """Return what limited these runs of one workload; None if no limit is known."""
    times = _LimitTimes()
    for run in runs:
        if (limits := _limits_from_trace(repository, run)) is not None:
            times.add(limits)
    if not times.mains:
        return None
    (limit, time_s), *other_limits = sorted(times.by_limit.items(), key=lambda entry: -entry[1])
    second, second_s = other_limits[0] if other_limits else (None, 0.0)
    return WorkloadLimit(
        storage=storage,
        workload=runs[0].workload,
        limit=limit,
        time_share=time_s / times.duration_s,
        runs=len(times.mains),
        runs_with_limit=times.mains.count(limit),
        runs_with_clear_limit=times.clear.count(limit),
        second=second,
        second_share=second_s / times.duration_s,
        in_lab=any(run.lab_scale is not None for run in runs),
        newest_run=max(runs, key=lambda run: run.started_at).run_id,
    )


def newest_of_configurations(repository: Repository, table: RunTable) -> dict[str, tuple[str, ...]]:
    """Return, for each valid measured run with a trace, the ids of the newest of these runs in its configuration."""
    positions = list(_traced_positions(repository, table))
    if not positions:
        return {}
    configuration_of_row = groups_by(table, table.factors).of_row
    ids = repository.ids_at(table, positions)
    ids_by_configuration: dict[int, list[str]] = {}
    for position, run_id in zip(positions, ids, strict=True):
        ids_by_configuration.setdefault(int(configuration_of_row[position]), []).append(run_id)
    return {
        run_id: tuple(configuration_ids[:RUNS_PER_WORKLOAD_MAX])
        for configuration_ids in ids_by_configuration.values()
        for run_id in configuration_ids
    }


def limit_text(limit: WorkloadLimit | None) -> str:
    """Return the measured limit of a configuration: ``CPU, 43 % of the run time``, ``no clear limit``, or a dash."""
    if limit is None:
        return NO_VALUE
    if not limit.is_clear:
        return "no clear limit"
    return f"{LIMIT_TITLES[limit.limit]}, {format_percent(limit.time_share)} of the run time"


def _traced_positions(repository: Repository, table: RunTable) -> Iterator[int]:
    """Yield the positions of the valid measured runs with a trace, the newest first."""
    traced_ids = repository.traced_runs()
    traced_rows = set(repository.positions_of(table, sorted(traced_ids))) if traced_ids and len(table) else set()
    for position in reversed(in_order_of_start(repository, table) if traced_rows else []):
        kind = level_at(table, "origin", position), level_at(table, "status", position)
        if position in traced_rows and kind == (Origin.MEASURED, RunStatus.VALID):
            yield position


def _limits_from_trace(repository: Repository, run: Run) -> Limits | None:
    tasks = tuple(repository.tasks(run.run_id))
    return limits_of(with_jobs(repository, run), tasks, repository.trace(run.run_id))


def limits_sentence(rows: Sequence[WorkloadLimit]) -> str:
    """Return the limits by kind of storage, and the workloads without a clear limit.

    ``On hard disks, the disks limit TeraSort (47 % of the run time). No clear limit: TestDFSIO read on SSDs.``
    """
    clear = [row for row in rows if row.is_clear]
    unclear_rows = [row for row in rows if not row.is_clear]
    sentences = []
    for storage in dict.fromkeys(row.storage for row in clear):
        workloads = [row for row in clear if row.storage == storage]
        by_limit = Counter(row.limit for row in workloads)
        total = sum(row.storage == storage for row in rows)
        limits_text = joined([_part(limit, workloads, total) for limit, _ in by_limit.most_common()])
        sentences.append(f"{f'On {storage}, {limits_text}' if storage else capitalised(limits_text)}.")
    if unclear_rows:
        names = joined([_with_storage(row) for row in unclear_rows[:_UNCLEAR_NAMED_MAX]])
        more_count = len(unclear_rows) - _UNCLEAR_NAMED_MAX
        sentences.append(f"No clear limit: {names}{f' and {more_count} more' if more_count > 0 else ''}.")
    return " ".join(sentences)


def _part(limit: Resource, rows: Sequence[WorkloadLimit], total: int) -> str:
    """Return the workloads that ``limit`` limits, with the share of the run time.

    ``total``: number of workloads on the storage.
    """
    limited_rows = [row for row in rows if row.limit is limit]
    if len(limited_rows) <= _NAMED_MAX:
        workloads_text = joined([f"{workload_title(row.workload)} ({_share_of_time(row)})" for row in limited_rows])
    else:
        shares = sorted(row.time_share for row in limited_rows)
        ends = dict.fromkeys((format_percent(shares[0]), format_percent(shares[-1])))
        times = f"{' to '.join(ends)} of the run time"
        count_text = f"all {total}" if len(limited_rows) == total else f"{len(limited_rows)} of {total}"
        workloads_text = f"{count_text} workloads ({times})"
    return f"{limits_verb(limit)} {workloads_text}"


def limits_verb(limit: Resource) -> str:
    """Return a limit as the subject of a sentence with its verb: ``the disks limit``."""
    verb = "limit" if limit in (Resource.DISK, Resource.FIXED, Resource.NO_TASK) else "limits"
    return f"{LIMIT_SUBJECTS[limit]} {verb}"


def _share_of_time(row: WorkloadLimit) -> str:
    return f"{format_percent(row.time_share)} of the run time"


def _with_storage(row: WorkloadLimit) -> str:
    title = workload_title(row.workload)
    return f"{title} on {row.storage}" if row.storage else title
