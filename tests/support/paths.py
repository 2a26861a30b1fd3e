"""Where things lie that tests read: the source tree, its examples, and real data where there are any."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
SUPPORT = TESTS / "support"
EXAMPLES = ROOT / "examples"
