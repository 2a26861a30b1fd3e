"""Answer "which configuration costs least per run?", and show time against cost for each configuration.

In: a :class:`RunTable`, recorded facts of clusters, a price book. Out: one :class:`JobCostEffectiveness` for each job
(a workload with its size, origin and scale: only runs of one job have comparable times). A row is one combination of
levels of the factors in ``by``, for example a layout with a network.

A decision over the runs of the job (``decisions/decide.py``) ranks the rows, because it compares only runs that are
equal in every other factor. The means in a row are over all its runs, which may differ in other factors. The cheapest
option and its ties come first, then options that cost more, then options without a verdict.

``take`` selects the runs of a row (``cost_runs.py``). Outliers count unless they are excluded. Runs with an implausible
data size count neither here nor in any other decision (``clusters/cluster_facts.py``). Configurations without a price
are excluded, with the reason.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from assay.analysis.comparison.factors.derived_factors import with_factors
from assay.analysis.comparison.matched import session_spread
from assay.analysis.cost.pareto import CostAndTime, estimate_time_and_cost, priced_rates
from assay.analysis.cost.rate import Price, Rate, hourly_rate, rate_in_currency
from assay.analysis.cost.run_cost import Times, cost_per_run, mean_errors, ranks, times_of
from assay.analysis.cost.switching_prices import compute_switching_prices
from assay.analysis.outliers.data_sizes import ImplausibleSizes
from assay.analysis.statistics import (
    ABSENT,
    FACTOR_SYNONYMS,
    Ints,
    RunTable,
    groups_by,
    log_errors_max_in,
    same_work,
    usable,
)
from assay.analysis.statistics.sessions import SessionVariance
from assay.foundation.errors import RepositoryError, SpecificationError, did_you_mean
from assay.model import LAYOUT_FACTOR, NETWORK_FACTOR, WORKERS_FACTOR, PriceBook
from assay.questions.clusters.cluster_facts import FactsByHardware, facts_by_hardware, implausible_runs, priced_parts
from assay.questions.costs.cost_rows import (
    VERDICT_ORDER,
    CostEffectivenessRequest,
    CostEffectivenessRow,
    JobCostEffectiveness,
    RowVerdict,
    SwitchingPriceRow,
)
from assay.questions.costs.cost_runs import ChosenRuns, choose, spread_of_rows, valid_runs
from assay.questions.decisions.buyer import varied
from assay.questions.decisions.costs.run_costs import RunCosts, run_costs
from assay.questions.decisions.decide import decide
from assay.questions.decisions.decision import Decision, DecisionRequest
from assay.questions.decisions.sentences.cost_sentences import runs_below_minimum
from assay.store import Repository


@dataclass(frozen=True, slots=True)
class _JobRows:
    """Rows of the table that belong to one job."""

    counted: Ints
    flagged: Ints
    left_out: int
    """Number of runs that do not count. Excluded outliers and implausible runs are counted separately."""


def default_factors(table: RunTable) -> tuple[str, ...]:
    """Return the factors of the rows where none are named: layout, network, and cluster and workers if they vary."""
    names = [name for name in (LAYOUT_FACTOR, NETWORK_FACTOR) if name in table.columns]
    varied_names = [name for name in ("cluster", WORKERS_FACTOR) if name in table.columns and varied(table, name)]
    return (*names, *varied_names)


def _shared_levels(table: RunTable, chosen_runs: ChosenRuns, names: Sequence[str]) -> list[dict[str, str]]:
    """Return, for each row, the levels that all its runs share."""
    shared_levels: list[dict[str, str]] = [{} for _ in chosen_runs.example]
    for name in names:
        column = table.columns[name]
        codes = column.codes[chosen_runs.rows]
        is_same = np.ones(len(chosen_runs.example), dtype=np.bool_)
        is_same[chosen_runs.code[codes != column.codes[chosen_runs.example][chosen_runs.code]]] = False
        for row, level in enumerate(column.codes[chosen_runs.example]):
            if is_same[row] and level != ABSENT:
                shared_levels[row][name] = column.levels[level]
    return shared_levels


def _rates(
    levels: Sequence[dict[str, str]], facts: FactsByHardware, book: PriceBook, request: CostEffectivenessRequest
) -> tuple[list[Rate | None], dict[str, str]]:
    """Return the hourly rate of each row (None without a price), and why the book does not price the others."""
    rates: list[Rate | None] = []
    unpriced: dict[str, str] = {}
    for row_levels in levels:
        layout = row_levels.get(LAYOUT_FACTOR, "")
        try:
            rate = hourly_rate(book, priced_parts(facts, row_levels), layout, on=request.on)
            if not rate.per_h:
                raise SpecificationError(f"price book {book.name!r} prices layout {layout} at 0")
            rates.append(rate_in_currency(rate, book, request.currency or book.currency))
        except SpecificationError as error:
            rates.append(None)
            unpriced[" ".join(row_levels[name] for name in request.by if name in row_levels)] = error.message
    return rates, unpriced


def _end(end: float, value: float) -> float | None:
    """Return an interval's end; None where it is unknown, or all times are equal."""
    return None if not math.isfinite(end) or math.isclose(end, value, rel_tol=1e-9) else float(end)


