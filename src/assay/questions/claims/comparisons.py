"""Make the comparisons that claims are about, from the estimates of decisions.

In: a study and the workloads that a claim is about. Out: gains. A claim with a condition has two sides, which are
compared in equal settings: clusters, for example, that ran both options on both sides.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.comparison.claims.contrasts import COMPRESSED, INFINIBAND, MANY_DISKS, SSD_OR_HDD
from assay.analysis.comparison.factors.compression import with_compression
from assay.analysis.comparison.factors.device_classes import DEVICE_CLASS, DeviceClass, with_device_class
from assay.analysis.statistics import ABSENT, Column, Floats, RunTable, groups_by
from assay.model import COMPRESSION, NETWORK_FACTOR
from assay.questions.claims.gains import ClaimEstimate, codes_of, gain_of
from assay.questions.claims.study import Study
from assay.questions.decisions.buyer import factors_to_decide, question_named, varied
from assay.questions.decisions.decision import Decision
from assay.questions.decisions.effects.part_effects import clusters_of, rows_by_part, rows_by_workload
from assay.questions.decisions.effects.storage_effects import rows_by_class

_WITHOUT_CONDITION, _WITH_CONDITION = "without", "with"


@dataclass(frozen=True, slots=True)
class ClaimEstimatePair:
    """The gains with and without a condition; None for a side without an estimate."""

    with_condition: ClaimEstimate | None
    without_condition: ClaimEstimate | None


def storage_gain(study: Study, workloads: Sequence[str]) -> ClaimEstimate | None:
    """Return the gain of SSDs over hard disks: the rows of ``assay decide storage`` on these workloads."""
    table = with_device_class(study.table)
    if DEVICE_CLASS not in table.columns:
        return None
    pair = study.pair(DEVICE_CLASS, DeviceClass.HARD_DISKS, DeviceClass.SSD)
    runs = np.ones(len(table), dtype=np.bool_)
    rows = rows_by_workload(table, np.arange(len(table)), pair, study.spread)
    return gain_of(study, table, runs, pair, [row for name, row in rows.items() if name in workloads])


def compression_sides(study: Study, workloads: Sequence[str]) -> ClaimEstimatePair:
    """Return the gain of SSDs with and without compressed map output, in settings that have both."""
    table = with_compression(with_device_class(study.table))
    if DEVICE_CLASS not in table.columns or COMPRESSION not in table.columns:
        return ClaimEstimatePair(None, None)
    pair = study.pair(DEVICE_CLASS, DeviceClass.HARD_DISKS, DeviceClass.SSD)
    parts = _parts(COMPRESSED.values(table))
    settings = groups_by(table, [name for name in table.factors if name not in (DEVICE_CLASS, COMPRESSION)]).of_row
    by_part = rows_by_part(table, parts, settings.astype(np.int64), pair, workloads, study.spread)
    gains = {name: gain_of(study, table, parts.codes == parts.code(name), pair, rows) for name, rows in by_part.items()}
    return ClaimEstimatePair(gains.get(_WITH_CONDITION), gains.get(_WITHOUT_CONDITION))


def containers_sides(study: Study, workloads: Sequence[str]) -> ClaimEstimatePair:
    """Return the gain of more containers with several disks and with one, within clusters and device kinds.

    The options are those of the headline of ``assay decide containers``.
    """
    question = question_named("containers")
    assert question is not None
    for factor in factors_to_decide(question, study.table.subset(study.runs)):
        decision = study.decision_on(factor, lambda decision: decision.named_option is not None)
        option = decision.named_option if decision else None
        if decision is None or option is None:
            continue
        table = study.table
        pair, parts = study.pair(factor, decision.baseline, option.option), _parts(MANY_DISKS.values(table))
        settings = codes_of(clusters_of(table), SSD_OR_HDD.values(table))
        by_part = rows_by_part(table, parts, settings, pair, workloads, study.spread)
        if len(by_part) == len(parts.levels):
            with_condition, without_condition = (
                gain_of(study, table, parts.codes == parts.code(name), pair, by_part[name])
                for name in (_WITH_CONDITION, _WITHOUT_CONDITION)
            )
            return ClaimEstimatePair(with_condition, without_condition)
    return ClaimEstimatePair(None, None)


def network_sides(study: Study) -> ClaimEstimatePair:
    """Return the gain of InfiniBand with SSDs and with hard disks: the effects by storage of ``assay decide network``.

    In cost, if the study has prices.
    """
    table = study.table
    if not varied(table.subset(study.runs), NETWORK_FACTOR):
        return ClaimEstimatePair(None, None)
    decision = study.decision_on(NETWORK_FACTOR, lambda decision: _infiniband_option(table, decision) is not None)
    option = _infiniband_option(table, decision) if decision else None
    classes = with_device_class(table).columns.get(DEVICE_CLASS)
    if decision is None or option is None or classes is None:
        return ClaimEstimatePair(None, None)
    pair = study.pair(NETWORK_FACTOR, decision.baseline, option)
    by_class = rows_by_class(table, decision, option, study.spread, study.costs)
    with_condition, without_condition = (
        gain_of(
            study, table, classes.codes == classes.code(name), pair, by_class.get(name, []), in_cost=bool(study.costs)
        )
        for name in (DeviceClass.SSD, DeviceClass.HARD_DISKS)
    )
    return ClaimEstimatePair(with_condition, without_condition)


def _infiniband_option(table: RunTable, decision: Decision) -> str | None:
    """Return the first compared option that is InfiniBand, if the baseline is not; else None."""
    column, kinds = table.columns[decision.factor], INFINIBAND.values(table)
    kind_of = {level: kinds[column.codes == code] for code, level in enumerate(column.levels)}

    def is_infiniband(level: str) -> bool:
        return bool((kind_of[level] == 1).any())

    if is_infiniband(decision.baseline):
        return None
    return next((option.option for option in decision.options if option.time and is_infiniband(option.option)), None)


def _parts(values: Floats) -> Column:
    """Return the column of a condition: 1 is with it, 0 without, NaN neither."""
    codes = np.where(np.isnan(values), ABSENT, np.nan_to_num(values)).astype(np.int32)
    return Column(codes, (_WITHOUT_CONDITION, _WITH_CONDITION))
