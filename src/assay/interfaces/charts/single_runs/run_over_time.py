"""Draw one run over time from all contents of its bundle: limits, phases, tasks, code and lines of its trace.

In: a :class:`CompleteRun` and the span to show. Out: a Vega-Lite specification for the run's page, served or published.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.run_profile.limits.run_limits import Limits, limit_spans
from assay.analysis.run_profile.series import Series
from assay.analysis.run_profile.tables.trace_views import (
    GROUPS,
    TRACE_VIEWS,
    busiest,
    indistinguishable_groups,
    lines_of,
    names_shown,
    views_of,
    windows_for,
)
from assay.analysis.run_profile.tasks import timeline
from assay.interfaces.charts.drawing.style import Spec
from assay.interfaces.charts.single_runs.one_run import Lines, OverTime, over_time
from assay.questions.runs.code_profiles.code_over_time import CodeOverTime
from assay.questions.runs.complete_run import CompleteRun
from assay.text import joined

DEFAULT_PANELS = ("cpu", "disk", "net")
COINCIDING_NAMED = 4
"""Maximum number of names in the note on lines that coincide."""


@dataclass(frozen=True, slots=True)
class Span:
    """The part of a run that its chart shows.

    ``panel_groups``: groups of panels that are drawn. ``node``: None for all nodes. ``start_s`` and ``end_s``:
    seconds from the run's start. ``windows_max``: maximum number of spans of time whose points are kept; None for as
    many as fit one drawing.
    """

    panel_groups: tuple[str, ...] = DEFAULT_PANELS
    node: str | None = None
    start_s: float | None = None
    end_s: float | None = None
    windows_max: int | None = None


def run_over_time(
    complete_run: CompleteRun, span: Span, limits: Limits | None, code: CodeOverTime | None = None
) -> Spec | None:
    """Return the chart of the run over time; None without phases, tasks, trace or code."""
    run = complete_run.run
    drawn_tasks = timeline([task for task in complete_run.tasks if span.node in (None, task.node)])
    lines = _lines(complete_run, span)
    if not (run.phases or drawn_tasks.placed or lines or code):
        return None
    last_s = max(
        [run.duration_s, *(p.end_s for p in run.phases), *(attempt.task.end_s for attempt in drawn_tasks.placed)]
    )
    start_s = span.start_s or 0.0
    end_s = last_s if span.end_s is None or span.end_s <= start_s else span.end_s
    nodes_text = (
        f" (the first {drawn_tasks.nodes_shown} of {drawn_tasks.nodes} nodes)"
        if drawn_tasks.nodes_shown < drawn_tasks.nodes
        else ""
    )
    title = f"Tasks, a lane for each container, coloured by phase{nodes_text}"
    spans = limit_spans(limits) if limits is not None and span.node is None else ()
    return over_time(
        OverTime(
            start_s=start_s,
            end_s=end_s,
            phases=run.phases,
            placed_tasks=drawn_tasks.placed,
            tasks_title=title,
            lines=lines,
            limits=spans,
            code=code,
        )
    )


def _lines(complete_run: CompleteRun, span: Span) -> list[Lines]:
    panels, views = [], views_of([complete_run.trace])
    windows = min(windows_for(complete_run.trace), span.windows_max or windows_for(complete_run.trace))
    for name in sorted(views, key=lambda name: list(GROUPS).index(TRACE_VIEWS[name].group)):
        view = TRACE_VIEWS[name]
        if view.group not in span.panel_groups:
            continue
        series = lines_of(
            complete_run.trace, view, node=span.node, start_s=span.start_s, end_s=span.end_s, windows=windows
        )
        groups = indistinguishable_groups(series)
        busiest_series = busiest([group[0] for group in groups])
        title = (
            f"{view.title}, the {len(busiest_series)} busiest of {len(groups)}"
            if len(busiest_series) < len(groups)
            else view.title
        )
        title += "".join(_note(group) for group in groups if len(group) > 1 and group[0] in busiest_series)
        nodes, devices = names_shown(complete_run.trace, view)
        panels.append(Lines(title, busiest_series, nodes, devices))
    return panels


def _note(group: Sequence[Series]) -> str:
    """Return a note that names the coinciding lines of a group."""
    names = [f"{line.node} {line.subject.partition(':')[2]}".strip() for line in group]
    if len(names) > COINCIDING_NAMED:
        names = [*names[: COINCIDING_NAMED - 1], f"{len(names) - COINCIDING_NAMED + 1} more"]
    return f"; {joined(names)} coincide"
