"""Find the measured configurations that are most similar to a predicted configuration, for comparison.

In: measured configurations, and the predicted configuration. Out: the configurations of the same workload with the
smallest weighted number of differing factors. A difference of numbers has a weight that grows with their ratio.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from assay.analysis.statistics import ABSENT, Floats, Ints, RunTable, usable
from assay.estimation.prediction.features import Encoding, numbers
from assay.estimation.prediction.model import TrainingData

DIFFERENCE_WEIGHTS = {"workload": 100.0, "cluster": 3.0, "layout": 3.0}
"""Weight of a difference by factor; 1 for other factors."""


@dataclass(frozen=True, slots=True)
class NearConfiguration:
    """One measured configuration."""

    position: int
    """Position of one of its runs in the table."""
    median_s: float
    runs: int
    differs: tuple[str, ...]
    """``FACTOR LEVEL`` for each factor in which it differs."""
    times_s: tuple[float, ...]
    """The time of each of its runs."""


@dataclass(frozen=True, slots=True)
class MeasuredConfigurations:
    """The configurations of a table's valid runs."""

    configurations: RunTable
    """One row for each configuration."""
    logs: Floats
    """The medians of their log times."""
    sizes: Ints
    """Number of runs of each configuration."""
    positions: Ints
    """Position of one of its runs in the table."""
    run_times_s: Floats
    """The time of each run."""
    of_run: Ints
    """Configuration of each run."""

    @classmethod
    def of(cls, table: RunTable) -> Self:
        """Return the configurations of a table. Raises SpecificationError if it has too few runs to learn from."""
        data = TrainingData.of(table)
        usable_rows = np.flatnonzero(usable(table))
        return cls(
            data.configurations(),
            data.logs,
            np.bincount(data.groups.of_row),
            usable_rows[data.first_runs],
            data.table.values["duration_s"],
            data.groups.of_row,
        )

    def configuration(self, row: int, differs: tuple[str, ...]) -> NearConfiguration:
        """Return one of the configurations with its times."""
        return NearConfiguration(
            int(self.positions[row]),
            float(np.exp(self.logs[row])),
            int(self.sizes[row]),
            differs,
            tuple(map(float, self.run_times_s[self.of_run == row])),
        )


class EqualConfigurations:
    """Find the measured configuration that equals a requested one in every factor that varies."""

    def __init__(self, encoding: Encoding, measured_configurations: MeasuredConfigurations) -> None:
        """Index the configurations by their levels."""
        self._measured = measured_configurations
        columns = measured_configurations.configurations.columns
        self._names = [factor.name for factor in encoding.factors if factor.varied and factor.name in columns]
        number = len(measured_configurations.configurations)
        levels = [[columns[name].text(row) for row in range(number)] for name in self._names]
        rows = zip(*levels, strict=True) if levels else ()
        self._row_by_levels = {key: row for row, key in reversed(list(enumerate(rows)))}

    def find(self, requested: RunTable) -> NearConfiguration | None:
        """Return the configuration of the first row of ``requested``; None if it was not measured."""
        columns = requested.columns
        levels = tuple(columns[name].text(0) if name in columns else None for name in self._names)
        row = self._row_by_levels.get(levels)
        return None if row is None else self._measured.configuration(row, differs=())


def nearest(
    encoding: Encoding,
    measured_configurations: MeasuredConfigurations,
    predicted: RunTable,
    configurations_max: int = 3,
) -> list[NearConfiguration]:
    """Return the nearest of the measured configurations to the first row of ``predicted``."""
    configurations = measured_configurations.configurations
    distance = np.zeros(len(configurations))
    differences: dict[str, Floats] = {}
    for factor in encoding.factors:
        if not factor.varied or factor.name not in configurations.columns:
            continue
        column = configurations.columns[factor.name]
        text = predicted.columns[factor.name].text(0) if factor.name in predicted.columns else None
        is_same = column.codes == (ABSENT if text is None else column.code(text))
        difference = (~is_same if text is None or text in column.levels else np.ones(len(is_same), np.bool_)).astype(
            np.float64
        )
        if factor.numeric and text is not None:
            with np.errstate(invalid="ignore", divide="ignore"):
                ratio = np.abs(np.log2(numbers(configurations, factor.name) / numbers(predicted, factor.name)[0]))
            difference = difference * (0.5 + 0.5 * np.minimum(np.nan_to_num(ratio, nan=1.0, posinf=4.0), 4.0))
        differences[factor.name] = difference
        distance += difference * DIFFERENCE_WEIGHTS.get(factor.name, 1.0)
    order = [
        int(row)
        for row in np.argsort(distance, kind="stable")[:configurations_max]
        if distance[row] < DIFFERENCE_WEIGHTS["workload"]
    ]
    return [
        measured_configurations.configuration(
            row,
            differs=tuple(
                f"{name} {configurations.columns[name].text(row) or 'none'}"
                for name, difference in differences.items()
                if difference[row] > 0
            ),
        )
        for row in order
    ]
