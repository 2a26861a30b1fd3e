"""TeraGen, TeraSort and TeraValidate from Hadoop's examples, and assay's own TeraRead.

TeraGen writes rows of 100 bytes and counts a checksum (the sum of the rows' CRC32); TeraSort sorts them; TeraValidate
reads the output in order and reports its checksum. A sort is valid if the two checksums agree and TeraValidate finds no
misplaced row. TeraRead is LISA'14's "HDFS read-only job, like Teravalidate, except no sort order validation and no
reduce tasks" (table 2).
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from assay.model import Check, Outcome, Program
from assay.workloads.common.checks import (
    approximately_equal,
    common_checks,
    equal,
    no_output_check,
    replicas,
    unfinished_check,
)
from assay.workloads.common.hadoop_options import DEFAULT_MAPS, assay_program, storage_options
from assay.workloads.common.inputs import OUTPUT, Input, generated_input
from assay.workloads.common.spark_options import partitions, spark_program
from assay.workloads.data_flow import DataFlow
from assay.workloads.workload import (
    MAPS,
    PAYLOAD,
    REDUCES,
    WRITTEN_BYTES,
    Size,
    ValidationInput,
    ValidationResult,
    Workload,
)

ROW_BYTES = 100
_PACKAGE = "org.apache.hadoop.examples.terasort"
_TERAGEN_OUTPUT = f"{OUTPUT}/teragen"
_TERASORT_OUTPUT = f"{OUTPUT}/terasort"
_REPORT = f"{OUTPUT}/teravalidate"
_HDFS_WRITE_OUTPUT = f"{OUTPUT}/hdfs-write"
_CHECKSUM = "CHECKSUM"
_SORTED_COPIES = "mapreduce.terasort.output.replication"


def _rows(size: Size) -> int:
    return size.data_bytes // ROW_BYTES


def _bytes(size: Size) -> int:
    return _rows(size) * ROW_BYTES


def _teragen(size: Size, path: str) -> Program:
    maps = {"mapreduce.job.maps": str(size.maps)} if size.maps else {}
    return Program(f"{_PACKAGE}.TeraGen", (str(_rows(size)), path), {**maps, **storage_options(size)})


def _copies(size: Size) -> int:
    """Return the number of copies of sorted data."""
    return int(size.parameters.get(_SORTED_COPIES) or size.replication)


def _terasort(size: Size, source: str, target: str) -> Program:
    options = {_SORTED_COPIES: str(_copies(size))}  # TeraSort's default is 1
    if size.reduces:
        options["mapreduce.job.reduces"] = str(size.reduces)
    return Program(f"{_PACKAGE}.TeraSort", (source, target), options)


def _teravalidate(source: str, target: str) -> Program:
    return Program(f"{_PACKAGE}.TeraValidate", (source, target))


def _rows_input(size: Size) -> Input:
    rows = partial(_teragen, size)
    return generated_input("teragen", rows, _bytes(size), size.replication, counters=(_CHECKSUM,), exact=True)


async def _report_check(validation_input: ValidationInput) -> Check:
    """Return the check of TeraValidate's report: no misplaced row, and the checksum that TeraGen counted."""
    text = "".join(
        [
            (await validation_input.files.read(path)).decode(errors="replace")
            for path in await validation_input.files.paths(_REPORT)
        ]
    )
    match = re.search(r"^checksum\t([0-9a-f]+)", text, re.MULTILINE)
    expected = validation_input.manifest.get(_CHECKSUM)
    if re.search(r"^(error|misorder)", text, re.MULTILINE):
        return Check("sorted output", False, f"TeraValidate: {text.strip()[:200]}")
    if match is None or expected is None:
        return Check("sorted output", False, f"no checksum to compare: report {text.strip()[:100]!r}, input {expected}")
    is_equal = int(match[1], 16) == expected
    return Check("sorted output", is_equal, f"TeraValidate's checksum {match[1]}, TeraGen's {expected:x}")


