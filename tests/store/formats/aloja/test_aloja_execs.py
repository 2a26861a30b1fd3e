"""Test ALOJA's tables of runs: every column, known pitfalls, and no silent loss of rows."""

from __future__ import annotations

import gzip
import itertools
import math
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.foundation.errors import FormatError
from assay.model import Run, RunStatus
from assay.model.runs.imported import ImportedRun, SkippedItem
from assay.store.formats.aloja.codes import INVALID
from assay.store.formats.aloja.execs import FORMAT
from assay.store.formats.source import Source
from builders import words_of
from effort import examples
from mutation import fuzz_count, mutations
from odd_tables import in_order
from paths import ROOT

DATA = ROOT.parent / "shared" / "data" / "aloja"
COLUMNS = (
    "id_exec,id_cluster,exec,bench,exe_time,start_time,end_time,net,disk,bench_type,maps,iosf,replication,iofilebuf,comp,"
    "blk_size,valid"
)
PLAIN = {
    "id_exec": "7",
    "id_cluster": "9",
    "exec": "20140310_101500_conf_IB_HS2_b_m8_i10_r1_I65536_c3_z64/terasort",
    "bench": "terasort",
    "exe_time": "600.000",
    "start_time": "2014-03-10 10:20:00",
    "end_time": "2014-03-10 10:30:00",
    "net": "IB",
    "disk": "HS2",
    "bench_type": "b",
    "maps": "8",
    "iosf": "10",
    "replication": "1",
    "iofilebuf": "65536",
    "comp": "3",
    "blk_size": "64",
    "valid": "1",
}
OLD = PLAIN | {
    "exec": "20131201_090000_conf_IB_HS2_b_m8_i10_r1_I65536/terasort",
    "start_time": "0000-00-00 00:00:00",
    "end_time": "2013-12-01 10:03:00",
    "blk_size": "0",
}
WIDE_COLUMNS = (
    "ID,Benchmark,Exe.Time,Net,Disk,Maps,IO.SFac,Rep,IO.FBuf,Comp,Blk.size,Cluster,Cl.Name,Datanodes,Headnodes,VM.OS,"
    "VM.Cores,VM.RAM,Provider,VM.Size,Service.Type,Bench.Type"
)
WIDE = "31,sort,410,ETH,RL2,4,10,3,4096,Cmp2,128,Cl5,cloud-05,4,1,linux,8,56.000,azure,A7,IaaS,HiBench"
CLUSTERS = (
    "id_cluster,conf_name,provider,type,datanodes,vm_size,vm_OS,vm_cores,vm_RAM_GB,cost_hour,cost_remote_disk,cost_SSD,"
    "cost_IB,attached_volumes,disk_size_GB,disks,nets,description\n"
    "9,rack-09,on-premise,On-Premise,8,M-8,,12,54,3.50,0.20,0.70,0.80,6,980,HDD,ETH IB,\n"
    "5,cloud-05,azure,IaaS,16,A7,,8,56,3.52,0.04,0,0,0,256,RL1,,\n"
    "2,cloud-02,azure,IaaS,3,A7,,8,56,3.52,0.04,0,0,0,256,RL1,,\n"
    "2,here-02,on-premise,on-premise,0,localhost,,4,8,1,0,0,0,0,,HDD,,\n"
)


def row(**changes: str) -> dict[str, str]:
    return PLAIN | changes


def table(*rows: dict[str, str], columns: str = COLUMNS) -> str:
    names = columns.split(",")
    return "\n".join([columns, *(",".join(entry[name] for name in names) for entry in rows)]) + "\n"


def imported_items(folder: Path, **files: str | bytes) -> list[ImportedRun | SkippedItem]:
    """Write the files (``a_csv`` is a.csv) and import them."""
    sources = []
    for name, content in files.items():
        path = folder / name.replace("_csv", ".csv")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        sources.append(Source(path, path.name))
    return in_order(FORMAT.read(sources))


def only(folder: Path, text: str, **files: str) -> Run:
    (item,) = imported_items(folder, t_csv=text, **files)
    assert isinstance(item, ImportedRun), item
    return item.run


def skipped_item(folder: Path, text: str) -> SkippedItem:
    (skipped,) = (item for item in imported_items(folder, t_csv=text) if isinstance(item, SkippedItem))
    return skipped


