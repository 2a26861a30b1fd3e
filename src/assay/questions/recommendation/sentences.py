"""State a recommendation in sentences, the same in every interface. Extrapolation comes first."""

import math
from collections.abc import Iterator

from assay.foundation.units import format_bytes, format_duration, format_percent
from assay.model import YEAR_H
from assay.questions.costs.mix import DAY_S
from assay.questions.forecasts.learning import ProfileOrigin
from assay.questions.recommendation.recommend import EXTRAPOLATION_MAX, EXTRAPOLATION_STATED, Choice, Recommendation
from assay.questions.recommendation.request import Constraints, Objective
from assay.questions.recommendation.search import PRICE_TIE
from assay.questions.recommendation.sensitivity import AnswerChange
from assay.text import (
    NO_VALUE,
    TextTable,
    credit_texts,
    money,
    money_interval,
    plural,
    probability,
    share,
    workload_title,
)

RISK_HEADER = "Risk removed"
"""Column of the share of the expected loss that knowing one quantity avoids."""
RISK_TEXT = (
    "risk: the expected loss from a cluster that is not the best; removed: the share of it that knowing the quantity "
    "exactly avoids; the shares overlap, so they can add up to more than 100 %"
)
"""Definition of :data:`RISK_HEADER`."""
SWITCH_STATED = 0.25
"""Maximum distance of a switching price from the present price, as a share, for it to be stated with the answer."""
OBJECTIVES = {
    Objective.PRICE: "the lowest price",
    Objective.DAY_COST: "the lowest cost of a day's work",
    Objective.TIME: "the shortest time of a day's work",
}


GOALS = {
    Objective.PRICE: "Cheapest cluster",
    Objective.DAY_COST: "Cheapest cluster per day's work",
    Objective.TIME: "Fastest cluster",
}
"""What a named cluster is the best in."""


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


def choice_title(answer: Recommendation) -> str:
    """Return what the chosen cluster is.

    ``Recommended``, ``Best estimate`` where the draws do not decide, or ``Rough estimate`` where the extrapolation is
    too far for a share of draws.
    """
    if answer.chosen is not None and answer.extrapolated:
        return "Rough estimate"
    return "Best estimate" if answer.estimated else "Recommended"


def _other(answer: Recommendation) -> Choice | None:
    """Return the fastest cluster, or the cheapest where time is the objective; None if it is the chosen one."""
    other = answer.cheapest if answer.objective is Objective.TIME else answer.fastest
    return None if other == answer.chosen else other


def summary(answer: Recommendation) -> str:
    """Return the answer in at most two sentences: the best cluster with its price and time, and the fastest; or why
    there is none.
    """
    if answer.chosen is None:
        return f"No recommendation: {answer.why_none}."
    chosen, runner_up, other = answer.chosen, answer.runner_up, _other(answer)
    kept = constraints_text(answer.constraints, answer.currency)
    best = f"the {_first_small(GOALS[answer.objective])}{' that keeps every constraint' if kept else ''} is"
    text = _short(chosen, answer)
    if answer.extrapolated:
        certainty = f"Rough estimate, because {_beyond_text(answer)}"
    elif answer.too_close and runner_up is not None and not answer.tied:
        certainty, text = "Too close to call", f"{text}, or {_short(runner_up, answer)}"
    else:
        certainty = choice_title(answer)
    first = f"{certainty}: {best} {text}."
    goal = GOALS[Objective.PRICE if answer.objective is Objective.TIME else Objective.TIME]
    return first if other is None else f"{first} The {_first_small(goal)} is {_short(other, answer)}."


def _first_small(text: str) -> str:
    return f"{text[0].lower()}{text[1:]}"


def _short(choice: Choice, answer: Recommendation) -> str:
    """Return a cluster with its amount and time: ``4 × a (8 cores, 64 GB), 1 SSD for $90, a day's work in 9 s``."""
    duration, day_cost = format_duration(choice.day_s), money(choice.day_cost, answer.currency)
    if not answer.purchased:
        per_h = money(choice.bill / (answer.constraints.years * YEAR_H), answer.currency)
        return f"{choice.label} at {per_h} per hour, a day's work in {duration} for {day_cost}"
    bill = f"{money(choice.bill, answer.currency)} over {answer.constraints.years:g} years"
    if answer.objective is Objective.DAY_COST:
        return f"{choice.label}, a day's work for {day_cost} in {duration} ({bill})"
    return f"{choice.label} for {bill}, a day's work in {duration}"


