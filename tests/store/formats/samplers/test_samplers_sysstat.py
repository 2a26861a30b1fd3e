"""Test sysstat's JSON of sadf and iostat: rates become counters, units become bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.model.runs.imported import ImportedRun, SkippedItem
from assay.store.formats.samplers import iostat, sadf
from builders import words_of
from traces_support import check, growth, imported_run, read, survives_damage, why

shared_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
Json = dict[str, Any]


def sysstat(statistics: list[Json], **host: Any) -> str:
    """Return the file that sysstat's programs write, of one host with four cores."""
    host_fields = {
        "nodename": "worker1",
        "sysname": "Linux",
        "release": "6.1.0",
        "machine": "x86_64",
        "number-of-cpus": 4,
    }
    return json.dumps({"sysstat": {"hosts": [{**host_fields, "statistics": statistics, **host}]}}, indent=1)


def sadf_sample(second: int, interval: float = 10, **parts: Any) -> Json:
    stamp = {"date": "2024-05-11", "time": f"10:{second // 60:02d}:{second % 60:02d}", "utc": 1, "interval": interval}
    return {"timestamp": stamp, **parts}


def sadf_file(samples: list[Json], **host: Any) -> str:
    return sysstat(samples, **{"file-date": "2024-05-11", "file-utc-time": "10:00:00", **host})


CPU = {"cpu": "all", "user": 20.0, "nice": 5.0, "system": 10.0, "iowait": 15.0, "steal": 0.0, "idle": 50.0}
CPU_ALL = {
    "cpu": "all",
    "usr": 15.0,
    "nice": 5.0,
    "sys": 6.0,
    "iowait": 15.0,
    "steal": 0.0,
    "irq": 1.0,
    "soft": 3.0,
    "guest": 5.0,
    "gnice": 0.0,
    "idle": 50.0,
}
DISK_11 = {
    "disk-device": "sda",
    "tps": 12.5,
    "rd_sec": 2048.0,
    "wr_sec": 100.5,
    "avgrq-sz": 171.88,
    "avgqu-sz": 0.5,
    "await": 4.0,
    "svctm": 1.0,
    "util-percent": 25.0,
}
DISK_12 = {
    "disk-device": "sda",
    "tps": 12.5,
    "rd_sec": 2048.0,
    "wr_sec": 100.5,
    "dc_sec": 0.0,
    "rkB": 1024.0,
    "wkB": 50.25,
    "dkB": 0.0,
    "areq-sz": 85.94,
    "aqu-sz": 0.5,
    "await": 4.0,
    "util-percent": 25.0,
}
NIC = {"iface": "eth0", "rxpck": 10.0, "txpck": 5.0, "rxkB": 100.0, "txkB": 50.0, "ifutil-percent": 0.08}
MEMORY = {"memfree": 1000, "avail": 3000, "memused": 5000, "buffers": 10, "cached": 2000, "dirty": 7}
IO = {"tps": 30.0, "io-reads": {"rtps": 20.0, "bread": 4000.0}, "io-writes": {"wtps": 10.0, "bwrtn": 200.0}}
SADF = sadf_file(
    [
        sadf_sample(10)
        | {
            "cpu-load": [CPU, {**CPU, "cpu": "0"}],
            "disk": [DISK_12, {**DISK_12, "disk-device": "dm-0"}],
            "network": {"net-dev": [NIC, {**NIC, "iface": "lo"}]},
            "memory": MEMORY,
        },
        sadf_sample(20)
        | {"cpu-load": [CPU], "disk": [DISK_12], "network": {"net-dev": [NIC]}, "memory": MEMORY, "io": IO},
    ]
)


# sadf


