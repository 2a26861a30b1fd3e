"""Test the claims of the published studies on the runs, for the terminal, pages and reports.

In: a repository, its table of runs with outlier flags, and a price book if there is one. Out: the findings by origin,
and the number of runs whose times are flagged. The runs are those of decisions.
"""

from collections import Counter
from dataclasses import dataclass

from assay.analysis.comparison.matched import session_spread
from assay.analysis.outliers.anomaly_column import time_outliers
from assay.analysis.statistics import RunTable, counts_by
from assay.analysis.statistics.sessions import SessionVariance
from assay.model import PriceBook
from assay.questions.claims.claims import ClaimAnswer, Finding, findings_of
from assay.questions.claims.study import studies_of
from assay.questions.decisions.ask import counted_runs
from assay.questions.decisions.costs.run_costs import RunCosts
from assay.store import Repository


@dataclass(frozen=True, slots=True)
class FindingsView:
    """The findings on all claims."""

    by_origin: dict[str, tuple[Finding, ...]]
    """Findings by origin and lab scale, for example ``measured`` or ``measured, lab scale 0.05``."""
    flagged: int
    """Runs whose times are flagged as outliers."""
    includes_flagged: bool
    """Whether the flagged runs count."""
    book: str | None
    """Name of the price book that costs come from; None without one."""
    valid_runs: int
    """Number of valid runs, flagged ones included."""
    flagged_count: bool
    """The name of ``includes_flagged`` in release 0.3. The next release drops it."""


def findings_view(
    repository: Repository,
    table: RunTable,
    book: PriceBook | None = None,
    *,
    all_runs: RunTable | None = None,
    exclude_flagged: bool = False,
) -> FindingsView:
    """Return the findings on all claims, from the runs of ``table``.

    ``all_runs``: the runs from which ``table`` was selected; None: ``table``. The variance between sessions is
    estimated from them, as in decisions, so that conditions do not change it.
    """
    spread = session_spread(table if all_runs is None else all_runs)
    outliers = time_outliers(table)
    counted = counted_runs(repository, table.subset(~outliers) if exclude_flagged else table, book)
    by_origin = {origin: tuple(items) for origin, items in findings(counted.table, counted.costs, spread).items()}
    name, valid_runs = book.name if book else None, counts_by(table, "status").get("valid", 0)
    includes_flagged = not exclude_flagged
    return FindingsView(
        by_origin, int(outliers.sum()), includes_flagged, name, valid_runs, flagged_count=includes_flagged
    )


def findings(
    table: RunTable, costs: RunCosts | None = None, spread: SessionVariance | None = None
) -> dict[str, list[Finding]]:
    """Return the findings on every claim by origin and lab scale.

    ``costs``: of the runs of ``table``. ``spread``: variance between sessions; None: estimated from ``table``.
    """
    if len(table) == 0:
        return {}
    return findings_of(studies_of(table, spread or session_spread(table), costs))


def findings_sentence(view: FindingsView) -> str:
    """Return the number of claims by answer."""
    answers = Counter(item.answer for items in view.by_origin.values() for item in items)
    return f"Claims: {', '.join(f'{answers[answer]} {answer}' for answer in ClaimAnswer if answers[answer])}."
