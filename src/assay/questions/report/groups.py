"""Collect the matched groups behind the decisions of a report: each inference scope, each pair of options.

In: a table of runs and the decisions on it. Out: :class:`GroupDetails`, and the warnings about other differences.
"""

from collections.abc import Sequence

from assay.analysis.comparison.joint import network_of
from assay.analysis.statistics import RunTable
from assay.analysis.statistics.sessions import SessionVariance
from assay.model import CodedWarning
from assay.questions.comparisons.speedup import SpeedupRequest, speedup_view
from assay.questions.comparisons.speedup_tables import tables_of
from assay.questions.decisions.decision import Decision
from assay.questions.report.combinations import combined_times
from assay.questions.report.selection import runs_of_decision
from assay.questions.report.values import DecisionGroups, GroupDetails
from assay.store import Repository
from assay.text import workload_title


def group_details(
    repository: Repository, table: RunTable, decisions: Sequence[tuple[int, Decision]], spread: SessionVariance
) -> tuple[GroupDetails | None, tuple[CodedWarning, ...]]:
    """Return the groups of the decisions (None where there is nothing to show), and the warnings.

    ``decisions``: with their positions in the report. ``spread``: variance between sessions, as in the decisions.
    """
    groups: list[DecisionGroups] = []
    warnings: list[CodedWarning] = []
    for number, decision in decisions:
        factors = decision.factor.split(" + ")
        runs = runs_of_decision(table, decision)
        view = speedup_view(repository, runs, SpeedupRequest(tuple(factors), decision.baseline), spread)
        warnings += view.warnings
        tables = tuple(tables_of(view, workload_title))
        network = network_of(view.level_pairs)
        if tables or network:
            groups.append(DecisionGroups(number, tables, network))
    combined = combined_times(repository, table)
    details = GroupDetails(tuple(groups), combined) if groups or combined else None
    return details, tuple(dict.fromkeys(warnings))
