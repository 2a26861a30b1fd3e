"""What the runs say, as a report: single configurations each by itself, or matched sets together.

In: a repository, its runs as a table, what was asked, and a price book if there is one. Out: the report, and what
stands around its results in every report. Faces compose and write documents of both.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from assay import __version__
from assay.campaign.plan_texts import plan_texts
from assay.compare.derived_factors import with_factors
from assay.compare.matched import match, pairs_with
from assay.model import PriceBook, Run
from assay.planning.altered import parse_changes
from assay.questions import report_single
from assay.questions.baselines import baseline_among
from assay.questions.decisions.ask import decisions_of
from assay.questions.decisions.values import Decision, DecisionRequest
from assay.questions.findings import findings_view
from assay.questions.flags import flags_in
from assay.questions.hardware import hardware_of
from assay.questions.hosts import checked_hosts
from assay.questions.planes import PlaneOptions, cost_planes
from assay.questions.report_combined import combined_of
from assay.questions.report_frame import ReportFrame, frame_of
from assay.questions.report_matched import MatchedReport, matched_report
from assay.questions.report_parts import ReportQuestion
from assay.questions.report_single import SingleReport, single_report
from assay.questions.speedup import speedup_view
from assay.questions.whatif import WhatIf, WhatIfQuestion, what_if
from assay.questions.whole_run import examples_of, whole_run, with_figures
from assay.repository import Repository
from assay.repository.package import imports_of
from assay.statistics import RunTable


def report_of(
    repository: Repository,
    table: RunTable,
    asked: ReportQuestion,
    book: PriceBook | None = None,
    *,
    matched: bool | None = None,
) -> tuple[SingleReport | MatchedReport, ReportFrame]:
    """Return the report on the runs of ``table``, and its frame.

    ``matched``: over matched sets, or each configuration by itself; None: as many comparisons as there are ask for.
    Raises SpecificationError for factors and levels that no run has.
    """
    made = with_factors(table, asked.factors)
    if matched or (matched is None and (made is not table or _many(table, asked))):
        return _matched(repository, made, asked, book)
    return _single(repository, made, asked, book)


def _many(table: RunTable, asked: ReportQuestion) -> bool:
    """Tell whether the runs make more comparisons than a page of single ones can show."""
    factors = asked.factors
    if len(factors) > 1:
        return True
    if factors[0] not in table.factors:
        return False
    return pairs_with(match(table, factors[0]), asked.baseline or None) > report_single.COMPARISONS_MAX


def _matched(
    repository: Repository, table: RunTable, asked: ReportQuestion, book: PriceBook | None
) -> tuple[MatchedReport, ReportFrame]:
    """Return the report over matched sets, with costs by layout, network and cluster where there is a price book."""
    view = speedup_view(repository, table, asked.factors, asked.baseline or None)
    costs = cost_planes(repository, table, book, PlaneOptions((), take="all")) if book else []
    decisions = _decisions(repository, asked, book)
    report = matched_report(table, view, decisions, costs, combined_of(repository, table))
    return report, _frame(repository, table, examples_of(repository, table), asked, report, book)


def _single(
    repository: Repository, table: RunTable, asked: ReportQuestion, book: PriceBook | None
) -> tuple[SingleReport, ReportFrame]:
    """Return the report that shows each configuration by itself."""
    runs = with_figures(repository, repository.runs_at(table, range(len(table))))
    report = single_report(
        runs,
        factor=asked.factor,
        baseline=baseline_among(runs, asked.factor, asked.baseline or None),
        decisions=_decisions(repository, asked, book),
        trace_of=repository.trace,
        observed_of=partial(whole_run, repository),
        book=book,
    )
    return report, _frame(repository, table, runs, asked, report, book)


def _decisions(repository: Repository, asked: ReportQuestion, book: PriceBook | None) -> tuple[Decision, ...]:
    where = (f"workload={asked.workload}",) if asked.workload else ()
    request = DecisionRequest(asked.factor, asked.baseline or None, where, prices=book)
    return decisions_of(repository, flags_in(repository).table, request)


def _frame(
    repository: Repository,
    table: RunTable,
    examples: Sequence[Run],
    asked: ReportQuestion,
    report: SingleReport | MatchedReport,
    book: PriceBook | None,
) -> ReportFrame:
    return frame_of(
        table,
        examples,
        replace(asked, baseline=report.baseline),
        findings_view(repository, table, book),
        levels=report.levels,
        plans=plan_texts(repository.folders.campaigns),
        imports=imports_of(repository),
        assay_version=__version__,
        hardware=hardware_of(repository, examples),
        checked=checked_hosts(repository),
        whatif=_what_if(repository, asked, book),
    )


def _what_if(repository: Repository, asked: ReportQuestion, book: PriceBook | None) -> list[WhatIf]:
    """Return what measured runs would take with the asked changes; not of those that were measured with them."""
    if not asked.changes:
        return []
    changes = parse_changes(asked.changes)
    where = (f"workload={asked.workload}",) if asked.workload else ()
    answers = what_if(repository, WhatIfQuestion(changes, where), book)
    same = {f"{name}={value}" for name, value in changes}
    return [each for each in answers if not same <= set(each.configuration.split())]
