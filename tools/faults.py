"""Run every row of the two fault tables and print them in Markdown: ``make faults``.

The first table has faults injected into campaigns on labs with real daemons. The second has defects found by hand, and
the tests that cover them (tests/support/fault_claims.py), which are run.

``--table injected|held``: one table. ``--short``: the rows of `make test`, without tests that need a lab or Hadoop.
``--only WORDS``: rows whose names contain these words (``A|B``: one of the two), repeatable. ``--minutes N``: start no
row after N minutes. ``--at-once N``: number of concurrent labs. ``--kept FILE``: print rows of FILE and append new
results to it, so that several calls complete the table, which names rows that were not run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import claims_held  # noqa: E402
from fault_claims import CLAIMS, Claim  # noqa: E402
from fault_runner import FaultResult, inject_fault  # noqa: E402
from fault_table import ROWS, Row  # noqa: E402

HEAD = """\
| fault | phase | engine | attempts | cause of the first | noticed after | holds |
|---|---|---|---|---|---|---|"""


def line(row: Row, result: FaultResult | None) -> str:
    """Return a row of the table."""
    if result is None:
        cells = [row.fault, row.phase, row.engine, "not run", "", "", ""]
    else:
        noticed_text = f"{result.noticed_s:.1f} s" if result.noticed_s is not None else "–"
        verdict = "; ".join(result.wrong).replace("\n", " ")[:200] or "yes"
        verdict += f"; {result.before} attempts had ended before the fault" if result.before else ""
        cause = result.cause.replace("\n", " ").replace("|", "/")[:140]
        cells = [row.fault, row.phase, row.engine, result.attempts.replace(" ", ", "), cause, noticed_text, verdict]
    return f"| {' | '.join(cells)} |"


class StoredLines:
    """The lines of rows that earlier calls ran, in a file to which each new line is appended."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path and path.exists() else []
        self.lines: dict[str, str] = dict(json.loads(text) for text in lines)

    def add(self, name: str, text: str) -> None:
        """Keep a row's line."""
        if self._path:
            with self._path.open("a") as file:
                file.write(f"{json.dumps([name, text], ensure_ascii=False)}\n")


def verdicts(claims: list[Claim], stored: StoredLines, marks: str, run: bool) -> dict[str, str]:
    """Return the result of each claim's tests by fault: the stored result, or that of running them now."""
    results = {claim.fault: stored.lines[claim.fault] for claim in claims if claim.fault in stored.lines}
    remaining = [claim for claim in claims if claim.fault not in results]
    test_results = claims_held.run_tests(remaining, marks) if run and remaining else {}
    for claim in remaining:
        results[claim.fault] = claims_held.verdict(claim, test_results)
        if results[claim.fault] != claims_held.NOT_RUN:
            stored.add(claim.fault, results[claim.fault])
    return results


def main() -> int:
    """Run the rows. Return 0 if every row that was run holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--table", choices=("injected", "held"))
    options = parser.parse_args()
    began_s, stored = time.monotonic(), StoredLines(options.kept)

    def result_of(number: int, row: Row) -> tuple[str, bool]:
        if row.name in stored.lines:
            return stored.lines[row.name], True
        if time.monotonic() - began_s >= 60 * options.minutes:
            return line(row, None), True
        with tempfile.TemporaryDirectory(prefix="assay-faults-") as folder:
            result = inject_fault(row, Path(folder), f"f{os.getpid()}-{number:03d}")
        stored.add(row.name, line(row, result))
        return line(row, result), not result.wrong

    def is_selected(name: str) -> bool:
        return all(any(word in name for word in option.split("|")) for option in options.only)

    claims = [claim for claim in CLAIMS if is_selected(claim.fault) and options.table != "injected"]
    marks = claims_held.WITHOUT_LABS if options.short else ""
    held_by_tests = verdicts(claims, stored, marks, run=options.minutes > 0)
    selected = [
        (number, row)
        for number, row in enumerate(ROWS)
        if is_selected(row.name) and (row.short or not options.short) and options.table != "held"
    ]
    sys.stdout.write(f"{HEAD}\n" if options.table != "held" else "")
    all_rows_hold = not any(row_holds.startswith("no: ") for row_holds in held_by_tests.values())
    with ThreadPoolExecutor(options.at_once) as pool:
        for text, row_holds in pool.map(lambda item: result_of(*item), selected):
            all_rows_hold = all_rows_hold and row_holds
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()
    if claims:
        sys.stdout.write(f"\n{claims_held.HEAD}\n" if options.table is None else f"{claims_held.HEAD}\n")
        for claim in claims:
            sys.stdout.write(f"{claims_held.table_row(claim, held_by_tests[claim.fault])}\n")
    return 0 if all_rows_hold else 1


if __name__ == "__main__":
    sys.exit(main())
