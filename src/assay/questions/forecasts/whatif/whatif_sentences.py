"""Compose the sentences of a what-if answer: speedups, what they are of, and when rented workers run out of credits.

In: the answers for configurations. Out: text.
"""

import math
import re
from collections.abc import Sequence
from statistics import fmean

from assay.execution.planning.plan_files.changed_plan import Change
from assay.model import LAYOUT_FACTOR, YEAR_H, Origin, devices_of_code
from assay.questions.costs.extra_costs import SUM, line_rows
from assay.questions.costs.job_cost import LAB_NOTE
from assay.questions.decisions.decision import CostVerdict
from assay.questions.decisions.sentences.option_words import change_text
from assay.questions.forecasts.whatif.lab_cpu import LabCores
from assay.questions.forecasts.whatif.whatif_answer import ChangeEffect, CostChange, WhatIf
from assay.questions.forecasts.whatif.whatif_costs import WhatIfPrices, price_name
from assay.questions.recommendation.request import YEARS
from assay.text import (
    NO_VALUE,
    TextTable,
    capitalised,
    credit_text,
    data_text,
    joined,
    money,
    plural,
    scale_text,
    workload_title,
)

_DISK_COUNT = re.compile(r"\.devices\.\w+\.count$")
_LAYOUT_LETTERS = {"hdd": "HD", "ssd": "SS"}
"""Kind of disk to the letters of a layout that uses a number of them."""
_WHOLE_EFFECT_MIN = 0.9
"""Minimum share of the logarithm of the speedup of all changes for "all of it"; ``_MOST_EFFECT_MIN``: "most of it"."""
_MOST_EFFECT_MIN = 0.5
_NAMED_MAX = 3
"""Maximum number of configurations with a difference that the sentence names."""


def sentence_of(answers: Sequence[WhatIf], has_prices: bool) -> str:
    """Return the simulated speedup of a configuration, or the mean of several, and the cost ratio of a run.

    ``has_prices``: whether the question has a price book.
    """
    if all(answer.origin == Origin.MEASURED for answer in answers):
        return "Nothing was changed: each time is the measured one."
    mean = effect_of(answers)
    runs = "runs are" if len(answers) > 1 else f"{_name(answers[0])} is"
    average = " on average" if len(answers) > 1 else ""
    speed = f"{runs} {mean.ratio:.2f}× as fast{average} (90 % interval {mean.ratio_low:.2f} to {mean.ratio_high:.2f})"
    origin_text = "simulated, extrapolated" if any(answer.extrapolated for answer in answers) else "simulated"
    return f"With {_changes_of(answers)}, {speed}, {origin_text}; {_cost_part(answers, mean.cost, has_prices)}."


def slower_link_notes(slower_links: Sequence[WhatIf], count: int) -> list[str]:
    """Return for how many of ``count`` configurations the link is slower than measured, with their mean speedup.

    Where other configurations have no slower link, the sentence and the costs are those of the others.
    """
    if not slower_links:
        return []
    rates = joined([f"{rate / 1e9:g} Gbit/s" for rate in sorted({row.links_bits_per_s[0] for row in slower_links})])
    text = f"The link is slower than measured ({rates}) for {len(slower_links)} of {plural(count, 'configuration')}."
    if len(slower_links) == count:
        return [text]
    mean = effect_of(slower_links)
    verb, average = ("They are", " on average") if len(slower_links) > 1 else ("It is", "")
    return [
        f"{text} {verb} {mean.ratio:.2f}× as fast{average} (90 % interval {mean.ratio_low:.2f} to "
        f"{mean.ratio_high:.2f}), not included above."
    ]


def _cost_part(answers: Sequence[WhatIf], cost: CostChange | None, has_prices: bool) -> str:
    """Return the cost ratio of a run with its interval, or why it is not known."""
    if cost is not None:
        return f"a run costs {cost.ratio:.2f}× as much ({cost.low:.2f} to {cost.high:.2f})"
    if not has_prices:
        return "cost unknown: no price book"
    missing_names = dict.fromkeys(part.name for row in answers for part in row.missing_prices if part.price is None)
    if missing_names:
        return f"cost unknown: unpriced {joined(list(missing_names))}"
    return "cost ratio unknown: the price book does not price the cluster"


