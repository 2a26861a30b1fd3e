"""Test job histories as runs: imported and skipped jobs, reasons, parameters, damage."""

from __future__ import annotations

import gzip
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jhist_samples as samples
from assay.foundation.errors import FormatError
from assay.model.runs.imported import ImportedRun, SkippedItem
from assay.model.runs.run_status import RunStatus
from assay.store.formats.hadoop.configuration import parameters, read_conf
from assay.store.formats.hadoop.jhist_import import FORMAT
from assay.store.formats.hadoop.job_names import workload_of
from assay.store.formats.source import Source, sources_in
from builders import words_of
from effort import examples
from import_samples import items_of_files, only
from mutation import fuzz_count, mutations
from paths import ROOT

REAL = ROOT.parent / "shared" / "data" / "job-history"
HISTORY = "job_1700_0001-1700000000000-ann-TeraSort-1700000012500-2-2-SUCCEEDED-default-1700000001500.jhist"


def conf(*properties: tuple[str, str, tuple[str, ...]]) -> bytes:
    """Return a configuration in the form that Hadoop writes it in."""
    lines = [
        f"<property><name>{name}</name><value>{value}</value>{''.join(map('<source>{}</source>'.format, sources))}"
        "</property>"
        for name, value, sources in properties
    ]
    return ('<?xml version="1.0" encoding="UTF-8"?><configuration>\n' + "\n".join(lines) + "</configuration>").encode()


SET = ("programatically", "job.xml")
SITE = ("mapred-site.xml", "job.xml")
DEFAULT = ("mapred-default.xml", "job.xml")
CONF = conf(
    ("mapreduce.task.io.sort.factor", "50", SITE),
    ("mapreduce.task.io.sort.mb", "100", DEFAULT),
    ("dfs.blocksize", "64m", ("hdfs-site.xml", "job.xml")),
    ("mapreduce.map.output.compress", "true", SET),
    ("mapreduce.job.submithostname", "secret-host", SET),
    ("fs.s3a.secret.key", "hunter2", SITE),
    ("mapreduce.map.java.opts", "-Xmx900m -Dpassword=hunter2 -XX:HeapDumpPath=/home/ann", SITE),
    ("mapreduce.reduce.memory.mb", "${my.memory}", SITE),
    ("mapreduce.job.maps", "2", SET),
    ("hadoop.common.configuration.version", "3.0.0", ("core-default.xml", "job.xml")),
)


def job(name: str = "TeraSort", totals: dict[str, Any] | None = None, job_id: str = "job_1700_0001") -> samples.Events:
    """Return the sample's job under another name and id, with totals of all kinds."""
    events = []
    for kind, record, fields in samples.sort_job():
        changed = {key: job_id if key == "jobid" else value for key, value in fields.items()}
        if kind == "JOB_SUBMITTED":
            changed["jobName"] = name
        if kind == "JOB_FINISHED":
            counts = samples.counters(
                {"HDFS_BYTES_READ": 2000, "HDFS_BYTES_WRITTEN": 1980, "FILE_BYTES_WRITTEN": 3600},
                {"SPLIT_RAW_BYTES": 200, "SPILLED_RECORDS": 20, "CPU_MILLISECONDS": 3500, "REDUCE_SHUFFLE_BYTES": 1800},
            )
            changed["totalCounters"] = totals or counts
        events.append((kind, record, changed))
    return events


def read(folder: Path, files: dict[str, bytes]) -> list[ImportedRun | SkippedItem]:
    return items_of_files(FORMAT, folder, files)


