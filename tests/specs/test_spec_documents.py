"""Test the reader of specification files: invalid YAML and duplicate keys are refused with file and line."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import SpecificationError
from assay.specs import document, load_cluster, load_prices
from assay.specs.document import NODES_MAX, SIZE_BYTES_MAX, Problems, read_document
from paths import ROOT

LOADERS = (load_cluster, load_plan, load_prices)


def refusal(path: Path) -> str:
    with pytest.raises(SpecificationError) as caught:
        read_document(path)
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_scalars_keep_the_text_that_the_user_wrote(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("a: 0.80\nb: 0x10\nc: yes\nd: 2014-06-01\ne: '64MiB'\nf: [1e3, True]\n")
    assert read_document(file).content == {
        "a": "0.80",
        "b": "0x10",
        "c": "yes",
        "d": "2014-06-01",
        "e": "64MiB",
        "f": ["1e3", "True"],
    }


def test_every_value_knows_its_line(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("# comment\na:\n  b:\n    - x\n    - {c: 1,\n       d: 2}\n")
    document = read_document(file)
    assert document.line(("a",)) == 2
    assert document.line(("a", "b", 1)) == 5
    assert document.line(("a", "b", 1, "d")) == 6
    assert document.line(("a", "b", 0, "absent", "deeper")) == 4, "an absent value is where its surroundings are"


def test_anchors_and_aliases_work(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("a: &x {k: 1}\nb: *x\n")
    assert read_document(file).content == {"a": {"k": "1"}, "b": {"k": "1"}}


def test_a_key_name_does_not_break_the_line_of_its_message(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text('"a\\n b\\u2028": 1\n', encoding="utf-8")
    document = read_document(file)
    problems = Problems(document)
    problems.add((*document.content,), f"{next(iter(document.content))}: unknown")
    with pytest.raises(SpecificationError) as refused:
        problems.raise_if_any()
    assert str(refused.value) == f"{file}:1: a\\n b\\u2028: unknown"


def test_a_byte_order_mark_is_no_content(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_document(file).content == {"a": "1"}


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        (b"", 1, "the file is empty"),
        (b"# only a comment\n", 1, "the file is empty"),
        (b"- a\n- b\n", 1, "a list, not keys"),
        (b"\njust words\n", 2, "plain text, not keys"),
        (b"a: 1\nb:\n\tc: 2\n", 3, "a tab is used for indentation"),
        (b"a: 1\nb: 2\na: 3\n", 3, "key 'a' is given twice; it is already on line 1"),
        (b"a: 1\nb: {x: 1,\n  x: 2}\n", 3, "key 'x' is given twice; it is already on line 2"),
        (b"a: 1\nb:\nc: 2\n", 2, "key 'b' has no value"),
        (b"a: [1, ~]\n", 1, "this list item has no value"),
        (b"a: b: c\n", 1, "a second ':'"),
        (b"a: 1\n---\nb: 2\n", 2, "a second document begins here"),
        (b"a: [1, 2\nb: 3\n", 2, "this is not YAML"),
        (b"a: !python/object:os.system 1\n", 1, "tags such as"),
        (b"? [a]\n: 1\n", 1, "a key must be plain text"),
        (b'a: "\\0"\n', 1, "character U+0000 is not text"),
        (b'a: 1\nb: "\\ud800"\n', 2, "character U+D800 is not text"),
        (b"a: 1\nb: \x07\n", 2, "character U+0007 is not text"),
        (b"a: 1\nb: \xe4\n", 2, "byte 0xe4 is not UTF-8"),
        (b"a: &x [*x]\n", 1, "nested deeper than 20 levels"),
        (b"a: *nowhere\n", 1, "undefined alias"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(tmp_path: Path, content: bytes, line: int, words: str) -> None:
    file = tmp_path / "broken.yaml"
    file.write_bytes(content)
    text = refusal(file)
    assert text.startswith(f"{file}:{line}: ")
    assert words in text


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "binary.yaml"
    file.write_bytes(b"\x7fELF\0\0\0")
    assert refusal(file) == f"{file}: this is a binary file, not YAML text in UTF-8"


def test_utf_16_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "wide.yaml"
    file.write_bytes("a: 1\n".encode("utf-16"))
    assert "UTF-8" in refusal(file)


@pytest.mark.parametrize("text", ["%YAML 1.11\n---\na: 1\n", 'a: "\\U00110000"\n', "%TAG\n---\na: 1\n"])
def test_a_malformed_directive_or_escape_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "odd.yaml"
    file.write_text(text)
    assert "this is not YAML" in refusal(file)


@pytest.mark.filterwarnings("error")
def test_an_anchor_may_be_set_again(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("a: &x 1\nb: &x 2\nc: *x\n")
    assert read_document(file).content == {"a": "1", "b": "2", "c": "2"}


@pytest.mark.slow
def test_deep_nesting_and_alias_bombs_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "bomb.yaml"
    file.write_text("a: " + "[" * 5000)
    assert "nested too deep" in refusal(file)
    levels = "\n".join(f"k{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12))
    file.write_text(f"k0: &a0 [x]\n{levels}\n")
    assert "too large after its aliases" in refusal(file)


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "huge.yaml"
    file.write_bytes(b"#" * (SIZE_BYTES_MAX + 1))
    assert "larger than 1,000,000 bytes" in refusal(file)


@pytest.mark.parametrize("load", LOADERS)
def test_a_missing_file_and_a_directory_are_named(tmp_path: Path, load: type) -> None:
    with pytest.raises(SpecificationError, match="there is no such file"):
        load(tmp_path / "absent.yaml")
    with pytest.raises(SpecificationError, match="this is a directory"):
        load(tmp_path)


def test_a_file_of_another_kind_is_recognised(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text("prices: a\ncurrency: USD\ndate: 2014-06-01\nsource: b\nitems: []\n")
    with pytest.raises(SpecificationError, match="this is not a plan file: its keys are prices, currency"):
        load_plan(file)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["a:\n" + "- x\n" * 240_000, "a: [" + "x," * 490_000 + "x]", "".join(f"k{n}: v\n" for n in range(90_000))],
    ids=["list", "flow", "keys"],
)
def test_a_file_with_too_many_nodes_is_refused_long_before_its_end(tmp_path: Path, text: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(text)
    began = time.process_time()
    assert f"more than {NODES_MAX:,} keys, values and list items" in refusal(file)
    assert time.process_time() - began < 6


def test_a_fifo_without_data_ends_with_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "SILENCE_S_MAX", 0.3)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert "not a regular file" in refusal(fifo)
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        (ROOT / "examples" / "lab" / "hdd-vs-ssd.yaml").read_text().replace("cluster: cluster.yaml", "cluster: fifo")
    )
    with pytest.raises(SpecificationError, match="not a regular file"):
        load_plan(plan)


def test_a_fifo_that_is_written_to_is_read(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_text("a: b\n"), daemon=True)
    writer.start()
    assert read_document(fifo).content == {"a": "b"}
    writer.join(5)


@pytest.mark.parametrize("size", ["1" + "0" * 24 + "PB", "20000000 TB"])
def test_a_size_that_no_machine_has_is_refused(tmp_path: Path, size: str) -> None:
    text = (ROOT / "examples" / "lab" / "cluster.yaml").read_text()
    file = tmp_path / "cluster.yaml"
    file.write_text(text.replace("capacity: 500GB", f"capacity: {size}"))
    with pytest.raises(SpecificationError, match="implausibly large"):
        load_cluster(file)
