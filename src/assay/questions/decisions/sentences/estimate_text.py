"""Estimates of decisions as text: intervals, numbers of runs, and the workloads behind them."""

from assay.analysis.comparison.verdict_text import evidence_text, groups_and_runs
from assay.questions.decisions.decision import ComparedCost, CostRatio, Decision, TimeRatio
from assay.text import column_title, format_interval, plural, workload_title


def basis_text(time: TimeRatio) -> str:
    """Return the basis of an estimate: ``3 runs each`` or ``214 matched groups, 495 runs``."""
    return groups_and_runs(time.groups, time.runs_baseline, time.runs_option)


def interval_text(time: TimeRatio | CostRatio | ComparedCost) -> str:
    """Return the 95 % interval: ``1.57 to 1.79``; ``no interval`` without one."""
    return "no interval" if time.low is None or time.high is None else format_interval(time.low, time.high)


def time_text(time: TimeRatio) -> str:
    """Return interval, basis and scope: ``95 % interval 1.57 to 1.79, 3 runs each, tested settings only``."""
    return evidence_text(time.low, time.high, basis_text(time), time.scope)


def where_text(decision: Decision, option: str | None = None) -> str:
    """Return the workloads behind a mean: `` on TeraSort``, `` over 3 workloads``, `` over 7 of 10 workloads``.

    ``option``: the option whose mean it is; None, or the baseline, for that of the headline.
    """
    workloads_of_option = {result.option: result.workloads for result in decision.options}
    names = workloads_of_option.get(option or "") or decision.headline_workloads
    if len(names) == 1:
        return f" on {workload_title(names[0])}"
    count, count_of_all = len(names), len(compared_workloads(decision))
    return f" over {plural(count, 'workload') if count == count_of_all else f'{count} of {count_of_all} workloads'}"


def compared_workloads(decision: Decision) -> tuple[str, ...]:
    """Return the workloads with an estimate of time."""
    return tuple(dict.fromkeys(result.workload for result in decision.results if result.time))


def excludes_one(ratio: TimeRatio | CostRatio | ComparedCost) -> bool:
    """Return whether the 95 % interval excludes 1."""
    return ratio.low is not None and ratio.high is not None and not ratio.low <= 1 <= ratio.high


def open_text(ratio: TimeRatio | CostRatio | ComparedCost) -> str:
    """Return why a ratio has no verdict: its interval includes 1, or the correction for several comparisons."""
    return "not confirmed" if excludes_one(ratio) else "no difference shown"


def unconfirmed_reason(time: TimeRatio) -> str:
    """Return the p values of a difference that is not confirmed: ``p = 0.0024, corrected 0.12``.

    Where the levels of a factor count as the values, their number follows: ``n = 3 levels of HDFS copies``.
    """
    if time.p is None or time.holm_p is None:
        return "no p value"
    text = f"p = {time.p:.2g}, corrected {time.holm_p:.2g}"
    return f"{text}, n = {time.levels.count} levels of {column_title(time.levels.factor)}" if time.levels else text
