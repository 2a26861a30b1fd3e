"""Is this run flagged as odd, and why? Asked by every place that uses runs: lists, a run's page, costs, comparisons.

In: all runs of a repository as a table, or a repository. Out: the table with its column ``anomaly``, by which runs can
be chosen, counted and left out, and the reasons of each. What is odd is judged among all runs, whatever is looked at
later: a run is flagged everywhere or nowhere. A million runs take half a second, so a server asks once for each index.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.outliers.anomalies import Anomalies, Anomaly, find_anomalies
from assay.analysis.outliers.flagging import flagged
from assay.analysis.statistics import ANOMALY, NOT_ODD, Ints, RunTable, usable
from assay.model import Run
from assay.questions.runs.runs import METRICS_LOOKED_AT, in_order_of_start, selected
from assay.store import Repository
from assay.text import plural


@dataclass(frozen=True, slots=True)
class Flagged:
    """All runs with what is odd about them."""

    table: RunTable
    """With the column ``anomaly``."""
    anomalies: Anomalies

    def why(self, row: int) -> tuple[Anomaly, ...]:
        """Return what is odd about the run with this number in the index, the most serious first."""
        return tuple(self.anomalies.at(np.flatnonzero(self.anomalies.rows == row)))

    def among(self, chosen: RunTable) -> Ints:
        """Return which anomalies are of runs of ``chosen``, the most serious first."""
        found: Ints = np.flatnonzero(np.isin(self.anomalies.rows, chosen.rows))
        return found


def flags(table: RunTable) -> Flagged:
    """Return the runs of a table that has all of them, flagged."""
    found = find_anomalies(table)
    return Flagged(flagged(table, found, usable(table)), found)


def flags_in(repository: Repository) -> Flagged:
    """Return the runs of a repository, flagged."""
    return flags(repository.table(METRICS_LOOKED_AT))


def flags_of_run(repository: Repository, known: Flagged, run: Run) -> tuple[Anomaly, ...]:
    """Return what is odd about one run."""
    places = repository.positions_of(known.table, [run.run_id])
    return known.why(int(known.table.rows[places[0]])) if len(places) else ()


def flagged_runs(repository: Repository, known: Flagged, where: Sequence[str], limit: int | None) -> list[Run]:
    """Return the runs that are flagged and match, the newest last; ``limit`` keeps the newest."""
    if not len(known.anomalies):
        return []
    matching = selected(known.table, where)
    table = matching.taken(np.isin(matching.rows, known.anomalies.rows))
    return repository.runs_at(table, in_order_of_start(repository, table)[-limit if limit else 0 :])


def odd_kinds(repository: Repository, known: Flagged) -> dict[str, str]:
    """Return the most serious odd thing of each run that has one, by its id."""
    odd = np.unique(known.anomalies.positions).tolist()
    column = known.table.columns[ANOMALY]
    ids = repository.ids_at(known.table, odd) if odd else []
    return {run_id: column.levels[column.codes[place]] for run_id, place in zip(ids, odd, strict=True)}


@dataclass(frozen=True, slots=True)
class FlagCount:
    """How many of some runs are flagged, by kind, the most frequent first."""

    looked_at: int
    flagged: int
    kinds: tuple[tuple[str, int], ...]

    @property
    def sentence(self) -> str:
        """The count in words; empty without a flagged run."""
        if not self.flagged:
            return ""
        kinds = ", ".join(f"{number} {kind}" for kind, number in self.kinds)
        verb = "is" if self.flagged == 1 else "are"
        return f"{self.flagged:,} of {plural(self.looked_at, 'run')} {verb} flagged as odd ({kinds})"


def flag_count(table: RunTable, positions: Sequence[int] | None = None) -> FlagCount:
    """Return how many runs of a flagged table, or of some of its rows, are flagged."""
    column = table.columns.get(ANOMALY)
    if column is None:
        return FlagCount(0, 0, ())
    codes = column.codes if positions is None else column.codes[np.asarray(positions, dtype=np.int64)]
    counts = np.bincount(codes[codes >= 0], minlength=len(column.levels))
    kinds = [
        (level, int(number)) for level, number in zip(column.levels, counts, strict=True) if number and level != NOT_ODD
    ]
    kinds.sort(key=lambda item: -item[1])
    return FlagCount(int(counts.sum()), sum(number for _, number in kinds), tuple(kinds))


def flag_count_of(repository: Repository, known: Flagged, run_ids: Sequence[str]) -> FlagCount:
    """Return how many of the runs of these ids are flagged."""
    found = flag_count(known.table, repository.positions_of(known.table, run_ids))
    return replace(found, looked_at=len(run_ids))
