"""Show the page Compare: two to six runs or configurations side by side, below the decision on their differences."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse

from assay.analysis.comparison.details.side_by_side import SIDES_MAX, SIDES_MIN, ComparedSide, DifferenceKind, Sides
from assay.analysis.run_profile.tables.trace_views import TRACE_VIEWS, lines_of, names_shown, views_of
from assay.analysis.statistics import RunTable
from assay.foundation.errors import FormatError, SpecificationError
from assay.interfaces.charts.drawing.style import FULL_PX, PALETTE, Spec
from assay.interfaces.charts.single_runs.disks import disk_traffic_areas
from assay.interfaces.charts.single_runs.one_run import Lines, trace_lines
from assay.interfaces.charts.single_runs.runs import request_sizes, task_occupancy, time_shares
from assay.interfaces.charts.times import phase_timeline, runtime_bars, throughput_bars
from assay.interfaces.web.api import compare as api_compare
from assay.interfaces.web.api import profiles as api_profiles
from assay.interfaces.web.api import runs as api_runs
from assay.interfaces.web.api.why import reasons_of
from assay.interfaces.web.pages.why import observed_pairs, suggested_pairs
from assay.interfaces.web.rendering.shown_decisions import ShownDecision, shown_decisions
from assay.interfaces.web.state.answering import Text, Texts, page_of, palette
from assay.interfaces.web.state.context import READERS, Context, ContextOf
from assay.interfaces.web.state.page_cache import cached_page
from assay.questions.comparisons.code_difference import ComparedProfiles
from assay.questions.comparisons.side_by_side import Of, disk_traffic_of_runs, occupancy_of_runs
from assay.questions.decisions.buyer import question_of_factor
from assay.questions.decisions.decision import Decision
from assay.questions.runs.code_profiles.code_profile import has_recordings
from assay.questions.runs.complete_run import CompleteRun
from assay.questions.trust.flags import FlagCount, flag_count_of

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=READERS)
DISK_TRAFFIC = "disk-traffic"
CODE_SIDES = 2
"""Number of sides of which profiles are compared."""
ROWS_SHOWN = 10
"""Number of counters, and of rows of a table of code, that are visible without a click."""


@router.get("/compare")
@cached_page
def compare(
    request: Request,
    context: ContextOf,
    run: Annotated[list[str], Query(max_length=50)] = [],  # noqa: B006
    of: Of = "configurations",
    trace: Text = None,
    by: Text = None,
    baseline: Text = None,
    where: Texts = [],  # noqa: B006
) -> Response:
    """Show runs or configurations side by side.

    ``by``, ``baseline`` and ``where`` name the decision above them; without ``by``, it decides on their differences.
    """
    ids = [*dict.fromkeys(filter(None, run))]
    if not SIDES_MIN <= len(ids) <= SIDES_MAX:
        return _page_without_sides(request, context, len(ids))
    sides = api_compare.sides(context, ids, of)
    colours = _colours(sides.sides, palette(context.store.table(), "layout"))
    run_by_label = {side.label: api_runs.complete_run_of(context, side.typical_run_id) for side in sides.sides}
    charts, views, shown_trace = _charts_of(sides.sides, run_by_label, colours, trace)
    reasons = reasons_of(context, sides)
    decision_fields = [("by", by), ("baseline", baseline or ""), *(("where", text) for text in where)] if by else []
    typical_run_ids = [side.typical_run_id for side in sides.sides]
    observed_links = (
        []
        if reasons.sentences
        else observed_pairs(context, sides.sides[0].workload, excluded_ids=[*ids, *typical_run_ids])
    )

    def address(run_ids: Sequence[str], side_kind: str) -> str:
        pairs = [("run", run_id) for run_id in run_ids] + ([("of", side_kind)] if side_kind != "configurations" else [])
        return "/compare?" + urlencode(pairs + ([("trace", trace)] if trace else []) + decision_fields)

    return page_of(
        request,
        "compare",
        empty=False,
        sides=sides,
        decisions=_decisions(context, sides, by, baseline, where),
        decision_fields=decision_fields,
        question=question_of_factor(by) if by else None,
        conditions=[text.split("=", 1) for text in where if "=" in text] if by else [],
        colours=colours,
        charts=charts,
        views=views,
        trace_view=shown_trace,
        of=of,
        ids=ids,
        reasons=reasons,
        flagged=_flagged_runs(context, sides.sides),
        rows_shown=ROWS_SHOWN,
        code=_code_difference(context, ids, of, run_by_label.values()),
        code_query=urlencode([*(("run", run_id) for run_id in ids), ("of", of)]),
        observed_labels=[label for label, complete_run in run_by_label.items() if _is_observed(complete_run)],
        unobserved_labels=[label for label, complete_run in run_by_label.items() if not _is_observed(complete_run)],
        observed_links=observed_links,
        kinds=[(kind, [item for item in sides.differences if item.kind is kind]) for kind in DifferenceKind],
        addresses_as_baseline={
            run_id: address([run_id, *(other_id for other_id in ids if other_id != run_id)], of) for run_id in ids
        },
        addresses_without={run_id: address([other_id for other_id in ids if other_id != run_id], of) for run_id in ids},
        other_address=address(ids, "runs" if of == "configurations" else "configurations"),
    )


def _page_without_sides(request: Request, context: Context, chosen_count: int) -> Response:
    """Return the page for too few or too many runs: which runs to compare, or how to get runs."""
    if len(context.store.table()) == 0:
        return page_of(request, "compare", empty=True, sides=None)
    return page_of(
        request,
        "compare",
        empty=False,
        sides=None,
        chosen_count=chosen_count,
        sides_min=SIDES_MIN,
        sides_max=SIDES_MAX,
        suggested_links=suggested_pairs(context),
        observed_links=observed_pairs(context),
    )


def _code_difference(
    context: Context, ids: list[str], of: Of, complete_runs: Iterable[CompleteRun]
) -> ComparedProfiles | str | None:
    """Return the difference of two profiled sides, or why it can't be computed; None if not both have a profile."""
    if len(ids) != CODE_SIDES or not all(has_recordings(complete_run.logs) for complete_run in complete_runs):
        return None
    try:
        return api_profiles.get_code_difference(context, ids, of)
    except FormatError as error:
        return error.message


