"""Compose the chapter on simulated changes: predicted times of measured configurations after changes of settings.

In: what-if answers. Out: a chapter with a row for each answer, with its origin and interval, and the assumptions.
Nothing is computed here.
"""

from collections.abc import Sequence

from assay.interfaces.report.output.document import Block, Chapter, Code, Line, Paragraph
from assay.interfaces.report.tables import shortened, table
from assay.questions.forecasts.whatif import WhatIf
from assay.text import amounts, capitalised, numbers, titles


def whatif_chapter(answers: Sequence[WhatIf]) -> Chapter | None:
    """Return the chapter; None without answers."""
    if not answers:
        return None
    changed = ", ".join(f"{name}={value}" for name, value in answers[0].changes.items())
    first = Paragraph(
        (
            "Not measured. The simulator predicts the times of the measured runs with ",
            Code(changed),
            ". It first simulates the measured configurations, and its prediction is corrected by its error there. "
            "The interval should contain nine of ten runs.",
        )
    )
    priced = any(answer.cost_after is not None for answer in answers)
    columns = ["Workload", "Measured on", "#Runs", "#Measured (s)", "Origin", "#Predicted (s)", "#90 % of runs"]
    columns += ["#Speedup", "Predicted limit", *(["#Predicted cost per run"] if priced else [])]
    rows = [_row(answer, priced=priced) for answer in answers]
    full = table(columns, rows, f"With {changed}: simulated, not measured")
    assumptions = dict.fromkeys(text for answer in answers for text in answer.assumptions)
    assumptions |= dict.fromkeys(f"no cost: {answer.cost_unknown}" for answer in answers if answer.cost_unknown)
    blocks: list[Block] = [first, *shortened(full, "what-if")]
    blocks += [Paragraph((f"{capitalised(text)}.",), "soft") for text in assumptions]
    return Chapter("what-if", "What if", tuple(blocks))


def _row(answer: WhatIf, *, priced: bool) -> tuple[Line | str, ...]:
    cost = numbers.NO_VALUE if answer.cost_after is None else amounts.money(answer.cost_after, answer.currency)
    return (
        titles.workload_title(answer.workload),
        answer.configuration,
        str(answer.n_measured),
        numbers.seconds(answer.measured_s),
        answer.origin,
        numbers.seconds(answer.simulated_s),
        numbers.interval_s(answer.low_s, answer.high_s),
        f"{answer.ratio:.2f} ({answer.ratio_low:.2f} to {answer.ratio_high:.2f})",
        answer.limit_after,
        *((cost,) if priced else ()),
    )
