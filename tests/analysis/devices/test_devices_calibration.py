"""Test the conversion of fio's report into a device of a cluster file."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.devices.calibration import CalibratedValue, DeviceMeasurement, calibrate
from assay.analysis.devices.rates import HddAtScale, flash_transfer_s, hdd_random_iops
from assay.foundation.errors import FormatError
from assay.interfaces.cli.maintain.device import entry_lines, value_text
from assay.model.clusters.cluster import Device, DeviceKind
from assay.model.clusters.device_model import FlashModel, HddModel, default_flash
from assay.specs import load_cluster
from assay.store.formats.bare.fio import parse_fio
from assay.store.formats.bare.fio_figures import cached_jobs, device_measurements, size_bytes
from program import called as _assay

CAPACITY_BYTES = 4 * 10**12


def _figure(
    job: str,
    rate: float,
    size: int,
    *,
    writes: bool = False,
    random: bool = False,
    depth: int = 1,
    latency_s: float | None = None,
    offset: float = 0.0,
    span: int | None = None,
    span_share: float = 1.0,
    moved: int = 0,
) -> DeviceMeasurement:
    return DeviceMeasurement(
        job, writes, random, size, 1, depth, rate, rate / size, latency_s, offset, span, span_share, moved
    )


def _hdd_figures(model: HddModel, read: float, write: float, **random: Any) -> list[DeviceMeasurement]:
    disk = HddAtScale(model, read, CAPACITY_BYTES)
    iops = hdd_random_iops(disk, CAPACITY_BYTES, 4096)
    behind = CAPACITY_BYTES // 100
    inner = behind / disk.transfer_s(0.95 * CAPACITY_BYTES, behind)
    return [
        _figure("a", read, 2**20),
        _figure("b", write, 2**20, writes=True),
        _figure("c", inner, 2**20, offset=0.95, span_share=0.05, moved=behind),
        _figure("d", iops * 4096, 4096, random=True, latency_s=1 / iops, **random),
        _figure("e", iops * 4096, 4096, random=True, writes=True, latency_s=0.9 / iops),
    ]


def _load(lines: list[str], folder: Path) -> Device:
    entry = "\n".join(f"      {line}" for line in lines)
    file = folder / "cluster.yaml"
    file.write_text(
        "cluster: c\nlab: {scale: 1/20}\nnode_types:\n  t:\n    cores: 2\n    memory: 4GB\n    nic: 1Gbit/s\n"
        f"    devices:\n{entry}\n"
        "nodes:\n  master: {type: t, roles: [master]}\n  worker: {type: t, roles: [worker]}\n"
    )
    return load_cluster(file).workers[0].type.devices[0]


@given(st.floats(50e6, 300e6), st.floats(0.4, 1), st.floats(0.35, 0.95), st.floats(0.008, 0.03))
def test_a_modelled_hdds_figures_give_its_numbers_back(
    read: float, write_share: float, inner: float, full_s: float
) -> None:
    model = HddModel(inner_share=inner, seek_full_s=full_s)
    calibration = calibrate(_hdd_figures(model, read, read * write_share), capacity_bytes=CAPACITY_BYTES)
    assert calibration.kind is DeviceKind.HDD
    assert calibration.value("read") == read
    assert calibration.value("write") == read * write_share
    assert calibration.value("inner_share") == pytest.approx(inner, rel=1e-3)
    assert calibration.value("seek_full") == pytest.approx(full_s, rel=0.02)
    assert calibration.value("write_cache") == 0


@given(st.floats(100e6, 7e9), st.floats(50e-6, 400e-6), st.floats(15e-6, 300e-6))
def test_modelled_flashs_figures_give_its_numbers_back(read: float, read_s: float, write_s: float) -> None:
    model = FlashModel(
        channels=default_flash(nvme=read > 600e6).channels, read_latency_s=read_s, write_latency_s=write_s
    )
    alone_s = [s + flash_transfer_s(model, read, read, 4096) for s in (read_s, write_s)]
    calibration = calibrate(
        [
            _figure("r", read, 2**20),
            _figure("w", read, 2**20, writes=True),
            *(_figure("x", 4096 / s, 4096, random=True, writes=bool(i), latency_s=s) for i, s in enumerate(alone_s)),
        ]
    )
    assert calibration.kind is (DeviceKind.NVME if read > 600e6 else DeviceKind.SSD)
    assert calibration.value("read_latency") == pytest.approx(read_s, rel=0.01)
    assert calibration.value("write_latency") == pytest.approx(write_s, rel=0.01)


@pytest.mark.slow
@given(st.floats(60e6, 250e6), st.floats(0.006, 0.02))
def test_the_printed_entry_is_one_that_a_cluster_file_takes(read: float, full_s: float) -> None:
    import tempfile

    model = HddModel(seek_full_s=full_s)
    calibration = calibrate(_hdd_figures(model, read, read), capacity_bytes=CAPACITY_BYTES)
    with tempfile.TemporaryDirectory() as folder:
        device = _load(entry_lines("disk", calibration), Path(folder))
    assert (device.name, device.kind, device.capacity_bytes) == ("disk1", DeviceKind.HDD, CAPACITY_BYTES)
    assert device.read_bytes_per_s == pytest.approx(read, rel=1e-3)
    assert device.hdd_model.seek_full_s == pytest.approx(full_s, rel=0.03)
    assert device.hdd_model.inner_share == pytest.approx(model.inner_share, rel=1e-3)


def test_random_reads_of_a_small_part_do_not_pass_for_the_whole_disk() -> None:
    """Short seeks would make the arm look several times as fast as it is."""
    for span, capacity, words in (
        (16 * 2**30, CAPACITY_BYTES, "0.4 % of the disk"),
        (16 * 2**30, None, "--capacity"),
        (0, CAPACITY_BYTES, "too little"),
    ):
        calibration = calibrate(_hdd_figures(HddModel(seek_full_s=0.02), 2e8, 2e8, span=span), capacity_bytes=capacity)
        (seek,) = (number for number in calibration.numbers if number.key == "seek_full")
        assert (seek.value, seek.measured) == (HddModel().seek_full_s, False)
        assert words in seek.source


def test_a_fast_random_write_shows_a_write_cache_whose_size_stays_unknown() -> None:
    measured = [f for f in _hdd_figures(HddModel(), 2e8, 2e8) if f.job != "e"]
    calibration = calibrate([*measured, _figure("e", 4e6, 4096, writes=True, random=True, latency_s=0.001)])
    (cache,) = (number for number in calibration.numbers if number.key == "write_cache")
    assert (cache.value > 0, cache.measured) == (True, False)
    capacity = next(number for number in calibration.numbers if number.key == "capacity")
    assert not capacity.measured


def test_without_a_sequential_read_or_a_kind_there_is_no_device() -> None:
    with pytest.raises(FormatError, match="no job reads in sequence") as caught:
        calibrate([_figure("w", 1e8, 2**20, writes=True)])
    assert caught.value.hint
    assert "fio-job" in caught.value.hint
    with pytest.raises(FormatError, match="can't be distinguished"):
        calibrate([_figure("r", 1e8, 2**20)])
    calibration = calibrate([_figure("r", 1e8, 2**20)], kind=DeviceKind.HDD)
    assert not any(number.measured for number in calibration.numbers if number.key != "read")


def test_deep_random_reads_below_the_bandwidth_are_a_limit_of_requests() -> None:
    measured = [_figure("r", 500e6, 2**20), _figure("x", 4096 / 1e-4, 4096, random=True, latency_s=1e-4)]
    limited = calibrate([*measured, _figure("q", 70000 * 4096.0, 4096, random=True, depth=32)])
    assert limited.value("read_iops") == 70000
    free = calibrate([*measured, _figure("q", 490e6, 4096, random=True, depth=32)])
    assert free.value("read_iops") is None


def _report(jobs: list[dict[str, Any]], **common: str) -> bytes:
    common = {"direct": "1"} | common
    return json.dumps({"fio version": "fio-3.33", "global options": common, "jobs": jobs}).encode()


def _job(name: str, way: str, rate: int, group: int = 0, **options: str) -> dict[str, Any]:
    none = {"io_bytes": 0, "bw_bytes": 0, "bw": 0, "iops": 0.0, "runtime": 0}
    did = {
        "io_bytes": rate,
        "bw_bytes": rate,
        "bw": rate // 1024,
        "iops": rate / 4096,
        "runtime": 1000,
        "lat_ns": {"mean": 4096 / rate * 1e9},
    }
    return {
        "jobname": name,
        "groupid": group,
        "error": 0,
        "job options": {"name": name, **options},
        "read": none | (did if way == "read" else {}),
        "write": none | (did if way == "write" else {}),
    }


@given(st.lists(st.text(min_size=1, max_size=6), min_size=5, max_size=5, unique=True))
def test_jobs_are_recognised_by_what_they_do_and_not_by_their_names(names: list[str]) -> None:
    jobs = [
        _job(names[0], "read", 10**8, 0, rw="read", bs="1m", iodepth="4"),
        _job(names[1], "write", 10**8, 1, readwrite="write", blocksize="512k"),
        _job(names[2], "read", 10**6, 2, rw="randread"),
        *(_job(names[3], "read", 10**7, 3, rw="read", bs="640k", numjobs="3") for _ in range(3)),
        _job(names[4], "read", 10**6, 4, rw="randrw"),
    ]
    measured = device_measurements(parse_fio(_report(jobs, ioengine="libaio", filename="/dev/sdx")))
    assert [(f.job, f.writes, f.random, f.request_bytes, f.streams, f.depth) for f in measured] == [
        (names[0], False, False, 2**20, 1, 4),
        (names[1], True, False, 2**19, 1, 1),
        (names[2], False, True, 4096, 1, 1),
        (names[3], False, False, 640 * 1024, 3, 3),
    ]
    assert measured[3].bytes_per_s == 3 * 10**7
    assert measured[2].latency_s == pytest.approx(4096 / 10**6)


def test_depth_counts_only_where_the_engine_queues_and_offsets_only_on_a_device() -> None:
    job = _job("r", "read", 10**6, rw="randread", iodepth="32", offset="90%")
    (figure,) = device_measurements(parse_fio(_report([job], ioengine="psync", filename="/data/x", size="1g")))
    assert (figure.depth, figure.offset_share, figure.span_bytes) == (1, 0.0, 2**30)
    (figure,) = device_measurements(parse_fio(_report([job], ioengine="io_uring", filename="/dev/sda")))
    assert (figure.depth, figure.offset_share, figure.span_bytes) == (32, 0.9, None)
    assert figure.span_share == pytest.approx(0.1)


def _calibrated_seek(capacity_bytes: int | None, size: str | None) -> CalibratedValue:
    """Return the longest seek found from random reads of 15 ms over ``size`` of a block device."""
    some = {"size": size} if size else {}
    jobs = [_job("a", "read", 2 * 10**8, 0, rw="read"), _job("b", "read", 4096 * 1000 // 15, 1, rw="randread", **some)]
    calibration = calibrate(
        device_measurements(parse_fio(_report(jobs, filename="/dev/sdx"))), capacity_bytes=capacity_bytes
    )
    return next(number for number in calibration.numbers if number.key == "seek_full")


@pytest.mark.parametrize("capacity_bytes", [CAPACITY_BYTES, None])
def test_a_part_of_a_block_device_in_per_cent_is_a_part(capacity_bytes: int | None) -> None:
    """The same time over less of the disk takes a slower arm."""
    whole, hundred, half = (_calibrated_seek(capacity_bytes, size) for size in (None, "100%", "50%"))
    assert whole == hundred
    assert whole.measured
    assert half.measured
    assert half.value > 1.2 * whole.value
    tenth = _calibrated_seek(capacity_bytes, "5%")
    assert not tenth.measured
    assert "5.0 % of the disk" in tenth.source


def test_a_read_before_the_inner_edge_is_not_the_rate_of_the_edge() -> None:
    at_80 = (1 - (1 - 0.5**2) * 0.8) ** 0.5
    assert at_80 == pytest.approx(0.63, abs=0.01)
    measured = [_figure("a", 2e8, 2**20), _figure("i", 2e8 * at_80, 2**20, offset=0.8)]
    calibration = calibrate(measured, kind=DeviceKind.HDD, capacity_bytes=CAPACITY_BYTES)
    (share,) = (number for number in calibration.numbers if number.key == "inner_share")
    assert share.value == pytest.approx(0.5, rel=1e-3)
    assert "80 % of the disk" in share.source


def test_jobs_through_the_page_cache_tell_nothing_of_the_device() -> None:
    disk, memory = _job("disk", "read", 10**8, 0, rw="read"), _job("memory", "read", 10**10, 1, rw="read", direct="0")
    report = parse_fio(_report([disk, memory]))
    assert [figure.job for figure in device_measurements(report)] == ["disk"]
    assert cached_jobs(report) == ("memory",)
    unsaid = _job("unsaid", "read", 10**10, 0, rw="read")
    with pytest.raises(FormatError, match="page cache: unsaid, memory had no direct=1") as caught:
        device_measurements(parse_fio(json.dumps({"fio version": "fio-3.33", "jobs": [unsaid, memory]}).encode()))
    assert "fio-job" in str(caught.value.hint)


@pytest.mark.parametrize("options", [{"buffered": "0"}, {"ioengine": "sg"}, {"direct": "1"}])
def test_sync_options_bypass_the_page_cache_like_direct_io(options: dict[str, str]) -> None:
    job = _job("a", "read", 10**8, 0, rw="read", **options)
    report = parse_fio(json.dumps({"fio version": "fio-3.33", "jobs": [job]}).encode())
    assert (len(device_measurements(report)), cached_jobs(report)) == (1, ())


@given(st.sampled_from([5400, 7200, 10000, 15000]), st.floats(0.008, 0.03))
def test_the_rotation_speed_of_a_disk_leaves_the_arm_its_true_time(rpm: int, full_s: float) -> None:
    figures_ = _hdd_figures(HddModel(seek_full_s=full_s, rpm=rpm), 2e8, 2e8)
    calibration = calibrate(figures_, capacity_bytes=CAPACITY_BYTES, rpm=rpm)
    assert calibration.value("seek_full") == pytest.approx(full_s, rel=0.02)
    (turns,) = (number for number in calibration.numbers if number.key == "rpm")
    assert (turns.value, turns.measured, turns.source) == (rpm, True, "as given")


def test_flash_does_not_turn() -> None:
    with pytest.raises(FormatError, match="no rotation"):
        calibrate([_figure("r", 5e8, 2**20)], kind=DeviceKind.SSD, rpm=7200)


@given(st.text(max_size=12))
def test_any_text_as_a_size_is_a_number_of_bytes_or_none(text: str) -> None:
    assert size_bytes(text) >= 0


@pytest.mark.parametrize(("text", "value"), [("4k", 4096), ("1M", 2**20), ("64KiB", 65536), ("4096", 4096), ("x", 0)])
def test_fios_sizes_are_powers_of_1024(text: str, value: int) -> None:
    assert size_bytes(text) == value


@pytest.mark.slow
def test_the_printed_job_file_runs_and_its_report_makes_a_device(tmp_path: Path, disk_path: Path) -> None:
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    printed = _assay("device", "fio-job", str(disk_path / "disk"), "--size", "16MiB", "--seconds", "1")
    assert printed.returncode == 0, printed.stderr
    job_file, report = tmp_path / "disk.fio", tmp_path / "report.json"
    job_file.write_text(re.sub(r"runtime=1\n", "runtime=200ms\n", printed.stdout))
    argv = ["fio", "--output-format=json", f"--output={report}", str(job_file)]
    subprocess.run(argv, check=True, capture_output=True, timeout=60)
    done = _assay("device", "calibrate", str(report), "--name", "mine", "--capacity", "2TB")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    assert _load(lines, tmp_path).capacity_bytes == 2 * 10**12
    assert "# job sequential-read" in done.stdout
    answer = json.loads(_assay("device", "calibrate", str(report), "--json").stdout)
    assert {number["key"] for number in answer["numbers"]} >= {"read", "write", "capacity"}
    assert answer["entry"]["kind"] == answer["name"]


def test_a_device_is_read_to_its_inner_edge_and_never_written_unasked() -> None:
    printed = _assay("device", "fio-job", "/dev/sdz", "--read-only")
    assert "offset=95%" in printed.stdout
    assert "write" not in printed.stdout
    assert "destroys all data" in _assay("device", "fio-job", "/dev/sdz").stderr


def test_a_file_that_is_no_report_is_an_error_with_its_name(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text("{}")
    done = _assay("device", "calibrate", str(file))
    assert (done.returncode, "Traceback" in done.stderr, str(file) in done.stderr) == (
        FormatError.exit_code,
        False,
        True,
    )
    assert _assay("device", "calibrate", str(file), "--capacity", "much").returncode == 2


def test_the_entry_says_what_was_left_out_and_takes_the_turns(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(
        _report([_job("disk", "read", 10**8, 0, rw="read"), _job("memory", "read", 10**10, 1, rw="read", direct="0")])
    )
    words = ("device", "calibrate", str(file), "--kind", "hdd", "--rpm", "5400")
    done = _assay(*words)
    assert "# job memory: left out" in done.stdout, done.stderr
    assert re.search(r"rpm: 5400 +# as given", done.stdout)
    assert json.loads(_assay(*words, "--json").stdout)["left_out"] == ["memory"]


def test_values_are_printed_with_their_units() -> None:
    calibration = calibrate(_hdd_figures(HddModel(), 1.5e8, 1.5e8), capacity_bytes=CAPACITY_BYTES)
    texts = {number.key: value_text(number) for number in calibration.numbers}
    assert (texts["read"], texts["capacity"], texts["inner_share"], texts["seek_track"], texts["rpm"]) == (
        "150MB/s",
        "4TB",
        "55%",
        "1ms",
        "7200",
    )
