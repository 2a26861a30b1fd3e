"""Costs of decisions as sentences: the cost per job of an option, its break-even price, and the cheapest option."""

from collections.abc import Mapping

from assay.analysis.comparison.factors.device_classes import DEVICE_CLASS
from assay.analysis.statistics import RUNS_MIN
from assay.model import Origin
from assay.questions.decisions.costs.cluster_prices import compared_prices
from assay.questions.decisions.decision import CostRatio, CostVerdict, Decision
from assay.questions.decisions.sentences.amount_sentences import priced_option
from assay.questions.decisions.sentences.estimate_text import excludes_one, interval_text, where_text
from assay.questions.decisions.sentences.option_words import baseline_text, compared_option, option_text, option_verb
from assay.text import capitalised, column_title, format_ratio, joined, workload_title

NOT_CONFIRMED = "This is not confirmed: among several comparisons, one can differ this much by chance"
"""Why a difference in cost gets no verdict although its interval excludes 1."""
OPTIONS_NAMED = 3
"""Maximum number of options named in one sentence."""
UNDECIDED = "undecided"
"""The advice where no verdict says whether an option is worth its cost."""
SHARE_MAX = 1.0
"""Maximum additional cost that is also stated as a percentage: above it, the ratio reads more easily."""


def cost_sentence(decision: Decision, level: str, cost: CostRatio, where: str = "") -> str:
    """Return the cost of a job on an option relative to the baseline: ``A job on SSDs costs 25 % less than on ...``.

    ``where``: the runs that the ratio covers, in front of the statement: ``with SSDs, ``.
    """
    option, baseline = compared_option(decision, level), compared_option(decision, decision.baseline)
    amount, difference = cost_text(cost), difference_text(cost.ratio)
    match cost.verdict:
        case CostVerdict.NOT_ENOUGH_RUNS:
            ratio = f"{format_ratio(cost.ratio)}×"
            text = f"not enough runs for a verdict on the cost per job of {option}: {ratio} that of {baseline}"
        case CostVerdict.NOT_DISTINGUISHABLE if not excludes_one(cost):
            text = f"no difference in the cost per job of {option} and {baseline} is shown: {amount}"
        case CostVerdict.NOT_DISTINGUISHABLE:
            text = f"a job on {option} costs {difference} than on {baseline}: {amount}. {NOT_CONFIRMED}"
        case _:
            text = f"a job on {option} costs {difference} than on {baseline}: {amount}"
    return capitalised(f"{where}{text}.")


def costs_by_storage(decision: Decision) -> tuple[tuple[str, CostRatio], ...]:
    """Return each storage class in words with the cost ratio of the headline's option over all workloads that the
    classes share; empty unless the effect on time or the result on cost depends on the storage, and each class has
    a cost."""
    if decision.storage_costs is None:
        return ()
    over_all = decision.storage_costs.over_all
    known_costs = [(option_text(DEVICE_CLASS, effect.storage), effect.cost) for effect in over_all if effect.cost]
    return tuple(known_costs) if len(known_costs) == len(over_all) else ()


def storage_advice(decision: Decision) -> str | None:
    """Return whether the headline's option is worth its cost, by storage class; None without an effect by storage.

    ``By cost per job, InfiniBand is not worth it with hard disks (1.26×, 1.11 to 1.42); undecided with SSDs (0.91×).``
    """
    by_storage = costs_by_storage(decision)
    if not by_storage or decision.storage_effects is None:
        return None
    storages: dict[str, list[str]] = {}
    for name, cost in by_storage:
        storages.setdefault(_advice(cost), []).append(f"{name} ({_ratio_text(cost)})")
    option = decision.storage_effects.option
    verb = option_verb(decision.factor, option)
    if set(storages) == {UNDECIDED}:
        is_worth_it = f"{compared_option(decision, option)} {verb} worth the cost per job"
        return f"It is undecided whether {is_worth_it} with {joined(storages[UNDECIDED])}."
    clauses = [f"{advice} with {joined(names)}" for advice, names in sorted(storages.items())]
    return f"By cost per job, {compared_option(decision, option)} {verb} {'; '.join(clauses)}."


def _advice(cost: CostRatio) -> str:
    """Return whether an option is worth its cost."""
    return {CostVerdict.CHEAPER: "worth it", CostVerdict.DEARER: "not worth it"}.get(cost.verdict, UNDECIDED)


