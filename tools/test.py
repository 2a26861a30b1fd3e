"""Every test, in as little time as two cores allow: ``make test``.

First what measures devices, links and caches, by itself. Then, beside each other, what stands on an emulated cluster,
which mostly waits, and everything else. The latter is shown as it goes, the former when it has ended. Arguments are
handed to pytest. The exit code is 0 when all three were good.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
ALONE, LABS, REST = "alone", "lab and not alone", "not lab and not alone"
NO_TESTS = 5
"""pytest's exit code when nothing was selected."""


def pytest(marks: str, arguments: list[str]) -> list[str]:
    """Return the command that runs the tests with these markers and prints the twenty slowest."""
    return [sys.executable, "-m", "pytest", "-m", marks, "--durations=20", *arguments]


def main(arguments: list[str]) -> int:
    """Run the three sets and return 0 when all were good."""
    began_s = time.monotonic()
    codes = {"what measures": subprocess.run(pytest(ALONE, arguments), cwd=ROOT, check=False).returncode}
    with tempfile.TemporaryFile() as shown_later:
        # Not by a shell: its background jobs ignore SIGINT and hand that on, and campaigns are interrupted in tests.
        labs = subprocess.Popen(pytest(LABS, arguments), cwd=ROOT, stdout=shown_later, stderr=subprocess.STDOUT)
        rest = subprocess.Popen(pytest(REST, arguments), cwd=ROOT)
        try:
            codes["everything else"] = rest.wait()
            codes["on labs"] = labs.wait()
        except KeyboardInterrupt:  # both were interrupted too, and remove what they have made
            codes |= {"everything else": rest.wait(), "on labs": labs.wait()}
        shown_later.seek(0)
        sys.stdout.flush()
        sys.stdout.buffer.write(shown_later.read())
    bad = [name for name, code in codes.items() if code not in (0, NO_TESTS)]
    took_min, took_s = divmod(round(time.monotonic() - began_s), 60)
    sys.stdout.write(f"tests {'failed: ' + ', '.join(bad) if bad else 'passed'}; {took_min} min {took_s} s\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