def test_a_row_of_execs_becomes_a_run(tmp_path: Path) -> None:
    (item,) = imported_items(tmp_path, t_csv=table(PLAIN))
    assert isinstance(item, ImportedRun)
    run = item.run
    assert (item.key, item.where, run.workload) == (PLAIN["exec"], "t.csv:2", "terasort")
    assert (run.duration_s, run.status, run.cause) == (600.0, RunStatus.VALID, None)
    assert (run.layout, run.levels) == ("HS2", {"layout": "HS2", "network": "IB"})
    assert run.parameters == {
        "mapreduce.tasktracker.map.tasks.maximum": "8",
        "mapreduce.task.io.sort.factor": "10",
        "dfs.replication": "1",
        "io.file.buffer.size": "65536",
        "dfs.blocksize": "67108864",
        "mapreduce.map.output.compress": "true",
        "mapreduce.map.output.compress.codec": "org.apache.hadoop.io.compress.SnappyCodec",
    }
    assert (run.workload_parameters, run.started_at) == ({"suite": "HiBench"}, "2014-03-10T10:20:00+00:00")
    assert (run.cluster, run.warnings, run.data_bytes, run.metrics) == ("aloja-9", (), None, {})
    assert run.environment["cluster"]["layout_devices"] == {"hdd": 2, "ssd": 1}


def test_columns_may_have_any_order_and_any_delimiter(tmp_path: Path) -> None:
    reversed_table = table(PLAIN, columns=",".join(reversed(COLUMNS.split(","))))
    expected = only(tmp_path, table(PLAIN))
    assert only(tmp_path, reversed_table) == expected
    for delimiter in ";\t|":
        assert only(tmp_path, reversed_table.replace(",", delimiter)) == expected
    assert only(tmp_path, reversed_table.replace("\n", "\r\n")) == expected
    assert only(tmp_path, "\ufeff" + reversed_table) == expected


def test_quoted_cells_and_decimal_commas_are_read(tmp_path: Path) -> None:
    quoted = "\n".join('"' + line.replace(",", '";"') + '"' for line in table(PLAIN).splitlines())
    assert only(tmp_path, quoted.replace("600.000", "600,500")).duration_s == 600.5


def test_a_gzipped_table_is_the_same(tmp_path: Path) -> None:
    (run,) = imported_items(tmp_path, t_csv=gzip.compress(table(PLAIN).encode()))
    assert isinstance(run, ImportedRun)
    assert run.run == only(tmp_path, table(PLAIN))


@pytest.mark.parametrize("flag", ["0", "FALSE"])
def test_a_row_marked_invalid_is_an_invalid_run_with_that_cause(tmp_path: Path, flag: str) -> None:
    run = only(tmp_path, table(row(valid=flag, exe_time="30.000", end_time="2014-03-10 10:20:30")))
    assert (run.status, run.cause, run.warnings) == (RunStatus.INVALID, INVALID, ())


def test_a_valid_run_under_a_minute_keeps_its_label_and_gets_a_warning(tmp_path: Path) -> None:
    run = only(tmp_path, table(row(exe_time="59.000", end_time="2014-03-10 10:20:59")))
    assert run.status is RunStatus.VALID
    assert [warning for warning in run.warnings if "under 60 s" in warning.words]


def test_a_zero_start_means_that_end_time_is_the_start_in_central_european_time(tmp_path: Path) -> None:
    run = only(tmp_path, table(OLD))
    assert run.started_at == "2013-12-01T09:03:00+00:00"
    assert "Central European Time" in run.sources["started_at"]
    assert "dfs.blocksize" not in run.parameters


@pytest.mark.parametrize(
    "changes",
    [
        {"end_time": "2013-12-01 09:30:00"},  # an hour earlier it would be before its folder was made
        {"end_time": "2014-06-01 10:03:00"},  # in summer the zone is not known
        {"end_time": "0000-00-00 00:00:00"},
        {"exec": "run-17/terasort"},
        {"end_time": "yesterday"},
    ],
)
def test_an_unknown_start_is_absent_and_the_run_is_kept(tmp_path: Path, changes: dict[str, str]) -> None:
    run = only(tmp_path, table(OLD | changes))
    assert (run.started_at, run.duration_s) == ("", 600.0)
    assert run.sources["started_at"].startswith("not ")


