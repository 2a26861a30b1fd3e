"""Compose the chapter on simulated changes: predicted times of measured configurations after changes of settings.

In: what-if answers. Out: a chapter with a row for each answer, with its origin and interval, and the assumptions.
Nothing is computed here.
"""

from assay.analysis.run_profile.tables.limits_tables import limit_title
from assay.interfaces.report.output.document import Block, Chapter, Code, Line, Paragraph
from assay.interfaces.report.tables import table, table_blocks
from assay.questions.forecasts.whatif.whatif_answer import WhatIf, WhatIfAnswer
from assay.questions.forecasts.whatif.whatif_sentences import effect_notes, effects_table
from assay.text import amounts, capitalised, language, numbers, titles


def whatif_chapter(answer: WhatIfAnswer | None) -> Chapter | None:
    """Return the chapter; None without an answer."""
    if answer is None:
        return None
    answers = answer.configurations
    changes_text = ", ".join(f"{name}={value}" for name, value in answers[0].changes.items())
    introduction = Paragraph(
        (
            "Not measured. The simulator predicts the times of the measured runs with ",
            Code(changes_text),
            ". It first simulates the measured configurations, and its prediction is corrected by its error there. "
            "The interval should contain nine of ten runs.",
        )
    )
    has_costs = any(row.cost_after is not None for row in answers)
    columns = ["Workload", "Data", "Measured on", "#Runs", "#Measured (s)", "Origin", "#Predicted (s)", "#90 % of runs"]
    columns += ["#Speedup", "Predicted limit", *(["#Predicted cost per run"] if has_costs else [])]
    rows = [_row(row, has_costs=has_costs) for row in answers]
    full_table = table(columns, rows, f"With {changes_text}: simulated, not measured")
    notes = dict.fromkeys(text for row in answers for text in row.assumptions)
    notes |= dict.fromkeys(f"no cost: {row.cost_unknown}" for row in answers if row.cost_unknown)
    notes |= dict.fromkeys(
        f"not possible for {titles.workload_title(refusal.workload)} on {refusal.configuration}: {refusal.reason}"
        for refusal in answer.refused
    )
    if answer.runs_without_plan:
        runs_text = language.plural(answer.runs_without_plan, "measured run")
        notes |= {f"{runs_text} omitted: no plan or cluster file is stored": None}
    blocks: list[Block] = [
        Paragraph((text,)) for text in (answer.sentence, *answer.notes, answer.money, answer.caveat) if text
    ]
    if effects := effects_table(answer.effects):
        blocks.append(table(effects.headers, effects.rows, effects.title))
        blocks += [Paragraph((note,), "soft") for note in effect_notes(answer.effects)]
    blocks += [introduction, *table_blocks(full_table, "what-if")]
    blocks += [Paragraph((f"{capitalised(text)}.",), "soft") for text in notes]
    return Chapter("what-if", "What if", tuple(blocks))


def _row(answer: WhatIf, *, has_costs: bool) -> tuple[Line | str, ...]:
    cost = numbers.NO_VALUE if answer.cost_after is None else amounts.money(answer.cost_after, answer.currency)
    return (
        titles.workload_title(answer.workload),
        titles.data_text(answer.data_bytes * (answer.lab_scale or 1.0), answer.lab_scale),
        answer.configuration,
        str(answer.n_measured),
        numbers.seconds(answer.measured_s),
        answer.origin,
        numbers.seconds(answer.simulated_s),
        numbers.interval_s(answer.low_s, answer.high_s),
        f"{answer.ratio:.2f} ({answer.ratio_low:.2f} to {answer.ratio_high:.2f})",
        limit_title(answer.limit_after),
        *((cost,) if has_costs else ()),
    )