@pytest.mark.parametrize("disk", [DISK_11, DISK_12], ids=["11", "12"])
def test_sadf_rates_times_the_interval_are_the_counters(disk: Json, tmp_path: Path) -> None:
    result = imported_run(sadf.FORMAT, sadf_file([sadf_sample(s, disk=[disk]) for s in (10, 20, 30)]), tmp_path)
    run = result.run
    assert (run.workload, run.duration_s, run.started_at) == ("observation", 30, "2024-05-11T10:00:00+00:00")
    assert growth(result, "disk:sda", "read_bytes") == 2048 * 512 * 30
    assert growth(result, "disk:sda", "write_bytes") == 100.5 * 512 * 30
    assert growth(result, "disk:sda", "requests") == 12.5 * 30
    assert growth(result, "disk:sda", "busy_s") == 7.5
    assert growth(result, "disk:sda", "queue_s") == 15
    assert result.trace
    assert result.trace.series("worker1", "disk:sda", "request_latency_s") == [(10, 0.004), (20, 0.004), (30, 0.004)]
    assert run.metrics == {"disk_read_bytes": 2048 * 512 * 30, "disk_write_bytes": 100.5 * 512 * 30}
    assert run.environment == {"node": "worker1", "kernel": "6.1.0", "machine": "x86_64", "cores": 4}


@pytest.mark.parametrize("cpu", [{"cpu-load": [CPU]}, {"cpu-load-all": [CPU_ALL]}], ids=["short", "all"])
def test_sadf_shares_are_of_all_cores(cpu: Json, tmp_path: Path) -> None:
    result = imported_run(sadf.FORMAT, sadf_file([sadf_sample(10, **cpu)]), tmp_path)
    assert growth(result, "cpu", "user_s") == pytest.approx(0.25 * 4 * 10)
    interrupts_s = growth(result, "cpu", "irq_s") if "cpu-load-all" in cpu else 0.0
    assert growth(result, "cpu", "system_s") + interrupts_s == pytest.approx(0.1 * 4 * 10)
    assert growth(result, "cpu", "idle_s") == pytest.approx(20)
    assert result.run.metrics == {"cpu_busy_share": pytest.approx(0.35)}


def test_sadf_memory_and_links_are_in_1024_bytes(tmp_path: Path) -> None:
    sample = sadf_sample(10, memory=MEMORY, network={"net-dev": [NIC, {**NIC, "iface": "lo"}]})
    result = imported_run(sadf.FORMAT, sadf_file([sample]), tmp_path)
    assert result.trace
    assert result.trace.series("worker1", "memory", "free_bytes") == [(10, 1000 * 1024)]
    assert result.trace.series("worker1", "memory", "available_bytes") == [(10, 3000 * 1024)]
    assert growth(result, "nic:eth0", "receive_bytes") == 100 * 1024 * 10
    assert growth(result, "nic:eth0", "transmit_packets") == 50
    # The loopback is in the trace, but no link.
    assert growth(result, "nic:lo", "receive_bytes") == 100 * 1024 * 10
    assert result.run.metrics == {"nic_receive_bytes": 100 * 1024 * 10, "nic_transmit_bytes": 50 * 1024 * 10}


def test_partitions_and_volumes_are_no_second_disk(tmp_path: Path) -> None:
    disks = [
        {**DISK_12, "disk-device": name} for name in ("sda", "sda1", "nvme0n1", "nvme0n1p1", "dm-0", "md0", "loop0")
    ]
    result = imported_run(sadf.FORMAT, sadf_file([sadf_sample(10, disk=disks)]), tmp_path)
    assert result.run.metrics["disk_read_bytes"] == 2 * 2048 * 512 * 10
    result = imported_run(sadf.FORMAT, sadf_file([sadf_sample(10, disk=disks, io=IO)]), tmp_path)
    assert result.run.metrics["disk_read_bytes"] == 4000 * 512 * 10  # sysstat's own sum


def test_a_first_sadf_sample_with_a_wrapped_interval_is_skipped(tmp_path: Path) -> None:
    """Old releases print the wrapped interval of the first sample."""
    samples = [sadf_sample(0, 184467440737095516, disk=[DISK_11]), sadf_sample(10, disk=[DISK_11])]
    skipped, result = read(sadf.FORMAT, sadf_file(samples), tmp_path)
    assert isinstance(skipped, SkippedItem)
    assert "sample 1" in skipped.where
    assert "no sample before it" in skipped.why
    assert isinstance(result, ImportedRun)
    assert growth(result, "disk:sda", "read_bytes") == 2048 * 512 * 10
    assert words_of(result.run.warnings) == ("1 of 2 samples could not be read",)


