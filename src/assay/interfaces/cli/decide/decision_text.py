"""Print decisions: the answer in brief, or in full with a table and every caveat. All commands use this module.

In: decisions, and sentences from ``questions/decisions``. Out: text on stdout.
"""

from collections.abc import Sequence

import click

from assay.analysis.comparison.verdict_text import scope_text
from assay.interfaces.cli.common import print_rows, print_table
from assay.questions.decisions.curve import Curve, curve_of
from assay.questions.decisions.decision import Decision, WorkloadResult
from assay.questions.decisions.sentences.amount_sentences import amount_sentences, missing_amounts
from assay.questions.decisions.sentences.cost_sentences import cost_headline
from assay.questions.decisions.sentences.curve_text import curve_table
from assay.questions.decisions.sentences.decision_sentences import (
    evidence,
    headline,
    question,
    remarks,
    row_verdict,
    verdict_note,
)
from assay.questions.decisions.sentences.estimate_text import basis_text, interval_text
from assay.questions.decisions.sentences.next_sentences import next_sentences
from assay.questions.decisions.sentences.option_words import baseline_text, compared_option
from assay.questions.decisions.sentences.question_sentences import QuestionView, next_run
from assay.questions.decisions.sentences.years_sentences import CostsOverYears
from assay.text import NO_VALUE, level_text, origin_badge, ratio, workload_title

CAVEATS_BRIEF = 3
"""Maximum number of caveats below an answer in brief."""


def print_brief(decision: Decision, view: QuestionView | None, *, over_years: bool = False) -> None:
    """Print the answer, its evidence and cost, the most important caveats and the next step.

    ``view``: the buyer's question that the decision answers; its sentences replace the decision's sentences.
    ``over_years``: also print the costs over the years of use.
    """
    if view is not None:
        cost = None if view.advice else view.cost  # the advice has the same ratios
        answer, *reasons = filter(None, (view.advice, view.answer, view.evidence, cost))
        next_step = view.next_step
    else:
        answer, *reasons = filter(None, (headline(decision), evidence(decision), cost_headline(decision)))
        next_step = next_run(decision)
    if over_years:
        amounts = amount_sentences(decision)
        if amounts:
            reasons += [amounts.over_years, amounts.over_years_details, amounts.break_even]
        else:
            reasons.append(missing_amounts(decision) or "")
    click.secho(answer, bold=True)
    for sentence in filter(None, reasons):
        click.echo(sentence)
    for caveat in decision.caveats[:CAVEATS_BRIEF]:
        click.echo(f"caveat: {caveat.text}")
    if next_step:
        click.echo(f"next: {next_step}")


def print_over_years(costs: CostsOverYears, *, all_options: bool) -> None:
    """Print the costs over years of use: the answer, a row for each option, and sentences on prices and scope.

    ``all_options``: print all options; otherwise the cheapest ones and the baseline.
    """
    click.secho(costs.answer, bold=True)
    options = [option for option in costs.by_cost if all_options or option in costs.options]
    print_table(costs.headers, [costs.cells(option) for option in options])
    if len(options) < len(costs.by_cost):
        click.echo(f"… {len(costs.further)} more (--details)")
    for sentence in costs.sentences[1:]:
        click.echo(sentence)


def print_decision(
    decision: Decision,
    *,
    rows: int | None,
    printed_texts: set[str],
    view: QuestionView | None = None,
    question_line: str = "",
) -> None:
    """Print the answer, a row for each workload and option, and the caveats that are not in ``printed_texts``.

    Adds these caveats to ``printed_texts``. ``rows``: maximum number of rows; None for all. ``view``: the question of a
    buyer that the decision answers; its sentences replace the decision's. ``question_line``: text of the line below
    the answer.
    """
    if view is not None:
        answer, *reasons = filter(None, (view.advice, view.answer, view.evidence, view.cost, *view.remarks))
        amounts = view.amounts
    else:
        texts = (headline(decision), evidence(decision), cost_headline(decision), *remarks(decision))
        answer, *reasons = filter(None, texts)
        amounts = amount_sentences(decision)
    click.secho(answer, bold=bool(question_line))
    for sentence in filter(None, (question_line, *reasons, *(amounts.sentences if amounts else ()))):
        click.echo(sentence)
    if curve := curve_of(decision):
        _print_curve(decision, curve)
    click.echo()
    results = sorted(decision.results, key=lambda result: result.time is None)
    has_costs = any(result.cost for result in results)
    speedup = f"Speedup vs {baseline_text(decision.factor, decision.baseline)}"
    headers = ["Workload", "Option", "Verdict", speedup, "95 % interval", "Runs", "Scope"]
    headers += ["Cost ratio", "95 % interval"] if has_costs else []
    print_rows(headers, [_cells(decision, result, has_costs=has_costs) for result in results], limit=rows)
    click.echo()
    for caveat in decision.caveats:
        if caveat.text not in printed_texts:
            click.echo(f"caveat: {caveat.text}")
            printed_texts.add(caveat.text)
    for sentence in next_sentences(decision):
        click.echo(f"next: {sentence}")
    scale = origin_badge(decision.origin, decision.lab_scale)
    click.echo(f"{decision.runs:,} runs, {scale}. {verdict_note(decision)}")


def _print_curve(decision: Decision, curve: Curve) -> None:
    click.echo(f"{curve.sentence}\n")
    text = curve_table(decision.factor, curve)
    print_table(text.headers, text.rows)


def _cells(decision: Decision, result: WorkloadResult, *, has_costs: bool) -> list[str]:
    time, cost = result.time, result.cost
    option = compared_option(decision, result.option)
    cells = [workload_title(result.workload), option, row_verdict(result)]
    if time is None:
        cells += [NO_VALUE] * 4
    else:
        interval = interval_text(time) if time.low is not None else NO_VALUE
        cells += [ratio(time.ratio), interval, basis_text(time), scope_text(time.scope)]
    if has_costs:
        cells += [ratio(cost.ratio), interval_text(cost)] if cost else [NO_VALUE, NO_VALUE]
    return cells


def print_decisions(decisions: Sequence[Decision], *, rows: int | None, view: QuestionView | None = None) -> None:
    """Print all decisions; several are labelled with question and origin. A repeated caveat is printed once.

    ``view``: the buyer's question that the first decision answers.
    """
    printed_texts: set[str] = set()
    for number, decision in enumerate(decisions):
        if number:
            click.echo()
        question_line = ""
        if len(decisions) > 1:
            names = (decision.baseline, *(option.option for option in decision.options))
            options = ", ".join(level_text(decision.factor, name) for name in names)
            badge = origin_badge(decision.origin, decision.lab_scale)
            question_line = f"{question(decision)} {badge}: {options}"
        print_decision(
            decision,
            rows=rows,
            printed_texts=printed_texts,
            view=view if number == 0 else None,
            question_line=question_line,
        )
