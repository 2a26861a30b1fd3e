"""Costs over years of use as a short answer: the cheapest options with their prices, and what the prices cover.

In: the decision on the cheapest option. Out: :class:`CostsOverYears`, which every interface shows. The same work is the
jobs that the cluster of the baseline runs in these years. Its cost on an option is the baseline's price times the cost
ratio, with the interval of the ratio. The price ratio is that of the stated setting, as in ``amount_sentences.py``.
"""

from dataclasses import dataclass, replace

from assay.analysis.comparison.verdict_text import scope_text
from assay.analysis.statistics import RUNS_MIN
from assay.questions.decisions.costs.cluster_prices import compared_prices
from assay.questions.decisions.decision import BaselineCosts, CostRatio, CostVerdict, Decision
from assay.questions.decisions.sentences.amount_sentences import cheapest_option, other_size_text, setting_words
from assay.questions.decisions.sentences.cost_sentences import (
    leaders_cost_less,
    levels_of_leaders,
    named_options,
    runs_below_minimum,
    shared_by_leaders,
)
from assay.questions.decisions.sentences.estimate_text import where_text
from assay.questions.decisions.sentences.option_words import baseline_text, compared_option, option_text, option_verb
from assay.text import capitalised, joined, money, money_interval, plural, scale_text

OPTIONS_PRICED = 3
"""Maximum number of options in the answer, the baseline excepted."""


@dataclass(frozen=True, slots=True)
class OptionOverYears:
    """Costs of one option over the years."""

    option: str
    cluster: float
    """Price of the cluster over the years."""
    work: float
    """Cost of the same work."""
    work_low: float | None
    work_high: float | None
    """Ends of the 95 % interval; None for the baseline, and with too few runs for a verdict."""


