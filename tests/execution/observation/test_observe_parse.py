"""Test the conversion of samples to traces and totals: units, damage, counter resets."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.execution.observation.sampling import parse_samples
from assay.execution.observation.traces import cpu_busy_shares, device_totals
from assay.model.runs.traces.counters import counter_increases, increase
from assay.model.runs.traces.trace import Trace
from builders import words_of

HEADER = {
    "assay_sampler": 1,
    "t": 1000.0,
    "hostname": "h",
    "interval_s": 1.0,
    "cores": 4,
    "ticks_per_s": 100,
    "sources": [],
    "missing": {},
}
SAMPLE = {
    "t": 1002.5,
    "cpu": [100, 20, 30, 400, 50, 6, 4, 8],
    "mem": [8, 4, 6, 2, 1, 0],
    "psi": [1_000_000, 2_000_000, 1_500_000, 0, 250_000],
    "disk": {"sd1": [10, 16, 500, 20, 32, 250, 600, 750, 3, 5]},
    "nic": {"eth0": [123, 456]},
    "cgroup": [3_000_000_000, 11, 12, 13],
}
END = {"end": True, "samples": 1, "cpu_s": 0.001}


def raw_of(*lines: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def parsed(raw: bytes) -> tuple[Trace, list[str]]:
    trace = Trace()
    return trace, [*words_of(parse_samples("w1", raw, 1000.0, trace))]


def test_a_sample_becomes_bytes_and_seconds() -> None:
    trace, warnings = parsed(raw_of(HEADER, SAMPLE, END))
    assert warnings == []
    sample = dict(
        zip(zip(trace.subject, trace.metric, strict=True), zip(trace.value, trace.counter, strict=True), strict=True)
    )
    assert sample == {
        ("cpu", "user_s"): (1.0, True),
        ("cpu", "nice_s"): (0.2, True),
        ("cpu", "system_s"): (0.3, True),
        ("cpu", "idle_s"): (4.0, True),
        ("cpu", "iowait_s"): (0.5, True),
        ("cpu", "irq_s"): (0.1, True),
        ("cpu", "steal_s"): (0.08, True),
        ("cpu", "cores"): (4.0, False),
        ("memory", "total_bytes"): (8192.0, False),
        ("memory", "free_bytes"): (4096.0, False),
        ("memory", "available_bytes"): (6144.0, False),
        ("memory", "cached_bytes"): (2048.0, False),
        ("memory", "dirty_bytes"): (1024.0, False),
        ("memory", "writeback_bytes"): (0.0, False),
        ("pressure", "cpu_some_s"): (1.0, True),
        ("pressure", "io_some_s"): (2.0, True),
        ("pressure", "io_full_s"): (1.5, True),
        ("pressure", "memory_some_s"): (0.0, True),
        ("pressure", "memory_full_s"): (0.25, True),
        ("disk:sd1", "reads"): (10.0, True),
        ("disk:sd1", "read_bytes"): (8192.0, True),
        ("disk:sd1", "read_s"): (0.5, True),
        ("disk:sd1", "writes"): (20.0, True),
        ("disk:sd1", "write_bytes"): (16384.0, True),
        ("disk:sd1", "write_s"): (0.25, True),
        ("disk:sd1", "busy_s"): (0.6, True),
        ("disk:sd1", "queue_s"): (0.75, True),
        ("disk:sd1", "read_merges"): (3.0, True),
        ("disk:sd1", "write_merges"): (5.0, True),
        ("nic:eth0", "receive_bytes"): (123.0, True),
        ("nic:eth0", "transmit_bytes"): (456.0, True),
        ("cgroup", "cpu_s"): (3.0, True),
        ("cgroup", "memory_bytes"): (11.0, False),
        ("cgroup", "cache_bytes"): (12.0, False),
        ("cgroup", "rss_bytes"): (13.0, False),
    }
    assert set(trace.t_s) == {2.5}


def test_samples_of_older_versions_have_no_merges() -> None:
    trace, warnings = parsed(raw_of(HEADER, SAMPLE | {"disk": {"sd1": [10, 16, 500, 20, 32, 250, 600, 750]}}, END))
    assert warnings == []
    assert {"reads", "queue_s"} <= set(trace.metric)
    assert "read_merges" not in trace.metric


@given(cut=st.integers(min_value=0, max_value=len(raw_of(HEADER, SAMPLE, SAMPLE, END))))
def test_lines_that_end_anywhere_give_whole_samples_and_a_warning(cut: int) -> None:
    lines = raw_of(HEADER, SAMPLE, SAMPLE, END)
    trace, warnings = parsed(lines[:cut])
    assert len(trace) % 35 == 0
    assert len(trace) // 34 == lines[:cut].count(b'"cgroup": [3000000000, 11, 12, 13]}')
    assert bool(warnings) == (cut < len(lines) - 1)


@given(st.binary(max_size=300))
def test_no_bytes_raise_an_exception(raw: bytes) -> None:
    assert parsed(raw)[1]


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda c: st.lists(c) | st.dictionaries(st.text(), c)
    )
)
def test_no_json_raises_an_exception_or_leaves_half_a_sample(value: Any) -> None:
    damaged = {**SAMPLE, "disk": {"sd1": value}}
    trace, warnings = parsed(raw_of(HEADER, damaged, SAMPLE, END))
    assert len(trace) == 35
    assert warnings == ["w1: 1 lines of the sampler are damaged and left out"]


def test_missing_and_lost_sources_and_a_wrong_clock_are_warnings() -> None:
    header = {**HEADER, "missing": {"psi": "not in this kernel"}}
    lost = {"t": 1003.0, "lost": {"cgroup": "No such device"}}
    _, warnings = parsed(raw_of(header, SAMPLE, lost, END, {"clock_ahead_s": -12.34}))
    assert warnings == [
        "w1: psi was not observed: not in this kernel",
        "w1: cgroup was not observed until the end: No such device",
        "w1: its clock is 12.3 s behind ours; its trace is shifted",
    ]


POINTS = st.lists(st.tuples(st.floats(0.01, 10), st.floats(0, 1e6)), min_size=2, max_size=20).map(
    lambda steps: [
        (sum(dt for dt, _ in steps[: i + 1]), sum(dv for _, dv in steps[: i + 1])) for i in range(len(steps))
    ]
)


@given(POINTS)
def test_over_everything_the_increase_is_last_minus_first(points: list[tuple[float, float]]) -> None:
    assert increase(points, -1.0, 1e9) == pytest.approx(points[-1][1] - points[0][1], abs=1e-6)


@given(POINTS, st.floats(0, 1))
def test_increases_of_adjoining_intervals_add_up(points: list[tuple[float, float]], share: float) -> None:
    start, end = points[0][0], points[-1][0]
    middle = start + share * (end - start)
    parts = (increase(points, start, middle) or 0.0) + (increase(points, middle, end) or 0.0)
    assert parts == pytest.approx(increase(points, start, end), rel=1e-6, abs=1e-3)


def test_a_counter_that_was_set_to_zero_counts_from_zero() -> None:
    assert increase([(0, 100), (1, 150), (2, 30), (3, 40)], 0, 3) == 90


def test_an_interval_without_samples_is_unknown() -> None:
    assert increase([(0, 1), (1, 2)], 5, 6) is None
    assert increase([(0, 1)], 0, 1) is None
    assert increase([], 0, 1) is None


def test_half_an_interval_gets_half_the_increase() -> None:
    assert increase([(0, 0), (10, 100)], 2.5, 7.5) == 50


def test_device_totals_add_nodes_and_devices_and_omit_unobserved_ones() -> None:
    trace = Trace()
    for t_s in (0.0, 10.0):
        for node, disk in (("a", "disk:d1"), ("a", "disk:d2"), ("b", "disk:d1")):
            trace.append(t_s, node, disk, "read_bytes", counter=True, value=100 + t_s * 5)
            trace.append(t_s, node, disk, "reads", counter=True, value=t_s)
        trace.append(t_s, "a", "memory", "free_bytes", counter=False, value=t_s)
    assert device_totals(trace, 0, 10) == {"disk_read_bytes": 150}
    assert counter_increases(trace, 0, 10, ["b"]) == {("b", "disk:d1", "read_bytes"): 50, ("b", "disk:d1", "reads"): 10}


def test_the_cpu_is_busy_with_user_system_interrupts_and_stolen_time() -> None:
    trace = Trace()
    increases_s = {"user_s": 3.0, "system_s": 1.0, "irq_s": 0.5, "steal_s": 0.5, "idle_s": 3.0, "iowait_s": 2.0}
    for t_s in (0.0, 5.0):
        for metric, increase_s in increases_s.items():
            trace.append(t_s, "a", "cpu", metric, counter=True, value=1000 + increase_s * t_s / 5)
    assert cpu_busy_shares(trace, ["a"], 0, 5).get("a") == pytest.approx(0.5)
    assert cpu_busy_shares(trace, ["b"], 0, 5).get("b") is None


def test_nice_time_does_not_count_as_busy_cpu() -> None:
    trace = Trace()
    for second, ticks in enumerate(([0] * 8, [100, 200, 0, 100, 0, 0, 0, 0])):  # user 1 s, nice 2 s, idle 1 s
        sample = {"t": float(second), "cpu": ticks}
        assert parse_samples("n", raw_of(HEADER, sample, END), 0.0, trace) == []
    assert cpu_busy_shares(trace, ["n"], 0, 1).get("n") == pytest.approx(0.25)
