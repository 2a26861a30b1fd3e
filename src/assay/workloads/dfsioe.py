"""Enhanced DFSIO: TestDFSIO's load, with the bytes of each stream in each second of a common clock.

HiBench's enhanced DFSIO reports the throughput of the whole cluster while enough tasks run. assay has its own program
for this purpose: each map stores the bytes that it moved in each second of the NameNode's clock, which all maps query.
:func:`assay.analysis.run_profile.gated_aggregate.gated_aggregate` computes the aggregate. docs/reference/workloads.md
describes the differences from HiBench's program.
"""

import statistics
from collections.abc import Mapping, Sequence

import msgspec

from assay.model import Check, CountedStream, Outcome, Program
from assay.model.runs.throughput import GATED_AGGREGATE, PER_STREAM
from assay.workloads.common.checks import common_checks, equal, read_by_counter, replicas
from assay.workloads.common.hadoop_options import assay_program, storage_options
from assay.workloads.common.inputs import OUTPUT, Input
from assay.workloads.data_flow import DataFlow
from assay.workloads.dfsio import files_of
from assay.workloads.workload import FILES, PAYLOAD, SEED, Figure, Size, ValidationInput, ValidationResult, Workload

CLOCK_ERROR_MAX_MS = 500.0
"""Maximum clock error: half a slot. With a larger error, bytes may be counted in a neighbouring second."""
_WRITE_OUTPUT = f"{OUTPUT}/dfsioe-write"
_READ_OUTPUT = f"{OUTPUT}/dfsioe-read"
_FIGURES = (
    Figure(GATED_AGGREGATE, "bytes that each map counted in each second of the NameNode's clock (streams.jsonl)"),
    Figure(PER_STREAM, "bytes over streams' times (streams.jsonl)"),
    Figure("stream_rate_mean_mb_per_s", "each stream's bytes over its time (streams.jsonl)"),
    Figure("stream_rate_stddev_mb_per_s", "each stream's bytes over its time (streams.jsonl)"),
    Figure("clock_error_max_ms", "half of the quickest round trip to the NameNode, and the drift (streams.jsonl)"),
    Figure("clock_offset_max_ms", "each map's clock against the NameNode's (streams.jsonl)"),
)


class Stream(msgspec.Struct, frozen=True):
    """One line of a map's output: see the class Dfsio in java/jobs. Times are by the NameNode's clock."""

    file: str
    host: str
    start_ms: float
    end_ms: float
    clock_offset_ms: float
    clock_error_ms: float
    clock_drift_ms: float
    first_slot_s: int
    slot_bytes: tuple[int, ...]

    @property
    def moved_bytes(self) -> int:
        """The bytes moved, over all slots."""
        return sum(self.slot_bytes)

    @property
    def bytes_per_s(self) -> float:
        """The stream's rate, from before it opened its file until it had closed it."""
        return self.moved_bytes / max(self.end_ms - self.start_ms, 1e-3) * 1000

    @property
    def time_error_ms(self) -> float:
        """Maximum error of the stream's times at its end."""
        return self.clock_error_ms + abs(self.clock_drift_ms)


