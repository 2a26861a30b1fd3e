"""Test the share of CPU time in a trace."""

from __future__ import annotations

import pytest

from assay.execution.observation.traces import cpu_busy_shares
from assay.model.runs.traces.trace import Trace


def _trace(**seconds: float) -> Trace:
    trace = Trace()
    for at in (0.0, 10.0):
        for metric, value in seconds.items():
            trace.append(at, "worker1", "cpu", f"{metric}_s", counter=True, value=value * at / 10)
    return trace


def test_waiting_for_disks_and_low_priority_are_free_and_a_hypervisors_share_is_not() -> None:
    trace = _trace(user=3, system=1, irq=0.5, steal=0.5, iowait=5, idle=4, nice=6)
    assert cpu_busy_shares(trace, ["worker1"], 0.0, 10.0).get("worker1") == pytest.approx(5 / 20)


def test_a_node_whose_cpu_was_not_seen_has_no_share() -> None:
    assert cpu_busy_shares(_trace(user=3, idle=1), ["worker2"], 0.0, 10.0).get("worker2") is None
