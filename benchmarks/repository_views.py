"""Measure the time of repository operations on many runs: import, index, columns, newest runs, and views.

Fills a new repository with synthetic runs by imports of 50,000 each (eight workloads, twelve layouts, two networks,
block sizes, sort factors; log-normal times), then times each step in this process, without the import of libraries. The
measured alternative is the same speedup over ``Run`` objects read from the index. Peak memory is this process's.

Run: ``.venv/bin/python benchmarks/repository_views.py [runs]``; 50,000 take about half a minute, a million about ten
minutes. With the folder of an existing repository, it adds three runs to that.
"""

from __future__ import annotations

import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from assay.analysis.comparison.matched import match
from assay.analysis.comparison.speedups import speedups_of
from assay.analysis.outliers.anomalies import find_anomalies
from assay.analysis.statistics.runs.run_table import table_of
from assay.model.runs.imported import ImportedRun, SkippedItem, foreign_run, like
from assay.store import Repository
from assay.store.bundles.ids import new_run_id

CHUNK = 50_000
REPEATS = 3
LAYOUTS = ("HDD", "HD2", "HD3", "HD4", "HD5", "HS5", "SSD", "SS2", "RL1", "RL2", "RL3", "NVE")
WORKLOADS = ("terasort", "sort", "wordcount", "kmeans", "pagerank", "bayes", "dfsioe_read", "dfsioe_write")


def synthetic_runs(count: int, seed: int) -> Iterator[ImportedRun | SkippedItem]:
    """Yield synthetic runs; the same for the same seed."""
    generator = random.Random(seed)
    parameters = [
        {
            "dfs.blocksize": str(32 * 2**20 << step),
            "dfs.replication": str(copies),
            "mapreduce.task.io.sort.factor": str(factor),
            "io.file.buffer.size": str(buffer),
        }
        for step in range(4)
        for copies in (1, 2, 3)
        for factor in (5, 10, 20, 50)
        for buffer in (4096, 65536)
    ]
    for number in range(count):
        workload, layout = generator.choice(WORKLOADS), generator.choice(LAYOUTS)
        speed = 1 + LAYOUTS.index(layout) / 4
        run = foreign_run(
            workload=workload,
            layout=layout,
            cluster=f"cluster-{generator.randrange(4)}",
            levels={"network": generator.choice(("ETH", "IB"))},
            parameters=generator.choice(parameters),
            duration_s=round(1000 / speed * generator.lognormvariate(0, 0.1), 3),
            started_at=f"2026-{1 + number % 12:02d}-{1 + number % 28:02d}T{number % 24:02d}:00:00+00:00",
            metrics={"job_s": 1.0, "disk_read_bytes": float(generator.randrange(10**12))},
        )
        yield ImportedRun(f"{seed}-{number}", f"synthetic:{number}", run)


def timed(title: str, call: Callable[[], Any]) -> Any:
    """Print the median time of some calls and return the last answer."""
    seconds, cpu_s = [], []
    for _ in range(REPEATS):
        began, cpu_start_s = time.monotonic(), time.process_time()
        answer = call()
        seconds.append(time.monotonic() - began)
        cpu_s.append(time.process_time() - cpu_start_s)
    print(
        f"{title}: median {median(seconds) * 1000:.0f} ms, maximum {max(seconds) * 1000:.0f} ms, "
        f"CPU {median(cpu_s) * 1000:.0f} ms (n = {REPEATS})"
    )
    return answer


def memory_mib() -> float:
    """Return this process's peak memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def filled_repository(folder: Path, runs: int) -> Repository:
    """Return a repository with synthetic runs; print the time of their import."""
    repository = Repository.create(folder / "repository")
    began = time.monotonic()
    for start in range(0, runs, CHUNK):
        source = folder / f"source-{start}"
        source.write_text(str(start))
        count = min(CHUNK, runs - start)
        repository.import_runs("synthetic", partial(synthetic_runs, count, start), [(source.name, source)])
    took_s = time.monotonic() - began
    print(
        f"import of {runs:,} runs: {took_s:.1f} s, {runs / took_s:,.0f} runs/s (including their generation), "
        f"{memory_mib():.0f} MiB"
    )
    return repository


def add_and_read(repository: Repository) -> int:
    """Add a run, and return the new number of runs."""
    run = foreign_run(workload="sort", layout="SS2", duration_s=100.0, started_at="2026-12-31T00:00:00+00:00")
    repository.publish(like(run, run_id=new_run_id(), campaign_id="added", plan="added"))
    return len(repository.table())


def main(runs: int, existing: Path | None = None) -> None:
    """Fill a repository, or open the existing repository ``existing``, and time the views."""
    with tempfile.TemporaryDirectory() as name:
        repository = Repository.open(existing) if existing else filled_repository(Path(name), runs)
        began = time.monotonic()
        repository.table()
        print(f"index of all runs made and read: {time.monotonic() - began:.2f} s")
        table = timed("all runs as columns", repository.table)
        timed("the newest 50 runs, whole", lambda: repository.runs(limit=50, environment=False))
        timed(
            "the newest 50 of one workload and layout", lambda: repository.runs(workload="sort", layout="SS2", limit=50)
        )
        timed("speedup by layout, columns at hand", lambda: speedups_of(match(table, "layout"), "HDD"))
        timed("speedup by network, columns at hand", lambda: speedups_of(match(table, "network"), "ETH"))
        timed("anomalies, columns at hand", lambda: find_anomalies(table))
        timed("a run added, then all runs as columns", lambda: add_and_read(repository))
        print(f"peak memory {memory_mib():.0f} MiB")
        if len(table) <= CHUNK:
            timed(
                "alternative: speedup by layout over Run objects",
                lambda: speedups_of(match(table_of(repository.runs(environment=False)), "layout"), "HDD"),
            )


if __name__ == "__main__":
    argument = sys.argv[1] if len(sys.argv) > 1 else str(CHUNK)
    main(int(argument)) if argument.isdecimal() else main(0, Path(argument))