def notes_of(answers: Sequence[WhatIf], effects: Sequence[ChangeEffect]) -> tuple[str, ...]:
    """Return what limits and explains the sentence, most important first.

    ``effects``: of each change alone, and of all together last; a note says which change has the effect.
    """
    if all(answer.origin == Origin.MEASURED for answer in answers):
        return ()
    return (
        *_extrapolation(answers),
        *_effect(answers),
        *_source(effects),
        *_costs_alone(answers, effects),
        *_unused_disks(answers),
        *_exhaustion_sentences(answers),
    )


def _extrapolation(answers: Sequence[WhatIf]) -> list[str]:
    """Return how far the largest extrapolation is beyond the learned range; empty within it."""
    farthest_answer = max(answers, key=lambda answer: answer.extrapolation)
    if not farthest_answer.extrapolated:
        return []
    quantity = (
        "as many workers" if farthest_answer.extrapolated == "workers" else f"as much {farthest_answer.extrapolated}"
    )
    times = f"{farthest_answer.extrapolation:.2g} times {quantity}"
    return [f"Extrapolated: {times} as in the learned runs. The interval is wider for it."]


def _unused_disks(answers: Sequence[WhatIf]) -> list[str]:
    """Return that the runs use none of the added disks, if the number of disks changes and the layout does not."""
    changes = answers[0].changes
    numbers = {name.split(".")[-2]: value for name, value in changes.items() if _DISK_COUNT.search(name)}
    if not numbers or LAYOUT_FACTOR in changes:
        return []
    layouts = joined(list(dict.fromkeys(row.levels[LAYOUT_FACTOR] for row in answers if LAYOUT_FACTOR in row.levels)))
    uses = [f"layout={_LAYOUT_LETTERS[kind]}{number}" for kind, number in numbers.items() if kind in _LAYOUT_LETTERS]
    example = f", such as {uses[0]}," if uses else ""
    return [f"The runs use the disks of their layout ({layouts}) only. Change the layout{example} to use other disks."]


def _source(effects: Sequence[ChangeEffect]) -> list[str]:
    """Return which change has the effect of all changes: the only one whose effect is shown; empty if several are."""
    ratios_alone = [(effect, effect.ratio) for effect in effects[:-1] if effect.ratio is not None]
    ratio_of_all = effects[-1].ratio if effects else None
    shown_effects = [(effect, ratio) for effect, ratio in ratios_alone if effect.shown]
    if len(shown_effects) != 1 or len(ratios_alone) < len(effects) - 1 or ratio_of_all is None or not effects[-1].shown:
        return []
    [(source, ratio)] = shown_effects
    share = math.log(ratio) / math.log(ratio_of_all)
    part = "All" if share >= _WHOLE_EFFECT_MIN else "Most" if share >= _MOST_EFFECT_MIN else "A part"
    kind = "speedup" if ratio_of_all > 1 else "slowdown"
    others_text = joined(
        [f"{_words(effect)} alone ({other_ratio:.2f}×)" for effect, other_ratio in ratios_alone if effect is not source]
    )
    return [f"{part} of the {kind} comes from {_words(source)}. No difference is shown for {others_text}."]


def _costs_alone(answers: Sequence[WhatIf], effects: Sequence[ChangeEffect]) -> list[str]:
    """Return the cost ratio of a run with each single change, if that with all changes is not known."""
    if _cost_of(answers) is not None:
        return []
    priced_effects = [(effect, effect.cost) for effect in effects if effect.cost is not None]
    return [f"With {_words(effect)} alone, a run costs {_cost_ratio_text(cost)}." for effect, cost in priced_effects]


def _cost_ratio_text(cost: CostChange) -> str:
    verdict = ", no difference shown" if cost.verdict is CostVerdict.NOT_DISTINGUISHABLE else ""
    return f"{cost.ratio:.2f}× as much (90 % interval {cost.low:.2f} to {cost.high:.2f}{verdict})"


def _words(effect: ChangeEffect) -> str:
    return joined([change_text(name, value) for name, value in effect.changes.items()])


def effect_of(answers: Sequence[WhatIf]) -> ChangeEffect:
    """Return the mean effect of the changes of these answers, with its interval."""
    ratios = [answer.ratio for answer in answers]
    is_single_change = len(answers[0].changes) == 1
    return ChangeEffect(
        changes=answers[0].changes,
        title=f"{capitalised(_changes_of(answers))} alone" if is_single_change else "All changes together",
        ratio=_mean(ratios),
        ratio_low=_mean([answer.ratio_low for answer in answers]),
        ratio_high=_mean([answer.ratio_high for answer in answers]),
        smallest=min(ratios),
        largest=max(ratios),
        configurations=len(answers),
        shown=sum(answer.is_shown for answer in answers),
        cost=_cost_of(answers),
    )


