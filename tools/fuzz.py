"""Fuzz each parser and the package reader by coverage and print a table in Markdown: ``make fuzz``.

``--seconds N``: time per parser (60). ``--only NAME``: repeatable. ``--folder DIR`` stores each parser's corpus, where
the next call continues, and its findings (build/fuzz). The exit code is 1 if anything was found: an exception that is
not assay's, a run that can't be stored, or more than 5 s of CPU time or 200 MB of memory for an input.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import fuzz_targets  # noqa: E402
from fuzzing import Fuzzed, can_fuzz, fuzzed, large  # noqa: E402

TABLE_HEADER = """\
| parser | executions | edges | features | corpus | slowest | most memory | of 10 MB: slowest | memory | found |
|---|---|---|---|---|---|---|---|---|---|"""


def line(result: Fuzzed) -> str:
    """Return a row of the table."""
    cells = [f"{result.executions:,}", f"{result.edges:,}", f"{result.features:,}", f"{result.corpus:,}"]
    cells += [f"{result.slowest_s:.3f} s", f"{result.most_bytes / 1e6:.0f} MB"]
    cells += ["" if result.large_s is None else f"{result.large_s:.1f} s"]
    cells += ["" if result.large_bytes is None else f"{result.large_bytes / 1e6:.0f} MB"]
    cells.append("; ".join(result.findings).replace("|", "/") or "nothing")
    return f"| {result.parser} | {' | '.join(cells)} |"


def main() -> int:
    """Fuzz the chosen parsers. Return 0 if no defect was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--only", action="append", choices=fuzz_targets.parsers())
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "fuzz")
    options = parser.parse_args()
    if not can_fuzz():
        sys.exit("atheris is not installed; it supports Python 3.11 to 3.13 on Linux with x86-64")
    sys.stdout.write(f"{TABLE_HEADER}\n")
    has_findings = False
    for name in options.only or fuzz_targets.parsers():
        result = large(fuzzed(name, options.folder / name, options.seconds), options.folder / name)
        has_findings = has_findings or bool(result.findings)
        sys.stdout.write(f"{line(result)}\n")
        sys.stdout.flush()
    return 1 if has_findings else 0


if __name__ == "__main__":
    sys.exit(main())