def _decisions(
    context: Context, sides: Sides, by: str | None, baseline: str | None, where: Sequence[str]
) -> list[ShownDecision]:
    """Return the decisions on ``by``, or on the factors in which the sides differ; empty for different jobs.

    Without ``by``, the decision is on the sides' workload, with the first side's level as the baseline. If the factors
    allow no decision, the list is empty and the page shows only the sides.
    """
    first_side = sides.sides[0]
    if sides.different_jobs or not (by or sides.factors):
        return []
    try:
        if by:
            page_decisions = shown_decisions(context, by, baseline, (), where)
            return [item for item in page_decisions if _has_origin_of(item.answer.decision, first_side)]
        return shown_decisions(
            context, ",".join(sides.factors), sides.baseline, (), [f"workload={first_side.workload}"]
        )
    except SpecificationError:  # the factor is not a column of the table, or only invalid runs have the level
        return []


def _has_origin_of(decision: Decision, side: ComparedSide) -> bool:
    """Return whether a decision is about runs of the side's origin and lab scale."""
    scale = float(decision.lab_scale) if decision.lab_scale else None
    return decision.origin == side.origin and scale == side.lab_scale


def _is_observed(complete_run: CompleteRun) -> bool:
    return bool(complete_run.detail.breakdown.phases or complete_run.detail.devices)


