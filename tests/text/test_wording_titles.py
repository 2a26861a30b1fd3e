"""Test the display text of factor levels and intervals."""

from __future__ import annotations

import pytest

from assay.text import layout_text, meanings
from assay.text.ratios import format_interval
from assay.text.titles import level_text, setting_text, settings_text


@pytest.mark.parametrize(
    ("name", "level", "text"),
    [
        ("dfs.blocksize", "67108864", "64 MiB"),
        ("dfs.blocksize", "2147483648", "2 GiB"),
        ("dfs.blocksize", "140000000", "140 MB"),
        ("dfs.blocksize", "64MiB", "64 MiB"),
        ("dfs.blocksize", "0", "0 B"),
        ("io.file.buffer.size", "65536", "64 KiB"),
        ("data_bytes", "1000000000", "1 GB"),
        ("lab_scale", "0.05", "1/20"),
        ("lab_scale", "none", "none: full size"),
        ("workload", "dfsioe_write", "Enhanced DFSIO write"),
        ("mapreduce.map.output.compress.codec", "org.apache.hadoop.io.compress.SnappyCodec", "SnappyCodec"),
    ],
)
def test_a_level_is_shown_in_its_usual_unit(name: str, level: str, text: str) -> None:
    assert level_text(name, level) == text


def test_settings_are_listed_by_name_without_missing_ones() -> None:
    assert setting_text("dfs.blocksize 268435456") == "HDFS block size 256 MiB"
    assert settings_text({"network": "ETH", "terasort.maps": "none"}) == "Network Ethernet"


def test_the_ends_of_an_uninformative_interval_are_bounds() -> None:
    assert format_interval(0.0000001, 56135012.0) == "under 0.01 to over 100"
    assert format_interval(0.002, 40.0) == "under 0.01 to 40"
    assert format_interval(80.0, 160.0) == "80 to 160"
    assert format_interval(1.57, 1.79) == "1.57 to 1.79"
    assert format_interval(1.87, 13.96) == "1.87 to 13.96", "equal decimals"
    assert format_interval(1.2, 250.0) == "1.20 to 250"


def test_two_codes_of_one_layout_have_different_words() -> None:
    assert [layout_text(name) for name in ("R3", "RR3")] == ["3 remote volumes (R3)", "3 remote volumes, as R3 (RR3)"]
    assert meanings(["RR3"])["RR3"] == "3 remote volumes per worker, for everything, as R3"
