"""State a recommendation in sentences, the same in every interface. Extrapolation comes first."""

import math
from collections.abc import Iterator

from assay.analysis.cost.bills import ClusterParts
from assay.foundation.units import format_bytes, format_duration, format_percent
from assay.model import YEAR_H
from assay.questions.costs.mix import DAY_S
from assay.questions.forecasts.learning import ProfileOrigin
from assay.questions.recommendation.clusters.choice import Choice
from assay.questions.recommendation.recommend import EXTRAPOLATION_MAX, EXTRAPOLATION_STATED, Recommendation
from assay.questions.recommendation.request import Constraints, Objective
from assay.questions.recommendation.search import PRICE_TIE
from assay.questions.recommendation.sensitivity import AnswerChange
from assay.text import (
    TextTable,
    credit_texts,
    duration_text,
    joined,
    money,
    money_interval,
    money_texts,
    plural,
    price_text,
    probability,
    share,
    workload_title,
)

WHOLE_AMOUNT_MIN = 100
"""Minimum amount of money that is shown without cents."""
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
_PART_SHARE_MIN = 1e-4
"""Minimum share of a price for the shared parts to be named. Below it, they are an error of rounding."""


def intervals_text(learned_from: str) -> str:
    """Return which intervals the times have. ``learned_from``: ``the log``."""
    return (
        f"Times are simulated, with 90 % intervals. If a worker gets more than {EXTRAPOLATION_MAX:g} times as much "
        f"data as in {learned_from}, they have ranges without a stated probability."
    )


def constraints_text(constraints: Constraints, currency: str) -> str:
    """Return the constraints in words; empty without any."""
    return ", ".join(_constraint_texts(constraints, currency))


def _constraint_texts(constraints: Constraints, currency: str) -> list[str]:
    parts = []
    if constraints.deadline_s is not None:
        parts.append(f"every run within {format_duration(constraints.deadline_s)}")
    if constraints.budget_per_h is not None:
        parts.append(f"at most {money(constraints.budget_per_h, currency)} per hour")
    elif constraints.budget is not None:
        parts.append(f"at most {money(constraints.budget, currency)} over {constraints.years:g} years")
    if constraints.capacity_bytes:
        parts.append(f"{format_bytes(constraints.capacity_bytes)} of stored data")
    return parts


def _kept_text(answer: Recommendation) -> str:
    """Return what a cluster keeps: ``the constraint`` or ``every constraint``; empty without any."""
    number = len(_constraint_texts(answer.constraints, answer.currency))
    return "every constraint" if number > 1 else "the constraint" if number else ""


def choice_title(answer: Recommendation) -> str:
    """Return what the chosen cluster is.

    ``Recommended``, ``Best estimate`` where the draws do not decide, or ``Rough estimate`` where the extrapolation is
    too far for a share of draws.
    """
    if answer.chosen is not None and answer.extrapolated:
        return "Rough estimate"
    return "Best estimate" if answer.estimated else "Recommended"


def _other_choice(answer: Recommendation) -> Choice | None:
    """Return the fastest cluster, or the cheapest where time is the objective; None if it is the chosen one."""
    other_choice = answer.cheapest if answer.objective is Objective.TIME else answer.fastest
    return None if other_choice == answer.chosen else other_choice


def summary(answer: Recommendation) -> str:
    """Return the answer in one sentence: the best cluster with its price and time, or why there is none."""
    if answer.chosen is None:
        return f"No recommendation: {answer.why_none}."
    kept_text, goal = _kept_text(answer), _first_small(GOALS[answer.objective])
    best_text = f"the {goal}{f' that keeps {kept_text}' if kept_text else ''} is {_choice_text(answer.chosen, answer)}"
    close = answer.runner_up is not None and answer.too_close and not answer.extrapolated and not answer.tied
    return f"Too close to call: {best_text}, or the runner-up." if close else f"{choice_title(answer)}: {best_text}."


