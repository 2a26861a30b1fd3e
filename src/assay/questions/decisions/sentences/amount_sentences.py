"""A decision's costs in absolute amounts, as sentences: the same words on every interface.

In: a priced decision. Out: what a job costs on the baseline and on an option, what three years cost, and the price up
to which the option is cheaper. Prices of clusters are those of one setting, which the sentence names
(``costs/cluster_prices.py``). The cost of the same work and the break-even price are the baseline's price times the
decision's ratios, with their intervals.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from assay.questions.decisions.costs.cluster_prices import ComparedPrices, compared_prices
from assay.questions.decisions.decision import (
    BaselineCost,
    BaselineCosts,
    CaveatKind,
    ClusterPrice,
    CostRatio,
    CostVerdict,
    Decision,
    OptionResult,
)
from assay.questions.decisions.sentences.estimate_text import excludes_one
from assay.questions.decisions.sentences.option_words import compared_option, option_text, option_verb
from assay.text import capitalised, joined, levels_text, money, money_interval, plural, scale_text, workload_title


@dataclass(frozen=True, slots=True)
class CostAmounts:
    """Costs of an option compared with the baseline, in absolute amounts."""

    per_job: str
    over_years: str
    """Prices of both clusters over the years."""
    over_years_details: str
    """Prices in all compared settings, and for equal work; may be empty."""
    break_even: str
    prices: str
    """The price book with its date."""
    workload: str
    """The workload of the job: that with the most matched runs."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """All sentences, in the order of reading."""
        sentences = (self.per_job, self.over_years, self.over_years_details, self.break_even, self.prices)
        return tuple(filter(None, sentences))


def priced_option(decision: Decision) -> OptionResult | None:
    """Return the option whose cost is stated: the named one, or else the first with a cost; None without costs."""
    named_option = decision.named_option
    if named_option and named_option.cost:
        return named_option
    return next((option for option in decision.options if option.cost), None)


def cheapest_option(decision: Decision) -> OptionResult | None:
    """Return the option with the lowest cost per job, the baseline excepted; None without costs."""
    priced_options = [option for option in decision.options if option.cost]
    if decision.cheapest and decision.cheapest.option != decision.baseline:
        return decision.option(decision.cheapest.option)
    return min(priced_options, key=lambda option: option.cost.ratio if option.cost else 0.0, default=None)


def _amount(currency: str, factor: float, low: float | None, high: float | None, of: float) -> str:
    """Return ``factor`` and its interval, times an amount of the baseline."""
    text = money(factor * of, currency)
    return text if low is None or high is None else f"{text} ({money_interval(low * of, high * of, currency)})"


def amount_sentences(decision: Decision, option: OptionResult | None = None) -> CostAmounts | None:
    """Return the costs of ``option`` (None: :func:`priced_option`) and the baseline; None without prices."""
    priced_result = option or priced_option(decision)
    costs, currency = decision.baseline_costs, decision.currency
    if (
        costs is None
        or currency is None
        or priced_result is None
        or priced_result.cost is None
        or priced_result.time is None
    ):
        return None
    if priced_result.cost.verdict is CostVerdict.NOT_ENOUGH_RUNS:
        return None
    ratio = priced_result.cost
    name, baseline = (compared_option(decision, level) for level in (priced_result.option, decision.baseline))
    years = years_text(costs.years)
    amount = partial(_amount, currency)
    jobs = {job.workload: job for job in costs.jobs}
    results = [
        (jobs[result.workload], result.cost)
        for result in decision.results
        if result.option == priced_result.option and result.cost and result.workload in jobs
    ]
    job, job_ratio = max(results, key=lambda pair: pair[0].runs)
    title = workload_title(job.workload)
    of_most_runs = f" {title} has the most matched runs." if len(results) > 1 else ""
    interval = f" ({money_interval(job.low, job.high, currency)})" if job.low is not None else ""
    on_option = amount(job_ratio.ratio, job_ratio.low, job_ratio.high, job.cost)
    per_job = (
        f"A job of {title} costs {money(job.cost, currency)}{interval} on {baseline}, and {on_option} on {name}. "
        f"{_matched_runs_sentence(decision, job, baseline)}{of_most_runs}"
    )
    prices = compared_prices(costs.cluster_prices, decision.baseline, priced_result.option)
    price = prices.baseline.price
    baseline_does = _agreeing_word(decision, decision.baseline, "does", "do")
    cost = _agreeing_word(decision, priced_result.option, "costs", "cost")
    work = f"For the work that {baseline} {baseline_does} in {years} ({money(price, currency)}), "
    work += f"{name} {cost} {amount(ratio.ratio, ratio.low, ratio.high, prices.same_work(ratio.price_ratio))}."
    if decision.lab_scale:
        scale = scale_text(float(decision.lab_scale))
        per_job = f"Measured at scale {scale}, so costs per job are ratios: the prices are of full-size hardware."
        work = ""
    of_cluster = f" of {text}" if (text := priced_workers_text(costs)) else ""
    period = f"Rent{of_cluster} for {years}" if costs.rented else f"Cost{of_cluster or ' of the cluster'} over {years}"
    subject = f"{period}, used 24 h a day{_setting_text(prices)}"
    size = f" {capitalised(text)}." if (text := other_size_text(costs)) else ""
    if prices.is_equal:
        over_years = f"{subject}: {money(price, currency)} with both.{size}"
        break_even = f"The price of a cluster is the same with {name}, so there is no break-even price."
        return CostAmounts(per_job, over_years, work, break_even, _prices_text(costs, currency), job.workload)
    option_price_text = _price_range(prices.option, currency)
    over_years = (
        f"{subject}: {money(price, currency)} with {baseline}{_hardware_text([prices.baseline])}, "
        f"{option_price_text} with {name}{_hardware_text(prices.option)}.{size}"
    )
    all_prices = _all_prices(prices, currency)
    if decision.storage_difference is not None or decision.storage_costs is not None:
        what_depends = "effect" if decision.storage_difference is not None else "result on cost"
        break_even = f"The {what_depends} depends on the storage, so there is no single break-even price."
        return CostAmounts(per_job, over_years, all_prices, break_even, _prices_text(costs, currency), job.workload)
    details = " ".join(filter(None, (all_prices, work)))
    price_text = f"{option_price_text} over {years}{_setting_text(prices)}"
    break_even = _break_even(decision, priced_result, ratio, prices, amount, price_text)
    return CostAmounts(per_job, over_years, details, break_even, _prices_text(costs, currency), job.workload)


def _matched_runs_sentence(decision: Decision, job: BaselineCost, baseline: str) -> str:
    """Return which runs the baseline's amount is the mean of: another question has another amount for this option."""
    options = {result.option for result in decision.results if result.workload == job.workload and result.cost}
    matched_options = compared_option(decision, options.pop()) if len(options) == 1 else "another option"
    where = f" on {plural(len(job.clusters), 'cluster')}" if len(job.clusters) > 1 else ""
    verb = "matches" if job.runs == 1 else "match"
    return (
        f"The amount on {baseline} is the mean of the {plural(job.runs, 'run')}{where} that {verb} runs on "
        f"{matched_options}. Another question matches other runs, so its amount can differ."
    )


