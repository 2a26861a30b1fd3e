"""Test layout codes and explicit layouts against a node's devices."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.foundation.errors import SpecificationError
from assay.model.clusters.cluster import Device, DeviceKind, Nic, NodeType
from assay.model.clusters.layout import Directories
from assay.specs import resolve_layout
from assay.specs.layouts import fitting_codes, is_layout_code


def node_type(hdds: int = 0, ssds: int = 0, nvmes: int = 0) -> NodeType:
    counts = {DeviceKind.HDD: hdds, DeviceKind.SSD: ssds, DeviceKind.NVME: nvmes}
    devices = tuple(
        Device(f"{kind}{number}", kind, 1e6, 1e6, None, None, 10**9)
        for kind, count in counts.items()
        for number in range(1, count + 1)
    )
    return NodeType("worker", 1, 10**9, devices, Nic(1e9))


def names(parts: tuple[Directories, ...]) -> list[str]:
    assert all(part.count == 1 for part in parts)
    return [part.device for part in parts]


@pytest.mark.parametrize(
    ("code", "hdfs", "intermediate"),
    [
        ("HDD", ["hdd1"], ["hdd1"]),
        ("HD2", ["hdd1", "hdd2"], ["hdd1", "hdd2"]),
        ("SSD", ["ssd1"], ["ssd1"]),
        ("SS2", ["ssd1", "ssd2"], ["ssd1", "ssd2"]),
        ("HS5", ["hdd1", "hdd2", "hdd3", "hdd4", "hdd5"], ["ssd1"]),
        ("SH2", ["ssd1"], ["hdd1", "hdd2"]),
        ("HY2", ["hdd1", "hdd2", "ssd1"], ["hdd1", "hdd2", "ssd1"]),
        ("NVE", ["nvme1"], ["nvme1"]),
    ],
)
def test_a_layout_code_describes_devices_with_one_directory_each(
    code: str, hdfs: list[str], intermediate: list[str]
) -> None:
    layout = resolve_layout(code, node_type(5, 2, 1))
    assert (layout.name, names(layout.hdfs), names(layout.intermediate)) == (code, hdfs, intermediate)


@settings(deadline=None)
@given(hdds=st.integers(0, 12), ssds=st.integers(0, 12), wanted=st.integers(1, 12))
def test_a_code_resolves_exactly_when_the_node_has_the_disks(hdds: int, ssds: int, wanted: int) -> None:
    kind = node_type(hdds, ssds)
    for code, fits in (
        (f"HD{wanted}", wanted <= hdds),
        (f"SS{wanted}", wanted <= ssds),
        (f"HS{wanted}", wanted <= hdds and ssds),
    ):
        if fits:
            assert len(resolve_layout(code, kind).hdfs) == wanted
        else:
            with pytest.raises(SpecificationError, match="asks for"):
                resolve_layout(code, kind)


def test_the_codes_that_fit_are_listed_as_ranges_and_really_fit() -> None:
    assert fitting_codes(node_type(hdds=12, ssds=1)) == ["HDD", "HD2-HD12", "SSD", "HS1-HS12", "SH1-SH12", "HY1-HY12"]
    assert fitting_codes(node_type(nvmes=1)) == ["NVE"]
    assert fitting_codes(node_type()) == []
    for code in fitting_codes(node_type(2, 2, 1)):
        resolve_layout(code, node_type(2, 2, 1))


@pytest.mark.parametrize("name", ["hd2", "HD0", "HD02", "HD", "SS99999999999", "HS", "NVE2", "HDD2", "", "HD２"])
def test_an_invalid_code_is_unknown(name: str) -> None:
    assert not is_layout_code(name)
    with pytest.raises(SpecificationError, match="unknown layout"):
        resolve_layout(name, node_type(2, 2))


def test_an_explicit_layout_takes_lists_or_directory_counts() -> None:
    layout = resolve_layout({"hdfs": ["hdd1", "hdd2"], "intermediate": {"ssd1": 10}}, node_type(2, 1), name="split")
    assert layout.name == "split"
    assert names(layout.hdfs) == ["hdd1", "hdd2"]
    assert layout.intermediate == (Directories("ssd1", 10),)
    assert layout.devices() == ("hdd1", "hdd2", "ssd1")


def test_an_explicit_layout_needs_known_parts_and_devices() -> None:
    kind = node_type(1)
    with pytest.raises(SpecificationError, match=r"unknown device 'ssd1'.* valid: hdd1"):
        resolve_layout({"hdfs": ["hdd1"], "intermediate": ["ssd1"]}, kind)
    with pytest.raises(SpecificationError, match="intermediate needs a device"):
        resolve_layout({"hdfs": ["hdd1"]}, kind)
    with pytest.raises(SpecificationError, match="unknown key 'tmp'"):
        resolve_layout({"hdfs": ["hdd1"], "tmp": ["hdd1"]}, kind)
    with pytest.raises(SpecificationError, match="1 to 1000 directories"):
        resolve_layout({"hdfs": {"hdd1": 0}, "intermediate": ["hdd1"]}, kind)
