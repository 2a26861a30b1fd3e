"""Test that thousands of damaged specification files load or are refused with a message."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from assay.execution.planning.expansion import expand
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import SpecificationError
from assay.specs import load_cluster, load_prices
from effort import examples
from paths import ROOT

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "examples" / "lab"
FILES: dict[str, Callable[[Path], Any]] = {
    "cluster.yaml": load_cluster,
    "hdd-vs-ssd.yaml": lambda path: expand(load_plan(path)),
    "prices.yaml": load_prices,
}
TEXTS = {name: (EXAMPLES / name).read_text() for name in FILES}
TOKENS = [
    "",
    " ",
    "\n",
    "\t",
    ":",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "#",
    "&a",
    "*a",
    "<<",
    "!x",
    "!!int",
    "|",
    ">",
    "%YAML 1.1",
    "---",
    "...",
    "'",
    '"',
    "\\",
    "?",
    "~",
    "null",
    "0",
    "-1",
    "1e999",
    "9" * 30 + "PB",
    "9" * 500,
    "0x1F",
    "1_0",
    "$",
    "€9",
    "HD99",
    "HS2",
    "terasort.data",
    "layout",
    "é",
    "\u2028",
    "\ufeff",
    "\x00",
    "\x1b",
    "٣GB",
]
WHERE = re.compile(r"^[^\n]+\.yaml(:[1-9]\d*)?: \S")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fuzz")
    (path / "cluster.yaml").write_text(TEXTS["cluster.yaml"])
    return path


def check(folder: Path, name: str, content: bytes) -> None:
    """Load ``content`` as the file ``name``: only a :class:`SpecificationError` with a place may be raised."""
    file = folder / f"damaged-{name}"
    file.write_bytes(content)
    error: SpecificationError | None = None
    try:
        FILES[name](file)
    except SpecificationError as raised:
        error = raised
    if error is not None:
        assert WHERE.match(str(error)), str(error)
        assert error.exit_code == 2


def damaged(draw: st.DrawFn, text: str) -> str:
    """Return ``text`` after one to four deletions, insertions, swaps or repetitions."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        match draw(st.sampled_from(["delete", "insert", "replace", "repeat", "line"])):
            case "delete":
                text = text[:start] + text[end:]
            case "insert":
                text = text[:start] + draw(st.sampled_from(TOKENS)) + text[start:]
            case "replace":
                text = text[:start] + draw(st.sampled_from(TOKENS)) + text[end:]
            case "repeat":
                text = text[:end] + text[start:]
            case _:
                lines = text.split("\n")
                lines.insert(draw(st.integers(0, len(lines))), lines[draw(st.integers(0, len(lines) - 1))])
                text = "\n".join(lines)
    return text


@pytest.mark.parametrize("name", list(FILES))
@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file_loads_or_is_refused_with_a_message(folder: Path, name: str, data: st.DataObject) -> None:
    text = data.draw(st.composite(lambda draw: damaged(draw, TEXTS[name]))())
    check(folder, name, text.encode("utf-8"))


def _paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, item in items for path in _paths(item, (*at, key)))]


JUNK = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.sampled_from(TOKENS)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=6,
)


@pytest.mark.parametrize("name", list(FILES))
@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_value_in_any_place_loads_or_is_refused_with_a_message(
    folder: Path, name: str, data: st.DataObject
) -> None:
    document = YAML(typ="safe", pure=True).load(TEXTS[name])
    path = data.draw(st.sampled_from(_paths(document)[1:]))
    holder = document
    for part in path[:-1]:
        holder = holder[part]
    holder[path[-1]] = data.draw(JUNK)
    stream = io.BytesIO()
    YAML(typ="safe", pure=True).dump(document, stream)
    check(folder, name, stream.getvalue())


@pytest.mark.parametrize("name", list(FILES))
@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
def test_arbitrary_bytes_are_refused_with_a_message(folder: Path, name: str, content: bytes) -> None:
    check(folder, name, content)
