"""Select the test modules that an expression of ``-m`` can match, so that others are not imported.

Four of the five sets of ``make test`` are in a fifth of the modules. To import all modules would take each of these
sets longer than some of its tests.
"""

from __future__ import annotations

import itertools
import re
from functools import cache
from pathlib import Path

from _pytest.mark.expression import Expression

SET_MARKS = frozenset({"lab", "hadoop", "alone", "later", "browser"})
"""Markers that a module, or what it imports of ``tests/support``, names wherever one of its tests has them.

A module names ``browser`` by one of the fixtures that open it."""
BROWSER_FIXTURES = re.compile(r"\b(browser|watched)\b")
SUPPORT = Path(__file__).parent
OPERATORS = {"and", "or", "not"}


@cache
def set_marks_named(module: Path) -> frozenset[str]:
    """Return those of :data:`SET_MARKS` that tests of ``module`` may have."""
    text = module.read_text(encoding="utf-8")
    named = re.findall(r"\bmark\.(\w+)", text)
    for support in re.findall(r"^from (\w+) import", text, re.MULTILINE):
        file = SUPPORT / f"{support}.py"
        named += re.findall(r"\bmark\.(\w+)", file.read_text(encoding="utf-8")) if file.exists() else []
    named += ["browser"] if BROWSER_FIXTURES.search(text) else []
    return SET_MARKS & {*named}


def may_match(module: Path, words: str) -> bool:
    """Return whether a test of ``module`` can have markers of which the expression ``words`` is true."""
    if not words:
        return True
    absent = SET_MARKS - set_marks_named(module)
    possible_marks = sorted({*re.findall(r"\w+", words)} - OPERATORS - absent)
    expression = Expression.compile(words)
    for values in itertools.product((False, True), repeat=len(possible_marks)):
        present = {name for name, value in zip(possible_marks, values, strict=True) if value}
        if expression.evaluate(lambda name, /, **_: name in present):  # noqa: B023 - called in this iteration
            return True
    return False