def test_a_gap_adds_nothing_and_is_reported(tmp_path: Path) -> None:
    samples = [sadf_sample(second, disk=[DISK_11]) for second in (10, 20, 100, 110)]
    result = imported_run(sadf.FORMAT, sadf_file(samples, restarts=[{"boot": {"date": "2024-05-11"}}]), tmp_path)
    assert result.run.duration_s == 110
    assert growth(result, "disk:sda", "read_bytes") == 2048 * 512 * 40
    assert result.trace
    flat = dict(result.trace.series("worker1", "disk:sda", "read_bytes"))
    assert flat[20] == flat[90]
    assert any("gaps between the samples: 1" in warning.words for warning in result.run.warnings)
    assert any("restarts of the host between the samples: 1" in warning.words for warning in result.run.warnings)


def test_sadf_gives_no_start_if_the_zone_is_unknown(tmp_path: Path) -> None:
    local, named = sadf_sample(10, disk=[DISK_11]), sadf_sample(10, disk=[DISK_11])
    local["timestamp"]["utc"] = 0
    del named["timestamp"]["utc"]
    named["timestamp"]["tz"] = "CEST"
    for sample in (local, named):
        assert imported_run(sadf.FORMAT, sadf_file([sample]), tmp_path).run.started_at == ""
    named["timestamp"]["tz"] = "UTC"
    assert imported_run(sadf.FORMAT, sadf_file([named]), tmp_path).run.started_at == "2024-05-11T10:00:00+00:00"


def test_several_hosts_are_several_runs(tmp_path: Path) -> None:
    whole = json.loads(sadf_file([sadf_sample(10, disk=[DISK_11])]))
    other = {**whole["sysstat"]["hosts"][0], "nodename": "worker2"}
    whole["sysstat"]["hosts"].append(other)
    results = read(sadf.FORMAT, json.dumps(whole), tmp_path)
    assert [r.run.environment["node"] for r in results if isinstance(r, ImportedRun)] == ["worker1", "worker2"]
    assert len({result.key for result in results if isinstance(result, ImportedRun)}) == 2


def test_a_longer_recording_keeps_its_key(tmp_path: Path) -> None:
    samples = [sadf_sample(second, disk=[DISK_11]) for second in (10, 20, 30)]
    keys = {imported_run(sadf.FORMAT, sadf_file(samples[:count]), tmp_path).key for count in (1, 2, 3)}
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"disk": [{**DISK_12, "rkB": 1.0}]}, "one of them is wrong"),
        ({"disk": [{**DISK_12, "rd_sec": -1.0}]}, "impossible"),
        ({"disk": [{**DISK_12, "util-percent": 250.0}]}, "impossible"),
        ({"disk": [{**DISK_12, "rd_sec": "fast"}]}, "impossible"),
        ({"disk": [DISK_12, DISK_12]}, "twice"),
        ({"cpu-load": [{**CPU, "idle": 90.0}]}, "add up"),
        ({"timestamp": {"date": "2024-13-11", "time": "10:00:00", "utc": 1, "interval": 1}}, "not a time"),
        ({"timestamp": "10:00:00"}, "no timestamp"),
        ({}, "no sample"),
    ],
)
def test_impossible_sadf_values_are_skipped(change: Json, words: str, tmp_path: Path) -> None:
    assert words in why(sadf.FORMAT, sadf_file([{**sadf_sample(10), **change}]), tmp_path)


