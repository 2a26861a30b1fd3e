"""A report as a document: what it says in its order, whatever it is written as.

In: nothing; these are values. ``compose.py`` and its neighbours make them; ``html.py``, ``markdown.py`` and ``pdf.py``
write them, so that all three say the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from assay.charts.style import HALF_PX, Spec
from assay.questions.report_parts import Fact


@dataclass(frozen=True, slots=True)
class Level:
    """A configuration's name, shown with its colour."""

    name: str


@dataclass(frozen=True, slots=True)
class Code:
    """An id, or something to type."""

    text: str


Part = str | Level | Code
Line = tuple[Part, ...]
"""A cell or a paragraph: texts with names and ids between them."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Some sentences. ``tone``: ``plain``, ``soft`` for an aside, ``warn`` for what to be careful about."""

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
    """A column's title, a configuration's colour beside it if it has one, and whether it holds numbers."""

    title: str
    numeric: bool = False
    level: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first cell of a row names it. ``dense``: many narrow columns, in smaller letters."""

    kind: ClassVar[str] = "table"
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Line, ...], ...]
    caption: str = ""
    dense: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """Names with what is to be said of each."""

    kind: ClassVar[str] = "facts"
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Points:
    """Statements, each with a title."""

    kind: ClassVar[str] = "points"
    points: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """Text to be kept as it is: commands, a file."""

    kind: ClassVar[str] = "listing"
    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """A chart: ``make`` gives its specification for a width in pixels. ``name`` is unique in the document."""

    kind: ClassVar[str] = "figure"
    name: str
    make: Callable[[int], Spec]
    caption: str
    wide_px: int = HALF_PX
    panels: bool = False
    """Made of several charts, so that it needs a page's whole width."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Groups of blocks that stand side by side where there is room."""

    kind: ClassVar[str] = "pair"
    cells: tuple[tuple[Block, ...], ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """Details: closed on a screen until somebody opens them, open on paper."""

    kind: ClassVar[str] = "fold"
    title: str
    blocks: tuple[Block, ...]


Block = Paragraph | Heading | Table | Facts | Points | Listing | ReportFigure | Pair | Fold


@dataclass(frozen=True, slots=True)
class Chapter:
    """One section: its anchor, its title, what it says. ``inner``: it belongs to the chapter before it."""

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
    detail: str
    notes: tuple[str, ...]
    origin: str
    opening: tuple[Block, ...]
    """What stands on page one below the answer."""
    chapters: tuple[Chapter, ...]
    footer: str
    byline: str = ""
    """Who wrote it, and when."""
    palette: Mapping[str, str] = field(default_factory=dict)
    """Configuration to its colour."""


def figures_of(blocks: Sequence[Block]) -> Iterator[ReportFigure]:
    """Yield every chart among ``blocks``, those inside others too."""
    for block in blocks:
        if isinstance(block, ReportFigure):
            yield block
        elif isinstance(block, Fold):
            yield from figures_of(block.blocks)
        elif isinstance(block, Pair):
            for cell in block.cells:
                yield from figures_of(cell)


def charts_of(document: ReportDocument) -> list[ReportFigure]:
    """Return every chart of the document in its order."""
    return [*figures_of(document.opening), *(f for chapter in document.chapters for f in figures_of(chapter.blocks))]


@dataclass(slots=True)
class _Numbers:
    """Tables and figures counted from one, in the order of the document."""

    last: Counter[str] = field(default_factory=Counter)
    title: str = ""

    def _caption(self, kind: str, caption: str) -> str:
        self.last[kind] += 1
        return f"{kind} {self.last[kind]}. {caption or self.title}"

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


def numbered(document: ReportDocument) -> ReportDocument:
    """Return the document with every table and figure numbered; a table without a caption takes the title above it."""
    count = _Numbers()
    opening = count.blocks(document.opening)
    return replace(document, opening=opening, chapters=tuple(count.chapter(one) for one in document.chapters))
