"""Compare detected anomalies with ALOJA's own validity flag, which the detector does not read.

Reads ALOJA's ``execs`` table through the importer, treats every run as valid, and detects anomalies. Precision is the
share of flagged runs that ALOJA calls invalid; recall is the share of invalid runs that are flagged, by kind and for
runs of 60 s and more, which a fixed bound of one minute misses. The table repeats this for other widths of the gap
below the learned minimum, and for the fixed bound. Runs that the importer skips are not counted.

Run it with ``python benchmarks/anomaly_labels.py aloja-execs.csv``; it prints Markdown.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.analysis.outliers import spread as scatter
from assay.analysis.outliers.anomalies import Anomalies, Kind, find_anomalies
from assay.analysis.statistics.runs.run_table import RunTable, table_of
from assay.model.runs.imported import ImportedRun
from assay.model.runs.run import Run
from assay.model.runs.run_status import RunStatus
from assay.store.formats.aloja.execs import FORMAT
from assay.store.formats.source import Source

Mask = NDArray[np.bool_]
SHORT_S = 60.0


def runs_with_labels(path: Path) -> tuple[RunTable, Mask]:
    """Return all runs of the table as if they were valid, and which of them ALOJA calls invalid."""
    runs: list[Run] = [
        imported.run for imported in FORMAT.read([Source(path, path.name)]) if isinstance(imported, ImportedRun)
    ]
    is_invalid = np.array([run.status is not RunStatus.VALID for run in runs])
    return table_of([replace(run, status=RunStatus.VALID, cause=None) for run in runs]), is_invalid


def _row(name: str, is_flagged: Mask, is_invalid: Mask, is_long: Mask) -> str:
    correct = int((is_flagged & is_invalid).sum())
    flagged_long = int((is_flagged & is_invalid & is_long).sum())
    precision = f"{correct / is_flagged.sum():.1%}" if is_flagged.any() else "–"
    return (
        f"| {name} | {int(is_flagged.sum()):,} | {correct:,} | {precision} | {correct / is_invalid.sum():.1%} | "
        f"{flagged_long} of {int((is_invalid & is_long).sum())} |"
    )


def _flags(anomalies: Anomalies, size: int, kinds: Sequence[Kind]) -> Mask:
    is_flagged = np.zeros(size, dtype=np.bool_)
    is_flagged[anomalies.of_kind(*kinds)] = True
    return is_flagged


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("table", type=Path, nargs="?", help="ALOJA's execs table as CSV")
    path = parser.parse_args().table
    if path is None:
        print("left out: it needs ALOJA's table of runs as its argument")
        return
    table, is_invalid = runs_with_labels(path)
    is_long = table.values["duration_s"] >= SHORT_S
    started = time.perf_counter()
    anomalies = find_anomalies(table)
    took_s = time.perf_counter() - started
    print(f"{len(table):,} runs, {int(is_invalid.sum()):,} labelled invalid, {took_s * 1000:.0f} ms\n")
    header = (
        "flagged | of these labelled invalid | precision | recall | recall, 60 s and more |\n|---|---|---|---|---|---|"
    )
    print(f"| kind | {header}")
    for kinds in [*([kind] for kind in Kind), list(Kind)]:
        name = kinds[0].value if len(kinds) == 1 else "any kind"
        print(_row(name, _flags(anomalies, len(table), kinds), is_invalid, is_long))
    print(_row("a fixed bound of 60 s", ~is_long, is_invalid, is_long))
    print(f"\n| gap at least | {header}")
    for gap in (2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0):
        scatter.GAP_MIN = gap
        print(_row(f"{gap:g} times", _flags(find_anomalies(table), len(table), [Kind.NOT_DONE]), is_invalid, is_long))
    print("\nLearned floors: " + ", ".join(f"{name} {floor:.0f} s" for name, floor in anomalies.floors_s.items()))


if __name__ == "__main__":
    main()
