"""Test the reader of fio and iperf3 reports."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.foundation.errors import FormatError
from assay.store.formats.bare.fio import parse_fio
from assay.store.formats.bare.iperf3 import parse_iperf3

rate = st.floats(0, 1e12)
count = st.integers(0, 2**50)
json_value = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "fio version",
                    "jobs",
                    "jobname",
                    "read",
                    "write",
                    "bw",
                    "start",
                    "end",
                    "sum_sent",
                    "sum_received",
                    "seconds",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(st.tuples(st.text(max_size=8), count, count, rate), max_size=4))
def test_every_job_of_a_fio_report_is_read(jobs: list[tuple[str, int, int, float]]) -> None:
    report = {
        "fio version": "fio-3.33",
        "jobs": [
            {
                "jobname": name,
                "error": 0,
                "elapsed": 4,
                "read": {"io_bytes": size, "bw_bytes": speed, "bw": 1, "iops": iops},
                "write": {"io_bytes": 0, "bw_bytes": 0, "bw": 0, "iops": 0.0},
            }
            for name, size, speed, iops in jobs
        ],
    }
    parsed = parse_fio(json.dumps(report, indent=2).encode())
    assert parsed.version == "fio-3.33"
    assert [(j.name, j.read.io_bytes, j.read.bytes_per_s, j.read.iops) for j in parsed.jobs] == jobs


def test_an_old_fio_gives_kibibytes_per_second() -> None:
    job = {"jobname": "a", "read": {"io_bytes": 4, "bw": 100, "iops": 1.5}, "write": {}}
    parsed = parse_fio(json.dumps({"fio version": "fio-2.2", "jobs": [job]}).encode())
    assert parsed.job("a").read.bytes_per_s == 102400
    with pytest.raises(FormatError, match="no job b"):
        parsed.job("b")


def test_a_report_of_the_installed_fio_with_a_note_before_it_is_read(tmp_path: Path) -> None:
    argv = [
        "fio",
        "--output-format=json",
        "--thread",
        "--name=w",
        f"--filename={tmp_path}/x",
        "--size=1m",
        "--rw=write",
    ]
    try:
        report = subprocess.run(argv, capture_output=True, check=True, timeout=30).stdout
    except FileNotFoundError:
        pytest.skip("fio is not installed")
    for text in (report, b"note: both iodepth >= 1 and synchronous I/O engine are selected\n" + report):
        job = parse_fio(text).job("w")
        assert (job.error, job.write.io_bytes, job.read.io_bytes) == (0, 2**20, 0)
        assert job.write.bytes_per_s > 0


@given(rate, rate, st.floats(0.1, 100))
def test_the_sums_of_an_iperf3_report_are_read(sent: float, received: float, duration_s: float) -> None:
    report = {
        "start": {"version": "iperf 3.12", "connected": []},
        "intervals": [],
        "end": {
            "sum_sent": {"seconds": duration_s, "bits_per_second": sent, "retransmits": 7, "sender": True},
            "sum_received": {"seconds": duration_s, "bits_per_second": received, "sender": True},
        },
    }
    parsed = parse_iperf3(json.dumps(report).encode())
    assert (parsed.sent_bits_per_s, parsed.received_bits_per_s) == (sent, received)
    assert (parsed.version, parsed.duration_s, parsed.retransmits) == ("iperf 3.12", duration_s, 7)


def test_a_failure_of_iperf3_is_reported_with_its_message() -> None:
    try:
        argv = ["iperf3", "--client", "127.0.0.1", "--port", "1", "--json"]
        report = subprocess.run(argv, capture_output=True, check=False, timeout=30).stdout
    except FileNotFoundError:
        pytest.skip("iperf3 is not installed")
    with pytest.raises(FormatError, match=r"iperf3 failed: .*refused"):
        parse_iperf3(report)


@given(st.binary(max_size=200) | json_value.map(lambda value: json.dumps(value).encode()))
def test_content_that_is_no_report_is_a_format_error(content: bytes) -> None:
    for parse in (parse_fio, parse_iperf3):
        try:
            parse(content)
        except FormatError:
            continue
        # Only an object can be a report, and fio's has a version.
        assert content.lstrip().startswith(b"{")
