"""Answer what a job costs over years of use, for the terminal, the API and the page.

In: a repository, its table of runs with outlier flags, a price book, and conditions on runs. Out: the cost tables, the
decisions on layouts over the same runs, and the conditions that assay added. The tables give each layout one price, so
of runs that differ in another priced factor, only those of its most common level are in the tables. Decisions price
every run by its own hardware, so they need no added conditions. Tables and decisions both exclude runs with an
implausible data size.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from assay.analysis.comparison.baselines import baseline_of
from assay.analysis.cost.job_cost import JobCostRow, Rounding
from assay.analysis.statistics import RunTable, table_of
from assay.foundation.errors import SpecificationError
from assay.model import LAYOUT_FACTOR, PriceBook, Run
from assay.questions.clusters.cluster_facts import facts_by_hardware, implausible_runs
from assay.questions.costs.job_cost import CostView, cost_view, without_outliers
from assay.questions.decisions.ask import decisions_of
from assay.questions.decisions.buyer import CHEAPEST, STORAGE
from assay.questions.decisions.costs.run_costs import run_costs
from assay.questions.decisions.decision import Decision, DecisionRequest
from assay.questions.decisions.sentences.years_sentences import CostsOverYears, costs_over_years
from assay.questions.runs.runs import levels_by_number, levels_in, selected
from assay.store import Repository
from assay.text import column_title, joined, level_text


@dataclass(frozen=True, slots=True)
class JobCostRequest:
    """Which runs to price over years, and how."""

    prices: PriceBook
    where: tuple[str, ...] = ()
    years: float = 3
    rounding: Rounding = "none"
    baseline: str | None = None
    exclude_flagged: bool = False
    runs_max: int | None = None
    """Maximum number of runs to load. If more match, the tables of jobs cover the workload with the most runs, and if
    needed, its cluster with the most runs."""


@dataclass(frozen=True, slots=True)
class JobCosts:
    """Costs of jobs over years of use."""

    view: CostView
    decisions: tuple[Decision, ...]
    """On storage classes and layouts, over all runs that match the request; the first is the answer."""
    over_years: CostsOverYears | None
    """The short answer on the cheapest hardware; None where no two options with a price can be compared."""
    narrowed: dict[str, str]
    """Factors with the level that the tables are limited to."""
    narrowed_for_size: tuple[str, ...]
    """Factors of ``narrowed`` that limit the tables because more runs match than they can cover."""
    runs_max: int | None
    """Maximum number of runs that the tables can cover; None without a limit."""
    prices: frozenset[str]
    """Names of the prices that the costs of the matching runs are made of."""
    excluded: int
    """Number of runs excluded as outliers."""

    @property
    def tables_scope(self) -> str:
        """Which runs the tables of jobs cover, and why; empty if they cover all runs of the answer."""
        if not self.narrowed:
            return ""
        by_size = {name: self.narrowed[name] for name in self.narrowed_for_size}
        by_price = {name: level for name, level in self.narrowed.items() if name not in by_size}
        sentences = ["The answer above covers all runs."]
        if by_size:
            sentences.append(
                f"The tables of jobs have only runs with {_levels(by_size)}, because more than {self.runs_max:,} match."
            )
        if by_price:
            subject = "Of these, they have" if by_size else "The tables of jobs have"
            factors = "it" if len(by_price) == 1 else "them"
            sentences.append(
                f"{subject} only runs with {_levels(by_price)}, because prices depend on {factors}, and the tables "
                "have one price for each storage layout."
            )
        return " ".join(sentences)


def _levels(levels: Mapping[str, str]) -> str:
    return joined([f"{column_title(name).lower()} {level_text(name, level)}" for name, level in levels.items()])


def job_costs(repository: Repository, table: RunTable, request: JobCostRequest) -> JobCosts:
    """Return what jobs cost over years of use.

    Raises RepositoryError when no run counts, SpecificationError for too many runs, unknown names and missing prices.
    """
    matching_runs = selected(table, request.where)
    matching_runs = matching_runs.subset(
        ~implausible_runs(matching_runs, facts_by_hardware(repository, matching_runs)).rows
    )
    narrowed_levels, for_size = _narrowed_levels(matching_runs, request)
    runs_of_tables = selected(matching_runs, [f"{name}={level}" for name, level in narrowed_levels.items()])
    runs, excluded_count = _runs(repository, runs_of_tables, request)
    similar_runs, _ = (
        _runs(repository, matching_runs, request)
        if narrowed_levels and _is_readable(matching_runs, request)
        else ((), 0)
    )
    decision_request = DecisionRequest(
        STORAGE, request.baseline, request.where, prices=request.prices, years=request.years
    )
    decisions = decisions_of(repository, table, decision_request)
    cheapest = decisions_of(repository, table, replace(decision_request, factor=CHEAPEST, baseline=None))
    # The ratios of the tables are of the runs in the tables: a mean over two networks contradicts the amounts on one.
    decisions_of_tables = decisions
    if narrowed_levels:
        where = (*request.where, *(f"{name}={level}" for name, level in narrowed_levels.items()))
        decisions_of_tables = decisions_of(repository, table, replace(decision_request, where=where))
    view = cost_view(
        runs,
        request.prices,
        decisions=decisions_of_tables,
        years=request.years,
        rounding=request.rounding,
        baseline=baseline_of(table_of(runs), LAYOUT_FACTOR, requested=request.baseline) if runs else None,
        similar=similar_runs,
    )
    prices = run_costs(
        facts_by_hardware(repository, matching_runs), matching_runs, request.prices, request.years
    ).prices
    over_years = costs_over_years(cheapest[0]) if cheapest else None
    return JobCosts(view, decisions, over_years, narrowed_levels, for_size, request.runs_max, prices, excluded_count)


def _is_readable(table: RunTable, request: JobCostRequest) -> bool:
    return request.runs_max is None or len(table) <= request.runs_max


def _runs(repository: Repository, table: RunTable, request: JobCostRequest) -> tuple[Sequence[Run], int]:
    """Return the runs to price, and the number of outliers that are excluded."""
    if not _is_readable(table, request):
        raise SpecificationError(
            f"{len(table):,} runs match, and this view takes {request.runs_max:,} at most",
            where="where",
            hint="choose fewer, for example one workload and one cluster; `decide --details options` takes any number",
        )
    if request.exclude_flagged:
        return without_outliers(repository, table)
    return repository.runs_at(table, range(len(table))), 0


def _narrowed_levels(table: RunTable, request: JobCostRequest) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the levels that the tables are limited to, and the factors that limit them because of their size.

    If more runs match than the tables can cover, the tables have the most common workload, and if needed its most
    common cluster. The tables need one price for each layout. Runs on two networks, for example, have two prices. So
    the tables have the most common level of each factor that prices depend on and the runs vary, except the layout.
    """
    narrowed_levels: dict[str, str] = {}
    for name in ("workload", "cluster"):
        if not _is_readable(table, request) and not any(text.startswith(f"{name}=") for text in request.where):
            narrowed_levels[name] = most_common(table, name)
            table = selected(table, [f"{name}={narrowed_levels[name]}"])
    for_size = tuple(narrowed_levels)
    factors = dict.fromkeys(factor for item in request.prices.items for factor in item.when)
    for name in factors:
        if name not in (LAYOUT_FACTOR, *narrowed_levels) and name in table.columns and len(levels_in(table, name)) > 1:
            narrowed_levels[name] = most_common(table, name)
    return narrowed_levels, for_size


def most_common(table: RunTable, name: str) -> str:
    """Return the level of a column that most runs have; empty where none has one."""
    return next(iter(levels_by_number(table, name)), "")


def compared_jobs_first(rows: Sequence[JobCostRow]) -> tuple[JobCostRow, ...]:
    """Return rows with the jobs that ran on several layouts first, because only these can be compared."""
    layouts = Counter(row.workload for row in rows)
    return tuple(sorted(rows, key=lambda row: layouts[row.workload] < 2))
