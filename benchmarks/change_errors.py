"""Measure how often `assay changes` reports a change in a stable history, and how often it finds a real one.

Draws histories of log-normal run times, independent or autocorrelated (first-order autoregression), without a change
and with one change in the middle. A table has twenty configurations, which together show the autocorrelation; the rows
"alone" have one configuration.

Run it with ``python benchmarks/change_errors.py``; it prints a Markdown table.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from assay.analysis.changes import NullStatistic, change_positions, null_distribution_of

Array = NDArray[np.float64]
SCATTER = 0.05
TABLE_SIZE = 20
CHANGES = (1.0, 1.10, 1.20, 1.30)


def histories(rng: np.random.Generator, correlation: float, shape: tuple[int, int], change: float) -> Array:
    """Return log times, one history per row, that become ``change`` times as long in the middle."""
    values = rng.standard_normal(shape)
    for run in range(1, shape[1]):
        values[:, run] = correlation * values[:, run - 1] + np.sqrt(1 - correlation**2) * values[:, run]
    values *= SCATTER
    values[:, shape[1] // 2 :] += np.log(change)
    return values


def share_reported(
    logs: Array, null_statistics: dict[tuple[float, float, bool], NullStatistic], table_size: int
) -> float:
    """Return the share of histories with a reported change; ``table_size`` histories of a table show the
    autocorrelation."""
    reported = 0
    for start in range(0, len(logs), table_size):
        rows = list(logs[start : start + table_size])
        null = null_distribution_of(rows)
        null = null_statistics.setdefault((null.correlation, null.wander, null.has_few_runs), null)
        reported += sum(bool(change_positions(row, null)) for row in rows)
    return reported / len(logs)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--histories", type=int, default=1000)
    count = parser.parse_args().histories
    rng, null_statistics = np.random.default_rng(20), dict[tuple[float, float, bool], NullStatistic]()
    print(
        "| runs | correlation | " + " | ".join(f"change of {change:g}" for change in CHANGES) + " | alone, no change |"
    )
    print("|---|---|" + "---|" * (len(CHANGES) + 1))
    for runs in (12, 20, 40, 100):
        for correlation in (0.0, 0.3, 0.6):
            cells = [
                share_reported(histories(rng, correlation, (count, runs), change), null_statistics, TABLE_SIZE)
                for change in CHANGES
            ]
            cells.append(share_reported(histories(rng, correlation, (count, runs), 1.0), null_statistics, 1))
            print(f"| {runs} | {correlation:g} | " + " | ".join(f"{cell:.1%}" for cell in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
