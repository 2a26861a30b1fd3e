"""Make reports from runs in memory, as the command makes them from a repository."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from assay.analysis.comparison.details.threats import threats
from assay.analysis.comparison.factors.device_classes import layout_classes
from assay.analysis.comparison.joint import network_of
from assay.analysis.statistics.runs.factors_of_runs import level_of
from assay.analysis.statistics.runs.run_table import RunTable, table_of
from assay.interfaces.report.compose import compose
from assay.interfaces.report.output.document import ReportDocument
from assay.model import LAYOUT_FACTOR, PriceBook
from assay.model.runs.run import Run
from assay.model.runs.traces.trace import Trace
from assay.model.runs.warning import CodedWarning
from assay.questions.claims.findings import FindingsView, findings
from assay.questions.clusters.hardware import HardwareView
from assay.questions.comparisons.speedup import SpeedupRequest, speedups_over
from assay.questions.comparisons.speedup_tables import tables_of
from assay.questions.costs.job_cost import cost_view
from assay.questions.decisions.costs.run_costs import run_costs
from assay.questions.decisions.decide import decide
from assay.questions.decisions.decision import Decision, DecisionRequest
from assay.questions.report.configurations import ObservedOf, TraceOf, configuration_details
from assay.questions.report.method import method_facts
from assay.questions.report.provenance import provenance_of
from assay.questions.report.request import ReportRequest
from assay.questions.report.selection import runs_of_decision
from assay.questions.report.values import DecisionGroups, GroupDetails, Report
from assay.questions.runs.runs import levels_in
from assay.questions.runs.workload_limits import WorkloadLimits
from assay.store.campaigns.plan_texts import PlanText
from assay.text import workload_title


def report_on(runs: Sequence[Run], *, book: PriceBook | None = None, baseline: str | None = "HD2") -> Report:
    """Return the report by layout on ``runs`` with its decisions, without details."""
    table = table_of(list(runs))
    decisions = decide(table, DecisionRequest("layout", baseline), run_costs({}, table, book) if book else None)
    return _report(table, decisions, runs, ReportRequest(prices="prices.yaml" if book else None))


def configurations_of(
    runs: Sequence[Run],
    *,
    book: PriceBook | None = None,
    trace_of: TraceOf = lambda _: Trace(),
    observed_of: ObservedOf | None = None,
    **request: Any,
) -> Report:
    """Return the report by layout that shows each configuration of ``runs`` by itself."""
    report = report_on(runs, book=book)
    selected = [
        (number, decision, [run for run in runs if _is_about(decision, run)])
        for number, decision in enumerate(report.decisions)
    ]
    details = configuration_details(runs, selected, trace_of, observed_of)
    costs = cost_view(runs, book, decisions=report.decisions) if book else None
    asked = replace(report.request, **request)
    return replace(report, configurations=details, job_costs=costs, request=asked)


def with_plans(report: Report, plans: Sequence[PlanText]) -> Report:
    """Return the report with the plans of its runs."""
    assert report.configurations is not None
    runs = report.configurations.runs
    provenance = provenance_of(table_of(list(runs)), runs, report.request, plans=plans, assay_version="0")
    return replace(report, provenance=provenance)


def groups_of(table: RunTable, baseline: str | None = "HD2", warnings: Sequence[CodedWarning] = ()) -> Report:
    """Return the report by layout over matched groups, as if ``warnings`` had been recorded of the hosts."""
    decisions = decide(table, DecisionRequest("layout", baseline))
    groups = []
    for number, decision in enumerate(decisions):
        view = speedups_over(runs_of_decision(table, decision), SpeedupRequest(("layout",), decision.baseline))
        tables = tables_of(view, workload_title)
        groups.append(DecisionGroups(number, tuple(tables), network_of(view.level_pairs)))
    report = _report(table, decisions, (), ReportRequest(), warnings)
    return replace(report, groups=GroupDetails(tuple(groups), ()))


def document_of(report: Report) -> ReportDocument:
    """Return the report as a document."""
    return compose(report)


def _is_about(decision: Decision, run: Run) -> bool:
    options = {decision.baseline, *(option.option for option in decision.options)}
    scale = str(run.lab_scale) if run.lab_scale is not None else None
    return level_of(run, LAYOUT_FACTOR) in options and (run.origin, scale) == (decision.origin, decision.lab_scale)


def _report(
    table: RunTable,
    decisions: tuple[Decision, ...],
    runs: Sequence[Run],
    request: ReportRequest,
    warnings: Sequence[CodedWarning] = (),
) -> Report:
    claims = {origin: tuple(claims) for origin, claims in findings(table).items()}
    compared = {level for d in decisions for level in (d.baseline, *(o.option for o in d.options))}
    workloads = {result.workload for d in decisions for result in d.results if result.time}
    return Report(
        request=request,
        written_on="2026-11-22",
        assay_version="0",
        runs=len(table),
        origins=tuple(dict.fromkeys((run.origin, run.lab_scale) for run in runs)),
        decisions=decisions,
        questions=(),
        limits=WorkloadLimits("", (), 0, 0),
        further_decisions=(),
        layout_classes=layout_classes(table),
        not_compared=tuple(("layout", level) for level in levels_in(table, "layout") if level not in compared),
        workloads_not_compared=tuple(w for w in levels_in(table, "workload") if w not in workloads),
        method=method_facts(table, runs, decisions, all_loaded=bool(runs)),
        hardware=HardwareView((), (), ()),
        configurations=None,
        groups=None,
        job_costs=None,
        run_costs=None,
        whatif=None,
        findings=FindingsView(claims, 0, False, None, 12, flagged_count=False),
        warnings=tuple(warnings),
        threats=tuple(threats(table, tuple(warnings), runs)),
        provenance=provenance_of(table, runs, request, assay_version="0"),
    )
