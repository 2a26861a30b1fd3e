"""Which measured configurations are most like one that is asked for: what a prediction can be held against.

In: what was measured, and one configuration. Out: configurations with the fewest differing factors, differences of
numbers counted by their ratio. Only the same workload counts.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from assay.analysis.statistics import ABSENT, Floats, Ints, RunTable, usable
from assay.estimation.prediction.features import Encoding, numbers
from assay.estimation.prediction.model import Learning

FAR = {"workload": 100.0, "cluster": 3.0, "layout": 3.0}
"""How much a difference counts; 1 for other factors."""


@dataclass(frozen=True, slots=True)
class Near:
    """One measured configuration."""

    position: int
    """One of its runs, in the table that was asked."""
    median_s: float
    runs: int
    differs: tuple[str, ...]
    """``FACTOR LEVEL``, of the factors in which it differs from what was asked for."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The configurations that a table's valid runs are of."""

    configurations: RunTable
    """A row of each."""
    logs: Floats
    """The medians of their log times."""
    sizes: Ints
    """How many runs each has."""
    positions: Ints
    """The place of one of them, in the table."""

    @classmethod
    def of(cls, table: RunTable) -> Self:
        """Return those of a table; SpecificationError where it has too few runs to learn from."""
        told = Learning.of(table)
        at_table = np.flatnonzero(usable(table))
        return cls(told.configurations(), told.logs, np.bincount(told.groups.of_row), at_table[told.first])


def nearest(encoding: Encoding, measured: Measured, asked: RunTable, most: int = 3) -> list[Near]:
    """Return the nearest of the measured configurations to the first row of ``asked``."""
    configurations = measured.configurations
    distance = np.zeros(len(configurations))
    apart: dict[str, Floats] = {}
    for factor in encoding.factors:
        if not factor.varied or factor.name not in configurations.columns:
            continue
        column = configurations.columns[factor.name]
        text = asked.columns[factor.name].text(0) if factor.name in asked.columns else None
        same = column.codes == (ABSENT if text is None else column.code(text))
        own = (~same if text is None or text in column.levels else np.ones(len(same), np.bool_)).astype(np.float64)
        if factor.numeric and text is not None:
            with np.errstate(invalid="ignore", divide="ignore"):
                ratio = np.abs(np.log2(numbers(configurations, factor.name) / numbers(asked, factor.name)[0]))
            own = own * (0.5 + 0.5 * np.minimum(np.nan_to_num(ratio, nan=1.0, posinf=4.0), 4.0))
        apart[factor.name] = own
        distance += own * FAR.get(factor.name, 1.0)
    order = [int(at) for at in np.argsort(distance, kind="stable")[:most] if distance[at] < FAR["workload"]]
    return [
        Near(
            int(measured.positions[at]),
            float(np.exp(measured.logs[at])),
            int(measured.sizes[at]),
            tuple(
                f"{name} {configurations.columns[name].text(at) or 'none'}"
                for name, own in apart.items()
                if own[at] > 0
            ),
        )
        for at in order
    ]
