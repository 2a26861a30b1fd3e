"""Test directories in proportion to bandwidth, and how devices fill under round-robin placement."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.devices.directories import (
    DirectoryUse,
    available_space,
    bandwidth_imbalance,
    bandwidths,
    fill,
    split,
)
from assay.model.clusters.cluster import Device, DeviceKind
from assay.model.clusters.device_baseline import DeviceBaseline, Measurement
from assay.store import Repository
from builders import make_run
from lab_support import SCALE, small_cluster
from program import called as assay
from program import called_json as assay_json

LISA14 = {**{f"hdd{number}": 120e6 for number in range(1, 7)}, "ssd1": 1300e6}
rates = st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), st.integers(1, 50).map(float), min_size=1)
TB = 10**12


def test_lisa14s_ssd_is_split_into_ten_directories() -> None:
    result = split(LISA14, error=0.1, directories_max=16)
    assert result.directories == {**dict.fromkeys(list(LISA14)[:6], 1), "ssd1": 10}
    assert result.imbalance == pytest.approx(1300 / 10 / 120 - 1)
    assert split(LISA14, error=0.02, directories_max=16).directories["ssd1"] == 11


@given(rates, st.sampled_from([0.0, 0.05, 0.1, 0.3]), st.integers(1, 6))
def test_the_split_is_the_smallest_within_the_error_or_the_best_that_is_allowed(
    given_rates: dict[str, float], error: float, most: int
) -> None:
    result = split(given_rates, error=error, directories_max=most)
    every = [
        dict(zip(given_rates, counts, strict=True))
        for counts in itertools.product(range(1, most + 1), repeat=len(given_rates))
    ]
    within = [counts for counts in every if bandwidth_imbalance(given_rates, counts) <= error + 1e-9]
    assert all(1 <= count <= most for count in result.directories.values())
    assert result.imbalance == pytest.approx(bandwidth_imbalance(given_rates, result.directories))
    if within:
        assert result.directories == min(within, key=lambda counts: sum(counts.values()))
    else:
        assert result.imbalance == pytest.approx(min(bandwidth_imbalance(given_rates, counts) for counts in every))


@given(rates, st.integers(1, 9))
def test_twice_the_bandwidth_everywhere_is_the_same_split(given_rates: dict[str, float], factor: int) -> None:
    faster = {name: rate * factor for name, rate in given_rates.items()}
    assert (
        split(faster, error=0.1, directories_max=8).directories
        == split(given_rates, error=0.1, directories_max=8).directories
    )


counts = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers(1, 5), min_size=1)
uses = st.lists(st.builds(DirectoryUse, counts, st.integers(1, 4).map(float)), min_size=1, max_size=2)


@given(uses, st.lists(st.integers(1, 1000), min_size=3, max_size=3), st.floats(0, 2000))
def test_nothing_is_lost_and_no_device_holds_more_than_it_can(
    given_uses: list[DirectoryUse], sizes: list[int], data: float
) -> None:
    capacities = dict(zip("abc", map(float, sizes), strict=True))
    filled = fill(capacities, given_uses)
    used = filled.used_bytes(data, capacities, given_uses)
    stored = min(data, filled.room_bytes)
    assert sum(used.values()) == pytest.approx(stored * sum(use.bytes_per_byte for use in given_uses), abs=1e-6)
    assert all(used[name] <= capacities[name] * (1 + 1e-9) for name in used)
    for name, at in filled.full_after_bytes.items():
        assert at <= filled.room_bytes
        assert filled.used_bytes(at, capacities, given_uses)[name] == pytest.approx(capacities[name])
    assert list(filled.full_after_bytes.values()) == sorted(filled.full_after_bytes.values())
    left = [set(use.directories) - set(filled.full_after_bytes) for use in given_uses]
    assert not all(left), "it ends only when some kind of data has no place left"


def test_a_split_ssd_is_full_long_before_the_other_disks() -> None:
    directories = split(LISA14, error=0.1, directories_max=16).directories
    capacities = {name: float(2 * TB if name != "ssd1" else 1.3 * TB) for name in LISA14}
    filled = fill(capacities, [DirectoryUse(directories, 3), DirectoryUse(directories, 1)])
    assert next(iter(filled.full_after_bytes)) == "ssd1"
    # 10 of 16 directories, 4 bytes for each byte of data: 1.3 TB are full after 520 GB.
    assert filled.full_after_bytes["ssd1"] == pytest.approx(520e9)
    assert filled.room_bytes == pytest.approx(13.3 * TB / 4)


def test_volume_choosing_by_space_steers_away_from_the_smaller_ssd() -> None:
    devices = [
        *(Device(f"hdd{number}", DeviceKind.HDD, 1, 1, None, None, 2 * TB) for number in range(1, 7)),
        Device("ssd1", DeviceKind.SSD, 1, 1, None, None, TB),
    ]
    directories = split(LISA14, error=0.1, directories_max=16).directories
    result = available_space(devices, directories, 1.0)
    assert "ssd1" not in result.preferred
    assert result.shares["ssd1"] == pytest.approx(10 * 0.25 / (6 * 0.75 + 10 * 0.25))
    assert sum(result.shares.values()) == pytest.approx(1)
    alike = available_space(devices[:2], {"hdd1": 1, "hdd2": 3}, 1.0)
    assert (alike.preferred, alike.shares) == ((), {"hdd1": 0.25, "hdd2": 0.75})


def measured(cluster: str = "small") -> DeviceBaseline:
    figures = [("hdd", "read", 10e6), ("hdd", "write", 5e6), ("ssd", "read", 40e6), ("ssd", "write", 40e6)]
    return DeviceBaseline(
        "b",
        cluster,
        "2026-01-01T00:00:00+00:00",
        {},
        tuple(
            Measurement("worker", device, f"sequential_{way}_bytes_per_s", value, None)
            for device, way, value in figures
        ),
    )


def test_baselines_of_a_lab_apply_to_the_described_devices() -> None:
    cluster = small_cluster()
    rates = bandwidths(cluster, measured())
    assert rates["hdd"].measured
    assert rates["hdd"].bytes_per_s == pytest.approx(2 / (1 / 10e6 + 1 / 5e6) / SCALE)
    assert rates["ssd"].bytes_per_s == pytest.approx(40e6 / SCALE)
    assert not bandwidths(cluster, None)["hdd"].measured
    assert bandwidths(cluster, None)["hdd"].bytes_per_s == pytest.approx(120e6)


CLUSTER = """
cluster: small
lab: {scale: 1/10}
node_types:
  body:
    cores: 2
    memory: 4GB
    nic: 1Gbit/s
    devices:
      hdd: {kind: hdd, read: 120MB/s, write: 120MB/s, capacity: 2TB}
      ssd: {kind: ssd, read: 480MB/s, write: 480MB/s, capacity: 1TB}
