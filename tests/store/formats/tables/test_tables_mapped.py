"""Test tables with a map: cell meanings, refusals with reasons, shipped examples."""

from __future__ import annotations

import gzip
import math
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.foundation.errors import FormatError, SpecificationError
from assay.model.runs.environment import Hardware
from assay.model.runs.imported import ImportedRun, SkippedItem
from assay.model.runs.origin import Origin
from assay.model.runs.run import Run
from assay.model.runs.run_status import RunStatus
from assay.store.formats.format import Format
from assay.store.formats.source import LINE_BYTES_MAX, Source
from assay.store.formats.tables.published import FORMAT as PUBLISHED
from assay.store.formats.tables.table import check_mapping, read_table, table_format
from builders import words_of
from fuzz_targets import COLUMNS as MAP
from import_samples import imported_runs, items, read_or_refused, skipped_items, source_of
from mutation import fuzz_count, mutations
from odd_tables import in_order
from paths import EXAMPLES

TABLE = """\
job,minutes,disks,size,net,bs,cpu,when,ok,remark
terasort,12.5,HD2,100GB,IB,134217728,0.75,2015-09-07T12:00:00Z,valid,first
terasort,5,SS2,100GB,ETH,134217728,0.8,2015-09-07 13:00,,
"word count, small",1e1,SS2,,,,,,invalid,"two
lines"
terasort,0,HD2,100GB,IB,,,,,
"""
YAML = """\
source: A paper
cluster: rack
levels: {network: IB}
runs:
  - {workload: terasort, layout: HD2, duration: 12 min, data: 100GB, source: table 1}
  - workload: terasort
    layout: SS2
    data: 100GB
    throughput: 1GB/s
    levels: {network: ETH}
    parameters: {dfs.replication: 2}
    metrics: {per_stream_mb_per_s: 10MiB/s, cpu_busy_share: 0.5}
    note: approximate
ratios:
  - {workload: sort, layout: SS2, baseline: HD2, speedup: 1.7}
"""


def table(
    folder: Path, text: str, mapping: dict[str, str] | None = None, **defaults: str
) -> list[ImportedRun | SkippedItem]:
    return in_order(read_table(source_of(folder, text), mapping or MAP, defaults, Origin.MEASURED))


CLOUD = """\
job,seconds,nodes,vcpu,memory,machine,cloud
sort,120,4,8,32GB,m4.2xlarge,aws
sort,70,8,8,32GB,m4.2xlarge,aws
sort,90,many,8,32GB,m4.2xlarge,aws
sort,95,,,,,
"""
HARDWARE_MAP = {
    "job": "workload",
    "seconds": "duration_s",
    "nodes": "workers",
    "vcpu": "cores",
    "memory": "memory_bytes",
    "machine": "instance_type",
    "cloud": "provider",
}


def test_hardware_is_recorded_and_names_a_cluster_that_has_no_name(tmp_path: Path) -> None:
    read = table(tmp_path, CLOUD, HARDWARE_MAP, service_type="IaaS")
    first, second, last = (item.run for item in imported_runs(read))
    assert first.recorded.hardware == Hardware(4, 8, 32e9, "m4.2xlarge", "aws", "IaaS")
    assert (first.cluster, second.cluster) == ("aws 4x m4.2xlarge", "aws 8x m4.2xlarge")
    assert last.recorded.hardware == Hardware(None, None, None, service_type="IaaS")
    (bad,) = skipped_items(read)
    assert (bad.where, bad.why) == ("results.log:4", "workers is 'many', which is not a number")
    lines = CLOUD.splitlines()[0] + "\nsort,5,2,1,1GB,a,b\n"
    (named,) = imported_runs(table(tmp_path, lines, HARDWARE_MAP, cluster="rack"))
    assert named.run.cluster == "rack"


def test_cells_become_the_fields_of_the_map(tmp_path: Path) -> None:
    read = table(tmp_path, TABLE, cluster="rack", engine="spark")
    first, second, third = (item.run for item in imported_runs(read))
    assert (first.workload, first.duration_s, first.layout, first.data_bytes) == ("terasort", 750.0, "HD2", 10**11)
    assert first.levels == {"layout": "HD2", "network": "IB"}
    assert (first.parameters, first.cluster, first.engine) == ({"dfs.blocksize": "134217728"}, "rack", "spark")
    assert first.metrics == {"cpu_busy_share": 0.75, "job_throughput_mb_per_s": pytest.approx(1e5 / 750)}
    assert first.started_at == "2015-09-07T12:00:00.000+00:00"
    assert (second.started_at, second.environment) == ("", {"started_at_as_written": "2015-09-07 13:00"})
    assert (third.workload, third.duration_s, third.status) == ("word count, small", 600.0, RunStatus.INVALID)
    assert (third.cause, third.data_bytes, third.parameters) == ("the table says invalid", None, {})
    assert [item.where for item in read] == [f"results.log:{line}" for line in (2, 3, 4, 6)]
    assert "more than 0" in skipped_items(read)[0].why


