"""Flag outliers among the runs of a repository, with the reasons. Lists, run pages, costs and decisions use the flags.

In: all runs of a repository as a table, or a repository. Out: the table with a column ``anomaly``, to select, count and
exclude runs by, and the reasons for each flag. A run is compared with all runs of the repository, whatever is selected
later, so it is flagged everywhere or nowhere. A million runs take half a second; a server computes this once per index.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.outliers.anomalies import Anomalies, Anomaly, find_anomalies
from assay.analysis.outliers.anomaly_column import with_anomaly_column
from assay.analysis.statistics import ANOMALY, NO_ANOMALY, Ints, RunTable, usable
from assay.model import Run
from assay.questions.runs.runs import METRICS_USED, in_order_of_start, selected
from assay.store import Repository
from assay.text import plural


@dataclass(frozen=True, slots=True)
class FlaggedTable:
    """All runs with their anomalies."""

    table: RunTable
    """With the column ``anomaly``."""
    anomalies: Anomalies

    def why(self, row: int) -> tuple[Anomaly, ...]:
        """Return the anomalies of the run with this row number in the index, most serious first."""
        return tuple(self.anomalies.at(np.flatnonzero(self.anomalies.rows == row)))

    def among(self, table: RunTable) -> Ints:
        """Return the positions of the anomalies of runs of ``table``, most serious first."""
        anomalies: Ints = np.flatnonzero(np.isin(self.anomalies.rows, table.rows))
        return anomalies


def flags(table: RunTable) -> FlaggedTable:
    """Return the runs of a table with flags. The table must hold all runs of the repository."""
    anomalies = find_anomalies(table)
    return FlaggedTable(with_anomaly_column(table, anomalies, usable(table)), anomalies)


def flags_in(repository: Repository) -> FlaggedTable:
    """Return the runs of a repository with flags."""
    return flags(repository.table(METRICS_USED))


def flags_of_run(repository: Repository, flagged: FlaggedTable, run: Run) -> tuple[Anomaly, ...]:
    """Return the anomalies of one run."""
    positions = repository.positions_of(flagged.table, [run.run_id])
    return flagged.why(int(flagged.table.rows[positions[0]])) if len(positions) else ()


def flagged_runs(repository: Repository, flagged: FlaggedTable, where: Sequence[str], limit: int | None) -> list[Run]:
    """Return the flagged runs that match, newest last; at most the ``limit`` newest."""
    if not len(flagged.anomalies):
        return []
    matching_runs = selected(flagged.table, where)
    table = matching_runs.subset(np.isin(matching_runs.rows, flagged.anomalies.rows))
    return repository.runs_at(table, in_order_of_start(repository, table)[-limit if limit else 0 :])


def outlier_kinds(repository: Repository, flagged: FlaggedTable) -> dict[str, str]:
    """Return the most serious anomaly of each flagged run, by run id."""
    positions = np.unique(flagged.anomalies.positions).tolist()
    column = flagged.table.columns[ANOMALY]
    ids = repository.ids_at(flagged.table, positions) if positions else []
    return {run_id: column.levels[column.codes[position]] for run_id, position in zip(ids, positions, strict=True)}


@dataclass(frozen=True, slots=True)
class FlagCount:
    """Number of flagged runs among some runs, by kind, most frequent first."""

    examined: int
    flagged: int
    kinds: tuple[tuple[str, int], ...]

    @property
    def sentence(self) -> str:
        """The count as text; empty without a flagged run."""
        if not self.flagged:
            return ""
        kinds = ", ".join(f"{number} {kind}" for kind, number in self.kinds)
        outliers = "is an outlier" if self.flagged == 1 else "are outliers"
        return f"{self.flagged:,} of {plural(self.examined, 'valid run')} {outliers} ({kinds})"


def flag_count(table: RunTable, positions: Sequence[int] | None = None) -> FlagCount:
    """Return the number of flagged runs in a table with flags, or in some of its rows."""
    column = table.columns.get(ANOMALY)
    if column is None:
        return FlagCount(0, 0, ())
    codes = column.codes if positions is None else column.codes[np.asarray(positions, dtype=np.int64)]
    counts = np.bincount(codes[codes >= 0], minlength=len(column.levels))
    kinds = [
        (level, int(number))
        for level, number in zip(column.levels, counts, strict=True)
        if number and level != NO_ANOMALY
    ]
    kinds.sort(key=lambda item: -item[1])
    return FlagCount(int(counts.sum()), sum(number for _, number in kinds), tuple(kinds))


def flag_count_of(repository: Repository, flagged: FlaggedTable, run_ids: Sequence[str]) -> FlagCount:
    """Return the number of flagged runs among those with these ids."""
    count = flag_count(flagged.table, repository.positions_of(flagged.table, run_ids))
    return replace(count, examined=len(run_ids))
