"""Map which workloads were measured on which setups: combinations of cluster, layout and network.

In: runs as a table. Out: for each setup with runs and each workload, the number of valid runs and of flagged runs.
"""

from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import ANOMALY, NO_ANOMALY, RunTable, first_rows, groups_by, usable

SETUP = ("cluster", "layout", "network")
SETUPS_MAX = 60
"""Maximum number of setups in a map."""


@dataclass(frozen=True, slots=True)
class MapCell:
    """One workload on one setup."""

    runs: int
    """Valid runs; 0: never measured."""
    flagged: int


@dataclass(frozen=True, slots=True)
class MapSetup:
    """One combination of cluster, layout and network, where runs have these factors."""

    levels: dict[str, str]
    cells: tuple[MapCell, ...]
    """One cell for each workload of the map."""


@dataclass(frozen=True, slots=True)
class CoverageMap:
    """The map of all workloads and setups."""

    workloads: tuple[str, ...]
    setups: tuple[MapSetup, ...]
    """Setups with most runs first."""
    more_setups: int
    never_measured: int
    """Cells of the map without a run."""


def coverage_map(table: RunTable) -> CoverageMap:
    """Return the map of a table's valid runs."""
    valid_table = table.subset(usable(table))
    names = [name for name in SETUP if name in valid_table.columns]
    if not len(valid_table) or "workload" not in valid_table.columns or not names:
        return CoverageMap((), (), 0, 0)
    workload, groups = valid_table.columns["workload"], groups_by(valid_table, names)
    workload_codes = [int(code) for code in np.unique(workload.codes) if code >= 0]
    is_flagged = np.zeros(len(valid_table), dtype=np.bool_)
    if (anomaly := valid_table.columns.get(ANOMALY)) is not None:
        is_flagged = (anomaly.codes >= 0) & (anomaly.codes != anomaly.code(NO_ANOMALY))
    order = np.argsort(-np.bincount(groups.of_row), kind="stable")
    first = first_rows(groups)
    setups = []
    for group in order[:SETUPS_MAX].tolist():
        is_in_group = groups.of_row == group
        cells = (is_in_group & (workload.codes == code) for code in workload_codes)
        levels = {
            name: text for name in names if (text := valid_table.columns[name].text(int(first[group]))) is not None
        }
        setups.append(
            MapSetup(levels, tuple(MapCell(int(cell.sum()), int((cell & is_flagged).sum())) for cell in cells))
        )
    never_measured = sum(cell.runs == 0 for setup in setups for cell in setup.cells)
    return CoverageMap(
        tuple(workload.levels[code] for code in workload_codes),
        tuple(setups),
        max(0, len(order) - SETUPS_MAX),
        never_measured,
    )