def refused_effect(change: Change, reason: str) -> ChangeEffect:
    """Return that a change is impossible without the others, with the reason."""
    title = f"{capitalised(change_text(*change))} alone"
    return ChangeEffect(dict([change]), title, None, None, None, None, None, 0, 0, refusal=reason)


def money_sentence(answers: Sequence[WhatIf], prices: WhatIfPrices | None) -> str:
    """Return whether a run costs less or more with the changes, and the costs of the cluster; or what is missing."""
    changed_answers = [answer for answer in answers if answer.origin != Origin.MEASURED]
    if not changed_answers:
        return ""
    if prices is None:
        return "No cost is known: there is no price book."
    priced_answers = [answer for answer in changed_answers if answer.per_h_after is not None]
    if not priced_answers:
        return f"The cost of the changed cluster is not known. {_missing_text(changed_answers, prices)}"
    stated_texts = [
        f"Stated {price_name(prices.book)} of each {part.name}: {money(part.price, priced_answers[0].currency)} "
        f"({part.count_text})."
        for part in priced_answers[0].missing_prices
        if part.price is not None
    ]
    stated_texts += dict.fromkeys(answer.cost_note for answer in priced_answers if answer.cost_note)
    note = [LAB_NOTE] if any(answer.lab_scale is not None for answer in priced_answers) else []
    if note and priced_answers[0].cost_lines_after:
        note.append("With extra costs, the cost ratio also depends on the seconds of the lab.")
    if any(part.price is None for answer in priced_answers for part in answer.missing_prices):
        note.append(_missing_text(priced_answers, prices))
    return " ".join([_run_cost_text(priced_answers), _cluster_cost_text(priced_answers), *stated_texts, *note])


def _run_cost_text(answers: Sequence[WhatIf]) -> str:
    """Return the cost of a run relative to the measured cost, with its verdict, and the amounts."""
    currency = answers[0].currency
    after_text = _spread([answer.cost_after for answer in answers], currency)
    change = _cost_of(answers)
    if change is None:
        return f"A run costs {after_text}. The measured cluster has no price."
    before_text = _spread([answer.cost_before for answer in answers], currency)
    mean = "" if len(answers) == 1 else f", mean of {len(answers)} configurations"
    ratio = f"{change.ratio:.2f}× the measured cost (90 % interval {change.low:.2f} to {change.high:.2f}{mean})"
    extra_text = ", with the extra costs of a day" if answers[0].cost_lines_after else ""
    amounts = f"{after_text} instead of {before_text}{extra_text}"
    if change.verdict is CostVerdict.NOT_DISTINGUISHABLE:
        return f"No difference in the cost of a run is shown: {ratio}, {amounts}."
    return f"A run {change.verdict}: {ratio}, {amounts}."


def _cluster_cost_text(answers: Sequence[WhatIf]) -> str:
    """Return the cost of the cluster per hour and over years, before and after the changes."""
    currency, first = answers[0].currency, answers[0]
    per_h = [answer.per_h_after for answer in answers if answer.per_h_after is not None]
    text = f"The changed cluster costs {_spread(per_h, currency)} per hour"
    years = f"{_spread([amount * YEARS * YEAR_H for amount in per_h], currency)} over {YEARS:g} years"
    if first.per_h_before is None:
        return f"{text}, which is {years}, used or idle."
    before_per_h = [answer.per_h_before for answer in answers if answer.per_h_before is not None]
    years_before = _spread([amount * YEARS * YEAR_H for amount in before_per_h], currency)
    return f"{text} instead of {_spread(before_per_h, currency)}: {years} instead of {years_before}, used or idle."


def _cost_of(answers: Sequence[WhatIf]) -> CostChange | None:
    """Return the mean cost ratio of a run; None if one is unknown."""
    costs = [answer.cost for answer in answers if answer.cost is not None]
    if not costs or len(costs) < len(answers):
        return None
    ratios, lows, highs = zip(*((cost.ratio, cost.low, cost.high) for cost in costs), strict=True)
    return CostChange.of(_mean(ratios), _mean(lows), _mean(highs))


