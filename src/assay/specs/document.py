"""Parse a YAML 1.2 file into text scalars with the line of every value, and collect the problems of the file.

In: a path or bytes. Out: a :class:`Document`, or a :class:`SpecificationError` that names ``file:line``. Scalars keep
the user's text (YAML's failsafe schema). The field types of the file's model parse them, so ``0.80`` or ``64MiB``
reaches an engine parameter unchanged.
"""

from __future__ import annotations

import errno
import os
import select
import stat
import unicodedata
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from assay.foundation.errors import SpecificationError, missing_path_hint

Location: TypeAlias = tuple[str | int, ...]
"""The keys and list indices that lead to a value."""
Value: TypeAlias = "str | list[Value] | dict[str, Value]"

SIZE_BYTES_MAX = 1_000_000
SILENCE_S_MAX = 5.0
"""Maximum wait for data from a FIFO or terminal, in seconds."""
DEPTH_MAX = 20
VALUES_MAX = 50_000
"""Maximum number of values after the expansion of aliases."""
NODES_MAX = 20_000
"""Maximum number of keys, values and list items before the expansion of aliases. Parsing takes 0.1 ms for each."""
_GRAPHS_MAX = 8
"""Maximum number of cached parsed texts: an answer reads the cluster file of its runs many times."""
_TAG = "tag:yaml.org,2002:"
_INVISIBLE_CATEGORIES = {"Cc", "Cs", "Zl", "Zp"}
_SCALAR_TAGS = {_TAG + name for name in ("str", "int", "float", "bool", "null", "timestamp", "merge", "value")}


@dataclass(frozen=True, slots=True)
class Document:
    """One parsed file. ``lines`` holds the 1-based line of every key's value and every list item."""

    path: str
    text: str
    content: dict[str, Value]
    lines: dict[Location, int]

    def line(self, at: Location) -> int:
        """Return the line of the value at ``at``, or of the nearest value around it."""
        while at and at not in self.lines:
            at = at[:-1]
        return self.lines.get(at, 1)


@dataclass(slots=True)
class Problems:
    """The problems of one file, collected so that the user sees all of them at once."""

    document: Document
    problems: list[tuple[int, str]] = field(default_factory=list)

    def add(self, at: Location, message: str) -> None:
        """Add a problem of the value at ``at``. Line breaks and control characters in ``message`` are escaped."""
        self.problems.append((self.document.line(at), _on_one_line(message)))

    def raise_if_any(self) -> None:
        """Raise one :class:`SpecificationError` with a line for each problem; ``where`` locates the first."""
        if not self.problems:
            return
        (first_line, first_message), *others = sorted(dict.fromkeys(self.problems), key=lambda problem: problem[0])
        other_messages = [f"{self.document.path}:{line}: {message}" for line, message in others]
        text = "\n".join([first_message, *other_messages])
        raise SpecificationError(text, where=f"{self.document.path}:{first_line}")


def _on_one_line(message: str) -> str:
    return "".join(repr(c)[1:-1] if unicodedata.category(c) in _INVISIBLE_CATEGORIES else c for c in message)


def read_document(path: str | Path, title: str = "", hint: str = "") -> Document:
    """Return the file at ``path`` as a :class:`Document`. Raises :class:`SpecificationError` if it is not valid.

    ``title``: what the file is, such as a price book, for messages. ``hint``: what such a file contains.
    """
    try:
        return document_of(_read(path), str(path))
    except SpecificationError as error:
        if not title:
            raise
        hints = "; ".join(filter(None, (error.hint, hint)))
        raise SpecificationError(
            f"the {title} can't be read: {error.message}", where=error.where, hint=hints
        ) from error


