"""State a recommendation in sentences, the same on every surface.

In: the answer. Out: text. Nothing is computed here. Extrapolation comes first.
"""

from collections.abc import Iterator

from assay.foundation.units import format_bytes, format_duration
from assay.questions.recommendation.recommend import EXTRAPOLATION_MAX, EXTRAPOLATION_STATED, Choice, Recommendation
from assay.questions.recommendation.search import Least, Limits
from assay.text import NOTHING, money, money_interval, probability

LEAST = {
    Least.PRICE: "the least price",
    Least.JOB: "the least cost of a day's work",
    Least.TIME: "the shortest time of a day's work",
}


def limits_text(limits: Limits, currency: str) -> str:
    """Return the limits in words; empty without any."""
    parts = []
    if limits.deadline_s is not None:
        parts.append(f"every run within {format_duration(limits.deadline_s)}")
    if limits.budget is not None:
        parts.append(f"at most {money(limits.budget, currency)} over {limits.years:g} years")
    if limits.capacity_bytes:
        parts.append(f"{format_bytes(limits.capacity_bytes)} of data kept")
    return ", ".join(parts)


def chosen_text(one: Choice, found: Recommendation) -> str:
    """Return one cluster with what it costs and takes."""
    ends = ""
    if one.bill_high > one.bill_low * 1.0001:
        ends = f" ({money_interval(one.bill_low, one.bill_high, found.currency)})"
    day = f"{format_duration(one.day_low_s)} to {format_duration(one.day_high_s)}"
    return (
        f"{one.label}: {money(one.bill, found.currency)}{ends} over {found.limits.years:g} years; a day's work takes "
        f"{format_duration(one.day_s)} ({day}), and costs {money(one.day_cost, found.currency)}"
    )


def headline(found: Recommendation) -> Iterator[str]:
    """Yield the recommendation and the runner-up, or why there is none."""
    kept = limits_text(found.limits, found.currency)
    if found.chosen is None:
        yield f"No recommendation: {found.why_none}."
        return
    chosen, runner_up = found.chosen, found.runner_up
    if found.extrapolation > EXTRAPOLATION_STATED:
        yield (
            f"Extrapolated: up to {found.extrapolation:,.0f} times the data per worker that the profile was learned "
            "from. A measured run with more data per worker would make this answer surer."
        )
    if found.too_close and runner_up is not None:
        yield f"Too close to call between {chosen.label} and {runner_up.label}."
    yield f"{'Best estimate' if found.too_close else 'Recommended'}: {chosen_text(chosen, found)} (simulated)."
    if found.extrapolated:
        yield (
            f"No probability of having {LEAST[found.least]} is stated beyond {EXTRAPOLATION_MAX:g} times the learned "
            f"data per worker.{f' Limits: {kept}.' if kept else ''}"
        )
    else:
        share, keeps_share = probability(chosen.hardware_probability), probability(chosen.keeps_probability)
        keeps = f" With these settings it keeps every limit ({kept}) in {keeps_share}." if kept else ""
        yield f"Its hardware has {LEAST[found.least]} in {share} of {found.draws:,} simulated draws.{keeps}"
    if runner_up is not None:
        best = "" if found.extrapolated else f"; the best in {probability(runner_up.hardware_probability)}"
        yield f"Runner-up: {chosen_text(runner_up, found)}{best}."
    else:
        yield f"There is no runner-up: no other hardware keeps every limit in {found.surely:.0%} of the draws."


def front_title(found: Recommendation) -> str:
    """Return the title of the list of candidates."""
    if found.chosen is None:
        return "No candidate keeps every limit; these come nearest. Simulated, 90 % intervals"
    return "Pareto front of money and time among candidates that keep every limit: simulated, 90 % intervals"


def shares_of(one: Choice, found: Recommendation) -> tuple[str, str, str]:
    """Return the shares of draws in which a candidate is on the Pareto front, is the best hardware, and keeps every
    limit; a dash where they are extrapolated too far.
    """
    if found.extrapolated:
        return NOTHING, NOTHING, NOTHING
    shares = one.pareto_front_probability, one.hardware_probability, one.keeps_probability
    front, best, keeps = map(probability, shares)
    return front, best, keeps


def sentences(found: Recommendation) -> Iterator[str]:
    """Yield what the numbers rest on."""
    yield f"prices: {found.book}; a day's work costs its share, by the hour, of what the cluster costs"
    yield from found.assumptions