def _flagged_runs(context: Context, sides: Sequence[ComparedSide]) -> dict[str, FlagCount]:
    """Return the number of flagged runs by side; sides without flagged runs are omitted."""
    store, run_ids_by_side = context.store, {side.label: side.summary.run_ids for side in sides}

    def make(_: RunTable) -> dict[str, FlagCount]:
        return {
            label: flag_count_of(store.repository, store.flagged(), run_ids)
            for label, run_ids in run_ids_by_side.items()
        }

    counts = store.answer(("flagged of", *run_ids_by_side.items()), make)
    return {label: count for label, count in counts.items() if count.flagged}


def _colours(sides: Sequence[ComparedSide], layout_colours: Mapping[str, str]) -> dict[str, str]:
    """Return a colour for each side: its layout's colour, as on all pages."""
    return {side.label: layout_colours.get(side.layout, PALETTE[-1]) for side in sides}


def _charts_of(
    sides: Sequence[ComparedSide],
    run_by_label: Mapping[str, CompleteRun],
    colours: Mapping[str, str],
    trace: str | None,
) -> tuple[dict[str, Spec], dict[str, str], str | None]:
    """Return the charts by name, the titles of available trace views, and the name of the drawn view (or None)."""
    charts: dict[str, Spec] = {}
    summaries = [side.summary for side in sides if side.summary.n]
    if summaries:
        charts["times"] = runtime_bars(summaries, colours, FULL_PX)
    if any(rate is not None for summary in summaries for rate in summary.throughputs_mb_per_s.values()):
        charts["throughput"] = throughput_bars(summaries, colours, FULL_PX)
    runs_with_tasks = {label: complete_run for label, complete_run in run_by_label.items() if complete_run.tasks}
    if len(runs_with_tasks) > 1:
        charts["shares"] = time_shares(
            {label: complete_run.detail.breakdown for label, complete_run in runs_with_tasks.items()}, FULL_PX
        )
        charts["tasks"] = task_occupancy(occupancy_of_runs(runs_with_tasks))
    elif sum(bool(summary.phases) for summary in summaries) > 1:
        charts["phases"] = phase_timeline(summaries, colours, FULL_PX)
    purposes = {
        label: complete_run.detail.by_purpose
        for label, complete_run in run_by_label.items()
        if any(
            use.transfers.read_request_bytes or use.transfers.write_request_bytes
            for use in complete_run.detail.by_purpose
        )
    }
    if len(purposes) > 1:
        charts["requests"] = request_sizes(purposes, colours, FULL_PX)
    traces, views, shown_trace = _traces(run_by_label, colours, trace)
    return charts | traces, views, shown_trace


def _traces(
    run_by_label: Mapping[str, CompleteRun], colours: Mapping[str, str], trace: str | None
) -> tuple[dict[str, Spec], dict[str, str], str | None]:
    views = views_of(complete_run.trace for complete_run in run_by_label.values())
    views = ({DISK_TRAFFIC: "Disk traffic, all nodes"} if "disk-read" in views else {}) | views
    shown_trace = trace if trace in views else next(iter(views), None)
    if shown_trace is None:
        return {}, views, None
    longest_s = max(complete_run.run.duration_s for complete_run in run_by_label.values())
    if shown_trace == DISK_TRAFFIC:
        return {"trace": disk_traffic_areas(disk_traffic_of_runs(run_by_label), colours, FULL_PX)}, views, shown_trace
    view = TRACE_VIEWS[shown_trace]
    lines = {
        label: [line for line in lines_of(complete_run.trace, view) if any(line.values)]
        for label, complete_run in run_by_label.items()
    }
    value_max = max((max(line.values) for series_lines in lines.values() for line in series_lines), default=None)
    return (
        {
            f"trace {label}": trace_lines(
                Lines(view.title, series_lines, *names_shown(run_by_label[label].trace, view)),
                longest_s,
                value_max=value_max,
            )
            for label, series_lines in lines.items()
            if series_lines
        },
        views,
        shown_trace,
    )