def _rows(
    means: CostAndTime,
    times: Times,
    rates: Sequence[Rate],
    levels: Sequence[dict[str, str]],
    chosen_runs: ChosenRuns,
    kept_rows: Sequence[int],
    by: Sequence[str],
) -> list[CostEffectivenessRow]:
    costs = [cost_per_run(rate.per_h, float(s)) for rate, s in zip(rates, times.mean_s, strict=True)]
    common_levels = set.intersection(*(set(levels[row].items()) for row in kept_rows))
    rows = []
    front, shares = means.front_of(range(len(kept_rows)))
    for number, row in enumerate(kept_rows):
        cost, time_s = float(costs[number]), float(times.mean_s[number])
        rows.append(
            CostEffectivenessRow(
                rank=None,
                group=None,
                verdict=RowVerdict.NOT_COMPARED,
                levels={name: levels[row][name] for name in by if name in levels[row]},
                configuration={k: v for k, v in levels[row].items() if k not in by and (k, v) not in common_levels},
                n=int(times.n[number]),
                n_all=int(chosen_runs.n_all[row]),
                flagged=int(chosen_runs.flagged[row]),
                time_s=time_s,
                time_low_s=_end(means.time_low_s[number], time_s),
                time_high_s=_end(means.time_high_s[number], time_s),
                rate_per_h=rates[number].per_h,
                cost=costs[number],
                cost_low=_end(means.cost_low[number], cost),
                cost_high=_end(means.cost_high[number], cost),
                borrowed=bool(means.borrowed[number]),
                on_pareto_front=bool(front[number]),
                pareto_front_probability=None if shares is None else float(shares[number]),
                rate=rates[number],
            )
        )
    return rows


def _unranked_view(
    table: RunTable, job: _JobRows, facts: FactsByHardware, book: PriceBook, request: CostEffectivenessRequest
) -> tuple[JobCostEffectiveness, CostAndTime | None]:
    """Return times, costs, Pareto front and switching prices of one job, not yet ranked; None without a row."""
    chosen_runs = choose(table, job.counted, job.flagged, request.by, request.take)
    levels = _shared_levels(table, chosen_runs, table.factors)
    rates, unpriced = _rates(levels, facts, book, request)
    kept_rows = [row for row, rate in enumerate(rates) if rate is not None]
    view_without_rows = _without_rows(table, chosen_runs, book, request, unpriced)
    view_without_rows = replace(view_without_rows, left_out=job.left_out, flagged=len(job.flagged))
    if not kept_rows:
        return view_without_rows, None
    new = np.full(len(rates), -1, dtype=np.int64)
    new[kept_rows] = np.arange(len(kept_rows))
    code = new[chosen_runs.code]
    runs, code = chosen_runs.rows[code >= 0], code[code >= 0]
    times = times_of(table.values["duration_s"][runs], code, len(kept_rows), log_errors_max_in(table, runs, sides=1))
    known_rates = [rate for rate in rates if rate is not None]
    prices = priced_rates(known_rates)
    if request.take == "fastest":  # the fastest run of a row is an extreme value, so its error is unknown
        errors = mean_errors(times, math.nan, 0.0)
    else:
        examples = chosen_runs.example[kept_rows]
        errors = mean_errors(times, *spread_of_rows(table, job.counted, request.by, request.take, examples))
    means = estimate_time_and_cost(times, prices, errors, seed=request.seed)
    rows = _rows(means, times, known_rates, levels, chosen_runs, kept_rows, request.by)
    return replace(
        view_without_rows, rows=tuple(rows), switching_prices=_switching_prices([rows]), draws=means.draws
    ), means