def test_a_start_and_an_end_that_contradict_the_duration_are_a_warning(tmp_path: Path) -> None:
    run = only(tmp_path, table(row(exe_time="900.000")))
    assert run.duration_s == 900.0
    assert words_of(run.warnings) == ("its start and its end are 600 s apart, but its duration is 900 s",)


def test_a_folder_that_contradicts_its_row_gives_a_warning(tmp_path: Path) -> None:
    run = only(tmp_path, table(row(bench="sort", net="ETH")))
    assert words_of(run.warnings) == ("the folder's name has another benchmark and another network or disk",)


@pytest.mark.parametrize(
    ("duration", "words"),
    [
        ("-600", "not a positive number"),
        ("0.000", "0 s: nothing was measured"),
        ("2592001", "more than 30 days"),
        ("nan", "not a positive number"),
        ("1e3", "not a positive number"),
        ("10:30", "not a positive number"),
        ("", "has no duration"),
        ("NULL", "has no duration"),
    ],
)
def test_a_row_with_an_invalid_duration_is_skipped_with_its_line(tmp_path: Path, duration: str, words: str) -> None:
    other = row(id_exec="8", exec=PLAIN["exec"].replace("terasort", "sort"), bench="sort")
    items = imported_items(tmp_path, t_csv=table(row(exe_time=duration), other))
    assert isinstance(items[0], SkippedItem)
    assert items[0].where == "t.csv:2"
    assert words in items[0].why
    assert isinstance(items[1], ImportedRun)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"valid": "2"}, "neither 0 nor 1"),
        ({"bench": ""}, "no benchmark"),
        ({"maps": "-1"}, "not a whole number"),
        ({"comp": "9"}, "not one of ALOJA's codes"),
    ],
)
def test_an_implausible_row_is_rejected_with_its_reason(tmp_path: Path, changes: dict[str, str], words: str) -> None:
    assert words in skipped_item(tmp_path, table(row(**changes))).why


def test_only_the_row_with_missing_cells_or_a_stray_quote_is_skipped(tmp_path: Path) -> None:
    second = row(id_exec="8", exec=PLAIN["exec"].replace("terasort", "sort"), bench="sort")
    lines = table(PLAIN, second).splitlines()
    items = imported_items(tmp_path, t_csv="\n".join([lines[0], "1,2,3", '"' + lines[1], lines[2]]))
    assert [type(item) for item in items] == [SkippedItem, SkippedItem, ImportedRun]
    assert [item.where for item in items] == ["t.csv:2", "t.csv:3", "t.csv:4"]


def test_a_duplicate_run_is_imported_once(tmp_path: Path) -> None:
    items = imported_items(tmp_path, a_csv=table(PLAIN, PLAIN), b_csv=table(PLAIN))
    assert isinstance(items[0], ImportedRun)
    assert [(item.where, item.why) for item in items[1:] if isinstance(item, SkippedItem)] == [
        ("a.csv:3", "the same run is at a.csv:2"),
        ("b.csv:2", "the same run is at a.csv:2"),
    ]


def test_an_id_of_two_runs_skips_the_second(tmp_path: Path) -> None:
    items = imported_items(
        tmp_path, t_csv=table(PLAIN, row(exec=PLAIN["exec"].replace("terasort", "sort"), bench="sort"))
    )
    assert [type(item) for item in items] == [ImportedRun, SkippedItem]
    assert "the id 7 is also at line 2" in str(items[1])


def test_tables_that_were_joined_may_repeat_the_header(tmp_path: Path) -> None:
    second = row(id_exec="8", exec=PLAIN["exec"].replace("terasort", "sort"), bench="sort")
    items = imported_items(tmp_path, t_csv=table(PLAIN) + "\n" + table(second))
    assert [type(item) for item in items] == [ImportedRun, ImportedRun]


def test_a_cluster_is_joined_by_its_id_if_the_id_is_unique(tmp_path: Path) -> None:
    for run in (only(tmp_path, table(PLAIN), clusters_csv=CLUSTERS), _with_clusters(tmp_path / "beside")):
        assert run.cluster == "rack-09"
        facts = run.environment["cluster"]
        assert (facts["name"], facts["workers"], facts["provider"]) == ("rack-09", 8, "on-premise")
        assert (facts["cores"], facts["ram_gb"]) == (12, 54.0)
        assert "nodes" not in facts
        assert "aloja-clusters.csv" in run.sources["cluster"] or "clusters.csv:2" in run.sources["cluster"]


