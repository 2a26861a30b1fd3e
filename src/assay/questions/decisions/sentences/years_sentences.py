"""Costs over years of use as a short answer: the cheapest option, the price of its cluster, and the next option.

Where no difference in the cost per job is shown, the answer names the option whose cluster has the lower price.

In: the decision on the cheapest option. Out: :class:`CostsOverYears`, which every interface shows. The price of a
cluster is the amount that you pay over these years. The cost per job is a ratio to the baseline, from the decision: in
a lab, a job is smaller than on the priced hardware, so an amount would mean nothing. The prices are those of one
setting, as in ``amount_sentences.py``.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.analysis.comparison.verdict_text import scope_text
from assay.analysis.statistics import RUNS_MIN
from assay.questions.decisions.costs.cluster_prices import compared_prices
from assay.questions.decisions.decision import BaselineCosts, ComparedCost, CostRatio, CostVerdict, Decision
from assay.questions.decisions.sentences.amount_sentences import (
    cheapest_option,
    other_size_text,
    priced_workers_text,
    setting_words,
    years_text,
)
from assay.questions.decisions.sentences.cost_sentences import difference_range, named_options, runs_below_minimum
from assay.questions.decisions.sentences.estimate_text import excludes_one, open_text, where_text
from assay.questions.decisions.sentences.option_words import baseline_text, option_verb
from assay.text import NO_VALUE, capitalised, format_interval, format_ratio, joined, money, scale_text

OPTIONS_PRICED = 3
"""Maximum number of options in the answer, the baseline excepted."""


@dataclass(frozen=True, slots=True)
class OptionOverYears:
    """Costs of one option over the years."""

    option: str
    cluster: float
    """Price of the cluster over the years; of several kinds of hardware, the lowest."""
    cluster_most: float
    """The highest price."""
    cost: float
    """Cost of a job / cost of a job on the baseline: 1 for the baseline."""
    cost_low: float | None
    cost_high: float | None
    """Ends of the 95 % interval; None for the baseline, and with too few runs for a verdict."""
    verdict: str
    """Verdict on the cost of a job against the baseline; empty for the baseline."""


@dataclass(frozen=True, slots=True)
class CostsOverYears:
    """The short answer to "which is the cheapest over years of use?"."""

    years: float
    currency: str
    rented: bool
    """Whether the price of a cluster is its rent."""
    baseline: str
    answer: str
    """The cheapest option, the price of its cluster, and the difference to the next option. Where another option ties
    with it and its cluster has a lower price: the tie, and the lower price."""
    assumptions: str
    """What the cost per job is relative to, and where it was measured."""
    options: tuple[OptionOverYears, ...]
    """The options with the lowest cost per job, then the baseline."""
    further: tuple[OptionOverYears, ...]
    """All other options with a price, by their cost per job."""
    lowest_price: str
    """The option whose cluster has the lowest price, whatever its cost per job."""
    covers: str
    """What the price of a cluster covers."""

    @property
    def by_cost(self) -> tuple[OptionOverYears, ...]:
        """All options with a price, the lowest cost per job first."""
        return tuple(sorted((*self.options, *self.further), key=lambda option: option.cost))

    def cells(self, option: OptionOverYears) -> tuple[str, str, str, str, str]:
        """Return an option as the cells of a table with :attr:`headers`."""
        low, high = option.cost_low, option.cost_high
        return (
            option.option,
            _price_text(option, self.currency),
            f"{format_ratio(option.cost)}×",
            NO_VALUE if low is None or high is None else format_interval(low, high),
            option.verdict or NO_VALUE,
        )

    @property
    def rows(self) -> tuple[tuple[str, str, str, str, str], ...]:
        """The cells of all options, the lowest cost per job first."""
        return tuple(self.cells(option) for option in self.by_cost)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The answer, the lowest price, what the cost per job is relative to, and what prices cover."""
        return self.answer, self.lowest_price, self.assumptions, self.covers

    @property
    def headers(self) -> tuple[str, str, str, str, str]:
        """The heads of the columns of :meth:`cells`."""
        price = "Rent" if self.rented else "Price"
        return "Option", f"{price} for {self.period}", "Cost per job", "95 % interval", "Verdict"

    @property
    def period(self) -> str:
        """The years of use as text: ``3 years``."""
        return years_text(self.years)


