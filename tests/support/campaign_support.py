"""Write small plans for the lab and for this machine, and run the program as users do."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import pytest

from java_archives import make_class_archives
from paths import ARCHIVED_JAVA
from program import called_json

PROGRAM = [sys.executable, "-m", "assay"]

_CLUSTER = """
cluster: {name}
lab: {{scale: 1/20, memory_floor: 1.5GiB}}
{java}
node_types:
  head: {{cores: 4, memory: 16GB, nic: 10Gbit/s}}
  worker:
    cores: 4
    memory: 16GB
    nic: 10Gbit/s
    devices:
      hdd: {{kind: hdd, read: 120MB/s, write: 120MB/s, iops: 120, capacity: {capacity}}}
      ssd: {{kind: ssd, read: 500MB/s, write: 460MB/s, capacity: {capacity}}}
nodes:
  master: {{type: head, roles: [master]}}
  worker: {{type: worker, roles: [worker], count: 2}}
"""
_LOCAL = """
cluster: {name}
local: {{}}
home: {home}
{java}
node_types:
  machine:
    cores: 2
    memory: 8GB
    nic: 10Gbit/s
    devices:
      ssd: {{kind: ssd, read: 500MB/s, write: 460MB/s, capacity: 100GB}}
nodes:
  node: {{type: machine, roles: [master, worker]}}
"""


def require_hadoop() -> None:
    """Skip the test, loudly, where Hadoop can't run. Otherwise make class archives that are recorded."""
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: Hadoop can't be run here")
    make_class_archives()


def left_in_tmp() -> set[str]:
    """Return the names of files in /tmp that Hadoop makes there by default; one user's would keep out another user."""
    return {path.name for pattern in ("hadoop*", "jetty-*") for path in Path("/tmp").glob(pattern)}


def write_lab_plan(folder: Path, name: str, body: str, *, capacity: str = "40GB") -> Path:
    """Write a cluster of one master and two workers and a plan with ``body``; return the plan's path."""
    (folder / "cluster.yaml").write_text(
        _CLUSTER.format(name=name, capacity=capacity, java=f"java_home: {ARCHIVED_JAVA}")
    )
    return _write_plan(folder, body)


def write_local_plan(folder: Path, name: str, body: str, *, java_home: str | Path = ARCHIVED_JAVA) -> Path:
    """Write this machine as a cluster of one node, and a plan with ``body``; return the plan's path."""
    text = _LOCAL.format(name=name, home=folder / "home", java=f"java_home: {java_home}")
    (folder / "cluster.yaml").write_text(text)
    return _write_plan(folder, body)


def _write_plan(folder: Path, body: str) -> Path:
    path = folder / "plan.yaml"
    path.write_text(f"plan: test\ncluster: cluster.yaml\nengine: hadoop\nseed: 1\n{body}")
    return path


def assay(*arguments: str | Path, timeout_s: float = 600, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run the program to its end. A traceback is a failure whatever the exit status."""
    done = subprocess.run(
        [*PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=timeout_s, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    if check:
        assert done.returncode == 0, done.stderr
    return done


def assay_json(*arguments: str | Path) -> Any:
    """Return what the program prints with ``--json``, called in this process: a second one needs a second to start."""
    return called_json(*arguments)


class Campaign:
    """``assay run`` in the background, to be disturbed; at the end of a block it is ended, whatever happened there."""

    def __init__(self, plan: Path, repository: Path, environment: Mapping[str, str] | None = None) -> None:
        self.repository = repository
        self.log = repository.parent / f"run-{time.monotonic_ns()}.log"
        command = [*PROGRAM, "run", str(plan), "--repository", str(repository), "--no-baseline"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, env=environment
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for number, wait_s in ((signal.SIGTERM, 90), (signal.SIGKILL, 10)):
            if self.process.poll() is None:
                self.process.send_signal(number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(wait_s)

    def events(self) -> list[dict[str, Any]]:
        """Return the journal's lines."""
        lines = [line for path in self.repository.glob("campaigns/*/journal.jsonl") for line in path.open()]
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def wait_for(self, what: str, condition: Any, timeout_s: float = 240) -> Any:
        """Return ``found()`` as soon as it is true; fail with the log when the campaign ends before or it is late."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if value := condition():
                return value
            if self.process.poll() is not None:
                pytest.fail(f"the campaign ended before: {what}\n{self.text()}")
            time.sleep(0.2)
        pytest.fail(f"not seen within {timeout_s} s: {what}\n{self.text()}")

    def text(self) -> str:
        """Return what the campaign has printed."""
        return self.log.read_text(errors="replace")

    def end(self, number: signal.Signals, timeout_s: float = 90) -> int:
        """Send the campaign's process a signal and return its exit status."""
        os.kill(self.process.pid, number)
        return self.process.wait(timeout_s)

    def finish(self, timeout_s: float = 600) -> int:
        """Wait for the end and return the exit status."""
        return self.process.wait(timeout_s)


def java_processes(*words: str) -> dict[int, str]:
    """Return pid to command line of this machine's JVMs whose command line or control group has all of ``words``."""
    processes = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            groups = (entry / "cgroup").read_text()
        except OSError:
            continue
        if "-Dassay.deployment=" in command and all(word in command or word in groups for word in words):
            processes[int(entry.name)] = command
    return processes


def end_java_processes(*words: str) -> dict[int, str]:
    """Kill what :func:`java_processes` finds, as a failed test leaves it, and return what there was."""
    processes = java_processes(*words)
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return processes
