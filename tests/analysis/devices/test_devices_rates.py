"""Test that a modelled disk keeps its share of bandwidth at every scale and under concurrent readers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.devices.rates import (
    BaselineSettings,
    HddAtScale,
    flash_random_iops,
    flash_written_bytes_per_s,
    hdd_random_iops,
    hdd_sequential_bytes_per_s,
    hdd_streams_bytes_per_s,
    model_rates,
    seek_s,
)
from assay.model.clusters.cluster import Device, DeviceKind, Disks
from assay.model.clusters.device_model import SEEK_MEAN_SHARE, FlashModel, HddModel, default_flash, default_hdd
from assay.model.clusters.disk_requests import PAGE_BYTES, request_bytes

hdd_models = st.builds(
    HddModel,
    inner_share=st.floats(0.3, 1),
    seek_track_s=st.floats(0.0003, 0.002),
    rpm=st.sampled_from([5400, 7200, 15000]),
    seek_full_s=st.floats(0.005, 0.03),
)


def _disk(scale: float, model: HddModel | None = None) -> HddAtScale:
    return HddAtScale(model or HddModel(), 120e6 * scale, 500e9 * scale)


@given(hdd_models)
def test_the_mean_seek_is_that_of_the_curve(model: HddModel) -> None:
    steps = 500
    middles = [(step + 0.5) / steps for step in range(steps)]
    mean_s = sum(2 * (1 - d) * seek_s(model, d) for d in middles) / steps
    expected_s = model.seek_track_s + (model.seek_full_s - model.seek_track_s) * SEEK_MEAN_SHARE
    assert mean_s == pytest.approx(expected_s, rel=0.01)
    assert seek_s(model, 0) == model.seek_track_s
    assert seek_s(model, 1) == pytest.approx(model.seek_full_s)


@given(st.integers(60, 130))
def test_stated_requests_per_second_come_true_over_the_whole_disk(iops: int) -> None:
    disk = _disk(1, default_hdd(iops))
    assert hdd_random_iops(disk, disk.capacity_bytes, 512) == pytest.approx(iops, rel=0.04)


def test_a_disk_without_a_stated_request_rate_has_that_of_7200_rpm_disks() -> None:
    disk = _disk(1)
    assert 80 < hdd_random_iops(disk, disk.capacity_bytes, PAGE_BYTES) < 100
    assert hdd_random_iops(disk, disk.capacity_bytes / 100, PAGE_BYTES) > 130  # short seeks


@given(hdd_models, st.floats(0.05, 0.95))
def test_the_bandwidth_falls_from_the_outer_edge_to_the_inner_share(model: HddModel, position: float) -> None:
    disk = _disk(1, model)
    at = disk.capacity_bytes * position
    rate = 1e6 / disk.transfer_s(at, 1e6)
    assert model.inner_share * 120e6 * 0.999 <= rate <= 120e6 * 1.001
    assert 1e6 / disk.transfer_s(disk.capacity_bytes - 1e6, 1e6) == pytest.approx(model.inner_share * 120e6, rel=0.01)
    assert hdd_sequential_bytes_per_s(disk, disk.capacity_bytes / 1000) == pytest.approx(120e6, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1, 1 / 5, 1 / 10, 1 / 20, 1 / 40, 1 / 50])
@pytest.mark.parametrize("streams", [10, 15, 20])
def test_many_readers_keep_about_half_of_one_readers_bandwidth_at_every_scale(scale: float, streams: int) -> None:
    """Published: 0.48 with 10 to 20 readers. Here the readers' parts are all over the disk, as HDFS blocks are."""
    device = Device("d", DeviceKind.HDD, 120e6, 120e6, None, None, 500 * 10**9)
    size = request_bytes(device, scale, Disks.MODEL)
    disk = _disk(scale)
    together = hdd_streams_bytes_per_s(disk, disk.capacity_bytes, streams, size, at_once=2)
    assert 0.45 < together / (120e6 * scale) < 0.55


def test_one_reader_has_it_all_and_more_readers_never_more() -> None:
    disk = _disk(1 / 20)
    shares = [hdd_streams_bytes_per_s(disk, 18e6, n, 12288, at_once=2) / disk.read_bytes_per_s for n in (1, 4, 16)]
    assert shares[0] == pytest.approx(1, abs=0.02)
    assert shares[0] > shares[1] > shares[2]


@given(st.integers(1, 64), st.sampled_from([4096, 16384, 65536]))
def test_flash_is_limited_by_latency_then_by_bandwidth_then_by_its_requests(depth: int, size: int) -> None:
    model = default_flash(nvme=False)
    iops = flash_random_iops(model, 500e6, size, depth)
    assert iops <= min(500e6 / size, depth / model.read_latency_s) * 1.001
    assert flash_random_iops(model, 500e6, size, depth, 100) == min(iops, 100)
    assert flash_random_iops(model, 500e6, size, depth + 1) >= iops


def test_a_burst_of_writes_is_fast_until_it_is_used_up() -> None:
    model = FlashModel(burst_write_bytes_per_s=1000e6, burst_bytes=10**9)
    assert flash_written_bytes_per_s(model, 5e6, 0.1, 10**8) == pytest.approx(100e6)
    assert flash_written_bytes_per_s(model, 5e6, 0.1, 2 * 10**8) == pytest.approx(2e8 / 21)
    assert flash_written_bytes_per_s(FlashModel(), 5e6, 0.1, 10**8) == 5e6


def test_the_baselines_expectation_scales_bandwidth_and_not_positioning() -> None:
    device = Device("d", DeviceKind.HDD, 120e6, 60e6, None, None, 10**12)
    how = BaselineSettings(
        span_bytes=10**7, streams=8, stream_request_bytes=12288, random_request_bytes=4096, random_depth=1
    )
    small, large = model_rates(device, 1 / 20, how), model_rates(device, 1 / 10, how)
    assert small.read_bytes_per_s == pytest.approx(6e6, rel=0.01)
    assert small.write_bytes_per_s == pytest.approx(3e6, rel=0.01)
    assert small.random_read_iops == pytest.approx(large.random_read_iops, rel=0.1)