def _switching_prices(groups: Sequence[Sequence[CostEffectivenessRow]]) -> tuple[SwitchingPriceRow, ...]:
    """Return, for each price, the nearest price at which another row of a group has the lowest mean cost of its group.

    Rows of different groups cannot be compared, so no row takes the place of a row of another group.
    """
    nearest_by_price: dict[Price, SwitchingPriceRow] = {}
    for rows in groups:
        times_s = np.array([row.time_s for row in rows])
        for change in compute_switching_prices(times_s, priced_rates([row.rate for row in rows])):
            nearest_price = nearest_by_price.get(change.price) or SwitchingPriceRow(
                change.price, None, None, None, None, False
            )
            below, above = change.below, change.above
            if below is not None and change.below_winner is not None and below > (nearest_price.below or -1.0):
                nearest_price = replace(nearest_price, below=below, below_winner=rows[change.below_winner].label)
            if above is not None and change.above_winner is not None and above < (nearest_price.above or math.inf):
                nearest_price = replace(nearest_price, above=above, above_winner=rows[change.above_winner].label)
            nearest_by_price[change.price] = replace(
                nearest_price, within_range=nearest_price.within_range or change.within_range
            )
    return tuple(nearest_by_price.values())


def _without_rows(
    table: RunTable,
    chosen_runs: ChosenRuns,
    book: PriceBook,
    request: CostEffectivenessRequest,
    unpriced: dict[str, str],
) -> JobCostEffectiveness:
    """Return the answer for a job without its rows: the job, the price book and the request."""
    example = int(chosen_runs.example[0])
    texts = {name: table.columns[name].text(example) for name in same_work(table)}
    return JobCostEffectiveness(
        job={name: text for name, text in texts.items() if text is not None},
        book=book.name,
        currency=request.currency or book.currency,
        date=request.on or book.date,
        source=book.source,
        by=request.by,
        take=request.take,
        rows=(),
        switching_prices=(),
        unpriced=unpriced,
        set_apart={},
        left_out=0,
        flagged=0,
        includes_flagged=not request.exclude_flagged,
        draws=0,
        decision=None,
        further_decisions=(),
    )


