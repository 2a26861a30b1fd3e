"""Select the effort of a test session: all tests or the fast ones, and examples per property."""

from __future__ import annotations

from mutation import COPIES, fuzz_count

NOT_FAST = ("lab", "hadoop", "alone", "browser", "daemon", "root", "slow")
"""Markers of tests that ``pytest --fast`` leaves out."""
FAST_COPIES = COPIES // 10
"""Damaged copies that the fast loop reads of each sound file."""
EXAMPLES_MIN = 10


def examples(full: int) -> int:
    """Return how many examples a property gets that has ``full`` in `make test`: as ASSAY_FUZZ is to 200."""
    return max(min(full, EXAMPLES_MIN), full * fuzz_count() // COPIES)