def _with_clusters(folder: Path) -> Run:
    folder.mkdir()
    (folder / "aloja-clusters.csv").write_text(CLUSTERS)
    return only(folder, table(PLAIN))


def test_an_id_of_two_clusters_joins_the_one_on_azure_when_the_folder_says_azure(tmp_path: Path) -> None:
    listed = CLUSTERS.replace("here-02,azure", "here-02,on-premise")
    assert sum("azure" in line for line in listed.splitlines() if line.startswith("2,")) == 1
    azure = "20140513_121314_conf_ETH_RL3_b_m8_i10_r1_I65536_az/terasort"
    run = only(tmp_path, table(row(id_cluster="2", exec=azure, net="ETH", disk="RL3")), clusters_csv=listed)
    assert (run.cluster, run.environment["cluster"]["provider"]) == ("cloud-02", "azure")
    assert "one is Azure's" in run.sources["cluster"]


def test_an_id_of_two_clusters_joins_neither_and_has_a_warning(tmp_path: Path) -> None:
    run = only(tmp_path, table(row(id_cluster="2")), clusters_csv=CLUSTERS)
    assert (run.cluster, run.environment["cluster"]["name"]) == ("aloja-2", "aloja-2")
    assert words_of(run.warnings) == (
        "the cluster's id 2 stands for cloud-02 and here-02 in ALOJA's list: which one is unknown",
    )
    assert "workers" not in run.environment["cluster"]


def test_a_folder_made_on_azure_is_not_joined_to_a_cluster_elsewhere(tmp_path: Path) -> None:
    marked = PLAIN["exec"].replace("_z64/", "_z64_az/")
    run = only(tmp_path, table(row(exec=marked)), clusters_csv=CLUSTERS)
    assert run.cluster == "aloja-9-az"
    assert "made on Azure" in run.warnings[0].words
    assert only(tmp_path, table(row(exec=marked, id_cluster="5")), clusters_csv=CLUSTERS).cluster == "cloud-05"
    (tmp_path / "alone").mkdir()
    assert only(tmp_path / "alone", table(row(exec=marked))).cluster == "aloja-9-az"


def test_the_name_of_a_newer_folder_has_the_name_of_the_cluster(tmp_path: Path) -> None:
    name = "20150310_101500_IB_HS2_bHiBench2_S0_D3_cloud-02/terasort"
    run = only(tmp_path, table(row(exec=name, id_cluster="2")), clusters_csv=CLUSTERS)
    assert (run.cluster, run.environment["cluster"]["workers"], run.warnings) == ("cloud-02", 3, ())


def test_a_damaged_list_of_clusters_is_rejected_and_runs_are_imported(tmp_path: Path) -> None:
    items = imported_items(tmp_path, t_csv=table(PLAIN), c_csv=CLUSTERS + "1,2\n")
    assert [type(item) for item in items] == [SkippedItem, ImportedRun]
    assert items[0].where == "c.csv:6"


def test_a_list_of_clusters_alone_holds_no_runs(tmp_path: Path) -> None:
    (item,) = imported_items(tmp_path, c_csv=CLUSTERS)
    assert isinstance(item, SkippedItem)
    assert "not of runs" in item.why


def test_a_row_of_the_wider_table_becomes_a_run_with_its_cluster(tmp_path: Path) -> None:
    run = only(tmp_path, f"{WIDE_COLUMNS}\n{WIDE}\n")
    assert (run.workload, run.duration_s, run.layout, run.status) == ("sort", 410.0, "RL2", RunStatus.VALID)
    assert run.parameters["mapreduce.map.output.compress.codec"] == "com.hadoop.compression.lzo.LzoCodec"
    assert run.parameters["dfs.blocksize"] == str(128 * 2**20)
    assert (run.cluster, run.started_at) == ("cloud-05", "")
    assert run.environment["cluster"] == {
        "name": "cloud-05",
        "workers": 4,
        "masters": 1,
        "nodes": 5,
        "provider": "azure",
        "service_type": "IaaS",
        "vm_size": "A7",
        "vm_os": "linux",
        "cores": 8,
        "ram_gb": 56.0,
        "layout_devices": {"remote": 2, "hdd": 1},
        "layout_words": "HDFS on 2 remote volumes, intermediate data on one local hard disk",
    }
    assert "exports valid runs only" in run.sources["status"]


