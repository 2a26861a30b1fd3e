"""Measure how often `assay gate` fails a pipeline without a slowdown above the limit, and how often it finds one.

Draws repositories of nightly runs whose truth is known: ten configurations, whose times scatter by 5 %. Forty
nights precede the baseline. In one of the configurations, runs are slower from the baseline on. The limit is 5 %.

Run it with ``python benchmarks/gate_errors.py``; it prints a Markdown table.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
import processes

from assay.analysis.slowdowns import SlowdownVerdict, slowdowns
from assay.analysis.statistics import RunTable

SLOWDOWN_LIMIT = 0.05
NIGHTS_BEFORE = 40
CONFIGURATIONS = 10
SCATTER = 0.05
NIGHT_S = 86_400.0
FIRST_UNIX_S = 1.7e9
RATIOS = (1.0, 1.05, 1.1, 1.2, 1.3)


@dataclass(frozen=True, slots=True)
class Noise:
    """How runs differ without a slowdown."""

    title: str
    correlation: float = 0.0
    """Correlation of consecutive nights."""
    outliers: float = 0.0
    """Share of runs that take 1.5 to 3 times as long."""
    runs_a_night: int = 1
    night: float = 0.0
    """Standard deviation of the effect of a night on log times."""


NOISES = (
    Noise("independent"),
    Noise("neighbouring nights correlate by 0.3", correlation=0.3),
    Noise("neighbouring nights correlate by 0.6", correlation=0.6),
    Noise("3 runs a night, nights differ by 5 %", runs_a_night=3, night=0.05),
    Noise("one run in twenty takes 1.5 to 3 times as long", outliers=0.05),
)


def nightly_runs(rng: np.random.Generator, nights_since: int, ratio: float, noise: Noise) -> tuple[RunTable, float]:
    """Return the runs, and the time of the baseline.

    From the baseline on, the first configuration is ``ratio`` times as slow.
    """
    nights, runs_a_night = NIGHTS_BEFORE + nights_since, noise.runs_a_night
    values = rng.standard_normal((CONFIGURATIONS, nights * runs_a_night))
    for run in range(1, values.shape[1]):
        values[:, run] = noise.correlation * values[:, run - 1] + np.sqrt(1 - noise.correlation**2) * values[:, run]
    logs = SCATTER * values + np.repeat(
        noise.night * rng.standard_normal((CONFIGURATIONS, nights)), runs_a_night, axis=1
    )
    logs += np.log(rng.uniform(1.5, 3.0, logs.shape)) * (rng.random(logs.shape) < noise.outliers)
    logs[0, NIGHTS_BEFORE * runs_a_night :] += np.log(ratio)
    rows = [
        {"workload": "terasort", "layout": f"L{configuration}"}
        for configuration in range(CONFIGURATIONS)
        for _ in range(nights * runs_a_night)
    ]
    started_unix_s = (
        FIRST_UNIX_S
        + NIGHT_S * np.repeat(np.arange(nights), runs_a_night)
        + 600.0 * np.tile(np.arange(runs_a_night), nights)
    )
    return processes.table_of(rows, logs.ravel(), np.tile(started_unix_s, CONFIGURATIONS)), FIRST_UNIX_S + NIGHT_S * (
        NIGHTS_BEFORE - 0.5
    )


def share_failed(repositories: int, nights_since: int, ratio: float, noise: Noise) -> float:
    """Return the share of pipelines that fail."""
    failed_count = 0
    for number in range(repositories):
        table, baseline = nightly_runs(
            np.random.default_rng([number, nights_since, int(100 * ratio)]), nights_since, ratio, noise
        )
        results = slowdowns(table, baseline, SLOWDOWN_LIMIT)
        failed_count += any(result.verdict is SlowdownVerdict.EXCEEDED for result in results)
    return failed_count / repositories


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repositories", type=int, default=100)
    count = parser.parse_args().repositories
    print("| noise | nights since | no change | " + " | ".join(f"slower by {r - 1:.0%}" for r in RATIOS[1:]) + " |")
    print("|---|---|" + "---|" * len(RATIOS))
    for noise in NOISES:
        for nights_since in (3, 5, 10, 20):
            cells = [share_failed(count, nights_since, ratio, noise) for ratio in RATIOS]
            print(
                f"| {noise.title} | {nights_since} | " + " | ".join(f"{cell:.1%}" for cell in cells) + " |", flush=True
            )


if __name__ == "__main__":
    main()
