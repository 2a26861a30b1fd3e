"""Test the relative speed of cores: the arithmetic, and the script on this machine."""

from __future__ import annotations

import pytest

from assay.execution.hosts import LocalTransport
from assay.execution.observation import core_speed
from assay.execution.observation.core_speed import REFERENCE_S, core_speeds
from assay.execution.observation.core_speed import core_speed as speed_of
from assay.foundation.errors import HostError


def test_the_speed_is_the_mean_over_kinds_of_work_and_the_quickest_round_of_each_counts() -> None:
    speed = speed_of("n", {name: [9.0, time_s / 2, time_s] for name, time_s in REFERENCE_S.items()})
    assert (speed.speed, speed.low, speed.high) == pytest.approx((2.0, 2.0, 2.0))


def test_kinds_of_work_that_differ_widen_the_interval() -> None:
    took = dict(REFERENCE_S)
    took["sort"] *= 2
    speed = speed_of("n", {name: [time_s] for name, time_s in took.items()})
    assert speed.by_work["sort"] == pytest.approx(0.5)
    assert speed.speed == pytest.approx(0.5**0.25)
    # By hand: logs (-0.693, 0, 0, 0) have the deviation 0.347; t with 3 degrees is 2.353; 2.353 * 0.347 / 2 = 0.408.
    assert speed.high / speed.speed == pytest.approx(1.503, abs=0.002)
    assert speed.speed / speed.low == pytest.approx(1.503, abs=0.002)


def test_a_host_without_a_readable_clock_is_named() -> None:
    with pytest.raises(HostError, match=r"n: core_work.*sort"):
        speed_of("n", {name: [0.0 if name == "sort" else 1.0] for name in REFERENCE_S})


async def test_the_script_runs_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_speed, "ROUNDS", 1)
    [speed] = await core_speeds({"here": LocalTransport("here")})
    assert speed.node == "here"
    assert set(speed.by_work) == set(REFERENCE_S)
    assert 0.01 < speed.low <= speed.speed <= speed.high < 100
