"""Define the contrast of a claim: two kinds of levels of one factor, as a number for each configuration.

In: a table of configurations. Out: an array over its rows: 1 and 0 for the two kinds, NaN for neither.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from assay.analysis.comparison.factors.compression import UNCOMPRESSED
from assay.analysis.statistics import ABSENT, LAYOUT_DEVICES, NETWORK_KIND, Column, Floats, RunTable
from assay.model import COMPRESSION, LAYOUT_FACTOR, NetworkKind, network_kind_of_name
from assay.model.clusters.layout_code import HDD, SSD, devices_of_text


@dataclass(frozen=True, slots=True)
class Contrast:
    """One comparison that claims make."""

    label: str
    """The compared kinds, for example ``SSD over HDD``."""
    factors: tuple[str, ...]
    """Possible names of the factor, because data sources use different names. The first name that the runs have is
    used."""
    number_of_level: Callable[[str], float]
    """Return 1 or 0 for a level of the two kinds, NaN for any other level."""
    column: str | None = None
    """The column that holds the levels; None: the column of the factor."""
    recorded_column: str | None = None
    """The column in which runs record the kind, which has priority over the name of the level."""
    number_of_kind: Callable[[str], float] = float
    """The number of a recorded kind, if there is a ``recorded_column``."""

    def factor_in(self, table: RunTable) -> str:
        """Return the name that the factor has in ``table``."""
        return next((name for name in self.factors if name in table.columns), self.factors[0])

    def values(self, table: RunTable) -> Floats:
        """Return the number of each row; NaN for a level of neither kind."""
        column = table.columns.get(self.column or self.factor_in(table))
        if column is None:
            return np.full(len(table), np.nan)
        values = _numbers(column, self.number_of_level)
        kinds = table.columns.get(self.recorded_column) if self.recorded_column else None
        if kinds is None:
            return values
        return np.where(kinds.codes != ABSENT, _numbers(kinds, self.number_of_kind), values)


def _numbers(column: Column, number_of: Callable[[str], float]) -> Floats:
    number_of_code = np.array([*map(number_of, column.levels), np.nan])
    numbers: Floats = number_of_code[column.codes]  # an absent code, -1, selects the last
    return numbers


def _ssd_number(devices: str) -> float:
    kinds = set(devices_of_text(devices))
    return float(kinds == {SSD}) if len(kinds) == 1 and kinds <= {HDD, SSD} else np.nan


def _many_disks_number(devices: str) -> float:
    counts = devices_of_text(devices)
    if len(counts) != 1 or not counts.keys() <= {HDD, SSD}:
        return np.nan
    (count,) = counts.values()
    return np.nan if count is None else float(count > 1)


def _infiniband_number(level: str) -> float:
    kind = network_kind_of_name(level)
    return np.nan if kind is None else float(kind is NetworkKind.INFINIBAND)


SSD_OR_HDD = Contrast("SSD over HDD", (LAYOUT_FACTOR,), _ssd_number, LAYOUT_DEVICES)
MANY_DISKS = Contrast("several disks over one", (LAYOUT_FACTOR,), _many_disks_number, LAYOUT_DEVICES)
COMPRESSED = Contrast("compressed map output", (COMPRESSION,), lambda level: float(level != UNCOMPRESSED))
INFINIBAND = Contrast(
    "InfiniBand",
    ("network",),
    _infiniband_number,
    recorded_column=NETWORK_KIND,
    number_of_kind=lambda kind: float(kind == NetworkKind.INFINIBAND),
)
