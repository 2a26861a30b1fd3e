"""Assess the quality of runs: why some are not valid, what was not observed, outliers, and missing repetitions.

In: a repository and a table of its runs. Out: frozen answers, most frequent or most serious first.
"""

from dataclasses import dataclass

import numpy as np

from assay.analysis.outliers.causes import Cause, causes_of
from assay.analysis.outliers.missing_repetitions import MissingRepetitions, missing_repetitions
from assay.analysis.statistics import Column, Ints, RunTable, has_level, level_counts, usable
from assay.foundation.units import finite
from assay.model import RunStatus
from assay.questions.runs.runs import level_at
from assay.questions.trust.flags import FlaggedTable
from assay.store import Repository
from assay.text import joined, plural

NOT_VALID_MAX = 2_000
"""Maximum number of runs whose causes are read (the newest)."""
_CAUSES_NAMED = 3
_CAUSE_MAX = 100
"""Maximum length of a cause in a sentence, in characters."""
NO_PLAN = "no plan named"
PRECISION = 0.05
"""Default half-width of the 95 % interval of a mean time, as a share of the mean."""


@dataclass(frozen=True, slots=True)
class NotValid:
    """Why runs are not valid, most frequent cause first."""

    not_valid: int
    examined: int
    causes: tuple[Cause, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """Number of a plan's runs with traces, and with cold caches."""

    plan: str
    runs: int
    traced: int
    cold: int
    warm: int
    unknown: int


@dataclass(frozen=True, slots=True)
class AnomalousRun:
    """One anomaly with its run; see :class:`assay.analysis.outliers.anomalies.Anomaly`."""

    run_id: str
    workload: str
    layout: str
    kind: str
    quantity: str
    observed: float | None
    expected: float | None
    z: float | None
    repetitions: int
    reason: str


@dataclass(frozen=True, slots=True)
class AnomalousRuns:
    """Anomalies, most serious first."""

    total: int
    examined: int
    anomalies: tuple[AnomalousRun, ...]


def why_not_valid(repository: Repository, table: RunTable) -> NotValid:
    """Return why runs are not valid; equal causes are counted together."""
    rows = np.flatnonzero(~has_level(table, "status", RunStatus.VALID.value))
    runs = repository.runs_at(table, rows[-NOT_VALID_MAX:].tolist()) if len(rows) else []
    return NotValid(len(rows), len(runs), tuple(causes_of(runs)))


def causes_sentence(not_valid: NotValid) -> str:
    """Return the recorded causes: ``Recorded causes of all 9 runs that do not count: "out of memory" (8 runs), ...``.

    Causes after the third are counted.
    """
    texts = []
    for cause in not_valid.causes[:_CAUSES_NAMED]:
        text = cause.text or ", ".join(cause.checks) or cause.failure_class or "none"
        shortened_text = text if len(text) <= _CAUSE_MAX else f"{text[: _CAUSE_MAX - 1]}…"
        runs = f" ({plural(cause.runs, 'run')})" if len(not_valid.causes) > 1 else ""
        texts.append(f'"{shortened_text}"{runs}')
    more_count = len(not_valid.causes) - _CAUSES_NAMED
    names = joined([*texts, *([f"{more_count} more"] if more_count > 0 else [])])
    newest = f"the newest {not_valid.examined:,} of " if not_valid.examined < not_valid.not_valid else "all "
    causes = "cause" if len(not_valid.causes) == 1 else "causes"
    return f"Recorded {causes} of {newest}{plural(not_valid.not_valid, 'run')} that do not count: {names}."


def traced_rows(repository: Repository, table: RunTable) -> Ints:
    """Return the rows of the index whose runs have a trace."""
    traced_ids = sorted(repository.traced_runs())
    rows: Ints = table.rows[repository.positions_of(table, traced_ids) if traced_ids else []]
    return rows


def coverage(table: RunTable, traced: Ints) -> tuple[Coverage, ...]:
    """Return the number of runs with a trace and with cold caches by plan. ``traced``: from :func:`traced_rows`."""
    plan_column = table.columns.get("plan", Column(np.zeros(len(table), np.int32), (NO_PLAN,)))
    plans = Column(
        np.where(plan_column.codes < 0, len(plan_column.levels), plan_column.codes).astype(np.int32),
        (*plan_column.levels, NO_PLAN),
    )
    is_cold, is_warm, is_simulated = (has_level(table, "cold", level) for level in ("cold", "warm", "simulated"))
    counts = [
        level_counts(plans, mask)
        for mask in (np.ones(len(table), np.bool_), np.isin(table.rows, traced), is_cold, is_warm, is_simulated)
    ]
    return tuple(
        Coverage(plan, int(n), int(t), int(c), int(w), int(n - c - w - s))
        for plan, n, t, c, w, s in zip(plans.levels, *counts, strict=True)
        if n
    )


def still_needed(repository: Repository, table: RunTable, half_width: float = PRECISION) -> MissingRepetitions:
    """Return the repetitions that each configuration needs for a half-width of ``half_width``, a share of its mean."""
    return missing_repetitions(table, half_width, run_ids=lambda rows: repository.ids_at(table, rows))


def anomalous_runs(
    repository: Repository, flagged: FlaggedTable, table: RunTable, limit: int | None = None
) -> AnomalousRuns:
    """Return the ``limit`` most serious anomalies, or all, of the runs of ``table``, compared with all runs."""
    positions = flagged.among(table)
    listed_anomalies = flagged.anomalies.at(positions[:limit])
    all_runs = flagged.table
    ids = repository.ids_at(all_runs, [item.position for item in listed_anomalies]) if listed_anomalies else []
    return AnomalousRuns(
        len(positions),
        int(np.count_nonzero(usable(table))),
        tuple(
            AnomalousRun(
                run_id=run_id,
                workload=level_at(all_runs, "workload", item.position) or "",
                layout=level_at(all_runs, "layout", item.position) or "",
                kind=str(item.kind),
                quantity=item.quantity,
                observed=finite(item.observed),
                expected=finite(item.expected),
                z=item.z,
                repetitions=item.repetitions,
                reason=item.reason,
            )
            for run_id, item in zip(ids, listed_anomalies, strict=True)
        ),
    )


def anomalies_sentence(outliers: AnomalousRuns) -> str:
    """Return the number of outliers and of runs that were examined."""
    return f"{plural(outliers.total, 'outlier')} among {outliers.examined:,} valid runs."
