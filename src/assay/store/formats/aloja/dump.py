"""Read runs from a dump of ALOJA's MySQL database: execs, with their tasks, phases and traces.

In: mysqldump's output for the tables ``execs clusters JOB_tasks JOB_status SAR_cpu SAR_block_devices SAR_memory_util
SAR_net_devices VMSTATS BWM BWM2`` (schema: ``shell/common/create_db.sh`` of github.com/Aloja/aloja). Out: one
:class:`ImportedRun` for each consistent row of ``execs``. All dates in these tables are UTC.

Dumps of ALOJA's tests are cut (LIMIT 10) and edited by hand, so that rows of one run carry another run's number.
Figures are therefore checked against each other: a row that contradicts itself or its folder's name is skipped, and
tasks and samples are only used within their run. Tasks before the start of the run belong to its preparation. ALOJA
imported the job history of the preparation too.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from assay.foundation.errors import FormatError
from assay.model import SOURCE_ID_LENGTH_MAX, ImportedRun, Phase, RunStatus, SkippedItem, TaskAttempt, foreign_run
from assay.store.formats.aloja.codes import (
    INVALID,
    known_text,
    layout_facts,
    layout_name,
    network,
    parameters,
    remarks,
    workload_parameters,
)
from assay.store.formats.aloja.names import FolderName
from assay.store.formats.aloja.samples import TABLES as SAMPLE_TABLES
from assay.store.formats.aloja.samples import Samples
from assay.store.formats.aloja.tasks import is_work, phases_of_status, phases_of_tasks, task_of_row
from assay.store.formats.aloja.times import DISAGREEMENT_S_MAX, DURATION_S_MAX, start_time_of
from assay.store.formats.format import Format, read_each
from assay.store.formats.source import Source
from assay.store.formats.tables.mysqldump import DumpRow, is_dump, rows_of
from assay.workloads.catalogue import known_name

_TABLES: Final = frozenset({"execs", "clusters", "JOB_tasks", "JOB_status", *SAMPLE_TABLES})
_MARKS: Final = (b"`execs`", b"`JOB_details`", b"`JOB_tasks`", b"`SAR_cpu`", b"`BWM`", b"`BWM2`", b"Database: aloja")
"""Names of ALOJA's tables and database, by which its dumps are recognised."""
_DATE = "%Y-%m-%d %H:%M:%S"
TASK_MARGIN_S: Final = 5.0
"""Maximum time that a task may extend beyond its run, in seconds. Clocks differ and are rounded."""


@dataclass(slots=True)
class _SkippedRows:
    """Numbers of skipped rows by reason, so that ten thousand rows with the same fault give one message."""

    first_and_count: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)
    """Table and reason to the location of the first row and the number of rows."""

    def add(self, table: str, where: str, why: str) -> None:
        where_first, count = self.first_and_count.get((table, why), (where, 0))
        self.first_and_count[table, why] = where_first, count + 1

    def items(self) -> Iterator[SkippedItem]:
        for (table, why), (where, count) in self.first_and_count.items():
            yield SkippedItem(where, f"{table}: rows that {why}: {count}")


@dataclass(slots=True)
class _Dump:
    """The rows of a dump, by the number of their execution."""

    execs: dict[str, DumpRow] = field(default_factory=dict)
    clusters: dict[str, dict[str, str]] = field(default_factory=dict)
    tasks: dict[str, list[DumpRow]] = field(default_factory=lambda: defaultdict(list))
    status: dict[str, list[DumpRow]] = field(default_factory=lambda: defaultdict(list))
    samples: dict[str, list[DumpRow]] = field(default_factory=lambda: defaultdict(list))

    def collect(self, source: Source) -> Iterator[SkippedItem]:
        """Collect the rows, and yield those that can't be read."""
        for row in rows_of(source.text(), source=source.name, tables=_TABLES):
            if not isinstance(row, DumpRow):
                yield SkippedItem(f"{source.name}:{row.line}", f"{row.table}: {row.why}" if row.table else row.why)
                continue
            texts = row.texts()
            if row.table == "clusters":
                self.clusters.setdefault(texts.get("id_cluster", ""), texts)
                continue
            number = texts.get("id_exec", "")
            if not number:
                yield SkippedItem(f"{source.name}:{row.line}", f"{row.table}: row {row.number} has no id_exec")
            elif row.table != "execs":
                {"JOB_tasks": self.tasks, "JOB_status": self.status}.get(row.table, self.samples)[number].append(row)
            elif number in self.execs:
                yield SkippedItem(f"{source.name}:{row.line}", f"execs: row {row.number} repeats id_exec {number}")
            else:
                self.execs[number] = row

    def other_row_count(self, number: str) -> int:
        """Return the number of rows in other tables that belong to an execution."""
        return len(self.tasks[number]) + len(self.status[number]) + len(self.samples[number])

    def orphans(self, name: str) -> Iterator[SkippedItem]:
        """Yield for each table the number of rows whose execution is not in the dump."""
        rows_by_table: dict[str, list[DumpRow]] = defaultdict(list)
        for rows_by_number in (self.tasks, self.status, self.samples):
            for number, rows in rows_by_number.items():
                if number not in self.execs:
                    for row in rows:
                        rows_by_table[row.table].append(row)
        for table, rows in rows_by_table.items():
            numbers = {row.texts()["id_exec"] for row in rows}
            why = f"{table}: rows of {len(numbers)} executions that are not in execs: {len(rows)}"
            yield SkippedItem(f"{name}:{rows[0].line}", why)


