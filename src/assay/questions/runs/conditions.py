"""Read conditions on runs, ``COLUMN=LEVEL``, in the words that assay shows: ``storage=SSDs``, ``network=Ethernet``.

In: conditions as texts, and a table of runs. Out: the table with the columns that the conditions name, and the levels
by column as the table records them. A column is known by its name, by its title (``Storage class``), and by the words
for questions and factors (``storage``, ``nodes``, ``benchmark``). A level is known by its name and by its title.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from assay.analysis.comparison.factors.derived_factors import with_factors
from assay.analysis.comparison.factors.device_classes import DEVICE_CLASS, DeviceClass
from assay.analysis.comparison.factors.disk_counts import DISKS
from assay.analysis.statistics import RunTable
from assay.analysis.statistics.runs.facets import conditions_of
from assay.foundation.errors import SpecificationError, did_you_mean
from assay.model import LAYOUT_FACTOR, NETWORK_FACTOR, WORKERS_FACTOR
from assay.questions.decisions.buyer import STORAGE, parallelism_factors, question_named, question_synonyms
from assay.questions.decisions.sentences.option_words import option_text
from assay.text import column_title, level_text, workload_named

_CLASS_WORDS = {
    **dict.fromkeys(("hdd", "hdds", "hard disk", "disk", "disks"), DeviceClass.HARD_DISKS),
    **{text.casefold(): DeviceClass(text) for text in DeviceClass},
    **{option_text(DEVICE_CLASS, text).casefold(): DeviceClass(text) for text in DeviceClass},
}
"""Words for a device class, in lower case."""
_FIRST_LISTED = ("workload", STORAGE, LAYOUT_FACTOR, NETWORK_FACTOR, WORKERS_FACTOR, "cluster", "status", "origin")
"""Columns that a message lists first."""
_NAME_MAX = 100
"""Maximum length of a name in a message, in characters."""


def with_conditions(
    table: RunTable, where: Sequence[str], option: str = "--where"
) -> tuple[RunTable, dict[str, list[str]]]:
    """Return the table with the columns that ``where`` names, and the levels by column.

    Raises SpecificationError, with the choices, for a column that no run has.
    """
    conditions: dict[str, list[str]] = {}
    for word, levels in conditions_of(where, option).items():
        for level in levels:
            column = _column_named(table, word, level, option)
            table = with_columns([column], table)
            conditions.setdefault(column, []).append(_level_named(table, column, level))
    return table, conditions


def with_columns(names: Iterable[str], table: RunTable) -> RunTable:
    """Return the table with the derived factors among ``names`` as columns, for example the device class."""
    derived_columns = {
        name: with_factors(table, [name]).columns.get(name) for name in names if name not in table.columns
    }
    return replace(
        table, columns={**table.columns, **{name: column for name, column in derived_columns.items() if column}}
    )


def _column_named(table: RunTable, word: str, level: str, option: str) -> str:
    """Return the column that a word names. ``storage`` is the device class, or the layout if ``level`` is a layout."""
    if word in with_columns([word], table).columns:
        return word
    folded_word = word.casefold()
    if folded_word == STORAGE:
        column = DEVICE_CLASS if level.casefold() in _CLASS_WORDS else LAYOUT_FACTOR
    else:
        column_of_title = {column_title(name).casefold(): name for name in (*table.columns, DEVICE_CLASS, DISKS)}
        name = column_of_title.get(folded_word) or question_synonyms().get(folded_word, folded_word)
        question = question_named(name)
        factors = (question.factors or parallelism_factors(table)) if question else (name,)
        column = next((factor for factor in factors if factor in table.columns), name)
    if column in with_columns([column], table).columns:
        return column
    raise SpecificationError(
        f"no run has a column {word[:_NAME_MAX]!r}",
        where=f"{option} {word[:_NAME_MAX]}",
        hint=f"{did_you_mean(word, table.columns, question_synonyms())}columns: {_columns_text(table)}",
    )


def _columns_text(table: RunTable) -> str:
    """Return the names of columns in a message, those of hardware and workloads first, parameters last."""
    names = {*table.columns, *([STORAGE] if LAYOUT_FACTOR in table.columns else [])}
    first_names = [name for name in _FIRST_LISTED if name in names]
    other_names = sorted(
        (name for name in table.columns if name not in first_names), key=lambda name: ("." in name, name)
    )
    return ", ".join([*first_names, *other_names])


def _level_named(table: RunTable, column: str, text: str) -> str:
    """Return the level of a column whose name or title is ``text``; other texts unchanged."""
    levels = table.columns[column].levels
    if text in levels:
        return text
    if column == "workload":
        return workload_named(text, levels)
    if column == DEVICE_CLASS:
        return _CLASS_WORDS.get(text.casefold(), text)
    folded_text = text.casefold()
    equal_levels = [
        level for level in levels if folded_text in (level.casefold(), level_text(column, level).casefold())
    ]
    return equal_levels[0] if len(equal_levels) == 1 else text