@pytest.mark.parametrize("separator", ["\t", ";", "|"])
def test_the_separator_is_the_one_that_shows_the_columns(separator: str, tmp_path: Path) -> None:
    text = "job,minutes\nsort,2\nsort,2.5\n".replace(",", separator)
    read = table(tmp_path, text, {"job": "workload", "minutes": "duration_min"})
    assert [item.run.duration_s for item in imported_runs(read)] == [120.0, 150.0]


@pytest.mark.parametrize(
    ("field", "cell", "duration_s"),
    [
        ("duration_s", "90", 90.0),
        ("duration_ms", "1500", 1.5),
        ("duration_min", "1.5", 90.0),
        ("duration_h", "2", 7200),
        ("duration", "12 min", 720.0),
        ("duration", "1756s", 1756.0),
    ],
)
def test_durations_carry_their_unit(field: str, cell: str, duration_s: float, tmp_path: Path) -> None:
    read = table(tmp_path, f"job,t\nsort,{cell}\n", {"job": "workload", "t": field})
    assert [item.run.duration_s for item in imported_runs(read)] == [duration_s]


def test_a_decimal_comma_is_accepted_where_the_table_shows_that_it_is_one(tmp_path: Path) -> None:
    mapping = {"job": "workload", "t": "duration_s"}
    shown = table(tmp_path, "job;t\nsort;1,250\nsort;12,5\n", mapping)
    unclear = table(tmp_path, "job;t\nsort;1,250\nsort;12\n", mapping)
    assert [item.run.duration_s for item in imported_runs(shown)] == [1.25, 12.5]
    assert [item.run.duration_s for item in imported_runs(unclear)] == [12.0]
    assert "separate thousands or decimals" in skipped_items(unclear)[0].why


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("sort,,HD2", "has no duration"),
        (",5,HD2", "has no workload"),
        ("sort,fast,HD2", "not a number"),
        ("sort,-5,HD2", "more than 0"),
        ("sort,nan,HD2", "not a number"),
        ("sort,1e400,HD2", "not a number"),
        ("sort,1e9,HD2", "more than a year"),
        ("sort,5", "has 2 cells, the header 3"),
        ("sort,5,HD2,6", "has 4 cells"),
        ("sort,5,H\x07D", "not a single line"),
        ('sort,"1,234.5",HD2', "not a number"),
    ],
)
def test_an_invalid_row_is_skipped_with_its_line(row: str, why: str, tmp_path: Path) -> None:
    mapping = {"job": "workload", "t": "duration_s", "disks": "layout"}
    read = table(tmp_path, f"job,t,disks\n{row}\nsort,5,HD2\n", mapping)
    assert [type(item) for item in read] == [SkippedItem, ImportedRun]
    assert why in skipped_items(read)[0].why
    assert skipped_items(read)[0].where == "results.log:2"


def test_an_open_quote_ends_the_table_with_a_warning(tmp_path: Path) -> None:
    read = table(tmp_path, 'job,t\nsort,5\n"sort,6\nsort,7\n', {"job": "workload", "t": "duration_s"})
    assert [type(item) for item in read] == [ImportedRun, SkippedItem]
    assert (
        skipped_items(read)[0].why
        == "can't be read from here on, 2 lines: a quote that opens in this line is never closed"
    )
    assert skipped_items(read)[0].where == "results.log:3"


def test_the_error_for_a_late_closing_quote_states_its_number_of_lines(tmp_path: Path) -> None:
    read = table(tmp_path, 'job,t\n"sort,5\nsort,6\nsort",7,8\nsort,9\n', {"job": "workload", "t": "duration_s"})
    assert [item.where for item in skipped_items(read)] == ["results.log:2"]
    assert "continues for 3 lines: a quote" in skipped_items(read)[0].why
    assert [item.run.duration_s for item in imported_runs(read)] == [9.0]


def test_a_table_without_rows_states_it(tmp_path: Path) -> None:
    read = table(tmp_path, "job,t\n", {"job": "workload", "t": "duration_s"})
    assert [(item.where, item.why) for item in skipped_items(read)] == [
        ("results.log:1", "has a header and no row below it")
    ]


@pytest.mark.parametrize("text", ["", "\n\n", "job,disks\nsort,HD2\n", "job,t,t\nsort,5,6\n"])
def test_a_file_that_is_not_a_matching_table_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        table(tmp_path, text, {"job": "workload", "t": "duration_s"})
    assert str(caught.value.where).startswith("results.log")


