"""Test the detection of changes over time: found, dated, sized, and rare on stable histories."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.analysis.changes import (
    ALPHA,
    FALSE_SHARE_MAX,
    RAISED_MAX,
    NullStatistic,
    change_positions,
    changes_of,
    correlation_of,
    histories,
    null_distribution_of,
)
from assay.analysis.statistics.runs.run_table import table_of
from benchmark_support import benchmark
from builders import make_run


def history(levels: list[tuple[int, float]], seed: int = 1) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return np.concatenate([level * np.exp(rng.normal(0, 0.03, n)) for n, level in levels])


def test_changes_are_detected_with_their_dates_and_sizes() -> None:
    times = history([(20, 100.0), (20, 120.0), (20, 100.0)])
    changes = changes_of(np.arange(0.0, 60 * 3600, 3600), times)
    assert [change.index for change in changes] == [pytest.approx(20, abs=1), pytest.approx(40, abs=1)]
    assert changes[0].ratio.value == pytest.approx(1.2, rel=0.03)
    assert changes[1].ratio.value == pytest.approx(1 / 1.2, rel=0.03)
    assert changes[0].first_after_unix_s - changes[0].last_before_unix_s == 3600.0
    assert (changes[0].ratio.low or 0) > 1


def test_steady_histories_raise_few_alarms_and_an_outlier_none() -> None:
    alarms = sum(bool(change_positions(np.log(history([(30, 100.0)], seed)))) for seed in range(100))
    assert alarms <= 4
    times = history([(30, 100.0)], seed=2)
    times[17] = 5000.0
    assert change_positions(np.log(times)) == []


def test_the_same_history_gives_the_same_answer_in_any_order_of_rows() -> None:
    times, when = history([(15, 100.0), (15, 130.0)]), np.arange(0.0, 1800, 60)
    order = np.random.default_rng(0).permutation(30)
    assert changes_of(when, times) == changes_of(when[order], times[order])
    with pytest.raises(ValueError, match="positive"):
        changes_of(np.array([1.0]), np.array([0.0]))


def test_histories_are_kept_apart_by_configuration() -> None:
    start = datetime(2026, 1, 5, tzinfo=UTC)
    runs = []
    for number, (old, new) in enumerate(zip(history([(12, 100.0), (12, 140.0)]), history([(24, 50.0)]), strict=True)):
        when = (start + timedelta(hours=number)).isoformat()
        runs += [
            make_run(layout="HDD", duration_s=float(old), started_at=when),
            make_run(layout="SSD", duration_s=float(new), started_at=when),
        ]
    (change,) = histories(table_of(runs)).changed
    assert runs[change.position].layout == "HDD"
    assert (change.runs, len(change.changes)) == (24, 1)
    assert histories(table_of(runs[:10])).changed == ()


def drifting(rng: np.random.Generator, correlation: float, count: int, runs: int) -> NDArray[np.float64]:
    """Return log times of ``count`` histories in which each run depends on the run before it."""
    values = rng.standard_normal((count, runs))
    for at in range(1, runs):
        values[:, at] = correlation * values[:, at - 1] + np.sqrt(1 - correlation**2) * values[:, at]
    return 0.05 * values


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6])
def test_runs_that_resemble_their_neighbours_raise_no_more_alarms(correlation: float) -> None:
    logs = drifting(np.random.default_rng(3), correlation, 100, 40)
    estimated = correlation_of(list(logs))
    assert estimated == pytest.approx(correlation, abs=0.12)
    nothing = NullStatistic(estimated)
    alarms = sum(bool(change_positions(history, nothing)) for history in logs)
    assert alarms <= 5  # one is expected, or two; the draws are seeded


def test_the_correlation_is_reported_with_a_change_of_level() -> None:
    logs = drifting(np.random.default_rng(5), 0.0, 20, 30)
    logs[:, 15:] += 0.5
    assert correlation_of(list(logs)) < 0.15 + RAISED_MAX
    assert correlation_of([]) == 0.0
    assert correlation_of([np.zeros(10)]) == 0.0


def test_of_many_histories_few_are_named_wrongly() -> None:
    rng = np.random.default_rng(11)
    runs = []
    for configuration in range(60):
        times = 100 * np.exp(rng.normal(0, 0.05, 20))
        if configuration == 7:
            times[10:] *= 2.0
        for day, seconds in enumerate(times):
            run = make_run(parameters={"dfs.blocksize": str(configuration)}, duration_s=float(seconds))
            runs.append(replace(run, started_at=f"2026-03-{day + 1:02d}T00:00:00+00:00"))
    histories_ = histories(table_of(runs))
    assert histories_.searched == 60
    assert len(histories_.changed) == 1
    assert histories_.changed[0].changes[0].ratio.value == pytest.approx(2.0, rel=0.1)
    assert ALPHA < FALSE_SHARE_MAX


def test_histories_without_start_times_are_counted_and_not_searched() -> None:
    runs = [replace(make_run(duration_s=100.0 + i), started_at="") for i in range(12)]
    histories_ = histories(table_of(runs))
    assert (histories_.changed, histories_.searched, histories_.runs_without_start) == ((), 0, 12)


def test_tables_without_changes_rarely_report_one() -> None:
    """The correlation of twenty histories is not taken for less than it is, or one table in nine shows a change."""
    rng = np.random.default_rng(3)
    raised = [correlation_of(list(drifting(rng, 0.3, 20, 20))) for _ in range(60)]
    assert 0.3 <= float(np.mean(raised)) <= 0.42
    assert float(np.mean([share >= 0.25 for share in raised])) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("process", ["histories_in_sessions", "random_walks"])
def test_sessions_and_wandering_levels_are_no_changes(process: str) -> None:
    """Named were 73 % of repositories in sessions of five runs, and 92 % of those that wander by 2 % a run."""
    draw, rng = getattr(benchmark("processes"), process), np.random.default_rng(9)
    assert sum(bool(histories(draw(rng)).changed) for _ in range(15)) <= 3


def test_changes_must_be_abrupt_until_histories_show_how_far_levels_wander() -> None:
    rng = np.random.default_rng(4)
    few, many = (null_distribution_of(list(0.05 * rng.standard_normal((count, 30)))) for count in (15, 20))
    assert few.of_abrupt_changes(30) is not None
    assert many.of_abrupt_changes(30) is None


def test_most_steps_of_twenty_percent_are_detected_among_twenty_configurations() -> None:
    """The allowance for wandering levels takes little power where levels do not wander."""
    rng, detected = np.random.default_rng(6), 0
    for _ in range(3):
        logs = 0.05 * rng.standard_normal((20, 30))
        logs[:4, 15:] += np.log(1.2)
        null = null_distribution_of(list(logs))
        detected += sum(bool(change_positions(history, null)) for history in logs[:4])
        assert sum(bool(change_positions(history, null)) for history in logs[4:]) <= 2
    assert detected >= 10