@pytest.mark.parametrize("encode", [samples.binary, samples.as_json], ids=["binary", "json"])
def test_a_job_is_a_run(tmp_path: Path, encode: Any) -> None:
    item = only(read(tmp_path, {HISTORY: encode(job())}))
    run = item.run
    assert item.key == "job_1700_0001 1700000000000"
    assert (run.workload, run.engine, run.status, run.cause) == ("terasort", "hadoop", RunStatus.VALID, None)
    assert (run.duration_s, run.started_at) == (12.5, "2023-11-14T22:13:20.000+00:00")
    assert run.data_bytes == 1800
    assert run.metrics == pytest.approx(
        {
            "hdfs_read_bytes": 2000,
            "hdfs_write_bytes": 1980,
            "local_write_bytes": 3600,
            "shuffle_bytes": 1800,
            "spilled_records": 20,
            "cpu_s": 3.5,
            "map_tasks": 2,
            "map_attempts_failed": 1,
            "reduce_tasks": 2,
            "reduce_attempts_failed": 0,
            "job_s": 12.5,
            "job_throughput_mb_per_s": 1800 / 12.5 / 1e6,
            "map_waves": 1,
            "reduce_waves": 1,
            "map_stragglers": 0,
            "reduce_stragglers": 0,
            "gc_share": 0.08 / 9,
            "phase_setup_s": 2,
            "phase_map_s": 3 + 1 / 6,
            "phase_shuffle_s": 3 + 1 / 12,
            "phase_merge_s": 0.375,
            "phase_reduce_s": 2.125,
            "phase_waste_s": 1.25,
            "phase_cleanup_s": 0.5,
        }
    )
    assert [phase.name for phase in run.phases] == ["setup", "map", "shuffle", "merge", "reduce", "cleanup"]
    assert [task.start_s for task in item.tasks] == [2, 2.5, 4.5, 5, 6.5]
    assert run.parameters == {}
    assert run.engine_version == ""
    assert "parameters" not in run.sources


def test_the_configuration_is_selected_by_job_id_and_only_relevant_properties_are_kept(tmp_path: Path) -> None:
    files = {"done/job_1700_0001_conf.xml": CONF, "done/" + HISTORY: samples.binary(job())}
    run = only(read(tmp_path, files)).run
    assert run.parameters == {
        "dfs.blocksize": str(64 * 2**20),
        "mapreduce.map.java.opts": "-Xmx900m",
        "mapreduce.map.output.compress": "true",
        "mapreduce.task.io.sort.factor": "50",
    }
    assert run.engine_version == "3.x"
    assert "hunter2" not in str(run)
    assert "secret-host" not in str(run)


def test_parameters_have_their_current_names_and_a_file_without_sources_gives_all_that_matters() -> None:
    content = conf(
        ("mapred.compress.map.output", "false", ()),
        ("io.sort.factor", "25", ()),
        ("dfs.replication", "2", ()),
        ("mapreduce.map.output.compress", "true", ()),
    )
    assert parameters(read_conf(content).values()) == {
        "mapreduce.map.output.compress": "true",
        "mapreduce.task.io.sort.factor": "25",
        "dfs.replication": "2",
    }
    old_last = conf(("mapreduce.map.output.compress", "true", ()), ("mapred.compress.map.output", "false", ()))
    assert parameters(read_conf(old_last).values()) == {"mapreduce.map.output.compress": "true"}


@pytest.mark.parametrize(
    ("name", "mapper", "workload"),
    [
        ("TeraSort", "", "terasort"),
        ("word count", "", "wordcount"),
        ("QuasiMonteCarlo", "", "QuasiMonteCarlo"),
        ("random-text-writer", "", "randomtextwriter"),
        ("  a\n\tb\x00 ", "", "a b"),
        ("", "", "unnamed"),
        (
            "hadoop-mapreduce-client-jobclient-3.3.6-tests.jar",
            "org.apache.hadoop.fs.TestDFSIO$ReadMapper",
            "dfsio-read",
        ),
    ],
)
def test_workloads_have_the_names_that_plans_use(name: str, mapper: str, workload: str) -> None:
    assert workload_of(name, mapper) == workload


def test_a_jar_in_the_job_name_gives_the_version_of_hadoop(tmp_path: Path) -> None:
    run = only(read(tmp_path, {HISTORY: samples.binary(job("hadoop-mapreduce-client-jobclient-3.3.6-tests.jar"))})).run
    assert run.engine_version == "3.3.6"


def test_the_data_of_a_job_that_only_writes_is_what_it_writes(tmp_path: Path) -> None:
    assert only(read(tmp_path, {HISTORY: samples.binary(job("TeraGen"))})).run.data_bytes == 1980