def costs_over_years(decision: Decision) -> CostsOverYears | None:
    """Return the short answer of a decision on the cheapest option; None without prices.

    None also where the effect or the result on cost depends on the storage: no option has a single cost then.
    """
    costs, cheapest, currency = decision.baseline_costs, decision.cheapest, decision.currency
    if costs is None or cheapest is None or currency is None or decision.storage_costs is not None:
        return None
    first = cheapest_option(decision)
    assert first is not None
    setting = compared_prices(costs.cluster_prices, decision.baseline, first.option).baseline.setting
    measured = [(price.option, price.setting) for price in costs.cluster_prices]
    all_costs = {option.option: option.cost for option in decision.options if option.cost}
    setting_costs = {
        name: cost for name, cost in all_costs.items() if (name, setting) in measured or name == first.option
    }
    order = sorted(setting_costs, key=lambda name: setting_costs[name].ratio)
    names = order[: max(OPTIONS_PRICED, 1)]
    if cheapest.option == decision.baseline:
        names = [decision.baseline, *names]
    elif decision.baseline not in names:
        names = [*names, decision.baseline]
    options = {name: _option(decision, name, setting_costs.get(name), costs) for name in (decision.baseline, *order)}
    tie = _tie_of_lower_price(decision, options)
    return CostsOverYears(
        years=costs.years,
        currency=currency,
        rented=costs.rented,
        baseline=baseline_text(decision.factor, decision.baseline),
        answer=_answer(decision, costs, options, currency),
        assumptions=_assumptions(decision),
        options=tuple(options[name] for name in names),
        further=tuple(options[name] for name in order if name not in names),
        lowest_price=_lowest_price(
            costs, options[tie.option if tie else cheapest.option], tuple(options.values()), currency
        ),
        covers=_covers(decision, costs)
        + _left_out_text(decision, [name for name in all_costs if name not in setting_costs]),
    )


def _option(decision: Decision, name: str, cost: CostRatio | None, costs: BaselineCosts) -> OptionOverYears:
    text = baseline_text(decision.factor, name)
    first = cheapest_option(decision)
    assert first is not None
    compared_costs = compared_prices(costs.cluster_prices, decision.baseline, first.option)
    price, setting = compared_costs.baseline.price, compared_costs.baseline.setting
    if cost is None:
        return OptionOverYears(text, price, price, 1.0, None, None, "")
    setting_prices = [p.price for p in costs.cluster_prices if p.option == name and p.setting == setting]
    prices = setting_prices or [p.price for p in compared_costs.option]
    low, high = (None, None) if cost.verdict is CostVerdict.NOT_ENOUGH_RUNS else (cost.low, cost.high)
    return OptionOverYears(text, min(prices), max(prices), cost.ratio, low, high, _verdict(cost))


def _verdict(cost: CostRatio) -> str:
    if cost.verdict is CostVerdict.NOT_DISTINGUISHABLE:
        return open_text(cost)
    return cost.verdict.value


def _price_text(option: OptionOverYears, currency: str) -> str:
    return " to ".join(dict.fromkeys(money(price, currency) for price in (option.cluster, option.cluster_most)))


def _answer(decision: Decision, costs: BaselineCosts, options: Mapping[str, OptionOverYears], currency: str) -> str:
    """Return the cheapest option, the price of its cluster, and the difference to the next option with a price."""
    assert decision.cheapest is not None
    cheapest = decision.cheapest
    is_singular = option_verb(decision.factor, cheapest.option) == "is"
    if cheapest.ties:
        claim = f"{'has' if is_singular else 'have'} the lowest mean cost per job"
    else:
        claim = f"{'costs' if is_singular else 'cost'} least per job"
    option = options[cheapest.option]
    text = f"Over {years_text(costs.years)}, {option.option} {claim}: you pay {_price_text(option, currency)}"
    if size := priced_workers_text(costs):
        text = f"{text} for {size}"
    rivals = [rival for rival in cheapest.rivals if rival.option in options]
    if not rivals:
        return f"{text}."
    if (tie := _tie_of_lower_price(decision, options)) is not None:
        return _tie_answer(decision, costs, options, tie, currency)
    rival = min(rivals, key=lambda rival: options[rival.option].cost)
    rival_name = options[rival.option].option
    if rival.low is None or rival.high is None:
        runs = runs_below_minimum(decision)
        need_text = f"needs {RUNS_MIN} runs of each option, not {runs}" if runs is not None else "needs more runs"
        return f"{text}. Whether a job costs less than on {rival_name} is open: a verdict {need_text}."
    verdict = "" if rival.verdict is CostVerdict.CHEAPER else f", {open_text(rival)}"
    difference = difference_range(rival.low, rival.high)
    return f"{text}, and a job costs {difference} than on {rival_name} (95 % interval{verdict})."


def _tie_of_lower_price(decision: Decision, options: Mapping[str, OptionOverYears]) -> ComparedCost | None:
    """Return the option whose cost per job is not distinguishable from the lowest, and whose cluster has the lowest
    price of all these options; None if the cluster of the cheapest option has it, or if prices overlap."""
    assert decision.cheapest is not None
    cheapest = decision.cheapest
    ties = [
        rival
        for rival in cheapest.rivals
        if rival.verdict is CostVerdict.NOT_DISTINGUISHABLE
        and rival.option in options
        and options[rival.option].cluster_most < options[cheapest.option].cluster
    ]
    return min(ties, key=lambda rival: options[rival.option].cluster, default=None)


