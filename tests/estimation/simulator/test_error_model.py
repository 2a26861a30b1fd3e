"""Test the model of the simulator's errors: what a measured run says about another run."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.estimation.simulator.error_model import DrawCovariance, correction, sigma_of, similarity, time_shares

_SHARES = st.dictionaries(st.sampled_from(["cpu", "hdd", "flash", "network", "fixed"]), st.floats(0.01, 1), min_size=1)


def test_a_miss_corrects_what_the_same_resource_limits() -> None:
    disks, cpu = {"hdd": 0.8, "fixed": 0.2}, {"cpu": 0.8, "fixed": 0.2}
    alike, other = correction(disks, disks, 0.3), correction(disks, cpu, 0.3)
    assert alike.factor == pytest.approx(math.exp(0.3))
    assert correction(disks, disks, 0.3, alike=0.0).factor == pytest.approx(1.33, abs=0.04)  # without the remainder
    assert other.factor == pytest.approx(1.0, abs=0.02)
    assert alike.sigma < sigma_of(disks)
    assert correction(disks, disks, 0.0).factor == 1.0


@given(_SHARES, _SHARES, st.floats(1, 1e4), st.floats(1, 1e4))
def test_similarity_is_a_correlation(
    before: dict[str, float], after: dict[str, float], before_s: float, after_s: float
) -> None:
    alike = similarity(before, after, before_s, after_s)
    assert 0 <= alike <= 1
    assert similarity(before, before, before_s, before_s) == pytest.approx(1)
    assert similarity(after, before, after_s, before_s) == pytest.approx(alike)


@given(_SHARES, st.floats(-0.5, 0.5), st.floats(0, 0.1), st.floats(0, 0.1))
def test_a_run_that_no_change_alters_keeps_its_measured_time(
    shares: dict[str, float], log_error: float, mean_sigma: float, drawn: float
) -> None:
    """The answer has no step between no change and a change without effect, and keeps the spread of the mean."""
    corrected = correction(shares, shares, log_error, mean_sigma, DrawCovariance(drawn, drawn, drawn))
    assert math.log(corrected.factor) == pytest.approx(log_error, abs=1e-9)
    assert corrected.sigma == pytest.approx(mean_sigma, abs=1e-6)


def test_shares_of_the_time_add_up() -> None:
    shares = time_shares({"cpu": 0.5, "disk:dfs": 0.3, "disk:intermediate": 0.2}, 5.0, 20.0, {"dfs": "hdd"})
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["fixed"] == pytest.approx(0.25)


def test_errors_common_to_both_sides_cancel_only_as_far_as_the_answer_is_corrected() -> None:
    """A measured run that waits for disks does not reduce the uncertainty about the CPU of a run limited by CPU."""
    disks, cpu = {"hdd": 1.0}, {"cpu": 1.0}
    alone = correction(disks, cpu, 0.3)
    doubted = correction(disks, cpu, 0.3, drawn=DrawCovariance(0.0, 0.01, 0.0))
    assert doubted.sigma**2 == pytest.approx(alone.sigma**2 + 0.01)
    assert doubted.factor == alone.factor
    both = correction(cpu, cpu, 0.3, drawn=DrawCovariance(1.0, 1.0, 1.0))
    assert both.factor == pytest.approx(math.exp(0.3), rel=0.01)
    assert both.sigma < 0.2  # narrowed by the measured run
