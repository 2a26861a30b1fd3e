"""Page one of a report: the answer, every workload with its ratio and cost, what to buy, and what would change that.

In: for each workload its comparisons, the levels that may be the fastest there, and the ratios of cost where there is a
price book. Out: sentences and facts; a sentence never says more than the intervals of its rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.compare.compared import Compared
from assay.compare.threats import Threat
from assay.compare.verdict import Conclusion
from assay.cost.tco import CostRatio
from assay.questions.report_parts import Fact
from assay.wording import format_interval, format_ratio, interval, joined, ratio

LEVELS_NAMED = 4
"""How many configurations a sentence names before it only counts them."""


@dataclass(frozen=True, slots=True)
class WorkloadAnswer:
    """What was found on one workload."""

    title: str
    compared: tuple[Compared, ...]
    may_be_fastest: tuple[str, ...] = ()
    """Levels that no other is shown to be faster than; empty where nobody asked."""
    costs: tuple[CostRatio, ...] = ()

    @property
    def sure(self) -> tuple[Compared, ...]:
        """The comparisons that have an interval and enough runs for a conclusion."""
        return tuple(c for c in self.compared if c.low is not None and c.conclusion is not Conclusion.NOT_ENOUGH_RUNS)

    def cost_of(self, candidate: str) -> CostRatio | None:
        """Return the ratio of cost of ``candidate``."""
        return next((cost for cost in self.costs if cost.candidate == candidate), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a report answers, and what it rests on."""

    title: str
    answer: str
    detail: str
    origin: str
    factor: str
    baseline: str
    levels: tuple[str, ...]
    workloads: tuple[WorkloadAnswer, ...]
    """Every workload that has a comparison."""
    points: tuple[Fact, ...]
    """What to buy, what would change that, and why, for page one."""
    method: tuple[Fact, ...]
    threats: tuple[Threat, ...]
    assay_version: str


def sure_of(compared: Compared) -> str:
    """Return how sure a ratio is, a sentence. ValueError without an interval."""
    if compared.low is None or compared.high is None:
        raise ValueError("a ratio without an interval is not sure")
    scope = f" {compared.basis.holds_for}" if compared.basis.holds_for else ""
    return f"The 95 % interval{scope} is {format_interval(compared.low, compared.high)}, from {compared.basis.units}."


def faster(compared: Compared, where: str) -> str:
    """Return the sentence of a candidate that is faster; ``where``: `` on TeraSort``."""
    how = format_ratio(compared.ratio or 1.0)
    return f"{compared.candidate} is {how} times as fast as {compared.baseline}{where}."


def _range(values: Sequence[float]) -> str:
    low, high = format_ratio(min(values)), format_ratio(max(values))
    return low if low == high else f"{low} to {high}"


def _on(count: int, total: int) -> str:
    return (
        ("on both workloads" if total == 2 else f"on all {total} workloads")
        if count == total
        else (f"on {count} of {total} workloads")
    )


def _few(names: Sequence[str]) -> str:
    shown = list(names[:LEVELS_NAMED])
    return joined([*shown, *([f"{len(names) - LEVELS_NAMED} more"] if len(names) > LEVELS_NAMED else [])])


def _of_single(only: Compared, title: str) -> tuple[str, str]:
    """Return the answer of one comparison that has an interval."""
    how = format_ratio(only.ratio or 1.0)
    if only.conclusion is Conclusion.FASTER:
        return faster(only, f" on {title}"), sure_of(only)
    if only.conclusion is Conclusion.SLOWER:
        return f"{only.candidate} is slower than {only.baseline} on {title}: {how} times as fast.", sure_of(only)
    shown = f"No difference is shown between {only.candidate} and {only.baseline} on {title}."
    return shown, f"The ratio is {how}. {sure_of(only)}"


def _of_candidate(pairs: Sequence[tuple[str, Compared]]) -> tuple[str, str]:
    """Return the answer for one candidate on several workloads."""
    first = pairs[0][1]
    candidate, baseline, total = first.candidate, first.baseline, len(pairs)
    by = {kind: [(title, c) for title, c in pairs if c.conclusion is kind] for kind in Conclusion}
    better, worse, equal = by[Conclusion.FASTER], by[Conclusion.SLOWER], by[Conclusion.NO_DIFFERENCE_SHOWN]

    def times(found: Sequence[tuple[str, Compared]]) -> str:
        return f"{_range([c.ratio or 1.0 for _, c in found])} times as fast"

    told = {c.basis.units for _, c in pairs}
    detail = [f"Every workload's 95 % interval is below{f', from {told.pop()}' if len(told) == 1 else ''}."]
    if better:
        answer = f"{candidate} is faster than {baseline} {_on(len(better), total)}: {times(better)}."
        if worse:
            detail.insert(0, f"It is slower on {_few([title for title, _ in worse])}: {times(worse)}.")
    elif worse:
        answer = f"{candidate} is slower than {baseline} {_on(len(worse), total)}: {times(worse)}."
    else:
        return f"No difference is shown between {candidate} and {baseline} {_on(total, total)}.", detail[-1]
    if equal:
        detail.insert(len(detail) - 1, f"No difference is shown on {_few([title for title, _ in equal])}.")
    return answer, " ".join(detail)