def document_of(raw: bytes, path: str) -> Document:
    """Return the bytes of a file, called ``path`` in messages, as a :class:`Document`.

    Raises :class:`SpecificationError` for anything but a UTF-8 file of at most :data:`SIZE_BYTES_MAX` with keys.
    """
    text = _text(raw, path)
    root = _compose(text, path)
    if root is None:
        raise SpecificationError("the file is empty", where=f"{path}:1")
    if not isinstance(root, MappingNode):
        raise SpecificationError(
            f"the file holds {_shape(root)}, not keys with values such as 'name: value'",
            where=f"{path}:{root.start_mark.line + 1}",
        )
    builder = _Builder()
    content = builder.mapping(root, ())
    document = Document(path, text, content, builder.lines)
    Problems(document, builder.problems).raise_if_any()
    return document


def _read(path: str | Path) -> bytes:
    """Return the file's bytes, at most :data:`SIZE_BYTES_MAX` + 1. Raises :class:`SpecificationError` on failure."""
    try:
        return _bounded_content(path)
    except FileNotFoundError:
        raise SpecificationError("there is no such file", where=str(path), hint=missing_path_hint(path)) from None
    except IsADirectoryError:
        raise SpecificationError("this is a directory; name the YAML file in it", where=str(path)) from None
    except OSError as error:
        reason = error.strerror or errno.errorcode.get(error.errno or 0, "unknown error")
        raise SpecificationError(f"the file can't be read: {reason}", where=str(path)) from error


def _bounded_content(path: str | Path) -> bytes:
    """Return at most :data:`SIZE_BYTES_MAX` + 1 bytes of the file.

    Raises OSError on failure, and if a FIFO or terminal sends no data for :data:`SILENCE_S_MAX`.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb", buffering=0) as stream:
        may_block, content = not stat.S_ISREG(os.fstat(descriptor).st_mode), bytearray()
        while len(content) <= SIZE_BYTES_MAX:
            if may_block and not select.select([stream], [], [], SILENCE_S_MAX)[0]:
                raise OSError(
                    errno.ETIMEDOUT, f"it is not a regular file, and no data arrived within {SILENCE_S_MAX:g} s"
                )
            piece = stream.read(SIZE_BYTES_MAX + 1 - len(content))
            if not piece:
                break
            content += piece
        return bytes(content)


def _text(raw: bytes, path: str) -> str:
    """Return the text of a UTF-8 file of at most :data:`SIZE_BYTES_MAX`."""
    if len(raw) > SIZE_BYTES_MAX:
        raise SpecificationError(f"the file is larger than {SIZE_BYTES_MAX:,} bytes", where=path)
    if b"\0" in raw:
        raise SpecificationError("this is a binary file, not YAML text in UTF-8", where=path)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{raw[error.start]:02x} is not UTF-8; save the file in UTF-8"
        raise SpecificationError(message, where=f"{path}:{line}") from None


class _Composer(Composer):
    """A composer that stops at :data:`NODES_MAX` nodes, because a larger file would take long to parse."""

    nodes = 0

    def compose_node(self, parent: Node | None, index: Any) -> Any:
        """Return the next node."""
        self.nodes += 1
        if self.nodes > NODES_MAX:
            line = self.parser.peek_event().start_mark.line + 1
            raise _TooManyNodesError(line)
        return super().compose_node(parent, index)


class _TooManyNodesError(Exception):
    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line


@lru_cache(maxsize=_GRAPHS_MAX)
def _graph(text: str) -> Node | None:
    """Return the root of YAML's node graph, with the text and position of every scalar. Callers must not change it."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Composer = _Composer
    yaml.composer.warn_double_anchors = False
    root: Node | None = yaml.compose(text)
    return root


def _compose(text: str, path: str) -> Node | None:
    """Return the root of the node graph. Raises :class:`SpecificationError` with the line for text that is not YAML."""
    try:
        root = _graph(text)
    except ReaderError as error:
        line = text.count("\n", 0, int(error.position)) + 1
        raise SpecificationError(
            f"character U+{int(error.character):04X} is not text", where=f"{path}:{line}"
        ) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise SpecificationError(_syntax_message(error, text, line), where=f"{path}:{line}") from None
    except _TooManyNodesError as error:
        raise SpecificationError(
            f"the file has more than {NODES_MAX:,} keys, values and list items", where=f"{path}:{error.line}"
        ) from None
    except RecursionError:
        raise SpecificationError("the file is nested too deep", where=path) from None
    except Exception as error:  # ruamel.yaml raises built-in errors for malformed directives and escapes
        raise SpecificationError(f"this is not YAML: {error}", where=path) from error
    return root