@pytest.mark.parametrize("line", [b"a" * (LINE_BYTES_MAX * 40), b"," * (LINE_BYTES_MAX * 40)])
@pytest.mark.parametrize("packed", [False, True])
def test_an_endless_line_is_refused_before_it_is_read(tmp_path: Path, line: bytes, packed: bool) -> None:
    path = tmp_path / "t.csv"
    content = b"job,s\na,1\nb,2\n" + line
    path.write_bytes(gzip.compress(content, 1) if packed else content)
    del content
    tracemalloc.start()
    try:
        (only,) = table_format({"job": "workload", "s": "duration_s"}, {}).read([Source(path, "t.csv")])
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()
    assert isinstance(only, SkippedItem)
    assert only.where == "t.csv:4"
    assert "a line of more than 1,048,576 bytes" in only.why


def test_rows_far_wider_than_the_header_are_left_and_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("job,s\n" + ("," * 400_000 + "\n" + "a,1\n" + "x," * 100_000 + "\n") * 10)
    tracemalloc.start()
    try:
        read = list(table_format({"job": "workload", "s": "duration_s"}, {}).read([Source(path, "t.csv")]))
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()
    assert [len(imported_runs(read)), len(skipped_items(read))] == [10, 10]
    assert skipped_items(read)[0].why == "has 100001 cells, the header 2"


def test_an_unknown_column_is_named_with_the_known_columns(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="did you mean 'time'"):
        table(tmp_path, "job,time\nsort,5\n", {"job": "workload", "tim": "duration_s"})


@pytest.mark.parametrize(
    ("mapping", "why"),
    [
        ({"a": "workload", "b": "durations"}, "did you mean 'duration"),
        ({"a": "workload"}, "one column must be mapped to a duration"),
        ({"a": "duration_s"}, "no column is mapped to workload"),
        ({"a": "workload", "b": "duration_s", "c": "duration_min"}, "there is duration_min and duration_s"),
        ({"a": "workload", "b": "duration_s", "c": "workload"}, "two columns"),
        ({"a": "workload", "b": "duration_s", "c": "metric:CPU %"}, "not a valid name of a metric"),
        ({"a": "workload", "b": "duration_s", "c": "parameter:blocksize"}, "not a valid name of a parameter"),
    ],
)
def test_an_invalid_column_mapping_is_the_users_error(mapping: dict[str, str], why: str) -> None:
    with pytest.raises(SpecificationError) as caught:
        check_mapping(mapping, {}, Origin.MEASURED)
    assert why in caught.value.message


def test_published_rows_need_a_source(tmp_path: Path) -> None:
    mapping = {"job": "workload", "t": "duration_s"}
    with pytest.raises(SpecificationError, match="need a source"):
        table_format(mapping, {}, Origin.PUBLISHED)
    (item,) = items(table_format(mapping, {"source": "A paper, table 2"}, Origin.PUBLISHED), tmp_path, "job,t\nsort,5")
    assert isinstance(item, ImportedRun)
    assert (item.run.origin, item.run.sources["duration_s"]) == (Origin.PUBLISHED, "A paper, table 2")


@given(
    st.lists(
        st.tuples(st.text("abc -_", min_size=1).filter(str.strip), st.floats(0.001, 1e6), st.text("xyz", max_size=4)),
        min_size=1,
        max_size=8,
    )
)
def test_every_table_is_read_back_unchanged(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, float, str]]
) -> None:
    text = "job\tt\tdisks\n" + "".join(f"{job}\t{duration_s!r}\t{layout}\n" for job, duration_s, layout in rows)
    mapping = {"job": "workload", "t": "duration_s", "disks": "layout"}
    read = table(tmp_path_factory.mktemp("table"), text, mapping)
    got = [(item.run.workload, item.run.duration_s, item.run.layout) for item in imported_runs(read)]
    assert got == [(job.strip(), duration_s, layout) for job, duration_s, layout in rows]


def test_typed_results_become_published_runs(tmp_path: Path) -> None:
    read = items(PUBLISHED, tmp_path, YAML, "results.yaml")
    first, second = (item.run for item in imported_runs(read))
    assert (first.origin, first.duration_s, first.layout, first.cluster) == (Origin.PUBLISHED, 720.0, "HD2", "rack")
    assert (first.levels["network"], second.levels["network"]) == ("IB", "ETH")
    assert first.sources["duration_s"] == "A paper; table 1"
    assert (second.duration_s, second.metrics["job_throughput_mb_per_s"]) == (100.0, 1000.0)
    assert second.metrics["per_stream_mb_per_s"] == pytest.approx(10.48576)
    assert words_of(second.warnings) == ("the duration follows from a printed throughput",)
    assert second.parameters == {"dfs.replication": "2"}
    assert [item.where for item in read] == ["results.yaml:5", "results.yaml:6", "results.yaml:15"]
    assert "not a run" in skipped_items(read)[0].why


