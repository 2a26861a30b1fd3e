"""What was measured of what: runs of each workload on each cluster with each layout and network, and what never was.

In: runs as a table. Out: a map with a row a workload and a column a place; a cell has its valid runs, and how many of
them are flagged as odd. Places are those where some workload was measured.
"""

from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import ANOMALY, NOT_ODD, RunTable, first_rows, groups_by, usable

PLACE = ("cluster", "layout", "network")
PLACES_MAX = 60


@dataclass(frozen=True, slots=True)
class MapCell:
    """One workload at one place."""

    runs: int
    """Valid ones; 0: never measured."""
    flagged: int


@dataclass(frozen=True, slots=True)
class MapPlace:
    """One combination of cluster, layout and network, as far as runs have these factors."""

    levels: dict[str, str]
    cells: tuple[MapCell, ...]
    """One for each workload of the map."""


@dataclass(frozen=True, slots=True)
class CoverageMap:
    """Which cells were measured."""

    workloads: tuple[str, ...]
    places: tuple[MapPlace, ...]
    """Those with most runs first."""
    more_places: int
    never_measured: int
    """Cells of the map without a run."""


def coverage_map(table: RunTable) -> CoverageMap:
    """Return the map of a table's valid runs."""
    taken = table.taken(usable(table))
    names = [name for name in PLACE if name in taken.columns]
    if not len(taken) or "workload" not in taken.columns or not names:
        return CoverageMap((), (), 0, 0)
    workload, groups = taken.columns["workload"], groups_by(taken, names)
    present = [int(code) for code in np.unique(workload.codes) if code >= 0]
    odd = np.zeros(len(taken), dtype=np.bool_)
    if (anomaly := taken.columns.get(ANOMALY)) is not None:
        odd = (anomaly.codes >= 0) & (anomaly.codes != anomaly.code(NOT_ODD))
    order = np.argsort(-np.bincount(groups.of_row), kind="stable")
    first = first_rows(groups)
    places = []
    for group in order[:PLACES_MAX].tolist():
        here = groups.of_row == group
        cells = (here & (workload.codes == code) for code in present)
        levels = {name: text for name in names if (text := taken.columns[name].text(int(first[group]))) is not None}
        places.append(MapPlace(levels, tuple(MapCell(int(cell.sum()), int((cell & odd).sum())) for cell in cells)))
    never = sum(cell.runs == 0 for place in places for cell in place.cells)
    return CoverageMap(
        tuple(workload.levels[code] for code in present), tuple(places), max(0, len(order) - PLACES_MAX), never
    )