def extrapolation_text(answer: Recommendation) -> str:
    """Return how far the answer is extrapolated, and the run that would make it a forecast.

    Empty within the learned range, or without an answer.
    """
    if answer.chosen is None or answer.extrapolation <= EXTRAPOLATION_STATED:
        return ""
    if not answer.extrapolated:
        return (
            f"Extrapolated: {_beyond_text(answer)}. A measured run with more data per worker would reduce the "
            "uncertainty."
        )
    workload = workload_title(answer.extrapolated_workload) if answer.extrapolated_workload else "a workload"
    return (
        f"To make it a forecast, measure {workload} with at least {format_bytes(answer.needed_bytes_per_worker)} per "
        f"worker, and learn the times from this run. Above {EXTRAPOLATION_MAX:g} times, assay states no probability."
    )


def _beyond_text(answer: Recommendation) -> str:
    """Return how much larger the work is than the measured runs."""
    times = f"{answer.extrapolation:,.0f}"
    return f"each worker gets up to {times} times as much data as in the runs that the times are learned from"


def headline(answer: Recommendation) -> Iterator[str]:
    """Yield how certain the recommendation is, or why there is none."""
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
        yield f"Too close to call between the first cluster and the runner-up; {others}."
    if not answer.extrapolated:
        best_share, keeps_share = probability(chosen.hardware_probability), probability(chosen.keeps_probability)
        keeps = f" With these settings it keeps every constraint ({kept}) in {keeps_share}." if kept else ""
        draws = f"{best_share} of {answer.draws:,} {answer.origin} draws"
        yield f"The hardware named first has {OBJECTIVES[answer.objective]} in {draws}.{keeps}"
    if runner_up is None:
        yield f"No other hardware keeps every constraint in {format_percent(answer.confidence)} of the draws."
    if runner_up is not None and answer.tied:
        yield (
            f"The price of the runner-up is equal within {format_percent(PRICE_TIE)}. Its day's work takes "
            f"{runner_up.day_s / chosen.day_s:.1f} times as long."
        )
    elif runner_up is not None and answer.objective is Objective.PRICE and runner_up.bill < chosen.bill:
        yield (
            f"The runner-up costs less at the list prices. {chosen.label} costs less on average over the possible "
            "prices, which sets the order."
        )
    for choice in {choice.label: choice for choice in (chosen, _other(answer), runner_up) if choice}.values():
        for time in choice.times:
            yield from (f"{choice.label}: {time.workload} {text}." for text in credit_texts(time.credits))


def lead(answer: Recommendation) -> Iterator[str]:
    """Yield the constraints, the nearest switching price, what the budget rules out, and the prices used."""
    if kept := constraints_text(answer.constraints, answer.currency):
        yield f"Constraints: {kept}."
    near = [change for change in answer.changes if change.factor is not None and _distance(change) <= SWITCH_STATED]
    if near:
        change = min(near, key=_distance)
        then = f"the answer is {change.then}{_time_text(change)}"
        yield f"If the {change.what} is {change.at} (now {change.now}), {then}."
    if (out := answer.over_budget) is not None:
        yield (
            f"The budget has to hold in {format_percent(answer.confidence)} of the draws of prices. {out.label} costs "
            f"{money(out.bill, answer.currency)} at the list prices and takes {format_duration(out.day_s)}, but its "
            f"price is up to {money(out.bill_high, answer.currency)} within the ranges of the prices (90 %)."
        )
    yield f"Prices: {answer.book}, {answer.book_date} ({answer.book_source})."


def _time_text(change: AnswerChange) -> str:
    """Return how the time of a day's work changes with the answer; empty if it is not known."""
    if change.day_s is None or change.time_factor is None:
        return ""
    duration, factor = format_duration(change.day_s), change.time_factor
    if math.isclose(factor, 1, rel_tol=PRICE_TIE):
        return f", with the same time ({duration})"
    slower = f"{factor:.2g} times as long" if factor > 1 else f"{format_percent(1 - factor)} less time"
    return f", and a day's work takes {slower} ({duration})"


def _distance(change: AnswerChange) -> float:
    """Return how far the switching price is from the present price, as a share of the lower one."""
    factor = change.factor or math.inf
    return max(factor, 1 / factor) - 1