def _missing_text(answers: Sequence[WhatIf], prices: WhatIfPrices) -> str:
    """Return which prices the book lacks; without a list of parts, why it does not price the cluster."""
    parts = dict.fromkeys(
        (part.name, part.count_text) for answer in answers for part in answer.missing_prices if part.price is None
    )
    if not parts:
        return f"{capitalised(next(answer.cost_unknown for answer in answers))}."
    names = joined([f"{name} ({count_text})" for name, count_text in parts])
    return f"The price book lacks the {price_name(prices.book)} of each {names}."


def _spread(amounts: Sequence[float | None], currency: str) -> str:
    """Return the lowest and highest amount: ``$1.43 to $1.77``."""
    known_amounts = [amount for amount in amounts if amount is not None]
    low, high = money(min(known_amounts), currency), money(max(known_amounts), currency)
    return low if low == high else f"{low} to {high}"


def cost_lines_table(answers: Sequence[WhatIf]) -> TextTable:
    """Return the lines of the cost of a day with one run, as measured and with the changes, and their sum."""
    rows = []
    for answer in answers:
        before, after = (
            dict(line_rows(lines, answer.currency)) for lines in (answer.cost_lines_before, answer.cost_lines_after)
        )
        names = [name for name in dict.fromkeys([*before, *after]) if name != SUM]
        rows += [
            (
                workload_title(answer.workload),
                answer.configuration,
                name,
                before.get(name, NO_VALUE),
                after.get(name, NO_VALUE),
            )
            for name in (*names, *([SUM] if names else []))
        ]
    headers = ("Workload", "Measured on", "Cost of a day", "As measured", "With the changes")
    return TextTable("Cost of a day with one run and the extra costs", headers, tuple(rows))


def effects_table(effects: Sequence[ChangeEffect]) -> TextTable:
    """Return the speedup of each change with its interval, its range, and where a difference is shown."""
    count = effects[-1].configurations if effects else 0
    rows = []
    has_costs = any(effect.cost is not None for effect in effects)
    for effect in effects:
        costs = [_cost_cell(effect)] if has_costs else []
        if effect.ratio is None:
            rows.append((effect.title, "not computed", NO_VALUE, NO_VALUE, *costs))
            continue
        speedup = f"{effect.ratio:.2f}× ({effect.ratio_low:.2f} to {effect.ratio_high:.2f})"
        extremes = f"{effect.smallest:.2f}× to {effect.largest:.2f}×"
        rows.append((effect.title, speedup, extremes, f"{effect.shown or 'none'} of {count}", *costs))
    return TextTable(
        f"Speedup of each change{'' if count == 1 else f', mean of {count} configurations'} (simulated)",
        (
            *("Change", "Speedup (90 % interval)", "Lowest to highest", "Difference shown for"),
            *(["Cost ratio of a run (90 % interval)"] if has_costs else []),
        ),
        tuple(rows),
    )


def effect_notes(effects: Sequence[ChangeEffect]) -> list[str]:
    """Return why the effect of a change alone is not computed."""
    return [
        f"{effect.title} can't be simulated: {effect.refusal}. It needs the other changes."
        for effect in effects
        if effect.refusal
    ]


def _cost_cell(effect: ChangeEffect) -> str:
    """Return the cost of a run relative to the measured cost: ``1.43× (0.92 to 2.10)``."""
    cost = effect.cost
    return NO_VALUE if cost is None else f"{cost.ratio:.2f}× ({cost.low:.2f} to {cost.high:.2f})"


def _mean(ratios: Sequence[float]) -> float:
    return math.exp(fmean(math.log(ratio) for ratio in ratios))


def _changes_of(answers: Sequence[WhatIf]) -> str:
    """Return all changes in words. A number of disks is left out if the changed layout uses the same number."""
    changes = answers[0].changes
    device_counts = devices_of_code(changes.get(LAYOUT_FACTOR, ""))
    changes_of_layout = {f"worker.devices.{kind}.count": str(count) for kind, count in device_counts.items()}
    return joined(
        [_change(name, value, answers) for name, value in changes.items() if changes_of_layout.get(name) != value]
    )


