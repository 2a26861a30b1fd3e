"""Details of each configuration: summaries and comparisons of all runs, and the details of an example run.

In: a repository, a table of runs, and the decisions on one factor. Out: :class:`ConfigurationDetails`. The number of
charts is bounded, so that the report on a large repository stays short.
"""

from collections.abc import Callable, Sequence

from assay.analysis.comparison.comparison import compare
from assay.analysis.comparison.details.run_groups import comparisons_with
from assay.analysis.comparison.matched import match
from assay.analysis.run_profile.phases import occupancy
from assay.analysis.run_profile.tables.stage_tables import stage_sums_table, stages_table
from assay.analysis.run_profile.tasks import timeline
from assay.analysis.run_profile.traffic import disk_traffic, grid_step_s
from assay.analysis.run_profile.workload_ratios import WorkloadRatios, workload_ratios
from assay.analysis.statistics import RunTable
from assay.model import Run, Trace
from assay.questions.decisions.decision import Decision
from assay.questions.report.selection import runs_of_decision
from assay.questions.report.values import ConfigurationDetails, ReportSection, RunTraffic, RunView
from assay.questions.runs.complete_run import CompleteRun
from assay.questions.runs.limits import limits_of_complete_run

COMPARISONS_MAX = 40
"""Maximum number of comparisons in a report with details of each configuration."""
SECTIONS_MAX = 4
"""Maximum number of workloads with charts."""
LEVELS_MAX = 6
"""Maximum number of configurations in the charts of one workload."""
VIEWED_SECTIONS_MAX = 2
"""Maximum number of sections that show single runs in detail (those with the most runs)."""
VIEWS_MAX = 3
"""Maximum number of runs per workload that are shown in detail."""

TraceOf = Callable[[str], Trace]
"""Returns the trace of a run by its id, empty without one."""
ObservedOf = Callable[[Run], CompleteRun]
"""Returns everything recorded with a run."""


def count_comparisons(table: RunTable, decisions: Sequence[Decision]) -> int:
    """Return how many matched groups the decisions compare with their baselines, for a factor that is a column."""
    return sum(
        comparisons_with(match(runs_of_decision(table, decision), decision.factor), decision.baseline)
        for decision in decisions
    )


def configuration_details(
    runs: Sequence[Run],
    decisions: Sequence[tuple[int, Decision, Sequence[Run]]],
    trace_of: TraceOf,
    observed_of: ObservedOf | None = None,
) -> ConfigurationDetails:
    """Return the details of ``runs``. ``decisions``: position, decision, and the runs of the decision.

    ``observed_of``: None leaves out the details of single runs.
    """
    sections: list[ReportSection] = []
    for number, decision, decision_runs in decisions:
        comparisons = compare(decision_runs, factor=decision.factor, baseline=decision.baseline)
        for key in dict.fromkeys((c.group, c.context) for c in comparisons):
            members = tuple(c for c in comparisons if (c.group, c.context) == key)
            compared_runs = [c.runs for c in members if c.runs is not None]
            summaries = (compared_runs[0].baseline, *(runs_of_pair.candidate for runs_of_pair in compared_runs))
            sections.append(ReportSection(number, *key, members, summaries))
    positions_with_charts = sorted(
        range(len(sections)), key=lambda position: -sum(s.n for s in sections[position].summaries)
    )[:SECTIONS_MAX]
    by_id = {run.run_id: run for run in runs}
    leaders = {
        number: decision.named_option.option if decision.named_option else decision.baseline
        for number, decision, _ in decisions
    }
    return ConfigurationDetails(
        sections=tuple(
            _with_charts(
                sections[position],
                leaders[sections[position].decision],
                by_id,
                trace_of,
                observed_of if position in positions_with_charts[:VIEWED_SECTIONS_MAX] else None,
            )
            for position in sorted(positions_with_charts)
        ),
        left_out=tuple(
            section.title for position, section in enumerate(sections) if position not in positions_with_charts
        ),
        comparisons=tuple(c for section in sections for c in section.comparisons),
        profile=_profile(runs),
        runs=tuple(runs),
    )


def _with_charts(
    section: ReportSection, leader: str, by_id: dict[str, Run], trace_of: TraceOf, observed_of: ObservedOf | None
) -> ReportSection:
    """Return the section with the traffic and the views of its baseline, its leader and some further configurations."""
    baseline_level = section.summaries[0].level
    ranked_summaries = sorted(
        section.summaries, key=lambda summary: (summary.level != baseline_level, summary.level != leader)
    )
    levels = {summary.level for summary in ranked_summaries[:LEVELS_MAX]}
    levels_with_views = {summary.level for summary in ranked_summaries[:VIEWS_MAX]}
    summaries = tuple(summary for summary in section.summaries if summary.level in levels)
    typical_runs = [(s.level, by_id[s.typical_run_id]) for s in summaries if s.typical_run_id is not None]
    step_s = grid_step_s(max((run.duration_s for _, run in typical_runs), default=0.0))
    traffic = [
        RunTraffic(level, run.run_id, tuple(series))
        for level, run in typical_runs
        if (series := disk_traffic(trace_of(run.run_id), run.duration_s, step_s=step_s))
    ]
    whole_runs = (
        [(level, observed_of(run)) for level, run in typical_runs if level in levels_with_views] if observed_of else []
    )
    views = [
        _view(level, complete_run, step_s)
        for level, complete_run in whole_runs
        if complete_run.tasks or complete_run.detail.devices
    ]
    return ReportSection(
        section.decision,
        section.workload,
        section.context,
        tuple(c for c in section.comparisons if c.candidate in levels),
        summaries,
        tuple(traffic),
        tuple(views),
    )


def _view(level: str, complete_run: CompleteRun, step_s: float) -> RunView:
    run = complete_run.run
    return RunView(
        level=level,
        run_id=run.run_id,
        duration_s=run.duration_s,
        detail=complete_run.detail,
        occupancy=occupancy(run, complete_run.tasks, step_s),
        timeline=timeline(complete_run.tasks),
        limits=limits_of_complete_run(complete_run),
        stages=(stages_table(run), stage_sums_table(run)) if run.stages else (),
    )


def _profile(runs: Sequence[Run]) -> WorkloadRatios | None:
    """Return the data and CPU use of each workload; None where the runs do not record them."""
    ratios = workload_ratios(runs)
    return ratios if any(row.input_bytes is not None for row in ratios.rows) else None
