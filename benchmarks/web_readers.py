"""Measure how long 50 concurrent readers wait for each page while runs are added.

Fills a new repository with synthetic runs (those of ``repository_views.py``), serves it by ``assay serve`` in a
separate process, and lets 50 threads request each page in turn, each with its own connection: half of them the same
question, half with different filters, so that the cache does not answer everything. Each reader asks six times with
pauses. Two runs are added while a page is read, one before the first request and one half-way; every answer counts,
also the first after an addition. The same follows for the data of each page through the API.

For each page the table has the time of the first answer, and of the first after a run was added; median, 95th
percentile and maximum of the readers' answers, with the target; the server's CPU time per answer, including the reading
of added runs; and the time until all lists contained an added run.

Run: ``.venv/bin/python benchmarks/web_readers.py [runs [page…]]``; 50,000 take about six minutes, a million a few
minutes more. With the folder of an existing repository of such runs, it adds runs to that.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import TypeVar
from urllib.parse import urlencode

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from repository_views import LAYOUTS, WORKLOADS, filled_repository

from assay.analysis.statistics import has_level
from assay.model.runs.imported import foreign_run, like
from assay.store import Repository
from assay.store.bundles.ids import new_run_id

Question = TypeVar("Question")
READERS = 50
QUESTIONS = 6
"""Number of requests of each reader to each page."""
TARGET_MS = 150
MANY_RUNS = 50_000
MANY_TARGET_MS = 250
"""The target for larger repositories."""
HALF_WAY_S = 3.0
"""Time from the start of the readers to the second added run, in seconds."""
LISTED_S_MAX = 120.0
"""Maximum wait until all lists contain an added run, in seconds."""
BOOK = """\
prices: synthetic
currency: USD
date: 2026-01-01
source: made up
items:
  - {name: cluster, price: $9.44, per: cluster-hour}
