"""Read runs from the folders that ALOJA's benchmark scripts wrote: ``DATE_TIME_conf_…/BENCHMARK/…``.

In: the unpacked files of one or more run folders. Out: one :class:`ImportedRun` for each benchmark with a time in the
folder's log (or, from 2015, in its ``config.sh``). A benchmark without a time but with a job history gives a run from
the first submission to the last end of its jobs. The configuration comes from the folder's name or from ``config.sh``.
Times are UTC.

Below a benchmark's folder, the job histories (``history/…``), ``vmstat-HOST.log`` and ``bwm-HOST.log`` are read. The
binary files of sar are not read: convert them with ``sadf -j``. The other files (daemon logs, copies of configuration
files, HiBench's report) add nothing about a run.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, Final

from assay.foundation.errors import FormatError
from assay.foundation.units import MIB
from assay.model import CodedWarning, ImportedRun, RunStatus, SkippedItem, WarningCode, foreign_run
from assay.store.formats.aloja.codes import (
    known_text,
    layout_facts,
    layout_name,
    network,
    parameters,
    workload_parameters,
)
from assay.store.formats.aloja.history import RunJobs, is_history, jobs_of, jobs_within
from assay.store.formats.aloja.logs import (
    Execution,
    UnreadableLine,
    bwm_rows,
    executions_of_config,
    executions_of_log,
    plain,
    reason_impossible,
    variables,
    vmstat_rows,
)
from assay.store.formats.aloja.names import FolderConfiguration, FolderName
from assay.store.formats.aloja.samples import SampledRun, Samples
from assay.store.formats.format import Format
from assay.store.formats.source import Source
from assay.workloads.catalogue import known_name

_CONFIG = "config.sh"
_ARCHIVE: Final = (".tar.bz2", ".tar.gz", ".tgz")
_MONITOR = re.compile(r"(?P<tool>vmstat|bwm)-(?P<host>[A-Za-z0-9.-]{1,100})\.log(?:\.[a-z0-9]{2,4})?")
_SAR = re.compile(r"sar-.*\.sar")
_VARIABLES: Final = {
    "net": "NET",
    "disk": "DISK",
    "maps": "MAX_MAPS",
    "iosf": "IO_FACTOR",
    "replication": "REPLICATION",
    "iofilebuf": "IO_FILE",
    "comp": "COMPRESS_TYPE",
}
"""ALOJA's column to the variable of config.sh."""


@dataclass(slots=True)
class _Folder:
    """One configuration's folder: its name, what the name says, and its files by their path below it."""

    name: str
    configuration: FolderConfiguration
    files: dict[str, Source] = field(default_factory=dict)

    def sources_of(self, bench: str) -> dict[str, Source]:
        """Return the files below a benchmark's folder, by their path below it."""
        prefix = f"{bench}/"
        return {path.removeprefix(prefix): source for path, source in self.files.items() if path.startswith(prefix)}


@dataclass(frozen=True, slots=True)
class _FolderColumns:
    """The configuration of a folder under the names of ALOJA's columns, with its engine version and data size."""

    columns: Mapping[str, str]
    engine_version: str = ""
    datasize: str = ""
    scale: str = ""


@dataclass(frozen=True, slots=True)
class _RunParts:
    """One run, as the files of its folder record it."""

    execution: Execution
    where: str
    """``file:line`` or ``folder/benchmark``."""
    time_source: str
    """Where the run's time comes from."""
    cause: str | None
    """Why the run failed; None for a valid run."""
    jobs: RunJobs
    sampled_run: SampledRun
    unread_files: Sequence[str] = ()
    """Files of the run that were not read, each with the reason."""


def _run_folder_of(path: str) -> tuple[str, str] | None:
    """Split a path into its run folder and the path below it; None outside a run folder."""
    parts = PurePosixPath(path).parts
    for index, part in enumerate(parts[:-1]):
        if FolderName.of(part).configuration():
            return "/".join(parts[: index + 1]), "/".join(parts[index + 1 :])
    return None


def _recognises(name: str, _: bytes) -> bool:
    return _run_folder_of(name) is not None


def _read(sources: Sequence[Source]) -> Iterator[ImportedRun | SkippedItem]:
    folders: dict[str, _Folder] = {}
    for source in sources:
        location = _run_folder_of(source.name) or _run_folder_of(source.path.absolute().as_posix())
        if location is None:
            yield SkippedItem(source.name, "is not in a folder with the name of an ALOJA run")
            continue
        folder_path, path_in_folder = location
        name = folder_path.rpartition("/")[2]
        configuration = FolderName.of(name).configuration()
        if configuration is not None:
            folders.setdefault(folder_path, _Folder(name, configuration)).files.setdefault(path_in_folder, source)
    for folder in folders.values():
        yield from _runs(folder)


