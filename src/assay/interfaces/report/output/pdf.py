"""Write a document as PDF, typeset by typst from a template (ADR 0007).

In: a :class:`ReportDocument`. Out: the bytes of a PDF. The template reads the document as JSON, so text is never
interpreted as markup. Charts are vectors. All fonts come with typst, so a report is the same on every machine.
"""

import json
import tempfile
import textwrap
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from assay.foundation.errors import AssayError
from assay.interfaces.charts.drawing.style import FULL_PX, NARROW_PX, PAPER_PX
from assay.interfaces.report.output import pictures
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
    charts_of,
)

UNWRAPPED_COLUMNS_MAX = 6
"""Maximum number of columns in a table without wrapped headers."""
HEADER_LETTERS = 16
"""Maximum length of a line in a wrapped header, in letters."""
SWATCH_LETTERS = 3
"""Width of a colour swatch, in letters."""
COLUMN_LETTERS = (12, 44)
"""Minimum and maximum width of a column, in letters."""
PAIR_COLUMNS_MAX = 4
"""Maximum number of columns of a table in half the page width."""


def _width_px(figure: ReportFigure) -> int:
    """Return the chart's width in pixels: full, or narrow for a chart next to another."""
    return PAPER_PX if _is_wide(figure) else NARROW_PX


def _is_wide(figure: ReportFigure) -> bool:
    return figure.panels or figure.wide_px == FULL_PX


def _line(line: Line) -> list[dict[str, str]]:
    return [
        {"kind": "level", "text": part.text, "name": part.name}
        if isinstance(part, Level)
        else {"kind": "code", "text": part.text}
        if isinstance(part, Code)
        else {"kind": "text", "text": part}
        for part in line
    ]


def _letters(part: dict[str, str]) -> int:
    return len(part["text"]) + (SWATCH_LETTERS if part["kind"] == "level" else 0)


def _column_widths(table: Table, rows: Sequence[Sequence[Sequence[dict[str, str]]]]) -> list[int]:
    """Return each column's relative width: the length of its longest text in letters, within :data:`COLUMN_LETTERS`."""
    longest = [
        max([len(column.title), *(sum(map(_letters, row[index])) for row in rows)])
        for index, column in enumerate(table.columns)
    ]
    return [min(max(letters, COLUMN_LETTERS[0]), COLUMN_LETTERS[1]) for letters in longest]


def _pair(pair: Pair) -> list[dict[str, Any]]:
    """Return the narrow cells in rows of two, then the cells that need the whole width."""
    cells: list[list[dict[str, Any]]] = []
    wide_blocks: list[dict[str, Any]] = []
    for cell in pair.cells:
        needs_page_width = any(
            len(block.columns) > PAIR_COLUMNS_MAX
            if isinstance(block, Table)
            else isinstance(block, ReportFigure) and _is_wide(block)
            for block in cell
        )
        (wide_blocks.extend if needs_page_width else cells.append)(_blocks(cell))
    return [*([{"kind": "pair", "cells": cells}] if cells else []), *wide_blocks]


def _block(block: Block) -> list[dict[str, Any]]:
    """Return a block as data for the template."""
    match block:
        case Pair():
            return _pair(block)
        case Fold():
            return [{"kind": "heading", "text": block.title}, *_blocks(block.blocks)]
        case Paragraph():
            data: dict[str, Any] = {"line": _line(block.line), "tone": block.tone}
        case Heading():
            data = {"text": block.text}
        case Table():
            rows = [[_line(cell) for cell in row] for row in block.rows]
            columns = [
                {
                    "title": "\n".join(textwrap.wrap(c.title, HEADER_LETTERS, break_long_words=False))
                    if len(block.columns) > UNWRAPPED_COLUMNS_MAX
                    else c.title,
                    "numeric": c.numeric,
                    "room": width,
                }
                for c, width in zip(block.columns, _column_widths(block, rows), strict=True)
            ]
            data = {"columns": columns, "rows": rows, "caption": block.caption, "dense": block.dense}
        case Facts():
            data = {"facts": [{"name": fact.name, "text": fact.text} for fact in block.facts]}
        case Points():
            data = {"points": [{"name": point.name, "text": point.text} for point in block.points]}
        case Answers():
            answers = [(item.question, item.answer, [_line(line) for line in item.lines]) for item in block.answers]
            data = {"answers": [{"question": q, "answer": answer, "lines": lines} for q, answer, lines in answers]}
        case Listing():
            data = {"text": block.text.rstrip("\n"), "title": block.title}
        case ReportFigure():
            data = {
                "file": f"{block.name}.pdf",
                "caption": block.caption,
                "wide": _is_wide(block),
                "description": block.make(_width_px(block))["description"],
            }
    return [{"kind": block.kind, **data}]


def _blocks(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    return [data for block in blocks for data in _block(block)]


def as_data(document: ReportDocument) -> str:
    """Return the document as JSON for the template, with blocks in page order."""
    return json.dumps(
        {
            "title": document.title,
            "kicker": document.kicker,
            "question": document.question,
            "answer": document.answer,
            "lead": document.lead,
            "origin": document.origin,
            "footer": document.footer,
            "opening": _blocks(document.opening),
            "byline": document.byline,
            "palette": dict(document.palette),
            "chapters": [{"title": c.title, "inner": c.inner, "blocks": _blocks(c.blocks)} for c in document.chapters],
        },
        ensure_ascii=False,
    )


def pdf(document: ReportDocument) -> bytes:
    """Return the PDF. Raises AssayError if typst is not installed or can't typeset the document."""
    try:
        import typst  # imported here: it is large, and only PDF needs it
    except ImportError as error:
        raise AssayError(
            "PDF needs the Python package typst, which is not installed",
            hint="pip install typst; or write .html and print it, or .md",
        ) from error
    with tempfile.TemporaryDirectory(prefix="assay-report-") as name:
        folder = Path(name)
        for figure in charts_of(document):
            (folder / f"{figure.name}.pdf").write_bytes(pictures.pdf(figure, _width_px(figure)))
        (folder / "document.json").write_text(as_data(document), encoding="utf-8")
        main = folder / "report.typ"
        main.write_text(
            files("assay.interfaces.report").joinpath("templates/report.typ").read_text("utf-8"), encoding="utf-8"
        )
        try:
            content = typst.compile(main, root=folder, ignore_system_fonts=True, format="pdf")
        except (typst.TypstError, RuntimeError) as error:
            raise AssayError(
                f"the PDF can't be typeset: {error}", hint="this is a bug in assay: please report it"
            ) from error
    assert isinstance(content, bytes)
    return content
