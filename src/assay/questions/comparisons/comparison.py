"""Compare a factor's levels within each matched group: the details of a decision.

In: a repository, its table of runs, the decisions on the factor. Out: one result for each matched group and option that
the decisions compare, smallest p value first, with the number of groups and runs that can't be compared.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.comparison.comparison import compare_groups
from assay.analysis.comparison.details.run_groups import run_groups_of
from assay.analysis.comparison.factors.derived_factors import with_factors
from assay.analysis.comparison.matched import combined_or_named, match, session_spread
from assay.analysis.comparison.result import SpeedupResult, with_verdicts
from assay.analysis.statistics import RunTable, counts_by
from assay.questions.decisions.decision import Decision
from assay.questions.decisions.sentences.decision_sentences import DecisionAnswer, answer_of
from assay.store import Repository
from assay.text import column_title, plural


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """The decisions on a factor, and the result of each matched group."""

    factor: str
    decisions: tuple[DecisionAnswer, ...]
    results: tuple[SpeedupResult, ...]
    """One for each matched group and option with runs on both sides, smallest p value first."""
    groups: int
    """Matched groups with a valid run."""
    groups_of_one_level: int
    """Matched groups that can't be compared, because their valid runs have only one level."""
    runs_by_level: dict[str, int]
    """Runs with each level of the factor."""
    runs_without_level: int
    """Runs that recorded no level of the factor."""


def comparison_view(
    repository: Repository,
    table: RunTable,
    decisions: Sequence[Decision],
    factor: str,
    all_runs: RunTable | None = None,
) -> ComparisonView:
    """Return the details of ``decisions`` on ``factor``. Raises SpecificationError for a factor that no run has.

    ``all_runs``: runs from which the variance between sessions is estimated; None: ``table``. Loads only the runs of
    groups with several levels.
    """
    names = [name.strip() for name in factor.split(",")]
    joined_table, name = combined_or_named(with_factors(table, names), names[0] if len(names) == 1 else names)
    matched = match(joined_table, name, spread=None if all_runs is None else session_spread(all_runs))
    cells = np.unique(
        np.stack([matched.groups.of_row, joined_table.columns[name].codes[matched.positions].astype(np.int64)]), axis=1
    )
    levels_of_group = np.bincount(cells[0])
    groups_with_levels = np.flatnonzero(levels_of_group > 1)
    rows = np.flatnonzero(np.isin(matched.table_groups.of_row, groups_with_levels))
    runs = dict(zip(rows.tolist(), repository.runs_at(joined_table, rows.tolist()), strict=True))
    groups = run_groups_of(matched, runs)
    results = [
        result
        for decision in decisions
        if decision.factor == name
        for result in compare_groups(groups, name, decision.baseline)
        if _belongs_to(result, decision)
    ]
    counts = counts_by(joined_table, name)
    without_level = counts.pop("", 0)
    return ComparisonView(
        factor=name,
        decisions=tuple(answer_of(decision) for decision in decisions),
        results=tuple(sorted(with_verdicts(results), key=_p_values)),
        groups=int(np.count_nonzero(levels_of_group)),
        groups_of_one_level=int(np.count_nonzero(levels_of_group == 1)),
        runs_by_level={level: count for level, count in counts.items() if count},
        runs_without_level=without_level,
    )


def _belongs_to(result: SpeedupResult, decision: Decision) -> bool:
    """Return whether a decision compares the option of a result, in runs of the same origin and lab scale."""
    options = {option.option for option in decision.options}
    return (result.origin, result.lab_scale) == (decision.origin, decision.lab_scale) and result.candidate in options


def _p_values(result: SpeedupResult) -> tuple[float, float]:
    """Return the sort key of a result: the corrected p value, then the uncorrected one."""
    return (math.inf if result.holm_p is None else result.holm_p, math.inf if result.p is None else result.p)


def nothing_to_compare_text(view: ComparisonView) -> str:
    """Return why nothing is compared: one level, no level, or no otherwise equal runs."""
    factor, levels = column_title(view.factor), list(view.runs_by_level)
    unknown_text = f" {plural(view.runs_without_level, 'run')} did not record it." if view.runs_without_level else ""
    if not levels:
        return f"No run recorded {factor}."
    if len(levels) == 1:
        number = view.runs_by_level[levels[0]]
        runs_text = plural(number, "run")
        return f"Nothing to compare: {factor} is {levels[0]} in all {runs_text} that recorded it.{unknown_text}"
    return f"Nothing to compare: no two runs differ in {factor} and are equal in everything else.{unknown_text}"