def _break_even(
    decision: Decision,
    priced_result: OptionResult,
    ratio: CostRatio,
    prices: ComparedPrices,
    amount: Callable[[float, float | None, float | None, float], str],
    price_text: str,
) -> str:
    """Return whether an option pays at its price, and up to which price of the cluster over the years it does.

    ``amount``: a break-even price as text; ``price_text``: the price of the option with the years and its setting.
    """
    low, high = (None if end is None else ratio.price_ratio / end for end in (ratio.high, ratio.low))
    limit = amount(ratio.break_even_price_ratio, low, high, prices.baseline.price)
    name = compared_option(decision, priced_result.option)
    words = (("pays", "pay"), ("it pays", "they pay"), ("its", "their"), ("does", "do"))
    pay, they_pay, their, does = (_agreeing_word(decision, priced_result.option, *pair) for pair in words)
    match ratio.verdict:
        case CostVerdict.NOT_DISTINGUISHABLE:
            price_ratios = [price.price / prices.baseline.price for price in prices.option]
            is_outside = low is not None and high is not None and not any(low <= paid <= high for paid in price_ratios)
            why = "Open in the mean over the compared settings" if is_outside else "Open"
            why = "Open, because the difference in cost is not confirmed" if excludes_one(ratio) else why
            return f"{why}: the break-even price of the cluster with {name} is {limit}; it costs {price_text}."
        case CostVerdict.DEARER:
            return (
                f"{capitalised(name)} {does} not pay off at this price: {their} cluster costs {price_text}; "
                f"{they_pay} off up to {limit}."
            )
        case _:
            return (
                f"{capitalised(name)} {pay} off at this price: {their} cluster costs {price_text}; "
                f"{they_pay} off up to {limit}."
            )