def caveat_of(answers: Sequence[WhatIf]) -> str:
    """Return that a lab predicts speedups and not times, and how to get times of hosts; empty for runs on hosts."""
    changed_answers = [row for row in answers if row.origin != Origin.MEASURED]
    lab_scale = next((row.lab_scale for row in changed_answers if row.lab_scale is not None), None)
    if lab_scale is None:
        return ""
    cores = next((row.lab_cores for row in changed_answers if row.lab_cores is not None), None)
    cpu = "" if cores is None else f" {_cpu_text(cores)}"
    return (
        f"The runs are of a lab at {scale_text(lab_scale)}: the speedups are those of the described cluster, the "
        f"seconds are those of the lab.{cpu} For times on hosts, measure there."
    )


def _cpu_text(cores: LabCores) -> str:
    """Return that the prediction changes the cores of the lab's machine in proportion to those of the workers."""
    return (
        "The prediction assumes that each core of a worker has as much CPU as in the measured runs: "
        f"the workers have {cores.described_changed} cores in total instead of {cores.described_measured}, so the lab "
        f"machine is simulated with {cores.changed:.2g} cores instead of {cores.measured:.2g}."
    )


def _change(name: str, value: str, answers: Sequence[WhatIf]) -> str:
    """Return a change in words. Data of a lab is at full scale first: ``4 GB (200 MB in the lab, 1/20) of data``."""
    rows = {(row.data_bytes, row.lab_scale) for row in answers}
    if name != "data" or len(rows) != 1:
        return change_text(name, value)
    [(data_bytes, scale)] = rows
    return f"{data_text(data_bytes * (scale or 1.0), scale)} of data"


def _effect(answers: Sequence[WhatIf]) -> list[str]:
    """Return for which configurations a difference is shown: where the interval of the speedup excludes 1."""
    changed_answers = [answer for answer in answers if answer.is_shown]
    unchanged_answers = [answer for answer in answers if not answer.is_shown]
    if len(answers) == 1:
        return [] if changed_answers else ["No difference is shown: the interval includes 1."]
    if not changed_answers:
        return [f"No difference is shown for any of {len(answers)} configurations ({_range(answers)} as fast)."]
    if len(changed_answers) <= _NAMED_MAX:
        text = joined([_speedup(answer) for answer in changed_answers])
    else:
        faster_count = sum(answer.ratio > 1 for answer in changed_answers)
        slower_count = len(changed_answers) - faster_count
        direction = "faster" if faster_count else "slower"
        text = f"{faster_count or slower_count} of {len(answers)} configurations are {direction}"
        if faster_count and slower_count:
            text += f" and {slower_count} {'is' if slower_count == 1 else 'are'} slower"
        text += f" ({_range(changed_answers)} as fast)"
    if not unchanged_answers:
        return [f"{text}."]
    others_text = (
        "the other configuration"
        if len(unchanged_answers) == 1
        else f"the other {len(unchanged_answers)} configurations"
    )
    return [f"{text}. No difference is shown for {others_text} ({_range(unchanged_answers)})."]


def _exhaustion_sentences(answers: Sequence[WhatIf]) -> list[str]:
    """Return when workers run out of credits: the configuration that they limit most, by kind of credits."""
    sentences = []
    kinds = dict.fromkeys(use.kind for answer in answers for use in answer.credits if use.is_empty)
    for kind in kinds:
        uses = [(use, answer) for answer in answers for use in answer.credits if use.kind is kind and use.is_empty]
        use, answer = max(uses, key=lambda pair: pair[0].added_s / pair[1].simulated_s)
        name = f"{workload_title(answer.workload)} on {answer.configuration}"
        sentences.append(f"{name} {credit_text(use)}.")
    return sentences


def _speedup(answer: WhatIf) -> str:
    """Return ``TeraSort on SS2 is 1.51× as fast (90 % interval 1.09 to 2.10)``."""
    interval_text = f"90 % interval {answer.ratio_low:.2f} to {answer.ratio_high:.2f}"
    return f"{_name(answer)} is {answer.ratio:.2f}× as fast ({interval_text})"


def _name(answer: WhatIf) -> str:
    return f"{workload_title(answer.workload)} on {answer.configuration}"


def _range(answers: Sequence[WhatIf]) -> str:
    """Return the lowest and highest speedup: ``0.98× to 1.47×``."""
    low, high = (f"{extreme(answer.ratio for answer in answers):.2f}×" for extreme in (min, max))
    return low if low == high else f"{low} to {high}"