def _ratio_text(cost: CostRatio) -> str:
    """Return a cost ratio with its interval, for brackets: ``0.80×, 0.67 to 0.95, not confirmed``."""
    text = f"{format_ratio(cost.ratio)}×"
    if cost.verdict is CostVerdict.NOT_ENOUGH_RUNS:
        return f"{text}, not enough runs"
    is_open = cost.verdict is CostVerdict.NOT_DISTINGUISHABLE and excludes_one(cost)
    return f"{text}, {interval_text(cost)}{', not confirmed' if is_open else ''}"


def cost_text(cost: CostRatio) -> str:
    """Return a cost ratio with its interval: ``0.75× (0.64 to 0.89)``."""
    return f"{format_ratio(cost.ratio)}× ({interval_text(cost)})"


def difference_text(ratio: float) -> str:
    """Return a cost ratio as a difference: ``25 % less`` or ``12 % more``."""
    share = abs(ratio - 1)
    direction = "less" if ratio < 1 else "more"
    return (
        direction
        if share > SHARE_MAX
        else f"{100 * share:.0f} % {direction}"
        if share >= 0.095
        else f"{100 * share:.1g} % {direction}"
    )


def difference_range(low: float, high: float) -> str:
    """Return an interval of cost ratios as differences: ``37 % to 47 % less``, ``between 25 % less and 20 % more``."""
    nearer, farther = (high, low) if high < 1 else (low, high)
    if nearer - 1 > SHARE_MAX:
        return f"{format_ratio(nearer)} to {format_ratio(farther)} times as much"
    start, end = difference_text(nearer), difference_text(farther)
    if farther - 1 > SHARE_MAX:
        return f"between {start} and {format_ratio(farther)} times as much"
    side = end.rpartition(" ")[2]
    if not start.endswith(side):
        return f"between {start} and {end}"
    return f"{start.removesuffix(f' {side}')} to {end}"


def price_sentence(decision: Decision, level: str, cost: CostRatio) -> str:
    """Return the ratio of the prices of two clusters, and the ratio at which a job costs the same on both.

    Empty where :func:`amount_sentences` states the amounts.
    """
    if decision.baseline_costs is None or cost.verdict is not CostVerdict.NOT_ENOUGH_RUNS:
        return ""
    option, baseline = compared_option(decision, level), compared_option(decision, decision.baseline)
    prices = compared_prices(decision.baseline_costs.cluster_prices, decision.baseline, level)
    ratios = dict.fromkeys(f"{format_ratio(price.price / prices.baseline.price)}×" for price in prices.option)
    return (
        f"The cluster with {option} has {' to '.join(ratios)} the price of that with {baseline}. At "
        f"{format_ratio(cost.break_even_price_ratio)}× the price, a job costs the same on both."
    )


def cheapest_sentence(decision: Decision) -> str | None:
    """Return which option has the lowest cost per job, or which options are not ruled out; None without prices."""
    if decision.cheapest is None:
        return None
    cheapest, ties = decision.cheapest.option, decision.cheapest.ties
    costs = {option.option: option.cost for option in decision.options if option.cost}
    where, baseline = _where_text(decision, cheapest), compared_option(decision, decision.baseline)
    if ties and (shared_levels := shared_by_leaders(decision)):
        ratios = [costs[name].ratio for name in (cheapest, *ties)]
        figures = " to ".join(dict.fromkeys(f"{format_ratio(end)}×" for end in (min(ratios), max(ratios))))
        text = f"{_shared_text(shared_levels)}{where}: {figures} the cost of {baseline}. "
        text += f"{_open_factors(decision, shared_levels)}: no difference in cost is shown"
    elif ties:
        text = _undecided_cheapest(decision, costs, where_text(decision, cheapest))
    else:
        text = f"{compared_option(decision, cheapest)} {option_verb(decision.factor, cheapest)} the cheapest per job"
        text += where
        if cheapest == decision.baseline:
            text += f": {'the only other option' if len(costs) == 1 else f'the {len(costs)} other options'} compared "
            text += "costs more" if len(costs) == 1 else "cost more"
        else:
            cost = costs[cheapest]
            text += f": {format_ratio(cost.ratio)}× the cost of {baseline} ({interval_text(cost)})"
            text += _cheaper_on(decision, cheapest)
    return f"Simulated: {text}." if decision.origin == Origin.SIMULATED else f"{capitalised(text)}."


