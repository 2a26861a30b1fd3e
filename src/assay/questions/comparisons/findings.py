"""Test the claims of the published studies on the runs, for the terminal, pages and reports.

In: a repository, its table of runs with outlier flags, and a price book if there is one. Out: the findings by origin,
and the number of runs whose times are flagged. The hourly cost of a configuration depends on its cluster, its layout
and the other factors that prices depend on; a configuration that the book does not price has no cost.
"""

from collections import Counter
from dataclasses import dataclass
from functools import partial

import numpy as np

from assay.analysis.comparison.claims.findings import ClaimAnswer, Finding, findings
from assay.analysis.cost.rate import hourly_rate
from assay.analysis.outliers.anomaly_column import time_outliers
from assay.analysis.statistics import Floats, RunTable, counts_by, first_rows, groups_by
from assay.foundation.errors import SpecificationError
from assay.model import LAYOUT_FACTOR, PriceBook
from assay.questions.clusters.cluster_facts import HARDWARE, FactsByHardware, facts_by_hardware, priced_parts
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
    repository: Repository, table: RunTable, book: PriceBook | None = None, *, exclude_flagged: bool = False
) -> FindingsView:
    """Return the findings on all claims, from the runs of ``table``."""
    outliers = time_outliers(table)
    kept = table.subset(~outliers) if exclude_flagged and outliers.any() else table
    rate_of = partial(_rates_per_h, facts_by_hardware(repository, kept), book) if book is not None else None
    answers = findings(kept, rate_of)
    by_origin = {origin: tuple(items) for origin, items in answers.items()}
    name, valid_runs = book.name if book else None, counts_by(table, "status").get("valid", 0)
    included = not exclude_flagged
    return FindingsView(by_origin, int(outliers.sum()), included, name, valid_runs, flagged_count=included)


def _rates_per_h(facts: FactsByHardware, book: PriceBook, configurations: RunTable) -> Floats:
    """Return the hourly cost of each configuration; NaN where the book does not price it."""
    depends = {factor for item in book.items for factor in item.when}
    names = [name for name in (*HARDWARE, *sorted(depends)) if name in configurations.columns]
    groups = groups_by(configurations, list(dict.fromkeys(names)))
    rates = np.full(groups.count, np.nan)
    for number, row in enumerate(first_rows(groups).tolist()):
        texts = {name: configurations.columns[name].text(row) for name in names}
        levels = {name: text for name, text in texts.items() if text is not None}
        layout = levels.get(LAYOUT_FACTOR, "")
        try:
            rates[number] = float(hourly_rate(book, priced_parts(facts, levels), layout).per_h) or np.nan
        except SpecificationError:  # no price: the rate stays NaN
            continue
    return rates[groups.of_row]


def findings_sentence(view: FindingsView) -> str:
    """Return the number of claims by answer."""
    answers = Counter(item.answer for items in view.by_origin.values() for item in items)
    return f"Claims: {', '.join(f'{answers[answer]} {answer}' for answer in ClaimAnswer if answers[answer])}."
