"""Test ALOJA's dump: tasks, phases and traces; contradictory data are dropped."""

from __future__ import annotations

from pathlib import Path

import pytest

import aloja_mini
from aloja_mini import FIRST, SECOND, dump, reduce_times, sar, task
from assay.execution.observation.traces import cpu_busy_shares, device_totals
from assay.model.runs.imported import ImportedRun, SkippedItem
from assay.model.runs.phase import Phase
from assay.model.runs.run_status import RunStatus
from assay.model.runs.task_attempt import TaskAttempt
from assay.store.formats.aloja.dump import FORMAT
from assay.store.formats.source import Source
from mutation import fuzz_count, mutations
from paths import ROOT

REAL = ROOT.parent / "shared" / "data" / "aloja" / "tests_db.sql"


def read(tmp_path: Path, text: str | bytes) -> list[ImportedRun | SkippedItem]:
    path = tmp_path / "d.sql"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return list(FORMAT.read([Source(path, path.name)]))


def runs_and_skipped(entries: list[ImportedRun | SkippedItem]) -> tuple[dict[str, ImportedRun], list[SkippedItem]]:
    runs = {entry.key: entry for entry in entries if isinstance(entry, ImportedRun)}
    return runs, [entry for entry in entries if isinstance(entry, SkippedItem)]


def first(tmp_path: Path, text: str) -> ImportedRun:
    return runs_and_skipped(read(tmp_path, text))[0][FIRST]


def test_a_row_of_execs_is_a_run_with_its_configuration(tmp_path: Path) -> None:
    runs, skipped = runs_and_skipped(read(tmp_path, dump()))
    assert list(runs) == [FIRST, SECOND]
    assert skipped == []
    run = runs[FIRST].run
    assert (run.workload, run.duration_s, run.cluster, run.layout) == ("terasort", 100, "ours", "SSD")
    assert run.started_at == "2014-05-13T16:53:20.000+00:00"
    assert run.levels["network"] == "IB"
    assert run.workload_parameters == {"suite": "HiBench"}
    assert run.parameters["dfs.blocksize"] == str(128 * 2**20)
    assert run.parameters["mapreduce.map.output.compress.codec"] == "org.apache.hadoop.io.compress.SnappyCodec"
    assert runs[FIRST].where == "d.sql:26"


def test_the_label_of_a_run_is_its_status(tmp_path: Path) -> None:
    runs, _ = runs_and_skipped(read(tmp_path, dump()))
    assert (runs[FIRST].run.status, runs[FIRST].run.cause) == (RunStatus.VALID, None)
    assert (runs[SECOND].run.status, runs[SECOND].run.cause) == (RunStatus.INVALID, "ALOJA's table marks it invalid")


def test_maps_and_reduces_are_tasks_and_setup_is_not(tmp_path: Path) -> None:
    tasks = first(tmp_path, dump()).tasks
    assert [task.kind for task in tasks] == ["map", "map", "reduce"]
    assert tasks[2] == TaskAttempt(
        job_id="job_201405131650_0002",
        task_id="task_201405131650_0002_r_000002",
        attempt_id="",
        kind="reduce",
        node="",
        status="succeeded",
        start_s=30,
        end_s=98,
        shuffle_end_s=50,
        merge_end_s=52,
        hdfs_read_bytes=1000,
        hdfs_write_bytes=0,
        local_read_bytes=0,
        local_write_bytes=500,
        spilled_records=7,
        cpu_s=None,
        gc_s=None,
    )


PHASES = (Phase("map", 2, 42), Phase("shuffle", 30, 50), Phase("merge", 50, 52), Phase("reduce", 52, 98))


def test_phases_are_those_of_each_second_or_else_of_the_tasks(tmp_path: Path) -> None:
    run_of_status = first(tmp_path, dump()).run
    assert (run_of_status.phases, run_of_status.sources["phases"]) == (PHASES, "JOB_status")
    run_of_tasks = first(tmp_path, dump().replace("INSERT INTO `JOB_status`", "-- ")).run
    assert (run_of_tasks.phases, run_of_tasks.sources["phases"]) == (PHASES, "JOB_tasks")


