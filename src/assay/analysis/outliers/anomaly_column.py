"""Add anomalies to a table of runs as a column, for every question that uses the table.

In: all runs of a repository as a table. Out: the table with the column ``anomaly``, whose level is the most serious
outlier flag of a run, ``none`` if it has no flag, and absent for runs that were not examined (invalid, failed, no
time).
"""

from dataclasses import replace

import numpy as np

from assay.analysis.outliers.anomalies import Anomalies, Kind
from assay.analysis.statistics import ABSENT, ANOMALY, NO_ANOMALY, Column, Mask, RunTable

TIME_KINDS = (Kind.NOT_DONE, Kind.TOO_FAST, Kind.TOO_SLOW)
"""The kinds of anomalies that concern a run's time, not its bytes or its balance."""


def with_anomaly_column(table: RunTable, anomalies: Anomalies, examined: Mask) -> RunTable:
    """Return ``table`` with the column ``anomaly``; ``anomalies``: of the table, the most serious first."""
    levels = (NO_ANOMALY, *(kind.value for kind in anomalies.kinds))
    codes = np.where(examined, 0, ABSENT).astype(np.int32)
    codes[anomalies.positions[::-1]] = anomalies.kind[::-1] + 1  # a later assignment, of the most serious anomaly, wins
    return replace(table, columns={**table.columns, ANOMALY: Column(codes, levels)})


def time_outliers(table: RunTable) -> Mask:
    """Return which runs are outliers in time; none without the column ``anomaly``."""
    column = table.columns.get(ANOMALY)
    if column is None:
        return np.zeros(len(table), dtype=np.bool_)
    time_codes = [column.code(kind.value) for kind in TIME_KINDS]
    outliers: Mask = np.isin(column.codes, [code for code in time_codes if code != ABSENT])
    return outliers
