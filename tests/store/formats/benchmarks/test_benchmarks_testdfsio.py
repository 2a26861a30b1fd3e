"""Test TestDFSIO's result block of every Hadoop version; broken blocks are refused with their line."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.foundation.errors import FormatError
from assay.workloads.common.testdfsio_output import DfsioResult, parse_dfsio

ROUNDED = """\
----- TestDFSIO ----- : write
            Date & time: Sat Nov 21 11:00:00 UTC 2026
        Number of files: 6
 Total MBytes processed: 300
      Throughput mb/sec: 7.4
 Average IO rate mb/sec: 15.18
  IO rate std deviation: 11.52
     Test exec time sec: 19.05

"""
UNROUNDED = """\
----- TestDFSIO ----- : read
           Date & time: Wed Oct 16 11:09:00 EDT 2013
       Number of files: 10
Total MBytes processed: 10000.0
     Throughput mb/sec: 40.946519750553804
Average IO rate mb/sec: 45.240928649902344
 IO rate std deviation: 1.0E-4
    Test exec time sec: 47.937
"""
WRITE = DfsioResult("write", "Sat Nov 21 11:00:00 UTC 2026", 6, 300.0, 7.4, 15.18, 11.52, 19.05)
READ = DfsioResult(
    "read", "Wed Oct 16 11:09:00 EDT 2013", 10, 10000.0, 40.946519750553804, 45.240928649902344, 1e-4, 47.937
)


def test_the_rounded_form_of_hadoop_3_is_read() -> None:
    assert parse_dfsio(ROUNDED) == [WRITE]


def test_the_unrounded_form_of_hadoop_2_is_read() -> None:
    assert parse_dfsio(UNROUNDED) == [READ]


def test_several_blocks_are_read_in_the_order_of_the_text() -> None:
    assert parse_dfsio(ROUNDED + UNROUNDED + ROUNDED) == [WRITE, READ, WRITE]


@pytest.mark.parametrize(
    "prefix",
    [
        "2026-11-21 11:00:00,000 INFO fs.TestDFSIO: ",
        "26/11/21 11:00:00 INFO fs.TestDFSIO: ",
        "2026-11-21 11:00:00,000 INFO  [main] fs.TestDFSIO (TestDFSIO.java:analyzeResult(880)) - ",
    ],
)
def test_lines_behind_a_log_prefix_are_read(prefix: str) -> None:
    text = "".join(prefix + line + "\n" for line in ROUNDED.splitlines())
    assert parse_dfsio(text) == [WRITE]


def test_a_decimal_comma_is_read() -> None:
    assert parse_dfsio(ROUNDED.replace("7.4", "7,4").replace("19.05", "19,05")) == [WRITE]


def test_foreign_lines_before_after_and_within_a_block_are_ignored() -> None:
    noise = "2026-11-21 11:00:00,001 WARN hdfs.DataStreamer: Caught exception: 17\n"
    lines = [noise + line + "\n" + noise for line in ROUNDED.splitlines()]
    assert parse_dfsio("".join(lines)) == [WRITE]


def test_text_without_a_block_gives_no_result() -> None:
    assert parse_dfsio("nothing\nNumber of files: 3\n") == []


def test_the_time_line_of_the_sequential_mode_is_not_a_field() -> None:
    assert parse_dfsio(ROUNDED.replace("     Test exec", "Seq Test exec time sec: 9\n     Test exec")) == [WRITE]


def test_a_block_that_was_cut_off_names_its_first_line_and_what_is_missing() -> None:
    text = "noise\n" + ROUNDED[: ROUNDED.index("  IO rate")]
    with pytest.raises(FormatError) as caught:
        parse_dfsio(text, source="job.log")
    assert caught.value.where == "job.log:2"
    assert '"IO rate std deviation", "Test exec time sec"' in caught.value.message


def test_a_new_block_inside_an_unfinished_one_is_an_error_at_the_unfinished_one() -> None:
    with pytest.raises(FormatError, match="lacks") as caught:
        parse_dfsio(ROUNDED[: ROUNDED.index(" Total")] + UNROUNDED, source="x")
    assert caught.value.where == "x:1"


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [("7.4", "fast", 5), ("7.4", "∞", 5), ("7.4", "NaN", 5), ("7.4", "1,234.5", 5), ("7.4", "", 5), ("300", "-300", 4)],
)
def test_an_invalid_number_is_refused_with_its_line(old: str, new: str, line: int) -> None:
    with pytest.raises(FormatError, match="not a finite number") as caught:
        parse_dfsio(ROUNDED.replace(old, new, 1), source="x")
    assert caught.value.where == f"x:{line}"


def test_a_field_given_twice_is_refused() -> None:
    with pytest.raises(FormatError, match="twice"):
        parse_dfsio(ROUNDED.replace("      Throughput", "        Number of files: 7\n      Throughput"))


@given(
    st.sampled_from(["write", "read", "append", "random read"]),
    st.integers(1, 10**6),
    st.lists(st.floats(0, 1e9, allow_nan=False), min_size=5, max_size=5),
)
def test_every_block_is_read_back_unchanged(operation: str, files: int, numbers: list[float]) -> None:
    labels = (
        "Total MBytes processed",
        "Throughput mb/sec",
        "Average IO rate mb/sec",
        "IO rate std deviation",
        "Test exec time sec",
    )
    values = "".join(f"  {label}: {value!r}\n" for label, value in zip(labels, numbers, strict=True))
    text = f"----- TestDFSIO ----- : {operation}\n Date & time: d\n Number of files: {files}\n{values}"
    assert parse_dfsio(text) == [DfsioResult(operation, "d", files, *numbers)]


@given(st.integers(0, len(ROUNDED + UNROUNDED) - 1), st.text(max_size=4), st.integers(0, 30))
def test_damaged_text_gives_results_or_a_format_error(at: int, inserted: str, removed: int) -> None:
    text = ROUNDED + UNROUNDED
    try:
        results = parse_dfsio(text[:at] + inserted + text[at + removed :])
    except FormatError:
        return
    assert all(dataclasses.is_dataclass(result) and result.files >= 0 for result in results)