def test_tables_that_were_cut_give_no_phases(tmp_path: Path) -> None:
    text = dump().replace("INSERT INTO `JOB_status`", "-- ").replace("16:54:58", "16:54:20")
    run = first(tmp_path, text).run
    assert run.phases == ()
    assert "phases" not in run.sources


def test_rates_add_up_to_counters_and_stand_still_where_samples_are_missing(tmp_path: Path) -> None:
    trace = first(tmp_path, dump()).trace
    assert trace is not None
    a_second = 2000.0 * 512
    assert trace.series("w1", "disk:dev8-0", "read_bytes") == [
        (0, 0),
        (1, a_second),
        (2, 2 * a_second),
        (4, 2 * a_second),
        (5, 3 * a_second),
    ]
    assert trace.series("w1", "disk:dev8-0", "busy_s")[-1] == (5, 1.5)
    assert trace.series("w1", "disk:dev8-0", "queue_s")[-1] == (5, 1.5)
    assert device_totals(trace, 0, 100)["disk_read_bytes"] == 3 * a_second + 10 * 1024


def test_cpu_times_are_of_all_cores_where_they_are_known_and_shares_where_not(tmp_path: Path) -> None:
    trace = first(tmp_path, dump()).trace
    assert trace is not None
    assert trace.series("w1", "cpu", "user_s")[-1] == (5, 3 * 0.25 * 4)
    assert trace.series("w1", "cpu", "cores")[0] == (1, 4)
    assert cpu_busy_shares(trace, ["w1"], 0, 100).get("w1") == pytest.approx(0.3)
    trace_without_cores = first(tmp_path, dump().replace("'ours',4", "'ours',NULL")).trace
    assert trace_without_cores is not None
    assert trace_without_cores.series("w1", "cpu", "user_share")[0] == (1, 0.25)
    assert trace_without_cores.series("w1", "cpu", "user_s") == []


def test_memory_is_in_bytes(tmp_path: Path) -> None:
    trace = first(tmp_path, dump()).trace
    assert trace is not None
    assert trace.series("w1", "memory", "total_bytes") == [(1, 4000 * 1024)]
    assert trace.series("w2", "memory", "cached_bytes") == [(0, 200 * 1024), (1, 300 * 1024)]


def test_stacked_devices_are_counted_once(tmp_path: Path) -> None:
    trace = first(tmp_path, dump()).trace
    assert trace is not None
    assert set(trace.subject) == {"cpu", "memory", "disk:dev8-0", "disk:all", "nic:eth0", "nic:ib0"}
    trace_of_stacked_devices = first(tmp_path, dump().replace("'dev8-0'", "'dev254-0'")).trace
    assert trace_of_stacked_devices is not None
    assert "disk:dev253-0" in trace_of_stacked_devices.subject


def test_the_source_that_covers_more_is_used(tmp_path: Path) -> None:
    trace = first(tmp_path, dump().replace("'w2'", "'w1'")).trace
    assert trace is not None
    assert "disk:all" not in trace.subject
    assert trace.series("w1", "memory", "cached_bytes") == [(0, 200 * 1024), (1, 300 * 1024)]


