"""State a recommendation in sentences, the same in every interface. Extrapolation comes first."""

from collections.abc import Iterator

from assay.foundation.units import format_bytes, format_duration, format_percent
from assay.model import YEAR_H
from assay.questions.costs.mix import DAY_S
from assay.questions.recommendation.recommend import EXTRAPOLATION_MAX, EXTRAPOLATION_STATED, Choice, Recommendation
from assay.questions.recommendation.request import Constraints, Objective
from assay.questions.recommendation.search import PRICE_TIE
from assay.text import NO_VALUE, credit_texts, money, money_interval, probability, share

OBJECTIVES = {
    Objective.PRICE: "the lowest price",
    Objective.DAY_COST: "the lowest cost of a day's work",
    Objective.TIME: "the shortest time of a day's work",
}


def constraints_text(constraints: Constraints, currency: str) -> str:
    """Return the constraints in words; empty without any."""
    parts = []
    if constraints.deadline_s is not None:
        parts.append(f"every run within {format_duration(constraints.deadline_s)}")
    if constraints.budget is not None:
        parts.append(f"at most {money(constraints.budget, currency)} over {constraints.years:g} years")
    if constraints.capacity_bytes:
        parts.append(f"{format_bytes(constraints.capacity_bytes)} of stored data")
    return ", ".join(parts)


def choice_text(choice: Choice, answer: Recommendation) -> str:
    """Return one cluster with its price, and with time and cost of a day's work.

    Rented hardware has a price per hour. Purchased hardware has a price per day, and the share of the day that the work
    takes.
    """
    ends = ""
    if choice.bill_high > choice.bill_low * 1.0001:
        ends = f" ({money_interval(choice.bill_low, choice.bill_high, answer.currency)})"
    years = answer.constraints.years
    bill = f"{money(choice.bill, answer.currency)}{ends} over {years:g} years"
    interval = f"{format_duration(choice.day_low_s)} to {format_duration(choice.day_high_s)}"
    day = f"a day's work takes {format_duration(choice.day_s)} ({interval})"
    for time in choice.times:
        day += "".join(f"; {time.workload} {text}" for text in credit_texts(time.credits))
    if not answer.purchased:
        rent = f"{money(choice.bill / (years * YEAR_H), answer.currency)} per hour"
        cost = money(choice.day_cost, answer.currency)
        return f"{choice.label}: {rent}, {bill}; {day}, and costs {cost} at the hourly rent"
    bill += f", {money(choice.bill / (years * YEAR_H / 24), answer.currency)} per day, used or idle"
    day += f", {share(choice.day_s / DAY_S)} of a day"
    if answer.objective is Objective.DAY_COST:
        day += f", which is {money(choice.day_cost, answer.currency)} of the price"
    return f"{choice.label}: {bill}; {day}"


def choice_title(answer: Recommendation) -> str:
    """Return what the chosen cluster is: ``Recommended``, or ``Best estimate`` where the draws do not decide."""
    return "Best estimate" if answer.estimated else "Recommended"


def summary(answer: Recommendation) -> str:
    """Return the answer in short: the best cluster with its price and time, and the fastest; or why there is none."""
    if answer.chosen is None:
        return f"No recommendation: {answer.why_none}."
    chosen, runner_up = answer.chosen, answer.runner_up
    kept = constraints_text(answer.constraints, answer.currency)
    goal = f"{OBJECTIVES[answer.objective]}{f' ({kept})' if kept else ''}"
    if answer.too_close and runner_up is not None and not answer.tied:
        best = f"Too close to call for {goal}: {_short(chosen, answer)}, or {_short(runner_up, answer)}."
    else:
        best = f"{choice_title(answer)} for {goal}: {_short(chosen, answer)}."
    if answer.fastest is None or answer.fastest in (chosen, runner_up):
        return best
    return f"{best} Fastest: {_short(answer.fastest, answer)}."


def _short(choice: Choice, answer: Recommendation) -> str:
    """Return a cluster with its amount and time: ``4 × a, 1 SSD for $90, a day's work in 9 s``."""
    duration = format_duration(choice.day_s)
    if answer.objective is Objective.DAY_COST:
        return f"{choice.label}, a day's work for {money(choice.day_cost, answer.currency)} in {duration}"
    return f"{choice.label} for {money(choice.bill, answer.currency)}, a day's work in {duration}"