class _RowWorkload(Workload):
    """A workload that reads or writes whole rows."""

    def data_bytes(self, size: Size) -> int:
        """Return the bytes of all rows."""
        return _bytes(size)


class TeraGen(_RowWorkload):
    """Write ``data`` bytes of rows."""

    name, title = "teragen", "TeraGen"
    options = (MAPS,)
    flow = DataFlow(written=1)
    streamed = "hdfs_write_bytes"
    outputs = (_TERAGEN_OUTPUT,)

    def programs(self, size: Size, input_path: str | None) -> Mapping[str, Program]:  # noqa: ARG002
        """Return the program that generates the rows."""
        return {"hadoop": _teragen(size, _TERAGEN_OUTPUT)}

    async def validate(self, size: Size, outcome: Outcome, validation_input: ValidationInput) -> ValidationResult:
        """Check bytes, replicas and the number of rows."""
        stored_files = await validation_input.files.stored(_TERAGEN_OUTPUT)
        return ValidationResult(
            (
                *common_checks(outcome),
                equal("bytes in HDFS", stored_files.length_bytes, _bytes(size)),
                replicas(stored_files, size.replication),
                equal("rows", outcome.counter("MAP_OUTPUT_RECORDS"), _rows(size), "rows"),
            )
        )


class TeraSort(_RowWorkload):
    """Sort TeraGen's rows."""

    name, title = "terasort", "TeraSort"
    options = (MAPS, REDUCES)
    flow = DataFlow(read=1, shuffled=1, written=1)
    outputs = (_TERASORT_OUTPUT, _REPORT)
    copies_parameter = _SORTED_COPIES

    def input(self, size: Size) -> Input | None:
        """Return the rows, with TeraGen's checksum."""
        return _rows_input(size)

    def programs(self, size: Size, input_path: str | None) -> Mapping[str, Program]:
        """Return the programs that sort the rows."""
        options = {"dfs.replication": str(_copies(size))}
        return {
            "hadoop": _terasort(size, input_path or "", _TERASORT_OUTPUT),
            "spark": spark_program("TeraSort", input_path or "", _TERASORT_OUTPUT, partitions(size), options=options),
        }

    def check_program(self, input_path: str | None) -> Program | None:  # noqa: ARG002
        """Return the program that reads the output in order."""
        return _teravalidate(_TERASORT_OUTPUT, _REPORT)

    async def validate(self, size: Size, outcome: Outcome, validation_input: ValidationInput) -> ValidationResult:
        """Check bytes, replicas, order and checksum."""
        stored_files = await validation_input.files.stored(_TERASORT_OUTPUT)
        checks = [
            *common_checks(outcome),
            equal("bytes in HDFS", stored_files.length_bytes, _bytes(size)),
            replicas(stored_files, _copies(size)),
        ]
        if outcome.exit_status != 0:
            return ValidationResult(tuple(checks))
        check_outcome = validation_input.check_outcome
        if check_outcome is None or check_outcome.exit_status != 0:
            checks.append(unfinished_check("sorted output", "TeraValidate", check_outcome))
            return ValidationResult(tuple(checks), failed_checker=check_outcome)
        return ValidationResult((*checks, await _report_check(validation_input)))


class TeraValidate(_RowWorkload):
    """Read sorted rows in order."""

    name, title = "teravalidate", "TeraValidate"
    options = (MAPS, REDUCES)
    flow = DataFlow(read=1)
    outputs = (_REPORT,)

    def input(self, size: Size) -> Input | None:
        """Return sorted rows: TeraGen's rows, sorted by TeraSort."""
        rows = _rows_input(size)
        sorted_rows = Input(_terasort(size, rows.path, ""), "terasort", rows.data_bytes, _copies(size), needs=rows)
        folder = sorted_rows.path_of("data")
        return sorted_rows.with_program(_terasort(size, rows.path, folder), path=folder)

    def programs(self, size: Size, input_path: str | None) -> Mapping[str, Program]:  # noqa: ARG002
        """Return the program that validates the rows."""
        return {"hadoop": _teravalidate(input_path or "", _REPORT)}

    async def validate(self, size: Size, outcome: Outcome, validation_input: ValidationInput) -> ValidationResult:
        """Check the number of rows read, their order and their checksum."""
        checks = [*common_checks(outcome), equal("rows", outcome.counter("MAP_INPUT_RECORDS"), _rows(size), "rows")]
        if outcome.exit_status == 0:
            checks.append(await _report_check(validation_input))
        return ValidationResult(tuple(checks))


