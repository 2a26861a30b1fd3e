"""Make the filter bar: workload, cluster and storage class. Addresses carry its state as ``where=COLUMN=LEVEL``.

In: the query parameters of an address and the table of runs. Out: the bar's fields, and the conditions that links keep.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from assay.analysis.comparison.factors.device_classes import DEVICE_CLASS
from assay.analysis.statistics import RunTable
from assay.questions.decisions.buyer import levels_of_factor
from assay.questions.runs.runs import levels_in
from assay.text import column_title, level_text

COLUMNS: Final = ("workload", "cluster", DEVICE_CLASS)
_SELECTION_PARAMETERS: Final = ("offset", "job")
"""Parameters that apply only to the current selection of runs; a new selection drops them."""
Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class FilterField:
    """A select element of the bar. If the address has several levels, it is disabled; change these on the page Runs."""

    title: str
    levels: tuple[tuple[str, str], ...]
    """Available conditions with their titles."""
    conditions: tuple[str, ...]
    """Conditions in the address."""


@dataclass(frozen=True, slots=True)
class FilterBar:
    """The filter bar of a page. ``action``: path of the page."""

    action: str
    fields: tuple[FilterField, ...]
    other_parameters: Pairs
    """Other query parameters that a new selection keeps."""
    has_conditions: bool
    """Whether the address has a condition of the bar."""


def filter_parameters(pairs: Pairs) -> list[tuple[str, str]]:
    """Return the bar's conditions in an address as ``where`` parameters.

    The form of the page Cost writes a condition as ``COLUMN=LEVEL``.
    """
    conditions_of_form = [("where", f"{name}={text}") for name, text in pairs if name in COLUMNS and text]
    conditions = [("where", text) for name, text in pairs if name == "where" and text.partition("=")[0] in COLUMNS]
    return list(dict.fromkeys([*conditions, *conditions_of_form]))


def filter_bar(path: str, pairs: Pairs, table: RunTable) -> FilterBar:
    """Return the bar of a page. Columns with one level have no field. The page Cost has the fields in its own form."""
    conditions = [text for _, text in filter_parameters(pairs)]
    fields = []
    replaceable_pairs: list[tuple[str, str]] = []
    for column in () if path == "/cost" else COLUMNS:
        levels = levels_of_factor(table, column)[0] if column == DEVICE_CLASS else levels_in(table, column)
        column_conditions = tuple(text for text in conditions if text.partition("=")[0] == column)
        if len(levels) > 1 or column_conditions:
            choices = tuple((f"{column}={level}", level_text(column, level)) for level in levels)
            fields.append(FilterField(column_title(column), choices, column_conditions))
        if len(column_conditions) <= 1:
            replaceable_pairs += [
                pair for text in column_conditions for pair in (("where", text), (column, text.partition("=")[2]))
            ]
    other_pairs = [
        pair for pair in pairs if pair not in replaceable_pairs and pair[0] not in _SELECTION_PARAMETERS and pair[1]
    ]
    return FilterBar(path, tuple(fields), other_pairs, bool(conditions))