@dataclass(frozen=True, slots=True)
class _Times:
    """Start and duration of a run."""

    start: datetime | None
    duration_s: float
    source: str
    """Source of the start, or why it is unknown."""

    def after_s(self, text: str | None) -> float | None:
        """Return a date in seconds from the run's start; None if either is unknown."""
        date = _date(text)
        return None if date is None or self.start is None else (date - self.start).total_seconds()

    def contains(self, begin_s: float, end_s: float) -> bool:
        return begin_s >= -TASK_MARGIN_S and end_s <= self.duration_s + TASK_MARGIN_S


def _date(text: str | None) -> datetime | None:
    """Return a date of MySQL in UTC; None for NULL and for zero, which mean "unknown"."""
    if not text or text.startswith("0000-00-00"):
        return None
    try:
        return datetime.strptime(text.partition(".")[0], _DATE).replace(tzinfo=UTC)
    except ValueError:
        raise FormatError(f"have an invalid date, {text!r}") from None


def _times(row: Mapping[str, str]) -> _Times:
    """Return the start and duration of a row of execs. Raises :class:`FormatError` for a contradiction."""
    text = row.get("exe_time", "")
    try:
        duration_s = float(text)
    except ValueError:
        raise FormatError(f"exe_time is {text!r}, which is not a number") from None
    if not 0 < duration_s <= DURATION_S_MAX:
        raise FormatError(f"a duration of {text} s is impossible")
    start, end = _date(row.get("start_time")), _date(row.get("end_time"))
    if start and end and abs((end - start).total_seconds() - duration_s) > DISAGREEMENT_S_MAX:
        raise FormatError(f"exe_time is {text} s, but it ran from {start:%F %T} to {end:%F %T}")
    folder = FolderName.of(row.get("exec", ""))
    start_time = start_time_of(row.get("start_time", ""), row.get("end_time", ""), duration_s, folder, has_start=True)
    return _Times(datetime.fromisoformat(start_time.at) if start_time.at else None, duration_s, start_time.source)


def _tasks(rows: list[DumpRow], times: _Times, skipped_rows: _SkippedRows, name: str) -> tuple[TaskAttempt, ...]:
    tasks = []
    for row in rows:
        texts = row.texts()
        where = f"{name}:{row.line}"
        try:
            columns = ("START_TIME", "FINISH_TIME", "SHUFFLE_TIME", "SORT_TIME")
            times_s = {column: times.after_s(texts.get(column)) for column in columns}
            if not is_work(texts):
                continue
            task = task_of_row(texts, times_s)
        except FormatError as error:
            skipped_rows.add(row.table, where, error.message)
            continue
        if times.contains(task.start_s, task.end_s):
            tasks.append(task)
        else:
            ended_before_run = task.start_s < 0 and task.end_s <= 0
            why = (
                "ended before their run began (in preparation or another run)"
                if ended_before_run
                else "are outside their run"
            )
            skipped_rows.add(row.table, where, why)
    return tuple(tasks)


def _status_phases(rows: list[DumpRow], times: _Times, skipped_rows: _SkippedRows, name: str) -> tuple[Phase, ...]:
    timed_rows = []
    for row in rows:
        texts = row.texts()
        try:
            t_s = times.after_s(texts.get("date"))
        except FormatError as error:
            skipped_rows.add(row.table, f"{name}:{row.line}", error.message)
            continue
        if t_s is not None and times.contains(t_s, t_s):
            timed_rows.append((t_s, texts))
        else:
            skipped_rows.add(row.table, f"{name}:{row.line}", "are outside their run or have no date")
    return phases_of_status(timed_rows, times.duration_s)


def _samples(rows: list[DumpRow], times: _Times, cores: int | None, skipped_rows: _SkippedRows, name: str) -> Samples:
    samples = Samples(times.duration_s, cores)
    for row in rows:
        texts = row.texts()
        try:
            samples.add(row.table, texts.get("host", ""), texts, _sample_s(row.table, texts, times))
        except FormatError as error:
            skipped_rows.add(row.table, f"{name}:{row.line}", error.message)
    return samples


def _sample_s(table: str, row: Mapping[str, str], times: _Times) -> float:
    """Return the time of a sample, in seconds from the run's start."""
    if table.startswith("SAR_"):
        t_s = times.after_s(row.get("date"))
        if t_s is None:
            raise FormatError("have no date, or belong to a run without a date")
        return t_s
    text = row.get("time" if table == "VMSTATS" else "unix_timestamp", "")
    if not (text.isascii() and text.isdigit()) or len(text) > 12:
        raise FormatError("have no time")
    if table == "VMSTATS":
        return float(text)
    if times.start is None:
        raise FormatError("belong to a run without dates")
    return float(text) - times.start.timestamp()


