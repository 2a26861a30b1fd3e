"""The chapter on what was not measured: predicted times of the measured configurations with some things set otherwise.

In: what-if answers. Out: a chapter whose every row carries its origin, its interval and, below, what was assumed.
Nothing is computed here.
"""

from collections.abc import Sequence

from assay.questions.whatif import WhatIf
from assay.report.chapters import line, table
from assay.report.document import Block, Chapter, Code, Line, Paragraph
from assay.wording import amounts, capitalised, numbers, titles


def whatif_chapter(answers: Sequence[WhatIf]) -> Chapter | None:
    """Return the chapter; None where nothing was asked."""
    if not answers:
        return None
    changed = ", ".join(f"{name}={value}" for name, value in answers[0].changes.items())
    first = Paragraph(
        line(
            "Nobody has run these: the simulator says what the measured runs would take with ",
            Code(changed),
            ". It was first asked for what was measured, and its answer is corrected by how it missed that. "
            "Nine of ten runs should lie in the interval.",
        )
    )
    priced = any(each.cost_after is not None for each in answers)
    columns = ["Workload", "Measured on", "#Runs", "#Measured (s)", "Origin", "#Then (s)", "#90 % of runs"]
    columns += ["#Times as fast", "Limit then", *(["#A run costs then"] if priced else [])]
    told = table(columns, [_row(each, priced=priced) for each in answers], f"With {changed}: simulated, not measured")
    assumed = dict.fromkeys(words for each in answers for words in each.assumptions)
    assumed |= dict.fromkeys(f"no cost: {each.cost_unknown}" for each in answers if each.cost_unknown)
    blocks: list[Block] = [first, told, *(Paragraph(line(f"{capitalised(words)}."), "soft") for words in assumed)]
    return Chapter("what-if", "What if", tuple(blocks))


def _row(each: WhatIf, *, priced: bool) -> tuple[Line | str, ...]:
    cost = numbers.NOTHING if each.cost_after is None else amounts.money(each.cost_after, each.currency)
    return (
        titles.workload_title(each.workload),
        each.configuration,
        str(each.n_measured),
        numbers.seconds(each.measured_s),
        each.origin,
        numbers.seconds(each.simulated_s),
        numbers.interval_s(each.low_s, each.high_s),
        f"{each.ratio:.2f} ({each.ratio_low:.2f} to {each.ratio_high:.2f})",
        each.limit_after,
        *((cost,) if priced else ()),
    )
