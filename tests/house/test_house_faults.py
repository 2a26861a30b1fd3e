"""Test the table of defects found by hand: its tests exist, and its verdicts match test results."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from claims_held import table_row, verdict
from fault_claims import CLAIMS, Claim
from fault_table import ROWS
from paths import TESTS


@cache
def functions(file: str) -> frozenset[str]:
    path = TESTS / file
    if not path.exists():
        return frozenset()
    parsed = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in parsed.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.fault)
def test_every_test_and_row_that_a_claim_names_is_there(claim: Claim) -> None:
    assert claim.tests
    for test in claim.tests:
        file, _, function = test.partition("::")
        name, _, parameter = function.partition("[")
        assert name in functions(file), test
        assert parameter.removesuffix("]") in (TESTS / file).read_text(encoding="utf-8"), test
    assert {*claim.rows} <= {row.name for row in ROWS}


def test_no_fault_is_listed_twice() -> None:
    assert len({claim.fault for claim in CLAIMS}) == len(CLAIMS)


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        ({}, "not run"),
        ({"a.py::t": ""}, "in part (1); not run: u"),
        ({"a.py::t": "", "a.py::u[1]": "", "a.py::u[2]": "", "a.py::tt": "bad"}, "yes (3)"),
        ({"a.py::t": "", "a.py::u[1]": "", "a.py::u[2]": "assert 1"}, "no: u[2]: assert 1"),
        ({"a.py::t": "skipped: needs root", "a.py::u": ""}, "in part (1); skipped: needs root"),
        ({"a.py::t": "skipped: needs root", "a.py::u": "skipped: needs root"}, "skipped: needs root"),
    ],
)
def test_a_claim_holds_as_far_as_its_tests_passed(outcomes: dict[str, str], words: str) -> None:
    claim = Claim("a|b", "c", ("a.py::t", "a.py::u"), ("d, job, hadoop",))
    assert verdict(claim, outcomes) == words
    assert table_row(claim, words) == rf"| a\|b | c | `a.py::t`, `a.py::u`, row “d, job, hadoop” | {words} |"