def _agreeing_word(decision: Decision, option: str, singular: str, plural: str) -> str:
    """Return the word that agrees with the number of an option's name."""
    return singular if option_verb(decision.factor, option) == "is" else plural


def years_text(years: float) -> str:
    """Return ``3 years``, ``1 year`` or ``2.5 years``."""
    return plural(round(years), "year") if years == round(years) else f"{years:g} years"


def _setting_text(prices: ComparedPrices) -> str:
    """Return the setting of the prices, if prices differ between settings: ``, with Ethernet on cluster m1000-01``."""
    with_ = "with " if set(prices.setting) - {"cluster"} else ""
    return f", {with_}{setting_words(prices.setting)}" if prices.setting else ""


def priced_workers_text(costs: BaselineCosts) -> str:
    """Return the size of the priced clusters, ``a cluster with 8 workers``, if the runs had other sizes; else empty."""
    numbers = {size.workers_priced for size in costs.other_sizes}
    return f"a cluster with {plural(numbers.pop(), 'worker')}" if len(numbers) == 1 else ""


def other_size_text(costs: BaselineCosts) -> str:
    """Return that prices are for clusters with another number of workers than the runs had; empty if they are not."""
    sizes = [size for size in costs.other_sizes if size.workers] or list(costs.other_sizes)
    clauses = [
        f"price book {costs.book} prices a cluster with {plural(size.workers_priced, 'worker')}, and the runs "
        + (f"had {size.workers:,}" if size.workers else "do not record their number")
        for size in sizes
    ]
    return joined(list(dict.fromkeys(clauses)))


def setting_words(levels: Mapping[str, str]) -> str:
    """Return levels in words, the cluster last: ``Ethernet on cluster m1000-01``."""
    other_levels_text = joined([option_text(name, level) for name, level in levels.items() if name != "cluster"])
    on_cluster = f"on cluster {levels['cluster']}" if "cluster" in levels else ""
    return " ".join(filter(None, (other_levels_text, on_cluster)))


def _hardware_text(prices: Sequence[ClusterPrice]) -> str:
    """Return the hardware of prices where an option has several kinds of it: `` (1 SSD (SSD) to 2 SSDs (SS2))``."""
    names = list(dict.fromkeys(levels_text(price.hardware) for price in prices if price.hardware))
    return f" ({names[0]}{f' to {names[-1]}' if len(names) > 1 else ''})" if names else ""


def _price_range(prices: Sequence[ClusterPrice], currency: str) -> str:
    """Return the lowest price to the highest: ``$110,376 to $128,772``; one amount if they are equal."""
    ends = [money(end, currency) for end in (min(p.price for p in prices), max(p.price for p in prices))]
    return " to ".join(dict.fromkeys(ends))


def _all_prices(prices: ComparedPrices, currency: str) -> str:
    """Return the range of the prices of both options over the settings that they share; empty for one setting."""
    ranges = []
    for prices_of_side in ([prices.baseline], prices.option):
        prices_of_settings = [price for price in prices.settings if price.option == prices_of_side[0].option]
        ranges.append(
            (_price_range(prices_of_settings or prices_of_side, currency), _price_range(prices_of_side, currency))
        )
    if all(prices_of_settings == prices_of_side for prices_of_settings, prices_of_side in ranges):
        return ""
    return f"In all compared settings: {ranges[0][0]} and {ranges[1][0]}."


def _prices_text(costs: BaselineCosts, currency: str) -> str:
    return f"Price book {costs.book} of {costs.date}, in {currency}. Intervals are of 95 %."


def missing_amounts(decision: Decision) -> str:
    """Return why a decision has no amounts of money."""
    if decision.currency is None:
        return "Not priced: no price book is loaded. The option --prices FILE adds costs."
    priced_result = priced_option(decision)
    if priced_result and priced_result.cost and priced_result.cost.verdict is CostVerdict.NOT_ENOUGH_RUNS:
        return "Not enough runs for a verdict on costs, so no amounts are stated."
    unpriced = [caveat.text for caveat in decision.caveats if caveat.kind is CaveatKind.UNPRICED]
    return " ".join(["Not priced.", *unpriced])
