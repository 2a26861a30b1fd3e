"""Test that a program's duration comes from its host's clock and does not depend on pauses of assay."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from assay.execution.engines.timing import BEAT_GAP_MAX_S, CLOCK_DIFFERENCE_MIN_S, Heartbeat, split_times, timed_command
from assay.execution.hosts import LocalTransport
from paths import TESTS
from timed_child import run_script

JOB_S, PAUSE_S, GAP_S = 2.5, 6.0, 3.0


def stopped_meanwhile(folder: Path, job_s: float, pause_s: float, limit_s: float) -> Any:
    """Return what a process reports about a job during which it was stopped (SIGSTOP) and continued (SIGCONT)."""
    script = f"touch {folder}/began; sleep {job_s}"
    command = [sys.executable, str(TESTS / "support" / "timed_child.py"), str(folder), script, str(limit_s), str(GAP_S)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        for _ in range(600):
            if (folder / "began").exists():
                break
            time.sleep(0.1)
        time.sleep(0.5)
        os.kill(process.pid, signal.SIGSTOP)
        try:
            time.sleep(pause_s)
        finally:
            os.kill(process.pid, signal.SIGCONT)
        return json.loads(process.communicate(timeout=60)[0])


PAUSES: dict[str, tuple[float, float, float]] = {
    "beyond the end": (JOB_S, PAUSE_S, 60),
    "within the job": (2 * PAUSE_S, GAP_S + 1, 60),
    "beyond the limit": (20, PAUSE_S, 3),
}
"""How long the job takes, the pause, and the job's time limit."""


@pytest.fixture(scope="module")
def paused(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the result of each pause; the pauses run concurrently."""
    folders = [tmp_path_factory.mktemp("paused") for _ in PAUSES]
    with ThreadPoolExecutor() as pool:
        ended = pool.map(lambda folder, times: stopped_meanwhile(folder, *times), folders, PAUSES.values())
        return dict(zip(PAUSES, ended, strict=True))


@pytest.mark.slow
def test_a_pause_of_assay_beyond_the_jobs_end_changes_no_time_and_the_run_is_not_valid(paused: dict[str, Any]) -> None:
    exit_status, duration_s, source, status, cause, failure_class = paused["beyond the end"]
    assert exit_status == 0
    assert JOB_S <= duration_s < PAUSE_S
    assert source == "wall time of the client program, by the master's clock"
    assert (status, failure_class) == ("invalid", "infrastructure")
    assert "assay itself did not run for " in cause
    assert f"which took {duration_s:.1f} s on the master" in cause


@pytest.mark.slow
def test_a_pause_within_the_job_changes_nothing(paused: dict[str, Any]) -> None:
    _, duration_s, _, status, cause, _ = paused["within the job"]
    assert duration_s >= 2 * PAUSE_S
    assert (status, cause) == ("valid", None)


@pytest.mark.slow
def test_a_time_limit_that_passed_during_a_pause_is_not_the_jobs_fault(paused: dict[str, Any]) -> None:
    _, _, _, status, cause, failure_class = paused["beyond the limit"]
    assert (status, failure_class) == ("failed", "infrastructure")
    assert "assay itself did not run for " in cause
    assert "its time limit passed meanwhile" in cause


async def test_the_heartbeat_counts_a_suspended_machine_and_only_pauses_that_changed_a_time() -> None:
    times_s = iter([100.0, 101.0, 101.0 + BEAT_GAP_MAX_S, 102.0 + BEAT_GAP_MAX_S])
    heartbeat = Heartbeat(lambda: next(times_s))
    for _ in range(3):
        heartbeat._beat()
    assert heartbeat.took_s == BEAT_GAP_MAX_S + 2
    assert heartbeat.pause(BEAT_GAP_MAX_S + 2 - CLOCK_DIFFERENCE_MIN_S / 2) is None
    assert heartbeat.pause(None) == "assay itself did not run for 10 s during the job"
    words = heartbeat.pause(5.0)
    assert words == (
        "assay itself did not run for 10 s during the job, which took 5.0 s on the master and 12.0 s by assay's clock"
    )
    times_s = iter([0.0, BEAT_GAP_MAX_S - 1, BEAT_GAP_MAX_S])
    busy = Heartbeat(lambda: next(times_s))
    busy._beat()
    assert busy.pause(1.0) is None


TOKEN = "token"


async def compared(script: str, env: dict[str, str] | None = None) -> tuple[Any, Any]:
    """Return the result of a script alone, and of the timed script without the line of times."""
    host = LocalTransport("here")
    command = ["sh", "-c", script]
    plain = await host.run(command, timeout_s=30, check=False, env=env)
    done = await host.run(timed_command(command, TOKEN), timeout_s=30, check=False, env=env)
    took_s, stderr = split_times(done.stderr, TOKEN)
    assert took_s is not None
    return (plain.exit_status, plain.stdout, plain.stderr), (done.exit_status, done.stdout, stderr)


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        "echo out; echo words >&2; exit 7",
        "kill -KILL $$",
        "kill -TERM $$",
        "kill -SEGV $$",
        "env | grep -v ^_= | sort",
        "grep -E 'Sig(Ign|Blk|Cgt)' /proc/self/status; ulimit -c",
        "cat; ls /proc/self/fd | wc -l",
        "yes | head -1; printf 'no line end' >&2",
    ],
)
async def test_a_timed_program_has_the_same_input_and_output_as_alone(script: str) -> None:
    plain, with_times = await compared(script, {"LC_ALL": "", "LANG": "", "NAME": "a=b\nc"})
    assert with_times == plain


@pytest.mark.slow
async def test_a_missing_program_has_the_exit_status_of_a_shell(tmp_path: Path) -> None:
    host = LocalTransport("here")
    done = await host.run(timed_command([str(tmp_path / "nothing")], TOKEN), timeout_s=30, check=False)
    assert (done.exit_status, b"No such file or directory" in done.stderr) == (127, True)
    done = await host.run(timed_command([str(tmp_path)], TOKEN), timeout_s=30, check=False)
    assert (done.exit_status, b"Permission denied" in done.stderr) == (126, True)


@pytest.mark.slow
async def test_processes_that_a_program_leaves_do_not_count(tmp_path: Path) -> None:
    finished = await run_script(tmp_path, "sleep 3 & exit 0")
    assert finished.outcome.duration_s < 2
    assert b"assay-times" not in finished.logs["job.log"]
