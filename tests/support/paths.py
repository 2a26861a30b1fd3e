"""Locate the source tree, its examples, and real data where present."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
SUPPORT = TESTS / "support"
EXAMPLES = ROOT / "examples"
ARCHIVED_JAVA = SUPPORT / "java"
"""A ``java_home`` whose clients, ApplicationMasters and tasks start faster than those of a cluster without one."""
