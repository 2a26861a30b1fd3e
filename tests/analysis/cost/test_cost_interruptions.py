"""Test the mean time of jobs that interruptions restart, against a simulation of interruptions."""

import math

import numpy as np
import pytest

from assay.analysis.cost.interruptions import HOUR_S, mean_time_with_restarts_s


def test_the_mean_is_that_of_simulated_interruptions() -> None:
    """Interruptions of ten instances come at random times until the job has run for two hours without any."""
    random = np.random.default_rng(4)
    time_s, instances, probability = 2 * HOUR_S, 10, 0.04
    rate = -instances * math.log(1 - probability) / HOUR_S
    total_s = []
    for _ in range(4000):
        passed_s = 0.0
        while (lost_s := random.exponential(1 / rate)) < time_s:
            passed_s += lost_s
        total_s.append(passed_s + time_s)
    assert mean_time_with_restarts_s(time_s, instances, probability) == pytest.approx(np.mean(total_s), rel=0.05)


def test_without_interruptions_the_time_is_unchanged_and_hopeless_jobs_never_end() -> None:
    assert mean_time_with_restarts_s(100.0, 5, 0.0) == 100.0
    assert mean_time_with_restarts_s(1e6 * HOUR_S, 1000, 0.5) == math.inf
