"""The matched groups behind the decisions of a report: each inference scope, each pair of options.

In: a table of runs and the decisions on it. Out: :class:`GroupDetails`, and the warnings about what else differed.
"""

from collections.abc import Sequence

from assay.compare.together import network_of
from assay.model import CodedWarning
from assay.questions.decisions.values import Decision
from assay.questions.report.combinations import combined_times
from assay.questions.report.selection import runs_of_decision
from assay.questions.report.values import DecisionGroups, GroupDetails
from assay.questions.speedup import speedup_view
from assay.questions.speedup_tables import tables_of
from assay.repository import Repository
from assay.statistics import RunTable
from assay.wording import workload_title


def group_details(
    repository: Repository, table: RunTable, factors: Sequence[str], decisions: Sequence[Decision]
) -> tuple[GroupDetails | None, tuple[CodedWarning, ...]]:
    """Return the groups of the decisions on these factors (None where there is nothing to show), and warnings."""
    groups: list[DecisionGroups] = []
    warnings: list[CodedWarning] = []
    name = " + ".join(factors)
    for number, decision in enumerate(decisions):
        if decision.factor != name:
            continue
        view = speedup_view(repository, runs_of_decision(table, decision), factors, decision.baseline)
        warnings += view.warnings
        tables = tuple(tables_of(view.speedups, view.compared, view.best, workload_title))
        network = network_of(view.compared)
        if tables or network:
            groups.append(DecisionGroups(number, tables, network))
    combined = combined_times(repository, table)
    details = GroupDetails(tuple(groups), combined) if groups or combined else None
    return details, tuple(dict.fromkeys(warnings))
