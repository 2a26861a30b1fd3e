"""Test that scripts for hosts use the syntax of Python 3.6, the oldest supported version."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from paths import ROOT

SCRIPTS = sorted((ROOT / "src" / "assay" / "execution").rglob("node/*.py"))
GENERICS = {"dict", "frozenset", "list", "set", "tuple", "type"}
NEWER_KEYWORDS = {"run": {"capture_output", "text"}, "check_output": {"text"}, "Popen": {"text"}}
"""Call to its keywords that came after Python 3.6."""
NEWER_METHODS = {"removeprefix", "removesuffix", "time_ns", "monotonic_ns", "perf_counter_ns", "fromisoformat"}
NEWER_MODULES = {"dataclasses", "graphlib", "tomllib", "zoneinfo", "importlib.resources", "importlib.metadata"}


def newer_than_3_6(text: str) -> Iterator[str]:
    """Yield what a script uses that Python 3.6 lacks."""
    try:
        tree = ast.parse(text, feature_version=(3, 6))
    except SyntaxError as error:
        yield f"line {error.lineno}: {error.msg}"
        return
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=ast.Name(id=name)) if name in GENERICS:
                yield f"line {node.lineno}: {name}[…]"
            case ast.ImportFrom(module=str(name)) if name in NEWER_MODULES | {"__future__"}:
                yield f"line {node.lineno}: from {name}"
            case ast.Import(names=names):
                yield from (f"line {node.lineno}: import {a.name}" for a in names if a.name in NEWER_MODULES)
            case ast.Call(func=ast.Attribute(attr=name), keywords=keywords):
                newer = {str(keyword.arg) for keyword in keywords} & NEWER_KEYWORDS.get(name, set())
                yield from (f"line {node.lineno}: {name}({keyword}=)" for keyword in sorted(newer))
                if name in NEWER_METHODS:
                    yield f"line {node.lineno}: .{name}()"
            case ast.arg(annotation=ast.BinOp()) | ast.AnnAssign(annotation=ast.BinOp()):
                yield f"line {node.lineno}: X | Y as a type"
            case ast.FunctionDef(returns=ast.BinOp()):
                yield f"line {node.lineno}: X | Y as a type"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(Path(path).relative_to(ROOT / "src")))
def test_a_script_runs_on_python_3_6(script: Path) -> None:
    assert [*newer_than_3_6(script.read_text(encoding="utf-8"))] == []


def test_every_folder_of_scripts_is_examined() -> None:
    assert {"sampler.py", "timed.py", "ready.py"} <= {path.name for path in SCRIPTS}


@pytest.mark.parametrize(
    "text",
    [
        "if (x := 1): pass",
        "def f(a, /): pass",
        "from __future__ import annotations",
        "import dataclasses",
        "def f(a: list[int]): pass",
        "def f() -> int | None: pass",
        "import subprocess\nsubprocess.run(['a'], capture_output=True)",
        "'a'.removeprefix('b')",
    ],
)
def test_newer_python_is_reported(text: str) -> None:
    assert len([*newer_than_3_6(text)]) == 1
