"""Page one below the answer: every workload with its verdict, speedup and cost, and what to keep in mind.

In: a report. Out: blocks. Nothing is computed here, and nothing is left out because it shows no gain.
"""

from assay.questions.decisions.option_words import option_text
from assay.questions.decisions.sentences import basis_text
from assay.questions.decisions.values import CostRatio, Decision, TimeRatio, WorkloadResult
from assay.questions.report_parts import Fact
from assay.questions.report_summary import Report
from assay.report.chapters import table
from assay.report.document import Block, Facts, Line, Table
from assay.wording import NOTHING, interval, ratio, workload_title

ROWS_MAX = 12
"""Maximum rows of the table: with more comparisons, it lists the leading option on each workload."""
CAVEATS_MAX = 3
"""Maximum number of caveats on page one."""


def _ratio(value: TimeRatio | CostRatio | None) -> str:
    if value is None:
        return NOTHING
    return f"{ratio(value.ratio)} ({interval(value.low, value.high)})" if value.low is not None else ratio(value.ratio)


def _shown(decision: Decision) -> list[WorkloadResult]:
    """Return the results on page one."""
    if len(decision.results) <= ROWS_MAX:
        return list(decision.results)
    compared = [option.option for option in decision.options if option.time]
    leader = decision.leader if decision.leader in compared else compared[0]
    return [result for result in decision.results if result.option == leader]


def _results(decision: Decision) -> Table:
    """Return a row for each workload and option."""
    priced = any(result.cost for result in decision.results)
    rows: list[tuple[Line | str, ...]] = [
        (
            workload_title(result.workload),
            option_text(decision.factor, result.option),
            result.verdict.value,
            _ratio(result.time),
            basis_text(result.time) if result.time else NOTHING,
            *([_ratio(result.cost)] if priced else []),
        )
        for result in _shown(decision)
    ]
    cost = ["#Cost per job (95 %)"] if priced else []
    columns = ("Workload", "Option", "Verdict", "#Speedup (95 %)", "Runs", *cost)
    return table(columns, rows, f"Every workload, against {option_text(decision.factor, decision.baseline)}")


def opening(report: Report) -> tuple[Block, ...]:
    """Return the blocks."""
    blocks: list[Block] = [_results(report.decisions[0])] if report.decisions else []
    points = list(report.points)
    if report.decisions and report.decisions[0].caveats:
        caveats = " ".join(caveat.text for caveat in report.decisions[0].caveats[:CAVEATS_MAX])
        points.append(Fact("Caveats", caveats))
    if report.threats:
        points.append(
            Fact("Keep in mind", f"{'. '.join(threat.title for threat in report.threats)}. See threats to validity.")
        )
    return (*blocks, *([Facts(tuple(points))] if points else []))
