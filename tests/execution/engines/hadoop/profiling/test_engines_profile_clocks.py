"""Test that a profile is aligned between hosts with shifted clocks, which assay reaches through real sshds.

The hosts' clocks are shifted in two ways: by a ``date`` on the path of the logins, or by libfaketime (Debian's package)
in all programs of the logins, the JVM included.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from assay.analysis.code_profile.seconds import parse_times
from assay.analysis.code_profile.stacks import parse_collapsed
from assay.execution.engines.contract import ProgramResult
from assay.execution.engines.hadoop.profiling import agent
from assay.execution.engines.hadoop.profiling.parts import PartSpan, RecordedParts
from assay.execution.engines.hadoop.profiling.recording import prepare
from assay.execution.hosts import connect_ssh
from assay.foundation.installation import cache_directory
from assay.model import Outcome
from hosts_support import LoopbackSshd, loopback_sshd
from profile_support import TWO_METHODS

pytestmark = [
    pytest.mark.daemon,
    pytest.mark.skipif(
        shutil.which("javac") is None or not (cache_directory() / f"async-profiler-{agent.VERSION}").is_dir(),
        reason="javac is not installed, or async-profiler was not fetched yet: run a profiled run once",
    ),
]
NODE_AHEAD_S, DRIVER_AHEAD_S, TOLERANCE_S = 1000, 400, 2.0
LIMIT_S = 120


def shifted(folder: Path, ahead_s: int, method: str) -> Mapping[str, str]:
    """Return the environment of logins whose clock is ahead by ``ahead_s``."""
    if method == "date":
        folder.mkdir()
        (folder / "date").write_text(f"#!/bin/sh\nexec {shutil.which('date')} -d '+{ahead_s} seconds' \"$@\"\n")
        (folder / "date").chmod(0o755)
        return {"PATH": f"{folder}:{os.environ['PATH']}"}
    libraries = [Path(os.environ.get("LIBFAKETIME", "")), *Path("/usr/lib").glob("*/faketime/libfaketime.so.1")]
    library = next((path for path in libraries if path.is_file()), None)
    if library is None:
        pytest.skip("libfaketime is not installed: apt-get install libfaketime")
    values = {"LD_PRELOAD": str(library), "FAKETIME": f"+{ahead_s}s", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    return {"PATH": os.environ["PATH"], **values}


@contextlib.contextmanager
def shifted_sshd(folder: Path, ahead_s: int, method: str) -> Iterator[LoopbackSshd]:
    """Run an sshd whose logins have a clock that is ahead."""
    folder.mkdir()
    with loopback_sshd(folder, shifted(folder / "bin", ahead_s, method)) as server:
        yield server


async def profiled(folder: Path, node: LoopbackSshd, driver: LoopbackSshd, jvm_ahead_s: int) -> ProgramResult:
    """Profile a program on ``node`` in two parts, whose bound has the time of the driver's clock."""
    hosts = {"node": await connect_ssh("node", node.address), "driver": await connect_ssh("driver", driver.address)}
    try:
        recorder = await prepare("cpu", hosts, "java", str(folder / "home"), lambda _: None)
        recordings = await recorder.begin()
        assert recordings is not None
        command = ["java", recorder.option(recordings, "one"), "-cp", str(folder), "Slow"]
        done = await hosts["node"].run(command, timeout_s=LIMIT_S)
        printed_s = float(next(line for line in done.stdout.decode().splitlines() if line.isdigit())) / 1000
        assert abs(printed_s - jvm_ahead_s - time.time()) < LIMIT_S
        bound = str(round((printed_s + 0.6 + DRIVER_AHEAD_S - NODE_AHEAD_S) * 1000))
        cuts = [PartSpan("one", "stage-0", "1", bound), PartSpan("one", "stage-1", bound, "")]
        parts = RecordedParts(frozenset({"one"}), 1, lambda _: cuts, "driver")
        return await recorder.end(recordings, ProgramResult(Outcome(0, "", {}, 0, 1.0), 0.0), parts)
    finally:
        await asyncio.gather(*(host.close() for host in hosts.values()))


@pytest.mark.parametrize("method", ["date", "libfaketime"])
def test_samples_and_parts_are_aligned_through_ssh(method: str, tmp_path: Path) -> None:
    (tmp_path / "Slow.java").write_text(TWO_METHODS)
    subprocess.run(["javac", "-d", tmp_path, tmp_path / "Slow.java"], check=True)
    jvm_ahead_s = 0 if method == "date" else NODE_AHEAD_S  # with ``date``, the JVM has this machine's clock
    began_s = time.time()
    with (
        shifted_sshd(tmp_path / "node", NODE_AHEAD_S, method) as node,
        shifted_sshd(tmp_path / "driver", DRIVER_AHEAD_S, method) as driver,
    ):
        result = asyncio.run(profiled(tmp_path, node, driver, jvm_ahead_s))
    assert result.warnings == ()
    ahead_s = result.environment["profile"]["clock_ahead_s"]
    assert ahead_s == pytest.approx({"node": NODE_AHEAD_S, "driver": DRIVER_AHEAD_S}, abs=TOLERANCE_S)
    texts = {part: result.logs[f"profiles/one.{part}.collapsed"].decode() for part in ("stage-0", "stage-1")}
    assert [("Slow.first" in text, "Slow.second" in text) for text in texts.values()] == [(True, False), (False, True)]
    shift_s = jvm_ahead_s - NODE_AHEAD_S
    for part, text in texts.items():
        times = parse_times(result.logs[f"profiles/one.{part}.seconds"].decode(), list(parse_collapsed(text)[0]))
        assert times.stacks
        for second in times.stacks:
            assert began_s + shift_s - TOLERANCE_S < second < time.time() + shift_s + TOLERANCE_S
