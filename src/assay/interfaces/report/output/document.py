"""Define a report as a document: a sequence of text, tables and figures, independent of the file format.

``compose.py`` makes documents; ``html.py``, ``markdown.py`` and ``pdf.py`` write them. All formats have the same
content.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from assay.interfaces.charts.drawing.style import HALF_PX, Spec
from assay.questions.report.request import Fact


@dataclass(frozen=True, slots=True)
class Level:
    """An option, shown with its colour."""

    name: str
    label: str = ""
    """Text to show instead of the name; empty for the name."""

    @property
    def text(self) -> str:
        """Text to show."""
        return self.label or self.name


@dataclass(frozen=True, slots=True)
class Code:
    """An id, a command, or other text in the code font."""

    text: str


Part = str | Level | Code
Line = tuple[Part, ...]
"""Text of a cell or a paragraph, in parts: plain text, options and code."""


def with_code(text: str) -> Line:
    """Return ``text`` as a line; text between backticks becomes code."""
    return tuple(Code(part) if number % 2 else part for number, part in enumerate(text.split("`")) if part)


def plain_text(line: Line) -> str:
    """Return a line as plain text."""
    return "".join(part if isinstance(part, str) else part.text for part in line)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph. ``tone``: ``plain``, ``soft`` for a note, ``warn`` for a warning."""

    kind: ClassVar[str] = "paragraph"
    line: Line
    tone: str = "plain"


@dataclass(frozen=True, slots=True)
class Heading:
    """A title inside a section."""

    kind: ClassVar[str] = "heading"
    text: str


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A table column. ``numeric``: it contains numbers. ``level``: the option whose colour its title has."""

    title: str
    numeric: bool = False
    level: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first cell of a row names it. ``dense``: many narrow columns, in a smaller font."""

    kind: ClassVar[str] = "table"
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Line, ...], ...]
    caption: str = ""
    dense: bool = False
    file: str = ""
    """Name of the package's CSV file with all rows; empty if ``rows`` is complete."""
    all_rows: tuple[tuple[Line, ...], ...] = ()
    """All rows of a shortened table; empty if ``rows`` is complete."""


@dataclass(frozen=True, slots=True)
class Facts:
    """A list of names, each with a text."""

    kind: ClassVar[str] = "facts"
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Points:
    """Statements, each with a title."""

    kind: ClassVar[str] = "points"
    points: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class AnswerBlock:
    """A question with its answer in sentences. ``key`` names the question for programs that read the HTML."""

    key: str
    question: str
    answer: str
    lines: tuple[Line, ...] = ()
    """Evidence, cost and the next step, if known."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Questions with their answers."""

    kind: ClassVar[str] = "answers"
    answers: tuple[AnswerBlock, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """Verbatim text: commands, or the content of a file."""

    kind: ClassVar[str] = "listing"
    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """A chart: ``make`` returns its specification for a width in pixels. ``name`` is unique in the document."""

    kind: ClassVar[str] = "figure"
    name: str
    make: Callable[[int], Spec]
    caption: str
    wide_px: int = HALF_PX
    panels: bool = False
    """Whether the chart has several panels and needs the whole width of a page."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Groups of blocks (cells), side by side if there is room."""

    kind: ClassVar[str] = "pair"
    cells: tuple[tuple[Block, ...], ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """Details: collapsed on a screen, open on paper."""

    kind: ClassVar[str] = "fold"
    title: str
    blocks: tuple[Block, ...]


Block = Paragraph | Heading | Table | Facts | Points | Answers | Listing | ReportFigure | Pair | Fold


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter with its link anchor. ``inner``: it is a section of the preceding chapter."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]
    inner: bool = False


@dataclass(frozen=True, slots=True)
class ReportDocument:
    """A whole report."""

    title: str
    kicker: str
    question: str
    answer: str
    lead: tuple[str, ...]
    """Paragraphs below the answer."""
    origin: str
    opening: tuple[Block, ...]
    """Blocks on page one below the lead."""
    chapters: tuple[Chapter, ...]
    footer: str
    byline: str = ""
    """Author and date."""
    palette: Mapping[str, str] = field(default_factory=dict)
    """Colour of each option, by name."""


def _nested_blocks(blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield all blocks, including blocks inside folds and pairs."""
    for block in blocks:
        yield block
        if isinstance(block, Fold):
            yield from _nested_blocks(block.blocks)
        elif isinstance(block, Pair):
            for cell in block.cells:
                yield from _nested_blocks(cell)


def _all_blocks(document: ReportDocument) -> Iterator[Block]:
    yield from _nested_blocks(document.opening)
    for chapter in document.chapters:
        yield from _nested_blocks(chapter.blocks)


def charts_of(document: ReportDocument) -> list[ReportFigure]:
    """Return every chart, in document order."""
    return [block for block in _all_blocks(document) if isinstance(block, ReportFigure)]


def tables_of(document: ReportDocument) -> list[Table]:
    """Return every table, in document order."""
    return [block for block in _all_blocks(document) if isinstance(block, Table)]


@dataclass(slots=True)
class _Numbers:
    """Numbers tables and figures from 1, in document order."""

    last_number: Counter[str] = field(default_factory=Counter)
    title: str = ""

    def _caption(self, kind: str, caption: str) -> str:
        self.last_number[kind] += 1
        return f"{kind} {self.last_number[kind]}. {caption or self.title}"

    def chapter(self, chapter: Chapter) -> Chapter:
        self.title = chapter.title
        return replace(chapter, blocks=self.blocks(chapter.blocks))

    def blocks(self, blocks: Sequence[Block]) -> tuple[Block, ...]:
        return tuple(self._block(block) for block in blocks)

    def _block(self, block: Block) -> Block:
        match block:
            case Heading():
                self.title = block.text
            case Table():
                return replace(block, caption=self._caption("Table", block.caption))
            case ReportFigure():
                return replace(block, caption=self._caption("Figure", block.caption))
            case Pair():
                return replace(block, cells=tuple(self.blocks(cell) for cell in block.cells))
            case Fold():
                return replace(block, blocks=self.blocks(block.blocks))
        return block


def with_numbered_captions(document: ReportDocument) -> ReportDocument:
    """Return the document with numbered tables and figures. Without a caption, they take the title above them."""
    count = _Numbers()
    opening = count.blocks(document.opening)
    return replace(document, opening=opening, chapters=tuple(count.chapter(chapter) for chapter in document.chapters))
