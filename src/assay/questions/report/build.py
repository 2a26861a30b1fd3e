"""Build the report on the runs of a repository: the decisions, and the details that the repository holds.

In: a repository, its runs as a table, a request, and a price book if there is one. Out: one :class:`Report`. Interfaces
compose it into a document, or print it.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from assay.analysis.comparison.details.threats import threats
from assay.analysis.comparison.factors.device_classes import DEVICE_CLASS, layout_classes
from assay.analysis.comparison.matched import session_spread
from assay.analysis.statistics import RunTable, counts_by, first_rows, groups_by, usable
from assay.execution.planning.plan_files.changed_plan import parse_question
from assay.foundation.errors import SpecificationError
from assay.foundation.version import __version__
from assay.model import CodedWarning, Origin, PriceBook
from assay.questions.claims.findings import findings_view
from assay.questions.clusters.hardware import hardware_of
from assay.questions.clusters.hosts import checked_hosts
from assay.questions.commands import CommandOptions
from assay.questions.costs.cost_effectiveness import cost_effectiveness
from assay.questions.costs.cost_rows import CostEffectivenessRequest
from assay.questions.costs.job_cost import CostView, cost_view
from assay.questions.decisions.answers import QuestionAnswer, answer_questions
from assay.questions.decisions.ask import decisions_of
from assay.questions.decisions.buyer import CHEAPEST
from assay.questions.decisions.costs.run_costs import YEARS
from assay.questions.decisions.decision import Decision, DecisionRequest
from assay.questions.decisions.sentences.question_sentences import view_of
from assay.questions.forecasts.whatif.whatif import WhatIfQuestion, what_if
from assay.questions.forecasts.whatif.whatif_answer import WhatIfAnswer
from assay.questions.forecasts.whatif.whatif_costs import stated_prices
from assay.questions.report.configurations import COMPARISONS_MAX, configuration_details, count_comparisons
from assay.questions.report.groups import group_details
from assay.questions.report.method import method_facts
from assay.questions.report.provenance import provenance_of
from assay.questions.report.request import DetailLevel, ReportRequest
from assay.questions.report.selection import runs_of_decision, with_factor
from assay.questions.report.values import ConfigurationDetails, GroupDetails, Report, RunCostSection
from assay.questions.runs.complete_run import examples_of, read_complete_run, with_figures
from assay.questions.runs.runs import levels_in
from assay.questions.runs.workload_limits import workload_limits
from assay.questions.trust.flags import flags_in
from assay.store import Repository
from assay.store.campaigns.plan_texts import plan_texts
from assay.store.exchange.package import imports_of


def report_of(repository: Repository, table: RunTable, request: ReportRequest, book: PriceBook | None = None) -> Report:
    """Return the report on the runs of ``table``.

    Raises SpecificationError for factors and levels that no run has, and if the request asks for single configurations
    but the report would have too many.
    """
    all_runs = flags_in(repository).table
    decision_request = DecisionRequest(request.factor, request.baseline, request.where, prices=book)
    decisions = decisions_of(repository, all_runs, decision_request)
    answers = _answers(repository, all_runs, decision_request, decisions)
    configurations = _configurations(repository, table, request, decisions)
    groups: GroupDetails | None = None
    warnings: tuple[CodedWarning, ...] = ()
    if request.details is not DetailLevel.CONFIGURATIONS:
        groups, warnings = group_details(
            repository, table, _decisions_with_details(request, decisions), session_spread(all_runs)
        )
    runs = configurations.runs if configurations else ()
    loaded_runs = runs or tuple(examples_of(repository, table))
    if configurations:
        warnings = (*warnings, *(warning for c in configurations.comparisons for warning in c.warnings))
    # A report of a package equals that of its repository, so its commands name no folder.
    options = CommandOptions(prices=request.prices or "", where=tuple(request.conditions))
    written_on = request.date or datetime.now(UTC).date().isoformat()
    job_costs = _job_costs(configurations, decisions, book)
    compared_workloads = {result.workload for d in decisions for result in d.results if result.time}
    return Report(
        request=request,
        written_on=written_on,
        assay_version=__version__,
        runs=len(table),
        origins=_origins(table),
        decisions=decisions,
        questions=tuple(view_of(answer, options) for answer in answers),
        limits=workload_limits(repository, table),
        further_decisions=_further_decisions(answers, decisions),
        layout_classes=layout_classes(table),
        not_compared=_options_not_compared(table, request, decisions),
        workloads_not_compared=tuple(
            name for name, runs in counts_by(table, "workload").items() if runs and name not in compared_workloads
        ),
        method=method_facts(table, loaded_runs, decisions, all_loaded=bool(runs)),
        hardware=hardware_of(repository, loaded_runs),
        configurations=configurations,
        groups=groups,
        job_costs=job_costs,
        run_costs=_run_costs(repository, table, book) if book and not job_costs else None,
        whatif=_what_if(repository, request, book),
        findings=findings_view(repository, table, book, all_runs=all_runs),
        warnings=tuple(dict.fromkeys(warnings)),
        threats=tuple(threats(table, tuple(dict.fromkeys(warnings)), runs)),
        provenance=provenance_of(
            table,
            loaded_runs,
            replace(request, date=written_on),
            plans=plan_texts(repository.folders.campaigns),
            imports=imports_of(repository),
            checked=checked_hosts(repository),
            assay_version=__version__,
        ),
    )


def _answers(
    repository: Repository, table: RunTable, request: DecisionRequest, decisions: tuple[Decision, ...]
) -> tuple[QuestionAnswer, ...]:
    """Return the answer to every question of a buyer; ``decisions`` answer the question on their factor."""
    answers = answer_questions(repository, table, replace(request, factor="", baseline=None))
    factors = [decision.factor for decision in decisions]
    return tuple(
        replace(answer, decisions=decisions)
        if answer.question.name != CHEAPEST and [decision.factor for decision in answer.decisions] == factors
        else answer
        for answer in answers
    )


def _further_decisions(answers: Sequence[QuestionAnswer], decisions: Sequence[Decision]) -> tuple[Decision, ...]:
    """Return the decisions of ``answers`` that are not among ``decisions``, each once."""
    further_decisions: list[Decision] = []
    for decision in (decision for answer in answers for decision in answer.decisions):
        if decision not in decisions and decision not in further_decisions:
            further_decisions.append(decision)
    return tuple(further_decisions)


def _decisions_with_details(request: ReportRequest, decisions: Sequence[Decision]) -> list[tuple[int, Decision]]:
    """Return the decisions that have details, with their positions: all but device classes that summarise layouts."""
    summary = DEVICE_CLASS if request.factor != DEVICE_CLASS else None
    return [(position, decision) for position, decision in enumerate(decisions) if decision.factor != summary]


def _configurations(
    repository: Repository, table: RunTable, request: ReportRequest, decisions: Sequence[Decision]
) -> ConfigurationDetails | None:
    """Return the details of each configuration; None if there are too many, or a factor is derived from others."""
    decisions_with_details = _decisions_with_details(request, decisions)
    has_derived_factor = any(decision.factor not in table.columns for _, decision in decisions_with_details)
    if request.details is DetailLevel.GROUPS or has_derived_factor:
        return None
    number = count_comparisons(table, [decision for _, decision in decisions_with_details])
    if number > COMPARISONS_MAX:
        if request.details is None:
            return None
        raise SpecificationError(
            f"too many comparisons for --single: {number:,}; at most {COMPARISONS_MAX} fit in a report",
            hint=f"assay report --matched --by {request.factor} puts matched runs together; --workload chooses runs",
        )
    runs = with_figures(repository, repository.runs_at(table, range(len(table))))
    by_id = {run.run_id: run for run in runs}
    selected_rows = []
    for position, decision in decisions_with_details:
        decision_rows = runs_of_decision(table, decision)
        ids = repository.ids_at(decision_rows, range(len(decision_rows)))
        selected_rows.append((position, decision, [by_id[run_id] for run_id in ids]))
    return configuration_details(runs, selected_rows, repository.trace, partial(read_complete_run, repository))


def _origins(table: RunTable) -> tuple[tuple[Origin, float | None], ...]:
    """Return each origin and lab scale of the runs."""
    names = [name for name in ("origin", "lab_scale") if name in table.columns]
    rows = first_rows(groups_by(table, names)).tolist() if len(table) else []
    texts = [[table.columns[name].text(row) for name in names] for row in rows]
    return tuple((Origin(text[0]), float(text[1]) if text[1:] and text[1] else None) for text in texts if text[0])


def _options_not_compared(
    table: RunTable, request: ReportRequest, decisions: Sequence[Decision]
) -> tuple[tuple[str, str], ...]:
    """Return factor and level of the options among valid runs that no decision has."""
    detailed_decisions = [decision for _, decision in _decisions_with_details(request, decisions)]
    missing_options: list[tuple[str, str]] = []
    for factor in dict.fromkeys(decision.factor for decision in detailed_decisions):
        factor_decisions = [decision for decision in detailed_decisions if decision.factor == factor]
        compared_levels = {
            level for d in factor_decisions for level in (d.baseline, *(option.option for option in d.options))
        }
        levels = levels_in(with_factor(table.subset(usable(table)), factor), factor)
        missing_options += [(factor, level) for level in levels if level not in compared_levels]
    return tuple(missing_options)


def _job_costs(
    configurations: ConfigurationDetails | None, decisions: Sequence[Decision], book: PriceBook | None
) -> CostView | None:
    """Return the cost of a job on each layout, spread over the same years as in the decisions.

    None where no layout has one price, for example because prices also depend on the network.
    """
    if book is None or configurations is None:
        return None
    years = float(book.amortisation.years) if book.amortisation else YEARS
    try:
        return cost_view(configurations.runs, book, decisions=decisions, years=years)
    except SpecificationError:
        return None


def _run_costs(repository: Repository, table: RunTable, book: PriceBook) -> RunCostSection:
    """Return time and cost of a run on each layout, network and cluster; only the reason where the book prices none."""
    try:
        jobs = cost_effectiveness(repository, table, book, CostEffectivenessRequest((), take="all"))
    except SpecificationError as error:
        return RunCostSection((), (error.message,))
    unpriced = (f"{name}: {why}" for view in jobs for name, why in (view.set_apart | view.unpriced).items())
    return RunCostSection(tuple(jobs), tuple(dict.fromkeys(unpriced)))


def _what_if(repository: Repository, request: ReportRequest, book: PriceBook | None) -> WhatIfAnswer | None:
    """Return the simulated times with the requested changes; None without changes."""
    if not request.changes:
        return None
    return what_if(
        repository,
        WhatIfQuestion(parse_question(request.changes), request.where),
        None if book is None else stated_prices(book, {}),
    )
