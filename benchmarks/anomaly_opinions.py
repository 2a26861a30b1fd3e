"""Compare two outlier detectors, repetitions and predictions, on ALOJA's labels and on injected failures.

Reads ALOJA's ``execs`` table. Labels: all runs are treated as valid, and flags are compared with ALOJA's flag.
Injected: some of the valid runs are changed: ended after 5 to 15, 5 to 60 or 30 to 120 s, or slowed down 1.3, 2 or 5
times. Recall counts the changed runs, false alarms the others. The dump already contains outliers; the row without
changes has their number. The last tables have clusters with different noise, drawn from a formula.

Run it with ``python benchmarks/anomaly_opinions.py aloja-execs.csv aloja-clusters.csv``; it prints Markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from prediction_worlds import world

from assay.analysis.outliers.anomalies import Kind, find_anomalies
from assay.analysis.statistics.keys import usable
from assay.analysis.statistics.runs.run_table import RunTable, table_of
from assay.estimation.prediction.second_opinion import second_opinion
from assay.model.runs.imported import ImportedRun
from assay.model.runs.run_status import RunStatus
from assay.store.formats.aloja.execs import FORMAT
from assay.store.formats.source import Source

Mask = NDArray[np.bool_]
CHANGED_SHARE = 0.02
"""Share of the valid runs that are changed."""
CHANGES: dict[str, Callable[[NDArray[np.float64], np.random.Generator], NDArray[np.float64]]] = {
    "failed after 5–15 s": lambda s, random: random.uniform(5, 15, len(s)),
    "failed after 5–60 s": lambda s, random: random.uniform(5, 60, len(s)),
    "failed after 30–120 s": lambda s, random: random.uniform(30, 120, len(s)),
    "1.3 times slower": lambda s, _: s * 1.3,
    "2 times slower": lambda s, _: s * 2,
    "5 times slower": lambda s, _: s * 5,
}


def flags_by_method(table: RunTable) -> dict[str, Mask]:
    """Return the outliers of each method, and of either."""
    by_repetitions, is_not_done = (np.zeros(len(table), dtype=np.bool_) for _ in range(2))
    anomalies = find_anomalies(table)
    by_repetitions[anomalies.positions] = True
    is_not_done[anomalies.of_kind(Kind.NOT_DONE)] = True
    by_prediction = second_opinion(table, unsound=is_not_done).outliers(table)
    return {
        "repetitions and floors": by_repetitions,
        "prediction": by_prediction,
        "either": by_repetitions | by_prediction,
    }


def _row(name: str, flags: dict[str, Mask], is_outlier: Mask) -> None:
    cells = []
    for mask in flags.values():
        hits = int((mask & is_outlier).sum())
        precision = f"{hits / mask.sum():.1%}" if mask.any() and is_outlier.any() else "–"
        recall = f"{hits / is_outlier.sum():.1%}" if is_outlier.any() else "–"
        cells += [recall, precision, f"{(mask & ~is_outlier).sum() / (~is_outlier).sum():.1%}"]
    print(f"| {name} | {int(is_outlier.sum()):,} | " + " | ".join(cells) + " |", flush=True)


def _header(names: list[str]) -> None:
    print("\n| runs | outliers | " + " | ".join(f"{n}: recall | precision | false alarms" for n in names) + " |")
    print("|---|---|" + "---|" * (3 * len(names)))


def with_failures(table: RunTable, change: str, seed: int) -> tuple[RunTable, Mask]:
    """Return the table with some runs changed, and which runs these are."""
    random = np.random.default_rng(seed)
    is_changed = random.random(len(table)) < CHANGED_SHARE
    seconds = table.values["duration_s"].copy()
    seconds[is_changed] = CHANGES[change](seconds[is_changed], random)
    return replace(table, values={**table.values, "duration_s": seconds}), is_changed


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("tables", type=Path, nargs="*", help="ALOJA's execs table as CSV, and its list of clusters")
    paths = parser.parse_args().tables
    names = ["repetitions and floors", "prediction", "either"]
    if paths:
        items = FORMAT.read([Source(path, path.name) for path in paths])
        runs = [item.run for item in items if isinstance(item, ImportedRun)]
        is_invalid = np.array([run.status is not RunStatus.VALID for run in runs])
        _header(names)
        all_runs = table_of([replace(run, status=RunStatus.VALID, cause=None) for run in runs])
        _row("ALOJA's label", flags_by_method(all_runs), is_invalid)
        table = table_of(runs)
        valid_table = table.subset(usable(table))
        _row("valid runs, unchanged", flags_by_method(valid_table), np.zeros(len(valid_table), dtype=np.bool_))
        for change in CHANGES:
            changed_table, is_changed = with_failures(valid_table, change, seed=1)
            _row(change, flags_by_method(changed_table), is_changed)
    else:
        print("left out: it needs ALOJA's table of runs and its list of clusters as its arguments")
    _header(names)
    drawn_table = world(clusters=8, runs=150, seed=3)
    noise = np.random.default_rng(5).normal(0.0, 1.0, len(drawn_table)) * (
        0.02 + 0.04 * drawn_table.columns["cluster"].codes
    )
    noisy_table = replace(
        drawn_table, values={**drawn_table.values, "duration_s": drawn_table.values["duration_s"] * np.exp(noise)}
    )
    _row(
        "8 clusters, noise 2 to 30 %, unchanged",
        flags_by_method(noisy_table),
        np.zeros(len(noisy_table), dtype=np.bool_),
    )
    for change in CHANGES:
        changed_table, is_changed = with_failures(noisy_table, change, seed=2)
        _row(f"the same, {change}", flags_by_method(changed_table), is_changed)


if __name__ == "__main__":
    main()