def _runner_up_text(answer: Recommendation) -> str:
    """Return the price and the time of the runner-up relative to the chosen cluster."""
    chosen_choice, runner_up = answer.chosen, answer.runner_up
    if chosen_choice is None or runner_up is None:
        return ""
    by_day = answer.objective is Objective.DAY_COST
    chosen_amount, other_amount = (choice.day_cost if by_day else choice.bill for choice in (chosen_choice, runner_up))
    is_whole = min(chosen_amount, other_amount) >= WHOLE_AMOUNT_MIN  # the difference of the amounts as they are shown
    difference = money(
        abs(round(other_amount) - round(chosen_amount)) if is_whole else abs(other_amount - chosen_amount),
        answer.currency,
    )
    costs = f"costs {difference} {'more' if other_amount >= chosen_amount else 'less'}"
    ratio = runner_up.day_s / chosen_choice.day_s
    if math.isclose(ratio, 1, rel_tol=PRICE_TIE):
        time = "takes the same time"
    else:
        time = f"takes {ratio:.2g} times as long" if ratio > 1 else f"takes {format_percent(1 - ratio)} less time"
    time += f" ({duration_text(runner_up.day_s, rough=answer.extrapolated)})"
    if answer.unpriced:
        return f"A day's work on the runner-up, {runner_up.label}, {time}."
    if by_day:
        return f"A day's work on the runner-up, {runner_up.label}, {costs} and {time}."
    tie = f" (equal within {format_percent(PRICE_TIE)})" if answer.tied else ""
    years = f"over {answer.constraints.years:g} years"
    return f"The runner-up, {runner_up.label}, {costs} {years}{tie}, and its day's work {time}."


def _first_small(text: str) -> str:
    return f"{text[0].lower()}{text[1:]}"


def _choice_text(choice: Choice, answer: Recommendation) -> str:
    """Return a cluster with its amount and time: ``4 × a (8 cores, 64 GB), 1 SSD for $90, a day's work in 9 s``."""
    ends_s = (choice.day_low_s, choice.day_high_s) if answer.extrapolated else ()
    duration = duration_text(choice.day_s, *ends_s, rough=answer.extrapolated)
    day_cost = day_cost_text(choice, answer)
    if answer.unpriced:
        return f"{choice.label}, a day's work in {duration}"
    if not answer.purchased:
        per_h = money(choice.bill / (answer.constraints.years * YEAR_H), answer.currency)
        return f"{choice.label} at {per_h} per hour, a day's work in {duration} for {day_cost}"
    bill = f"{money(choice.bill, answer.currency)} over {answer.constraints.years:g} years"
    if answer.objective is Objective.DAY_COST:
        return f"{choice.label}, a day's work for {day_cost} in {duration} ({bill})"
    return f"{choice.label} for {bill}, a day's work in {duration}"


def day_cost_text(choice: Choice, answer: Recommendation) -> str:
    """Return the cost of a day's work."""
    amounts = choice.day_cost, choice.day_cost_low, choice.day_cost_high
    return money_texts(*amounts, answer.currency, rough=answer.extrapolated)[0]


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
        f"It is a rough estimate, because {_beyond_text(answer)}. To make it a forecast, measure {workload} with at "
        f"least {format_bytes(answer.needed_bytes_per_worker)} per worker, and learn the times from this run. With "
        f"more than {EXTRAPOLATION_MAX:g} times the measured data per worker, times have ranges without a probability."
    )


def _beyond_text(answer: Recommendation) -> str:
    """Return how much larger the work is than the measured runs."""
    times = f"{answer.extrapolation:,.0f}"
    return f"each worker gets up to {times} times as much data as in the runs that the times are learned from"


def headline(answer: Recommendation) -> Iterator[str]:
    """Yield how certain the recommendation is, or why there is none."""
    kept_text = constraints_text(answer.constraints, answer.currency)
    if answer.chosen is None:
        yield f"No recommendation: {answer.why_none}."
        return
    chosen_choice, runner_up = answer.chosen, answer.runner_up
    if answer.too_close and runner_up is not None and not answer.tied:
        probability_of_both = probability(min(1.0, chosen_choice.hardware_probability + runner_up.hardware_probability))
        others_text = (
            f"the hardware of one of them has {OBJECTIVES[answer.objective]} in {probability_of_both} of "
            f"{answer.origin} draws"
        )
        if answer.extrapolated:
            others_text = "another candidate may be better"
        yield f"Too close to call between the first cluster and the runner-up; {others_text}."
    if not answer.extrapolated:
        best_share, keeps_share = (
            probability(chosen_choice.hardware_probability),
            probability(chosen_choice.keeps_probability),
        )
        keeps_text = (
            f" With these settings it keeps {_kept_text(answer)} ({kept_text}) in {keeps_share}." if kept_text else ""
        )
        draws = f"{best_share} of {answer.draws:,} {answer.origin} draws"
        yield f"The hardware named first has {OBJECTIVES[answer.objective]} in {draws}.{keeps_text}"
    if runner_up is None:
        keeps_text = _kept_text(answer) or "the time of a day"
        yield f"No other hardware keeps {keeps_text} in {format_percent(answer.confidence)} of the draws."
    elif not answer.tied and answer.objective is Objective.PRICE and runner_up.bill < chosen_choice.bill:
        yield (
            f"The runner-up costs less at the list prices. {chosen_choice.label} costs less on average over the "
            "possible prices, which sets the order."
        )
    for choice in {
        choice.label: choice for choice in (chosen_choice, _other_choice(answer), runner_up) if choice
    }.values():
        for time in choice.times:
            yield from (f"{choice.label}: {time.workload} {text}." for text in credit_texts(time.credits))


