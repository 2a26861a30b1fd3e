"""RandomTextWriter and Sort from Hadoop's examples, as HiBench runs them: random words are written, and sorted as
records.

RandomTextWriter's keys have 5 to 9 words and its values 10 to 99, from a list of 1000. A map stops after it has written
its share, so it writes up to one record too much; the bytes actually written are counted. Hadoop's SortValidator checks
Sort's output: its records, bytes, checksum and order against the input.
"""

import re
from collections.abc import Mapping
from functools import partial

from assay.model import Check, Outcome, Program
from assay.workloads.common.checks import (
    approximately_equal,
    common_checks,
    equal,
    equal_to_counter,
    replicas,
    unfinished_check,
)
from assay.workloads.common.hadoop_options import DEFAULT_MAPS, storage_options
from assay.workloads.common.inputs import OUTPUT, Input, generated_input
from assay.workloads.common.spark_options import partitions, spark_program
from assay.workloads.data_flow import DataFlow
from assay.workloads.workload import (
    INPUT_BYTES,
    MAPS,
    REDUCES,
    WRITTEN_BYTES,
    Size,
    ValidationInput,
    ValidationResult,
    Workload,
)

TEXT_LINES = "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat"
RECORDS = "org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat"
_TEXT = "org.apache.hadoop.io.Text"
_WRITE_OUTPUT = f"{OUTPUT}/randomtextwriter"
_SORT_OUTPUT = f"{OUTPUT}/sort"
_SORT_VALIDATED = "SUCCESS! Validated"
_SORT_REPORT = re.compile(rf"{_SORT_VALIDATED}|wrongly classif|do not match|mismatch| v/s |Failed to read record")
"""SortValidator's messages after a comparison: agreement, or the difference (in its spelling)."""
_SEPARATOR_BYTES = 2
"""Bytes of a line in addition to its key and value: a tab after the key, and a line feed after the value."""


def _writer(size: Size, path: str, output_format: str) -> Program:
    maps = size.maps or DEFAULT_MAPS
    options = {
        "mapreduce.randomtextwriter.totalbytes": str(size.data_bytes),
        "mapreduce.randomtextwriter.bytespermap": str(max(1, size.data_bytes // maps)),
        **storage_options(size),
    }
    return Program("org.apache.hadoop.examples.RandomTextWriter", ("-outFormat", output_format, path), options)


def text_input(size: Size, output_format: str) -> Input:
    """Return random text as an input, in one of the two output formats."""
    writer = partial(_writer, size, output_format=output_format)
    return generated_input("randomtext", writer, size.data_bytes, size.replication)


class RandomTextWriter(Workload):
    """Write lines of random words."""

    name, title = "randomtextwriter", "RandomTextWriter"
    options = (MAPS,)
    flow = DataFlow(written=1)
    streamed = "hdfs_write_bytes"
    outputs = (_WRITE_OUTPUT,)
    figures = (WRITTEN_BYTES,)

    def programs(self, size: Size, input_path: str | None) -> Mapping[str, Program]:  # noqa: ARG002
        """Return the program that writes the text."""
        return {"hadoop": _writer(size, _WRITE_OUTPUT, TEXT_LINES)}

    async def validate(self, size: Size, outcome: Outcome, validation_input: ValidationInput) -> ValidationResult:
        """Check that HDFS contains all words that the maps counted, with their replicas."""
        stored_files = await validation_input.files.stored(_WRITE_OUTPUT)
        written_bytes, records = outcome.counter("BYTES_WRITTEN") or 0, outcome.counter("RECORDS_WRITTEN") or 0
        expected = written_bytes + _SEPARATOR_BYTES * records
        checks = (
            *common_checks(outcome),
            equal("bytes in HDFS", stored_files.length_bytes, expected),
            approximately_equal("text size", stored_files.length_bytes, size.data_bytes),
            replicas(stored_files, size.replication),
        )
        return ValidationResult(checks, {"written_bytes": float(stored_files.length_bytes)})


class Sort(Workload):
    """Sort records of random text by their keys, separately in each reduce."""

    name, title = "sort", "Sort"
    options = (MAPS, REDUCES)
    flow = DataFlow(read=1, shuffled=1, written=1)
    outputs = (_SORT_OUTPUT,)
    figures = (INPUT_BYTES,)

    def input(self, size: Size) -> Input | None:
        """Return the records."""
        return text_input(size, RECORDS)

    def programs(self, size: Size, input_path: str | None) -> Mapping[str, Program]:
        """Return the programs. Without ``reduces``, Hadoop's Sort uses 0.9 times the cluster's capacity for reduces.
        YARN reports a capacity of two reduces per node."""
        reduces = ("-r", str(size.reduces)) if size.reduces else ()
        arguments = (*reduces, "-outKey", _TEXT, "-outValue", _TEXT, input_path or "", _SORT_OUTPUT)
        return {
            "hadoop": Program("org.apache.hadoop.examples.Sort", arguments, storage_options(size)),
            "spark": spark_program(
                "Sort", input_path or "", _SORT_OUTPUT, partitions(size), options=storage_options(size)
            ),
        }

    def check_program(self, input_path: str | None) -> Program | None:
        """Return the program that compares output and input."""
        arguments = ("-sortInput", input_path or "", "-sortOutput", _SORT_OUTPUT)
        return Program("org.apache.hadoop.mapred.SortValidator", arguments)

    async def validate(self, size: Size, outcome: Outcome, validation_input: ValidationInput) -> ValidationResult:
        """Check records, replicas, the input's actual size, and the validator's result."""
        stored_files = await validation_input.files.stored(_SORT_OUTPUT)
        source = (
            await validation_input.files.stored(validation_input.input_path)
            if validation_input.input_path
            else stored_files
        )
        failed_checker: Outcome | None = None
        checks = [
            *common_checks(outcome),
            equal_to_counter(
                "records", outcome.counter("REDUCE_OUTPUT_RECORDS"), outcome, "MAP_INPUT_RECORDS", "records"
            ),
            approximately_equal("input size", source.length_bytes, size.data_bytes),
            replicas(stored_files, size.replication),
        ]
        if outcome.exit_status == 0:
            validation = validation_input.check_outcome
            if validation is None or not _SORT_REPORT.search(validation.output):
                checks.append(unfinished_check("sorted output", "SortValidator", validation))
                failed_checker = validation
            else:
                passed = validation.exit_status == 0 and _SORT_VALIDATED in validation.output
                message = "records, bytes, checksum and order agree" if passed else " | ".join(validation.error_lines())
                checks.append(Check("sorted output", passed, message))
        return ValidationResult(
            tuple(checks), {"input_bytes": float(source.length_bytes)}, failed_checker=failed_checker
        )


WORKLOADS = (RandomTextWriter(), Sort())
