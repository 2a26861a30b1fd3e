"""Measure a scrape of ``/metrics`` by Prometheus, and the first page of runs, on 50,000 drawn runs.

The runs are of 1,000 kinds: 10 workloads, 10 layouts, 5 clusters and 2 networks. Both addresses are asked in turns,
nine times each, after the decisions were computed in the background. CPU time is that of the server's process.

Run: ``.venv/bin/python benchmarks/metrics_scrape.py [RUNS]``
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

from starlette.testclient import TestClient

from assay.interfaces.web.server.app import create_app
from assay.model import ImportedRun
from assay.model.runs.imported import foreign_run
from assay.store import Repository

RUNS = 50_000
TURNS = 9
COMPUTED = "\nassay_decisions_timestamp_seconds "
"""Metric that the server has once the decisions are computed."""


def drawn_runs(count: int) -> Iterator[ImportedRun]:
    """Yield drawn runs of 1,000 kinds; the number of a layout's disks decides the speed."""
    draw = random.Random(28)
    for number in range(count):
        disks = draw.randrange(10)
        run = foreign_run(
            workload=f"workload-{draw.randrange(10)}",
            layout=f"HD{1 + disks}",
            cluster=f"cluster-{draw.randrange(5)}",
            levels={"network": draw.choice(("ETH", "IB"))},
            duration_s=round(1000 / (1 + disks / 4) * draw.lognormvariate(0, 0.1), 3),
            started_at=f"2026-{1 + number % 12:02d}-{1 + number % 28:02d}T{number % 24:02d}:00:00+00:00",
        )
        yield ImportedRun(str(number), f"drawn:{number}", run)


def request_ms(client: TestClient, address: str) -> tuple[float, float]:
    """Return the wall time and the CPU time of one request, in ms."""
    wall_start_s, cpu_start_s = time.perf_counter(), time.process_time()
    client.get(address).raise_for_status()
    return 1000 * (time.perf_counter() - wall_start_s), 1000 * (time.process_time() - cpu_start_s)


def main() -> None:
    """Print the medians of both addresses, and their ratio."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    with tempfile.TemporaryDirectory(prefix="assay-metrics-") as folder:
        source = Path(folder) / "drawn"
        source.write_text("drawn")
        repository = Repository.create(Path(folder) / "repository")
        repository.import_runs("drawn", partial(drawn_runs, count), [(source.name, source)])
        client = TestClient(create_app(repository.root), base_url="http://localhost")
        while COMPUTED not in client.get("/metrics").text:
            time.sleep(0.5)
        addresses = ("/metrics", "/api/v1/runs?limit=50")
        times_ms: dict[str, list[tuple[float, float]]] = {address: [] for address in addresses}
        for _ in range(TURNS):
            for address in addresses:
                times_ms[address].append(request_ms(client, address))
    medians = {address: [median(values) for values in zip(*times, strict=True)] for address, times in times_ms.items()}
    for address, (wall_ms, cpu_ms) in medians.items():
        print(f"{address}: {wall_ms:.0f} ms wall, {cpu_ms:.0f} ms CPU (medians of {TURNS}, {count:,} runs)")
    scrape, page = (medians[address] for address in addresses)
    print(f"scrape / page of runs: {scrape[0] / page[0]:.2f} wall, {scrape[1] / page[1]:.2f} CPU")


if __name__ == "__main__":
    main()
