"""Test layout codes: one grammar for plans, imports, prices, colours and claims."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.model.clusters.layout_code import (
    devices_of_code,
    devices_of_text,
    devices_text,
    parse_code,
    parse_name,
    parse_prefix,
)


@pytest.mark.parametrize(
    ("code", "devices", "hdfs", "intermediate"),
    [
        ("HDD", {"hdd": 1}, ("hdd",), ("hdd",)),
        ("HD5", {"hdd": 5}, ("hdd",), ("hdd",)),
        ("HD100", {"hdd": 100}, ("hdd",), ("hdd",)),
        ("SSD", {"ssd": 1}, ("ssd",), ("ssd",)),
        ("SS2", {"ssd": 2}, ("ssd",), ("ssd",)),
        ("NVE", {"nvme": 1}, ("nvme",), ("nvme",)),
        ("HS5", {"hdd": 5, "ssd": 1}, ("hdd",), ("ssd",)),
        ("SH11", {"hdd": 11, "ssd": 1}, ("ssd",), ("hdd",)),
        ("HY4", {"hdd": 4, "ssd": 1}, ("hdd", "ssd"), ("hdd", "ssd")),
        ("HN10", {"hdd": 10, "nvme": 1}, ("hdd",), ("nvme",)),
        ("RR3", {"remote": 3}, ("remote",), ("remote",)),
        ("R2", {"remote": 2}, ("remote",), ("remote",)),
        ("RL1", {"remote": 1, "hdd": 1}, ("remote",), ("hdd",)),
        ("RS2", {"remote": 2, "ssd": 1}, ("remote",), ("ssd",)),
        ("NFS", {"remote": 1}, ("remote",), ("remote",)),
        ("NFS2", {"remote": 2, "hdd": 1}, ("remote",), ("hdd",)),
    ],
)
def test_a_layout_code_determines_the_devices_and_their_data(
    code: str, devices: dict[str, int], hdfs: tuple[str, ...], intermediate: tuple[str, ...]
) -> None:
    layout = parse_code(code)
    assert layout
    assert (layout.devices, layout.hdfs, layout.intermediate) == (devices, hdfs, intermediate)
    assert str(layout) == code
    assert parse_name(code) == layout
    assert devices_of_code(code) == devices


@pytest.mark.parametrize("name", ["", "hdd", "HD0", "HD01", "HD1000", "HS", "R", "HDx", "XX5", "HDFS-on-NVMe", "all"])
def test_another_name_is_no_code(name: str) -> None:
    assert parse_code(name) is None
    assert devices_of_code(name) == {}


@pytest.mark.parametrize(
    ("name", "devices"),
    [
        ("HDD-11", {"hdd": 11}),
        ("All-HDD", {"hdd": None}),
        ("all-ssd", {"ssd": None}),
        ("Hybrid", {"hdd": None, "ssd": 1}),
        ("NVMe", {"nvme": 1}),
        ("hd2", {"hdd": 2}),
    ],
)
def test_the_papers_spellings_are_known(name: str, devices: dict[str, int | None]) -> None:
    layout = parse_name(name)
    assert layout
    assert layout.devices == devices


@pytest.mark.parametrize("name", ["HDFS-on-NVMe", "HDD-on-NVMe", "HDFS", "hardware", "remote", "R", "SSDs", "shared"])
def test_a_name_that_only_begins_like_a_layout_code_has_no_devices(name: str) -> None:
    assert parse_name(name) is None


def test_text_after_a_code_is_kept_separately() -> None:
    layout = parse_prefix("HD5, replication 1")
    assert layout
    assert (str(layout[0]), layout[1]) == ("HD5", ", REPLICATION 1")


@given(st.text(max_size=20))
def test_no_name_is_a_traceback(name: str) -> None:
    layout = parse_prefix(name)
    assert layout is None or devices_of_text(devices_text(layout[0].devices)) == layout[0].devices


@given(st.dictionaries(st.sampled_from(["hdd", "ssd", "nvme", "remote"]), st.none() | st.integers(1, 999)))
def test_devices_as_text_are_read_back(devices: dict[str, int | None]) -> None:
    assert devices_of_text(devices_text(devices)) == devices
