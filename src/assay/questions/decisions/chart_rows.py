"""The rows of a decision's chart: each option over its workloads, then the named option on each workload.

In: a decision, and the device classes of layouts. Out: named rows for ``interfaces/charts/speedups.py``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.analysis.comparison.factors.device_classes import DeviceClass
from assay.model import LAYOUT_FACTOR
from assay.questions.decisions.decision import CostVerdict, Decision, TimeRatio, WorkloadResult
from assay.questions.decisions.sentences.option_words import compared_option
from assay.text import capitalised, layout_text, plural, workload_title

OPTIONS_SHOWN = 6
"""Maximum number of options in the chart."""
NAME_MAX = 32
"""Maximum length of an option's words on the axis, in characters; above it, the short form."""


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """One row of the chart."""

    candidate: str
    baseline: str
    ratio: float
    low: float | None
    high: float | None
    groups: int
    runs_baseline: int
    runs_candidate: int
    origin: str


def forest_rows(
    decision: Decision, classes: Mapping[str, DeviceClass], workloads_max: int | None = None
) -> list[tuple[str, DecisionRow]]:
    """Return the rows with their names; empty where nothing was compared.

    Options of one device class are adjacent, in the order of each class's first option. ``classes``: device classes of
    layouts (``layout_classes``). ``workloads_max``: maximum number of workloads; those whose cost is shown to differ
    come first in this choice. None: all.
    """
    baseline = compared_option(decision, decision.baseline)

    def row(option: str, time: TimeRatio) -> DecisionRow:
        return DecisionRow(
            candidate=option,
            baseline=baseline,
            ratio=time.ratio,
            low=time.low,
            high=time.high,
            groups=time.groups,
            runs_baseline=time.runs_baseline,
            runs_candidate=time.runs_option,
            origin=decision.origin,
        )

    compared_options = [option for option in decision.options if option.time]
    charted_options = compared_options[:OPTIONS_SHOWN]
    if decision.factor == LAYOUT_FACTOR:
        order = list(dict.fromkeys(classes.get(option.option) for option in charted_options))
        charted_options = sorted(charted_options, key=lambda option: order.index(classes.get(option.option)))
    has_several_workloads = any(len(option.workloads) > 1 for option in compared_options)
    rows = [
        (
            f"{_name(decision, option.option)}{_number(option.workloads) if has_several_workloads else ''}",
            row(option.option, time),
        )
        for option in charted_options
        if (time := option.time)
    ]
    if len(decision.workloads) > 1 and decision.named_option:
        named_option = decision.named_option.option
        rows += [
            (workload_title(result.workload), row(named_option, result.time))
            for result in _chosen_results(decision, named_option, workloads_max)
            if result.time
        ]
    return rows


def _chosen_results(decision: Decision, option: str, workloads_max: int | None) -> list[WorkloadResult]:
    """Return the results of the option with a time, in their order; those with a verdict on cost before others."""
    results = [result for result in decision.results if result.option == option and result.time]
    decided_verdicts = (CostVerdict.CHEAPER, CostVerdict.DEARER)
    by_cost = sorted(results, key=lambda result: not (result.cost and result.cost.verdict in decided_verdicts))
    chosen_workloads = {result.workload for result in by_cost[:workloads_max]}
    return [result for result in results if result.workload in chosen_workloads]


def _number(workloads: Sequence[str]) -> str:
    return f", {plural(len(workloads), 'workload')}"


def _name(decision: Decision, level: str) -> str:
    """Return the option in words, in the short form of layouts where the words are too long for an axis."""
    text = capitalised(compared_option(decision, level))
    return text if len(text) <= NAME_MAX else layout_text(level)