@dataclass(frozen=True, slots=True)
class CostsOverYears:
    """The short answer to "which is the cheapest over years of use?"."""

    years: float
    currency: str
    answer: str
    assumptions: str
    """The definition of the same work, and where it was measured."""
    options: tuple[OptionOverYears, ...]
    """The cheapest options for the same work, then the baseline."""
    further: tuple[OptionOverYears, ...]
    """All other options with a price, by their cost of the same work."""
    lowest_price: str
    """The option whose cluster has the lowest price, whatever its work."""
    covers: str
    """What the price of a cluster covers."""

    @property
    def by_work(self) -> tuple[OptionOverYears, ...]:
        """All options with a price, the lowest cost of the same work first."""
        return tuple(sorted((*self.options, *self.further), key=lambda option: option.work))

    def cells(self, option: OptionOverYears) -> tuple[str, str, str, str]:
        """Return an option as the cells of a table: option, cluster, same work, 95 % interval."""
        return (
            option.option,
            money(option.cluster, self.currency),
            money(option.work, self.currency),
            money_interval(option.work_low, option.work_high, self.currency),
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """The answer, what the same work is, a sentence for each option, the lowest price, and what prices cover."""
        texts = []
        for option in self.options:
            name, cluster, work, interval = self.cells(option)
            interval_text = f" ({interval})" if option.work_low is not None else ""
            texts.append(f"{name}: {cluster} for the cluster, {work}{interval_text} for the same work.")
        return self.answer, self.assumptions, *texts, self.lowest_price, self.covers

    @property
    def headers(self) -> tuple[str, str, str, str]:
        """The heads of the columns of :meth:`cells`."""
        return "Option", f"Cluster for {self.period}", "Same work", "95 % interval"

    @property
    def period(self) -> str:
        """The years of use as text: ``3 years``."""
        return _years_text(self.years)


def costs_over_years(decision: Decision) -> CostsOverYears | None:
    """Return the short answer of a decision on the cheapest option; None without prices."""
    costs, cheapest, currency = decision.baseline_costs, decision.cheapest, decision.currency
    if costs is None or cheapest is None or currency is None:
        return None
    first = cheapest_option(decision)
    assert first is not None
    setting = compared_prices(costs.cluster_prices, decision.baseline, first.option).baseline.setting
    measured = [(price.option, price.setting) for price in costs.cluster_prices]
    of_all = {option.option: option.cost for option in decision.options if option.cost}
    priced = {name: cost for name, cost in of_all.items() if (name, setting) in measured or name == first.option}
    order = sorted(priced, key=lambda name: priced[name].ratio)
    names = order[: max(OPTIONS_PRICED, 1)]
    if cheapest.option == decision.baseline:
        names = [decision.baseline, *names]
    elif decision.baseline not in names:
        names = [*names, decision.baseline]
    options = {name: _option(decision, name, priced.get(name), costs) for name in (decision.baseline, *order)}
    lowest = min(option.cluster for option in options.values())
    return CostsOverYears(
        years=costs.years,
        currency=currency,
        answer=_answer(decision, costs),
        assumptions=_assumptions(decision, costs, options[first.option].cluster > lowest),
        options=tuple(options[name] for name in names),
        further=tuple(options[name] for name in order if name not in names),
        lowest_price=_lowest_price(costs, tuple(options.values()), currency),
        covers=_covers(decision, costs) + _elsewhere(decision, [name for name in of_all if name not in priced]),
    )


def _option(decision: Decision, name: str, cost: CostRatio | None, costs: BaselineCosts) -> OptionOverYears:
    text = baseline_text(decision.factor, name)
    first = cheapest_option(decision)
    assert first is not None
    compared = compared_prices(costs.cluster_prices, decision.baseline, first.option)
    price, setting = compared.baseline.price, compared.baseline.setting
    if cost is None:
        return OptionOverYears(text, price, price, None, None)
    of_option = tuple(p for p in costs.cluster_prices if p.option == name and p.setting == setting)
    compared = replace(compared, option=of_option or compared.option)
    work = compared.same_work(cost.price_ratio)
    low, high = (None, None) if cost.verdict is CostVerdict.NOT_ENOUGH_RUNS else (cost.low, cost.high)
    return OptionOverYears(
        option=text,
        cluster=min(p.price for p in compared.option),
        work=work * cost.ratio,
        work_low=None if low is None else work * low,
        work_high=None if high is None else work * high,
    )


def _answer(decision: Decision, costs: BaselineCosts) -> str:
    assert decision.cheapest is not None
    over, cheapest, ties = f"Over {_years_text(costs.years)}", decision.cheapest.option, decision.cheapest.ties
    if (runs := runs_below_minimum(decision)) is not None:
        return (
            f"{over}, the cheapest option is open: a verdict needs {RUNS_MIN} runs of each option, not {runs}. "
            f"{capitalised(compared_option(decision, cheapest))} {_has(decision)} the lowest mean."
        )
    shared = shared_by_leaders(decision)
    if shared:
        others = named_options(levels_of_leaders(decision))
        option = option_text(" + ".join(shared), " + ".join(shared.values()))
        verb = "costs" if option_verb(*next(iter(shared.items()))) == "is" else "cost"
        return f"{over}, {option} {verb} least for the same work. Between {others}, no difference is shown."
    if ties and leaders_cost_less(decision):
        names = named_options([compared_option(decision, name) for name in (cheapest, *ties)])
        which = "which of the two is cheaper" if len(ties) == 1 else "which is the cheapest"
        baseline = compared_option(decision, decision.baseline)
        return f"{over}, {names} cost less for the same work than {baseline}; {which} is open."
    if ties:
        others = named_options([compared_option(decision, name) for name in ties])
        return (
            f"{over}, the cheapest option is open: {compared_option(decision, cheapest)} {_has(decision)} the lowest "
            f"mean, and no difference in cost from {others} is shown."
        )
    verb = "costs" if option_verb(decision.factor, cheapest) == "is" else "cost"
    return f"{over}, {compared_option(decision, cheapest)} {verb} least for the same work."


def _has(decision: Decision) -> str:
    assert decision.cheapest is not None
    return "has" if option_verb(decision.factor, decision.cheapest.option) == "is" else "have"


def _lowest_price(costs: BaselineCosts, options: tuple[OptionOverYears, ...], currency: str) -> str:
    """Return which cluster has the lowest price: ``Lowest rent of a cluster: 1 hard disk (HDD), $39,420.``"""
    lowest = money(min(option.cluster for option in options), currency)
    names = [option.option for option in options if money(option.cluster, currency) == lowest]
    return f"Lowest {'rent' if costs.rented else 'price'} of a cluster: {named_options(names)}, {lowest}."


def _covers(decision: Decision, costs: BaselineCosts) -> str:
    """Return what the price of a cluster covers: ``rent, 24 h a day; power and maintenance have no price``."""
    has = {"power": costs.power, "maintenance": costs.maintenance}
    kinds = [name for name, priced in (("purchase", costs.purchase), ("rent, 24 h a day", costs.rent)) if priced]
    text = joined([*kinds, *(name for name, priced in has.items() if priced)])
    missing = [name for name, priced in has.items() if not priced]
    unpriced_text = (
        f" Price book {costs.book} of {costs.date} has no separate price for {joined(missing)}." if missing else ""
    )
    size = f" {capitalised(size)}." if (size := other_size_text(costs)) else ""
    book = unpriced_text or f" Price book {costs.book} of {costs.date}."
    return f"Cluster: {text}{_setting(decision, costs)}.{size}{book}"


def _setting(decision: Decision, costs: BaselineCosts) -> str:
    """Return the setting whose prices are stated, if prices differ between settings: ``, on cluster m1000-01``."""
    first = cheapest_option(decision)
    assert first is not None
    prices = compared_prices(costs.cluster_prices, decision.baseline, first.option)
    return f", {setting_words(prices.setting)}" if prices.setting else ""


def _elsewhere(decision: Decision, options: list[str]) -> str:
    """Return the options that are left out because they share no setting with the baseline."""
    names = named_options([baseline_text(decision.factor, option) for option in options])
    return f" Left out, because they ran in other settings only: {names}." if options else ""


def _price_condition(decision: Decision, dearer: bool) -> str:
    """Return when the cheapest option lowers the bill although its cluster is not the one with the lowest price."""
    first = cheapest_option(decision)
    if first is None or not dearer:
        return ""
    name = compared_option(decision, first.option)
    return f"The cluster with {name} has a higher price, which pays off only if it does more work or is smaller. "


def _assumptions(decision: Decision, costs: BaselineCosts, dearer: bool) -> str:
    baseline = compared_option(decision, decision.baseline)
    scopes = [option.time for option in decision.options if option.cost and option.time]
    lab = f", measured in a lab at scale {scale_text(float(decision.lab_scale))}" if decision.lab_scale else ""
    intervals = "The intervals come from run times; " if runs_below_minimum(decision) is None else "No intervals; "
    return (
        f"You pay the cluster's price. {_price_condition(decision, dearer)}'Same work' is the cost of "
        f"{_years_text(costs.years)} of jobs on {baseline}{where_text(decision)}{lab}: the part of the price that "
        f"these jobs use; {scope_text(scopes[0].scope)}. {intervals}prices count as exact."
    )


def _years_text(years: float) -> str:
    return plural(round(years), "year") if years == round(years) else f"{years:g} years"
