"""Test result files of benchmark programs as runs: imported and skipped values, reasons, and damaged copies."""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.model.runs.imported import ImportedRun, SkippedItem
from assay.model.runs.run_status import RunStatus
from assay.store.formats.benchmarks import dfsioe, hibench_report, testdfsio_import, tpcxhs
from assay.store.formats.format import Format
from assay.store.formats.tables.printed import java_date_unix_s, utc_of
from assay.workloads.common.testdfsio_output import DfsioResult
from import_samples import (
    DFSIO,
    DFSIOE,
    HEADING,
    HIBENCH,
    ROWS,
    TPCXHS,
    imported_runs,
    items,
    read_or_refused,
    skipped_items,
    source_of,
)
from mutation import fuzz_count, mutations

FORMATS = {
    "testdfsio": (testdfsio_import.FORMAT, DFSIO, 2),
    "dfsioe": (dfsioe.FORMAT, DFSIOE, 1),
    "hibench": (hibench_report.FORMAT, HIBENCH, 4),
    "tpcx-hs": (tpcxhs.FORMAT, TPCXHS, 2),
}
EACH_FORMAT = pytest.mark.parametrize(("form", "sample", "runs"), FORMATS.values(), ids=FORMATS)


@EACH_FORMAT
def test_each_result_of_the_sample_becomes_a_run(form: Format, sample: str, runs: int, tmp_path: Path) -> None:
    read = items(form, tmp_path, sample)
    assert [type(item) for item in read] == [ImportedRun] * runs
    assert len({item.key for item in imported_runs(read)}) == runs
    assert form.name in FORMATS


@EACH_FORMAT
def test_a_file_that_grew_keeps_the_keys_of_its_runs(form: Format, sample: str, runs: int, tmp_path: Path) -> None:
    before = [item.key for item in imported_runs(items(form, tmp_path, sample))]
    more = DFSIO + DFSIO if form.name == "testdfsio" else sample + sample
    after = [item.key for item in imported_runs(items(form, tmp_path, more))]
    assert after[: len(before)] == before


@EACH_FORMAT
def test_a_file_is_recognised_by_its_format_only(form: Format, sample: str, runs: int, tmp_path: Path) -> None:
    head = source_of(tmp_path, sample).head()
    assert [name for name, (other, _, _) in FORMATS.items() if other.recognises("a/results.log", head)] == [form.name]
    assert not any(other.recognises("x", b"\xff\0") or other.recognises("x", b"") for other, _, _ in FORMATS.values())


@EACH_FORMAT
def test_compressed_files_and_other_encodings_read_the_same(
    form: Format, sample: str, runs: int, tmp_path: Path
) -> None:
    plain = [(item.key, item.run) for item in imported_runs(items(form, tmp_path, sample))]
    for content in (gzip.compress(sample.encode()), sample.encode("utf-16"), sample.replace("\n", "\r\n").encode()):
        assert [(item.key, item.run) for item in imported_runs(items(form, tmp_path, content))] == plain


@EACH_FORMAT
@pytest.mark.parametrize("content", [b"", b"\n\n", b"nothing to see\n", b"\0\1\2" * 50, b"\xff\xfe\0"])
def test_files_without_a_result_are_rejected_with_a_reason(
    form: Format, sample: str, runs: int, content: bytes, tmp_path: Path
) -> None:
    read = items(form, tmp_path, content)
    assert read
    assert all(isinstance(item, SkippedItem) and item.where.startswith("results.log") and item.why for item in read)


@EACH_FORMAT
def test_damaged_copies_give_runs_with_sane_numbers_or_reasons(
    form: Format, sample: str, runs: int, tmp_path: Path
) -> None:
    for content in mutations(sample.encode(), fuzz_count(), seed=runs):
        for item in read_or_refused(form.read([source_of(tmp_path, content)])):
            if isinstance(item, ImportedRun):
                assert 0 < item.run.duration_s <= 366 * 86_400
                assert all(math.isfinite(value) and value >= 0 for value in item.run.metrics.values())
                assert item.run.data_bytes is None or item.run.data_bytes > 0
            else:
                assert item.where
                assert item.why


