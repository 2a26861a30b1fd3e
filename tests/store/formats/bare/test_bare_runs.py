"""Test fio and iperf3 reports as runs: units and failures."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.model.runs.imported import ImportedRun
from assay.model.runs.run_status import RunStatus
from assay.store.formats.bare import fio_import, iperf3_import
from traces_support import check, imported_run, read, survives_damage, why

shared_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
Json = dict[str, Any]


def transfer(io_bytes: int, runtime_ms: int, **more: Any) -> Json:
    rate = io_bytes * 1000 // runtime_ms if runtime_ms else 0
    percentile = {"50.000000": 2_000_000, "99.000000": 9_000_000}
    clat = {"min": 1, "max": 2, "mean": 2e6, "N": 1, "percentile": percentile if io_bytes else {}}
    return {
        "io_bytes": io_bytes,
        "io_kbytes": io_bytes >> 10,
        "bw_bytes": rate,
        "bw": rate >> 10,
        "iops": rate / 4096,
        "runtime": runtime_ms,
        "total_ios": io_bytes >> 12,
        "clat_ns": clat,
        "lat_ns": {"min": 1, "max": 2, "mean": 2.5e6 if io_bytes else 0.0},
        **more,
    }


def job(name: str = "seq", **more: Any) -> Json:
    return {
        "jobname": name,
        "groupid": 0,
        "error": 0,
        "eta": 2147483647,
        "elapsed": 11,
        "job options": {"name": name, "rw": "read", "bs": "1m", "filename": "/data1/x"},
        "read": transfer(10**9, 10_000),
        "write": transfer(0, 0),
        "trim": transfer(0, 0),
        **more,
    }


def fio_report(*jobs: Json, **more: Any) -> str:
    report = {
        "fio version": "fio-3.33",
        "timestamp": 1715414411,
        "timestamp_ms": 1715414411500,
        "global options": {"ioengine": "libaio", "direct": "1", "iodepth": "4"},
        "jobs": list(jobs),
        "disk_util": [{"name": "sdb", "util": 99.0}],
    }
    return json.dumps({**report, **more}, indent=2) + "\n"


def test_a_fio_job_is_a_run(tmp_path: Path) -> None:
    run = imported_run(fio_import.FORMAT, fio_report(job()), tmp_path).run
    assert (run.workload, run.engine, run.engine_version, run.duration_s) == ("fio:read", "fio", "3.33", 10)
    assert (run.status, run.data_bytes, run.started_at) == (RunStatus.VALID, 10**9, "2024-05-11T08:00:00+00:00")
    assert run.metrics == {
        "read_mb_per_s": 100,
        "read_iops": pytest.approx(10**8 / 4096),
        "read_latency_mean_s": pytest.approx(0.0025),
        "read_completion_p50_s": pytest.approx(0.002),
        "read_completion_p99_s": pytest.approx(0.009),
    }
    assert run.parameters == {
        "fio.rw": "read",
        "fio.bs": "1m",
        "fio.ioengine": "libaio",
        "fio.direct": "1",
        "fio.iodepth": "4",
    }
    assert run.environment == {"disks": ["sdb"], "filename": "/data1/x"}


def test_options_of_a_job_override_those_of_the_file(tmp_path: Path) -> None:
    options = {"readwrite": "randrw:8", "blocksize": "4k", "iodepth": "32"}
    mixed = job() | {"job options": options, "write": transfer(5 * 10**8, 20_000), "job_start": 1715414405000}
    run = imported_run(fio_import.FORMAT, fio_report(mixed), tmp_path).run
    assert (run.workload, run.duration_s, run.started_at) == ("fio:randrw", 20, "2024-05-11T08:00:05+00:00")
    assert (run.parameters["fio.bs"], run.parameters["fio.iodepth"]) == ("4k", "32")
    assert (run.metrics["read_mb_per_s"], run.metrics["write_mb_per_s"]) == (100, 25)


def test_several_fio_reports_and_notes_around_them_are_read(tmp_path: Path) -> None:
    note = "note: both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1\n"
    first = note + fio_report(job("a"), job("b")) + "fio: file system is full\n"
    results = read(fio_import.FORMAT, first + fio_report(job("c")), tmp_path)
    positions = ["file:2: job a", "file:2: job b", f"file:{first.count(chr(10)) + 1}: job c"]
    assert [result.where for result in results] == positions
    assert all(isinstance(result, ImportedRun) for result in results)


def test_only_the_last_status_report_of_a_running_fio_is_imported(tmp_path: Path) -> None:
    """fio does not always mark an unfinished job (``eta``), so its times decide."""

    def status(at_s: float, *done: Json) -> str:
        return fio_report(
            *({**entry, "elapsed": int(at_s) + 1} for entry in done), timestamp_ms=int((1715414400 + at_s) * 1e3)
        )

    half, complete, second = transfer(10**8, 1_000), transfer(3 * 10**8, 3_000), transfer(10**8, 990)
    text = status(1, job("a", read=half)) + status(3.1, job("a", read=complete)) + status(4.2, job("a", read=complete))
    results = read(fio_import.FORMAT, text, tmp_path)
    assert [isinstance(result, ImportedRun) for result in results] == [False, False, True]
    assert isinstance(results[-1], ImportedRun)
    assert results[-1].run.duration_s == 3
    # Another start of the same job, appended to the same file, is another run.
    again = status(1, job("a", read=half)) + status(2.2, job("a", read=second)).replace('"elapsed": 3', '"elapsed": 1')
    assert [isinstance(result, ImportedRun) for result in read(fio_import.FORMAT, again, tmp_path)] == [True, True]


def test_fio_2_gives_kibibytes_and_microseconds(tmp_path: Path) -> None:
    old = {
        "jobname": "a",
        "groupid": 0,
        "error": 0,
        "eta": 0,
        "elapsed": 10,
        "read": {
            "io_bytes": 40960,
            "bw": 4096,
            "iops": 1024.0,
            "runtime": 10_000,
            "clat": {"mean": 900.0, "percentile": {"50.000000": 800, "99.000000": 4000}},
            "lat": {"mean": 950.0},
        },
        "write": {"io_bytes": 0, "bw": 0, "iops": 0, "runtime": 0},
    }
    run = imported_run(fio_import.FORMAT, json.dumps({"fio version": "fio-2.1.11", "jobs": [old]}), tmp_path).run
    assert (run.workload, run.data_bytes, run.started_at) == ("fio", 40960 * 1024, "")
    assert run.metrics == {
        "read_mb_per_s": pytest.approx(4.194304),
        "read_iops": 1024,
        "read_latency_mean_s": pytest.approx(950e-6),
        "read_completion_p50_s": pytest.approx(800e-6),
        "read_completion_p99_s": pytest.approx(4000e-6),
    }


def test_an_error_of_a_job_is_a_failed_run(tmp_path: Path) -> None:
    run = imported_run(fio_import.FORMAT, fio_report(job(error=28)), tmp_path).run
    assert (run.status, run.cause) == (RunStatus.FAILED, "fio: No space left on device (error 28)")
    without_io = job(error=5, read=transfer(0, 0))
    run = imported_run(fio_import.FORMAT, fio_report(without_io), tmp_path).run
    assert (run.status, run.duration_s, run.metrics) == (RunStatus.FAILED, 11, {})


def test_clients_are_runs_and_their_sum_is_none(tmp_path: Path) -> None:
    clients = [job("seq", hostname="worker1"), job("seq", hostname="worker2"), job("All clients", hostname="worker2")]
    report = json.loads(fio_report())
    report["client_stats"] = clients
    del report["jobs"]
    first, other, skipped = read(fio_import.FORMAT, json.dumps(report), tmp_path)
    assert isinstance(first, ImportedRun)
    assert isinstance(other, ImportedRun)
    assert (first.run.environment["node"], other.run.environment["node"]) == ("worker1", "worker2")
    assert first.key != other.key
    assert not isinstance(skipped, ImportedRun)
    assert "sum" in skipped.why


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (fio_report(job(eta=4)), "still running"),
        (fio_report(job(read=transfer(0, 0))), "nothing"),
        (fio_report(job(read=transfer(10**9, 10_000, runtime=1_000))), "contradict"),
        (fio_report(job(read=transfer(10**9, 10_000, bw_bytes=10**7))), "contradict"),
        (fio_report(job(read=transfer(10**9, 10_000, iops=-1.0))), "impossible"),
        (fio_report(job(read=transfer(10**9, 10_000, lat_ns={"mean": 1e20}))), "impossible"),
        (fio_report({**job(), "read": None}), "does not separate reads from writes"),
        (fio_report(), "no job"),
        (fio_report(job())[:-300], "not a JSON report of fio"),
        ("fio: command not found", "no JSON report"),
        (b"\0{", "binary"),
    ],
)
def test_impossible_fio_values_are_skipped(text: str | bytes, words: str, tmp_path: Path) -> None:
    assert words in why(fio_import.FORMAT, text, tmp_path)


@shared_folder
@given(io_bytes=st.integers(1, 2**50), runtime_ms=st.integers(1, 10**7))
def test_bytes_over_time_are_the_rate(io_bytes: int, runtime_ms: int, tmp_path: Path) -> None:
    results = read(fio_import.FORMAT, fio_report(job(read=transfer(io_bytes, runtime_ms))), tmp_path)
    (result,) = results
    if io_bytes * 1000 // runtime_ms > 10**13:
        assert not isinstance(result, ImportedRun)
        return
    check(result)
    assert isinstance(result, ImportedRun)
    rate = result.run.metrics["read_mb_per_s"] * 1e6
    assert rate * result.run.duration_s == pytest.approx(io_bytes, abs=runtime_ms / 1000 + 1)


def test_a_report_of_the_installed_fio_is_read(tmp_path: Path) -> None:
    argv = [
        "fio",
        "--output-format=json+",
        "--thread",
        "--name=w",
        f"--filename={tmp_path}/data",
        "--size=1m",
        "--bs=4k",
        "--rw=randrw",
        "--numjobs=2",
        "--group_reporting",
    ]
    try:
        report = subprocess.run(argv, capture_output=True, check=True, timeout=30).stdout
    except FileNotFoundError:
        pytest.skip("fio is not installed")
    assert fio_import.FORMAT.recognises("x", report)
    run = imported_run(fio_import.FORMAT, report, tmp_path).run
    assert (run.workload, run.parameters["fio.numjobs"], run.data_bytes) == ("fio:randrw", "2", 2 * 2**20)
    assert run.metrics["write_completion_p99_s"] >= run.metrics["write_completion_p50_s"] > 0


# iperf3


def side(bits_per_s: float, **more: Any) -> Json:
    return {
        "start": 0,
        "end": 10,
        "seconds": 10.0,
        "bytes": int(bits_per_s * 10 / 8),
        "bits_per_second": bits_per_s,
        "sender": True,
        **more,
    }


def iperf3_report(end: Json | None = None, start: Json | None = None, **more: Any) -> str:
    begin = {
        "version": "iperf 3.12",
        "timestamp": {"time": "Sat, 11 May 2024 08:00:00 GMT", "timesecs": 1715414400},
        "connecting_to": {"host": "worker2", "port": 5201},
        "cookie": "abcdefghijklmnopqrstuvwxyz0123456789",
        "test_start": {"protocol": "TCP", "num_streams": 4, "blksize": 131072, "duration": 10, "reverse": 0},
    }
    sums = {"sum_sent": side(9.5e9, retransmits=7), "sum_received": side(9.4e9)}
    return (
        json.dumps(
            {
                "start": begin if start is None else {**begin, **start},
                "intervals": [],
                "end": sums if end is None else {**sums, **end},
                **more,
            },
            indent=1,
        )
        + "\n"
    )


def test_an_iperf3_test_is_a_run(tmp_path: Path) -> None:
    result = imported_run(iperf3_import.FORMAT, iperf3_report(), tmp_path)
    run = result.run
    assert (run.workload, run.engine_version, run.duration_s) == ("iperf3", "3.12", 10)
    assert run.metrics == {"link_bits_per_s": 9.4e9, "link_sent_bits_per_s": 9.5e9, "retransmits": 7}
    assert (run.started_at, run.data_bytes) == ("2024-05-11T08:00:00+00:00", 11_750_000_000)
    assert (run.parameters["iperf3.num_streams"], run.parameters["iperf3.protocol"]) == ("4", "TCP")
    assert run.environment == {"server": "worker2"}
    assert result.key == "abcdefghijklmnopqrstuvwxyz0123456789"


def test_a_failed_test_has_the_message_of_iperf3(tmp_path: Path) -> None:
    words = "error - unable to connect to server: Connection refused"
    text = iperf3_report(error=words).replace('"sum_', '"no_')
    run = imported_run(iperf3_import.FORMAT, text, tmp_path).run
    assert (run.status, run.cause, run.duration_s, run.metrics) == (RunStatus.FAILED, f"iperf3: {words}", 0, {})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (iperf3_report(start={"accepted_connection": {"host": "a"}}), "server's report"),
        (iperf3_report({"sum_sent_bidir_reverse": side(1.0)}), "both directions"),
        (iperf3_report({"sum_received": side(9e9, seconds=0.0, bytes=0)}), "lasted 0 s"),
        (iperf3_report({"sum_received": side(9e9, bits_per_second=9e10)}), "contradicts"),
        (iperf3_report({"sum_received": {"bits_per_second": 1e30, "seconds": 1.0}}), "impossible"),
        (iperf3_report({"sum_received": {"bits_per_second": 1e9, "seconds": -1.0}}), "impossible"),
        (iperf3_report({"sum_sent": None}), "no sums"),
        (iperf3_report()[:-40], "not a JSON report of iperf3"),
        ("iperf3: error", "no JSON report"),
        (b"\0{", "binary"),
    ],
)
def test_impossible_iperf3_values_are_skipped(text: str | bytes, words: str, tmp_path: Path) -> None:
    assert words in why(iperf3_import.FORMAT, text, tmp_path)


def test_several_iperf3_reports_in_a_file_are_read(tmp_path: Path) -> None:
    results = read(iperf3_import.FORMAT, iperf3_report() + iperf3_report(start={"cookie": "second"}), tmp_path)
    assert [result.key for result in results if isinstance(result, ImportedRun)][1] == "second"
    assert len(results) == 2


@pytest.mark.daemon
@pytest.mark.parametrize("options", [[], ["--udp", "--bitrate", "8M"]], ids=["tcp", "udp"])
def test_a_report_of_the_installed_iperf3_is_read(options: list[str], tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    client = ["iperf3", "--client", "127.0.0.1", "--port", port, "--time", "1", "--json", *options]
    try:
        server = subprocess.Popen(["iperf3", "--server", "--one-off", "--port", port], stdout=subprocess.DEVNULL)
    except FileNotFoundError:
        pytest.skip("iperf3 is not installed")
    try:
        for _ in range(50):
            report = subprocess.run(client, capture_output=True, check=False, timeout=30).stdout
            if b"refused" not in report:
                break
            time.sleep(0.1)
    finally:
        server.terminate()
        server.wait(10)
    assert iperf3_import.FORMAT.recognises("x", report)
    run = imported_run(iperf3_import.FORMAT, report, tmp_path).run
    assert run.status is RunStatus.VALID
    assert run.metrics["link_bits_per_s"] > 0
    assert run.parameters["iperf3.protocol"] == ("UDP" if options else "TCP")


def test_a_link_test_without_received_data_measures_nothing(tmp_path: Path) -> None:
    received = {"seconds": 0.001, "bytes": 0, "bits_per_second": 0.0}
    sent = {"seconds": 0.001, "bytes": 65536, "bits_per_second": 524_288_000.0}
    end = {"sum_sent": sent, "sum_received": received}
    report = json.dumps({"start": {"cookie": "c" * 36}, "intervals": [], "end": end}).encode()
    run = imported_run(iperf3_import.FORMAT, report, tmp_path).run
    assert run.status is RunStatus.INVALID
    assert "too short" in (run.cause or "")
    assert "link_bits_per_s" not in run.metrics


def test_each_format_recognises_its_files() -> None:
    for text, name in ((fio_report(job()), "fio"), (iperf3_report(), "iperf3"), ('{"start": 1, "error": 2}', None)):
        claims = [f.name for f in (fio_import.FORMAT, iperf3_import.FORMAT) if f.recognises("x", text.encode())]
        assert claims == ([name] if name else [])


def test_damaged_fio_reports_never_break_the_import(tmp_path: Path) -> None:
    survives_damage(
        fio_import.FORMAT, ("note\n" + fio_report(job("a"), job("b")) + fio_report(job("a"))).encode(), tmp_path
    )


def test_damaged_iperf3_reports_never_break_the_import(tmp_path: Path) -> None:
    survives_damage(iperf3_import.FORMAT, iperf3_report().encode(), tmp_path)
