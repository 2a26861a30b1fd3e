"""A decision's costs in absolute amounts, as sentences: the same words on every interface.

In: a priced decision. Out: what a job costs on the baseline and on an option, what three years cost, and the price up
to which the option is cheaper. An option's amount is the baseline's times the decision's ratio, with the interval
of the ratio.
"""

import math
from dataclasses import dataclass

from assay.model import LAYOUT_FACTOR, NETWORK_FACTOR
from assay.questions.decisions.decision import (
    BaselineCosts,
    CaveatKind,
    CostVerdict,
    Decision,
    OptionResult,
    PricedLevels,
)
from assay.questions.decisions.sentences.option_words import compared_option, options_text
from assay.text import column_title, joined, money, money_interval, plural, scale_text, workload_title

_PRICED_NOUNS = {"cluster": "cluster", LAYOUT_FACTOR: "storage layout", NETWORK_FACTOR: "network"}
"""Nouns for the levels of factors that clusters' prices depend on."""


@dataclass(frozen=True, slots=True)
class CostAmounts:
    """Costs of an option compared with the baseline, in absolute amounts."""

    per_job: str
    over_years: str
    break_even: str
    prices: str
    """The price book with its date."""

    @property
    def every(self) -> tuple[str, ...]:
        """All sentences, in the order of reading."""
        return self.per_job, self.over_years, self.break_even, self.prices


def priced_option(decision: Decision) -> OptionResult | None:
    """Return the option whose cost is stated: the leader, or else the first with a cost; None without costs."""
    priced = [option for option in decision.options if option.cost]
    return next((option for option in priced if option.option == decision.leader), next(iter(priced), None))


def cheapest_option(decision: Decision) -> OptionResult | None:
    """Return the option with the lowest cost per job, the baseline excepted; None without costs."""
    priced = [option for option in decision.options if option.cost]
    return min(priced, key=lambda option: option.cost.ratio if option.cost else 0.0, default=None)


def amount_sentences(decision: Decision, option: OptionResult | None = None) -> CostAmounts | None:
    """Return the costs of ``option`` (None: :func:`priced_option`) and the baseline; None without prices."""
    chosen = option or priced_option(decision)
    costs, currency = decision.baseline_costs, decision.currency
    if costs is None or currency is None or chosen is None or chosen.cost is None or chosen.time is None:
        return None
    if chosen.cost.verdict is CostVerdict.NOT_ENOUGH_RUNS:
        return None
    ratio = chosen.cost
    name, baseline = (compared_option(decision, level) for level in (chosen.option, decision.baseline))
    years = plural(round(costs.years), "year") if costs.years == round(costs.years) else f"{costs.years:g} years"

    def amount(factor: float, low: float | None, high: float | None, of: float) -> str:
        """Return ``factor`` and its interval, times an amount of the baseline."""
        text = money(factor * of, currency)
        return text if low is None or high is None else f"{text} ({money_interval(low * of, high * of, currency)})"

    jobs = {job.workload: job for job in costs.jobs}
    results = [
        (jobs[result.workload], result.cost)
        for result in decision.results
        if result.option == chosen.option and result.cost and result.workload in jobs
    ]
    job, of_job = max(results, key=lambda pair: pair[0].runs)
    known = f"{money_interval(job.low, job.high, currency)}, " if job.low is not None else ""
    on_option = amount(of_job.ratio, of_job.low, of_job.high, job.cost)
    per_job = (
        f"A job of {workload_title(job.workload)} costs {money(job.cost, currency)} "
        f"({known}mean of {plural(job.runs, 'matched run')}) on {baseline}, and {on_option} on {name}."
    )
    work = f" The same work costs {money(costs.hardware, currency)} on {baseline} and "
    work += f"{amount(ratio.ratio, ratio.low, ratio.high, costs.hardware)} on {name}."
    if decision.lab_scale:
        scale = scale_text(float(decision.lab_scale))
        per_job = f"Measured at scale {scale}, so costs per job are ratios: the prices are of full-size hardware."
        work = ""
    hardware = money(costs.hardware, currency)
    if math.isclose(ratio.price_ratio, 1.0):
        over_years = f"{_what_is_paid(costs, years)}: {hardware} with both.{work}"
        break_even = f"The price of a cluster is the same with {name}, so there is no break-even price."
        return CostAmounts(per_job, over_years, break_even, _prices_text(costs, currency))
    over_years = (
        f"{_what_is_paid(costs, years)}: {hardware} with {baseline}, "
        f"{money(costs.hardware * ratio.price_ratio, currency)} with {name}.{work}"
    )
    low, high = (None if end is None else ratio.price_ratio / end for end in (ratio.high, ratio.low))
    limit = amount(ratio.break_even_price_ratio, low, high, costs.hardware)
    break_even = f"A job costs less on {name} if its cluster costs less than {limit} over {years}."
    return CostAmounts(per_job, over_years, break_even, _prices_text(costs, currency))


def _what_is_paid(costs: BaselineCosts, years: str) -> str:
    """Return what the cost of the cluster is: ``Rent for 3 years, used 24 h a day, mean of Ethernet and InfiniBand``.

    Several factors with different prices are counted: ``mean over 2 clusters and 2 networks``.
    """
    text = f"{f'Rent for {years}' if costs.rented else f'Cost of the cluster over {years}'}, used 24 h a day"
    return f"{text}{mean_of_prices(costs)}"


def mean_of_prices(costs: BaselineCosts) -> str:
    """Return the levels over which the price of a cluster is a mean: ``, mean of the prices with ...``."""
    if not costs.price_levels:
        return ""
    first, *others = costs.price_levels
    if not others and len(first.levels) == 2:
        return f", mean of the prices with {options_text(first.factor, first.levels)}"
    return f", mean over {joined([_number_of_levels(levels) for levels in costs.price_levels])}"


def _number_of_levels(levels: PricedLevels) -> str:
    """Return ``2 networks``, or ``2 levels of HDFS copies`` for a factor without a plural."""
    number, noun = len(levels.levels), _PRICED_NOUNS.get(levels.factor)
    return plural(number, noun) if noun else f"{number} levels of {column_title(levels.factor)}"


def _prices_text(costs: BaselineCosts, currency: str) -> str:
    return f"Price book {costs.book} of {costs.date}, in {currency}. Intervals are of 95 %."


def missing_amounts(decision: Decision) -> str:
    """Return why a decision has no amounts of money."""
    if decision.currency is None:
        return "Not priced: no price book is loaded. The option --prices FILE adds costs."
    chosen = priced_option(decision)
    if chosen and chosen.cost and chosen.cost.verdict is CostVerdict.NOT_ENOUGH_RUNS:
        return "Not enough runs for a verdict on costs, so no amounts are stated."
    unpriced = [caveat.text for caveat in decision.caveats if caveat.kind is CaveatKind.UNPRICED]
    return " ".join(["Not priced.", *unpriced])
