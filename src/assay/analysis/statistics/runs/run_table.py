"""Hold runs as columns, so that a query over a million runs takes a few array operations.

A :class:`RunTable` has one row per run. The properties that distinguish runs (workload, layout, engine parameters, and
so on) are coded columns: an integer per row, and the text of each integer. Measured values are float columns, NaN if a
run does not have the value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from assay.analysis.statistics.arrays import Codes, Floats, Ints, Mask
from assay.analysis.statistics.runs.factors_of_runs import (
    LAYOUT_DEVICES,
    LAYOUT_PARAMETERS,
    NETWORK_KIND,
    layout_devices,
    matching_factors,
)
from assay.analysis.statistics.sessions import session_numbers
from assay.model import Run

ABSENT = -1
BASE_VALUES = ("duration_s", "started_unix_s")
"""Quantities that every run has; a metric of the same name is ignored."""
ANOMALY = "anomaly"
"""The column with a run's most serious outlier flag; computed from the other columns for questions that use it."""
NO_ANOMALY = "none"
"""Level of runs without a flag; a run that was not examined has no level."""
SESSION_COLUMNS = ("campaign_id", "cluster")
"""Columns in which the runs of a session are equal."""
DESCRIPTIVE = ("status", "cold", "plan", "campaign_id", ANOMALY, LAYOUT_DEVICES, NETWORK_KIND)
"""Columns that describe a run but do not belong to its configuration."""


@dataclass(frozen=True, slots=True)
class Column:
    """One property of every run: ``levels[codes[row]]``, or no level if the code is :data:`ABSENT`."""

    codes: Codes
    levels: tuple[str, ...]

    def code(self, level: str) -> int:
        """Return a level's code; :data:`ABSENT` when no run has it."""
        return self.levels.index(level) if level in self.levels else ABSENT

    def text(self, row: int) -> str | None:
        """Return a row's level; None when it has none."""
        code = int(self.codes[row])
        return None if code == ABSENT else self.levels[code]


@dataclass(frozen=True, slots=True)
class RunTable:
    """A table of runs, oldest first. ``rows``: their numbers in the repository's index, which give their ids."""

    rows: Ints
    columns: Mapping[str, Column]
    """:data:`DESCRIPTIVE` columns, and the factors: everything else."""
    values: Mapping[str, Floats]
    """``duration_s``, ``started_unix_s`` and the runs' metrics."""
    source: str = ""
    """The index to which ``rows`` refer; empty for a table of runs in memory."""
    sessions: Ints | None = None
    """The session of each run, a number from 0; -1 if its start is unknown. None: not computed yet. A selection of runs
    keeps the sessions of all runs: the runs between them are part of their sessions."""

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self.rows)

    @property
    def factors(self) -> tuple[str, ...]:
        """The columns of a configuration: runs that are equal in all of them are repetitions of each other."""
        return tuple(name for name in self.columns if name not in DESCRIPTIVE)

    def distinguishing_levels(self, position: int) -> dict[str, str]:
        """Return a run's levels of the factors in which runs of the table differ."""
        names = [name for name in self.factors if len(self.columns[name].levels) > 1]
        return {name: text for name in names if (text := self.columns[name].text(position)) is not None}

    def subset(self, keep: Mask | Ints) -> RunTable:
        """Return the table of the rows that a mask or an array of positions selects."""
        positions = np.flatnonzero(keep) if keep.dtype == np.bool_ else keep  # computed once for all columns
        sessions = self.with_sessions().sessions
        return RunTable(
            self.rows[positions],
            {name: Column(column.codes[positions], column.levels) for name, column in self.columns.items()},
            {name: value[positions] for name, value in self.values.items()},
            self.source,
            None if sessions is None else sessions[positions],
        )

    def with_sessions(self) -> RunTable:
        """Return the table with the sessions of its runs, if it has their starts."""
        if self.sessions is not None or "started_unix_s" not in self.values:
            return self
        zeros = np.zeros(len(self), dtype=np.int64)
        campaign, cluster = (
            self.columns[name].codes.astype(np.int64) if name in self.columns else zeros for name in SESSION_COLUMNS
        )
        return replace(self, sessions=session_numbers(self.values["started_unix_s"], campaign, cluster))


def coded(texts: Sequence[str | None]) -> Column:
    """Return a column of texts; None is absent. Levels are in the order of their first row."""
    levels: dict[str, int] = {}
    codes = [ABSENT if text is None else levels.setdefault(text, len(levels)) for text in texts]
    return Column(np.asarray(codes, dtype=np.int32), tuple(levels))


def texts_of_run(run: Run) -> dict[str, str]:
    """Return the texts of ``run`` by column, without columns that do not apply or follow from the layout."""
    texts = matching_factors(run, "") | {"status": str(run.status), "plan": run.plan, "campaign_id": run.campaign_id}
    texts["cold"] = run.cache_state
    texts[LAYOUT_DEVICES] = layout_devices(run) or ""
    texts[NETWORK_KIND] = run.recorded.cluster.network_kind if run.recorded.cluster else ""
    for name in ("data_bytes", "lab_scale"):
        if getattr(run, name) is None:
            del texts[name]
    return {name: text for name, text in texts.items() if text and name not in LAYOUT_PARAMETERS}


def started_unix_s(run: Run) -> float:
    """Return when the run started, in seconds since 1970; NaN if unknown."""
    return unix_s(run.started_at)


def unix_s(started_at: str) -> float:
    """Return the seconds since 1970 of a time in ISO 8601; NaN for any other text."""
    try:
        return datetime.fromisoformat(started_at).timestamp()
    except ValueError:
        return float("nan")


def table_of(runs: Sequence[Run]) -> RunTable:
    """Return ``runs`` as a table, in their order."""
    texts = [texts_of_run(run) for run in runs]
    names = dict.fromkeys(name for row in texts for name in row)
    metrics = dict.fromkeys(name for run in runs for name in run.metrics)
    values = {name: [run.metrics.get(name, np.nan) for run in runs] for name in metrics if name not in BASE_VALUES}
    values["duration_s"] = [run.duration_s for run in runs]
    values["started_unix_s"] = [started_unix_s(run) for run in runs]
    return RunTable(
        np.arange(len(runs)),
        {name: coded([row.get(name) for row in texts]) for name in names},
        {name: np.asarray(column, dtype=np.float64) for name, column in values.items()},
    )


def stacked(tables: Sequence[RunTable]) -> RunTable:
    """Return the rows of all ``tables``, one after the other, as one table in memory."""
    if len(tables) == 1:
        return tables[0]
    columns = {}
    for name in dict.fromkeys(name for table in tables for name in table.columns):
        levels: dict[str, int] = {}
        codes = []
        for table in tables:
            column = table.columns.get(name, Column(np.full(len(table), ABSENT, dtype=np.int32), ()))
            new_codes = np.array(
                [*(levels.setdefault(text, len(levels)) for text in column.levels), ABSENT], dtype=np.int32
            )
            codes.append(new_codes[column.codes])  # ABSENT is -1, which selects the last code
        columns[name] = Column(np.concatenate(codes), tuple(levels))
    names = dict.fromkeys(name for table in tables for name in table.values)
    values = {
        name: np.concatenate([table.values.get(name, np.full(len(table), np.nan)) for table in tables])
        for name in names
    }
    return RunTable(np.arange(sum(map(len, tables))), columns, values)