def _ranked_view(
    view: JobCostEffectiveness, means: CostAndTime, table: RunTable, costs: RunCosts, spread: SessionVariance
) -> JobCostEffectiveness:
    """Return the answer with the decision over the runs of its job (``table``), and with its rows ranked by it.

    ``means``: times and costs of the rows, in the order of the rows.
    """
    varied_names = [name for name in view.by if len({row.levels.get(name) for row in view.rows}) > 1]
    decisions = decide(table, DecisionRequest(",".join(varied_names)), costs, spread) if varied_names else ()
    options = [" + ".join(row.levels.get(name, "") for name in varied_names) for row in view.rows]
    groups = []
    for decision in (item for item in decisions if item.cheapest):
        verdicts = [_row_verdict(decision, option) for option in options]
        compared_costs = [
            row.cost for row, verdict in zip(view.rows, verdicts, strict=True) if verdict in VERDICT_ORDER[:3]
        ]
        groups.append((min(compared_costs, default=Decimal("Infinity")), decision, verdicts))
    groups.sort(key=lambda group: group[0])
    with_ranks = [group for group in groups if group[0].is_finite()] or groups[:1]
    if len(with_ranks) > 1:
        view = replace(
            view, rows=_with_front_of_each_group(view.rows, means, [verdicts for _, _, verdicts in with_ranks])
        )
    rows: list[CostEffectivenessRow] = []
    for number, (_, _, verdicts) in enumerate(with_ranks, start=1):
        rows += _rows_of_group(number, [replace(row, verdict=v) for row, v in zip(view.rows, verdicts, strict=True)])
    ranked_labels = {row.label for row in rows}
    unranked_rows = [
        replace(
            row, verdict=min((verdicts[n] for _, _, verdicts in groups), key=VERDICT_ORDER.index, default=row.verdict)
        )
        for n, row in enumerate(view.rows)
        if row.label not in ranked_labels
    ]
    if len(with_ranks) > 1:
        rows_of_groups = [[row for row in rows if row.group == number] for number in range(1, len(with_ranks) + 1)]
        view = replace(view, switching_prices=_switching_prices(rows_of_groups))
    rows += sorted(unranked_rows, key=lambda row: (VERDICT_ORDER.index(row.verdict), row.cost, row.time_s))
    ranked_decisions = tuple(decision for _, decision, _ in with_ranks)
    return replace(
        view,
        rows=tuple(rows),
        decision=ranked_decisions[0] if ranked_decisions else None,
        further_decisions=ranked_decisions[1:],
    )


def _with_front_of_each_group(
    rows: Sequence[CostEffectivenessRow], means: CostAndTime, verdicts: Sequence[Sequence[RowVerdict]]
) -> tuple[CostEffectivenessRow, ...]:
    """Return the rows with a Pareto front for each group; a row without a group is on no front.

    ``verdicts``: for each group, the verdict on each row.
    """
    fronts: dict[int, tuple[bool, float | None]] = {}
    for group_verdicts in verdicts:
        members = [number for number, verdict in enumerate(group_verdicts) if verdict in VERDICT_ORDER[:3]]
        front, shares = means.front_of(members)
        for position, number in enumerate(members):
            fronts[number] = bool(front[position]), None if shares is None else float(shares[position])
    return tuple(
        replace(row, on_pareto_front=on_front, pareto_front_probability=share)
        for row, (on_front, share) in ((row, fronts.get(number, (False, None))) for number, row in enumerate(rows))
    )


def _rows_of_group(number: int, rows: Sequence[CostEffectivenessRow]) -> list[CostEffectivenessRow]:
    """Return the rows that have a verdict in a connected group, with their ranks in it, the cheapest first."""
    rows = sorted(
        (row for row in rows if row.verdict in VERDICT_ORDER[:3]),
        key=lambda row: (VERDICT_ORDER.index(row.verdict), row.cost, row.time_s),
    )
    dearer_costs = [row.cost for row in rows if row.verdict is RowVerdict.DEARER]
    first = len(rows) - len(dearer_costs)
    row_ranks = [1] * first + [first + rank for rank in ranks(dearer_costs)]
    return [replace(row, rank=rank, group=number) for row, rank in zip(rows, row_ranks, strict=True)]


def _row_verdict(decision: Decision | None, option: str) -> RowVerdict:
    if decision is None or decision.cheapest is None:
        return RowVerdict.NOT_COMPARED
    result = next((result for result in decision.options if result.option == option), None)
    has_cost = option == decision.baseline or (result and result.cost)
    if has_cost and runs_below_minimum(decision) is not None:
        return RowVerdict.NOT_ENOUGH_RUNS
    if option == decision.cheapest.option:
        return RowVerdict.CHEAPEST if not decision.cheapest.ties else RowVerdict.TIE
    if option in decision.cheapest.ties:
        return RowVerdict.TIE
    if has_cost:
        return RowVerdict.DEARER
    rows = [row for row in decision.results if row.option == option]
    return RowVerdict.NOT_ENOUGH_RUNS if any(row.time for row in rows) else RowVerdict.NOT_COMPARED