"""


def questions(ids: list[str]) -> dict[str, list[tuple[str, str, str]]]:
    """Return the requests of each page: method, address and body. Half of the readers send the first."""
    workload_filters = [("where", f"workload={name}") for name in WORKLOADS]
    run_filters = [[("where", f"workload={w}"), ("where", f"layout={layout}")] for w in WORKLOADS for layout in LAYOUTS]

    def get(path: str, *queries: list[tuple[str, str]]) -> list[tuple[str, str, str]]:
        return [("GET", f"/api/v1/{path}?{urlencode(query)}", "") for query in queries]

    pairs = [[("run", a), ("run", b)] for a, b in zip(ids[::2], ids[1::2], strict=False)]
    cost_requests = [("POST", "/api/v1/cost", json.dumps({"where": [f"workload={name}"]})) for name in WORKLOADS]
    return {
        "overview": get("summary", []) + get("campaigns", []),
        "runs": get("runs", [], *run_filters),
        "run": get("runs/" + ids[0] + "/detail", [])
        + [request for run_id in ids for request in get(f"runs/{run_id}/detail", [])],
        "compare": get("sides", *pairs),
        "speedup": get("speedup", *[[level] for level in workload_filters]),
        "speedup: averages": get(
            "speedup/published",
            *[[("method", "aloja"), ("baseline", "HDD"), workload_filter] for workload_filter in workload_filters],
        ),
        "cost": cost_requests,
        "quality: anomalies": get("anomalies", [], *[[level] for level in workload_filters]),
        "quality: precision": get("precision", [], *[[level] for level in workload_filters]),
        "quality: coverage": get("coverage", [], *[[level] for level in workload_filters]),
        "plan": get("clusters", []),
    }


def pages(ids: list[str]) -> dict[str, list[tuple[str, str, str]]]:
    """Return the addresses of each page; :func:`questions` returns those of its data."""

    def get(path: str, *queries: list[tuple[str, str]]) -> list[tuple[str, str, str]]:
        return [("GET", f"/{path}?{urlencode(query)}", "") for query in queries or [[]]]

    workload_filters = [[("where", f"workload={name}")] for name in WORKLOADS]
    run_filters = [[("where", f"workload={w}"), ("where", f"layout={layout}")] for w in WORKLOADS for layout in LAYOUTS]
    pairs = [[("run", a), ("run", b)] for a, b in zip(ids[::2], ids[1::2], strict=False)]
    by_workload = [[("workload", name)] for name in WORKLOADS]
    return {
        "overview": get(""),
        "runs": get("runs", [], *run_filters),
        "run": [page for run_id in (ids[0], *ids) for page in get(f"runs/{run_id}")],
        "compare": get("compare", *pairs),
        "speedup": get("speedup", [], *workload_filters),
        "speedup: averages": get(
            "speedup",
            *[[("method", "aloja"), ("baseline", "HDD"), *workload_filter] for workload_filter in workload_filters],
        ),
        "cost": get("cost", [], *by_workload),
        "cost: years": get("cost", *[[("view", "years"), *filters] for filters in by_workload]),
        "quality": get("quality", [], *workload_filters),
        "cluster": [page for number in range(4) for page in get(f"clusters/cluster-{number}")],
        "configuration": [page for run_id in (ids[0], *ids) for page in get(f"configurations/{run_id}")],
        "predict": get("predict", [], *workload_filters),
        "plan": get("plan"),
        "hosts": get("hosts"),
        "whatif": get("whatif"),
        "recommend": get("recommend"),
    }


@contextmanager
def served(repository: Path, folder: Path) -> Iterator[int]:
    """Serve the repository in a separate process and yield its port."""
    with serving(repository, folder) as (port, _):
        yield port


@contextmanager
def serving(repository: Path, folder: Path) -> Iterator[tuple[int, int]]:
    """Serve the repository in a separate process; yield its port and process id."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    book = folder / "prices.yaml"
    book.write_text(BOOK)
    command = [
        sys.executable,
        "-m",
        "assay",
        "serve",
        "--repository",
        str(repository),
        "--port",
        str(port),
        "--prices",
        str(book),
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(timeout=20)


def answer_ms(connection: http.client.HTTPConnection, question: tuple[str, str, str]) -> float:
    """Return the time of one answer; an answer with an error ends the benchmark."""
    method, address, body = question
    began = time.monotonic()
    headers = {"Accept-Encoding": "gzip"} | ({"Content-Type": "application/json"} if body else {})  # as browsers do
    connection.request(method, address, body or None, headers)
    answer = connection.getresponse()
    content = answer.read()
    if answer.status != 200:
        raise SystemExit(f"{address}: {answer.status} {content[:300]!r}")
    return 1000 * (time.monotonic() - began)


@contextmanager
def reader(port: int) -> Iterator[Callable[[tuple[str, str, str]], float]]:
    """Connect to the server; yield a function that asks a question and returns the time of the answer, in ms."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.connect()
    try:
        yield partial(answer_ms, connection)
    finally:
        connection.close()


def concurrent_times_ms(
    requests: Sequence[Question], connect: Callable[[], AbstractContextManager[Callable[[Question], float]]]
) -> list[float]:
    """Return the times of all answers in ms when all readers ask at the same time, each on its own connection."""
    times_ms: list[float] = []
    errors: list[BaseException] = []
    ready = threading.Barrier(READERS)

    def read(number: int) -> None:
        generator = random.Random(number)
        try:
            with connect() as ask:
                ready.wait()
                time.sleep(generator.uniform(0, 1))
                for _ in range(QUESTIONS):
                    times_ms.append(ask(requests[0] if number % 2 else generator.choice(requests)))
                    time.sleep(generator.uniform(0.5, 1.5))  # a reader looks at the page
        except BaseException as error:
            errors.append(error)
            ready.abort()

    threads = [threading.Thread(target=read, args=(number,), daemon=True) for number in range(READERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return times_ms


def p95_ms(times_ms: Sequence[float]) -> float:
    """Return the time within which 95 % of the answers came."""
    return quantiles(times_ms, n=20)[-1]


def cpu_s(pid: int) -> float:
    """Return the CPU time of a process with its ended threads, in steps of 0.01 s (``/proc/PID/stat``)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class RunAdder:
    """Adds runs, and measures when all lists contain them."""

    repository: Repository
    port: int
    listed_after_s: list[float] = field(default_factory=list)

    def add(self) -> None:
        """Add a run to an existing configuration."""
        generator = random.Random(len(self.listed_after_s))
        add = foreign_run(
            workload=generator.choice(WORKLOADS),
            layout=generator.choice(LAYOUTS),
            cluster="cluster-1",
            levels={"network": "ETH"},
            duration_s=400.0,
            started_at="2026-12-31T00:00:00+00:00",
        )
        self.repository.publish(like(add, run_id=new_run_id(), campaign_id="added", plan="added"))

    def add_and_watch(self) -> None:
        """Add a run half-way, and note how long it takes until it is listed."""
        time.sleep(HALF_WAY_S)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        runs_before = listed_run_count(connection)
        self.add()
        began = time.monotonic()
        while listed_run_count(connection) == runs_before and time.monotonic() - began < LISTED_S_MAX:
            time.sleep(0.2)
        self.listed_after_s.append(time.monotonic() - began)
        connection.close()


def listed_run_count(connection: http.client.HTTPConnection) -> int:
    """Return the number of runs in the lists."""
    connection.request("GET", "/api/v1/runs?limit=1&facets=false")
    return int(json.loads(connection.getresponse().read())["of"])


def measure(
    name: str, requests: Sequence[tuple[str, str, str]], server: tuple[int, int], run_adder: RunAdder
) -> list[float]:
    """Let all readers read one page while two runs are added; print the times of the answers and return them."""
    port, pid = server
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    first_ms = answer_ms(connection, requests[0])
    cpu_before_s = cpu_s(pid)
    run_adder.add()
    first_after_adding_ms = answer_ms(connection, requests[0])
    connection.close()
    watch_thread = threading.Thread(target=run_adder.add_and_watch, daemon=True)
    watch_thread.start()
    times = concurrent_times_ms(requests, partial(reader, port))
    watch_thread.join()
    used_ms = 1000 * (cpu_s(pid) - cpu_before_s) / (len(times) + 1)
    print(
        f"{name:<24}{first_ms:8.0f}{first_after_adding_ms:8.0f}{median(times):8.0f}{p95_ms(times):8.0f}{max(times):8.0f}"
        f"{used_ms:8.1f}{run_adder.listed_after_s[-1]:8.1f}{len(times):6d}",
        flush=True,
    )
    return times


def main(existing: Path | None, runs: int, page_names: Sequence[str] = ()) -> None:
    """Measure every page and its data, or the named ones, and print the times with the target."""
    with tempfile.TemporaryDirectory() as folder:
        repository = Repository.open(existing) if existing else filled_repository(Path(folder), runs)
        table = repository.table()
        target_ms = TARGET_MS if len(table) <= MANY_RUNS else MANY_TARGET_MS
        ids = repository.ids_at(table, np.flatnonzero(~has_level(table, "plan", "added"))[:64:2].tolist())
        all_requests = pages(ids) | {f"data: {name}": requests for name, requests in questions(ids).items()}
        print(
            f"{READERS} readers, {len(table):,} runs, load average {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores. "
            f"Target: 95 % within {target_ms} ms."
        )
        print(f"{'ms':<24}{'first':>8}{'added':>8}{'median':>8}{'95 %':>8}{'most':>8}{'CPU':>8}{'seen s':>8}{'n':>6}")
        with serving(repository.root, Path(folder)) as server:
            run_adder = RunAdder(repository, server[0])
            slow_pages = [
                name
                for name, requests in all_requests.items()
                if (not page_names or name in page_names)
                and p95_ms(measure(name, requests, server, run_adder)) > target_ms
            ]
        print(f"over the target: {', '.join(slow_pages) or 'none'}")


if __name__ == "__main__":
    argument = sys.argv[1] if len(sys.argv) > 1 else str(MANY_RUNS)
    existing_folder = None if argument.isdecimal() else Path(argument)
    main(existing_folder, int(argument) if existing_folder is None else 0, sys.argv[2:])
