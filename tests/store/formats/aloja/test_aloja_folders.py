"""Test ALOJA's run folders: configuration from names, duration from logs or job histories."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aloja_mini import CONFIG, FIRST, START_S, history, sent, write_folder
from assay.model.runs.imported import ImportedRun, SkippedItem
from assay.model.runs.run_status import RunStatus
from assay.store.formats.aloja.folders import FORMAT
from assay.store.formats.aloja.names import FolderName
from assay.store.formats.source import sources_in
from mutation import fuzz_count, mutations

NAME = FIRST.partition("/")[0]
CONF = NAME.partition("_conf_")[2]
LATER = "20150803_164734_IB_SS2_bHiBench2_D8_m1000-01"


def read(*paths: Path) -> tuple[dict[str, ImportedRun], list[SkippedItem]]:
    entries = list(FORMAT.read(list(sources_in(list(paths)))))
    runs = {entry.key.rpartition("/")[2]: entry for entry in entries if isinstance(entry, ImportedRun)}
    return runs, [entry for entry in entries if isinstance(entry, SkippedItem)]


def write_later(parent: Path, config: str = CONFIG) -> Path:
    folder = parent / LATER
    (folder / "terasort").mkdir(parents=True)
    (folder / "config.sh").write_text(config)
    return folder


@pytest.mark.parametrize(
    ("name", "values", "cluster"),
    [
        (
            "20131126_115542_conf_IB_SSD_b_m12_i10_r1_I65536",
            "net=IB disk=SSD maps=12 iosf=10 replication=1 iofilebuf=65536 bench_type=HiBench",
            "",
        ),
        (
            "20140201_000000_conf_ETH_RL3_b_min_m4_i5_r2_I4096_c2",
            "net=ETH disk=RL3 maps=4 iosf=5 replication=2 iofilebuf=4096 comp=2 bench_type=HiBench-min",
            "",
        ),
        (
            "20140926_082343_conf_ETH_HDD_b_m6_i10_r1_I65536_c1_z128_al-05",
            "net=ETH disk=HDD maps=6 iosf=10 replication=1 iofilebuf=65536 comp=1 blk_size=128 bench_type=HiBench",
            "al-05",
        ),
        (
            "20160802_164734_ETH_HDD_bD2F-Bench-hive_S10_D8_dataproc-8",
            "net=ETH disk=HDD bench_type=D2F-Bench-hive",
            "dataproc-8",
        ),
        (LATER, "net=IB disk=SS2 bench_type=HiBench2", "m1000-01"),
    ],
)
def test_a_file_name_states_its_content(name: str, values: str, cluster: str) -> None:
    configuration = FolderName.of(name).configuration()
    assert configuration is not None
    assert configuration.values == dict(pair.split("=") for pair in values.split())
    assert configuration.cluster == cluster


@pytest.mark.parametrize(
    "name",
    [
        "",
        "terasort",
        "20131126_115542",
        "20131326_115542_conf_IB_SSD_b_m12_i10_r1_I65536",
        "20131126_115542_conf_IB_SSD_b_m12_i10_r1",
        "x20131126_115542_conf_IB_SSD_b_m1_i1_r1_I1",
        "20131126_115542_conf_IB_SSD_b_m12_i10_r1_I65536_z64_c0_x/y",
    ],
)
def test_other_names_are_none_of_alojas(name: str) -> None:
    assert FolderName.of(name).configuration() is None


def test_the_mark_of_azure_is_no_clusters_name() -> None:
    configuration = FolderName.of("20140926_082343_conf_ETH_RL3_b_m6_i10_r1_I65536_c1_z128_az").configuration()
    assert configuration is not None
    assert (configuration.cluster, configuration.azure) == ("", True)


@given(st.text())
def test_any_folder_name_gives_a_configuration_or_none(name: str) -> None:
    configuration = FolderName.of(name).configuration()
    assert configuration is None or configuration.values["net"]
    assert FolderName.of(name).contradiction({}) is None


def test_the_log_has_the_time_of_each_benchmark(tmp_path: Path) -> None:
    runs, skipped = read(write_folder(tmp_path))
    assert skipped == []
    assert list(runs) == ["prep_terasort", "terasort"]
    run = runs["terasort"].run
    assert (runs["terasort"].key, runs["terasort"].where) == (FIRST, f"{NAME}/log_{NAME}.log:3")
    assert (run.workload, run.duration_s, run.status, run.layout) == ("terasort", 100, RunStatus.VALID, "SSD")
    assert run.started_at == "2014-05-13T16:53:20.000+00:00"
    assert run.levels["network"] == "IB"
    assert run.parameters["mapreduce.task.io.sort.factor"] == "10"
    assert run.parameters["mapreduce.map.output.compress"] == "true"
    assert runs["prep_terasort"].run.duration_s == 60


def test_jobs_of_the_run_are_its_tasks_and_jobs_of_its_input_are_not(tmp_path: Path) -> None:
    runs, _ = read(write_folder(tmp_path))
    tasks = runs["terasort"].tasks
    assert {task.job_id for task in tasks} == {"job_201405131650_0002"}
    assert (tasks[0].start_s, tasks[0].end_s, tasks[1].shuffle_end_s) == (2, 93, 94)
    assert [phase.name for phase in runs["terasort"].run.phases] == [
        "setup",
        "map",
        "shuffle",
        "merge",
        "reduce",
        "cleanup",
    ]


def test_the_monitors_logs_are_its_trace(tmp_path: Path) -> None:
    run = read(write_folder(tmp_path))[0]["terasort"]
    trace = run.trace
    assert trace is not None
    assert trace.series("w1", "disk:all", "read_bytes") == [(0, 0), (1, 10 * 1024)]
    assert trace.series("w1", "nic:eth0", "receive_bytes")[-1] == (1, 2000)
    assert trace.series("w1", "nic:eth0", "transmit_bytes")[-1] == (1, 3000)
    assert trace.series("w1", "cpu", "iowait_share") == [(1, 0.01)]
    assert any("sadf -j" in warning.words for warning in run.run.warnings)
    assert any("covers 1 s of 100 s" in warning.words for warning in run.run.warnings)


def test_an_older_bwm_has_rates_in_another_order(tmp_path: Path) -> None:
    folder = write_folder(tmp_path)
    (folder / "terasort" / "bwm-w1.log").write_text(f"{START_S + 1};eth0;3000.0;2000.0;5000.0;1.0;1.0;2.0;0.0;0.0\n")
    trace = read(folder)[0]["terasort"].trace
    assert trace is not None
    assert trace.series("w1", "nic:eth0", "receive_bytes")[-1] == (1, 2000)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (sent("sort", START_S, 50, f"conf_{CONF}").replace("50 s.", "51 s."), "has two times of sort: 50 s and 51 s"),
        (sent("sort", START_S, 50, "conf_ETH_HDD_b_m12_i10_r1_I65536_c3_z128"), "belongs to another configuration"),
        (sent("sort", START_S, 0, f"conf_{CONF}"), "took 0 s"),
        (sent("sort", 7, 50, f"conf_{CONF}"), "not a plausible date"),
        (sent("sort", START_S, 99999999, f"conf_{CONF}"), "more than 30 days"),
        ("SENDING: hibench.runs x\n", "its time can't be read"),
    ],
)
def test_an_invalid_line_of_the_log_is_skipped(tmp_path: Path, line: str, why: str) -> None:
    folder = write_folder(tmp_path)
    log = folder / f"log_{NAME}.log"
    log.write_text(log.read_text() + line)
    runs, skipped = read(folder)
    assert list(runs) == ["prep_terasort", "terasort"]
    assert [item.where for item in skipped] == [f"{NAME}/log_{NAME}.log:4"]
    assert why in skipped[0].why


def test_a_benchmark_that_ran_twice_is_two_runs_without_its_files(tmp_path: Path) -> None:
    folder = write_folder(tmp_path)
    log = folder / f"log_{NAME}.log"
    log.write_text(log.read_text() + sent("terasort", START_S + 900, 90, f"conf_{CONF}"))
    entries = [entry for entry in FORMAT.read(list(sources_in([folder]))) if isinstance(entry, ImportedRun)]
    twice = [entry for entry in entries if entry.run.workload == "terasort"]
    assert [entry.run.duration_s for entry in twice] == [100, 90]
    assert all(entry.tasks == () and entry.trace is None for entry in twice)


def test_without_a_log_the_job_histories_tell_the_time(tmp_path: Path) -> None:
    folder = write_folder(tmp_path)
    (folder / f"log_{NAME}.log").unlink()
    runs, skipped = read(folder)
    assert runs == {}
    assert any("it is unknown which of them made the input" in item.why for item in skipped)
    preparation = folder / "prep_terasort" / "history"
    preparation.mkdir(parents=True)
    (preparation / "job_201405131650_0001_1_ann_prep").write_text(history(1, -80, -21))
    runs, skipped = read(folder)
    assert skipped == []
    assert (runs["terasort"].run.duration_s, runs["prep_terasort"].run.duration_s) == (98, 59)
    assert "no log has the wall time" in runs["terasort"].run.sources["duration_s"]
    assert {item.job_id for item in runs["terasort"].tasks} == {"job_201405131650_0002"}


def test_a_job_that_failed_according_to_its_history_alone_is_a_failed_run(tmp_path: Path) -> None:
    folder = tmp_path / NAME / "sort" / "history"
    folder.mkdir(parents=True)
    (folder / "job_201405131650_0002_1_ann_sort").write_text(history(status="FAILED"))
    runs, _ = read(tmp_path / NAME)
    assert (runs["sort"].run.status, runs["sort"].run.cause) == (
        RunStatus.FAILED,
        "job_201405131650_0002 failed: unknown reason",
    )


def test_the_later_forms_configuration_is_that_of_config_sh(tmp_path: Path) -> None:
    runs, skipped = read(write_later(tmp_path))
    assert skipped == []
    run = runs["terasort"].run
    assert (run.duration_s, run.started_at, run.cluster) == (100.25, "2014-05-13T16:53:20.000+00:00", "m1000-01")
    assert (run.engine_version, run.layout) == ("2.7.1", "SS2")
    assert run.workload_parameters == {"suite": "HiBench2", "datasize": "1000000000"}
    assert run.parameters["dfs.blocksize"] == str(128 * 2**20)
    assert run.parameters["dfs.replication"] == "3"
    assert run.environment["cluster"]["workers"] == 8
    failed = runs["prep_terasort"].run
    assert (failed.status, failed.cause, failed.started_at) == (
        RunStatus.FAILED,
        "the benchmark's exit status was 1",
        "",
    )


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"100.250"', '"-1"', "not a number"),
        ('"100.250"', '"0.000"', "took 0 s"),
        ('"100.250"', '"400.0"', "from its start to its end"),
        ('"100.250"', '"$(bc)"', "not a number"),
        ("MAX_MAPS=6", "MAX_MAPS=six", "not a whole number"),
        (f'"{START_S}000"', '"999999999999999"', "from its start"),
        ("COMPRESS_TYPE=1", "COMPRESS_TYPE=9", "not one of ALOJA's codes"),
    ],
)
def test_ambiguous_settings_of_config_sh_are_skipped(tmp_path: Path, old: str, new: str, why: str) -> None:
    runs, skipped = read(write_later(tmp_path, CONFIG.replace(old, new)))
    assert "terasort" not in runs
    assert any(why in item.why for item in skipped)


def test_archives_are_not_read_and_the_run_has_a_warning(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    folder.mkdir()
    (folder / f"log_{NAME}.log").write_text(sent("sort", START_S, 50, f"conf_{CONF}"))
    (folder / "sort.tar.bz2").write_bytes(b"BZh9")
    runs, skipped = read(folder)
    assert skipped == []
    assert "unpack it first" in runs["sort"].run.warnings[0].words


def test_a_folder_without_times_and_a_file_without_a_folder_are_rejected(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    folder.mkdir()
    (folder / "readme.txt").write_text("hello")
    (tmp_path / "stray.log").write_text("hello")
    runs, skipped = read(folder, tmp_path / "stray.log")
    assert runs == {}
    assert [item.where for item in skipped] == ["stray.log", NAME]


def test_the_folder_of_the_benchmark_may_be_named_alone(tmp_path: Path) -> None:
    folder = write_folder(tmp_path)
    preparation = next((folder / "terasort" / "history" / "done").glob("job_*_0001_*"))
    preparation.unlink()
    runs, _ = read(folder / "terasort")
    assert runs["terasort"].run.duration_s == 98


def test_files_are_recognised_by_the_folder_that_they_lie_in() -> None:
    assert FORMAT.recognises(f"jobs/{NAME}/terasort/vmstat-w1.log", b"")
    assert FORMAT.recognises(f"{LATER}/config.sh", b"")
    assert not FORMAT.recognises(NAME, b"")
    assert not FORMAT.recognises("terasort/vmstat-w1.log", b"procs")


@pytest.mark.parametrize(
    "damaged_file",
    [
        f"log_{NAME}.log",
        "terasort/vmstat-w1.log",
        "terasort/bwm-w1.log",
        "terasort/history/done/job_201405131650_0002_1_ann_sort",
    ],
)
def test_damaged_files_give_runs_or_reasons_and_no_other_error(tmp_path: Path, damaged_file: str) -> None:
    path = write_folder(tmp_path) / damaged_file
    for damaged in mutations(path.read_bytes(), fuzz_count(), seed=3):
        path.write_bytes(damaged)
        check(tmp_path / NAME)


def test_damaged_configurations_give_runs_or_reasons_and_no_other_error(tmp_path: Path) -> None:
    path = write_later(tmp_path) / "config.sh"
    for damaged in mutations(CONFIG.encode(), fuzz_count(), seed=4):
        path.write_bytes(damaged)
        check(tmp_path / LATER)


def check(folder: Path) -> None:
    for item in FORMAT.read(list(sources_in([folder]))):
        assert isinstance(item, SkippedItem) or 0 < item.run.duration_s <= 30 * 86_400
        if isinstance(item, ImportedRun) and item.trace:
            assert all(0 <= value < 1e16 for value in item.trace.value)
