"""Write a document as Markdown (CommonMark with GitHub tables) that links to its charts as SVG files.

In: a :class:`ReportDocument` and the path of the charts' folder for links. Out: text. All text from runs is escaped.
"""

import re
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from assay.interfaces.report.output.document import (
    Answers,
    Block,
    Code,
    Facts,
    Fold,
    Heading,
    Level,
    Line,
    Listing,
    Pair,
    Paragraph,
    Points,
    ReportDocument,
    ReportFigure,
    Table,
)

_SPECIAL = re.compile(r"([\\`*_{}\[\]#|~$!])")
_LINE_START = re.compile(r"^(\s*)([-+=]+|\d+[.)])(?=\s|$)")
"""Beginning of a line that Markdown would read as a list or a heading."""


def escaped(text: str) -> str:
    """Return ``text`` on one line, with Markdown and HTML characters escaped."""
    line = " ".join(text.split("\n")).replace("\r", " ").replace("\t", " ")
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = _SPECIAL.sub(r"\\\1", line)
    return _LINE_START.sub(lambda match: f"{match[1]}{match[2][:-1]}\\{match[2][-1]}", line)


def _part(part: str | Level | Code) -> str:
    if isinstance(part, Code) and "`" not in part.text and "|" not in part.text and "\n" not in part.text:
        return f"`{part.text}`"
    text = part if isinstance(part, str) else part.text
    if not text.strip(" "):
        return text
    leading_spaces, trailing_spaces = (
        " " * (len(text) - len(stripped)) for stripped in (text.lstrip(" "), text.rstrip(" "))
    )
    return f"{leading_spaces}{escaped(text.strip(' '))}{trailing_spaces}"


def _line(line: Line) -> str:
    return "".join(_part(part) for part in line)


def _table(table: Table) -> Iterator[str]:
    if table.caption:
        yield f"**{escaped(table.caption)}**"
        yield ""
    yield f"| {' | '.join(escaped(column.title) for column in table.columns)} |"
    yield f"|{'|'.join(' ---: ' if column.numeric else ' --- ' for column in table.columns)}|"
    for row in table.rows:
        yield f"| {' | '.join(_line(cell) for cell in row)} |"


def _listing(listing: Listing) -> Iterator[str]:
    if listing.title:
        yield f"`{listing.title}`:" if "`" not in listing.title else f"{escaped(listing.title)}:"
        yield ""
    longest = max((len(run) for run in re.findall(r"`+", listing.text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield fence
    yield from listing.text.rstrip("\n").split("\n")
    yield fence


def _figure(figure: ReportFigure, folder: str) -> Iterator[str]:
    yield f"![{escaped(figure.make(figure.wide_px)['description'])}]({quote(folder)}/{quote(figure.name)}.svg)"
    yield ""
    yield f"*{escaped(figure.caption)}*"


def _items(block: Facts | Points | Answers) -> Iterator[str]:
    if isinstance(block, Answers):
        for item in block.answers:
            yield f"- **{escaped(item.question)}** {' '.join([escaped(item.answer), *map(_line, item.lines)])}"
    else:
        facts = block.facts if isinstance(block, Facts) else block.points
        yield from (f"- **{escaped(fact.name)}:** {escaped(fact.text)}" for fact in facts)


def _blocks(blocks: Sequence[Block], folder: str, level: int) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Pair):
            for cell in block.cells:
                yield from _blocks(cell, folder, level)
            continue
        yield ""
        match block:
            case Paragraph():
                yield f"**Warning:** {_line(block.line)}" if block.tone == "warn" else _line(block.line)
            case Heading():
                yield f"{'#' * level} {escaped(block.text)}"
            case Table():
                yield from _table(block)
            case Facts() | Points() | Answers():
                yield from _items(block)
            case Listing():
                yield from _listing(block)
            case ReportFigure():
                yield from _figure(block, folder)
            case Fold():
                yield f"{'#' * level} {escaped(block.title)}"
                yield from _blocks(block.blocks, folder, min(level + 1, 6))


def markdown(document: ReportDocument, folder: str) -> str:
    """Return the document as Markdown. ``folder``: path of the charts' folder, relative to the Markdown file."""
    header_texts = (document.kicker, document.byline, document.origin)
    lines = [
        f"# {escaped(document.title)}",
        "",
        " · ".join(escaped(text) for text in header_texts if text),
        *(["", f"**Question.** {escaped(document.question)}"] if document.question != document.title else []),
        "",
        f"**{escaped(document.answer)}**",
    ]
    for text in document.lead:
        lines += ["", escaped(text)]
    lines += _blocks(document.opening, folder, 2)
    for chapter in document.chapters:
        lines += ["", f"{'###' if chapter.inner else '##'} {escaped(chapter.title)}"]
        lines += _blocks(chapter.blocks, folder, 4 if chapter.inner else 3)
    return "\n".join([*lines, "", "---", "", escaped(document.footer), ""])