def test_facts_of_the_wider_table_override_those_of_the_list(tmp_path: Path) -> None:
    run = only(tmp_path, f"{WIDE_COLUMNS}\n{WIDE}\n", c_csv=CLUSTERS)
    assert run.environment["cluster"]["workers"] == 4


@pytest.mark.parametrize(
    ("end", "start"),
    [
        ("2015-05-01 12:00:00", "2015-05-01T11:53:10+00:00"),
        ("20150501120000", "2015-05-01T11:53:10+00:00"),
        ("2013-12-01 12:00:00", ""),  # may be a start: the table does not say which importer wrote it
        ("NA", ""),
    ],
)
def test_cost_and_end_are_read_where_the_wider_table_has_them(tmp_path: Path, end: str, start: str) -> None:
    run = only(tmp_path, f"{WIDE_COLUMNS},Running.Cost..,End.time\n{WIDE},0.25,{end}\n")
    assert run.metrics == {"aloja_cost_usd": 0.25}
    assert run.started_at == start


def test_equal_rows_without_an_id_are_two_runs_and_with_one_they_are_one(tmp_path: Path) -> None:
    nameless = "\n".join(line.partition(",")[2] for line in (WIDE_COLUMNS, WIDE, WIDE))
    first, second = imported_items(tmp_path, t_csv=nameless)
    assert isinstance(first, ImportedRun)
    assert isinstance(second, ImportedRun)
    assert first.key == second.key
    assert isinstance(imported_items(tmp_path, t_csv=f"{WIDE_COLUMNS}\n{WIDE}\n{WIDE}")[1], SkippedItem)


def test_the_key_of_a_row_does_not_depend_on_the_order_of_columns(tmp_path: Path) -> None:
    text = f"{WIDE_COLUMNS}\n{WIDE}\n"
    reversed_table = "\n".join(",".join(reversed(line.split(","))) for line in text.splitlines())
    (first,), (other,) = imported_items(tmp_path, t_csv=text), imported_items(tmp_path, t_csv=reversed_table)
    assert isinstance(first, ImportedRun)
    assert isinstance(other, ImportedRun)
    assert first.key == other.key


def test_later_columns_are_read_too(tmp_path: Path) -> None:
    columns = f"{COLUMNS},filter,outlier,exec_type,hadoop_version,datasize"
    more = PLAIN | {
        "filter": "1",
        "outlier": "2",
        "exec_type": "experimental",
        "hadoop_version": "2.7.1",
        "datasize": "1TB",
    }
    run = only(tmp_path, table(more, columns=columns))
    assert (run.engine_version, run.workload_parameters) == ("2.7.1", {"suite": "HiBench", "datasize": "1TB"})
    assert len(run.warnings) == 3


def test_rows_with_equal_settings_share_objects_in_memory(tmp_path: Path) -> None:
    rows = [row(id_exec=str(number), exec=PLAIN["exec"].replace("101500", f"1015{number}")) for number in (10, 11)]
    first, second = (item.run for item in imported_items(tmp_path, t_csv=table(*rows)) if isinstance(item, ImportedRun))
    assert first.parameters is second.parameters
    assert first.environment is second.environment
    assert first.sources is second.sources


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"", "is empty"), (b"a,b\n1,2\n", "lacks the columns"), (b"\0\1\2", "is binary"), (b"\x1f\x8bxx", "can't be")],
)
def test_a_file_that_is_no_table_is_rejected_as_a_whole(tmp_path: Path, content: bytes, why: str) -> None:
    (item,) = imported_items(tmp_path, t_csv=content)
    assert isinstance(item, SkippedItem)
    assert why in item.why


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (COLUMNS.encode() + b"\n1,", True),
        (WIDE_COLUMNS.encode(), True),
        (CLUSTERS.encode(), True),
        (COLUMNS.encode("utf-16"), True),
        (b"workload,duration_s\n", False),
        (b"bench,exe_time\n", False),
        (COLUMNS.replace("bench_type", "exe.time").encode(), False),
        (b"----- TestDFSIO ----- : write\n", False),
        (b"\0\1", False),
        (b"", False),
        (b'"' * 70_000, False),
    ],
)
def test_only_files_of_the_format_are_recognised(head: bytes, expected: bool) -> None:
    assert FORMAT.recognises("x", head) is expected