def _of_several(found: Sequence[WorkloadAnswer], baseline: str, factor: str) -> tuple[str, str]:
    """Return the answer for several candidates, from the levels that may be the fastest on each workload."""
    where = f"on {found[0].title}" if len(found) == 1 else _on(len(found), len(found))
    always = [level for level in found[0].may_be_fastest if all(level in one.may_be_fastest for one in found)]
    detail = "Of two configurations, one counts as faster where the 95 % interval of their ratio says so."
    if baseline in always:
        return f"Nothing is shown to be faster than {baseline} {where}.", detail
    if not always:
        leaders = dict.fromkeys(one.may_be_fastest for one in found)
        named = [
            f"{_few(levels)} on {_few([one.title for one in found if one.may_be_fastest == levels])}"
            for levels in leaders
        ]
        return f"No {factor} is the fastest {where}.", f"The fastest, as far as is shown: {'; '.join(named)}."
    over = [c.ratio for one in found for c in one.sure if c.candidate in always and c.ratio is not None]
    detail = f"{f'{_range(over)} times as fast as {baseline}. ' if over else ''}{detail}"
    if len(always) > 1:
        return f"{_few(always)} are the fastest {where}; which of them is, is not shown.", detail
    alone = all(len(one.may_be_fastest) == 1 for one in found)
    return f"{always[0]} is the fastest {where}{'' if alone else ', or not shown to be slower than it'}.", detail


def in_simulation(answer: tuple[str, str], compared: Sequence[Compared]) -> tuple[str, str]:
    """Return the answer as one about the simulator, if nothing else was compared: it is none about a cluster."""
    first, detail = answer
    if not compared or not all(c.basis.simulated for c in compared):
        return answer
    negative = first.startswith(("No ", "Nothing "))
    return f"In simulation, {first[0].lower() if negative else first[0]}{first[1:]}", detail


def answer_of(found: Sequence[WorkloadAnswer], baseline: str, factor: str) -> tuple[str, str] | None:
    """Return the report's first sentence and what makes it sure; None where no comparison has an interval."""
    told = [one for one in found if one.sure]
    pairs = [(one.title, c) for one in told for c in one.sure]
    if not pairs:
        return None
    return in_simulation(_answer_of(told, pairs, baseline, factor), [c for _, c in pairs])


def _answer_of(
    told: Sequence[WorkloadAnswer], pairs: Sequence[tuple[str, Compared]], baseline: str, factor: str
) -> tuple[str, str]:
    candidates = dict.fromkeys(c.candidate for _, c in pairs)
    if len(pairs) == 1:
        return _of_single(pairs[0][1], pairs[0][0])
    if len(candidates) == 1:
        return _of_candidate(pairs)
    return _of_several(told, baseline, factor)


def _verdict(candidate: str, own: Sequence[tuple[str, CostRatio]]) -> str:
    """Return what cost says of one candidate, a sentence."""
    baseline, price, n = own[0][1].baseline, ratio(own[0][1].price_ratio), len(own)
    signs = [cost.shown for _, cost in own]
    where = f"on {own[0][0]}" if n == 1 else "{}"
    costs = f"{_range([cost.ratio for _, cost in own])} times {baseline}'s, at {price} the price"
    if all(sign < 0 for sign in signs):
        return f"{candidate}: a job costs less {where.format(_on(n, n))}, {costs}."
    if all(sign > 0 for sign in signs):
        return f"{candidate}: a job costs more {where.format(_on(n, n))}, {costs}. Stay with {baseline}."
    parts = [
        f"{word} {_few([title for (title, _), sign in zip(own, signs, strict=True) if sign == kind])}"
        for kind, word in ((-1, "less on"), (1, "more on"), (0, "neither less nor more, as far as is shown, on"))
        if kind in signs
    ]
    return f"{candidate}: a job costs {'; '.join(parts)} ({costs})."


def _tipping(candidate: str, pairs: Sequence[tuple[str, Compared]], own: Sequence[tuple[str, CostRatio]]) -> str:
    """Return below which price a candidate is the cheaper, a sentence: where the price ratio meets the speedup."""
    title, first = min(pairs, key=lambda pair: pair[1].ratio or 1.0)
    at = f"{ratio(first.ratio)} ({interval(first.low, first.high)})"
    where = f"a {title} job" if len(pairs) == 1 else f"a job on each workload ({title} tips first)"
    signs = {cost.shown for _, cost in own}
    is_, while_ = {
        frozenset({-1}): ("stays the cheaper", "as long as"),
        frozenset({1}): ("becomes the cheaper", "once"),
    }.get(frozenset(signs), ("would by these ratios be the cheaper", "where"))
    return f"{candidate} {is_} for {where} {while_} its price is below {at} {first.baseline}'s."


def money_facts(found: Sequence[WorkloadAnswer]) -> tuple[Fact, ...]:
    """Return what cost recommends and at which price that changes; empty where nothing is priced."""
    costs = [(one.title, cost) for one in found for cost in one.costs]
    if not costs:
        return ()
    verdicts, tipping = [], []
    for candidate in dict.fromkeys(cost.candidate for _, cost in costs):
        own = [(title, cost) for title, cost in costs if cost.candidate == candidate]
        verdicts.append(_verdict(candidate, own))
        pairs = [(one.title, c) for one in found for c in one.sure if c.candidate == candidate]
        if pairs:
            tipping.append(_tipping(candidate, pairs, own))
    return (
        Fact("By cost", " ".join(verdicts)),
        *([Fact("What would change it", " ".join(tipping))] if tipping else []),
    )