@shared_folder
@given(
    moved=st.lists(st.tuples(st.integers(1, 600), st.integers(0, 2**33), st.integers(0, 2**33)), min_size=1, max_size=8)
)
def test_the_integral_of_sadf_rates_equals_the_bytes_moved(moved: list[tuple[int, int, int]], tmp_path: Path) -> None:
    """sysstat divides by the interval and rounds to two decimals; times the interval, the sectors come back."""
    second, samples, tolerance = 0, [], 0.0
    for interval_s, read_sectors, write_sectors in moved:
        second += interval_s
        rates = {"rd_sec": round(read_sectors / interval_s, 2), "wr_sec": round(write_sectors / interval_s, 2)}
        stamp = {
            "date": "2024-05-11",
            "time": f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}",
            "utc": 1,
        }
        samples.append({"timestamp": stamp | {"interval": interval_s}, "disk": [{"disk-device": "sdb", **rates}]})
        tolerance += 0.005 * interval_s * 512 * 1.01 + 1
    result = imported_run(sadf.FORMAT, sadf_file(samples), tmp_path)
    assert result.run.duration_s == second
    for metric, sectors in (("read_bytes", sum(m[1] for m in moved)), ("write_bytes", sum(m[2] for m in moved))):
        assert growth(result, "disk:sdb", metric) == pytest.approx(sectors * 512, abs=tolerance, rel=1e-12)
        assert growth(result, "disk:sdb", metric) == result.run.metrics[f"disk_{metric}"]


# iostat


def basic(read_kib: int, write_kib: int, interval_s: float, name: str = "sda") -> Json:
    return {
        "disk_device": name,
        "tps": 3.0,
        "kB_read/s": round(read_kib / interval_s, 2),
        "kB_wrtn/s": round(write_kib / interval_s, 2),
        "kB_dscd/s": 0.0,
        "kB_read": read_kib,
        "kB_wrtn": write_kib,
        "kB_dscd": 0,
    }


EXTENDED = {
    "disk_device": "sda",
    "r/s": 10.0,
    "w/s": 20.0,
    "d/s": 0.0,
    "f/s": 1.0,
    "rkB/s": 1000.0,
    "wkB/s": 500.0,
    "dkB/s": 0.0,
    "rrqm/s": 0.0,
    "wrqm/s": 0.0,
    "r_await": 2.0,
    "w_await": 5.0,
    "aqu-sz": 0.25,
    "util": 40.0,
}
AVERAGE = {name: value for name, value in CPU.items() if name != "cpu"}


def reports(disks: list[list[Json]], times: list[str] | None = None, **host: Any) -> str:
    stamps = [{"timestamp": time} for time in times or []] or [{}] * len(disks)
    statistics = [{**stamp, "avg-cpu": AVERAGE, "disk": disk} for stamp, disk in zip(stamps, disks, strict=False)]
    return sysstat(statistics, **{"date": "05/11/24", **host})


SINCE_BOOT = [basic(5_000_000, 9_000_000, 86_400)]
ISO = [f"2024-05-11T10:00:{second:02d}+0200" for second in (0, 5, 10, 15)]


def test_iostat_amounts_are_the_counters_and_tell_the_interval(tmp_path: Path) -> None:
    text = reports([SINCE_BOOT, [basic(1000, 500, 5.002)], [basic(0, 0, 5)], [basic(3000, 1, 4.999)]])
    result = imported_run(iostat.FORMAT, text, tmp_path)
    assert (result.run.duration_s, result.run.started_at) == (15, "")
    assert growth(result, "disk:sda", "read_bytes") == 4000 * 1024
    assert growth(result, "disk:sda", "write_bytes") == 501 * 1024
    assert growth(result, "disk:sda", "requests") == 45
    assert growth(result, "cpu", "idle_s") == 0.5 * 4 * 15
    assert result.run.metrics["cpu_busy_share"] == pytest.approx(0.35)


def test_the_first_report_counts_only_with_option_y(tmp_path: Path) -> None:
    with_y = imported_run(iostat.FORMAT, reports([[basic(2000, 500, 5)], [basic(1000, 500, 5)]]), tmp_path)
    assert (with_y.run.duration_s, growth(with_y, "disk:sda", "read_bytes")) == (10, 3000 * 1024)
    without = imported_run(iostat.FORMAT, reports([SINCE_BOOT, [basic(1000, 500, 5)]]), tmp_path)
    assert (without.run.duration_s, growth(without, "disk:sda", "read_bytes")) == (5, 1000 * 1024)