def _check(items: list[ImportedRun | SkippedItem]) -> None:
    for item in items:
        if isinstance(item, ImportedRun):
            run = item.run
            assert item.key
            assert run.workload
            assert math.isfinite(run.duration_s)
            assert 0 < run.duration_s <= 30 * 86_400
            assert (run.cause is None) == (run.status is RunStatus.VALID)
            assert run.started_at == "" or 2000 <= datetime.fromisoformat(run.started_at).year <= 2100
            assert all(v in ("true", "false") or v.isdigit() or "." in v for v in run.parameters.values())
        else:
            assert item.where
            assert item.why


def test_damaged_tables_give_sound_runs_or_reasons(tmp_path: Path) -> None:
    second = row(id_exec="8", exec=PLAIN["exec"].replace("terasort", "sort"), bench="sort", valid="0")
    third = row(id_exec="9", id_cluster="2", exec="20150310_101500_IB_HS2_bHiBench2_S0_D3_cloud-02/wordcount")
    execs = table(PLAIN, OLD | {"id_exec": "3"}, second, third).encode()
    wide = f"{WIDE_COLUMNS},Running.Cost,End.time\n{WIDE},0.2,2015-05-01 12:00:00\n".encode()
    (tmp_path / "aloja-clusters.csv").write_text(CLUSTERS)
    path = tmp_path / "t.csv"
    for sound in (execs, wide):
        for damaged in mutations(sound, fuzz_count()):
            path.write_bytes(damaged)
            FORMAT.recognises("t.csv", damaged)
            _check(list(FORMAT.read([Source(path, "t.csv")])))


@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(COLUMNS.split(",")), st.text(max_size=30), min_size=1))
def test_any_text_in_any_cell_is_a_run_or_a_reason(tmp_path: Path, cells: dict[str, str]) -> None:
    quoted = {name: '"' + text.replace('"', '""') + '"' for name, text in cells.items()}
    try:
        items = imported_items(tmp_path, t_csv=table(row(**quoted)).encode(errors="surrogatepass"))
    except FormatError:
        pytest.fail("an error of one file ends the import")
    _check(items)


@pytest.fixture(scope="module")
def dump() -> list[ImportedRun | SkippedItem]:
    path = DATA / "aloja-execs-2014-09-dump.csv"
    if not path.exists():
        pytest.skip(f"ALOJA's dump is not at {path}")
    return list(FORMAT.read([Source(path, path.name)]))


def test_all_of_alojas_dump_is_imported_with_its_labels(dump: list[ImportedRun | SkippedItem]) -> None:
    runs = [item.run for item in dump if isinstance(item, ImportedRun)]
    assert len(runs) == len(dump) == 5907
    assert Counter(run.status for run in runs) == {RunStatus.VALID: 4542, RunStatus.INVALID: 1365}
    assert sum(run.status is RunStatus.INVALID and run.duration_s >= 60 for run in runs) == 308
    assert Counter(run.cluster for run in runs) == {"m1000-01": 3588, "al-02": 2177, "aloja-1-az": 142}
    assert sum("dfs.blocksize" not in run.parameters for run in runs) == 238
    warned = Counter(warning.words.partition(" ")[0] for run in runs for warning in run.warnings)
    assert warned == {"the": 142}  # all of them on clusters: none is valid and short, or contradicts its folder


def test_no_two_runs_of_a_folder_of_the_dump_overlap(dump: list[ImportedRun | SkippedItem]) -> None:
    spans: dict[str, list[tuple[float, float]]] = {}
    for item in dump:
        if isinstance(item, ImportedRun) and item.run.started_at:
            begin_s = datetime.fromisoformat(item.run.started_at).timestamp()
            spans.setdefault(item.key.partition("/")[0], []).append((begin_s, begin_s + item.run.duration_s))
    assert sum(len(runs) for runs in spans.values()) == 5907 - 7
    ordered = [sorted(runs) for runs in spans.values()]
    assert not [1 for runs in ordered for earlier, after in itertools.pairwise(runs) if earlier[1] > after[0]]
