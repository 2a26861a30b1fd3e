"""Compare how the selection of a dataset's runs scales in DuckDB and in Spark, on the same files.

    python benchmarks/dataset_growth.py REPOSITORY [--on local] [--times 1 10 100]

The repository's runs are exported and written 1, 10 and 100 times with new ids. Both engines read the facts, durations
and start times of all runs into memory, as a question over matched groups needs them. The table shows seconds of wall
time and of CPU time (Spark's with the start of its driver, without a cluster's executors), and the load average.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import tempfile
import time
from pathlib import Path

import duckdb

from assay.analysis.statistics.runs.run_table import BASE_VALUES
from assay.execution.engines.spark.datasets import select_runs
from assay.store import Repository
from assay.store.index.dataset import (
    DESCRIPTION,
    METADATA_FOLDER,
    LocalStore,
    export_dataset,
    levels_in,
    read_selected_runs,
)


def write_grown(source: Path, target: Path, times: int) -> int:
    """Write a dataset's runs ``times`` times with new ids; return the number of runs."""
    (target / "runs").mkdir(parents=True)
    shutil.copytree(source / "_assay", target / "_assay")
    files = f"read_parquet('{source}/runs/**/*.parquet', hive_partitioning = true)"
    rows = (
        f"SELECT * REPLACE (run_id || '-' || copy AS run_id, place * {times} + copy AS place) "
        f"FROM {files} CROSS JOIN range({times}) AS copies(copy)"
    )
    options = "FORMAT parquet, COMPRESSION zstd, PARTITION_BY (workload), FILENAME_PATTERN 'grown-{i}'"
    with duckdb.connect() as connection:
        result = connection.execute(
            f"COPY (SELECT * EXCLUDE (copy) FROM ({rows})) TO '{target}/runs' ({options}, OVERWRITE)"
        )
        return int((result.fetchone() or (0,))[0])


def by_duckdb(dataset: Path, scratch: Path) -> int:
    """Select the runs in one process as Spark's program does, and read the result in the same way."""
    figures = ", ".join(f"figures['{name}'] AS figure_{n}" for n, name in enumerate(BASE_VALUES))
    files = f"read_parquet('{dataset}/runs/**/*.parquet', hive_partitioning = true)"
    unique_runs = "QUALIFY bundle = min(bundle) OVER (PARTITION BY run_id)"
    with duckdb.connect(config={"temp_directory": str(scratch)}) as connection:
        query = f"SELECT run_id, place, facts, {figures} FROM {files} {unique_runs}"
        connection.execute(f"COPY ({query}) TO '{scratch}/picked.parquet' (FORMAT parquet)")
    return len(read_selected_runs(scratch, levels_in((dataset / DESCRIPTION).read_bytes()), BASE_VALUES))


class Clock:
    """Wall and CPU seconds since creation, of this process and its ended children."""

    def __init__(self) -> None:
        self._began_s, self._cpu_s = time.monotonic(), self._cpu()

    @staticmethod
    def _cpu() -> float:
        usages = [resource.getrusage(scope) for scope in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(usage.ru_utime + usage.ru_stime for usage in usages)

    def __str__(self) -> str:
        """Return both as two columns."""
        return f"{time.monotonic() - self._began_s:>10.1f} {self._cpu() - self._cpu_s:>9.1f}"


def main() -> None:
    """Print a row for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--on", default="local")
    parser.add_argument("--times", type=int, nargs="+", default=[1, 10, 100])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="growth-") as scratch:
        root = Path(scratch)
        export_dataset(Repository.open(options.repository), LocalStore(root / "once"))
        print("times      runs  DuckDB (s)  CPU (s)  Spark (s)  CPU (s)  load")
        for times in options.times:
            dataset, scratch_folder = root / f"by-{times}", root / f"aside-{times}"
            scratch_folder.mkdir()
            runs = write_grown(root / "once", dataset, times)
            clock = Clock()
            assert by_duckdb(dataset, scratch_folder) == runs
            duckdb_times, clock = str(clock), Clock()
            with select_runs(str(dataset), options.on, {}, BASE_VALUES, METADATA_FOLDER, lambda _: None) as folder:
                assert (
                    len(read_selected_runs(folder, levels_in((dataset / DESCRIPTION).read_bytes()), BASE_VALUES))
                    == runs
                )
            print(f"{times:>5} {runs:>9}  {duckdb_times} {clock}  {os.getloadavg()[0]:>4.0f}", flush=True)
            shutil.rmtree(dataset)


if __name__ == "__main__":
    main()
