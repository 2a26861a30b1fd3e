"""What makes a workload's output valid: each check passes on a sound outcome and fails on a broken one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.model.program import Outcome, Stored
from assay.workloads.base import Facts, Size, Verdict
from assay.workloads.catalogue import WORKLOADS

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

    stored_as: Stored = field(default_factory=lambda: Stored(0, 0, 0))
    contents: dict[str, bytes] = field(default_factory=dict)

    async def exists(self, path: str) -> bool:
        return path in self.contents

    async def stored(self, path: str) -> Stored:
        return self.stored_as

    async def read(self, path: str) -> bytes:
        return self.contents[path]

    async def paths(self, path: str) -> list[str]:
        return [name for name in self.contents if name.startswith(path)]


def outcome(output: str = "", counters: dict[str, int] | None = None, **changes: int) -> Outcome:
    sound = Outcome(0, output, {"group": counters or {}}, 0, 20.0)
    return replace(sound, **changes)  # type: ignore[arg-type]


def judge(name: str, ended: Outcome, files: Files, *, manifest: dict[str, int] | None = None,
          check: Outcome | None = None, place: str | None = None, size: Size = SIZE) -> Verdict:  # fmt: skip
    facts = Facts(files, manifest or {}, check, place)
    return asyncio.run(WORKLOADS[name].verdict(size, ended, facts))


def failing(verdict: Verdict) -> set[str]:
    return {check.name for check in verdict.checks if not check.passed}


def test_a_complete_write_is_valid_and_gives_the_per_stream_rate_in_decimal_megabytes() -> None:
    verdict = judge("dfsio-write", outcome(RESULT.format(operation="write", megabytes=60)),
                    Files(Stored(6, 60 * MIB, 180 * MIB)))  # fmt: skip
    assert failing(verdict) == set()
    assert verdict.metrics["per_stream_mb_per_s"] == pytest.approx(4.5 * 1.048576)


@pytest.mark.parametrize(
    ("stored", "megabytes", "expected"),
    [
        (Stored(6, 60 * MIB, 179 * MIB), 60, {"replicas"}),
        (Stored(6, 50 * MIB, 150 * MIB), 60, {"bytes in HDFS"}),
        (Stored(6, 60 * MIB, 180 * MIB), 50, {"bytes processed"}),
    ],
)
def test_a_write_that_lacks_bytes_or_replicas_is_invalid(stored: Stored, megabytes: int, expected: set[str]) -> None:
    text = RESULT.format(operation="write", megabytes=megabytes)
    assert failing(judge("dfsio-write", outcome(text), Files(stored))) == expected


def test_a_write_without_a_result_block_is_invalid() -> None:
    assert "result block" in failing(judge("dfsio-write", outcome("nothing"), Files(Stored(6, 60 * MIB, 180 * MIB))))


def test_failed_task_attempts_and_exit_status_are_always_checked() -> None:
    for name in WORKLOADS:
        verdict = judge(name, outcome(exit_status=1, failed_tasks=2), Files())
        assert {"exit status", "failed tasks"} <= failing(verdict)


def test_a_read_must_have_read_every_byte() -> None:
    text = RESULT.format(operation="read", megabytes=60)
    assert failing(judge("dfsio-read", outcome(text, {"HDFS_BYTES_READ": 60 * MIB + 700}), Files())) == set()
    assert failing(judge("dfsio-read", outcome(text, {"HDFS_BYTES_READ": 59 * MIB}), Files())) == {"bytes read"}


def sorted_files(report: bytes) -> Files:
    length = SIZE.data_bytes // 100 * 100
    return Files(Stored(4, length, 3 * length), {"/assay/output/teravalidate/part-r-00000": report})


def test_a_sort_is_valid_when_the_checksums_agree() -> None:
    verdict = judge("terasort", outcome(), sorted_files(b"checksum\t4e2b5d0368ef6\n"),
                    manifest={"CHECKSUM": 0x4E2B5D0368EF6}, check=outcome())  # fmt: skip
    assert failing(verdict) == set()


@pytest.mark.parametrize("report", [b"checksum\t4e2b5d0368ef7\n", b"", b"error\tmisorder in part-r-1\n",
                                    b"misorder\tpart-r-2\nchecksum\t4e2b5d0368ef6\n"])  # fmt: skip
def test_a_sort_with_another_checksum_or_a_misplaced_row_is_invalid(report: bytes) -> None:
    verdict = judge("terasort", outcome(), sorted_files(report), manifest={"CHECKSUM": 0x4E2B5D0368EF6},
                    check=outcome())  # fmt: skip
    assert failing(verdict) == {"sorted output"}


def test_a_sort_whose_validation_failed_is_invalid() -> None:
    verdict = judge("terasort", outcome(), sorted_files(b"checksum\t1\n"), manifest={"CHECKSUM": 1},
                    check=outcome(exit_status=1))  # fmt: skip
    assert failing(verdict) == {"sorted output"}


def test_words_must_add_up() -> None:
    files = Files(Stored(6, 1000, 3000), {"/assay/output/wordcount/part-r-00000": b"apple\t3\npear tree\t4\n"})
    sound = outcome(counters={"MAP_OUTPUT_RECORDS": 7, "HDFS_BYTES_READ": 1000})
    assert failing(judge("wordcount", sound, files, place="/assay/input/x")) == set()
    short = outcome(counters={"MAP_OUTPUT_RECORDS": 8, "HDFS_BYTES_READ": 1000})
    assert failing(judge("wordcount", short, files, place="/assay/input/x")) == {"words counted"}


@given(data=st.integers(MIB, 10**11), files=st.integers(1, 500))
def test_dfsio_writes_about_what_was_asked_for_and_says_exactly_how_much(data: int, files: int) -> None:
    size = Size(data, 3, files=files)
    workload = WORKLOADS["dfsio-write"]
    arguments = workload.program(size, None).arguments
    mib = int(arguments[arguments.index("-size") + 1].removesuffix("MB"))
    assert workload.data_bytes(size) == mib * MIB * files
    assert abs(workload.data_bytes(size) - data) <= files * MIB


def test_inputs_of_different_size_or_replication_lie_apart() -> None:
    def place(size: Size) -> str:
        needed = WORKLOADS["terasort"].input(size)
        assert needed is not None
        return needed.place

    places = {place(SIZE), place(replace(SIZE, data_bytes=10**8)), place(replace(SIZE, replication=1)),
              place(replace(SIZE, maps=2))}  # fmt: skip
    assert len(places) == 4
    assert place(SIZE) == place(replace(SIZE))


def test_stock_defaults_for_replication_are_always_overridden() -> None:
    """TestDFSIO and TeraSort write one replica unless they are told otherwise."""
    write = WORKLOADS["dfsio-write"].program(SIZE, None)
    assert write.options["dfs.replication"] == "3"
    sort = WORKLOADS["terasort"].program(SIZE, "/in")
    assert sort.options["mapreduce.terasort.output.replication"] == "3"


def test_last_words_leave_out_stack_frames_and_prefer_trouble() -> None:
    output = (
        "2026-01-01 INFO mapreduce.Job: Job job_1_0001 failed\n"
        "java.io.IOException: No space left on device\n\tat java.io.FileOutputStream.write(FileOutputStream.java)\n"
        "\t... 14 more\n\n2026-01-01 INFO counters: 49\n"
    )
    words = Outcome(1, output, {}, 0, 1.0).last_words()
    assert words == ["2026-01-01 INFO mapreduce.Job: Job job_1_0001 failed",
                     "java.io.IOException: No space left on device"]  # fmt: skip
    assert Outcome(1, "first\nlast\n", {}, 0, 1.0).last_words(most=1) == ["last"]
    assert Outcome(1, "", {}, 0, 1.0).last_words() == []
