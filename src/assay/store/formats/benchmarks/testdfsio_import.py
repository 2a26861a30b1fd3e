"""Import TestDFSIO's result blocks from ``TestDFSIO_results.log`` or a client's log, any number per file.

Imported: wall time of the job on the client ("Test exec time sec"), bytes (MiB processed × 2^20), number of files, and
the rates, in 10^6 bytes/s: per stream, and mean and standard deviation over the files. The block's date is the job's
end, so the start is the date less the wall time. It is known only if the date's zone is UTC or GMT; the printed date is
always in the environment. The block does not record cluster, layout, replication and version.

A block with contradictory numbers is skipped: every file is written or read within the job, so bytes over summed task
time can't be less than bytes over (files × wall time).
"""

from collections.abc import Callable, Iterator

from assay.foundation.errors import FormatError
from assay.foundation.units import MIB
from assay.model import ImportedRun, Run, SkippedItem, foreign_run
from assay.model.runs.throughput import JOB_THROUGHPUT, JOB_THROUGHPUT_SOURCE, PER_STREAM, job_throughput_mb_per_s
from assay.store.formats.format import Format, Reads, read_each
from assay.store.formats.source import Source
from assay.store.formats.tables.printed import (
    BYTES_MAX,
    RATE_MAX_MB_PER_S,
    duration_problem,
    iso_utc,
    java_date_unix_s,
    mib_to_mb,
)
from assay.workloads.common.testdfsio_output import DfsioResult, dfsio_blocks

MARK = b"----- TestDFSIO ----- :"
ENHANCED_MARK = "-- Extended Metrics --"
OPERATIONS = ("write", "read", "append", "random read", "backward read", "skip read")
FILES_MAX = 10**9
"""Maximum number of files of a job. A larger value is an error in the file."""
_ROUNDING_MIB_PER_S = 0.005
"""Maximum rounding error of a printed rate, in MiB/s: it has two decimals."""


def problem(result: DfsioResult) -> str | None:
    """Return why a block can't be the result of a run; None if it can."""
    if result.operation not in OPERATIONS:
        return (
            f"{result.operation!r} is not an operation of TestDFSIO that moves data; those are {', '.join(OPERATIONS)}"
        )
    if reason := duration_problem(result.exec_time_s):
        return reason
    if result.files < 1 or result.processed_mib <= 0:
        return f"{result.files} files with {result.processed_mib:g} MiB were processed: the job did nothing"
    rates = (result.throughput_mib_per_s, result.average_io_rate_mib_per_s, result.io_rate_stddev_mib_per_s)
    if result.processed_mib * MIB > BYTES_MAX or max(rates) > RATE_MAX_MB_PER_S or result.files > FILES_MAX:
        return "a number is implausibly large"
    minimum_mib_per_s = result.processed_mib / (result.files * result.exec_time_s)
    if result.throughput_mib_per_s + _ROUNDING_MIB_PER_S < minimum_mib_per_s * 0.99:
        return (
            f"the numbers do not fit together: {result.processed_mib:g} MiB in {result.files} files within "
            f"{result.exec_time_s:g} s are at least {minimum_mib_per_s:.3g} MiB/s a file, but the block says "
            f"{result.throughput_mib_per_s:g}"
        )
    return None


def key(result: DfsioResult) -> str:
    """Return a block's key: its whole content."""
    numbers = (
        result.files,
        result.processed_mib,
        result.throughput_mib_per_s,
        result.average_io_rate_mib_per_s,
        result.io_rate_stddev_mib_per_s,
        result.exec_time_s,
    )
    return " ".join([result.operation, result.date, *(f"{number!r}" for number in numbers)])


def block_run(result: DfsioResult, program: str) -> Run:
    """Return the run of a valid block; ``program`` is ``dfsio`` or another program that prints these blocks."""
    ended_unix_s = java_date_unix_s(result.date)
    started_at = iso_utc(ended_unix_s - result.exec_time_s) if ended_unix_s is not None else None
    sources = {
        "duration_s": "Test exec time sec",
        "data_bytes": "Total MBytes processed, in units of 2^20 bytes",
        PER_STREAM: "Throughput mb/sec: bytes over the sum of the tasks' I/O times, in 10^6 bytes",
        "stream_rate_mean_mb_per_s": "Average IO rate mb/sec, in 10^6 bytes",
        "stream_rate_stddev_mb_per_s": "IO rate std deviation, in 10^6 bytes",
        JOB_THROUGHPUT: JOB_THROUGHPUT_SOURCE,
    }
    if started_at:
        sources["started_at"] = "Date & time, which is the end, less Test exec time sec"
    data_bytes = round(result.processed_mib * MIB)
    return foreign_run(
        workload=f"{program}-{result.operation.replace(' ', '-')}",
        duration_s=result.exec_time_s,
        started_at=started_at or "",
        data_bytes=data_bytes,
        workload_parameters={"files": str(result.files)},
        metrics={
            PER_STREAM: mib_to_mb(result.throughput_mib_per_s),
            "stream_rate_mean_mb_per_s": mib_to_mb(result.average_io_rate_mib_per_s),
            "stream_rate_stddev_mb_per_s": mib_to_mb(result.io_rate_stddev_mib_per_s),
            JOB_THROUGHPUT: job_throughput_mb_per_s(data_bytes, result.exec_time_s),
        },
        environment={"finished_at_as_printed": result.date},
        sources=sources,
    )


def each_block(import_block: Callable[[DfsioResult, list[str], str], ImportedRun | SkippedItem], program: str) -> Reads:
    """Return a reader that calls ``import_block`` with each result, its block's lines and its location.

    ``program`` is its name in messages.
    """

    def read(source: Source) -> Iterator[ImportedRun | SkippedItem]:
        text = source.text()
        lines = text.splitlines()
        blocks = list(dfsio_blocks(text, source=source.name))
        for block in blocks:
            where = f"{source.name}:{block.first_line}"
            if isinstance(block.outcome, FormatError):
                yield SkippedItem(block.outcome.where or where, block.outcome.message)
            else:
                yield import_block(block.outcome, lines[block.first_line : block.last_line], where)
        if not blocks:
            raise FormatError(f"holds no result block of {program}", where=source.name)

    return read_each(read)


def _import_block(result: DfsioResult, lines: list[str], where: str) -> ImportedRun | SkippedItem:
    if any(ENHANCED_MARK in line for line in lines):
        return SkippedItem(where, "is a result of the enhanced DFSIO, which is another program: import it as dfsioe")
    if reason := problem(result):
        return SkippedItem(where, reason)
    return ImportedRun(key(result), where, block_run(result, "dfsio"))


def _recognises(_name: str, head: bytes) -> bool:
    return MARK in head and ENHANCED_MARK.encode() not in head


_READ = each_block(_import_block, "TestDFSIO")
FORMAT = Format("testdfsio", "TestDFSIO result blocks, stock Hadoop 1, 2 and 3", _recognises, _READ)
