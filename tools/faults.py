"""Every row of the table of faults on labs with real daemons: ``make faults``; prints the table in Markdown.

``--short``: the rows of `make test`; ``--only WORDS``: rows whose names have these words, repeatable; ``--minutes N``:
begin no more rows after so long. What was not run is said in the table.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

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
        cause = became.cause.replace("\n", " ").replace("|", "/")[:140]
        cells = [row.fault, row.phase, row.engine, became.attempts.replace(" ", ", "), cause, noticed, held]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Run the rows; 0 when all that were run held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--minutes", type=float, default=60.0)
    asked = parser.parse_args()
    began_s, held = time.monotonic(), True
    sys.stdout.write(f"{HEAD}\n")
    for number, row in enumerate(ROWS):
        wanted = all(any(words in row.name for words in one.split("|")) for one in asked.only)
        if not wanted or (asked.short and not row.short):
            continue
        became = None
        if time.monotonic() - began_s < 60 * asked.minutes:
            with tempfile.TemporaryDirectory(prefix="assay-faults-") as folder:
                became = carry_out(row, Path(folder), f"f{os.getpid()}-{number}")
            held = held and not became.wrong
        sys.stdout.write(f"{line(row, became)}\n")
        sys.stdout.flush()
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