def test_counters_below_zero_and_cpu_time_that_was_not_measured_give_no_metric(tmp_path: Path) -> None:
    totals = samples.counters({"HDFS_BYTES_READ": -5}, {"CPU_MILLISECONDS": 0, "SPILLED_RECORDS": 0})
    run = only(read(tmp_path, {HISTORY: samples.binary(job(totals=totals))})).run
    assert "hdfs_read_bytes" not in run.metrics
    assert "cpu_s" not in run.metrics
    assert run.metrics["spilled_records"] == 0
    assert run.data_bytes is None
    assert words_of(run.warnings) == ("the counter HDFS_BYTES_READ is -5: left out",)


def test_a_failed_job_is_a_failed_run_with_its_cause(tmp_path: Path) -> None:
    end = {
        "jobid": "job_1700_0001",
        "finishTime": samples.SUBMIT_MS + 7000,
        "finishedMaps": 0,
        "finishedReduces": 0,
        "jobStatus": "FAILED",
        "diagnostics": "\nTask failed task_1_m_0\nmore",
    }
    events = [*job()[:7], ("JOB_FAILED", "JobUnsuccessfulCompletion", end)]
    run = only(read(tmp_path, {HISTORY: samples.binary(events)})).run
    assert (run.status, run.cause, run.duration_s) == (RunStatus.FAILED, "the job failed: Task failed task_1_m_0", 7)
    killed = [
        *job()[:7],
        ("JOB_KILLED", "JobUnsuccessfulCompletion", end | {"jobStatus": "KILLED", "diagnostics": None}),
    ]
    cause = only(read(tmp_path, {HISTORY: samples.binary(killed)})).run.cause
    assert cause == "the job was killed; its history gives no reason"


@pytest.mark.parametrize(
    ("key", "ms", "why"),
    [
        ("finishTime", 0, "not plausible"),
        ("finishTime", -1, "not plausible"),
        ("finishTime", 2**62, "not plausible"),
        ("submitTime", 0, "not plausible"),
        ("submitTime", 2**62, "not plausible"),
    ],
)
def test_impossible_times_are_skipped(tmp_path: Path, key: str, ms: int, why: str) -> None:
    at = samples.SUBMIT_MS if key == "finishTime" and ms < 2**60 else 0
    kinds = ("JOB_SUBMITTED", "JOB_FINISHED")
    events = [
        (kind, record, fields | {key: at + ms} if key in fields and kind in kinds else fields)
        for kind, record, fields in job()
    ]
    (skipped,) = read(tmp_path, {HISTORY: samples.binary(events)})
    assert isinstance(skipped, SkippedItem)
    assert why in skipped.why


def test_a_duplicate_job_is_imported_once(tmp_path: Path) -> None:
    runs, skipped = read(tmp_path, {"a/" + HISTORY: samples.binary(job()), "b/" + HISTORY: samples.as_json(job())})
    assert isinstance(runs, ImportedRun)
    assert skipped == SkippedItem("b/" + HISTORY, f"job_1700_0001 is also in a/{HISTORY}")


def test_a_damaged_configuration_costs_the_parameters_and_not_the_run(tmp_path: Path) -> None:
    skipped, runs = read(tmp_path, {HISTORY: samples.binary(job()), "job_1700_0001_conf.xml": CONF[:-30]})
    assert isinstance(skipped, SkippedItem)
    assert skipped.where.startswith("job_1700_0001_conf.xml:")
    assert isinstance(runs, ImportedRun)
    assert runs.run.parameters == {}
    assert "parameters are not known" in runs.run.warnings[0].words


def test_a_configuration_alone_is_skipped(tmp_path: Path) -> None:
    damaged, alone = read(tmp_path, {"job_1700_0002_conf.xml": CONF, HISTORY: samples.binary(job())[:-9]})
    assert isinstance(damaged, SkippedItem)
    assert isinstance(alone, SkippedItem)
    assert (damaged.where.startswith(HISTORY), alone.where) == (True, "job_1700_0002_conf.xml")
    assert "history is missing" in alone.why