class TeraRead(_RowWorkload):
    """Read TeraGen's rows, and do nothing else."""

    name, title = "teraread", "TeraRead"
    options = (MAPS,)
    flow = DataFlow(read=1)
    streamed = "hdfs_read_bytes"

    def input(self, size: Size) -> Input | None:
        """Return the rows."""
        return _rows_input(size)

    def programs(self, size: Size, input_path: str | None) -> Mapping[str, Program]:  # noqa: ARG002
        """Return the programs that read the rows."""
        return {
            "hadoop": assay_program("TeraRead", input_path or "", options={}),
            "spark": spark_program("TeraRead", input_path or "", options={}),
        }

    async def validate(self, size: Size, outcome: Outcome, validation_input: ValidationInput) -> ValidationResult:  # noqa: ARG002
        """Check that every row was read and that nothing was written."""
        return ValidationResult(
            (
                *common_checks(outcome),
                equal("rows", outcome.counter("MAP_INPUT_RECORDS"), _rows(size), "rows"),
                equal("bytes of rows", outcome.counter("TERAREAD_BYTES"), _bytes(size)),
                no_output_check(outcome),
            )
        )


class HdfsWrite(Workload):
    """Write ``data`` bytes in one copy, independent of the plan's replication.

    LISA'14, table 2: "HDFS write-only job, like Teragen, except with 1-fold replication". With random payload Hadoop's
    RandomWriter writes the data, because TeraGen's rows can be compressed.
    """

    name, title = "hdfs-write", "HDFS write"
    options = (MAPS, PAYLOAD)
    flow = DataFlow(written=1)
    streamed = "hdfs_write_bytes"
    outputs = (_HDFS_WRITE_OUTPUT,)
    copies = 1
    figures = (WRITTEN_BYTES,)

    def data_bytes(self, size: Size) -> int:
        """Return the bytes of all rows; for random records, the requested bytes."""
        return _bytes(size) if size.payload == "pattern" else size.data_bytes

    def programs(self, size: Size, input_path: str | None) -> Mapping[str, Program]:  # noqa: ARG002
        """Return the program that writes the rows or records."""
        if size.payload == "pattern":
            return {"hadoop": _teragen(replace(size, replication=1), _HDFS_WRITE_OUTPUT)}
        bytes_per_map = max(1, size.data_bytes // (size.maps or DEFAULT_MAPS))
        options = {
            "mapreduce.randomwriter.totalbytes": str(size.data_bytes),
            "mapreduce.randomwriter.bytespermap": str(bytes_per_map),
            "dfs.replication": "1",
        }
        return {"hadoop": Program("org.apache.hadoop.examples.RandomWriter", (_HDFS_WRITE_OUTPUT,), options)}

    async def validate(self, size: Size, outcome: Outcome, validation_input: ValidationInput) -> ValidationResult:
        """Check the bytes in HDFS, and that there is exactly one copy."""
        stored_files = await validation_input.files.stored(_HDFS_WRITE_OUTPUT)
        if size.payload == "pattern":
            length_check = equal("bytes in HDFS", stored_files.length_bytes, _bytes(size))
        else:
            # The file format of RandomWriter adds some bytes to each record.
            length_check = approximately_equal("bytes in HDFS", stored_files.length_bytes, size.data_bytes)
        copy_check = equal("one copy", stored_files.replica_bytes, stored_files.length_bytes)
        return ValidationResult(
            (*common_checks(outcome), length_check, copy_check), {"written_bytes": float(stored_files.length_bytes)}
        )


WORKLOADS = (TeraGen(), TeraSort(), TeraValidate(), TeraRead(), HdfsWrite())