@pytest.mark.parametrize(
    ("old", "new", "line", "why"),
    [
        ("source: A paper\n", "", 1, "key 'source' is missing"),
        ("layout: HD2, dur", "layuot: HD2, dur", 5, "did you mean 'layout'?"),
        ("12 min", "12", 5, "not a duration"),
        ("12 min", "-12 min", 5, "must not be negative"),
        ("12 min", "12 y", 5, "more than a year"),
        ("duration: 12 min, ", "", 5, "one of the two"),
        ("    data: 100GB\n", "", 6, "needs data"),
        ("0.5}", "0.5GB/s}", 6, "does not end in _mb_per_s"),
        ("0.5}", "1e999}", 12, "is not a number"),
        ("speedup: 1.7", "speedup: 0", 15, "not a ratio"),
        ("cluster: rack", "origin: guessed\ncluster: rack", 2, "unknown origin"),
        ("note: approximate", "status: failed", 6, "needs a cause"),
        ("note: approximate", "started_at: 2015-09-07", 13, "not a date and time with a zone"),
    ],
)
def test_mistakes_in_typed_results_are_named_with_their_line(
    old: str, new: str, line: int, why: str, tmp_path: Path
) -> None:
    assert old in YAML
    (item,) = items(PUBLISHED, tmp_path, YAML.replace(old, new, 1), "results.yaml")
    assert isinstance(item, SkippedItem)
    assert item.where == f"results.yaml:{line}"
    assert why in item.why


def test_typed_results_may_be_declared_measured(tmp_path: Path) -> None:
    read = items(PUBLISHED, tmp_path, YAML.replace("cluster: rack", "origin: measured"), "results.yaml")
    assert {item.run.origin for item in imported_runs(read)} == {Origin.MEASURED}


def _table_form() -> Format:
    return table_format(MAP, {}, Origin.MEASURED)


@pytest.mark.parametrize(("form", "sample"), [(_table_form(), TABLE), (PUBLISHED, YAML)], ids=["table", "published"])
def test_damaged_copies_give_runs_with_sane_numbers_or_reasons(form: Format, sample: str, tmp_path: Path) -> None:
    for content in mutations(sample.encode(), fuzz_count()):
        for item in read_or_refused(form.read([source_of(tmp_path, content)])):
            if isinstance(item, ImportedRun):
                assert 0 < item.run.duration_s <= 366 * 86_400
                assert all(math.isfinite(value) for value in item.run.metrics.values())
            else:
                assert item.where
                assert item.why


def example(name: str) -> list[ImportedRun | SkippedItem]:
    path = EXAMPLES / name / "results.yaml"
    assert PUBLISHED.recognises(str(path), path.read_bytes())
    return list(PUBLISHED.read([Source(path, f"{name}/results.yaml")]))


def published(name: str) -> list[Run]:
    return [item.run for item in imported_runs(example(name))]


def test_sandisks_results_are_table_4() -> None:
    times = {(run.workload, run.layout): run.duration_s for run in published("sandisk-2014")}
    assert times == {
        ("dfsioe-read", "HD2"): 1756,
        ("dfsioe-write", "HD2"): 5131,
        ("dfsioe-read", "SS2"): 485,
        ("dfsioe-write", "SS2"): 1319,
    }
    read = published("sandisk-2014")[0]
    assert read.data_bytes == 512 * 2000 * 2**20
    assert read.metrics["dfsioe_aggregated_mb_per_s"] == pytest.approx(722.56 * 2**20 / 1e6)
    assert read.metrics["job_throughput_mb_per_s"] * 1e6 / 2**20 == pytest.approx(583, abs=0.5)


def test_the_results_of_bsc_are_those_of_table_2() -> None:
    times = {(run.levels["network"], run.layout): run.duration_s for run in published("bsc-2015")}
    assert times == {
        ("IB", "SS2"): 207,
        ("ETH", "SS2"): 258,
        ("IB", "SSD"): 265,
        ("IB", "HS5"): 228,
        ("ETH", "HS5"): 275,
        ("ETH", "SSD"): 348,
        ("ETH", "HD5"): 348,
        ("IB", "HD5"): 325,
    }
    assert {run.data_bytes for run in published("bsc-2015")} == {10**11}


def test_lisa14_prints_no_run_times_of_jobs() -> None:
    assert {run.layout: run.metrics["job_throughput_mb_per_s"] for run in published("lisa14")} == {
        "HDD": 120.0,
        "SSD": 1300.0,
    }
    assert len(skipped_items(example("lisa14"))) == 3


@pytest.mark.parametrize("name", ["sandisk-2014", "bsc-2015", "lisa14"])
def test_every_shipped_result_is_published_with_its_place(name: str) -> None:
    for run in published(name):
        assert run.origin is Origin.PUBLISHED
        assert "; " in run.sources["duration_s"]
