"""Run every test in five sets: ``make test``.

The first set measures devices, links and caches, and runs before the others. Those run concurrently: tests on an
emulated cluster, tests with Hadoop on this machine, tests of pages in Chromium, and all other tests. The output of the
last set is shown while it runs, the output of the others after their end. Arguments are passed to pytest.

A few failed tests are tried a second time without concurrent tests: on two cores, five sets can be slower than a test
with real daemons waits. The last line names tests that passed only alone. The exit code is 0 if no test failed twice.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
ALONE, ON_LABS = "alone", "on labs"
CONCURRENT_SETS = {
    ON_LABS: "(lab or later) and not alone",
    "on this machine's Hadoop": "hadoop and not lab and not later and not alone",
    "in a browser": "browser and not lab and not hadoop and not alone",
    "everything else": "not lab and not hadoop and not alone and not browser",
}
"""Markers of each set. The output of the last set is shown while it runs."""
EVERYTHING_ELSE = CONCURRENT_SETS["everything else"]
IN_MEMORY = ("everything else", "in a browser")
"""Sets whose temporary folders are in memory: their tests flush many small files and need no disk."""
FAILED = 1
NO_TESTS = 5
"""pytest's exit codes when tests failed, and when nothing was selected."""
REPEATED_MAX = 6
"""Maximum number of failed tests that are tried again. More failures are not chance."""


def pytest(marks: str, arguments: list[str]) -> list[str]:
    """Return the command that runs the tests with these markers and prints the twenty slowest."""
    cache = f"cache_dir={ROOT / '.pytest_cache' / marks.replace(' ', '-')}"
    # The largest set has two processes: with one, it would run on one core for minutes after the other sets have ended.
    # Measurements have two, because they mostly wait for emulated devices, each for its own. The plug-in for tests of
    # the API is only in the largest set, as it takes longer to import than pytest.
    options = ["-n", "2", "--dist", "loadfile"] if marks in (ALONE, EVERYTHING_ELSE) else []
    options += [] if marks == EVERYTHING_ELSE else ["-p", "no:schemathesis"]
    return [sys.executable, "-m", "pytest", "-m", marks, "--durations=20", "-o", cache, *options, *arguments]


def environment_of(name: str, state: str) -> dict[str, str]:
    """Return a set's environment.

    Only the set that makes labs uses the machine's state directory, because every command removes abandoned labs there.
    Scripts for hosts run with this Python: a shim that first searches for a Python takes ten times as long.
    """
    variables = {} if name == ON_LABS else {"ASSAY_STATE": state}
    if name in IN_MEMORY:
        variables["ASSAY_IN_MEMORY"] = "1"
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", **variables}


def failed_of(marks: str) -> list[str]:
    """Return the tests of the set that failed in its last run."""
    file = ROOT / ".pytest_cache" / marks.replace(" ", "-") / "v/cache/lastfailed"
    return sorted(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else []


def try_again(codes: dict[str, int], arguments: list[str]) -> list[str]:
    """Run the failed tests of each set alone, update ``codes``, and return the tests that passed."""
    sets = {"measurements": ALONE, **CONCURRENT_SETS}
    failed_tests = {name: failed_of(sets[name]) for name, code in codes.items() if code == FAILED}
    if not 0 < sum(map(len, failed_tests.values())) <= REPEATED_MAX:
        return []
    passed_tests = []
    for name, tests in failed_tests.items():
        sys.stdout.write(f"== failed, tried again alone: {name}\n")
        sys.stdout.flush()
        command = [*pytest(sets[name], arguments), "--last-failed", "--last-failed-no-failures=none"]
        codes[name] = subprocess.run(command, cwd=ROOT, check=False).returncode
        passed_tests += sorted({*tests} - {*failed_of(sets[name])})
    return passed_tests


def main(arguments: list[str]) -> int:
    """Run the five sets and failed tests a second time; return 0 if no test failed twice."""
    began_s = time.monotonic()
    shutil.rmtree(ROOT / ".pytest_cache", ignore_errors=True)
    codes = {"measurements": subprocess.run(pytest(ALONE, arguments), cwd=ROOT, check=False).returncode}
    with contextlib.ExitStack() as files:
        outputs = {name: files.enter_context(tempfile.TemporaryFile()) for name in [*CONCURRENT_SETS][:-1]}
        state = files.enter_context(tempfile.TemporaryDirectory(prefix="assay-tests-"))
        # Without a shell: its background jobs ignore SIGINT and pass that on, but tests interrupt campaigns by SIGINT.
        processes = {
            name: subprocess.Popen(
                pytest(marks, arguments),
                cwd=ROOT,
                env=environment_of(name, f"{state}/{number}"),
                stdout=outputs.get(name),
                stderr=subprocess.STDOUT if name in outputs else None,
            )
            for number, (name, marks) in enumerate(CONCURRENT_SETS.items())
        }
        with contextlib.suppress(KeyboardInterrupt):  # the children got the signal too, and clean up
            for process in reversed(processes.values()):
                process.wait()
        codes |= {name: process.wait() for name, process in processes.items()}
        for name, output in outputs.items():
            output.seek(0)
            sys.stdout.write(f"== {name}\n")
            sys.stdout.flush()
            sys.stdout.buffer.write(output.read())
    passed_alone = try_again(codes, arguments)
    failed_sets = [name for name, code in codes.items() if code not in (0, NO_TESTS)]
    took_min, took_s = divmod(round(time.monotonic() - began_s), 60)
    summary = f"tests {'failed: ' + ', '.join(failed_sets) if failed_sets else 'passed'}; {took_min} min {took_s} s"
    if passed_alone:
        summary += f"; passed only alone: {', '.join(passed_alone)}"
    sys.stdout.write(summary + "\n")
    return 1 if failed_sets else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
