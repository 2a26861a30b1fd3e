"""Predict the times of many configurations at once, with the same values as one by one.

In: a repository and rows of column and level; a column is a factor (short names too) or describes the hardware of a
cluster (:data:`~assay.store.formats.tables.mapped_rows.HARDWARE`). Out: a :class:`PredictedRow` each, in seconds. A row
that can't be understood carries the reason and no time; it stops no other row.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from assay.analysis.statistics import RunTable, coded
from assay.estimation.prediction.calibration import LEVEL
from assay.estimation.prediction.predict import Basis, predict
from assay.foundation.errors import SpecificationError
from assay.model import Environment, Hardware, Origin
from assay.questions.forecasts.configuration_asked import CompleteConfiguration, conditions, factor_named, levels_named
from assay.questions.forecasts.model_cache import RepositoryModel
from assay.questions.forecasts.prediction import NewCluster, configuration_of
from assay.store.formats.tables.asked_rows import ConfigurationRow
from assay.store.formats.tables.mapped_rows import HARDWARE, cluster_name, hardware_of

ROWS_AT_ONCE: Final = 2_000
"""Rows that are predicted together: bounds the memory and the time between two reports of progress."""


@dataclass(frozen=True, slots=True)
class PredictedRow:
    """The time of one row's configuration."""

    line: int
    """The row's line in its file, or its place in a list; the first is 1."""
    configuration: dict[str, str]
    """What the row names."""
    assumed: dict[str, str]
    """What it does not name: the levels most often measured together with what it does."""
    expected_s: float | None
    """None: not known."""
    low_s: float | None
    high_s: float | None
    basis: str
    """Empty when the row has a problem."""
    extrapolated: bool
    """Whether no configurations like it were measured."""
    reasons: tuple[str, ...]
    problem: str
    """Why the row can't be understood; empty for most rows."""


@dataclass(frozen=True, slots=True)
class BatchPrediction:
    """The times of many configurations."""

    rows: tuple[PredictedRow, ...]
    level: float
    """Probability that an interval holds one run's time."""
    runs: int
    """Valid runs that were learned from."""
    configurations: int
    origin: str
    notices: tuple[str, ...]


def batch_predicted(
    known: RepositoryModel,
    rows: Sequence[ConfigurationRow],
    where: Sequence[str] = (),
    cluster: NewCluster | None = None,
    progress: Callable[[int], None] = lambda _done: None,
) -> BatchPrediction:
    """Return the prediction of each row, in their order.

    ``where`` and ``cluster`` hold for rows that do not name another level; ``progress`` is called with the number of
    rows that are done. Raises SpecificationError for a column that is neither a factor nor hardware.
    """
    encoding = known.model.encoding
    defaults = conditions(where, encoding)
    for name in dict.fromkeys(name for row in rows for name in row.levels):
        if name not in HARDWARE:
            factor_named(name, encoding, "column")
    predicted: list[PredictedRow] = []
    for start in range(0, len(rows), ROWS_AT_ONCE):
        predicted += _predicted(known, rows[start : start + ROWS_AT_ONCE], defaults, cluster)
        progress(len(predicted))
    return BatchPrediction(
        rows=tuple(predicted),
        level=LEVEL,
        runs=known.model.runs,
        configurations=len(known.model.medians),
        origin=Origin.PREDICTED.value,
        notices=known.notices,
    )


def _predicted(
    known: RepositoryModel, rows: Sequence[ConfigurationRow], defaults: Mapping[str, str], cluster: NewCluster | None
) -> Iterator[PredictedRow]:
    wholes: dict[int, CompleteConfiguration] = {}
    problems: dict[int, str] = {}
    for index, row in enumerate(rows):
        try:
            if row.problem:
                raise ValueError(row.problem)
            wholes[index] = _configuration(known, row, defaults, cluster)
        except SpecificationError as error:
            problems[index] = f"{error.message}: {error.hint}" if error.hint else error.message
        except ValueError as error:
            problems[index] = str(error)
    answers = predict(known.model, _joined([whole.table for whole in wholes.values()])) if wholes else None
    answer_of = {index: number for number, index in enumerate(wholes)}
    for index, row in enumerate(rows):
        if answers is None or index in problems:
            yield PredictedRow(row.line, dict(row.levels), {}, None, None, None, "", False, (), problems[index])
            continue
        number, asked = answer_of[index], wholes[index]
        times = [float(values[number]) for values in (answers.expected_s, answers.low_s, answers.high_s)]
        expected_s, low_s, high_s = (time_s if np.isfinite(times[0]) else None for time_s in times)
        basis = answers.basis_of(number)
        yield PredictedRow(
            line=row.line,
            configuration=dict(asked.named),
            assumed=dict(asked.assumed),
            expected_s=expected_s,
            low_s=low_s,
            high_s=high_s,
            basis=str(basis),
            extrapolated=basis is not Basis.MEASURED,
            reasons=answers.reasons.get(number, ()),
            problem="",
        )


def _configuration(
    known: RepositoryModel, row: ConfigurationRow, defaults: Mapping[str, str], cluster: NewCluster | None
) -> CompleteConfiguration:
    """Return a row's configuration. Raises SpecificationError or ValueError, in words, where it makes none."""
    encoding = known.model.encoding
    facts = {name: text for name, text in row.levels.items() if name in HARDWARE and encoding.factor(name) is None}
    named = levels_named(((name, text) for name, text in row.levels.items() if name not in facts), encoding)
    if facts:
        described = hardware_of(facts)
        cluster = NewCluster(named.get("cluster") or cluster_name(described), _hardware(described))
    elif "cluster" in named:
        cluster = None
    return configuration_of(known, {**defaults, **named}, cluster)


def _hardware(described: Mapping[str, int | float | str]) -> Hardware:
    return Environment({"cluster": dict(described)}).hardware


def _joined(tables: Sequence[RunTable]) -> RunTable:
    """Return one table of tables of one row each."""
    columns = {name: coded([_level(table, name) for table in tables]) for name in _names(t.columns for t in tables)}
    values = {
        name: np.array([float(table.values[name][0]) if name in table.values else np.nan for table in tables])
        for name in _names(table.values for table in tables)
    }
    return RunTable(np.zeros(len(tables), np.int64), columns, values)


def _names(mappings: Iterable[Mapping[str, object]]) -> list[str]:
    return list(dict.fromkeys(name for mapping in mappings for name in mapping))


def _level(table: RunTable, name: str) -> str | None:
    return table.columns[name].text(0) if name in table.columns else None