def _cluster(row: Mapping[str, str], clusters: Mapping[str, Mapping[str, str]]) -> tuple[str, int | None]:
    """Return the cluster's name and the cores of each node, if recorded."""
    cluster = clusters.get(row.get("id_cluster", ""), {})
    cores = known_text(cluster.get("vm_cores", ""))
    is_number = cores.isascii() and cores.isdigit() and 0 < len(cores) <= 4 and int(cores) > 0
    identity = known_text(row.get("id_cluster", ""))
    name = known_text(cluster.get("name", "")) or (f"aloja-{identity}" if identity else "")
    return name, int(cores) if is_number else None


def _valid(row: Mapping[str, str]) -> bool:
    """Return ALOJA's label; its schema defaults to 1. Raises ValueError for a label other than 0 and 1."""
    label = row.get("valid", "1")
    if label not in ("0", "1"):
        raise ValueError(f"valid is {label!r}, which is neither 0 nor 1")
    return label == "1"


def _environment(cluster: str, cores: int | None, row: Mapping[str, str]) -> dict[str, Any]:
    facts = {"name": cluster or None, "cores": cores}
    known_facts = {key: fact for key, fact in facts.items() if fact is not None}
    return {"cluster": known_facts | layout_facts(layout_name(row.get("disk", "")))}


def _run_of(number: str, dump: _Dump, skipped_rows: _SkippedRows, name: str) -> ImportedRun | SkippedItem:
    source_row = dump.execs[number]
    row, where = source_row.texts(), f"{name}:{source_row.line}"
    subject = f"execs: id_exec {number}"
    folder, bench = row.get("exec", ""), known_text(row.get("bench", ""))
    if not folder or not bench:
        return SkippedItem(where, f"{subject} has no exec or no bench")
    if why := FolderName.of(folder).contradiction(row):
        return SkippedItem(where, f"{subject} contradicts itself: {why}")
    try:
        times = _times(row)
        engine_parameters, valid = parameters(row), _valid(row)
    except (FormatError, ValueError) as error:
        return SkippedItem(where, f"{subject}: {error}")
    cluster, cores = _cluster(row, dump.clusters)
    tasks = _tasks(dump.tasks[number], times, skipped_rows, name)
    status_phases = _status_phases(dump.status[number], times, skipped_rows, name)
    phases = status_phases or phases_of_tasks(tasks, times.duration_s)
    sampled_run = _samples(dump.samples[number], times, cores, skipped_rows, name).sampled_run()
    sources = {"duration_s": "execs.exe_time", "started_at": times.source, "status": "execs.valid"}
    if tasks:
        sources["tasks"] = "JOB_tasks, which records no node, CPU or GC time"
    if phases:
        sources["phases"] = "JOB_status" if status_phases else "JOB_tasks"
    if sampled_run.trace:
        sources["trace"] = " ".join(sampled_run.tables)
    level = network(row.get("net", ""))
    run = foreign_run(
        workload=known_name(bench.lower()),
        duration_s=times.duration_s,
        cluster=cluster,
        layout=layout_name(row.get("disk", "")),
        status=RunStatus.VALID if valid else RunStatus.INVALID,
        cause=None if valid else INVALID,
        levels={"network": level} if level else {},
        parameters=engine_parameters,
        workload_parameters=workload_parameters(
            row.get("bench_type", ""), row.get("datasize", ""), row.get("scale_factor", "")
        ),
        environment=_environment(cluster, cores, row),
        started_at=times.start.isoformat(timespec="milliseconds") if times.start else "",
        engine_version=known_text(row.get("hadoop_version", "")),
        phases=phases,
        sources=sources,
        warnings=(*remarks(row), *sampled_run.warnings(times.duration_s)),
        source_id=known_text(row.get("id_exec", ""))[:SOURCE_ID_LENGTH_MAX],
    )
    return ImportedRun(folder, where, run, tasks, sampled_run.trace)


def _read(source: Source) -> Iterator[ImportedRun | SkippedItem]:
    dump, skipped_rows = _Dump(), _SkippedRows()
    yield from dump.collect(source)
    if not dump.execs:
        raise FormatError("contains no row of ALOJA's table execs", where=source.name)
    for number in dump.execs:
        item = _run_of(number, dump, skipped_rows, source.name)
        if isinstance(item, SkippedItem) and (rows := dump.other_row_count(number)):
            item = SkippedItem(item.where, f"{item.why}; its rows of other tables are skipped too: {rows}")
        yield item
    yield from skipped_rows.items()
    yield from dump.orphans(source.name)


def _recognises(_: str, head: bytes) -> bool:
    return is_dump(head) and any(mark in head for mark in _MARKS)


FORMAT: Final = Format("aloja-dump", "dump of ALOJA's MySQL database", _recognises, read_each(_read), by_rows=True)