def _runs(folder: _Folder) -> Iterator[ImportedRun | SkippedItem]:
    """Yield the runs of one folder: first those with a recorded time, then those with only a job history."""
    config: dict[str, tuple[int, str]] = {}
    time_file, executions = "", list[Execution | UnreadableLine]()
    log = next((source for path, source in folder.files.items() if path.startswith(f"log_{folder.name}.log")), None)
    try:
        if (source := folder.files.get(_CONFIG)) is not None:
            config, time_file = variables(source.text()), source.name
            executions = list(executions_of_config(config))
        if log is not None and not executions:
            conf = folder.name.partition("_conf_")[2]
            executions, time_file = list(executions_of_log(log.text(), f"conf_{conf}")), log.name
    except FormatError as error:
        yield SkippedItem(error.where or folder.name, error.message)
    columns = _columns_of(folder, config)
    timed_executions = [item for item in executions if isinstance(item, Execution)]
    for item in executions:
        if isinstance(item, Execution):
            is_only_execution = sum(other.bench == item.bench for other in timed_executions) == 1
            yield from _run(
                folder,
                columns,
                item,
                f"{time_file}:{item.line}",
                sources=folder.sources_of(item.bench) if is_only_execution else {},
            )
        else:
            yield SkippedItem(f"{time_file}:{item.line}", item.why)
    timed_benches = {item.bench for item in timed_executions}
    benches = dict.fromkeys(path.split("/")[0] for path in folder.files if "/" in path)
    for bench in benches:
        if bench not in timed_benches and any(is_history(path) for path in folder.sources_of(bench)):
            yield from _run_of_jobs(folder, columns, bench)
    if not executions and not benches:
        yield SkippedItem(folder.name, "holds neither a log with times nor a benchmark's folder with job histories")


