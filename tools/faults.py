"""Run every row of the two fault tables and print them in Markdown: ``make faults``.

The first table has faults injected into campaigns on labs with real daemons. The second has defects found by hand, and
the tests that cover them (tests/support/fault_claims.py), which are run.

``--table injected|held``: one table. ``--short``: the rows of `make test`, without tests that need a lab or Hadoop.
``--only WORDS``: rows whose names contain these words (``A|B``: either), repeatable. ``--minutes N``: start no row
after N minutes. ``--at-once N``: number of concurrent labs. ``--kept FILE``: print rows of FILE and append new results
to it, so that several calls complete the table, which names rows that were not run.
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
from fault_runner import Became, carry_out  # noqa: E402
from fault_table import ROWS, Row  # noqa: E402

HEAD = """\
| fault | phase | engine | attempts | cause of the first | noticed after | holds |
|---|---|---|---|---|---|---|"""


def line(row: Row, became: Became | None) -> str:
    """Return a row of the table."""
    if became is None:
        cells = [row.fault, row.phase, row.engine, "not run", "", "", ""]
    else:
        noticed = f"{became.noticed_s:.1f} s" if became.noticed_s is not None else "–"
        held = "; ".join(became.wrong).replace("\n", " ")[:200] or "yes"
        held += f"; {became.before} attempts had ended before the fault" if became.before else ""
        cause = became.cause.replace("\n", " ").replace("|", "/")[:140]
        cells = [row.fault, row.phase, row.engine, became.attempts.replace(" ", ", "), cause, noticed, held]
    return f"| {' | '.join(cells)} |"


class Kept:
    """The lines of rows that were run before, in a file that grows by each row."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path and path.exists() else []
        self.lines: dict[str, str] = dict(json.loads(text) for text in lines)

    def add(self, name: str, text: str) -> None:
        """Keep a row's line."""
        if self._path:
            with self._path.open("a") as file:
                file.write(f"{json.dumps([name, text], ensure_ascii=False)}\n")


def verdicts(claims: list[Claim], kept: Kept, marks: str, run: bool) -> dict[str, str]:
    """Return by its fault what the tests say of each claim: as it was kept, or as they say now."""
    results = {claim.fault: kept.lines[claim.fault] for claim in claims if claim.fault in kept.lines}
    open_ones = [claim for claim in claims if claim.fault not in results]
    tried = claims_held.tried(open_ones, marks) if run and open_ones else {}
    for claim in open_ones:
        results[claim.fault] = claims_held.verdict(claim, tried)
        if results[claim.fault] != claims_held.NOT_RUN:
            kept.add(claim.fault, results[claim.fault])
    return results


def main() -> int:
    """Run the rows; 0 when all that were run held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--table", choices=("injected", "held"))
    asked = parser.parse_args()
    began_s, kept = time.monotonic(), Kept(asked.kept)

    def result_of(number: int, row: Row) -> tuple[str, bool]:
        if row.name in kept.lines:
            return kept.lines[row.name], True
        if time.monotonic() - began_s >= 60 * asked.minutes:
            return line(row, None), True
        with tempfile.TemporaryDirectory(prefix="assay-faults-") as folder:
            became = carry_out(row, Path(folder), f"f{os.getpid()}-{number:03d}")
        kept.add(row.name, line(row, became))
        return line(row, became), not became.wrong

    def chosen(name: str) -> bool:
        return all(any(words in name for words in option.split("|")) for option in asked.only)

    claims = [claim for claim in CLAIMS if chosen(claim.fault) and asked.table != "injected"]
    marks = claims_held.WITHOUT_LABS if asked.short else ""
    held_by_tests = verdicts(claims, kept, marks, run=asked.minutes > 0)
    wanted = [
        (number, row)
        for number, row in enumerate(ROWS)
        if chosen(row.name) and (row.short or not asked.short) and asked.table != "held"
    ]
    sys.stdout.write(f"{HEAD}\n" if asked.table != "held" else "")
    all_held = not any(held.startswith("no: ") for held in held_by_tests.values())
    with ThreadPoolExecutor(asked.at_once) as pool:
        for text, held in pool.map(lambda item: result_of(*item), wanted):
            all_held = all_held and held
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()
    if claims:
        sys.stdout.write(f"\n{claims_held.HEAD}\n" if asked.table is None else f"{claims_held.HEAD}\n")
        for claim in claims:
            sys.stdout.write(f"{claims_held.line(claim, held_by_tests[claim.fault])}\n")
    return 0 if all_held else 1


if __name__ == "__main__":
    sys.exit(main())