def lead(answer: Recommendation) -> Iterator[str]:
    """Yield the extrapolation, the other named clusters, the constraints, the nearest switching price, what the budget
    rules out, and the prices used.
    """
    if answer.unpriced:
        yield f"Times alone are ranked: {answer.unpriced}."
    if extrapolation := extrapolation_text(answer):
        yield extrapolation
    if text := _runner_up_text(answer):
        yield text
    if (other_choice := _other_choice(answer)) is not None:
        goal = GOALS[Objective.PRICE if answer.objective is Objective.TIME else Objective.TIME]
        yield f"The {_first_small(goal)} is {_choice_text(other_choice, answer)}."
    if kept_text := constraints_text(answer.constraints, answer.currency):
        yield f"Constraints: {kept_text}."
    near_changes = [
        change for change in answer.changes if change.factor is not None and _distance(change) <= SWITCH_STATED
    ]
    if near_changes:
        change = min(near_changes, key=_distance)
        then_text = f"the answer is {change.then}{_time_text(change, rough=answer.extrapolated)}"
        yield f"If the {change.what} is {change.at} (now {change.now}), {then_text}."
    if (over_budget := answer.over_budget) is not None:
        time = duration_text(over_budget.day_s, rough=answer.extrapolated)
        yield (
            f"The budget has to hold in {format_percent(answer.confidence)} of the draws of prices. "
            f"{over_budget.label} costs {money(over_budget.bill, answer.currency)} at the list prices and takes "
            f"{time}, but its price is up to {money(over_budget.bill_high, answer.currency)} within the ranges of the "
            "prices (90 %)."
        )
    if not answer.unpriced:
        yield f"Prices: {answer.book}, {answer.book_date} ({answer.book_source})."


def _time_text(change: AnswerChange, *, rough: bool) -> str:
    """Return how the time of a day's work changes with the answer; empty if it is not known."""
    if change.day_s is None or change.time_factor is None:
        return ""
    duration, factor = duration_text(change.day_s, rough=rough), change.time_factor
    if math.isclose(factor, 1, rel_tol=PRICE_TIE):
        return f", with the same time ({duration})"
    difference_text = f"{factor:.2g} times as long" if factor > 1 else f"{format_percent(1 - factor)} less time"
    return f", and a day's work takes {difference_text} ({duration})"


def _distance(change: AnswerChange) -> float:
    """Return how far the switching price is from the present price, as a share of the lower one."""
    factor = change.factor or math.inf
    return max(factor, 1 / factor) - 1


def clusters_table(answer: Recommendation) -> TextTable:
    """Return the named clusters with money and time: the best, the other named cluster, and the runner-up."""
    if answer.chosen is None:
        return TextTable("", (), ())
    best_goal = GOALS[answer.objective]
    other_goal = GOALS[Objective.PRICE if answer.objective is Objective.TIME else Objective.TIME]
    titled_choices = ((best_goal, answer.chosen), (other_goal, _other_choice(answer)), ("Runner-up", answer.runner_up))
    clusters: dict[str, tuple[str, Choice]] = {}
    for role, choice in titled_choices:
        if choice is not None:
            known_cluster = clusters.get(choice.label)
            clusters[choice.label] = (
                f"{known_cluster[0]}, {role[0].lower()}{role[1:]}" if known_cluster else role,
                choice,
            )
    years = f"over {answer.constraints.years:g} years"
    made_of = ("Made of",) if _priced_by_part(answer) else ()
    money_titles: tuple[str, ...] = ()
    if answer.purchased:
        money_titles = (f"Price {years}, used or idle", *made_of)
    else:
        extra_text = " with the extra costs" if answer.chosen.cost_lines else ""
        money_titles = "Per hour", *made_of, f"Cost of a day's work{extra_text}", f"Rented 24 h a day {years}"
    if answer.unpriced:
        money_titles = ()
    headers = ("", "Cluster", *money_titles, f"A day's work ({interval_title(answer).lower()})")
    rows = tuple((role, choice.label, *_cells(choice, answer)) for role, choice in clusters.values())
    return TextTable(f"Clusters ({answer.origin} times)", headers, rows)


def cluster_sentences(answer: Recommendation) -> Iterator[str]:
    """Yield a sentence with the cells of each row of :func:`clusters_table`."""
    table = clusters_table(answer)
    for role, label, *cells in table.rows:
        titled_cells = zip(table.headers[2:], cells, strict=True)
        yield f"{role}: {label}. {'; '.join(f'{header}: {cell}' for header, cell in titled_cells)}."