def _columns_of(folder: _Folder, config: Mapping[str, tuple[int, str]]) -> _FolderColumns:
    """Return the configuration from config.sh, or from the folder's name where config.sh has none."""
    values = {name: plain(text) for name, (_, text) in config.items()}
    columns = dict(folder.configuration.values)
    for column, variable in _VARIABLES.items():
        if value := known_text(values.get(variable, "")):
            columns[column] = value
    size = values.get("BLOCK_SIZE", "")
    if size.isascii() and size.isdigit() and len(size) < 16 and int(size) % MIB == 0:
        columns["blk_size"] = str(int(size) // MIB)
    if bench_type := known_text(values.get("BENCH_SUITE", "") or values.get("BENCH", "")):
        columns["bench_type"] = bench_type
    version = known_text(values.get("HADOOP_VERSION", "")).removeprefix("hadoop").removeprefix("-")
    datasize, scale = (known_text(values.get(name, "")) for name in ("BENCH_DATA_SIZE", "BENCH_SCALE_FACTOR"))
    return _FolderColumns(columns, version, datasize, scale)


def _run(
    folder: _Folder, columns: _FolderColumns, execution: Execution, where: str, sources: Mapping[str, Source]
) -> Iterator[ImportedRun | SkippedItem]:
    """Yield one benchmark's run, and its files that can't be read."""
    unread_files: list[str] = []
    samples = Samples(execution.duration_s)
    jobs = RunJobs()
    if sources and execution.start_unix_s is not None:
        jobs, skipped = jobs_within(sources, execution.start_unix_s, execution.duration_s)
        yield from skipped
    if sources:
        yield from _add_monitor_rows(sources, execution.start_unix_s, samples)
        if any(_SAR.fullmatch(path) for path in sources):
            unread_files.append(
                "its sar files are sar's own binary form and were not read: sadf -j turns them into JSON"
            )
    elif any(path.startswith(f"{execution.bench}.") and path.endswith(_ARCHIVE) for path in folder.files):
        unread_files.append("its tasks and samples are in an archive and were not read: unpack it first")
    cause = f"the benchmark's exit status was {execution.exit_statuses.strip()}" if execution.failed else None
    time_source = f"wall time in {where.rpartition(':')[0]}"
    parts = _RunParts(execution, where, time_source, cause, jobs, samples.sampled_run(), unread_files)
    yield _imported_run(folder, columns, parts)


def _run_of_jobs(folder: _Folder, columns: _FolderColumns, bench: str) -> Iterator[ImportedRun | SkippedItem]:
    """Yield the run of a benchmark with only a job history: from the first submission to the last end."""
    jobs, skipped = jobs_of(folder.sources_of(bench), folder.sources_of(f"prep_{bench}"))
    yield from skipped
    where = f"{folder.name}/{bench}"
    if jobs.span_unix_s is None:
        yield SkippedItem(where, "no log has its time, and no job history is known to belong to it")
        return
    begin_s, end_s = jobs.span_unix_s
    if why := reason_impossible(end_s - begin_s, end_s):
        yield SkippedItem(where, f"no log has its time, and by its job histories it {why}")
        return
    execution = Execution(bench, 0, round(end_s - begin_s, 3), begin_s)
    time_source = "first job's submission to last job's end, in the job histories: no log has the wall time"
    no_samples = Samples(execution.duration_s).sampled_run()
    yield _imported_run(folder, columns, _RunParts(execution, where, time_source, jobs.failure, jobs, no_samples))


def _add_monitor_rows(
    sources: Mapping[str, Source], start_unix_s: float | None, samples: Samples
) -> Iterator[SkippedItem]:
    """Add the rows of the monitors' logs to ``samples``, and yield skipped rows by file and reason."""
    for path, source in sources.items():
        monitor = _MONITOR.fullmatch(path)
        if monitor is None:
            continue
        lines_by_reason: dict[str, list[int]] = defaultdict(list)
        try:
            for line, table, row in _rows(monitor["tool"], source.text()):
                try:
                    samples.add(table, monitor["host"], row, _sample_s(row, start_unix_s))
                except FormatError as error:
                    lines_by_reason[error.message].append(line)
        except FormatError as error:
            yield SkippedItem(error.where or source.name, error.message)
        for why, lines in lines_by_reason.items():
            yield SkippedItem(f"{source.name}:{lines[0]}", f"rows that {why}: {len(lines)}")


def _rows(tool: str, text: str) -> Iterator[tuple[int, str, dict[str, str]]]:
    if tool == "bwm":
        yield from bwm_rows(text)
    else:
        for line, row in vmstat_rows(text):
            yield line, "VMSTATS", row


def _sample_s(row: Mapping[str, str], start_unix_s: float | None) -> float:
    """Return the time of a row, in seconds from the run's start. vmstat has no clock and counts rows from the start."""
    if "time" in row:
        return float(row["time"])
    text = row.get("unix_timestamp", "")
    if not (text.isascii() and text.isdigit()) or len(text) > 12:
        raise FormatError("have no time")
    if start_unix_s is None:
        raise FormatError("have a time, but the run's start is unknown")
    return float(text) - start_unix_s


def _imported_run(folder: _Folder, folder_columns: _FolderColumns, parts: _RunParts) -> ImportedRun | SkippedItem:
    columns, configuration = folder_columns.columns, folder.configuration
    execution, jobs, sampled_run = parts.execution, parts.jobs, parts.sampled_run
    layout = layout_name(columns.get("disk", ""))
    level = network(columns.get("net", ""))
    sources = {"duration_s": parts.time_source}
    if jobs.tasks:
        sources |= {"tasks": "job history", "phases": "job history"}
    if sampled_run.trace:
        sources["trace"] = " ".join(sampled_run.tables)
    start_s = execution.start_unix_s
    try:
        engine_parameters = parameters(columns)
    except ValueError as error:
        return SkippedItem(parts.where, f"{folder.name}/{execution.bench}: {error}")
    run = foreign_run(
        workload=known_name(execution.bench.lower()),
        duration_s=execution.duration_s,
        status=RunStatus.FAILED if parts.cause else RunStatus.VALID,
        cause=parts.cause,
        cluster=configuration.cluster,
        layout=layout,
        levels={"network": level} if level else {},
        parameters=engine_parameters,
        workload_parameters=workload_parameters(
            columns.get("bench_type", ""), folder_columns.datasize, folder_columns.scale
        ),
        environment={"cluster": _cluster(configuration, layout)},
        engine_version=folder_columns.engine_version,
        started_at="" if start_s is None else datetime.fromtimestamp(start_s, UTC).isoformat(timespec="milliseconds"),
        phases=jobs.phases,
        jobs=jobs.jobs,
        sources=sources,
        warnings=(
            *(CodedWarning(WarningCode.NOT_READ, message) for message in parts.unread_files),
            *sampled_run.warnings(execution.duration_s),
        ),
    )
    return ImportedRun(f"{folder.name}/{execution.bench}", parts.where, run, jobs.tasks, sampled_run.trace)


def _cluster(configuration: FolderConfiguration, layout: str) -> dict[str, Any]:
    """Return the facts about the cluster in the folder's name."""
    facts = {
        "name": configuration.cluster or None,
        "provider": "azure" if configuration.azure else None,
        "workers": configuration.datanodes,
    }
    return {key: fact for key, fact in facts.items() if fact is not None} | layout_facts(layout)


FORMAT: Final = Format("aloja-folders", "folders of ALOJA's benchmark runs", _recognises, _read)
