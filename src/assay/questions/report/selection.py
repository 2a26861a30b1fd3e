"""Select the runs that a decision is about.

In: a table of runs and a decision. Out: the runs of its options, origin and lab scale.
"""

import numpy as np

from assay.analysis.comparison.factors.derived_factors import with_factors
from assay.analysis.comparison.matched import combined_or_named
from assay.analysis.statistics import ABSENT, RunTable
from assay.questions.decisions.decision import Decision


def with_factor(table: RunTable, factor: str) -> RunTable:
    """Return the table with a column for the factor of a decision, derived or joined if necessary."""
    names = factor.split(" + ")
    joined_table, _ = combined_or_named(with_factors(table, names), names[0] if len(names) == 1 else names)
    return joined_table


def runs_of_decision(table: RunTable, decision: Decision) -> RunTable:
    """Return the rows of ``table`` with an option of the decision, and with its origin and lab scale."""
    joined_table = with_factor(table, decision.factor)
    column = joined_table.columns[decision.factor]
    options = [column.code(level) for level in (decision.baseline, *(option.option for option in decision.options))]
    is_chosen = np.isin(column.codes, options)
    for name, level in (("origin", decision.origin), ("lab_scale", decision.lab_scale)):
        stratum = table.columns.get(name)
        if stratum is not None:
            is_chosen &= stratum.codes == (ABSENT if level is None else stratum.code(level))
    return table.subset(is_chosen)
