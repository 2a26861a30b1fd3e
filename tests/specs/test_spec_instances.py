"""Test tables of instance types: the shipped one, exact values, and errors with file and line."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.foundation.errors import SpecificationError
from assay.model import DeviceKind
from assay.model.clusters.instance_type import LocalDisks, node_type_name
from assay.specs.instances import COLUMNS, load_instances, parse_instances
from paths import ROOT

LINE = "aws,i4i.2xlarge,x86_64,Intel,3.5,4,8,65536,0,nvme,1,1875,4.687,12,312.5,1250,10000,40000,no,yes,moto 5.2.5"
HEADER = ",".join(COLUMNS)


def _with(column: str, value: str) -> str:
    cells = LINE.split(",")
    cells[COLUMNS.index(column)] = value
    return f"{HEADER}\n{','.join(cells)}\n"


def test_a_line_becomes_hardware_in_base_units() -> None:
    (instance,) = parse_instances(f"{HEADER}\n{LINE}\n", "t.csv")
    assert instance.name == "i4i.2xlarge"
    assert instance.family == "i4i"
    assert instance.memory_bytes == 64 * 2**30
    assert instance.disks == LocalDisks(DeviceKind.NVME, 1, 1875 * 10**9)
    assert instance.network_bits_per_s == pytest.approx(4.687e9)
    assert instance.volume_burst_bytes_per_s == pytest.approx(1.25e9)
    assert instance.clock_hz == pytest.approx(3.5e9)
    assert not instance.burstable
    assert instance.current_generation


def test_the_shipped_table_has_amazons_types() -> None:
    instances = load_instances(ROOT / "examples/instances/aws.csv")
    assert len(instances) == 1386
    assert sum(instance.disks is not None for instance in instances) == 577
    assert {instance.architecture for instance in instances} == {"x86_64", "arm64"}
    by_name = {instance.name: instance for instance in instances}
    assert by_name["d3.8xlarge"].disks == LocalDisks(DeviceKind.HDD, 24, 1980 * 10**9)
    assert by_name["t3.large"].burstable
    names = {node_type_name(instance.name) for instance in instances}
    assert len(names) == len(instances)


def test_an_optional_cell_may_be_empty() -> None:
    (instance,) = parse_instances(_with("network_gbit_per_s", ""), "t.csv")
    assert instance.network_bits_per_s is None


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("architecture", "riscv", "unknown architecture"),
        ("cores", "many", "not a number"),
        ("cores", "1.5", "not a whole number"),
        ("cores", "-1", "not a plausible value"),
        ("memory_mib", "", "not a number"),
        ("clock_ghz", "nan", "not a plausible value"),
        ("network_gbit_per_s", "inf", "not a plausible value"),
        ("disks", "0", "state all three, or none"),
        ("disk_kind", "tape", "unknown disk_kind"),
        ("instance_type", "", "is empty"),
        ("source", "a,b", "22 cells, but 21 columns"),
    ],
)
def test_a_mistake_has_file_and_line(column: str, value: str, words: str) -> None:
    with pytest.raises(SpecificationError, match=words) as caught:
        parse_instances(_with(column, value), "t.csv")
    assert caught.value.where == "t.csv:2"


def test_missing_columns_and_double_types_are_refused() -> None:
    with pytest.raises(SpecificationError, match="missing columns: cores"):
        parse_instances(HEADER.replace(",cores,", ",") + "\n", "t.csv")
    with pytest.raises(SpecificationError, match="given twice"):
        parse_instances(f"{HEADER}\n{LINE}\n{LINE}\n", "t.csv")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(SpecificationError, match="not UTF-8"):
        load_instances(file)
    with pytest.raises(SpecificationError, match="cannot be read"):
        load_instances(tmp_path / "absent.csv")


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused_with_a_message(text: str) -> None:
    for whole in (text, f"{HEADER}\n{text}"):
        with contextlib.suppress(SpecificationError):
            parse_instances(whole, "t.csv")


@pytest.mark.parametrize(
    ("name", "node_type"), [("i4i.2xlarge", "i4i-2xlarge"), ("Standard_D4s_v5", "standard-d4s-v5"), ("a2", "a2")]
)
def test_names_become_host_names(name: str, node_type: str) -> None:
    assert node_type_name(name) == node_type
