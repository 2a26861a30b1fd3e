"""Page one below the answer: every workload with its ratio and cost, what to buy, and what to keep in mind.

In: a report. Out: blocks. Nothing is computed here, and nothing is left out because it shows no gain.
"""

from collections.abc import Sequence

from assay.compare.compared import Compared
from assay.compare.verdict import Conclusion
from assay.questions.report_parts import Fact
from assay.questions.report_summary import Report, WorkloadAnswer
from assay.report.chapters import table
from assay.report.document import Block, Facts, Level, Line, Table
from assay.wording import numbers, ratios

ROWS_MAX = 12
"""With more rows than this, page one has one row for each workload."""

_SHOWN = {
    Conclusion.FASTER: "faster",
    Conclusion.SLOWER: "slower",
    Conclusion.NO_DIFFERENCE_SHOWN: "no difference shown",
    Conclusion.NOT_ENOUGH_RUNS: "not enough runs",
}


def _cost(answer: WorkloadAnswer, compared: Compared) -> str:
    cost = answer.cost_of(compared.candidate)
    return numbers.NOTHING if cost is None else _ratio(cost.ratio, cost.ratio_low, cost.ratio_high)


def _ratio(value: float | None, low: float | None, high: float | None) -> str:
    return f"{ratios.ratio(value)} ({ratios.interval(low, high)})" if low is not None else ratios.ratio(value)


def _every(report: Report) -> Table:
    """Return a row for each comparison."""
    priced = any(answer.costs for answer in report.workloads)
    rows: list[tuple[Line | str, ...]] = [
        (
            answer.title,
            (Level(c.candidate),),
            _ratio(c.ratio, c.low, c.high),
            _SHOWN[c.conclusion],
            str(c.basis),
            *([_cost(answer, c)] if priced else []),
        )
        for answer in report.workloads
        for c in answer.compared
    ]
    columns = (
        "Workload",
        "Configuration",
        "#Speed (95 %)",
        "Shown to be",
        "From",
        *(["#Cost of a job (95 %)"] if priced else []),
    )
    return table(columns, rows, f"Every workload, against {report.baseline}")


def _clearest(compared: Sequence[Compared]) -> Compared:
    return max(compared, key=lambda c: (c.low or 0.0, c.ratio or 0.0))


def _by_workload(report: Report) -> Table:
    """Return a row for each workload: what may be the fastest there, and the clearest ratio with its verdict."""
    rows: list[tuple[Line | str, ...]] = []
    for answer in report.workloads:
        best = _clearest(answer.compared)
        names: list[str | Level] = []
        for level in answer.may_be_fastest:
            names += [", ", Level(level)] if names else [Level(level)]
        rows.append(
            (
                answer.title,
                tuple(names) or (numbers.NOTHING,),
                (Level(best.candidate),),
                _ratio(best.ratio, best.low, best.high),
                _SHOWN[best.conclusion],
                str(best.basis),
            )
        )
    columns = ("Workload", "May be the fastest (95 %)", "Clearest", "#Speed (95 %)", "Shown to be", "From")
    return table(columns, rows, f"Every workload, against {report.baseline}")


def opening(report: Report) -> tuple[Block, ...]:
    """Return the blocks."""
    count = sum(len(answer.compared) for answer in report.workloads)
    blocks: list[Block] = []
    if count:
        blocks.append(_every(report) if count <= ROWS_MAX else _by_workload(report))
    points = list(report.points)
    if report.threats:
        points.append(
            Fact("Keep in mind", f"{'. '.join(threat.title for threat in report.threats)}. See threats to validity.")
        )
    return (*blocks, *([Facts(tuple(points))] if points else []))
