"""Test the output checks of workloads: each passes on a valid outcome and fails on a broken one."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.model.plans.program import Outcome, StoredFiles
from assay.model.runs.traces.stream import CountedStream
from assay.workloads.catalogue import workloads
from assay.workloads.workload import Size, ValidationInput, ValidationResult

MIB = 2**20
SIZE = Size(data_bytes=60 * MIB, replication=3, files=6, maps=6, reduces=4)
RESULT = """2026-01-01 00:00:00,000 INFO fs.TestDFSIO: ----- TestDFSIO ----- : {operation}
INFO fs.TestDFSIO:             Date & time: Thu Jan 01 00:00:00 UTC 2026
INFO fs.TestDFSIO:         Number of files: 6
INFO fs.TestDFSIO:  Total MBytes processed: {megabytes}
INFO fs.TestDFSIO:       Throughput mb/sec: 4.5
INFO fs.TestDFSIO:  Average IO rate mb/sec: 4.7
INFO fs.TestDFSIO:   IO rate std deviation: 0.3
INFO fs.TestDFSIO:      Test exec time sec: 20.5
"""


@dataclass
class Files:
    """A file system that holds what a test says."""

    stored_as: StoredFiles = field(default_factory=lambda: StoredFiles(0, 0, 0))
    contents: dict[str, bytes] = field(default_factory=dict)

    async def exists(self, path: str) -> bool:
        return path in self.contents

    async def stored(self, path: str) -> StoredFiles:
        return self.stored_as

    async def read(self, path: str) -> bytes:
        return self.contents[path]

    async def paths(self, path: str) -> list[str]:
        return [name for name in self.contents if name.startswith(path)]


def outcome(output: str = "", counters: dict[str, int] | None = None, **changes: int) -> Outcome:
    sound = Outcome(0, output, {"group": counters or {}}, 0, 20.0)
    return replace(sound, **changes)  # type: ignore[arg-type]


def judge(
    name: str,
    ended: Outcome,
    files: Files,
    *,
    manifest: dict[str, int] | None = None,
    check: Outcome | None = None,
    where: str | None = None,
    size: Size = SIZE,
) -> ValidationResult:
    facts = ValidationInput(files, manifest or {}, check, where)
    return asyncio.run(workloads()[name].validate(size, ended, facts))


def failing(judged: ValidationResult) -> set[str]:
    return {check.name for check in judged.checks if not check.passed}


def test_a_complete_write_is_valid_and_gives_the_per_stream_rate_in_decimal_megabytes() -> None:
    judged = judge(
        "dfsio-write",
        outcome(RESULT.format(operation="write", megabytes=60)),
        Files(StoredFiles(6, 60 * MIB, 180 * MIB)),
    )
    assert failing(judged) == set()
    assert judged.metrics["per_stream_mb_per_s"] == pytest.approx(4.5 * 1.048576)


@pytest.mark.parametrize(
    ("stored", "megabytes", "expected"),
    [
        (StoredFiles(6, 60 * MIB, 179 * MIB), 60, {"replicas"}),
        (StoredFiles(6, 50 * MIB, 150 * MIB), 60, {"bytes in HDFS"}),
        (StoredFiles(6, 60 * MIB, 180 * MIB), 50, {"bytes processed"}),
    ],
)
def test_a_write_that_lacks_bytes_or_replicas_is_invalid(
    stored: StoredFiles, megabytes: int, expected: set[str]
) -> None:
    text = RESULT.format(operation="write", megabytes=megabytes)
    assert failing(judge("dfsio-write", outcome(text), Files(stored))) == expected


def test_a_write_without_a_result_block_is_invalid() -> None:
    assert "result block" in failing(
        judge("dfsio-write", outcome("nothing"), Files(StoredFiles(6, 60 * MIB, 180 * MIB)))
    )


def test_failed_task_attempts_and_exit_status_are_always_checked() -> None:
    for name in workloads():
        judged = judge(name, outcome(exit_status=1, failed_tasks=2), Files())
        assert {"exit status", "failed tasks"} <= failing(judged)


def test_a_read_must_have_read_every_byte() -> None:
    text = RESULT.format(operation="read", megabytes=60)
    assert failing(judge("dfsio-read", outcome(text, {"HDFS_BYTES_READ": 60 * MIB + 700}), Files())) == set()
    assert failing(judge("dfsio-read", outcome(text, {"HDFS_BYTES_READ": 59 * MIB}), Files())) == {"bytes read"}


def sorted_files(report: bytes) -> Files:
    length = SIZE.data_bytes // 100 * 100
    return Files(StoredFiles(4, length, 3 * length), {"/assay/output/teravalidate/part-r-00000": report})


def test_a_sort_is_valid_when_the_checksums_agree() -> None:
    judged = judge(
        "terasort",
        outcome(),
        sorted_files(b"checksum\t4e2b5d0368ef6\n"),
        manifest={"CHECKSUM": 0x4E2B5D0368EF6},
        check=outcome(),
    )
    assert failing(judged) == set()


@pytest.mark.parametrize(
    "report",
    [
        b"checksum\t4e2b5d0368ef7\n",
        b"",
        b"error\tmisorder in part-r-1\n",
        b"misorder\tpart-r-2\nchecksum\t4e2b5d0368ef6\n",
    ],
)
def test_a_sort_with_another_checksum_or_a_misplaced_row_is_invalid(report: bytes) -> None:
    judged = judge("terasort", outcome(), sorted_files(report), manifest={"CHECKSUM": 0x4E2B5D0368EF6}, check=outcome())
    assert failing(judged) == {"sorted output"}


def test_a_sort_whose_validation_failed_is_invalid() -> None:
    judged = judge(
        "terasort", outcome(), sorted_files(b"checksum\t1\n"), manifest={"CHECKSUM": 1}, check=outcome(exit_status=1)
    )
    assert failing(judged) == {"sorted output"}


def test_the_counts_of_a_wordcount_add_up_to_its_words() -> None:
    length = SIZE.data_bytes + 700
    contents = {"/assay/output/wordcount/part-r-00000": b"apple\t3\npear tree\t4\n"}
    files = Files(StoredFiles(6, length, 3 * length), contents)
    sound = outcome(counters={"MAP_OUTPUT_RECORDS": 7, "HDFS_BYTES_READ": length})
    assert failing(judge("wordcount", sound, files, where="/assay/input/x")) == set()
    short = outcome(counters={"MAP_OUTPUT_RECORDS": 8, "HDFS_BYTES_READ": length})
    assert failing(judge("wordcount", short, files, where="/assay/input/x")) == {"words counted"}


@given(data=st.integers(MIB, 10**11), files=st.integers(1, 500))
def test_dfsio_writes_about_the_requested_bytes_and_reports_the_exact_number(data: int, files: int) -> None:
    size = Size(data, 3, files=files)
    workload = workloads()["dfsio-write"]
    arguments = workload.programs(size, None)["hadoop"].arguments
    mib = int(arguments[arguments.index("-size") + 1].removesuffix("MB"))
    assert workload.data_bytes(size) == mib * MIB * files
    assert abs(workload.data_bytes(size) - data) <= files * MIB


def test_inputs_of_different_size_or_replication_lie_apart() -> None:
    def input_path(size: Size) -> str:
        needed = workloads()["terasort"].input(size)
        assert needed is not None
        return needed.path

    inputs = {
        input_path(SIZE),
        input_path(replace(SIZE, data_bytes=10**8)),
        input_path(replace(SIZE, replication=1)),
        input_path(replace(SIZE, maps=2)),
    }
    assert len(inputs) == 4
    assert input_path(SIZE) == input_path(replace(SIZE))


def test_stock_defaults_for_replication_are_always_overridden() -> None:
    """TestDFSIO and TeraSort write one replica by default."""
    write = workloads()["dfsio-write"].programs(SIZE, None)["hadoop"]
    assert write.options["dfs.replication"] == "3"
    sort = workloads()["terasort"].programs(SIZE, "/in")["hadoop"]
    assert sort.options["mapreduce.terasort.output.replication"] == "3"


def test_error_lines_leave_out_stack_frames() -> None:
    output = (
        "2026-01-01 INFO mapreduce.Job: Job job_1_0001 failed\n"
        "java.io.IOException: No space left on device\n\tat java.io.FileOutputStream.write(FileOutputStream.java)\n"
        "\t... 14 more\n\n2026-01-01 INFO counters: 49\n"
    )
    words = Outcome(1, output, {}, 0, 1.0).error_lines()
    assert words == [
        "2026-01-01 INFO mapreduce.Job: Job job_1_0001 failed",
        "java.io.IOException: No space left on device",
    ]
    assert Outcome(1, "first\nlast\n", {}, 0, 1.0).error_lines(count_max=1) == ["last"]
    assert Outcome(1, "", {}, 0, 1.0).error_lines() == []


def test_generated_data_must_have_about_the_size_that_was_asked_for() -> None:
    files = Files(StoredFiles(6, SIZE.data_bytes // 2, 0), {"/assay/output/wordcount/part-r-00000": b"apple\t7\n"})
    counted = outcome(counters={"MAP_OUTPUT_RECORDS": 7, "HDFS_BYTES_READ": SIZE.data_bytes})
    assert failing(judge("wordcount", counted, files, where="/assay/input/x")) == {"input size"}


def test_options_of_a_plan_become_a_size() -> None:
    options = {"maps": "3", "iterations": "2", "clusters": "7", "seed": "5", "payload": "random", "waves": "1"}
    size = Size.of(1000, 2, {"dfs.replication": "2"}, options)
    assert size == Size(1000, 2, maps=3, iterations=2, clusters=7, seed=5, payload="random")
    assert (size.options, size.parameters) == (options, {"dfs.replication": "2"})
    assert Size.of(1000, 2, {"dfs.blocksize": "32MiB"}, {}) == Size(1000, 2, block_bytes=32 * MIB)
    assert Size.of(1000, 2, {"dfs.blocksize": "4194304"}, {}).block_bytes == 4 * MIB


@pytest.mark.parametrize("name", sorted(name for name, workload in workloads().items() if workload.input(SIZE)))
def test_blocks_of_another_size_make_another_input(name: str) -> None:
    workload = workloads()[name]
    inputs = [workload.input(replace(SIZE, block_bytes=block)) for block in (None, 32 * MIB, 64 * MIB)]
    assert len({input_.path for input_ in inputs if input_}) == 3


def test_sorted_rows_may_have_fewer_copies_than_the_rows() -> None:
    single = replace(SIZE, parameters={"mapreduce.terasort.output.replication": "1"})
    program = workloads()["terasort"].programs(single, "/assay/input/x")["hadoop"]
    assert program.options["mapreduce.terasort.output.replication"] == "1"
    rows = workloads()["teravalidate"].input(single)
    assert rows is not None
    assert rows.replication == 1
    assert rows.needs is not None
    assert rows.needs.replication == SIZE.replication


def test_every_workload_declares_everything_required() -> None:
    for name, workload in workloads().items():
        assert name == workload.name
        assert workload.title
        assert workload.engines[0] == "hadoop" or workload.engines == ("spark",)
        flow = workload.flow
        assert max(flow.read, flow.shuffled, flow.written) > 0
        assert set(workload.wave_options) <= {option.name for option in workload.options}


ROWS = SIZE.data_bytes // 100


def test_teraread_must_read_every_row_and_write_nothing() -> None:
    counters = {"MAP_INPUT_RECORDS": ROWS, "TERAREAD_BYTES": ROWS * 100}
    assert failing(judge("teraread", outcome(counters=counters), Files())) == set()
    assert failing(judge("teraread", outcome(counters=counters | {"MAP_INPUT_RECORDS": ROWS - 1}), Files())) == {"rows"}
    assert failing(judge("teraread", outcome(counters=counters | {"TERAREAD_BYTES": 1}), Files())) == {"bytes of rows"}
    wrote = counters | {"HDFS_BYTES_WRITTEN": 9}
    assert failing(judge("teraread", outcome(counters=wrote), Files())) == {"nothing written"}


SHUFFLED = {
    "SHUFFLE_SENT_BYTES": SIZE.data_bytes,
    "SHUFFLE_RECEIVED_BYTES": SIZE.data_bytes,
    "SHUFFLE_SENT_CHECKSUM": 5,
    "SHUFFLE_RECEIVED_CHECKSUM": 5,
    "MAP_OUTPUT_MATERIALIZED_BYTES": 70,
    "REDUCE_SHUFFLE_BYTES": 70,
}


@pytest.mark.parametrize(
    ("counter", "expected"),
    [
        ("", set[str]()),
        ("SHUFFLE_SENT_BYTES", {"bytes sent"}),
        ("SHUFFLE_RECEIVED_BYTES", {"bytes received"}),
        ("SHUFFLE_RECEIVED_CHECKSUM", {"checksum"}),
        ("REDUCE_SHUFFLE_BYTES", {"bytes fetched"}),
    ],
)
def test_a_shuffle_conserves_bytes_and_checksum(counter: str, expected: set[str]) -> None:
    changed = {counter: SHUFFLED[counter] + 1} if counter else {}
    assert failing(judge("shuffle", outcome(counters=SHUFFLED | changed), Files())) == expected


def test_hdfs_write_leaves_one_copy_for_any_replication_of_the_plan() -> None:
    for payload in ("pattern", "random"):
        size = replace(SIZE, payload=payload)
        program = workloads()["hdfs-write"].programs(size, None)["hadoop"]
        assert program.options["dfs.replication"] == "1"
        length = workloads()["hdfs-write"].data_bytes(size)
        once, thrice = Files(StoredFiles(6, length, length)), Files(StoredFiles(6, length, 3 * length))
        assert failing(judge("hdfs-write", outcome(), once, size=size)) == set()
        assert failing(judge("hdfs-write", outcome(), thrice, size=size)) == {"one copy"}
    random = workloads()["hdfs-write"].programs(replace(SIZE, payload="random"), None)["hadoop"]
    assert random.main_class.endswith("RandomWriter")


def test_random_text_is_what_the_maps_counted_with_a_tab_and_a_line_feed_each() -> None:
    counters = {"BYTES_WRITTEN": SIZE.data_bytes, "RECORDS_WRITTEN": 100}
    length = SIZE.data_bytes + 200
    sound = judge("randomtextwriter", outcome(counters=counters), Files(StoredFiles(6, length, 3 * length)))
    assert failing(sound) == set()
    assert sound.metrics["written_bytes"] == length
    short = Files(StoredFiles(6, length - 1, 3 * length))
    assert failing(judge("randomtextwriter", outcome(counters=counters), short)) == {"bytes in HDFS"}


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        (outcome("SUCCESS! Validated the MapReduce framework's 'sort' successfully."), set[str]()),
        (outcome("java.io.IOException: (-1 v/s 7) Checksum mismatch", exit_status=1), {"sorted output"}),
        (outcome("nothing said"), {"sorted output"}),
        (None, {"sorted output"}),
    ],
)
def test_a_sort_of_text_is_valid_if_hadoops_validator_accepts_it(check: Outcome | None, expected: set[str]) -> None:
    counters = {"MAP_INPUT_RECORDS": 9, "REDUCE_OUTPUT_RECORDS": 9}
    files = Files(StoredFiles(4, SIZE.data_bytes, 3 * SIZE.data_bytes))
    assert failing(judge("sort", outcome(counters=counters), files, check=check, where="/in")) == expected
    program = workloads()["sort"].check_program("/in")
    assert program is not None
    assert program.arguments[:2] == ("-sortInput", "/in")


def stream(number: int, moved: list[int], **changes: float) -> bytes:
    times = {
        "start_ms": 1000.0,
        "end_ms": 1000.0 * (1 + len(moved)),
        "clock_offset_ms": -3.0,
        "clock_error_ms": 2.0,
        "clock_drift_ms": -0.5,
    }
    line = {"file": f"file-{number}", "host": "w1", **times, **changes, "first_slot_s": 1, "slot_bytes": moved}
    return json.dumps(line).encode() + b"\n"


ENHANCED = Size(data_bytes=1200, replication=3, files=2)
READ = {"HDFS_BYTES_READ": 1300}


def series(*lines: bytes) -> Files:
    return Files(
        StoredFiles(2, 1200, 3600),
        {
            f"/assay/output/dfsioe-{operation}/series/part-m-{number}": line
            for operation in ("read", "write")
            for number, line in enumerate(lines)
        },
    )


@pytest.mark.parametrize("operation", ["write", "read"])
def test_enhanced_dfsio_hands_on_what_each_stream_counted(operation: str) -> None:
    files = series(stream(0, [100, 500]), stream(1, [300, 300]))
    judged = judge(f"dfsioe-{operation}", outcome(counters=READ), files, size=ENHANCED)
    assert failing(judged) == set()
    assert judged.streams == (CountedStream(1.0, 3.0, 1, (100, 500)), CountedStream(1.0, 3.0, 1, (300, 300)))
    assert judged.metrics["per_stream_mb_per_s"] == pytest.approx(1200 / 4 / 1e6)
    assert judged.metrics["stream_rate_mean_mb_per_s"] == pytest.approx(300 / 1e6)
    assert judged.metrics["clock_error_max_ms"] == pytest.approx(2.5)
    assert judged.logs["streams.jsonl"].count(b"\n") == 2
    made = {figure.metric for figure in workloads()[f"dfsioe-{operation}"].figures}
    assert made == {*judged.metrics, "gated_aggregate_mb_per_s"}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((stream(0, [600]),), {"files", "bytes moved"}),
        ((stream(0, [600]), stream(0, [600])), {"files"}),
        ((stream(0, [600]), stream(1, [599])), {"bytes moved"}),
        ((stream(0, [600]), stream(1, [600], clock_error_ms=499.0, clock_drift_ms=2.0)), {"clocks"}),
        ((stream(0, [600]), b"{broken\n"), {"series"}),
        ((stream(0, [600]), b'{"file": "file-1"}\n'), {"series"}),
    ],
)
def test_enhanced_dfsio_with_an_unsound_series_is_invalid(lines: tuple[bytes, ...], expected: set[str]) -> None:
    result = judge("dfsioe-read", outcome(counters=READ), series(*lines), size=ENHANCED)
    assert failing(result) == expected


def test_a_read_of_the_enhanced_dfsio_is_not_credited_with_nominal_bytes() -> None:
    files = series(stream(0, [600]), stream(1, [600]))
    assert failing(judge("dfsioe-read", outcome(counters={"HDFS_BYTES_READ": 1199}), files, size=ENHANCED)) == {
        "bytes read"
    }


@pytest.mark.parametrize("name", ["dfsio", "dfsioe"])
def test_a_read_uses_the_files_of_an_equal_write(name: str) -> None:
    write, read = workloads()[f"{name}-write"], workloads()[f"{name}-read"]
    needed = read.input(SIZE)
    assert needed is not None
    assert write.kept_outputs(SIZE) == (needed.path,)
    assert needed.files == 6
    assert not any(needed.path.startswith(path) for path in write.outputs)
    made, written = needed.program, write.programs(SIZE, None)["hadoop"]
    assert (made.main_class, made.options) == (written.main_class, written.options)
    if name == "dfsio":
        assert made == written
    else:
        assert made.arguments[:2] == written.arguments[:2] == ("write", needed.path)
        assert made.arguments[3:] == written.arguments[3:]
        assert read.programs(SIZE, needed.path)["hadoop"].arguments[1] == needed.path


@pytest.mark.parametrize("name", ["dfsio", "dfsioe"])
def test_a_read_uses_no_files_of_another_number_size_or_copies(name: str) -> None:
    """Twelve files of half the size are as many bytes; three copies are enough where one is wanted."""
    others = [
        replace(SIZE, files=12),
        replace(SIZE, files=12, data_bytes=2 * SIZE.data_bytes),
        replace(SIZE, replication=1),
        replace(SIZE, data_bytes=2 * SIZE.data_bytes),
    ]
    datasets = [workloads()[f"{name}-write"].kept_outputs(size) for size in (SIZE, *others)]
    assert len(set(datasets)) == len(datasets)


def test_only_what_another_workload_reads_stays() -> None:
    names = {name for name, workload in workloads().items() if workload.kept_outputs(SIZE)}
    assert names == {"dfsio-write", "dfsioe-write"}


def test_the_written_payload_decides_which_input_is_read() -> None:
    def input_path(payload: str) -> str:
        needed = workloads()["dfsioe-read"].input(replace(SIZE, payload=payload))
        assert needed is not None
        return needed.path

    assert input_path("random") != input_path("pattern")


PAGES = SIZE.data_bytes // 182
RANKED = {"REDUCE_OUTPUT_RECORDS": PAGES, "PAGERANK_LINKS": 77, "PAGERANK_SUM_E15": 10**15}
SOUND = StoredFiles(6, SIZE.data_bytes, 3 * SIZE.data_bytes)


@pytest.mark.parametrize(
    ("counter", "value", "expected"),
    [
        ("PAGERANK_LINKS", 77, set[str]()),
        ("REDUCE_OUTPUT_RECORDS", PAGES - 1, {"pages"}),
        ("PAGERANK_LINKS", 76, {"links"}),
        ("PAGERANK_SUM_E15", 10**15 - 10**7, {"sum of ranks"}),
    ],
)
def test_pagerank_loses_no_page_link_or_rank(counter: str, value: int, expected: set[str]) -> None:
    ended = outcome(counters=RANKED | {counter: value})
    assert failing(judge("pagerank", ended, Files(SOUND), manifest={"GRAPH_LINKS": 77}, where="/in")) == expected


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ("{half}\t9.5\t1.0\n{rest}\t0.5\t2.0\n", set[str]()),
        ("{half}\t9.5\t1.0\n{rest}\t0.6\t2.0\n", {"squared distances"}),
        ("{half}\t9.5\t1.0\n", {"points in clusters"}),
    ],
)
def test_kmeans_gives_every_point_to_a_cluster_and_never_gets_worse(second: str, expected: set[str]) -> None:
    points = SIZE.data_bytes // 180
    half, rest = points // 2, points - points // 2
    contents = {
        "/assay/output/kmeans/centroids-1": f"{points}\t10.0\t1.0\n0\t0.0\t2.0\n".encode(),
        "/assay/output/kmeans/centroids-2": second.format(half=half, rest=rest).encode(),
    }
    ended = outcome(counters={"MAP_INPUT_RECORDS": points})
    judged = judge("kmeans", ended, Files(SOUND, contents), size=replace(SIZE, iterations=2), where="/in")
    assert failing(judged) == expected


MADE = {"VISITS": 40, "VISITS_REVENUE_CENTS": 900, "SELECTED_VISITS": 4, "SELECTED_REVENUE_CENTS": 90}


@pytest.mark.parametrize(
    ("name", "counters"),
    [
        ("sql-aggregation", {"MAP_INPUT_RECORDS": 40, "GROUPED_REVENUE_CENTS": 900}),
        ("sql-join", {"JOINED_VISITS": 4, "JOINED_REVENUE_CENTS": 90}),
    ],
)
def test_queries_come_to_what_the_generator_counted(name: str, counters: dict[str, int]) -> None:
    def judged(counted: dict[str, int]) -> set[str]:
        return failing(judge(name, outcome(counters=counted), Files(SOUND), manifest=MADE, where="/in"))

    visits, revenue = counters
    assert judged(counters) == set()
    assert judged(counters | {visits: counters[visits] - 1}) == {"visits"}
    assert judged(counters | {revenue: counters[revenue] - 1}) == {"revenue"}
