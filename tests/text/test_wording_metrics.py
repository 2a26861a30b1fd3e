"""Test that a metric has the same text everywhere, with the unit from its name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.foundation.units import format_bytes, parse_bytes
from assay.text.metrics import METRIC_GROUPS, UNITS, metric_group, metric_text, metric_title


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("job_throughput_mb_per_s", 7.0, ("job throughput", "7 MB/s")),
        ("throughput_mib_per_s", 1234.56, ("throughput", "1,234.6 MiB/s")),
        ("link_bits_per_s", 1e9, ("link", "1 Gbit/s")),
        ("disk_read_bytes_per_s", 1.2e8, ("disk read", "120 MB/s")),
        ("disk_read_bytes_per_request", 31_440.0, ("disk read request", "31.4 kB")),
        ("disk_write_await_ms", 236.2, ("disk write await", "236.2 ms")),
        ("exec_time_s", 12.345, ("exec time", "12.35 s")),
        ("exec_time_s", 12_345.67, ("exec time", "12,345.7 s")),
        ("gc_share", 0.00495, ("gc share", "0.495 %")),
        ("random_read_iops", 120.4, ("random read", "120 IOPS")),
        ("sorted_records_per_s", 2e6, ("sorted", "2,000,000 records/s")),
        ("spilled_records", 2e6, ("spilled records", "2,000,000")),
        ("tasks", 6.0, ("tasks", "6")),
        ("spill_ratio", 1.03125, ("spill ratio", "1.031")),
        ("started_unix_s", 1_795_632_225.3, ("start time (UTC)", "2026-11-25 18:43:45")),
    ],
)
def test_a_metrics_unit_follows_from_its_name(name: str, value: float, text: tuple[str, str]) -> None:
    assert metric_text(name, value) == text


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("duration_s", "Run time (s)"),
        ("started_unix_s", "Start time (UTC)"),
        ("disk_read_bytes_per_request", "Disk read request (bytes)"),
        ("job_throughput_mb_per_s", "Job throughput (MB/s)"),
        ("cpu_busy_share", "CPU busy share (0 to 1)"),
        ("spilled_records", "Spilled records"),
    ],
)
def test_a_metrics_title_has_the_unit_of_its_recorded_values(name: str, title: str) -> None:
    assert metric_title(name) == title


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("phase_map_s", "time"),
        ("job_throughput_mb_per_s", "throughput"),
        ("gated_aggregate_slots", "throughput"),
        ("gc_s", "CPU"),
        ("cpu_busy_share", "CPU"),
        ("disk_read_await_ms", "disks"),
        ("intermediate_disk_write_bytes", "disks"),
        ("nic_receive_bytes", "network"),
        ("map_stragglers", "tasks"),
        ("hdfs_read_bytes", "data"),
        ("clock_offset_max_ms", "clocks"),
        ("what_somebody_called_it", "other"),
    ],
)
def test_metrics_stand_by_what_they_are_of(name: str, group: str) -> None:
    assert metric_group(name) == group
    assert group in METRIC_GROUPS


def test_no_ending_hides_a_longer_one() -> None:
    endings = list(UNITS)
    assert [end for i, end in enumerate(endings) for other in endings[:i] if end.endswith(other)] == []


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (999.4, "999 B"),
        (999.6, "1 kB"),
        (999.9e6, "1 GB"),
        (1.5e9, "1.5 GB"),
        (9.994e14, "999 TB"),
        (9.996e14, "1 PB"),
        (1.2e15, "1.2 PB"),
        (-2e15, "-2 PB"),
        (9.99e17, "999 PB"),
        (2e18, "2 EB"),
    ],
)
def test_a_size_that_rounds_up_to_a_thousand_takes_the_next_prefix(size_bytes: float, text: str) -> None:
    assert format_bytes(size_bytes) == text


@given(st.integers(0, 999_000_000_000_000_000))
def test_a_printed_size_is_read_back_with_three_significant_digits(size_bytes: int) -> None:
    assert abs(parse_bytes(format_bytes(size_bytes)) - size_bytes) <= 0.005 * size_bytes
