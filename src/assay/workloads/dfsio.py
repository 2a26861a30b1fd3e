"""TestDFSIO write and read, the stock program of Hadoop's own test jar.

The program writes or reads ``files`` files of equal size, with one map for each. Its "Throughput" is total MiB over the
sum of the maps' I/O times: the mean rate of one stream, weighted by time. This is the throughput per stream, not the
throughput of the cluster.
"""

import math
from collections.abc import Mapping

from assay.foundation.errors import FormatError
from assay.foundation.units import MIB
from assay.model import Check, Outcome, Program
from assay.model.runs.throughput import PER_STREAM
from assay.workloads.common.checks import common_checks, equal, read_by_counter, replicas
from assay.workloads.common.hadoop_options import storage_options
from assay.workloads.common.inputs import INPUT, Input
from assay.workloads.common.testdfsio_output import DfsioResult, parse_dfsio
from assay.workloads.data_flow import DataFlow
from assay.workloads.workload import FILES, Figure, Size, ValidationInput, ValidationResult, Workload

_CLASS = "org.apache.hadoop.fs.TestDFSIO"
_FOLDER = f"{INPUT}/dfsio"
_FIGURES = (
    Figure(PER_STREAM, "TestDFSIO's own 'Throughput mb/sec', in 10^6 bytes"),
    Figure("stream_rate_mean_mb_per_s", "TestDFSIO's own 'Average IO rate mb/sec', in 10^6 bytes"),
    Figure("stream_rate_stddev_mb_per_s", "TestDFSIO's own 'IO rate std deviation', in 10^6 bytes"),
    Figure("dfsio_exec_time_s", "TestDFSIO's own 'Test exec time sec'"),
)
DEFAULT_FILES = 6


def files_of(size: Size) -> int:
    """Return the number of files."""
    return size.files or DEFAULT_FILES


def _folder(size: Size) -> str:
    """Return the files' folder. Its name has the number, size, replication and block size, so that a read finds only
    matching files."""
    blocks = f"-{size.block_bytes}" if size.block_bytes else ""
    return f"{_FOLDER}-{files_of(size)}x{_file_mib(size)}MiB-{size.replication}{blocks}"


def _file_mib(size: Size) -> int:
    """Return the size of one file in whole MiB, as TestDFSIO counts it; at least 1."""
    return max(1, math.floor(size.data_bytes / files_of(size) / MIB + 0.5))


def _total_bytes(size: Size) -> int:
    return files_of(size) * _file_mib(size) * MIB


def _data_folder(size: Size) -> str:
    return f"{_folder(size)}/io_data"


def _program(operation: str, size: Size) -> Program:
    return Program(
        _CLASS,
        (f"-{operation}", "-nrFiles", str(files_of(size)), "-size", f"{_file_mib(size)}MB", "-resFile", "/dev/null"),
        # TestDFSIO writes one replica by default, whatever the cluster's default is, so the number is always set.
        {"test.build.data": _folder(size), **storage_options(size)},
    )


def _result(outcome: Outcome) -> DfsioResult | None:
    try:
        results = parse_dfsio(outcome.output)
    except FormatError:
        return None
    return results[-1] if results else None


def _result_checks(result: DfsioResult | None, size: Size) -> tuple[Check, ...]:
    if result is None:
        return (Check("result block", False, "TestDFSIO printed no result"),)
    return (
        equal("files", result.files, files_of(size), "files"),
        equal("bytes processed", result.processed_mib * MIB, _total_bytes(size)),
    )


def _metrics(result: DfsioResult | None) -> dict[str, float]:
    if result is None:
        return {}
    return {
        PER_STREAM: result.throughput_mib_per_s * MIB / 1e6,
        "stream_rate_mean_mb_per_s": result.average_io_rate_mib_per_s * MIB / 1e6,
        "stream_rate_stddev_mb_per_s": result.io_rate_stddev_mib_per_s * MIB / 1e6,
        "dfsio_exec_time_s": result.exec_time_s,
    }


class _Dfsio(Workload):
    """Files of equal size; the program reports the streams' rates."""

    options = (FILES,)
    figures = _FIGURES

    def data_bytes(self, size: Size) -> int:
        """Return the bytes of all files."""
        return _total_bytes(size)


class DfsioWrite(_Dfsio):
    """Write ``files`` files with the given replication."""

    name, title = "dfsio-write", "TestDFSIO write"
    flow = DataFlow(written=1)
    streamed = "hdfs_write_bytes"

    def programs(self, size: Size, input_path: str | None) -> Mapping[str, Program]:  # noqa: ARG002
        """Return the program that writes the files."""
        return {"hadoop": _program("write", size)}

    def kept_outputs(self, size: Size) -> tuple[str, ...]:
        """Return the files' folder: the files are the read test's input."""
        return (_data_folder(size),)

    async def validate(self, size: Size, outcome: Outcome, validation_input: ValidationInput) -> ValidationResult:
        """Check the bytes written and all their replicas."""
        result = _result(outcome)
        stored_files = await validation_input.files.stored(_data_folder(size))
        checks = (
            *common_checks(outcome),
            *_result_checks(result, size),
            equal("bytes in HDFS", stored_files.length_bytes, _total_bytes(size)),
            replicas(stored_files, size.replication),
        )
        return ValidationResult(checks, _metrics(result))


class DfsioRead(_Dfsio):
    """Read all files that the write test left, each once."""

    name, title = "dfsio-read", "TestDFSIO read"
    flow = DataFlow(read=1)
    streamed = "hdfs_read_bytes"

    def input(self, size: Size) -> Input | None:
        """Return the files. They are written if they do not exist in the requested number and size."""
        return Input(
            _program("write", size),
            "dfsio",
            _total_bytes(size),
            size.replication,
            path=_data_folder(size),
            files=files_of(size),
        )

    def programs(self, size: Size, input_path: str | None) -> Mapping[str, Program]:  # noqa: ARG002
        """Return the program that reads the files."""
        return {"hadoop": _program("read", size)}

    async def validate(self, size: Size, outcome: Outcome, validation_input: ValidationInput) -> ValidationResult:  # noqa: ARG002
        """Check the bytes read, as reported by the program and by the engine's counters."""
        result = _result(outcome)
        # The maps also read their control files, so the counter is slightly larger than the data.
        bytes_check = read_by_counter(outcome, _total_bytes(size))
        return ValidationResult((*common_checks(outcome), *_result_checks(result, size), bytes_check), _metrics(result))


WORKLOADS = (DfsioWrite(), DfsioRead())