def clusters_table(answer: Recommendation) -> TextTable:
    """Return the named clusters with money and time: the best, the other named cluster, and the runner-up."""
    if answer.chosen is None:
        return TextTable("", (), ())
    best = GOALS[answer.objective]
    other = GOALS[Objective.PRICE if answer.objective is Objective.TIME else Objective.TIME]
    named = ((best, answer.chosen), (other, _other(answer)), ("Runner-up", answer.runner_up))
    clusters: dict[str, tuple[str, Choice]] = {}
    for role, choice in named:
        if choice is not None:
            known = clusters.get(choice.label)
            clusters[choice.label] = f"{known[0]}, {role[0].lower()}{role[1:]}" if known else role, choice
    years = f"over {answer.constraints.years:g} years"
    if answer.purchased:
        money_titles: tuple[str, ...] = (f"Price {years}, used or idle", "Made of")
    else:
        extra = " with the extra costs" if answer.chosen.cost_lines else ""
        money_titles = "Per hour", f"Cost of a day's work{extra}", f"Rented 24 h a day {years}"
    headers = ("", "Cluster", *money_titles, f"A day's work ({interval_title(answer).lower()})")
    rows = tuple((role, choice.label, *_cells(choice, answer)) for role, choice in clusters.values())
    return TextTable(f"Clusters ({answer.origin} times)", headers, rows)


def cluster_sentences(answer: Recommendation) -> Iterator[str]:
    """Yield a sentence with the cells of each row of :func:`clusters_table`."""
    table = clusters_table(answer)
    for role, label, *cells in table.rows:
        named = zip(table.headers[2:], cells, strict=True)
        yield f"{role}: {label}. {'; '.join(f'{header}: {cell}' for header, cell in named)}."


def _cells(choice: Choice, answer: Recommendation) -> tuple[str, ...]:
    """Return the money and the time of a cluster.

    Rented hardware has a price per hour. Purchased hardware has a price over the years, as a sum of that of its workers
    and that of the other parts.
    """
    currency, hours = answer.currency, answer.constraints.years * YEAR_H
    bill = money(choice.bill, currency)
    if choice.bill_high > choice.bill_low * 1.0001:
        bill += f" ({money_interval(choice.bill_low, choice.bill_high, currency)})"
    ends = f"{format_duration(choice.day_low_s)} to {format_duration(choice.day_high_s)}"
    day = f"{format_duration(choice.day_s)} ({ends}), {share(choice.day_s / DAY_S)} of a day"
    if not answer.purchased:
        return money(choice.bill / hours, currency), money(choice.day_cost, currency), bill, day
    return f"{bill}, {money(24 * choice.bill / hours, currency)} per day", _parts(choice, currency), day


def _parts(choice: Choice, currency: str) -> str:
    """Return the price of the workers and of the other parts: ``4 workers at $6,996, masters and shared parts $7``."""
    if choice.worker_bill <= 0:
        return NO_VALUE
    workers = int(choice.levels["workers"])
    rest = choice.bill - workers * choice.worker_bill
    text = f"{plural(workers, 'worker')} at {money(choice.worker_bill, currency)}"
    return f"{text}, masters and shared parts {money(rest, currency)}" if round(rest) else text


def interval_title(answer: Recommendation) -> str:
    """Return the title of the column of intervals: ``Range`` where no probability is stated."""
    return "Range" if answer.extrapolated else "90 %"


def front_title(answer: Recommendation) -> str:
    """Return the title of the list of candidates."""
    if answer.chosen is None:
        return "No candidate keeps every constraint; these come nearest. Simulated, 90 % intervals"
    intervals = "ranges without a stated probability" if answer.extrapolated else "90 % intervals"
    title = "Pareto front of money and time among candidates that keep every constraint"
    return f"{title}: {answer.origin}, {intervals}"


def shares_of(choice: Choice, answer: Recommendation) -> tuple[str, str, str]:
    """Return the shares of draws in which a candidate is on the Pareto front, is the best hardware, and keeps every
    constraint; a dash where they are extrapolated too far.
    """
    if answer.extrapolated:
        return NO_VALUE, NO_VALUE, NO_VALUE
    shares = choice.pareto_front_probability, choice.hardware_probability, choice.keeps_probability
    front, best, keeps = map(probability, shares)
    return front, best, keeps


def profile_text(answer: Recommendation) -> str:
    """Return where the times come from."""
    texts = {
        ProfileOrigin.SHIPPED: f"{answer.time_model}; the profile is shipped with assay"
        if answer.time_model
        else "times: the profile shipped with assay, not your runs",
        ProfileOrigin.FILES: "times: the profile of the file that you named",
        ProfileOrigin.RUNS: f"times: the profile learned from the measured runs of {answer.profile}",
    }
    return texts[answer.profile_origin]


def sentences(answer: Recommendation) -> Iterator[str]:
    """Yield the assumptions: first where the times come from."""
    yield profile_text(answer)
    if answer.time_model and answer.profile_origin is not ProfileOrigin.SHIPPED:
        yield answer.time_model
    extra = " and the extra costs" if any(choice.cost_lines for choice in answer.finalists) else ""
    yield f"the cost in use is the share of the cluster's price for the hours of a day's work{extra}"
    yield from answer.assumptions
