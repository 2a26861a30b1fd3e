"""Answers of the Python API: a typed value, a sentence, JSON, rows for data frames, and HTML for notebooks.

In: the object of a question, with functions that return its JSON and its rows. Out: an :class:`Answer`.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from markupsafe import Markup

from assay.foundation.errors import MissingLibraryError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

T = TypeVar("T")
Cell = str | int | float | bool | None
Row = dict[str, Cell]
HTML_ROWS_MAX = 20
"""Maximum number of rows of a table in HTML."""
_LIBRARIES = {"pyarrow": "an Arrow table", "pandas": "a pandas data frame", "polars": "a Polars data frame"}


@dataclass(frozen=True, slots=True)
class AnswerChart:
    """A chart of an answer: a Vega-Lite specification with its caption."""

    caption: str
    spec: dict[str, Any]


def no_charts() -> Sequence[AnswerChart]:
    """Return no charts."""
    return ()


@dataclass(frozen=True, slots=True, repr=False)
class Answer(Generic[T]):
    """The answer to one question. Its fields after ``notes`` are for the package: use the methods."""

    value: T
    """The object of the question: typed and frozen."""
    sentence: str
    """The answer in words, as the command prints it first."""
    notes: tuple[str, ...] = ()
    """Evidence, caveats and assumptions."""
    shown: tuple[str, ...] = ()
    """Columns of the table in HTML; empty for all."""
    json_values: Callable[[], Any] = field(default=dict, kw_only=True)
    """Returns the JSON values."""
    rows: Callable[[Any], Iterable[Mapping[str, Any]]] = field(default=lambda values: values, kw_only=True)
    """Returns the rows that the JSON values hold."""
    chart_specs: Callable[[], Sequence[AnswerChart]] = field(default=no_charts, kw_only=True)
    """Draws the charts."""

    def __str__(self) -> str:
        """Return the sentence and the notes."""
        return "\n".join([self.sentence, *self.notes])

    def __repr__(self) -> str:
        return f"<Answer: {self.sentence}>"

    def to_dict(self) -> Any:
        """Return the answer as lists and dictionaries: the JSON that the command prints with ``--json``."""
        return self.json_values()

    def to_rows(self) -> list[Row]:
        """Return the answer as a table, one dictionary per row.

        Names of nested values are joined by dots: ``metrics.disk_read_bytes``. A list becomes JSON text.
        """
        return [flattened(row) for row in self.rows(self.json_values())]

    def to_arrow(self) -> "pyarrow.Table":
        """Return the rows as an Arrow table. Raises MissingLibraryError without pyarrow."""
        table: pyarrow.Table = library("pyarrow").table(self._columns())
        return table

    def to_pandas(self) -> "pandas.DataFrame":
        """Return the rows as a pandas data frame. Raises MissingLibraryError without pandas."""
        frame: pandas.DataFrame = library("pandas").DataFrame(self._columns())
        return frame

    def to_polars(self) -> "polars.DataFrame":
        """Return the rows as a Polars data frame. Raises MissingLibraryError without Polars."""
        columns = self._columns()
        frame: polars.DataFrame = library("polars").DataFrame(columns, strict=False, infer_schema_length=None)
        return frame

    def charts(self) -> tuple[AnswerChart, ...]:
        """Return the charts as Vega-Lite specifications; empty if the question has no chart."""
        return tuple(self.chart_specs())

    def _columns(self) -> dict[str, list[Cell]]:
        rows = self.to_rows()
        names = dict.fromkeys(name for row in rows for name in row)
        return {name: [row.get(name) for row in rows] for name in names}

    def _repr_html_(self) -> str:
        """Return the sentence, the notes, a table and the charts, for notebooks."""
        from assay.interfaces.report.output.drawing import ChartRenderer

        renderer = ChartRenderer()
        figures = Markup("").join(
            Markup("<figure>{}<figcaption>{}</figcaption></figure>").format(renderer.svg(chart.spec), chart.caption)
            for chart in self.charts()
        )
        notes = Markup("").join(Markup("<li>{}</li>").format(note) for note in self.notes)
        note_list = Markup("<ul>{}</ul>").format(notes) if notes else Markup("")
        return Markup('<div class="assay-answer"><p><strong>{}</strong></p>{}{}{}</div>').format(
            self.sentence, note_list, self._table(), figures
        )

    def _table(self) -> Markup:
        rows = self.to_rows()
        shown_rows = rows[:HTML_ROWS_MAX]
        recorded_names = dict.fromkeys(name for row in shown_rows for name in row)
        names = [name for name in self.shown or recorded_names if name in recorded_names]
        if not names:
            return Markup("")
        head = Markup("").join(Markup("<th>{}</th>").format(name.replace("_", " ").replace(".", " ")) for name in names)
        body = Markup("").join(
            Markup("<tr>{}</tr>").format(
                Markup("").join(Markup("<td>{}</td>").format(_text(row.get(name))) for name in names)
            )
            for row in shown_rows
        )
        omitted_text = f"{len(rows) - len(shown_rows):,} more rows" if len(rows) > len(shown_rows) else ""
        table = Markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>").format(head, body)
        return table + (Markup("<p>{}</p>").format(omitted_text) if omitted_text else Markup(""))


def flattened(values: Mapping[str, Any], prefix: str = "") -> Row:
    """Return nested values as one row; see :meth:`Answer.to_rows`."""
    row: Row = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            row |= flattened(value, f"{prefix}{key}.")
        else:
            row[f"{prefix}{key}"] = json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value
    return row


def library(name: str) -> Any:
    """Return an optional library. Raises MissingLibraryError if it is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingLibraryError(
            f"{_LIBRARIES[name]} needs {name}, which is not installed", hint=f"pip install {name}; or use to_rows()"
        ) from error


def _text(value: Cell) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
