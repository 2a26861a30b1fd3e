"""Test ALOJA's codes as its scripts define them."""

from __future__ import annotations

import pytest

from assay.model.clusters.layout_code import devices_of_code
from assay.store.formats.aloja import codes


@pytest.mark.parametrize(
    ("code", "words", "devices"),
    [
        ("HDD", "HDFS and intermediate data on one hard disk", {"hdd": 1}),
        ("SSD", "HDFS and intermediate data on one SSD", {"ssd": 1}),
        ("NVE", "HDFS and intermediate data on one NVMe drive", {"nvme": 1}),
        ("NFS", "HDFS and intermediate data on one NFS mount", {"remote": 1}),
        ("HD5", "HDFS on 5 hard disks, intermediate data on the first of them", {"hdd": 5}),
        ("HD10", "HDFS on 10 hard disks, intermediate data on the first of them", {"hdd": 10}),
        ("SS2", "HDFS on 2 SSDs, intermediate data on the first of them", {"ssd": 2}),
        ("HS5", "HDFS on 5 hard disks, intermediate data on one SSD", {"hdd": 5, "ssd": 1}),
        ("RR1", "HDFS on 1 remote volume, intermediate data on the first of them", {"remote": 1}),
        ("R3", "HDFS on 3 remote volumes, intermediate data on the first of them", {"remote": 3}),
        ("RL2", "HDFS on 2 remote volumes, intermediate data on one local hard disk", {"remote": 2, "hdd": 1}),
        ("RS6", "HDFS on 6 remote volumes, intermediate data on one local SSD", {"remote": 6, "ssd": 1}),
        ("HN10", "HDFS on 10 hard disks, intermediate data on one NVMe drive", {"hdd": 10, "nvme": 1}),
        ("RAM", "HDFS and intermediate data on a RAM disk", None),
        ("ST2", None, None),
        ("HD0", None, None),
        ("", None, None),
    ],
)
def test_disk_codes_give_the_kind_and_number_of_devices_for_data(
    code: str, words: str | None, devices: dict[str, int] | None
) -> None:
    assert codes.layout_description(code) == words
    assert devices_of_code(code) == (devices or {})


@pytest.mark.parametrize(("code", "name"), [("HS3", "HS3"), (" SSD ", "SSD"), ("0", ""), ("NULL", ""), ("", "")])
def test_a_code_is_the_layouts_and_the_networks_name_and_0_is_none(code: str, name: str) -> None:
    assert codes.layout_name(code) == name
    assert codes.network(code) == name


@pytest.mark.parametrize(("code", "codec"), [("1", "DefaultCodec"), ("3", "SnappyCodec"), ("Cmp3", "SnappyCodec")])
def test_compression_codes_name_the_codec(code: str, codec: str) -> None:
    parameters = codes.parameters({"comp": code})
    assert parameters == {codes.COMPRESS: "true", codes.CODEC: f"org.apache.hadoop.io.compress.{codec}"}


@pytest.mark.parametrize("code", ["2", "Cmp2", "BZIP2", "lzo"])
def test_compression_2_is_lzo_although_the_page_differs(code: str) -> None:
    parameters = codes.parameters({"comp": code})
    assert parameters == {codes.COMPRESS: "true", codes.CODEC: "com.hadoop.compression.lzo.LzoCodec"}


@pytest.mark.parametrize("code", ["0", "Cmp0", "None"])
def test_compression_0_is_off_and_names_no_codec(code: str) -> None:
    assert codes.parameters({"comp": code}) == {codes.COMPRESS: "false"}


def test_columns_become_one_current_parameter_each_in_hadoops_units() -> None:
    row = {"maps": "12", "iosf": "10", "replication": "3", "iofilebuf": "65536", "blk_size": "64"}
    assert codes.parameters(row) == {
        "mapreduce.tasktracker.map.tasks.maximum": "12",
        "mapreduce.task.io.sort.factor": "10",
        "dfs.replication": "3",
        "io.file.buffer.size": "65536",
        "dfs.blocksize": "67108864",
    }


@pytest.mark.parametrize(
    ("cell", "mib"), [("134", 128), ("67", 64), ("268", 256), ("536", 512), ("537", 512), ("1073", 1024), ("128", 128)]
)
def test_a_block_size_in_decimal_megabytes_is_the_one_in_mib_that_it_means(cell: str, mib: int) -> None:
    assert codes.parameters({"blk_size": cell}) == {"dfs.blocksize": str(mib * 2**20)}


def test_absent_or_zero_values_are_unknown() -> None:
    assert codes.parameters({"blk_size": "0", "maps": "NULL", "iosf": "", "comp": "NA"}) == {}


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("maps", "-4", "not a whole number"),
        ("maps", "twelve", "not a whole number"),
        ("iosf", "1.5", "not a whole number"),
        ("replication", "1000", "more than the maximum of 512"),
        ("blk_size", "67108864", "more than the maximum of 1048576"),
        ("iofilebuf", "9" * 30, "not a whole number"),
        ("comp", "7", "not one of ALOJA's codes"),
    ],
)
def test_an_ambiguous_value_is_refused_with_the_reason(column: str, value: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        codes.parameters({column: value})


def test_the_folders_letter_and_the_databases_word_are_one_suite() -> None:
    assert codes.suite("b") == codes.suite("HiBench") == "HiBench"
    assert codes.suite("HiBench-1TB") == "HiBench-1TB"
    assert codes.suite("NULL") == ""