def _cells(choice: Choice, answer: Recommendation) -> tuple[str, ...]:
    """Return the money and the time of a cluster.

    Rented hardware has a price per hour, purchased hardware a price over the years, each also by part.
    """
    currency, hours = answer.currency, answer.constraints.years * YEAR_H
    bill = money(choice.bill, currency)
    if choice.bill_high > choice.bill_low * 1.0001:
        bill += f" ({money_interval(choice.bill_low, choice.bill_high, currency)})"
    ends_s = choice.day_low_s, choice.day_high_s
    share_text = f"{100 * choice.day_s / DAY_S:.2g} %" if answer.extrapolated else share(choice.day_s / DAY_S)
    day = f"{duration_text(choice.day_s, *ends_s, rough=answer.extrapolated)}, {share_text} of a day"
    if answer.unpriced:
        return (day,)
    if not answer.purchased:
        made_of = (parts_text(choice.parts.scaled(1 / hours), currency),) if _priced_by_part(answer) else ()
        return money(choice.bill / hours, currency), *made_of, day_cost_text(choice, answer), bill, day
    made_of = (parts_text(choice.parts, currency),) if _priced_by_part(answer) else ()
    return f"{bill}, {money(24 * choice.bill / hours, currency)} per day", *made_of, day


def _priced_by_part(answer: Recommendation) -> bool:
    """Return whether workers have a price, and not only the cluster as a whole."""
    return answer.chosen is not None and answer.chosen.parts.per_worker > 0


def parts_text(parts: ClusterParts, currency: str) -> str:
    """Return the price of each part: ``4 workers at $6,996, 1 master at $6,630 and shared parts $1,000``."""
    texts = [f"{plural(parts.workers, 'worker')} at {price_text(parts.per_worker, currency)}"]
    if parts.masters:
        texts.append(masters_text(parts, currency))
    if parts.shared > _PART_SHARE_MIN * parts.workers * parts.per_worker:
        texts.append(f"shared parts {money(parts.shared, currency)}")
    return joined(texts)


def masters_text(parts: ClusterParts, currency: str) -> str:
    """Return the price of the masters: ``1 × master (m6id.2xlarge) at $0.4746``, with the name of their price."""
    masters = plural(parts.masters, "master")
    if parts.master_price is not None:
        masters = f"{parts.masters} × {parts.master_price}"
    return f"{masters} at {price_text(parts.per_master, currency)}"


def interval_title(answer: Recommendation) -> str:
    """Return the title of the column of intervals: ``Range`` where no probability is stated."""
    return interval_header(extrapolated=answer.extrapolated)


def interval_header(*, extrapolated: bool) -> str:
    """Return the title of a column of intervals."""
    return "Range" if extrapolated else "90 %"


def front_title(answer: Recommendation) -> str:
    """Return the title of the list of candidates."""
    intervals = intervals_name(extrapolated=answer.extrapolated)
    kept_text = _kept_text(answer)
    if answer.chosen is None:
        return (
            f"No candidate keeps {kept_text or 'the time of a day'}; these come nearest: {answer.origin}, {intervals}"
        )
    which_text = f"keep {kept_text} and may" if kept_text else "may"
    return (
        f"Candidates that {which_text} be on the Pareto front of money and time: {answer.origin}, {intervals}. A "
        "candidate that is not on the front is beaten at these numbers, but the difference is uncertain"
    )


def intervals_name(*, extrapolated: bool) -> str:
    """Return what the intervals of times are."""
    return "ranges without a stated probability" if extrapolated else "90 % intervals"


def front_cells(choice: Choice, answer: Recommendation) -> dict[str, str]:
    """Return by title whether a candidate is on the Pareto front, and its shares of draws: on the front, with the best
    hardware, and with all constraints kept, if there are any. Without shares where the data is extrapolated too far.
    """
    cells = {"Pareto front": "yes" if choice.on_pareto_front else "no"}
    if answer.extrapolated:
        return cells
    shares = {"Front in": choice.pareto_front_probability, "Best hardware in": choice.hardware_probability}
    if _kept_text(answer):
        shares["Keeps constraints in"] = choice.keeps_probability
    return cells | {title: probability(value) for title, value in shares.items()}


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
    extra_text = " and the extra costs" if any(choice.cost_lines for choice in answer.finalists) else ""
    if not answer.unpriced:
        yield f"the cost in use is the share of the cluster's price for the hours of a day's work{extra_text}"
    yield from answer.assumptions
