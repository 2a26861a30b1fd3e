"""Test collectl's disk statistics in both layouts: rates become counters."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.model.runs.imported import ImportedRun, SkippedItem
from assay.store.formats.samplers.collectl import FORMAT
from traces_support import check, growth, imported_run, read, survives_damage, why

shared_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
RULE = "#" * 80


def head(host: str = "worker1", interval: str = "1", options: str = "mz") -> str:
    return "\n".join(
        [
            RULE,
            "# Collectl:   V4.3.1-1  HiRes: 1  Options: -sD -P",
            f"# Host:       {host}  DaemonOpts: ",
            "# Date:       20240511-100000  Secs: 1715414400 TZ: +0200",
            f"# SubSys:     D Options: {options} Interval: {interval} NumCPUs: 4  NumBud: 0 Flags: i",
            "# NumDisks:   2 DiskNames: sda sdb",
            RULE,
            "",
        ]
    )


FIELDS_3 = "Reads RMerge RKBytes Writes WMerge WKBytes Request QueLen Wait SvcTim Util"
FIELDS_4 = "Reads RMerge RKBytes WaitR Writes WMerge WKBytes WaitW Request QueLen Wait SvcTim Util"


def columns(*disks: str, fields: str = FIELDS_3, separator: str = " ") -> str:
    names = [f"[DSK:{disk}]{name}" for disk in disks for name in ["Name", *fields.split()]]
    return separator.join(["#Date", "Time", *names]) + "\n"


def plot_row(time: str, *disks: str, separator: str = " ", figures: str = "10 0 1024 5.5 0 100 93 1 4 1 25") -> str:
    cells = [cell for disk in disks for cell in [disk, *figures.split()]]
    return separator.join(["20240511", time, *cells]) + "\n"


PLOT = head() + columns("sda", "sdb") + "".join(plot_row(f"10:00:0{s}", "sda", "sdb") for s in range(1, 6))
SCREEN_3 = (
    "# DISK STATISTICS (/sec)\n"
    "#          <---------reads---------><---------writes---------><--------averages--------> Pct\n"
    "#{times}Name       KBytes Merged  IOs Size  KBytes Merged  IOs Size  RWSize  QLen  Wait SvcTim Util\n"
)
SCREEN_4 = SCREEN_3.replace("IOs Size  KBytes", "IOs Size  Wait  KBytes").replace("Size  RWSize", "Size  Wait  RWSize")
ROW_3 = "1024      0   10  102     100      0    5   20      93     1     4      1   25\n"
ROW_4 = "1024      0   10  102     3     100      0    5   20     7      93     1     4      1   25\n"
WAITING = "waiting for 2 second sample...\n\n"
SCREEN = WAITING + SCREEN_4.format(times="") + "".join(f"{disk}  {ROW_4}" for disk in ("sda", "sdb") * 4)


def test_plot_rates_times_the_interval_are_the_counters(tmp_path: Path) -> None:
    result = imported_run(FORMAT, PLOT, tmp_path)
    run = result.run
    assert (run.workload, run.duration_s, run.started_at) == ("observation", 5, "2024-05-11T08:00:00+00:00")
    assert growth(result, "disk:sda", "read_bytes") == 1024 * 1024 * 5
    assert growth(result, "disk:sdb", "write_bytes") == 100 * 1024 * 5
    assert growth(result, "disk:sda", "reads") == 50
    assert growth(result, "disk:sda", "writes") == 27.5
    assert growth(result, "disk:sda", "busy_s") == 1.25
    assert result.trace
    assert result.trace.series("worker1", "disk:sda", "request_latency_s")[0] == (1, 0.004)
    assert run.metrics == {"disk_read_bytes": 2 * 1024 * 1024 * 5, "disk_write_bytes": 2 * 100 * 1024 * 5}
    assert run.environment == {"node": "worker1"}


def test_plot_columns_are_read_by_name(tmp_path: Path) -> None:
    text = (
        head() + columns("sda", fields=FIELDS_4) + plot_row("10:00:01", "sda", figures="10 0 8 3 5 0 4 7 93 1 4 1 25")
    )
    result = imported_run(FORMAT, text, tmp_path)
    assert growth(result, "disk:sda", "read_bytes") == 8 * 1024
    assert growth(result, "disk:sda", "write_bytes") == 4 * 1024
    assert result.trace
    assert result.trace.series("worker1", "disk:sda", "write_latency_s") == [(1, 0.007)]


def test_other_separators_fractional_intervals_and_new_disks_are_read(tmp_path: Path) -> None:
    """``--sep ,``, an interval of 1.283 s, and a disk that was added after the header was written."""
    text = head(interval="1.283") + columns("sda", separator=",")
    for time, disks in (("16:07:51.285", ["sda"]), ("16:07:52.568", ["sda", "sdb"]), ("16:07:55.134", ["sda"])):
        text += plot_row(time, *disks, separator=",")
    result = imported_run(FORMAT, text, tmp_path)
    assert result.run.duration_s == pytest.approx(3.849 + 1.283)
    assert growth(result, "disk:sda", "read_bytes") == pytest.approx(1024 * 1024 * 3 * 1.283)
    assert growth(result, "disk:sdb", "read_bytes") == pytest.approx(1024 * 1024 * 1.283)
    assert any("gaps between the samples: 1" in warning.words for warning in result.run.warnings)


def test_times_in_utc_seconds_are_read(tmp_path: Path) -> None:
    text = head() + columns("sda").replace("#Date Time", "#UTC")
    text += "".join(plot_row("", "sda").replace("20240511 ", str(1715414400 + second)) for second in (1, 2, 3))
    result = imported_run(FORMAT, text, tmp_path)
    assert (result.run.duration_s, result.run.started_at) == (3, "2024-05-11T08:00:00+00:00")


@pytest.mark.parametrize(("title", "row"), [(SCREEN_3, ROW_3), (SCREEN_4, ROW_4)], ids=["collectl 3", "collectl 4"])
def test_output_without_times_states_its_interval(title: str, row: str, tmp_path: Path) -> None:
    block = title.format(times="") + f"sda   {row}nvme0n1 {row}" * 2
    result = imported_run(FORMAT, WAITING + block + "\n" + block, tmp_path)
    assert (result.run.duration_s, result.run.started_at, result.run.environment) == (8, "", {})
    assert growth(result, "disk:sda", "read_bytes") == 1024 * 1024 * 8
    assert growth(result, "disk:nvme0n1", "writes") == 40
    assert growth(result, "disk:nvme0n1", "busy_s") == 2


def test_terminal_output_with_times_of_day_may_pass_midnight(tmp_path: Path) -> None:
    times = ("23:59:58", "23:59:59", "00:00:00", "00:00:01")
    text = SCREEN_3.format(times="Time     ") + "".join(f"{time} sda   {ROW_3}" for time in times)
    result = imported_run(FORMAT, text, tmp_path)
    assert (result.run.duration_s, result.run.started_at) == (4, "")
    assert growth(result, "disk:sda", "reads") == 40


def test_terminal_output_with_dates_is_read(tmp_path: Path) -> None:
    text = SCREEN_3.format(times="Date    Time     ") + "".join(f"20240511 10:00:0{s} sda   {ROW_3}" for s in (1, 3))
    result = imported_run(FORMAT, text, tmp_path)
    assert (result.run.duration_s, result.run.started_at) == (4, "")


def test_records_carry_host_and_utc_seconds_and_other_sections_are_skipped(tmp_path: Path) -> None:
    text = ""
    for number, second in ((1, "1715414401.001"), (2, "1715414401.251"), (3, "1715414401.501")):
        text += f"### RECORD    {number} >>> worker3 <<< ({second}) (Sat May 11 10:00:01 2024) ###\n\n"
        text += "# SINGLE CPU[HYPER] STATISTICS\n#   Cpu  User Nice\n      0     4    0\n\n"
        text += SCREEN_3.format(times="") + f"sda   {ROW_3}\n"
        text += "# MEMORY SUMMARY\n#   Total    Used\n    7847M   7671M\n\n"
    result = imported_run(FORMAT, text, tmp_path)
    assert result.run.environment == {"node": "worker3"}
    assert result.run.started_at == "2024-05-11T08:00:00+00:00"
    assert result.run.duration_s == pytest.approx(0.75)
    assert growth(result, "disk:sda", "reads") == pytest.approx(7.5)


def test_each_recording_of_a_file_is_a_run(tmp_path: Path) -> None:
    results = read(FORMAT, PLOT + PLOT.replace("worker1", "worker2"), tmp_path)
    assert [r.run.environment["node"] for r in results if isinstance(r, ImportedRun)] == ["worker1", "worker2"]
    assert [r.where for r in results if isinstance(r, ImportedRun)] == ["file:9", "file:22"]


def test_a_file_that_grew_keeps_its_key(tmp_path: Path) -> None:
    longer = imported_run(FORMAT, PLOT + plot_row("10:00:06", "sda", "sdb"), tmp_path)
    assert longer.key == imported_run(FORMAT, PLOT, tmp_path).key


def test_a_truncated_line_is_rejected_and_its_interval_stays_empty(tmp_path: Path) -> None:
    lines = PLOT.splitlines(keepends=True)
    lines[-2] = lines[-2][:40] + "\n"
    skipped, result = read(FORMAT, "".join(lines), tmp_path)
    assert isinstance(skipped, SkippedItem)
    assert skipped.where == f"file:{len(lines) - 1}"
    assert isinstance(result, ImportedRun)
    check(result)
    assert growth(result, "disk:sda", "reads") == 40
    assert result.run.duration_s == 5


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (SCREEN.replace(WAITING, ""), "has neither times nor the interval"),
        (SCREEN.replace(" (/sec)", ""), "not per second"),
        (head(options="mn") + columns("sda") + plot_row("10:00:01", "sda"), "not per second"),
        (SCREEN_3.format(times="") + "sda   " + ROW_3.replace("1024", "12M"), "abbreviated"),
        (head() + columns("sda") + plot_row("10:00:01", "sdb"), "another"),
        (head() + columns("sda") + plot_row("10:00:61", "sda"), "not a time"),
        (head() + columns("sda") + plot_row("10:00:01", "sda").replace("1024", "-5"), "not a number"),
        (head() + columns("sda") + plot_row("10:00:01", "sda").replace(" 25", " 250"), "impossible"),
        (head() + columns("sda").replace("[DSK:sda]Name ", "") + plot_row("10:00:01", "sda"), "different columns"),
        (SCREEN_3.format(times="").replace("SvcTim", "Svc") + f"sda {ROW_3}", "columns that collectl does not write"),
        (SCREEN_3.format(times="Time ") + f"10:00:01 sda {ROW_3}", "does not record its interval"),
        (head(), "no disk statistics"),
        ("", "no disk statistics"),
        (b"\0\1", "binary"),
    ],
)
def test_impossible_values_are_skipped(text: str | bytes, reason: str, tmp_path: Path) -> None:
    assert reason in why(FORMAT, text, tmp_path)


@shared_folder
@given(
    interval_ms=st.integers(100, 60_000),
    moved=st.lists(st.tuples(st.integers(0, 2**29), st.integers(0, 2**29)), min_size=1, max_size=8),
)
def test_the_integral_of_the_rates_equals_the_bytes_moved(
    interval_ms: int, moved: list[tuple[int, int]], tmp_path: Path
) -> None:
    interval_s = interval_ms / 1000
    text = head(interval=str(interval_s)) + columns("sda")
    for index, (read_kib, write_kib) in enumerate(moved, start=1):
        since_s = interval_ms * index
        time = (
            f"{since_s // 3_600_000:02d}:{since_s // 60_000 % 60:02d}:{since_s // 1000 % 60:02d}.{since_s % 1000:03d}"
        )
        text += plot_row(
            time, "sda", figures=f"1 0 {read_kib / interval_s:.2f} 1 0 {write_kib / interval_s:.2f} 1 1 1 1 1"
        )
    result = imported_run(FORMAT, text, tmp_path)
    assert result.run.duration_s == pytest.approx(interval_s * len(moved))
    tolerance = len(moved) * 0.006 * interval_s * 1024 + 1
    for column, metric in enumerate(("read_bytes", "write_bytes")):
        expected = sum(kib[column] for kib in moved) * 1024
        assert growth(result, "disk:sda", metric) == pytest.approx(expected, abs=tolerance, rel=1e-6)


def test_only_collectl_files_are_recognised() -> None:
    for text in (PLOT, SCREEN):
        assert FORMAT.recognises("x", text.encode())
    for text in ("", "#Date Time [CPU]User%\n", '{"sysstat": {}}', "# DISK STATISTICS\ncat /proc/diskstats"):
        assert not FORMAT.recognises("x", text.encode())


@pytest.mark.parametrize("text", [PLOT, SCREEN], ids=["plot", "screen"])
def test_damaged_files_never_break_the_import(text: str, tmp_path: Path) -> None:
    survives_damage(FORMAT, text.encode(), tmp_path)
