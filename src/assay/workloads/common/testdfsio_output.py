"""Read the result block that TestDFSIO prints and appends to its result file.

In: text with any number of blocks, as stock TestDFSIO of Hadoop 1, 2 and 3 writes them, with or without a log prefix
before each line. Out: one :class:`DfsioResult` per block in the order of the text.

TestDFSIO's "MB" is 2^20 bytes (``MEGA = ByteMultiple.MB.value()`` in org.apache.hadoop.fs.TestDFSIO), so rates here are
in MiB/s. Its "Throughput" is all bytes over the *sum* of the tasks' I/O times: a mean per stream, weighted by time.
"Average IO rate" is the plain mean of the tasks' rates. Neither is the cluster's aggregate throughput. Hadoop 3 rounds
to two decimals in the JVM's locale, so a decimal comma can occur; Hadoop 2 prints all digits, with a point. No version
groups thousands, so a comma before more than two digits is refused as ambiguous.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from assay.foundation.errors import FormatError

_HEADER = re.compile(r"----- TestDFSIO ----- :(?P<operation>.*)$")
# The lookbehind excludes the line "Seq Test exec time sec" of the sequential mode.
_FIELD = re.compile(
    r"(?<!Seq )\b(?P<label>Date & time|Number of files|Total MBytes processed|Throughput mb/sec|Average IO rate mb/sec"
    r"|IO rate std deviation|Test exec time sec):(?P<value>.*)$"
)
_NUMBER = re.compile(r"[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]{1,3})?|[0-9]+\.|[0-9]*,[0-9]{1,2}")
_LABELS = (
    "Date & time",
    "Number of files",
    "Total MBytes processed",
    "Throughput mb/sec",
    "Average IO rate mb/sec",
    "IO rate std deviation",
    "Test exec time sec",
)


@dataclass(frozen=True, slots=True)
class DfsioResult:
    """One result block of TestDFSIO."""

    operation: str
    """The operation as printed, for example ``write``, ``read`` or ``append``."""
    date: str
    """The block's date as printed by Java, in the client's locale and time zone."""
    files: int
    processed_mib: float
    """Bytes processed by all tasks in units of 2^20 bytes; Hadoop rounds it."""
    throughput_mib_per_s: float
    """All bytes over the sum of the tasks' I/O times: per stream."""
    average_io_rate_mib_per_s: float
    io_rate_stddev_mib_per_s: float
    exec_time_s: float
    """Wall time of the MapReduce job as the client saw it."""


@dataclass(frozen=True, slots=True)
class DfsioBlock:
    """One result block with its position: lines count from 1; ``last_line`` is the line before the next block's
    header."""

    first_line: int
    last_line: int
    outcome: DfsioResult | FormatError
    """The result, or an error with ``source:line`` that describes the damaged block."""


def parse_dfsio(text: str, *, source: str = "TestDFSIO output") -> list[DfsioResult]:
    """Return the results in ``text``, oldest first; empty if there is no block.

    Lines outside blocks, and unknown lines inside a block, are skipped. Raises :class:`FormatError` with
    ``source:line`` when a block lacks a field, has a field twice, or has an invalid number.
    """
    results: list[DfsioResult] = []
    for block in dfsio_blocks(text, source=source):
        if isinstance(block.outcome, FormatError):
            raise block.outcome
        results.append(block.outcome)
    return results


def dfsio_blocks(text: str, *, source: str) -> Iterator[DfsioBlock]:
    """Yield every block in ``text`` in order, including damaged blocks."""
    lines = text.splitlines()
    headers = [(number, match) for number, line in enumerate(lines, start=1) if (match := _HEADER.search(line))]
    ends = [number - 1 for number, _ in headers[1:]] + [len(lines)] * bool(headers)
    for (first_line, header), last_line in zip(headers, ends, strict=True):
        try:
            fields = _fields(lines[first_line:last_line], source, first_line)
            outcome: DfsioResult | FormatError = _result(header["operation"].strip(), fields, f"{source}:{first_line}")
        except FormatError as error:
            outcome = error
        yield DfsioBlock(first_line, last_line, outcome)


@dataclass(frozen=True, slots=True)
class _Field:
    label: str
    text: str
    where: str

    @property
    def number(self) -> float:
        """The number, with a decimal point or comma."""
        value = float(self.text.replace(",", ".")) if _NUMBER.fullmatch(self.text) else math.nan
        if not math.isfinite(value):
            raise FormatError(f'"{self.label}" is {self.text!r}, which is not a finite number', where=self.where)
        return value


def _fields(lines: list[str], source: str, header_line: int) -> dict[str, _Field]:
    """Return the fields of the block whose header is line ``header_line``; ``lines`` are the lines after it.

    Lines after the last field are not part of the block.
    """
    fields: dict[str, _Field] = {}
    for number, line in enumerate(lines, start=header_line + 1):
        if match := _FIELD.search(line):
            label, where = match["label"], f"{source}:{number}"
            if label in fields:
                raise FormatError(f'the result block has "{label}" twice', where=where)
            fields[label] = _Field(label, match["value"].strip(), where)
            if len(fields) == len(_LABELS):
                return fields
    missing = ", ".join(f'"{label}"' for label in _LABELS if label not in fields)
    raise FormatError(
        f"the result block of TestDFSIO that begins here lacks {missing}",
        where=f"{source}:{header_line}",
        hint="the output was cut off or the job was stopped: run it again",
    )


def _result(operation: str, fields: dict[str, _Field], where: str) -> DfsioResult:
    files = fields["Number of files"].number
    if not operation:
        raise FormatError("the result block names no operation", where=where)
    if files != int(files):
        raise FormatError(f'"Number of files" is {files}, which is not whole', where=where)
    return DfsioResult(
        operation=operation,
        date=fields["Date & time"].text,
        files=int(files),
        processed_mib=fields["Total MBytes processed"].number,
        throughput_mib_per_s=fields["Throughput mb/sec"].number,
        average_io_rate_mib_per_s=fields["Average IO rate mb/sec"].number,
        io_rate_stddev_mib_per_s=fields["IO rate std deviation"].number,
        exec_time_s=fields["Test exec time sec"].number,
    )