def extrapolation_text(answer: Recommendation) -> str:
    """Return how far the answer is extrapolated; empty within the learned range, or without an answer."""
    if answer.chosen is None or answer.extrapolation <= EXTRAPOLATION_STATED:
        return ""
    return (
        f"Extrapolated: up to {answer.extrapolation:,.0f} times the data per worker that the profile was learned "
        "from. A measured run with more data per worker would reduce the uncertainty."
    )


def headline(answer: Recommendation) -> Iterator[str]:
    """Yield the recommendation and the runner-up, or why there is none."""
    kept = constraints_text(answer.constraints, answer.currency)
    if answer.chosen is None:
        yield f"No recommendation: {answer.why_none}."
        return
    chosen, runner_up = answer.chosen, answer.runner_up
    if far := extrapolation_text(answer):
        yield far
    if answer.too_close and runner_up is not None and not answer.tied:
        both = probability(min(1.0, chosen.hardware_probability + runner_up.hardware_probability))
        others = f"the hardware of one of them has {OBJECTIVES[answer.objective]} in {both} of {answer.origin} draws"
        if answer.extrapolated:
            others = "another candidate may be better"
        yield f"Too close to call between {chosen.label} and {runner_up.label}; {others}."
    yield f"{choice_title(answer)} for {OBJECTIVES[answer.objective]}: {choice_text(chosen, answer)} ({answer.origin})."
    if answer.extrapolated:
        yield (
            f"Above {EXTRAPOLATION_MAX:g} times the learned data per worker, assay states no probability of "
            f"{OBJECTIVES[answer.objective]}.{f' Constraints: {kept}.' if kept else ''}"
        )
    else:
        best_share, keeps_share = probability(chosen.hardware_probability), probability(chosen.keeps_probability)
        keeps = f" With these settings it keeps every constraint ({kept}) in {keeps_share}." if kept else ""
        draws = f"{best_share} of {answer.draws:,} {answer.origin} draws"
        yield f"Its hardware has {OBJECTIVES[answer.objective]} in {draws}.{keeps}"
    if runner_up is None:
        yield f"No other hardware keeps every constraint in {format_percent(answer.confidence)} of the draws."
    else:
        best = "" if answer.extrapolated else f"; the best in {probability(runner_up.hardware_probability)}"
        yield f"Runner-up: {choice_text(runner_up, answer)}{best}."
        if answer.tied:
            yield f"Both prices are equal within {format_percent(PRICE_TIE)}; {chosen.label} is faster."
        elif answer.objective is Objective.PRICE and runner_up.bill < chosen.bill:
            yield (
                f"The runner-up costs less at the list prices. {chosen.label} costs less on average over the possible "
                "prices, which sets the order."
            )
    if answer.fastest is not None and answer.fastest not in (chosen, runner_up):
        keeps = " that keeps every constraint" if kept else ""
        yield f"Fastest candidate{keeps}: {choice_text(answer.fastest, answer)}."


def front_title(answer: Recommendation) -> str:
    """Return the title of the list of candidates."""
    if answer.chosen is None:
        return "No candidate keeps every constraint; these come nearest. Simulated, 90 % intervals"
    title = "Pareto front of money and time among candidates that keep every constraint"
    return f"{title}: {answer.origin}, 90 % intervals"


def shares_of(choice: Choice, answer: Recommendation) -> tuple[str, str, str]:
    """Return the shares of draws in which a candidate is on the Pareto front, is the best hardware, and keeps every
    constraint; a dash where they are extrapolated too far.
    """
    if answer.extrapolated:
        return NO_VALUE, NO_VALUE, NO_VALUE
    shares = choice.pareto_front_probability, choice.hardware_probability, choice.keeps_probability
    front, best, keeps = map(probability, shares)
    return front, best, keeps


def sentences(answer: Recommendation) -> Iterator[str]:
    """Yield the assumptions."""
    yield f"prices: the price book {answer.book}"
    yield "the cost in use is the share of the cluster's price for the hours of a day's work"
    yield from answer.assumptions
