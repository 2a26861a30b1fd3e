"""Measure the time of ``import assay`` in a new process without the start of Python, over 20 processes each.

Run: ``.venv/bin/python benchmarks/import_time.py``
"""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median

PROCESSES = 20
IMPORT_MS_MAX = 150.0


def process_ms(script: str) -> float:
    """Return the wall time of a Python process that runs ``script``, in ms."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", script], check=True)
    return 1000 * (time.perf_counter() - start)


def main() -> None:
    """Print the times; end with 1 if the median exceeds the limit."""
    empty_ms, imported_ms = [], []
    for _ in range(PROCESSES):  # alternating, so that the load of the machine affects both
        empty_ms.append(process_ms("pass"))
        imported_ms.append(process_ms("import assay"))
    difference_ms = median(imported_ms) - median(empty_ms)
    times = f"median {difference_ms:.0f} ms, fastest {min(imported_ms) - min(empty_ms):.0f} ms"
    print(f"import assay: {times} (limit of the median {IMPORT_MS_MAX:.0f} ms)")
    if difference_ms > IMPORT_MS_MAX:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
