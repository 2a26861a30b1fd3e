"""Which measured configurations are most like one that is asked for: what a prediction can be held against.

In: runs, and one configuration. Out: configurations with the fewest differing factors, differences of numbers counted
by their ratio. Only the same workload counts.
"""

from dataclasses import dataclass

import numpy as np

from assay.predict.features import Encoding, numbers
from assay.predict.model import Learning
from assay.statistics import ABSENT, Floats, RunTable

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


def nearest(encoding: Encoding, table: RunTable, asked: RunTable, most: int = 3) -> list[Near]:
    """Return the nearest configurations of a table's valid runs to the first row of ``asked``."""
    told = Learning.of(table)
    configurations = told.configurations()
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
    sizes = np.bincount(told.groups.of_row)
    at_table = np.flatnonzero(np.isin(table.rows, told.table.rows))
    return [
        Near(
            int(at_table[told.first[at]]),
            float(np.exp(told.logs[at])),
            int(sizes[at]),
            tuple(
                f"{name} {configurations.columns[name].text(at) or 'none'}"
                for name, own in apart.items()
                if own[at] > 0
            ),
        )
        for at in order
    ]