def test_a_testdfsio_block_becomes_a_run(tmp_path: Path) -> None:
    write, read = (item.run for item in imported_runs(items(testdfsio_import.FORMAT, tmp_path, DFSIO)))
    assert (write.workload, write.duration_s, write.data_bytes) == ("dfsio-write", 19.05, 300 * 2**20)
    assert write.metrics["per_stream_mb_per_s"] == pytest.approx(7.4 * 1.048576)
    assert write.metrics["job_throughput_mb_per_s"] == pytest.approx(300 * 1.048576 / 19.05)
    assert write.workload_parameters == {"files": "6"}
    assert (write.layout, write.cluster, write.parameters, write.status) == ("", "", {}, RunStatus.VALID)
    assert read.workload == "dfsio-read"


def test_the_start_is_the_printed_end_minus_the_duration_if_the_zone_is_known(tmp_path: Path) -> None:
    write, read = (item.run for item in imported_runs(items(testdfsio_import.FORMAT, tmp_path, DFSIO)))
    assert write.started_at == "2015-09-07T11:59:40.950+00:00"
    assert read.started_at == ""
    assert read.environment["finished_at_as_printed"] == "Mon Sep 07 14:05:10 CEST 2015"


@pytest.mark.parametrize(
    "text",
    [
        "Mon Sep 07 12:00:00 EST 2015",
        "Tue Sep 07 12:00:00 UTC 2015",
        "Mon Sep 31 12:00:00 UTC 2015",
        "yesterday",
        "",
        "Mon Sep 07 25:00:00 UTC 2015",
        "lun. sept. 07 12:00:00 UTC 2015",
        "Mon Sep 07 12:00:00 2015",
    ],
)
def test_dates_that_are_ambiguous_or_wrong_are_unknown(text: str) -> None:
    assert java_date_unix_s(text) is None


def test_iso_dates_without_a_zone_are_unknown() -> None:
    assert utc_of("2015-09-07T14:00:00+02:00") == "2015-09-07T12:00:00.000+00:00"
    assert utc_of("2015-09-07 14:00") == ""
    assert [utc_of(text) for text in ("0001-01-01T00:00:00+23:00", "7.9.2015", "1e9")] == [None] * 3


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("19.05", "0.0", "takes more than 0"),
        ("19.05", "99999999", "more than a year"),
        (": 300\n", ": 0\n", "did nothing"),
        ("files: 6\n", "files: 0\n", "did nothing"),
        (": 7.4\n", ": 0.4\n", "do not fit together"),
        (": 300\n", ": 3" + "0" * 30 + "\n", "implausibly large"),
        (": write", ": wrote", "not an operation"),
        (": 7.4\n", ": 7,400\n", "not a finite number"),
        ("     Test exec", "     Tost exec", "lacks"),
    ],
)
def test_an_invalid_block_is_skipped_and_the_others_are_read(old: str, new: str, why: str, tmp_path: Path) -> None:
    read = items(testdfsio_import.FORMAT, tmp_path, DFSIO.replace(old, new, 1))
    assert [type(item) for item in read] == [SkippedItem, ImportedRun]
    assert why in skipped_items(read)[0].why
    assert skipped_items(read)[0].where.startswith("results.log:")


def test_stock_and_enhanced_results_are_distinguished(tmp_path: Path) -> None:
    stock = items(testdfsio_import.FORMAT, tmp_path, DFSIO + DFSIOE)
    enhanced = items(dfsioe.FORMAT, tmp_path, DFSIO + DFSIOE)
    assert [item.run.workload for item in imported_runs(stock)] == ["dfsio-write", "dfsio-read"]
    assert [item.run.workload for item in imported_runs(enhanced)] == ["dfsioe-read"]
    assert ["enhanced" in item.why for item in skipped_items(stock)] == [True]
    assert ["stock" in item.why for item in skipped_items(enhanced)] == [True, True]


@given(
    st.sampled_from(["write", "read", "append"]),
    st.integers(1, 10**4),
    st.integers(1, 10**6),
    st.floats(0.01, 1e5),
    st.floats(1, 4),
)
def test_every_valid_block_gives_its_figures(
    operation: str, files: int, mib: int, exec_time_s: float, slack: float
) -> None:
    rate = mib / (files * exec_time_s) * slack + 0.01
    result = DfsioResult(operation, "d", files, float(mib), rate, rate, 0.0, exec_time_s)
    assert testdfsio_import.problem(result) is None
    run = testdfsio_import.block_run(result, "dfsio")
    assert (run.duration_s, run.data_bytes) == (exec_time_s, mib * 2**20)
    assert run.metrics["per_stream_mb_per_s"] == pytest.approx(rate * 1.048576)


