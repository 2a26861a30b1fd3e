"""Copy bundles to another repository, and write runs as tables and samples for other tools.

Bundles never change and their ids are unique, so two repositories are merged by copying. Every bundle is checked
against its checksums before it is copied.

Formats: a table with one row per run (CSV, Parquet; :mod:`assay.model.runs.run_columns`); JSON lines of whole runs;
PerfKitBenchmarker's samples (one JSON object per line, as its ``NewlineDelimitedJSONPublisher`` writes them); and
Apache Otava's CSV (a time, attributes, one column per metric). ``assay import`` reads the first three
(:mod:`assay.store.formats.tables.exported`).
"""

import csv
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec

from assay.analysis.statistics import matching_factors, started_unix_s
from assay.foundation.errors import RepositoryError
from assay.model import Run, escaped_cell
from assay.model.runs.run_columns import columns_of_runs
from assay.store.bundles.bundle import SIGNATURE_FILE, BundleProblem, ProblemKind, check_bundle
from assay.store.bundles.signatures import signature_problem
from assay.store.index.index import bundle_names
from assay.store.index.tables import DuckDBReader, write_table
from assay.store.repository import Repository


@dataclass(frozen=True, slots=True)
class CopySummary:
    """The result of a copy between repositories; ``refused`` are bundles that do not match their checksums."""

    copied: int
    already_there: int
    refused: tuple[BundleProblem, ...]


def copy_bundles(source: Repository, target: Repository, progress: Callable[[int, int], None]) -> CopySummary:
    """Copy every bundle of ``source`` that ``target`` lacks.

    ``progress`` receives the number of finished bundles and the total. Raises :class:`RepositoryError` if ``target``
    can't store a bundle, for example on a full disk. Bundles copied before stay.
    """
    present_names = set(bundle_names(target.folders.bundles))
    names = bundle_names(source.folders.bundles)
    missing_names = [name for name in names if name not in present_names]
    refused: list[BundleProblem] = []
    copied, connect = 0, DuckDBReader().connection
    for done, name in enumerate(missing_names, start=1):
        bundle = source.folders.bundles / name
        if bundle.is_symlink():
            problems = [BundleProblem(name, "", ProblemKind.UNREADABLE, "this is a symbolic link, not a folder")]
        else:
            problems = check_bundle(bundle, connect)
        if not problems and (message := signature_problem(target.folders, bundle)):
            problems = [BundleProblem(name, SIGNATURE_FILE, ProblemKind.SIGNATURE, message)]
        if problems:
            refused.append(problems[0])
        else:
            copied += target.place_copy(bundle)
        progress(done, len(missing_names))
    return CopySummary(copied, len(names) - len(missing_names), tuple(refused))


def write_csv(runs: Sequence[Run], file: IO[str]) -> None:
    """Write the table with a row for each run as CSV (RFC 4180, UTF-8), formulas escaped (:func:`escaped_cell`)."""
    sql_types, columns = columns_of_runs(runs)
    writer = csv.writer(file)
    writer.writerow(map(escaped_cell, sql_types))
    writer.writerows(map(escaped_cell, row) for row in zip(*columns, strict=True))


def write_parquet(runs: Sequence[Run], path: Path) -> None:
    """Write the table with one row per run as Parquet."""
    sql_types, columns = columns_of_runs(runs)
    write_table(path, sql_types, columns)


def write_json_lines(runs: Sequence[Run], file: IO[str]) -> None:
    """Write whole runs, one JSON object per line."""
    for run in runs:
        file.write(msgspec.json.encode(run).decode() + "\n")


def perfkit_samples(run: Run) -> Iterator[dict[str, Any]]:
    """Yield PerfKitBenchmarker samples of a run: its time and each metric, with the configuration as labels."""
    label_values = {
        "layout": run.layout,
        "cluster": run.cluster,
        "engine": run.engine,
        "status": str(run.status),
        "origin": str(run.origin),
        **run.levels,
        **run.parameters,
    }
    labels = ",".join(f"|{name}:{value}|" for name, value in label_values.items() if value)
    figures = {"duration_s": run.duration_s, **run.metrics}
    started = started_unix_s(run)
    for number, (name, value) in enumerate(figures.items()):
        yield {
            "test": run.workload,
            "metric": name,
            "value": value,
            "unit": _unit(name),
            "run_uri": run.run_id[:8],
            "sample_uri": f"{run.run_id}-{number}",
            "product_name": "assay",
            "owner": "",
            "labels": labels,
            **({} if math.isnan(started) else {"timestamp": started}),
        }


def _unit(name: str) -> str:
    unit_by_ending = {"_mb_per_s": "MB/s", "_per_s": "1/s", "_bytes": "bytes", "_s": "seconds", "_share": "share"}
    return next((unit for ending, unit in unit_by_ending.items() if name.endswith(ending)), "")


def write_perfkit(runs: Sequence[Run], file: IO[str]) -> None:
    """Write samples, one JSON object per line."""
    for run in runs:
        for sample in perfkit_samples(run):
            file.write(msgspec.json.encode(sample).decode() + "\n")


def write_otava(runs: Sequence[Run], file: IO[str]) -> None:
    """Write Otava's CSV: valid runs by time. Raises :class:`RepositoryError` for runs of several configurations.

    Otava searches one series for changes, so runs of different configurations do not belong in one file.
    """
    valid_runs = sorted(
        (run for run in runs if run.status == "valid" and run.started_at), key=lambda run: run.started_at
    )
    if not valid_runs:
        raise RepositoryError("there is no valid run with a date", hint="Otava orders runs by their date")
    configurations = {tuple(sorted(matching_factors(run, "").items())) for run in valid_runs}
    if len(configurations) > 1:
        raise RepositoryError(
            f"the runs have {len(configurations)} configurations, but a series needs exactly one",
            hint="choose with --workload and --layout, or import them into a separate repository",
        )
    metrics = sorted({name for run in valid_runs for name in run.metrics})
    writer = csv.writer(file)
    writer.writerow(map(escaped_cell, ["time", "run_id", "duration_s", *metrics]))
    for run in valid_runs:
        writer.writerow([run.started_at, run.run_id, run.duration_s, *(run.metrics.get(name, "") for name in metrics)])
