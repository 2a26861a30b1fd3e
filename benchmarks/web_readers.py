"""How long 50 people who read at the same time wait for each page's data, at 50,000 runs.

Fills a new repository with synthetic runs (those of ``repository_views.py``), serves it by ``assay serve`` in a process
of its own, and lets 50 threads ask for the data of each page in turn, each with a connection of its own: half of them
the same question, as colleagues with a link do, half a filter of their own, so that not everything is answered from
what is kept. Printed is the median and the 95th percentile of an answer's time beside the target, and the first
answer's time, which nobody had asked for before.

Run: ``.venv/bin/python benchmarks/web_readers.py [runs [page…]]``; 50,000 take about two minutes.
"""

from __future__ import annotations

import http.client
import json
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import TypeVar
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).parent))
from repository_views import LAYOUTS, WORKLOADS, filled

Question = TypeVar("Question")
READERS = 50
QUESTIONS = 6
"""Of each reader to each page."""
TARGET_MS = 150
BOOK = """\
prices: synthetic
currency: USD
date: 2026-01-01
source: made up
items:
  - {name: cluster, price: $9.44, per: cluster-hour}
"""


def questions(ids: list[str]) -> dict[str, list[tuple[str, str, str]]]:
    """Return each page's questions: method, address and body; the first is the one that half of the readers ask."""
    some = [("where", f"workload={name}") for name in WORKLOADS]
    more = [[("where", f"workload={w}"), ("where", f"layout={layout}")] for w in WORKLOADS for layout in LAYOUTS]

    def get(path: str, *queries: list[tuple[str, str]]) -> list[tuple[str, str, str]]:
        return [("GET", f"/api/v1/{path}?{urlencode(query)}", "") for query in queries]

    pairs = [[("run", a), ("run", b)] for a, b in zip(ids[::2], ids[1::2], strict=False)]
    prices = [("POST", "/api/v1/cost", json.dumps({"where": [f"workload={name}"]})) for name in WORKLOADS]
    return {
        "overview": get("summary", []) + get("campaigns", []),
        "runs": get("runs", [], *more),
        "run": get("runs/" + ids[0] + "/detail", []) + [q for one in ids for q in get(f"runs/{one}/detail", [])],
        "compare": get("sides", *pairs),
        "speedup": get("speedup", *[[one] for one in some]),
        "speedup: averages": get(
            "speedup/published", *[[("method", "aloja"), ("baseline", "HDD"), one] for one in some]
        ),
        "cost": prices,
        "quality: anomalies": get("anomalies", [], *[[one] for one in some]),
        "quality: precision": get("precision", [], *[[one] for one in some]),
        "quality: coverage": get("coverage", [], *[[one] for one in some]),
        "plan": get("clusters", []),
    }


@contextmanager
def served(repository: Path, folder: Path) -> Iterator[int]:
    """Serve the repository in a process of its own and yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
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
        yield port
    finally:
        process.terminate()
        process.wait(timeout=20)


def answer_ms(connection: http.client.HTTPConnection, question: tuple[str, str, str]) -> float:
    """Return how long one answer took; an answer that is none ends the benchmark."""
    method, address, body = question
    began = time.monotonic()
    connection.request(method, address, body or None, {"Content-Type": "application/json"} if body else {})
    answer = connection.getresponse()
    content = answer.read()
    if answer.status != 200:
        raise SystemExit(f"{address}: {answer.status} {content[:300]!r}")
    return 1000 * (time.monotonic() - began)


@contextmanager
def reader(port: int) -> Iterator[Callable[[tuple[str, str, str]], float]]:
    """Connect to the server; yield what asks it a question and tells how long the answer took, in ms."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.connect()
    try:
        yield partial(answer_ms, connection)
    finally:
        connection.close()


def together(
    asked: Sequence[Question], connected: Callable[[], AbstractContextManager[Callable[[Question], float]]]
) -> list[float]:
    """Return the times of all answers in ms when all readers, each with a connection of its own, ask at once."""
    found: list[float] = []
    failed: list[BaseException] = []
    ready = threading.Barrier(READERS)

    def read(number: int) -> None:
        chance = random.Random(number)
        try:
            with connected() as ask:
                ready.wait()
                time.sleep(chance.uniform(0, 1))
                for _ in range(QUESTIONS):
                    found.append(ask(asked[0] if number % 2 else chance.choice(asked)))
                    time.sleep(chance.uniform(0.5, 1.5))  # people look at what they got
        except BaseException as error:
            failed.append(error)
            ready.abort()

    threads = [threading.Thread(target=read, args=(number,), daemon=True) for number in range(READERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return found


def p95_ms(times_ms: Sequence[float]) -> float:
    """Return the time within which 95 % of the answers came."""
    return quantiles(times_ms, n=20)[-1]


def main(runs: int, pages: Sequence[str] = ()) -> None:
    """Measure every page's data, or that of ``pages`` alone, and print it beside the target."""
    with tempfile.TemporaryDirectory() as folder:
        repository = filled(Path(folder), runs)
        table = repository.table()
        ids = repository.ids_at(table, range(0, min(len(table), 64), 2))
        with served(repository.root, Path(folder)) as port:
            print(f"{READERS} readers, {runs:,} runs; ms. Target: 95 % within {TARGET_MS}.")
            for page, asked in questions(ids).items():
                if pages and page not in pages:
                    continue
                one = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
                first = answer_ms(one, asked[0])
                one.close()
                times = together(asked, partial(reader, port))
                most = p95_ms(times)
                verdict = "" if most <= TARGET_MS else "  over the target"
                print(
                    f"{page:<20} first {first:7.0f}  median {median(times):6.0f}  95 % {most:6.0f}"
                    f"  (n = {len(times)}){verdict}"
                )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000, sys.argv[2:])