@pytest.mark.parametrize(
    "content",
    [
        b'<?xml version="1.0"?><!DOCTYPE configuration [<!ENTITY a "aaaa">]><configuration><property><name>&a;</name>'
        b"<value>1</value></property></configuration>",
        b'<!DOCTYPE configuration SYSTEM "file:///etc/passwd"><configuration/>',
        b"<html/>",
        b"",
        b"<configuration>",
        b'<?xml version="1.0" encoding="klingon"?><configuration/>',
        b"<configuration><property><name>&a;</name></property></configuration>",
        b"\x00" * 40,
    ],
)
def test_an_invalid_configuration_is_refused(content: bytes) -> None:
    with pytest.raises(FormatError):
        read_conf(content)


def test_files_are_recognised_and_others_are_not(tmp_path: Path) -> None:
    (tmp_path / "a.jhist.gz").write_bytes(gzip.compress(samples.binary(job())))
    (source,) = sources_in([tmp_path / "a.jhist.gz"])
    assert FORMAT.recognises(source.name, source.head())
    assert isinstance(only(FORMAT.read([source])), ImportedRun)
    assert FORMAT.recognises("x/job_1_2_conf.xml", CONF[:500])
    for name, head in [
        ("a.csv", b"a,b\n"),
        ("a.jhist", b""),
        ("job_1_2_conf.xml", b"<html>"),
        ("site.xml", CONF),
        ("a.avro", b"Obj\x01"),
        ("a", b"Avro-Json"),
    ]:
        assert not FORMAT.recognises(name, head)


def check(content: bytes, path: Path, name: str, others: list[Source]) -> None:
    """Read a damaged file: runs with finite numbers and a time, or Left, and nothing else."""
    path.write_bytes(content)
    FORMAT.recognises(name, content[:65536])
    for item in FORMAT.read([Source(path, name), *others]):
        if isinstance(item, ImportedRun):
            assert 0 < item.run.duration_s < math.inf
            assert all(math.isfinite(value) and value >= 0 for value in item.run.metrics.values())
            assert item.run.data_bytes is None or item.run.data_bytes > 0
            assert (item.run.cause is None) == (item.run.status is RunStatus.VALID)
        else:
            assert item.why


@pytest.mark.parametrize("encode", [samples.binary, samples.as_json], ids=["binary", "json"])
def test_damaged_histories_give_runs_or_reasons(tmp_path: Path, encode: Any) -> None:
    for damaged in mutations(encode(job()), fuzz_count()):
        check(damaged, tmp_path / "history", HISTORY, [])


def test_damaged_configurations_give_runs_or_reasons(tmp_path: Path) -> None:
    (tmp_path / "sound").write_bytes(samples.binary(job()))
    others = [Source(tmp_path / "sound", HISTORY)]
    for damaged in mutations(CONF, fuzz_count()):
        check(damaged, tmp_path / "conf", "job_1700_0001_conf.xml", others)


plain = st.text(st.characters(codec="utf-8", exclude_characters="<>&\r", min_codepoint=32), max_size=30).map(str.strip)


@settings(max_examples=examples(200), deadline=None)
@given(st.dictionaries(plain.filter(bool), st.tuples(plain, st.lists(plain, max_size=3)), max_size=8))
def test_every_property_is_read_as_it_was_written(wanted: dict[str, tuple[str, list[str]]]) -> None:
    content = conf(*((name, value, tuple(sources)) for name, (value, sources) in wanted.items()))
    properties = {prop.name: (prop.value, list(prop.sources)) for prop in read_conf(content).values()}
    assert properties == wanted


@pytest.mark.skipif(not REAL.is_dir(), reason="the real job histories are not available: NOT tested")
def test_real_histories_are_read_with_their_configurations() -> None:
    sources = [source for source in sources_in([REAL]) if FORMAT.recognises(source.name, source.head())]
    assert len(sources) == 6
    runs = [item for item in FORMAT.read(sources) if isinstance(item, ImportedRun)]
    assert [item.run.duration_s for item in runs] == [15.622, 14.681, 14.299]
    assert {item.run.workload for item in runs} == {"QuasiMonteCarlo"}
    assert {item.run.engine_version for item in runs} == {"2.x"}
    assert runs[0].run.parameters == {
        "mapreduce.job.reduces": "1",
        "mapreduce.map.speculative": "false",
        "mapreduce.reduce.speculative": "false",
    }
    assert runs[0].run.data_bytes == 118
