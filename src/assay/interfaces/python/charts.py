"""Draw the charts of answers: the specifications of pages and reports, with their captions."""

from collections.abc import Mapping, Sequence
from itertools import islice

from assay.analysis.comparison.details.side_by_side import Sides
from assay.analysis.comparison.factors.device_classes import DeviceClass
from assay.interfaces.charts.cost_effectiveness import cost_effectiveness_chart
from assay.interfaces.charts.drawing.identity import colours_of
from assay.interfaces.charts.drawing.style import FULL_PX
from assay.interfaces.charts.speedups import named_speedups, speedup_forest
from assay.interfaces.charts.times import runtime_bars
from assay.interfaces.charts.whatif import TimeCostPoint, change_chart
from assay.interfaces.python.answer import AnswerChart
from assay.questions.comparisons.speedup import SpeedupView
from assay.questions.costs.cost_rows import JobCostEffectiveness
from assay.questions.decisions.chart_rows import forest_rows
from assay.questions.decisions.decision import Decision
from assay.questions.forecasts.whatif.whatif_answer import WhatIf
from assay.text import workload_title

CHARTS_MAX = 4
"""Maximum number of charts of one answer."""
_SPEEDUP_CAPTION = "Speedup: dot and 95 % interval, logarithmic axis. Right of the dashed line is faster than {}."


def decision_charts(decisions: Sequence[Decision], classes: Mapping[str, DeviceClass]) -> list[AnswerChart]:
    """Return a chart of speedups for each decision. ``classes``: device classes of layouts."""
    charts = []
    for decision in decisions[:CHARTS_MAX]:
        rows = forest_rows(decision, classes)
        if rows:
            palette = colours_of([decision.baseline, *(option.option for option in decision.options)], classes)
            spec = speedup_forest(rows, palette, FULL_PX)
            charts.append(AnswerChart(_SPEEDUP_CAPTION.format(rows[0][1].baseline), spec))
    return charts


def speedup_charts(view: SpeedupView, classes: Mapping[str, DeviceClass]) -> list[AnswerChart]:
    """Return a chart of the speedup of each level."""
    compared_results = [result for result in view.results if result.ratio is not None]
    if not compared_results:
        return []
    palette = colours_of([view.baseline, *(result.candidate for result in compared_results)], classes)
    spec = speedup_forest(named_speedups(compared_results), palette, FULL_PX)
    return [AnswerChart(_SPEEDUP_CAPTION.format(view.baseline), spec)]


def side_charts(sides: Sides) -> list[AnswerChart]:
    """Return a chart of the run times of the sides."""
    summaries = [side.summary for side in sides.sides if side.summary.n]
    if not summaries:
        return []
    palette = colours_of([summary.level for summary in summaries])
    caption = "Run time: geometric mean, 95 % interval, and a ring for each run."
    return [AnswerChart(caption, runtime_bars(summaries, palette, FULL_PX))]


def cost_charts(views: Sequence[JobCostEffectiveness]) -> list[AnswerChart]:
    """Return a chart of time against cost for each job, and with several groups of rows for each group."""
    return [
        AnswerChart(
            f"{group.title(workload_title(view.job.get('workload', '')))}: time and cost of a run, with 95 % "
            "intervals. The dashed line is the Pareto front.",
            cost_effectiveness_chart(
                group.rows, colours_of([row.levels.get("layout", row.label) for row in view.rows]), view.currency
            ),
        )
        for view, group in islice(((view, group) for view in views for group in view.groups), CHARTS_MAX)
    ]


def whatif_charts(answers: Sequence[WhatIf]) -> list[AnswerChart]:
    """Return a chart of the measured and the simulated time of each configuration."""
    return [
        AnswerChart(
            f"{workload_title(answer.workload)} on {answer.configuration}: measured, and simulated with the changes; "
            "the interval holds 90 % of runs.",
            change_chart(
                TimeCostPoint("measured", answer.measured_s, answer.cost_before),
                TimeCostPoint("with these changes", answer.simulated_s, answer.cost_after, answer.low_s, answer.high_s),
                answer.currency,
            ),
        )
        for answer in answers[:CHARTS_MAX]
    ]