def test_iostat_extended_rates_times_the_clock_are_the_counters(tmp_path: Path) -> None:
    result = imported_run(iostat.FORMAT, reports([[EXTENDED]] * 4, ISO), tmp_path)
    assert (result.run.duration_s, result.run.started_at) == (15, "2024-05-11T08:00:00+00:00")
    expected = {
        "read_bytes": 1000 * 1024 * 15,
        "write_bytes": 500 * 1024 * 15,
        "reads": 150,
        "writes": 300,
        "read_s": 0.3,
        "write_s": 1.5,
        "busy_s": 6,
        "queue_s": 3.75,
    }
    for metric, value in expected.items():
        assert growth(result, "disk:sda", metric) == pytest.approx(value)


@pytest.mark.parametrize(
    ("row", "read_bytes"),
    [
        ({"rMB/s": 3.0, "wMB/s": 1.0}, 3 * 2**20),
        ({"rsec/s": 3.0, "wsec/s": 1.0}, 3 * 512),
        ({"Blk_read/s": 8.0, "Blk_wrtn/s": 0.0, "Blk_read": 40, "Blk_wrtn": 0}, 8 * 512),
        ({"MB_read/s": 0.3, "MB_wrtn/s": 0.0, "MB_read": 1, "MB_wrtn": 0}, 0.3 * 2**20),
        ({"r": 1.0, "w": 0.0, "rkB": 64.0, "wkB": 0.0, "avgrq-sz": 128.0, "avgqu-sz": 0.1}, 65536),
    ],
)
def test_iostat_units_are_in_the_names(row: Json, read_bytes: float, tmp_path: Path) -> None:
    result = imported_run(iostat.FORMAT, reports([[{"disk_device": "vda", **row}]] * 4, ISO), tmp_path)
    assert growth(result, "disk:vda", "read_bytes") == pytest.approx(
        read_bytes * 5 * (len(ISO) - 1 + ("Blk_read" in row))
    )


def test_summed_figures_of_iostat_remain_one_figure(tmp_path: Path) -> None:
    row = {"disk_device": "sda", "tps": 2.0, "kB/s": 10.0, "await": 3.0, "aqu-sz": 0.0, "util": 1.0}
    result = imported_run(iostat.FORMAT, reports([[row]] * 4, ISO), tmp_path)
    assert growth(result, "disk:sda", "transfer_bytes") == 10 * 1024 * 15
    assert "disk_read_bytes" not in result.run.metrics


def test_megabytes_under_the_name_of_kilobytes_are_rejected(tmp_path: Path) -> None:
    """sysstat 11.5 calls its figures rkB whatever the unit; the request size in sectors gives it away."""
    row = {"disk_device": "sda", "r": 100.0, "w": 0.0, "rkB": 12.5, "wkB": 0.0, "avgrq-sz": 256.0}
    assert "other units" in why(iostat.FORMAT, reports([[row]] * 4, ISO), tmp_path)


def test_a_clock_in_any_locale_is_read_through_midnight(tmp_path: Path) -> None:
    for times in (
        ["05/11/2024 11:59:58 PM", "05/11/2024 11:59:59 PM", "05/12/2024 12:00:00 AM", "05/12/2024 12:00:01 AM"],
        ["11.05.2024 23:59:58", "11.05.2024 23:59:59", "12.05.2024 00:00:00", "12.05.2024 00:00:01"],
    ):
        result = imported_run(iostat.FORMAT, reports([[EXTENDED]] * 4, times), tmp_path)
        assert (result.run.duration_s, result.run.started_at) == (3, "")
        assert growth(result, "disk:sda", "reads") == 30


def test_a_clock_of_whole_seconds_does_not_bend_even_intervals(tmp_path: Path) -> None:
    """Reports every 1.001 s: once the clock jumps by two seconds, and the disk did not read twice as fast then."""
    times = [f"10:00:{second:02d}" for second in (0, 1, 2, 4, 5)]
    result = imported_run(iostat.FORMAT, reports([[EXTENDED]] * 5, times), tmp_path)
    assert result.trace
    points = result.trace.series("worker1", "disk:sda", "reads")
    assert [value for _, value in points] == pytest.approx([0, 12.5, 25, 37.5, 50])