def not_compared(decision: Decision, *, every: bool = False) -> str:
    """Return the options without a cost ratio, with the reasons; empty if there are none or no prices.

    ``every``: name all options, if :func:`named_options` names only some of them; else empty.
    """
    if decision.cheapest is None:
        return ""
    uncompared_options = [option for option in decision.options if option.cost is None]
    unmatched_options = [option.option for option in uncompared_options if option.time is None]
    unpriced = [option.option for option in uncompared_options if option.time is not None]
    clauses = []
    for options, reason in (
        (unmatched_options, "too few of their runs match those of the others"),
        (unpriced, "the price book has no price for their runs"),
    ):
        names = [baseline_text(decision.factor, option) for option in options]
        if every and len(names) <= OPTIONS_NAMED:
            continue
        if names:
            clauses.append(f"{joined(names) if every else named_options(names)}, because {reason}")
    return f"Not compared: {'; '.join(clauses)}." if clauses else ""


def _where_text(decision: Decision, option: str) -> str:
    """Return the workloads of an option's mean cost: `` on TeraSort``, `` in the mean over 7 of 10 workloads``."""
    where = where_text(decision, option)
    return where if where.startswith(" on ") else f" in the mean{where}"


def _cheaper_on(decision: Decision, option: str) -> str:
    """Return the workloads of the mean on which the option is shown to cost less, and on which it may cost more.

    A higher cost is named if its interval excludes 1, also where the correction leaves no verdict. Empty if all are
    shown to cost less.
    """
    workloads = decision.option(option).workloads
    mean_results = [r for r in decision.results if r.option == option and r.workload in workloads]
    costs = [(workload_title(result.workload), result.cost) for result in mean_results if result.cost]
    cheaper_titles = [title for title, cost in costs if cost.verdict is CostVerdict.CHEAPER]
    if len(cheaper_titles) == len(mean_results):
        return ""
    names = f" ({joined(cheaper_titles)})" if cheaper_titles else ""
    text = f". A lower cost is shown on {len(cheaper_titles)} of the {len(mean_results)} workloads{names}"
    open_costs = [
        f"{title}: {cost_text(cost)}"
        for title, cost in costs
        if cost.verdict is CostVerdict.NOT_DISTINGUISHABLE and cost.ratio > 1 and excludes_one(cost)
    ]
    return f"{text}. The cost is higher on {joined(open_costs)}. {NOT_CONFIRMED}" if open_costs else text


def _exceptions(decision: Decision, option: str) -> str:
    """Return the workloads on which the option is shown to cost more although its mean costs less; else empty."""
    dearer_texts = [
        f"{workload_title(result.workload)}: {cost_text(result.cost)}"
        for result in decision.results
        if result.option == option and result.cost and result.cost.verdict is CostVerdict.DEARER
    ]
    return f" It costs more on {named_options(dearer_texts)}." if dearer_texts else ""


def _undecided_cheapest(decision: Decision, costs: Mapping[str, CostRatio], where: str) -> str:
    """Return the options among which the cheapest is: all cost less than the baseline, or are not ruled out."""
    assert decision.cheapest is not None
    cheapest, ties, baseline = decision.cheapest.option, decision.cheapest.ties, decision.baseline

    def name_of(option: str) -> str:
        return f"{compared_option(decision, option)} ({format_ratio(costs[option].ratio)}×)"

    baseline_name = compared_option(decision, baseline)
    if leaders_cost_less(decision):
        names = named_options([name_of(name) for name in (cheapest, *ties)])
        which_text = "which of the two is cheaper" if len(ties) == 1 else "which is the cheapest"
        return f"{names} cost less per job than {baseline_name}{where}; {which_text} is open"
    verb = "has" if option_verb(decision.factor, cheapest) == "is" else "have"
    text = f"{compared_option(decision, cheapest)} {verb} the lowest mean cost per job{where}"
    if (runs := runs_below_minimum(decision)) is not None:
        text += "" if cheapest == baseline else f": {format_ratio(costs[cheapest].ratio)}× that of {baseline_name}"
        return f"{text}. Which is the cheapest is open: a verdict needs {RUNS_MIN} runs of each option, not {runs}"
    if cheapest != baseline:
        text += f": {cost_text(costs[cheapest])} that of {baseline_name}"
    if len(ties) == len(costs) and len(costs) > 1:
        return f"{text}. Each of the {len(ties)} other options may be cheaper"
    price_ratios = {name: cost.price_ratio for name, cost in costs.items()} | {baseline: 1.0}
    tied = [
        f"{compared_option(decision, rival.option)} ({format_ratio(rival.ratio)}× its cost, {interval_text(rival)}"
        + ("; its cluster has the lower price)" if price_ratios[rival.option] < price_ratios[cheapest] else ")")
        for rival in decision.cheapest.rivals
        if rival.option in ties
    ]
    return f"{text}. No difference in cost from {named_options(tied)} is shown"


