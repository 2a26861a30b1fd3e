"""Every test, in as little time as two cores allow: ``make test``.

First what measures devices, links and caches, by itself. Then, beside each other, what stands on an emulated cluster
(and, as that is done first, the last of what starts Hadoop on this machine), what starts Hadoop on this machine, which
both wait a good deal, and everything else. The last is shown as it goes,
the others when they have ended. Arguments are handed to pytest. The exit code is 0 when all four were good.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
ALONE = "alone"
BESIDE = {
    "on labs": "(lab or later) and not alone",
    "on this machine's Hadoop": "hadoop and not lab and not later and not alone",
    "everything else": "not lab and not hadoop and not alone",
}
"""The last is shown as it goes."""
NO_TESTS = 5
"""pytest's exit code when nothing was selected."""


def pytest(marks: str, arguments: list[str]) -> list[str]:
    """Return the command that runs the tests with these markers and prints the twenty slowest."""
    return [sys.executable, "-m", "pytest", "-m", marks, "--durations=20", *arguments]


def main(arguments: list[str]) -> int:
    """Run the four sets and return 0 when all were good."""
    began_s = time.monotonic()
    codes = {"what measures": subprocess.run(pytest(ALONE, arguments), cwd=ROOT, check=False).returncode}
    with contextlib.ExitStack() as files:
        later = {name: files.enter_context(tempfile.TemporaryFile()) for name in [*BESIDE][:-1]}
        # Not by a shell: its background jobs ignore SIGINT and hand that on, and campaigns are interrupted in tests.
        running = {
            name: subprocess.Popen(
                pytest(marks, arguments),
                cwd=ROOT,
                stdout=later.get(name),
                stderr=subprocess.STDOUT if name in later else None,
            )
            for name, marks in BESIDE.items()
        }
        with contextlib.suppress(KeyboardInterrupt):  # all were interrupted too, and remove what they have made
            for process in reversed(running.values()):
                process.wait()
        codes |= {name: process.wait() for name, process in running.items()}
        for name, shown in later.items():
            shown.seek(0)
            sys.stdout.write(f"== {name}\n")
            sys.stdout.flush()
            sys.stdout.buffer.write(shown.read())
    bad = [name for name, code in codes.items() if code not in (0, NO_TESTS)]
    took_min, took_s = divmod(round(time.monotonic() - began_s), 60)
    sys.stdout.write(f"tests {'failed: ' + ', '.join(bad) if bad else 'passed'}; {took_min} min {took_s} s\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