def _syntax_message(error: MarkedYAMLError, text: str, line: int) -> str:
    lines = text.splitlines()
    content = lines[line - 1] if line <= len(lines) else ""
    if "\t" in content[: len(content) - len(content.lstrip())]:
        return "a tab is used for indentation; YAML allows spaces only"
    problem = str(error.problem or error.context or "syntax error")
    if "expected a single document" in str(error.context):
        return "a second document begins here ('---'); write one document per file"
    if problem == "mapping values are not allowed here":
        return "a second ':' on this line, or wrong indentation: put text that contains ': ' in quotes"
    return f"this is not YAML: {problem}"


def _shape(node: Node) -> str:
    if isinstance(node, MappingNode):
        return "keys with values"
    return "a list" if isinstance(node, SequenceNode) else "plain text"


@dataclass(slots=True)
class _Builder:
    """A converter of YAML nodes to Python values. Invalid values are left out and added to ``problems``."""

    lines: dict[Location, int] = field(default_factory=dict)
    problems: list[tuple[int, str]] = field(default_factory=list)
    values: int = 0

    def value(self, node: Node, at: Location, line: int) -> Value | None:
        """Return the value of ``node``, or None when a problem was noted."""
        self.values += 1
        if len(at) > DEPTH_MAX or self.values > VALUES_MAX:
            shape = f"nested deeper than {DEPTH_MAX} levels" if len(at) > DEPTH_MAX else "too large after its aliases"
            message = f"the file is {shape}"
            if all(text != message for _, text in self.problems):
                self.problems.append((line, message))
            return None
        self.lines[at] = line
        if isinstance(node, MappingNode):
            return self.mapping(node, at)
        if isinstance(node, SequenceNode):
            items = [self.value(item, (*at, index), item.start_mark.line + 1) for index, item in enumerate(node.value)]
            return [item for item in items if item is not None]
        assert isinstance(node, ScalarNode)
        return self.scalar(node, line, f"key {at[-1]!r}" if isinstance(at[-1], str) else "this list item")

    def scalar(self, node: ScalarNode, line: int, owner: str) -> str | None:
        """Return the text of a scalar; null, control characters and foreign tags are problems."""
        text = str(node.value)
        control_character = next((c for c in text if unicodedata.category(c) in {"Cc", "Cs"} and c not in "\n\t"), None)
        if node.tag not in _SCALAR_TAGS:
            self.problems.append((line, f"{owner}: tags such as {node.tag!r} are not supported"))
        elif control_character is not None:
            self.problems.append((line, f"{owner}: character U+{ord(control_character):04X} is not text"))
        elif node.tag == _TAG + "null" and not node.style:
            self.problems.append(
                (line, f"{owner} has no value; write a value ({{}} if everything has a default) or remove the key")
            )
        else:
            return text
        return None

    def mapping(self, node: MappingNode, at: Location) -> dict[str, Value]:
        """Return a mapping with text keys; a duplicate or composite key is a problem."""
        result: dict[str, Value] = {}
        line_by_key: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, ScalarNode):
                self.problems.append((line, f"a key must be plain text, not {_shape(key_node)}"))
                continue
            key = self.scalar(key_node, line, "this key")
            if key is None:
                continue
            if key in line_by_key:
                self.problems.append((line, f"key {key!r} is given twice; it is already on line {line_by_key[key]}"))
                continue
            line_by_key[key] = line
            # The mark of a value without text is that of the next key.
            has_text = isinstance(value_node, ScalarNode) and value_node.value
            value_line = value_node.start_mark.line + 1 if has_text else line
            value = self.value(value_node, (*at, key), value_line)
            if value is not None:
                result[key] = value
        return result