def _tie_answer(
    decision: Decision, costs: BaselineCosts, options: Mapping[str, OptionOverYears], tie: ComparedCost, currency: str
) -> str:
    """Return that no difference in the cost per job of the cheapest option and ``tie`` is shown, and the lower price
    of the cluster of ``tie``."""
    assert decision.cheapest is not None
    assert tie.low is not None
    assert tie.high is not None
    cheapest, rival = options[decision.cheapest.option], options[tie.option]
    verb = "has" if option_verb(decision.factor, tie.option) == "is" else "have"
    shown_text = "confirmed" if excludes_one(tie) else "shown"
    of_size = f" for {size}" if (size := priced_workers_text(costs)) else ""
    saving = money(cheapest.cluster - rival.cluster_most, currency)
    if len({cheapest.cluster, cheapest.cluster_most}) + len({rival.cluster, rival.cluster_most}) > 2:
        saving = f"at least {saving}"
    difference = difference_range(tie.low, tie.high)
    return (
        f"Over {years_text(costs.years)}, no difference in the cost per job of {cheapest.option} and {rival.option} "
        f"is {shown_text}: a job on the first costs {difference} than on the second (95 % interval). "
        f"{capitalised(rival.option)} {verb} the lower {'rent' if costs.rented else 'price'}: you pay "
        f"{_price_text(rival, currency)}{of_size}, {saving} less."
    )


def _lowest_price(
    costs: BaselineCosts, named_option: OptionOverYears, options: tuple[OptionOverYears, ...], currency: str
) -> str:
    """Return which cluster has the lowest price, which decides where a cluster is often idle.

    ``named_option``: the option with the price that the answer names.
    """
    word = "rent" if costs.rented else "price"
    lowest_text = money(min(option.cluster for option in options), currency)
    if money(named_option.cluster, currency) == lowest_text:
        return f"No other option has a lower {word}."
    names = [option.option for option in options if money(option.cluster, currency) == lowest_text]
    return (
        f"If the cluster is often idle, its {word} decides: the lowest is {lowest_text}, with {named_options(names)}."
    )


def _covers(decision: Decision, costs: BaselineCosts) -> str:
    """Return what the price of a cluster covers: ``Rent: 24 h a day, on cluster m1000-01.``."""
    has_price = {"power": costs.power, "maintenance": costs.maintenance}
    rent = "24 h a day" if costs.rented else "rent, 24 h a day"
    kinds = [name for name, is_priced in (("purchase", costs.purchase), (rent, costs.rent)) if is_priced]
    text = joined([*kinds, *(name for name, is_priced in has_price.items() if is_priced)])
    missing_prices = [name for name, is_priced in has_price.items() if not is_priced]
    unpriced_text = (
        f" Price book {costs.book} of {costs.date} has no separate price for {joined(missing_prices)}."
        if missing_prices
        else ""
    )
    size = f" {capitalised(size)}." if (size := other_size_text(costs)) else ""
    book = unpriced_text or f" Price book {costs.book} of {costs.date}."
    return f"{'Rent' if costs.rented else 'Price'}: {text}{_setting(decision, costs)}.{size}{book}"


def _setting(decision: Decision, costs: BaselineCosts) -> str:
    """Return the setting whose prices are stated, if prices differ between settings: ``, on cluster m1000-01``."""
    first = cheapest_option(decision)
    assert first is not None
    prices = compared_prices(costs.cluster_prices, decision.baseline, first.option)
    return f", {setting_words(prices.setting)}" if prices.setting else ""


def _left_out_text(decision: Decision, options: list[str]) -> str:
    """Return the options that are left out because they share no setting with the baseline."""
    names = named_options([baseline_text(decision.factor, option) for option in options])
    return f" Left out, because they ran in other settings only: {names}." if options else ""


def _assumptions(decision: Decision) -> str:
    """Return what the cost per job is relative to, where it was measured, and what the intervals cover."""
    baseline = baseline_text(decision.factor, decision.baseline)
    scopes = [option.time for option in decision.options if option.cost and option.time]
    lab = f" measured in a lab at scale {scale_text(float(decision.lab_scale))}" if decision.lab_scale else ""
    text = f"Cost per job: relative to {baseline},{where_text(decision)}{lab} ({scope_text(scopes[0].scope)})."
    if len(scopes) > 2:
        text += " Estimated from all options together, not pair by pair."
    if lab:
        text += " It is the ratio of times in the lab, times the ratio of the prices of real hardware."
    has_few_runs = runs_below_minimum(decision) is not None
    return text if has_few_runs else f"{text} Prices count as exact."
