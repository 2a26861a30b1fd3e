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
    for (first, header), last in zip(headers, ends, strict=True):
        block = _Block(source, first, header["operation"].strip(), {})
        try:
            block.read(lines[first:last])
            outcome: DfsioResult | FormatError = block.result()
        except FormatError as error:
            outcome = error
        yield DfsioBlock(first, last, outcome)


@dataclass(slots=True)
class _Block:
    """The fields read so far from one block, each with its line."""

    source: str
    line: int
    operation: str
    fields: dict[str, tuple[str, int]]

    def read(self, lines: list[str]) -> None:
        """Read the block's fields from the lines after its header. Lines after the last field are not part of the
        block."""
        for number, line in enumerate(lines, start=self.line + 1):
            if field := _FIELD.search(line):
                self.add(field["label"], field["value"].strip(), number)
                if len(self.fields) == len(_LABELS):
                    return
        raise self.incomplete()

    def add(self, label: str, value: str, line: int) -> None:
        if label in self.fields:
            raise FormatError(f'the result block has "{label}" twice', where=f"{self.source}:{line}")
        self.fields[label] = (value, line)

    def incomplete(self) -> FormatError:
        missing = ", ".join(f'"{label}"' for label in _LABELS if label not in self.fields)
        return FormatError(
            f"the result block of TestDFSIO that begins here lacks {missing}",
            where=f"{self.source}:{self.line}",
            hint="the output was cut off or the job was stopped: run it again",
        )

    def number(self, label: str) -> float:
        """Return a field's number, with a decimal point or comma."""
        text, line = self.fields[label]
        value = float(text.replace(",", ".")) if _NUMBER.fullmatch(text) else math.nan
        if not math.isfinite(value):
            raise FormatError(f'"{label}" is {text!r}, which is not a finite number', where=f"{self.source}:{line}")
        return value

    def result(self) -> DfsioResult:
        files = self.number("Number of files")
        if not self.operation:
            raise FormatError("the result block names no operation", where=f"{self.source}:{self.line}")
        if files != int(files):
            raise FormatError(f'"Number of files" is {files}, which is not whole', where=f"{self.source}:{self.line}")
        return DfsioResult(
            operation=self.operation,
            date=self.fields["Date & time"][0],
            files=int(files),
            processed_mib=self.number("Total MBytes processed"),
            throughput_mib_per_s=self.number("Throughput mb/sec"),
            average_io_rate_mib_per_s=self.number("Average IO rate mb/sec"),
            io_rate_stddev_mib_per_s=self.number("IO rate std deviation"),
            exec_time_s=self.number("Test exec time sec"),
        )