def test_the_enhanced_aggregate_has_separate_names_and_its_exact_start(tmp_path: Path) -> None:
    (item,) = imported_runs(items(dfsioe.FORMAT, tmp_path, DFSIOE))
    assert item.run.metrics["dfsioe_aggregated_mb_per_s"] == pytest.approx(250.5 * 1.048576)
    assert item.run.metrics["dfsioe_aggregated_stddev_mb_per_s"] == pytest.approx(31.25 * 1.048576)
    assert (item.run.metrics["dfsioe_counted_slots"], item.run.metrics["dfsioe_slots"]) == (40, 54)
    assert "gated_aggregate_mb_per_s" not in item.run.metrics
    assert item.run.started_at == "2015-09-07T12:00:00.125+00:00"
    assert item.run.warnings == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace("." * 8 + " ", "." * 60 + " "), "not slots of one second"),
        (
            lambda text: text.replace("Average of Agg", "Aggregated throughput results are unavailable, because Agg"),
            "unavailable",
        ),
        (lambda text: text[: text.index("Average of Agg")], "not in the file"),
        (lambda text: text.replace("250.5 mb/sec", "NaN mb/sec"), "not readable"),
        (lambda text: text.replace("250.5 mb/sec", "250.5 MiB/sec"), "not readable"),
    ],
)
def test_an_aggregate_of_unknown_unit_or_value_is_skipped_with_a_warning(
    change: Callable[[str], str], words: str, tmp_path: Path
) -> None:
    (item,) = imported_runs(items(dfsioe.FORMAT, tmp_path, change(DFSIOE)))
    assert not [name for name in item.run.metrics if name.startswith("dfsioe_")]
    assert any(words in warning.words for warning in item.run.warnings)
    assert item.run.duration_s == 52.25


def test_other_sample_units_are_converted(tmp_path: Path) -> None:
    (item,) = imported_runs(items(dfsioe.FORMAT, tmp_path, DFSIOE.replace("250.5 mb/sec", "250.5 kb/sec")))
    assert item.run.metrics["dfsioe_aggregated_mb_per_s"] == pytest.approx(250.5 * 1024 / 1e6)


def test_a_reference_start_that_contradicts_the_date_is_not_taken(tmp_path: Path) -> None:
    (item,) = imported_runs(items(dfsioe.FORMAT, tmp_path, DFSIOE.replace("1441627200125", "1541627200125")))
    assert item.run.started_at == "2015-09-07T12:00:00.750+00:00"


def test_a_hibench_row_becomes_a_run(tmp_path: Path) -> None:
    terasort, sort, dfsio, _ = (item.run for item in imported_runs(items(hibench_report.FORMAT, tmp_path, HIBENCH)))
    assert (terasort.workload, terasort.engine, terasort.duration_s) == ("terasort", "hadoop", 64.0)
    assert (terasort.data_bytes, terasort.metrics) == (3_200_000_000, {"job_throughput_mb_per_s": 50.0})
    assert (sort.workload, sort.engine, sort.workload_parameters) == ("sort", "spark", {"api": "scala"})
    assert (dfsio.workload, dfsio.duration_s, dfsio.started_at) == ("dfsioe-read", 0.512, "")
    assert terasort.environment["finished_at_as_printed"] == "2016-03-01 10:15:00"


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("HadoopSort 2016-03-01 10:15:00 64.0", "has 4 fields"),
        ("HadoopSort 2016-03-01 10:15:00 1000 -64.0 0 0", "more than 0"),
        ("HadoopSort 2016-03-01 10:15:00 1000 0 0 0", "more than 0"),
        ("HadoopSort 2016-03-01 10:15:00 1000 fast 100 100", "Duration(s) is 'fast'"),
        ("HadoopSort 2016-03-01 10:15:00 4000000 10.0 300000 300000", "damaged"),
        ("HadoopSort 2016-03-01 10:15:00 4000000 10.0 400000 500000", "damaged"),
        ("HadoopSort 2016-3-1 10:15:00 4000000 10.0 400000 400000", "Date is"),
        ("FlinkFixWindow 2016-03-01 10:15:00 0 77.1 0 0", "streaming"),
        ("/bin/bc: command not found", "has 4 fields"),
    ],
)
def test_an_invalid_row_is_skipped_with_its_line(row: str, why: str, tmp_path: Path) -> None:
    read = items(hibench_report.FORMAT, tmp_path, f"{HEADING}{row}\n{ROWS[0]}")
    assert [type(item) for item in read] == [SkippedItem, ImportedRun]
    assert skipped_items(read)[0].where == "results.log:2"
    assert why in skipped_items(read)[0].why