def test_a_trace_of_part_of_the_run_is_a_warning(tmp_path: Path) -> None:
    (warning,) = first(tmp_path, dump()).run.warnings
    assert str(warning) == "the trace covers 1 s of 100 s: its totals are lower than those of the run"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("'terasort',100.000", "'wordcount',100.000", "bench is wordcount"),
        ("'SSD','HiBench'", "'HDD','HiBench'", "disk is HDD"),
        ("12,10,1,65536,3,128", "12,10,2,65536,3,128", "replication is 2"),
        ("100.000", "400.000", "exe_time is 400.000 s, but"),
        ("100.000", "-100.000", "impossible"),
        ("100.000", "0.000", "impossible"),
        ("100.000", "99999999.000", "impossible"),
        ("100.000", "NULL", "not a number"),
        ("100.000", "'nan'", "impossible"),
        ("128,1)", "128,7)", "valid is '7'"),
        ("'2014-05-13 16:53:20'", "'2014-13-13 16:53:20'", "an invalid date"),
        (f"'{FIRST}'", "NULL", "has no exec"),
        ("'terasort',100", "NULL,100", "has no exec or no bench"),
        ("3,128,1)", "3,64,1)", "blk_size is 64"),
    ],
)
def test_an_invalid_row_is_skipped_with_its_dependent_rows(tmp_path: Path, old: str, new: str, why: str) -> None:
    rows = (aloja_mini.EXEC_ROWS[0].replace(old, new), aloja_mini.EXEC_ROWS[1])
    runs, skipped = runs_and_skipped(read(tmp_path, dump(execs=rows)))
    assert list(runs) == [SECOND]
    assert len(skipped) == 1
    assert why in skipped[0].why
    assert skipped[0].why.endswith("its rows of other tables are skipped too: 121")


def test_a_zero_start_is_unknown_and_the_run_gets_no_tasks(tmp_path: Path) -> None:
    dates = "'2014-05-13 16:53:20','2014-05-13 16:55:00'"
    row = aloja_mini.EXEC_ROWS[0].replace(dates, "'0000-00-00 00:00:00',NULL")
    runs, skipped = runs_and_skipped(read(tmp_path, dump(execs=(row,))))
    assert runs[FIRST].run.started_at == ""
    assert runs[FIRST].tasks == ()
    assert any("START_TIME" in item.why for item in skipped)


def test_tasks_of_the_preparation_and_of_other_times_are_skipped_and_counted(tmp_path: Path) -> None:
    further_rows = [
        task(20, "MAP", "50:00", "50:30"),
        task(21, "MAP", "50:00", "50:40"),
        task(22, "MAP", "59:00", "59:30"),
    ]
    runs, skipped = runs_and_skipped(
        read(tmp_path, dump(f"INSERT INTO `JOB_tasks` VALUES {','.join(further_rows)};\n"))
    )
    assert len(runs[FIRST].tasks) == 3
    assert sorted(item.why for item in skipped) == [
        "JOB_tasks: rows that are outside their run: 1",
        "JOB_tasks: rows that ended before their run began (in preparation or another run): 2",
    ]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (task(20, "MAP", "54:00", "53:30"), "times in an impossible order"),
        (task(20, "REDUCE", "53:30", "54:00", reduce_times("54:10", "54:20")), "times in an impossible order"),
        (task(20, "MAP", "53:30", "54:00").replace("'SUCCESS'", "'ODD'"), "unknown TASK_TYPE or TASK_STATUS"),
        (task(20, "MAP", "53:30", "54:00").replace("1000,7)", "-1000,7)"), "impossible HDFS_BYTES_READ"),
        (
            task(20, "MAP", "53:30", "54:00").replace("'task_2014", "'task_2013"),
            "TASKID that does not belong to their JOBID",
        ),
        (task(20, "MAP", "53:30", "54:00").replace("16:53:30", "16:53:99"), "invalid date"),
    ],
)
def test_an_invalid_task_is_skipped(tmp_path: Path, row: str, why: str) -> None:
    runs, skipped = runs_and_skipped(read(tmp_path, dump(f"INSERT INTO `JOB_tasks` VALUES {row};\n")))
    assert len(runs[FIRST].tasks) == 3
    assert len(skipped) == 1
    assert why in skipped[0].why


