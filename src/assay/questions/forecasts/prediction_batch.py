"""Predict the times of many configurations at once, with the same values as single predictions.

In: the model of a repository, and rows of columns with levels. A column is a factor (or its short name), or describes
the hardware of a cluster (:data:`~assay.store.formats.tables.mapped_rows.HARDWARE`). Out: a :class:`PredictedRow` for
each row, in seconds, with the measured time where the configuration has runs. An invalid row has the reason instead of
a time, and does not affect other rows.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from assay.analysis.statistics import RunTable, coded
from assay.estimation.prediction.calibration import LEVEL
from assay.estimation.prediction.nearest import EqualConfigurations
from assay.estimation.prediction.predict import Basis, predict
from assay.foundation.errors import SpecificationError
from assay.model import Environment, Origin
from assay.questions.forecasts.model_cache import RepositoryModel
from assay.questions.forecasts.partial_configuration import (
    CompleteConfiguration,
    conditions,
    factor_named,
    levels_named,
)
from assay.questions.forecasts.prediction import ClusterRequest, MeasuredMedian, configuration_of, measured_median
from assay.store.formats.tables.configuration_rows import ConfigurationRow
from assay.store.formats.tables.mapped_rows import HARDWARE, cluster_name, hardware_of

ROWS_AT_ONCE: Final = 2_000
"""Maximum number of rows predicted together. It limits memory, and the time between progress reports."""


@dataclass(frozen=True, slots=True)
class PredictedRow:
    """The time of one row's configuration."""

    line: int
    """The row's line in its file, or its place in a list; the first is 1."""
    configuration: dict[str, str]
    """Levels that the row names."""
    assumed: dict[str, str]
    """Levels that it does not name: the levels most often measured with the named levels."""
    measured: MeasuredMedian | None
    """The measured time; None if the row has a problem, or its configuration has no valid run."""
    expected_s: float | None
    """None where the row has a problem, or the runs do not support a prediction."""
    low_s: float | None
    high_s: float | None
    basis: str
    """Empty when the row has a problem."""
    extrapolated: bool
    """Whether no similar configurations were measured."""
    reasons: tuple[str, ...]
    problem: str
    """Why the row is invalid; empty for a valid row."""


@dataclass(frozen=True, slots=True)
class BatchPrediction:
    """The times of many configurations."""

    rows: tuple[PredictedRow, ...]
    level: float
    """Probability that an interval holds one run's time."""
    runs: int
    """Valid runs that the model was trained on."""
    configurations: int
    origin: str
    notices: tuple[str, ...]


def batch_predicted(
    repository_model: RepositoryModel,
    rows: Sequence[ConfigurationRow],
    where: Sequence[str] = (),
    cluster: ClusterRequest | None = None,
    progress: Callable[[int], None] = lambda _done: None,
) -> BatchPrediction:
    """Return the prediction of each row, in their order.

    ``where`` and ``cluster`` apply to rows that name no other level; ``progress`` is called with the number of
    completed rows. Raises SpecificationError for a column that is neither a factor nor hardware.
    """
    encoding = repository_model.model.encoding
    defaults = conditions(where, encoding)
    for name in dict.fromkeys(name for row in rows for name in row.levels):
        if name not in HARDWARE:
            factor_named(name, encoding, "column")
    predicted_rows: list[PredictedRow] = []
    equal_configurations = EqualConfigurations(encoding, repository_model.measured)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        some_rows = rows[start : start + ROWS_AT_ONCE]
        predicted_rows += _predicted_rows(repository_model, some_rows, defaults, cluster, equal_configurations)
        progress(len(predicted_rows))
    return BatchPrediction(
        rows=tuple(predicted_rows),
        level=LEVEL,
        runs=repository_model.model.runs,
        configurations=len(repository_model.model.median_logs),
        origin=Origin.PREDICTED.value,
        notices=repository_model.notices,
    )


def _predicted_rows(
    repository_model: RepositoryModel,
    rows: Sequence[ConfigurationRow],
    defaults: Mapping[str, str],
    cluster: ClusterRequest | None,
    equal_configurations: EqualConfigurations,
) -> Iterator[PredictedRow]:
    configurations: dict[int, CompleteConfiguration] = {}
    problems: dict[int, str] = {}
    for index, row in enumerate(rows):
        try:
            if row.problem:
                raise ValueError(row.problem)
            configurations[index] = _configuration(repository_model, row, defaults, cluster)
        except SpecificationError as error:
            problems[index] = f"{error.message}: {error.hint}" if error.hint else error.message
        except ValueError as error:
            problems[index] = str(error)
    answers = (
        predict(
            repository_model.model,
            _joined_table([full_configuration.table for full_configuration in configurations.values()]),
        )
        if configurations
        else None
    )
    answer_of = {index: number for number, index in enumerate(configurations)}
    for index, row in enumerate(rows):
        if answers is None or index in problems:
            yield PredictedRow(
                line=row.line,
                configuration=dict(row.levels),
                assumed={},
                measured=None,
                expected_s=None,
                low_s=None,
                high_s=None,
                basis="",
                extrapolated=False,
                reasons=(),
                problem=problems[index],
            )
            continue
        number, configuration = answer_of[index], configurations[index]
        times = [float(values[number]) for values in (answers.expected_s, answers.low_s, answers.high_s)]
        expected_s, low_s, high_s = (time_s if np.isfinite(times[0]) else None for time_s in times)
        basis = answers.basis_of(number)
        yield PredictedRow(
            line=row.line,
            configuration=dict(configuration.named),
            assumed=dict(configuration.assumed),
            measured=measured_median(repository_model, configuration.table, equal_configurations),
            expected_s=expected_s,
            low_s=low_s,
            high_s=high_s,
            basis=str(basis),
            extrapolated=basis is not Basis.MEASURED,
            reasons=answers.reasons.get(number, ()),
            problem="",
        )


def _configuration(
    repository_model: RepositoryModel,
    row: ConfigurationRow,
    defaults: Mapping[str, str],
    cluster: ClusterRequest | None,
) -> CompleteConfiguration:
    """Return a row's configuration. Raises SpecificationError or ValueError for an invalid row."""
    encoding = repository_model.model.encoding
    facts = {name: text for name, text in row.levels.items() if name in HARDWARE and encoding.factor(name) is None}
    named_levels = levels_named(((name, text) for name, text in row.levels.items() if name not in facts), encoding)
    if facts:
        described_hardware = hardware_of(facts)
        cluster = ClusterRequest(
            named_levels.get("cluster") or cluster_name(described_hardware),
            Environment({"cluster": dict(described_hardware)}).hardware,
        )
    elif "cluster" in named_levels:
        cluster = None
    return configuration_of(repository_model, {**defaults, **named_levels}, cluster)


def _joined_table(tables: Sequence[RunTable]) -> RunTable:
    """Join ``tables`` of one row each into one table."""
    columns = {
        name: coded([table.columns[name].text(0) if name in table.columns else None for table in tables])
        for name in _names(t.columns for t in tables)
    }
    values = {
        name: np.array([float(table.values[name][0]) if name in table.values else np.nan for table in tables])
        for name in _names(table.values for table in tables)
    }
    return RunTable(np.zeros(len(tables), np.int64), columns, values)


def _names(mappings: Iterable[Mapping[str, object]]) -> list[str]:
    return list(dict.fromkeys(name for mapping in mappings for name in mapping))