def test_a_size_of_zero_is_unknown_and_a_type_without_engine_has_none(tmp_path: Path) -> None:
    (item,) = imported_runs(items(hibench_report.FORMAT, tmp_path, HEADING + "SORT 2012-03-01 10:15:00 0 64.5 0 0\n"))
    assert (item.run.data_bytes, item.run.metrics, item.run.engine, item.run.workload) == (None, {}, "", "sort")
    assert item.run.warnings


def test_a_report_without_headings_is_recognised_by_its_name() -> None:
    assert hibench_report.FORMAT.recognises("report/hibench.report", ROWS[0].encode())
    assert not hibench_report.FORMAT.recognises("sort.conf", b"# " + HEADING.encode())


def test_a_tpcx_hs_run_has_its_steps_size_and_metric(tmp_path: Path) -> None:
    first, second = (item.run for item in imported_runs(items(tpcxhs.FORMAT, tmp_path, TPCXHS)))
    assert (first.workload, first.engine, first.duration_s, first.data_bytes) == ("tpcx-hs", "hadoop", 1735, 10**12)
    assert first.metrics == {"hsph_at_sf": 2.0751, "hsgen_s": 300.25, "hssort_s": 1230.5, "hsvalidate_s": 190.0}
    assert first.started_at == "2015-09-07T12:00:00.000+00:00"
    assert second.started_at == "2015-09-07T13:00:00.000+00:00"
    assert first.environment == {"tpcx_hs_version": "v2.0.3"}


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("2.0751", "2.1751", "HSph@SF is 2.1751, which is not"),
        ("Total Time = 1735", "Total Time = 735", "which is not"),
        ("20m30.500s", "29m30.500s", "the steps take"),
        ("20m30.500s", "", "which is not a time"),
        ("Total Size = 10000000000", "Total Size = ten", "not a number"),
        ("Time taken by HSValidate", "Time", "lacks HSValidate"),
    ],
)
def test_a_tpcx_hs_run_that_contradicts_itself_is_skipped(old: str, new: str, why: str, tmp_path: Path) -> None:
    read = items(tpcxhs.FORMAT, tmp_path, TPCXHS.replace(old, new, 1))
    assert [type(item) for item in read] == [SkippedItem, ImportedRun]
    assert why in skipped_items(read)[0].why


def test_a_failed_tpcx_hs_run_is_a_failed_run(tmp_path: Path) -> None:
    begin = TPCXHS[: TPCXHS.index("======== HSValidate")]
    end = "======== HSsort Result FAILURE ========\nNo Performance Metric (HSph@SF) as some tests Failed\n"
    (item,) = imported_runs(items(tpcxhs.FORMAT, tmp_path, begin + end))
    assert (item.run.status, item.run.cause) == (RunStatus.FAILED, "HSValidate failed")
    assert item.run.duration_s == 300.25 + 1230.5
    assert "hsph_at_sf" not in item.run.metrics


def test_spark_and_mapreduce_are_distinguished_and_version_1_has_no_framework(tmp_path: Path) -> None:
    spark = TPCXHS.replace("(MapReduce)", "(Spark)").replace("= MapReduce", "= Spark")
    first = TPCXHS.replace("(MapReduce) ", "").replace("Framework = MapReduce", "")
    assert {item.run.engine for item in imported_runs(items(tpcxhs.FORMAT, tmp_path, spark))} == {"spark"}
    assert {item.run.engine for item in imported_runs(items(tpcxhs.FORMAT, tmp_path, first))} == {"hadoop"}
