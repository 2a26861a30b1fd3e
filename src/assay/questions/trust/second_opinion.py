"""List the outliers of two methods: comparison with repetitions and lower bounds, and predictions from other runs.

In: a repository and its flagged runs. Out: each outlier once, with the method that found it, the largest deviation
first.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from assay.analysis.outliers.anomalies import Anomaly, Kind
from assay.analysis.statistics import RunTable
from assay.estimation.prediction.second_opinion import OUTLIER_ERRORS_MIN, ExpectedTimes, second_opinion
from assay.questions.forecasts.model_cache import with_hardware
from assay.questions.runs.runs import level_at
from assay.questions.trust.flags import FlaggedTable
from assay.store import Repository

_LOG_RATIO_MAX = float(np.log(1000.0))
"""Maximum deviation, as the logarithm of a ratio, by which outliers are sorted."""


class FlagSource(StrEnum):
    """The method that found an outlier."""

    REPETITIONS = "repetitions"
    PREDICTION = "prediction"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class JudgedOutlier:
    """One outlier."""

    run_id: str
    workload: str
    layout: str
    kind: str
    flagged_by: FlagSource
    reason: str
    predicted_s: float | None
    """Time predicted from the other configurations; None without a prediction."""
    errors_off: float | None
    """Deviation of the log time from ``predicted_s``, in typical errors of the workload on its cluster; negative if
    faster."""


@dataclass(frozen=True, slots=True)
class OutlierComparison:
    """All outliers among the selected runs."""

    outliers: tuple[JudgedOutlier, ...]
    examined: int
    flagged_by: dict[str, int]


def outlier_comparison(repository: Repository, flagged: FlaggedTable, table: RunTable) -> OutlierComparison:
    """Return the outliers of ``table``, compared with all runs. Raises SpecificationError for too few runs."""
    all_runs = with_hardware(repository, flagged.table)
    is_not_done = np.zeros(len(all_runs), dtype=np.bool_)
    is_not_done[flagged.anomalies.of_kind(Kind.NOT_DONE)] = True
    opinion = second_opinion(all_runs, unsound=is_not_done)
    is_selected = np.isin(all_runs.rows, table.rows)
    predicted_outliers = np.flatnonzero(opinion.outliers(all_runs) & is_selected)
    anomaly_of_run: dict[int, Anomaly] = {}
    for anomaly in flagged.anomalies.at(flagged.among(table)):
        anomaly_of_run.setdefault(anomaly.position, anomaly)
    positions = sorted(
        {*anomaly_of_run, *predicted_outliers.tolist()},
        key=lambda position: -_log_deviation(all_runs, opinion, anomaly_of_run.get(position), position),
    )
    ids = repository.ids_at(all_runs, positions) if positions else []
    predicted_positions = set(predicted_outliers.tolist())
    outliers = tuple(
        _outlier(
            all_runs,
            opinion,
            anomaly_of_run.get(position),
            position,
            run_id,
            is_predicted_outlier=position in predicted_positions,
        )
        for position, run_id in zip(positions, ids, strict=True)
    )
    counts = {source.value: sum(run.flagged_by is source for run in outliers) for source in FlagSource}
    return OutlierComparison(outliers, int(np.count_nonzero(np.isfinite(opinion.expected_s) & is_selected)), counts)


def _log_deviation(table: RunTable, opinion: ExpectedTimes, anomaly: Anomaly | None, position: int) -> float:
    """Return the deviation of a run as the logarithm of a ratio, by the method that finds the larger one."""
    duration_s, expected_s = float(table.values["duration_s"][position]), float(opinion.expected_s[position])
    by_model = abs(np.log(duration_s / expected_s)) if abs(opinion.errors_off[position]) >= OUTLIER_ERRORS_MIN else 0.0
    if anomaly is None:
        return float(min(by_model, _LOG_RATIO_MAX))
    by_repetitions = abs(np.log(max(anomaly.observed, 1e-9) / anomaly.expected)) if anomaly.expected > 0 else 0.0
    return float(min(max(by_model, by_repetitions), _LOG_RATIO_MAX))


def _outlier(
    table: RunTable,
    opinion: ExpectedTimes,
    anomaly: Anomaly | None,
    position: int,
    run_id: str,
    *,
    is_predicted_outlier: bool,
) -> JudgedOutlier:
    duration_s, expected_s = float(table.values["duration_s"][position]), float(opinion.expected_s[position])
    is_slower = duration_s > expected_s
    ratio = duration_s / expected_s if is_slower else expected_s / duration_s
    times = f"{ratio:.2f} times as {'long' if is_slower else 'fast'}"
    prediction_text = f"{duration_s:,.0f} s: {times} as predicted from other configurations ({expected_s:,.0f} s)"
    has_prediction = np.isfinite(expected_s)
    return JudgedOutlier(
        run_id=run_id,
        workload=level_at(table, "workload", position) or "",
        layout=level_at(table, "layout", position) or "",
        kind=str(anomaly.kind) if anomaly else str(Kind.TOO_SLOW if is_slower else Kind.TOO_FAST),
        flagged_by=FlagSource.PREDICTION
        if anomaly is None
        else FlagSource.BOTH
        if is_predicted_outlier
        else FlagSource.REPETITIONS,
        reason=anomaly.reason if anomaly else prediction_text,
        predicted_s=expected_s if has_prediction else None,
        errors_off=float(opinion.errors_off[position]) if has_prediction else None,
    )