def test_an_iostat_that_was_killed_leaves_whole_reports(tmp_path: Path) -> None:
    text = reports([[EXTENDED]] * 4, ISO)
    last = text.index("10:00:15")
    for end in (last - 30, text.rindex('"util"'), text.rindex("}\n      ]") + 1):
        skipped, result = read(iostat.FORMAT, text[:end], tmp_path)
        assert isinstance(skipped, SkippedItem)
        assert "cut off" in skipped.why
        assert isinstance(result, ImportedRun)
        check(result)
        assert growth(result, "disk:sda", "reads") == 100


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (reports([[EXTENDED]] * 3), "run iostat with -t"),
        (reports([SINCE_BOOT]), "average since boot"),
        (reports([]), "average since boot"),
        (reports([[EXTENDED]] * 2, ["10:00:00", "soon"]), "has no HH:MM:SS"),
        (reports([[EXTENDED]] * 2, ["10:00:00", "25:00:00"]), "not a time"),
        (reports([[EXTENDED]] * 2, ["10:00:05", "10:00:00"]), "not after"),
        (reports([[{**EXTENDED, "r/s": None}, EXTENDED]] * 4, ISO), "twice"),
        (reports([[{**EXTENDED, "rkB/s": 1e300}]] * 4, ISO), "impossible"),
        (reports([SINCE_BOOT, [{**basic(1000, 500, 5), "kB_wrtn": 77_000}]], ISO), "contradicts"),
        (reports([[EXTENDED]] * 4, ISO)[:300], "not a JSON report of iostat"),
        (reports([[EXTENDED]] * 4, ISO).replace('"r/s"', '"r/s', 1), "not a JSON report of iostat"),
        ("not JSON", "not a JSON report"),
        ("", "not a JSON report"),
        (b"\0\1\2", "binary"),
    ],
)
def test_impossible_iostat_values_are_skipped(text: str | bytes, words: str, tmp_path: Path) -> None:
    assert words in why(iostat.FORMAT, text, tmp_path)


@shared_folder
@given(
    interval_s=st.integers(1, 60),
    moved=st.lists(st.tuples(st.integers(0, 2**30), st.integers(0, 2**30)), min_size=1, max_size=8),
    clock=st.booleans(),
)
def test_bytes_reported_by_iostat_are_the_bytes_moved(
    interval_s: int, moved: list[tuple[int, int]], clock: bool, tmp_path: Path
) -> None:
    disks = [SINCE_BOOT, *([basic(*kib, interval_s)] for kib in moved)]
    seconds = [36_000 + index * interval_s for index in range(len(disks))]
    times = [f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}" for s in seconds] if clock else None
    results = read(iostat.FORMAT, reports(disks, times), tmp_path)
    for result in results:
        check(result)
    if not clock and not any(max(kib) > 100 * interval_s for kib in moved):
        return  # too little was moved to tell the interval
    (result,) = results
    assert isinstance(result, ImportedRun)
    assert result.run.duration_s == pytest.approx(interval_s * len(moved))
    assert growth(result, "disk:sda", "read_bytes") == sum(kib[0] for kib in moved) * 1024
    assert growth(result, "disk:sda", "write_bytes") == sum(kib[1] for kib in moved) * 1024


# both


def test_each_format_recognises_its_files() -> None:
    mpstat = sysstat([{"timestamp": "10:00:00", "cpu-load": [CPU_ALL]}], date="05/11/24")
    for name, text in (("sadf", SADF), ("iostat", reports([[EXTENDED]] * 2, ISO)), ("mpstat", mpstat)):
        claims = [form.name for form in (sadf.FORMAT, iostat.FORMAT) if form.recognises("x", text.encode())]
        assert claims == [known for known in ("sadf", "iostat") if known == name]


def test_damaged_sadf_files_never_break_the_import(tmp_path: Path) -> None:
    survives_damage(sadf.FORMAT, SADF.encode(), tmp_path)


def test_damaged_iostat_files_never_break_the_import(tmp_path: Path) -> None:
    survives_damage(iostat.FORMAT, reports([SINCE_BOOT, [basic(1000, 500, 5)], [basic(30, 1, 5)]]).encode(), tmp_path)
    survives_damage(iostat.FORMAT, reports([[EXTENDED]] * 4, ISO).encode(), tmp_path)