def _implausible_reasons(
    table: RunTable, rows: Ints, implausible: ImplausibleSizes, by: Sequence[str]
) -> dict[str, str]:
    """Return why the implausible rows of one job do not count, by their levels of the factors in ``by``."""
    labels: dict[str, list[int]] = {}
    for row in rows.tolist():
        levels = [table.columns[name].text(row) for name in by]
        labels.setdefault(" ".join(level for level in levels if level), []).append(row)
    return {label: implausible.reason(np.array(positions)) for label, positions in labels.items()}


def cost_effectiveness_of_table(
    table: RunTable,
    facts: FactsByHardware,
    book: PriceBook,
    request: CostEffectivenessRequest,
    all_runs: RunTable | None = None,
) -> list[JobCostEffectiveness]:
    """Return the answer for each job with a run that counts, in the order in which the jobs first ran.

    ``all_runs``: runs from which the variance between sessions is estimated; None: these runs. Raises RepositoryError
    when no run counts, SpecificationError when the book has no price for any run.
    """
    for name in request.by:
        if name not in table.factors:
            raise SpecificationError(
                f"no run has a factor {name!r}",
                hint=f"{did_you_mean(name, table.factors, FACTOR_SYNONYMS)}there is {', '.join(table.factors)}",
            )
    jobs = groups_by(table, same_work(table))
    valid_and_flagged = valid_runs(table, jobs, exclude_flagged=request.exclude_flagged)
    implausible_sizes = implausible_runs(table, facts)
    rows = np.flatnonzero(valid_and_flagged.counts & ~implausible_sizes.rows)
    if not len(rows):
        raise RepositoryError(
            "there is no valid run to price" + (" that is not flagged" if request.exclude_flagged else ""),
            hint="`assay runs` lists the runs and why they do not count",
        )
    job_of_row = jobs.of_row[rows]
    order = np.argsort(job_of_row, kind="stable")
    ends = np.cumsum(np.bincount(job_of_row, minlength=jobs.count))
    parts = [part for part in np.split(rows[order], ends[:-1]) if len(part)]
    parts.sort(key=lambda part: int(part[0]))
    views, outliers = [], np.flatnonzero(valid_and_flagged.flagged)
    costs = run_costs(facts, table, book, on=request.on)
    spread = session_spread(table if all_runs is None else all_runs)
    counts_for_decision = usable(table) & ~implausible_sizes.rows
    if request.exclude_flagged:
        counts_for_decision &= ~valid_and_flagged.flagged
    for part in parts:
        is_in_job = jobs.of_row == jobs.of_row[part[0]]
        flagged_rows, implausible_rows = (
            outliers[is_in_job[outliers]],
            np.flatnonzero(implausible_sizes.rows & is_in_job),
        )
        excluded_count = len(implausible_rows) + (len(flagged_rows) if request.exclude_flagged else 0)
        job = _JobRows(part, flagged_rows, int(is_in_job.sum()) - len(part) - excluded_count)
        view, means = _unranked_view(table, job, facts, book, request)
        if means is not None and len(view.rows) > 1:
            runs = np.flatnonzero(counts_for_decision & is_in_job)
            view = _ranked_view(view, means, table.subset(runs), costs.subset(runs), spread)
        views.append(
            replace(view, set_apart=_implausible_reasons(table, implausible_rows, implausible_sizes, request.by))
        )
    if not any(view.rows for view in views):
        raise SpecificationError(next(iter(views[0].unpriced.values())))
    return views


def cost_effectiveness(
    repository: Repository,
    table: RunTable,
    book: PriceBook,
    request: CostEffectivenessRequest | None = None,
    all_runs: RunTable | None = None,
) -> list[JobCostEffectiveness]:
    """Return the answer for each job. Prices apply to the hardware that a run on each cluster and layout recorded."""
    request = request or CostEffectivenessRequest()
    table = with_factors(table, request.by)
    facts = facts_by_hardware(repository, table)
    request = request if request.by else replace(request, by=default_factors(table))
    return cost_effectiveness_of_table(table, facts, book, request, all_runs)
