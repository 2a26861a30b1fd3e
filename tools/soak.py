"""Run a long campaign with concurrent readers and print the growth of each resource as a fitted slope.

`assay run --simulate` makes 500 runs of a plan in a new repository while `assay serve` answers 10,000 requests of one
reader. Sampled: descriptors and memory of both processes, assay's entries in the system's temporary folder, entries of
the repository's `partial/`, and the duration of a request. ``--runs``, ``--requests``: other numbers.
"""

from __future__ import annotations

import argparse
import http.client
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
PATHS = ("/api/v1/runs?limit=20", "/api/v1/runs?status=valid&limit=5", "/", "/api/v1/bundles")
CHECK_INTERVAL = 50
"""Requests between two checks."""


def process_facts(pid: int) -> tuple[float, float]:
    """Return a process's descriptors and MB of memory; NaN if it has ended."""
    try:
        resident = re.search(r"^VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
        if resident:  # a process that has ended has no VmRSS
            return float(len(list(Path(f"/proc/{pid}/fd").iterdir()))), int(resident[1]) / 1e3
    except OSError:
        pass
    return float("nan"), float("nan")


def write_plan(folder: Path, runs: int) -> Path:
    """Write a plan of ``runs`` runs of small jobs for the lab's example cluster."""
    cluster = (ROOT / "examples" / "lab" / "cluster.yaml").read_text()
    (folder / "cluster.yaml").write_text(cluster)
    body = "plan: soak\ncluster: cluster.yaml\nengine: hadoop\nlayout: HDD\nworkloads:\n  - teragen: {data: 100MB}\n"
    path = folder / "plan.yaml"
    path.write_text(f"{body}repetitions: {runs}\n")
    return path


def request_times(port: int, count: int) -> Iterator[tuple[int, float]]:
    """Send one request after the other, and yield the number and seconds of each. Raises RuntimeError if one fails."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    for number in range(count):
        began = time.monotonic()
        connection.request("GET", PATHS[number % len(PATHS)])
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise RuntimeError(f"request {number}: HTTP {answer.status}")
        yield number, time.monotonic() - began


def port_of(server: subprocess.Popen[str], log: Path) -> int:
    """Wait for the server's address and return its port."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and server.poll() is None:
        if address := re.search(r"http://127\.0\.0\.1:(\d+)", log.read_text()):
            return int(address[1])
        time.sleep(0.1)
    raise RuntimeError(f"the server did not start: {log.read_text()}")


def growth_text(values: list[float]) -> str:
    """Return the median and the change over the whole soak by a fitted line, without the first quarter."""
    samples = np.array(values)
    samples = samples[~np.isnan(samples)]  # NaN: the process has ended
    samples = samples[len(samples) // 4 :]
    if len(samples) < 3:
        return "too few checks"
    per_check, _ = np.polyfit(np.arange(len(samples)), samples, 1)
    return f"median {np.median(samples):.3f}, change {per_check * len(samples):+.3f} (n = {len(samples)} checks)"


def main() -> int:
    """Run the soak and print the growth of each resource."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--requests", type=int, default=10_000)
    options = parser.parse_args()
    checks: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="soak-") as scratch:
        folder = Path(scratch)
        repository, log = folder / "repository", folder / "serve.log"
        assay = [sys.executable, "-m", "assay"]
        first_plan = write_plan(folder, 1)
        subprocess.run(
            [*assay, "run", first_plan, "--simulate", "--repository", repository], check=True, capture_output=True
        )
        plan = write_plan(folder, options.runs)
        with log.open("w") as out, (folder / "run.log").open("w") as run_log:
            serve = [*assay, "serve", "--port", "0", "--repository", str(repository)]
            server = subprocess.Popen(serve, stdout=out, stderr=out, text=True)
            command = [*assay, "run", str(plan), "--simulate", "--repository", str(repository)]
            campaign = subprocess.Popen(command, stdout=run_log, stderr=run_log, text=True)
            try:
                durations_s: list[float] = []
                for number, seconds in request_times(port_of(server, log), options.requests):
                    durations_s.append(seconds)
                    if number % CHECK_INTERVAL == 0:
                        check = {
                            "request, s": float(np.median(durations_s)),
                            "partial": len(list((repository / "partial").iterdir())),
                        }
                        for name, pid in (("serve", server.pid), ("run", campaign.pid)):
                            check[f"{name}: descriptors"], check[f"{name}: MB"] = process_facts(pid)
                        check["temporary entries"] = float(len(list(Path(tempfile.gettempdir()).glob("assay-*"))))
                        for name, value in check.items():
                            checks.setdefault(name, []).append(value)
                        durations_s.clear()
                status = campaign.wait(3600)
            finally:
                for process in (server, campaign):
                    process.terminate()
                    process.wait(60)
        bundles = len(list((repository / "bundles").iterdir()))
    sys.stdout.write(f"{bundles} bundles, {options.requests} requests, exit code {status}\n")
    for name, values in checks.items():
        sys.stdout.write(f"{name}: {growth_text(values)}\n")
    return 0 if status == 0 and bundles >= options.runs else 1


if __name__ == "__main__":
    sys.exit(main())
