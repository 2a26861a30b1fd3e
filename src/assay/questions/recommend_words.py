"""A recommendation as sentences, the same for all faces.

In: the answer. Out: text. Nothing is computed here.
"""

from collections.abc import Iterator

from assay.questions.recommend import Choice, Recommendation
from assay.questions.recommend_search import Least, Limits
from assay.units import format_bytes, format_duration
from assay.wording import money, money_interval, probability

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
    one = found.chosen
    yield f"Recommended: {chosen_text(one, found)} (simulated)."
    sure, all_kept = probability(one.hardware_probability), probability(one.keeps_probability)
    keeps = f" With these settings it keeps every limit ({kept}) in {all_kept}." if kept else ""
    yield (
        f"Its hardware, whatever the settings, has {LEAST[found.least]} in {sure} of {found.draws:,} draws of all that "
        f"is uncertain.{keeps}"
    )
    if found.runner_up is not None:
        other = found.runner_up
        yield f"Runner-up: {chosen_text(other, found)}; the best in {probability(other.hardware_probability)}."
    else:
        yield f"There is no runner-up: nothing else keeps every limit in {found.surely:.0%} of the draws."


def sentences(found: Recommendation) -> Iterator[str]:
    """Yield what the numbers rest on."""
    yield f"prices: {found.book}; a day's work costs its share, by the hour, of what the cluster costs"
    yield from found.assumptions
