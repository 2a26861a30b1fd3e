"""Test that only engines, workloads and file formats name engine parameters; other code asks the model's table."""

from __future__ import annotations

import ast
import re

from paths import ROOT

PACKAGE = ROOT / "src" / "assay"
PREFIX = r"(mapreduce|mapred|dfs|yarn|spark|io\.file|hadoop)\."
PARAMETER = re.compile(rf"{PREFIX}[a-z][a-z0-9.-]*[a-z0-9]")
ALLOWED = {
    "execution/engines": "engines",
    "workloads": "a workload sets the options of its own programs",
    "store/formats": "parsers of the engines' files",
    "model/plans/engine_parameters.py": "the table",
    "execution/observation/node/services.py": "reads the configuration of daemons that it discovers",
    "estimation/simulator/scenario.py": "models how MapReduce uses these parameters",
    "specs/fields.py": "examples in the schema of plans",
    "execution/planning/plan_files/plan_file.py": "examples in the schema of plans",
}


def engine_names(source: str) -> list[str]:
    """Return the string constants of a module that are engine parameters."""
    if not re.search(PREFIX, source):
        return []
    return [
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and PARAMETER.fullmatch(node.value)
    ]


def test_engine_parameters_are_named_in_engines_workloads_and_formats_alone() -> None:
    named = {
        path.relative_to(PACKAGE).as_posix(): names
        for path in sorted(PACKAGE.rglob("*.py"))
        if (names := engine_names(path.read_text(encoding="utf-8")))
    }
    outside = {file: names for file, names in named.items() if not file.startswith(tuple(ALLOWED))}
    assert not outside, outside
    unused = [part for part in ALLOWED if not any(file.startswith(part) for file in named)]
    assert not unused, f"nothing to allow there: {unused}"


def test_a_parameter_in_a_module_is_reported() -> None:
    assert engine_names('block = run.parameters.get("dfs.blocksize")\nname = "terasort.reduces"\n') == ["dfs.blocksize"]