def _file_bytes(size: Size) -> int:
    return max(1, size.data_bytes // files_of(size))


def _total_bytes(size: Size) -> int:
    return files_of(size) * _file_bytes(size)


def _program(operation: str, size: Size, folder: str, series_folder: str) -> Program:
    options = {**storage_options(size), "assay.payload": size.payload, "assay.seed": str(size.seed)}
    return assay_program("Dfsio", operation, folder, series_folder, files_of(size), _file_bytes(size), options=options)


def _files_input(size: Size) -> Input:
    """Return the files that the write test leaves and the read test reads, as an input."""
    files = Input(_program("write", size, "", ""), "dfsioe", _total_bytes(size), size.replication, files=files_of(size))
    folder = files.path_of("data")
    return files.with_program(_program("write", size, folder, files.path_of("series")), path=folder)


async def _streams(validation_input: ValidationInput, series_folder: str) -> tuple[bytes, list[Stream] | str]:
    """Return the maps' lines, and their streams or the reason why they can't be read."""
    lines = b"".join(
        [await validation_input.files.read(path) for path in sorted(await validation_input.files.paths(series_folder))]
    )
    try:
        return lines, msgspec.json.Decoder(Stream).decode_lines(lines)
    except msgspec.DecodeError as error:
        return lines, f"the maps' series can't be read: {error}"


def _stream_checks(streams: Sequence[Stream], size: Size) -> tuple[Check, ...]:
    error_max_ms = max((stream.time_error_ms for stream in streams), default=0.0)
    clocks_text = f"times are at most {error_max_ms:.1f} ms wrong; {CLOCK_ERROR_MAX_MS:.0f} ms are allowed"
    return (
        equal("files", len({stream.file for stream in streams}), files_of(size), "files"),
        equal("bytes moved", sum(stream.moved_bytes for stream in streams), _total_bytes(size)),
        Check("clocks", error_max_ms <= CLOCK_ERROR_MAX_MS, clocks_text),
    )


def _metrics(streams: Sequence[Stream]) -> dict[str, float]:
    """Return the per-stream metrics as TestDFSIO defines them, and the clocks' errors and offsets."""
    rates = [stream.bytes_per_s for stream in streams]
    total_s = sum(stream.end_ms - stream.start_ms for stream in streams) / 1000
    if not streams or total_s <= 0:
        return {}
    return {
        PER_STREAM: sum(stream.moved_bytes for stream in streams) / total_s / 1e6,
        "stream_rate_mean_mb_per_s": statistics.fmean(rates) / 1e6,
        "stream_rate_stddev_mb_per_s": statistics.pstdev(rates) / 1e6,
        "clock_error_max_ms": max(stream.time_error_ms for stream in streams),
        "clock_offset_max_ms": max(abs(stream.clock_offset_ms) for stream in streams),
    }


async def _validate(
    size: Size,
    outcome: Outcome,
    validation_input: ValidationInput,
    series_folder: str,
    further_checks: tuple[Check, ...],
) -> ValidationResult:
    """Return the validation of a run.

    ``series_folder``: folder of the maps' lines. ``further_checks``: additional checks of reads or writes.
    """
    if outcome.exit_status != 0:
        return ValidationResult(common_checks(outcome))
    lines, streams = await _streams(validation_input, series_folder)
    if isinstance(streams, str):
        return ValidationResult(
            (*common_checks(outcome), Check("series", False, streams)), logs={"streams.jsonl": lines}
        )
    counted_streams = [CountedStream(s.start_ms / 1000, s.end_ms / 1000, s.first_slot_s, s.slot_bytes) for s in streams]
    return ValidationResult(
        (*common_checks(outcome), *_stream_checks(streams, size), *further_checks),
        _metrics(streams),
        tuple(counted_streams),
        {"streams.jsonl": lines},
    )


class _Dfsioe(Workload):
    """Files of equal size, with the bytes of each stream in each second."""

    options = (FILES, PAYLOAD, SEED)
    figures = _FIGURES

    def data_bytes(self, size: Size) -> int:
        """Return the bytes of all files."""
        return _total_bytes(size)


class DfsioeWrite(_Dfsioe):
    """Write ``files`` files with the plan's replication."""

    name, title = "dfsioe-write", "Enhanced DFSIO write"
    flow = DataFlow(written=1)
    outputs = (_WRITE_OUTPUT,)

    def programs(self, size: Size, input_path: str | None) -> Mapping[str, Program]:  # noqa: ARG002
        """Return the program that writes the files into the folder that the read test uses."""
        return {"hadoop": _program("write", size, _files_input(size).path, f"{_WRITE_OUTPUT}/series")}

    def kept_outputs(self, size: Size) -> tuple[str, ...]:
        """Return the files' folder: the files are the read test's input."""
        return (_files_input(size).path,)

    async def validate(self, size: Size, outcome: Outcome, validation_input: ValidationInput) -> ValidationResult:
        """Check the bytes moved, the stored files and their replicas, and the clocks."""
        stored_files = await validation_input.files.stored(_files_input(size).path)
        further_checks = (
            equal("bytes in HDFS", stored_files.length_bytes, _total_bytes(size)),
            replicas(stored_files, size.replication),
        )
        return await _validate(size, outcome, validation_input, f"{_WRITE_OUTPUT}/series", further_checks)


class DfsioeRead(_Dfsioe):
    """Read ``files`` files that the write test left, each by one map on any node."""

    name, title = "dfsioe-read", "Enhanced DFSIO read"
    flow = DataFlow(read=1)
    outputs = (_READ_OUTPUT,)

    def input(self, size: Size) -> Input | None:
        """Return the files. They are written if they do not exist in the requested number and size."""
        return _files_input(size)

    def programs(self, size: Size, input_path: str | None) -> Mapping[str, Program]:
        """Return the program that reads the files."""
        return {"hadoop": _program("read", size, input_path or "", f"{_READ_OUTPUT}/series")}

    async def validate(self, size: Size, outcome: Outcome, validation_input: ValidationInput) -> ValidationResult:
        """Check the bytes read, by the maps' and the engine's counters, and the clocks."""
        bytes_check = read_by_counter(outcome, _total_bytes(size))
        return await _validate(size, outcome, validation_input, f"{_READ_OUTPUT}/series", (bytes_check,))


WORKLOADS = (DfsioeWrite(), DfsioeRead())