nodes: {node: {type: body, roles: [master, worker]}}
"""


def test_the_command_prints_a_layout_that_a_plan_takes(tmp_path: Path) -> None:
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(CLUSTER)
    done = assay("layout", "plan", cluster, "--data", "33GB", "--replication", "1")
    pasted = done.stdout[done.stdout.index("layouts:") :]
    assert "hdfs: {hdd1: 1, ssd1: 4}" in pasted
    assert "no baseline was measured" in done.stdout
    assert "ssd1 fills first, after 625 GB of data per node" in done.stderr
    assert "AvailableSpaceVolumeChoosingPolicy" in done.stderr
    plan = tmp_path / "plan.yaml"
    plan.write_text(f"plan: p\ncluster: cluster.yaml\nworkloads: [teragen: {{data: 1GB}}]\nlayout: split\n{pasted}")
    dry = assay("run", plan, "--dry-run", "--repository", tmp_path / "repository")
    assert "layout=split" in dry.stderr + dry.stdout


def test_the_command_takes_a_measured_baseline_and_says_what_does_not_fit(tmp_path: Path) -> None:
    cluster, baseline = tmp_path / "cluster.yaml", tmp_path / "baseline.json"
    cluster.write_text(CLUSTER.replace("node:", "worker:", 1))
    figures = [("hdd1", 10e6), ("ssd1", 90e6)]
    baseline.write_text(
        json.dumps(
            {
                "baseline_id": "b",
                "cluster": "small",
                "measured_at": "2026-01-01",
                "tools": {},
                "measurements": [
                    {
                        "node": "worker",
                        "subject": device,
                        "metric": f"sequential_{way}_bytes_per_s",
                        "value": value,
                        "expected": None,
                        "deviation": None,
                    }
                    for device, value in figures
                    for way in ("read", "write")
                ],
            }
        )
    )
    answer = assay_json(
        "layout", "plan", cluster, "--baseline", baseline, "--hdfs", "hdd1", "--data", "3TB", "--replication", "1"
    )
    assert answer["layout"] == {"hdfs": {"hdd1": 1}, "intermediate": {"hdd1": 1, "ssd1": 9}}
    assert [device["measured"] for device in answer["devices"]] == [True, True]
    assert any("do not fit" in words for words in answer["warnings"])
    assert answer["room_per_node_bytes"] < 3e12
    few = assay_json("layout", "plan", cluster, "--baseline", baseline, "--directories-max", "2")
    assert any("raise --directories-max" in words for words in few["warnings"])


def test_the_newest_baseline_of_the_cluster_is_taken_from_the_runs(tmp_path: Path) -> None:
    cluster, repository = tmp_path / "cluster.yaml", tmp_path / "repository"
    cluster.write_text(CLUSTER)
    runs = Repository.create(repository)
    for number, name, day in ((0, "small", "01"), (1, "small", "03"), (2, "another", "04"), (3, "small", "02")):
        baseline = replace(measured(name), measured_at=f"2026-01-{day}")
        run = replace(make_run(number), cluster=name, baseline_id="b", started_at=f"2026-01-{day}T00:00:00.000+00:00")
        runs.publish(run, files={"baseline.json": msgspec.json.encode(baseline)})
    answer = assay_json("layout", "plan", cluster, "--repository", repository)
    assert answer["bandwidths_from"] == "the baseline of 2026-01-03"
    other = tmp_path / "other.json"
    other.write_bytes(msgspec.json.encode(measured("another")))
    refused = assay("layout", "plan", cluster, "--baseline", other)
    assert "a baseline of 'another', not of 'small'" in refused.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--hdfs", "ssd9"], "--hdfs: unknown device 'ssd9'"),
        (["--data", "33"], "--data: '33' is not a size"),
        (["--baseline", "absent.json"], "the baseline can't be read"),
        (["--hdfs", ","], "a device is needed"),
    ],
)
def test_a_wrong_option_is_refused_with_a_message(tmp_path: Path, options: list[str], words: str) -> None:
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(CLUSTER)
    done = assay("layout", "plan", cluster, *options)
    assert done.returncode == 2
    assert words in done.stderr