@pytest.mark.parametrize(
    ("figures", "why"),
    [
        ("'2014-05-13 16:53:30','-1',60.000,0.000,60.000,0.000,0.000,0.000", "don't add up to 100 %"),
        ("'2014-05-13 16:53:30','-1',101.000,0.000,0.000,0.000,0.000,0.000", "impossible %user"),
        ("'2014-05-13 16:53:30','-1',NULL,0.000,0.000,0.000,0.000,100.000", "no %user"),
        ("'2014-05-13 19:53:30','-1',0.000,0.000,0.000,0.000,0.000,100.000", "outside their run"),
        ("NULL,'-1',0.000,0.000,0.000,0.000,0.000,100.000", "no date"),
    ],
)
def test_an_invalid_sample_is_skipped(tmp_path: Path, figures: str, why: str) -> None:
    _, skipped = runs_and_skipped(read(tmp_path, dump(f"INSERT INTO `SAR_cpu` VALUES (9,1,'w1',1.000,{figures});\n")))
    assert len(skipped) == 1
    assert why in skipped[0].why


def test_rows_of_runs_that_are_not_there_are_counted_by_table(tmp_path: Path) -> None:
    further_rows = (
        f"INSERT INTO `JOB_tasks` VALUES {task(20, 'MAP', '53:30', '54:00', execution=7)},(1,8{',NULL' * 14});\n"
    )
    _, skipped = runs_and_skipped(read(tmp_path, dump(further_rows)))
    assert [item.why for item in skipped] == ["JOB_tasks: rows of 2 executions that are not in execs: 2"]


def test_repeated_numbers_and_damaged_rows_are_skipped_with_their_line(tmp_path: Path) -> None:
    rows = (*aloja_mini.EXEC_ROWS, aloja_mini.EXEC_ROWS[0], "(3,1,'x")
    runs, skipped = runs_and_skipped(read(tmp_path, dump(execs=rows)))
    assert list(runs) == [FIRST, SECOND]
    assert [item.where for item in skipped] == ["d.sql:26", "d.sql:26"]
    assert "repeats id_exec 1" in skipped[0].why
    assert "row 4 can't be read" in skipped[1].why


def test_a_dump_of_another_database_is_rejected(tmp_path: Path) -> None:
    other = "-- MySQL dump 10.13\nCREATE TABLE `wiki` (`a` int);\nINSERT INTO `wiki` VALUES (1);\n-- Dump completed\n"
    assert [type(item) for item in read(tmp_path, other)] == [SkippedItem]
    assert not FORMAT.recognises("d.sql", other.encode())
    assert FORMAT.recognises("d.sql", dump().encode()[:65536])
    assert not FORMAT.recognises("execs.csv", b"id_exec,`execs`\n")


def test_damaged_dumps_give_runs_or_reasons_and_no_other_error(tmp_path: Path) -> None:
    text = dump(sar("SAR_load", "ldavg-1", ["(1,1,'w1',1.000,'2014-05-13 16:53:30',0.5)"])).encode()
    for damaged in mutations(text, fuzz_count(), seed=1):
        for item in read(tmp_path, damaged):
            assert isinstance(item, SkippedItem) or 0 < item.run.duration_s <= 30 * 86_400
            if isinstance(item, ImportedRun) and item.trace:
                assert all(0 <= value < 1e16 for value in item.trace.value)


@pytest.mark.skipif(not REAL.is_file(), reason=f"ALOJA's dump is not at {REAL}: nothing real is tested")
def test_the_published_aloja_dump_gives_its_valid_runs() -> None:
    source = Source(REAL, REAL.name)
    assert FORMAT.recognises(source.name, source.head())
    runs, skipped = runs_and_skipped(list(FORMAT.read([source])))
    assert len(runs) == 9
    durations = {key.rpartition("/")[2]: item.run.duration_s for key, item in runs.items()}
    assert durations["dfsioe_read"] == 3294
    bayes = runs["20140129_055025_conf_IB_HDD_b_m12_i20_r1_I32768_c0_z256/bayes"]
    assert len(bayes.tasks) == 97
    assert bayes.trace is not None
    assert {"cpu", "memory", "nic:ib0", "disk:all"} <= set(bayes.trace.subject)
    contradictions = [item.why for item in skipped if "contradicts itself" in item.why]
    assert len(contradictions) == 1
    assert "bench is wordcount" in contradictions[0]
    assert any("9 executions that are not in execs: 2790" in item.why for item in skipped)
