"""The fast tests cover every package and leave out tests that need more than Python."""

from __future__ import annotations

import importlib.util
import io
import re
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest
from _pytest.mark.expression import Expression

from effort import EXAMPLES_MIN, NOT_FAST, examples
from paths import ROOT, TESTS
from selection import may_match

PACKAGES = sorted(path.parent.name for path in (ROOT / "src" / "assay").glob("*/__init__.py"))
OTHER_FOLDERS = {"house", "support", "data", "faults"}
MODULES_MAX = 15
"""Maximum number of modules in a folder of tests."""


def test_every_package_has_fast_tests(request: pytest.FixtureRequest) -> None:
    if request.config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        pytest.skip("only a part of the tests runs")
    fast_packages = {
        item.path.relative_to(TESTS).parts[0]
        for item in request.session.items
        if not any(item.get_closest_marker(name) for name in NOT_FAST)
    }
    assert len(PACKAGES) == 11
    assert [package for package in PACKAGES if package not in fast_packages] == []


def test_test_folders_mirror_packages() -> None:
    folders = {path.name for path in TESTS.iterdir() if path.is_dir() and not path.name.startswith((".", "_"))}
    assert folders - set(PACKAGES) == OTHER_FOLDERS & folders
    counts = Counter(path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))
    assert Path() not in counts
    tested = [folder for folder in counts if folder.parts[:1] not in [("house",), ("faults",)]]
    packages = [ROOT / "src" / "assay" / folder for folder in tested]
    assert [path for path in packages if not path.is_dir() and not path.with_suffix(".py").is_file()] == []
    assert {folder: count for folder, count in counts.items() if count > MODULES_MAX} == {}


def test_markers_of_tests_that_are_not_fast_are_explained(pytestconfig: pytest.Config) -> None:
    explained = {line.partition(":")[0] for line in pytestconfig.getini("markers")}
    assert set(NOT_FAST) <= explained


@pytest.mark.parametrize(
    ("copies", "full", "given"), [("200", 800, 800), ("20", 800, 80), ("20", 25, EXAMPLES_MIN), ("2000", 25, 250)]
)
def test_examples_of_properties_go_with_the_number_of_damaged_copies(
    copies: str, full: int, given: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_FUZZ", copies)
    assert examples(full) == given


def test_no_property_has_a_fixed_number_of_examples() -> None:
    """With a fixed number, the fast tests would be as slow as all tests, and ASSAY_FUZZ would have no effect."""
    word = "max_examples="
    fixed = [
        f"{path.relative_to(Path(TESTS))}: {line.strip()}"
        for path in TESTS.rglob("test_*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if word in line and f"{word}examples(" not in line and path != Path(__file__)
    ]
    assert fixed == []


@pytest.mark.parametrize(
    "marked",
    [
        (),
        ("alone",),
        ("browser",),
        ("lab",),
        ("lab", "alone"),
        ("lab", "browser"),
        ("hadoop",),
        ("hadoop", "lab"),
        ("hadoop", "later"),
        ("hadoop", "browser"),
    ],
)
def test_make_test_runs_every_test_once(marked: tuple[str, ...]) -> None:
    tool = tools_test()

    def is_marked(name: str, /, **_: object) -> bool:
        return name in marked

    sets = [Expression.compile(words) for words in (tool.ALONE, *tool.CONCURRENT_SETS.values())]
    assert sum(expression.evaluate(is_marked) for expression in sets) == 1


@pytest.mark.parametrize(
    ("text", "importing_sets"),
    [
        ("def test_a(): ...\n", {"everything else"}),
        ("pytestmark = pytest.mark.lab\n", {"on labs", "everything else"}),
        ("@pytest.mark.alone\n@pytest.mark.lab\n", {"alone", "on labs", "everything else"}),
        ("from contract_subjects import SUBJECTS\n", {"on this machine's Hadoop", "everything else"}),
        ("def test_a(watched): ...\n", {"in a browser", "everything else"}),
    ],
)
def test_a_set_imports_the_modules_that_name_its_markers(text: str, importing_sets: set[str], tmp_path: Path) -> None:
    tool, module = tools_test(), tmp_path / "test_it.py"
    module.write_text(text)
    sets = {"alone": tool.ALONE, **tool.CONCURRENT_SETS}
    assert {name for name, words in sets.items() if may_match(module, words)} == importing_sets
    assert may_match(module, "")
    assert may_match(module, "slow and not lab")
    assert not may_match(module, "slow and later")


def test_only_the_set_on_labs_uses_the_state_directory_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command removes abandoned labs, which that set makes, and names them first."""
    tool = tools_test()
    monkeypatch.delenv("ASSAY_STATE", raising=False)
    states = {name: tool.environment_of(name, "/own").get("ASSAY_STATE") for name in tool.CONCURRENT_SETS}
    assert states.pop(tool.ON_LABS) is None
    assert set(states.values()) == {"/own"}


def tools_test() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tools_test", ROOT / "tools" / "test.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


ONCE = """
import pathlib
def test_a(): pass
def test_b():
    seen = pathlib.Path(__file__).with_name("seen")
    first = not seen.exists()
    seen.touch()
    assert not first
"""
TWICE = ONCE + "def test_c(): assert False\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tests", "code", "last"),
    [
        (ONCE, 0, "tests passed; N min N s; passed only alone: test_it.py::test_b"),
        (TWICE, 1, "tests failed: everything else; N min N s; passed only alone: test_it.py::test_b"),
        ("\n".join(f"def test_{n}(): assert False" for n in range(7)), 1, "tests failed: everything else; N min N s"),
    ],
)
def test_failed_tests_are_repeated_once_alone_and_named(
    tests: str, code: int, last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tools_test()
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    # Each set is a pytest of a second; two of the sets show how their results are joined.
    two_sets = {name: tool.CONCURRENT_SETS[name] for name in (tool.ON_LABS, "everything else")}
    monkeypatch.setattr(tool, "CONCURRENT_SETS", two_sets)
    monkeypatch.setattr(tool.sys, "stdout", io.TextIOWrapper(io.BytesIO()))
    (tmp_path / "test_it.py").write_text(tests)
    # Plug-ins take longer to import than these tests take. Only -n needs one.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    assert tool.main(["-q", "-p", "xdist.plugin"]) == code
    tool.sys.stdout.seek(0)
    line = tool.sys.stdout.read().splitlines()[-1]
    assert re.sub(r"[0-9]+ min [0-9]+ s", "N min N s", line) == last
