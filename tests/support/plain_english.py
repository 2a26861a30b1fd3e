"""Find words that are not plain technical English: in names, docstrings, comments, messages and texts of pages.

In: the text of a Python module, of a page's template, or of a source with comments and strings as in C. Out: one
finding for each use, with its line. The lists follow the writing rules in CONTRIBUTING.md: names say what they hold,
and sentences use standard terms.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from jinja2 import Environment

NAMES: Final = frozenset(
    [
        "found",
        "told",
        "said",
        "tells",
        "one",
        "ones",
        "own",
        "place",
        "places",
        "stands",
        "lies",
        "who",
        "whoever",
        "somebody",
        "nobody",
        "each",
        "had",
    ]
)
"""Names that say nothing about what they hold."""
WORDS_IN_NAMES: Final = re.compile(
    r"(?:^|_)(?:told|found|said|stands|lies|whoever|somebody|nobody|beside|taken_in|begun|own)(?:_|$)"
)
"""The same as a part of a longer name."""
ALLOWED_NAMES: Final = frozenset({"not_found", "NOT_FOUND", "NotFoundError", "ClassNotFoundException"})
PHRASES: Final = (
    r"\bwhoever\b",
    r"\bsomebody\b",
    r"\bnobody\b",
    r"\b(?:is|are|was|were|be|been|being) told\b",
    r"\btold (?:from|apart|by|of)\b",
    r"\btells? of\b",
    r"\bso (?:many|long a|much of)\b",
    r"\bso many\b",
    r"\bwhat stands\b",
    r"\bstands? (?:there|in|on|for itself|already|at|beside|by itself|here|alone)\b",
    r"\blies? (?:in|there|at|on|below|beside|outside|within|above)\b",
    r"\bas usual\b",
    r"\b(?:is|are|be|was|to be) had\b",
    r"\bof (?:its|their|his|one's) own\b",
    r"\bbeside\b",
    r"\bgoes on\b",
    r"\bgo on\b",
    r"\bcarried out\b",
    r"\bcarries? out\b",
    r"\bwhat it (?:is|was) (?:of|by)\b",
    r"\bis somebody's\b",
    r"\bsomebody else\b",
    r"\bother than as\b",
    r"\bnone of it\b",
    r"\bthe like\b",
    r"\bbegun\b",
    r"\bamiss\b",
    r"(?<!--)\bsurely\b",
    r"\bhence\b",
    r"\bthereof\b",
    r"\bwherein\b",
    r"\bmay be the fastest\b",
    r"\bmatched sets?\b",
    r"\btaken in\b",
    r"\blooked at\b",
    r"\bheld against\b",
    r"\bjudged by\b",
    r"\bcome to\b",
    r"\ba good deal\b",
    r"\bas often as\b",
    r"\bby way of\b",
)
"""Phrases with a plainer standard form."""
_PHRASES = re.compile("|".join(PHRASES).replace(" ", r"\s+"), re.IGNORECASE)
_C_TOKENS = re.compile(
    r"""(?P<comment>//[^\n]*(?:\n\s*//[^\n]*)*|/\*.*?\*/)
    |(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|`(?:\\.|[^`\\])*`)
    |(?P<pattern>(?<=[(,=:!&|?])\s?/(?![*/])(?:\\.|\[(?:\\.|[^\]\n])*\]|[^/\\\n])+/)
    |(?P<name>(?<![\w$])(?:(?<!\.)|(?<=\.\.\.))[A-Za-z_]\w*)""",
    re.DOTALL | re.VERBOSE,
)
"""Comments, strings, regular expressions and names, without the names of attributes."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One use of a word that has a plainer form."""

    line: int
    kind: str
    """``name``, ``docstring``, ``comment`` or ``text``."""
    text: str


def phrases_of(page: str) -> list[str]:
    """Return the phrases of a Markdown page that have a plainer form. Code and quoted names do not count."""
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page, flags=re.DOTALL | re.MULTILINE)
    return [" ".join(match[0].split()) for match in _PHRASES.finditer(text)]


def findings(source: str) -> list[Finding]:
    """Return every use in one module, by line. Raises SyntaxError for a text that is not Python."""
    nodes = [*ast.walk(ast.parse(source))]
    return sorted([*_names(nodes), *_texts(nodes), *_comments(source)], key=lambda finding: finding.line)


def template_findings(source: str) -> list[Finding]:
    """Return every use in a Jinja template: in its text, its comments, and the strings and names of its expressions."""
    uses: list[Finding] = []
    before = ""
    for line, kind, value in Environment(autoescape=True).lex(source):
        match kind:
            case "data" | "string":
                uses += _uses("text", value, line)
            case "comment":
                uses += _uses("comment", value, line)
            case "name" if before != "." and _is_vague(value):
                uses.append(Finding(line, "name", value))
        before = value
    return uses


def c_findings(source: str) -> list[Finding]:
    """Return every use in a source whose comments and strings are as in C: JavaScript, CSS, Java or Rust."""
    uses: list[Finding] = []
    for match in _C_TOKENS.finditer(source):
        line = 1 + source[: match.start()].count("\n")
        match match.lastgroup:
            case "comment" | "text" as kind:
                uses += _uses(kind, re.sub(r"\\?\n[ \t]*(?://[/!]?|\*)?", "\n", match[0]), line)
            case "name" if _is_vague(match[0]):
                uses.append(Finding(line, "name", match[0]))
    return uses


def rust_findings(source: str) -> list[Finding]:
    """Return every use in a Rust source. The quote of a lifetime opens no string."""
    return c_findings(re.sub(r"'(?=[a-z_]\w*\b(?!'))", " ", source))


def _uses(kind: str, text: str, line: int) -> Iterator[Finding]:
    for match in _PHRASES.finditer(text):
        yield Finding(line + text[: match.start()].count("\n"), kind, match[0])


@cache
def _is_vague(name: str) -> bool:
    bare = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().strip("_")
    return name not in ALLOWED_NAMES and (bare in NAMES or WORDS_IN_NAMES.search(bare) is not None)


def _names(nodes: Sequence[ast.AST]) -> Iterator[Finding]:
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                pass
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                pass
            case _:
                continue
        if _is_vague(name):
            yield Finding(node.lineno, "name", name)


def _texts(nodes: Sequence[ast.AST]) -> Iterator[Finding]:
    statements = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            kind = "docstring" if id(node) in statements else "text"
            yield from _uses(kind, node.value, node.lineno)


def _comments(source: str) -> Iterator[Finding]:
    # Only a phrase after a `#` can be in a comment. Division of the source into tokens took most of the time.
    if not any(_PHRASES.search(line, line.index("#")) for line in source.splitlines() if "#" in line):
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield from _uses("comment", token.string, token.start[0])
