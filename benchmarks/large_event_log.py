"""Compare the memory and CPU time of assay's reader of Spark event logs with a plain loop of ``json.loads``.

The log repeats one short task of a real log's form, on 16 executors of 4 cores, in a temporary file. Each reader is a
separate process. The plain loop keeps nothing, so its memory is that of an interpreter. ``assay size`` reads the log
and computes what limits the job.

Run: ``.venv/bin/python benchmarks/large_event_log.py [tasks]`` (500,000: 240 MB of temporary files, about 1 min).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TextIO

EXECUTORS, CORES = 16, 4
START_MS = 1_700_000_000_000
PLAIN_SCRIPT = "import json, sys\nfor line in open(sys.argv[1], 'rb'): json.loads(line)"
READER_SCRIPT = """
import sys
from assay.store.formats.spark.events import read_application
with open(sys.argv[1], 'rb') as log: read_application([('log', log)])
"""


def write_log(path: Path, tasks: int) -> None:
    """Write the event log of an application with one stage of ``tasks`` tasks."""
    end_ms = START_MS + 10_000 + tasks // (EXECUTORS * CORES) * 8
    stage = {"Stage ID": 0, "Stage Attempt ID": 0, "Stage Name": "count", "Number of Tasks": tasks, "Parent IDs": []}
    times = {"Submission Time": START_MS + 1000, "Completion Time": end_ms - 1000}
    with path.open("w") as log:
        _write(log, "LogStart", {"Spark Version": "3.5.1"})
        for executor in range(EXECUTORS):
            info = {"Host": f"w{executor}", "Total Cores": CORES}
            _write(log, "ExecutorAdded", {"Executor ID": str(executor), "Executor Info": info})
        _write(log, "ApplicationStart", {"App Name": "many tasks", "App ID": "app-1", "Timestamp": START_MS})
        _write(log, "JobStart", {"Job ID": 0, "Submission Time": START_MS + 1000, "Stage IDs": [0]})
        for number in range(tasks):
            slot = number % (EXECUTORS * CORES)
            launch_ms = START_MS + 1000 + number // (EXECUTORS * CORES) * 8
            info = {"Task ID": number, "Index": number, "Launch Time": launch_ms, "Host": f"w{slot % EXECUTORS}"}
            info["Executor ID"] = str(slot % EXECUTORS)
            _write(log, "TaskStart", {"Stage ID": 0, "Task Info": info})
            info["Finish Time"] = launch_ms + 5 + number % 3
            metrics = {"Executor Run Time": 4, "Executor CPU Time": 3_500_000, "JVM GC Time": number % 2}
            metrics["Input Metrics"] = {"Bytes Read": 65_536 + number % 1000}  # type: ignore[assignment]
            end = {"Stage ID": 0, "Task Type": "ResultTask", "Task End Reason": {"Reason": "Success"}}
            _write(log, "TaskEnd", {**end, "Task Info": info, "Task Metrics": metrics})
        _write(log, "StageCompleted", {"Stage Info": stage | times})
        _write(log, "JobEnd", {"Job ID": 0, "Completion Time": end_ms, "Job Result": {"Result": "JobSucceeded"}})
        _write(log, "ApplicationEnd", {"Timestamp": end_ms})


def _write(log: TextIO, name: str, values: dict[str, object]) -> None:
    log.write(json.dumps({"Event": f"SparkListener{name}", **values}, separators=(",", ":")) + "\n")


def cpu_and_memory(*arguments: str) -> tuple[float, float]:
    """Run Python with the arguments; return its CPU seconds and its peak memory in MB."""
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"python {' '.join(arguments)[:60]} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def main(tasks: int) -> None:
    """Write the log, let each reader read it, and print CPU time, memory and ratios."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "app-1")
        write_log(path, tasks)
        print(f"{tasks:,} tasks, {path.stat().st_size / 1e6:,.0f} MB; load average {os.getloadavg()[0]:.1f}")
        plain_s, plain_mb = cpu_and_memory("-c", PLAIN_SCRIPT, str(path))
        print(f"json.loads loop: {plain_s:.1f} s of CPU, {plain_mb:.0f} MB")
        for reader, arguments in (
            ("assay's reader", ("-c", READER_SCRIPT, str(path))),
            ("assay size", ("-m", "assay", "size", str(path))),
        ):
            cpu_s, memory_mb = cpu_and_memory(*arguments)
            print(
                f"{reader}: {cpu_s:.1f} s of CPU, {cpu_s / plain_s:.2f} times the loop's; {memory_mb:.0f} MB, "
                f"{memory_mb / path.stat().st_size * 1e6:.2f} times the log's size"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500_000)