def runs_below_minimum(decision: Decision) -> int | None:
    """Return the number of runs of each option where no cost has enough runs for a verdict; else None."""
    priced_options = [option for option in decision.options if option.cost and option.time]
    if not priced_options or any(
        option.cost and option.cost.verdict is not CostVerdict.NOT_ENOUGH_RUNS for option in priced_options
    ):
        return None
    groups = [option.time.groups or 1 for option in priced_options if option.time]
    runs = [min(option.time.runs_baseline, option.time.runs_option) for option in priced_options if option.time]
    return min(number // group for number, group in zip(runs, groups, strict=True))


def named_options(names: list[str]) -> str:
    """Return options as a list that names the first :data:`OPTIONS_NAMED`: ``A, B, C and 4 more``."""
    more_count = len(names) - OPTIONS_NAMED
    return joined([*names[:OPTIONS_NAMED], f"{more_count} more"] if more_count > 0 else names)


def leaders_cost_less(decision: Decision) -> bool:
    """Return whether the cheapest option and all its ties are shown to cost less than the baseline."""
    if decision.cheapest is None:
        return False
    cheaper_options = {o.option for o in decision.options if o.cost and o.cost.verdict is CostVerdict.CHEAPER}
    return {decision.cheapest.option, *decision.cheapest.ties} <= cheaper_options


def shared_by_leaders(decision: Decision) -> dict[str, str]:
    """Return the levels that the cheapest option and all its ties share and the baseline lacks, by factor.

    Empty without ties, and unless all of them cost less than the baseline. Only options of several factors share
    levels.
    """
    cheapest, factors = decision.cheapest, decision.factor.split(" + ")
    if cheapest is None or not cheapest.ties or len(factors) < 2 or not leaders_cost_less(decision):
        return {}
    names = (cheapest.option, *cheapest.ties)
    leaders = [dict(zip(factors, name.split(" + "), strict=True)) for name in names]
    baseline = dict(zip(factors, decision.baseline.split(" + "), strict=True))
    shared_levels = {
        name: level for name, level in leaders[0].items() if all(option[name] == level for option in leaders)
    }
    return shared_levels if any(baseline[name] != level for name, level in shared_levels.items()) else {}


def _open_factors(decision: Decision, shared_levels: Mapping[str, str]) -> str:
    """Return the factors in which the cheapest option and its ties differ: ``Network``."""
    names = [column_title(name) for name in decision.factor.split(" + ") if name not in shared_levels]
    return capitalised(joined(names).lower())


def _shared_text(shared_levels: Mapping[str, str]) -> str:
    """Return the shared levels as the subject of a sentence: ``1 SSD per worker (SSD) is the cheapest per job``."""
    factor, level = " + ".join(shared_levels), " + ".join(shared_levels.values())
    verb = option_verb(*next(iter(shared_levels.items())))
    return f"{option_text(factor, level)} {verb} the cheapest per job"


def cost_headline(decision: Decision) -> str | None:
    """Return the cost per job of the leading option, and which option is the cheapest; None without prices.

    A sentence that states both is returned alone. Where the effect depends on the storage, the cost with each
    storage class is stated.
    """
    priced_result, cheapest = priced_option(decision), decision.cheapest
    if priced_result is None or priced_result.cost is None:
        return None
    by_storage = costs_by_storage(decision)
    if by_storage and decision.storage_costs and decision.storage_costs.option == priced_result.option:
        ordered_costs = sorted(by_storage, key=lambda named_cost: not excludes_one(named_cost[1]))
        return " ".join(
            cost_sentence(decision, priced_result.option, cost, f"with {name}, ") for name, cost in ordered_costs
        )
    sentence = cost_sentence(decision, priced_result.option, priced_result.cost)
    is_cheaper = priced_result.cost.verdict is CostVerdict.CHEAPER
    exceptions = _exceptions(decision, priced_result.option) if is_cheaper else ""
    if sum(option.cost is not None for option in decision.options) == 1:
        return f"{sentence}{exceptions}"
    is_cheapest = cheapest is not None and cheapest.option == priced_result.option
    others_text = f" {text}" if (text := not_compared(decision)) else ""
    if is_cheapest and not (cheapest and cheapest.ties and leaders_cost_less(decision)):
        return f"{cheapest_sentence(decision)}{exceptions}{others_text}"
    return f"{sentence}{exceptions} {cheapest_sentence(decision)}{others_text}"
