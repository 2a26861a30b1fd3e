"""Compose the decisions of a report: page one has the first decision; a chapter has every comparison of all decisions.

In: a report. Out: blocks and chapters. ``questions/decisions`` writes the sentences. Nothing is computed here.
"""

from collections.abc import Mapping, Sequence
from itertools import chain

from assay.analysis.comparison.factors.device_classes import DeviceClass
from assay.analysis.comparison.verdict_text import scope_text
from assay.analysis.statistics import Verdict
from assay.interfaces.charts.drawing.identity import colours_of
from assay.interfaces.charts.drawing.style import FULL_PX
from assay.interfaces.charts.speedups import speedup_forest
from assay.interfaces.report.output.document import (
    AnswerBlock,
    Answers,
    Block,
    Chapter,
    Facts,
    Fold,
    Heading,
    Line,
    Paragraph,
    ReportFigure,
    Table,
    with_code,
)
from assay.interfaces.report.tables import table, table_blocks
from assay.questions.decisions.chart_rows import forest_rows
from assay.questions.decisions.curve import Curve, curve_of
from assay.questions.decisions.decision import CostRatio, CostVerdict, Decision, OptionResult, TimeRatio
from assay.questions.decisions.sentences.amount_sentences import CostAmounts, amount_sentences, missing_amounts
from assay.questions.decisions.sentences.cost_sentences import cost_headline, costs_by_storage
from assay.questions.decisions.sentences.curve_text import curve_table
from assay.questions.decisions.sentences.decision_sentences import (
    evidence,
    headline,
    question,
    remarks,
    row_verdict,
    verdict_note,
)
from assay.questions.decisions.sentences.estimate_text import basis_text
from assay.questions.decisions.sentences.next_sentences import next_sentences
from assay.questions.decisions.sentences.option_words import compared_option, option_text
from assay.questions.decisions.sentences.question_sentences import QuestionView, not_varied_text
from assay.questions.decisions.sentences.years_sentences import CostsOverYears
from assay.questions.report.request import Fact
from assay.questions.report.values import Report
from assay.questions.runs.workload_limits import LIMITS, LIMITS_QUESTION, WorkloadLimits
from assay.text import NO_VALUE, column_title, interval, joined, origin_badge, plural, ratio, slug, workload_title

CAVEATS_MAX = 3
"""Maximum number of caveats on page one."""
CHART_WORKLOADS_MAX = 10
"""Maximum number of workloads of a chart."""
DECISIONS_MAX = 2
"""Maximum number of decisions with a chart, including the decision on page one."""
FURTHER_MAX = 1
"""Maximum number of decisions on page one after the first decision."""
NAMES_MAX = 8
"""Maximum number of options or workloads in one sentence."""
ROWS_MAX = 6
"""Maximum number of rows of a decision's table. With more comparisons, it has only the leading option's rows."""


def palette_of(report: Report) -> dict[str, str]:
    """Return the colour of every option that the report shows."""
    decision_levels = [
        level for decision in report.decisions for level in (decision.baseline, *(o.option for o in decision.options))
    ]
    runs = report.configurations.runs if report.configurations else ()
    classes = [device_class.value for device_class in DeviceClass]
    names = dict.fromkeys(
        [*decision_levels, *(level for _, level in report.not_compared), *(run.layout for run in runs)]
    )
    return colours_of([*classes, *names], report.layout_classes)


def report_question(report: Report) -> str:
    """Return the question on page one."""
    if report.request.question:
        return report.request.question
    if report.decisions:
        return question(report.decisions[0])
    return f"Which {joined([column_title(name) for name in report.request.factors])}?"


def report_headline(report: Report) -> str:
    """Return the answer on page one."""
    if report.decisions:
        return headline(report.decisions[0])
    factors = joined([column_title(name).lower() for name in report.request.factors])
    return not_varied_text(factors)


def report_lead(report: Report) -> tuple[str, ...]:
    """Return the paragraphs below the answer: the evidence, then the cost."""
    if not report.decisions:
        return ()
    first_decision = report.decisions[0]
    return tuple(text for text in (evidence(first_decision), cost_headline(first_decision)) if text)


def first_page(report: Report, palette: Mapping[str, str]) -> tuple[Block, ...]:
    """Return the blocks of page one below the answer: chart, caveats, and the answers of the other decisions."""
    blocks: list[Block] = []
    facts = []
    if report.decisions:
        first_decision = report.decisions[0]
        caveats = [Fact(f"Caveat: {caveat.kind}", caveat.text) for caveat in first_decision.caveats[:CAVEATS_MAX]]
        # The most harmful caveat is above the chart, so that it is on the first sheet of paper.
        blocks += [Facts(tuple(caveats[:1]))] if caveats else []
        blocks += _chart(first_decision, "decision", report, palette)
        facts += [*_money(first_decision), *caveats[1:]]
    for decision in report.decisions[1 : 1 + FURTHER_MAX]:
        facts.append(Fact(_title(decision), f"{headline(decision)} {evidence(decision)}"))
    facts += [Fact("Limits", report.limits.sentence)] if report.limits.sentence else []
    facts += _omission_facts(report)
    return (*blocks, *([Facts(tuple(facts))] if facts else []))


def _money(decision: Decision) -> list[Fact]:
    """Return absolute costs for page one, or the reason that there are none."""
    amounts = amount_sentences(decision)
    if amounts is None:
        return [Fact("Cost", missing_amounts(decision))]
    return [
        Fact("Cost per job", amounts.per_job),
        Fact("Cost over years of use", amounts.over_years),
        Fact("Break-even price", amounts.break_even),
        Fact("Prices", amounts.prices),
    ]


def questions_chapter(report: Report) -> Chapter | None:
    """Return the chapter with the buyer's questions and their answers; None if the report has none."""
    answers = tuple(
        AnswerBlock(
            view.name,
            view.question,
            view.answer,
            tuple(
                with_code(text)
                for text in (
                    view.advice,
                    view.evidence,
                    view.cost,
                    *(_amounts_without_break_even(view.amounts) if view.amounts else ()),
                    view.over_years.answer if view.over_years else "",
                    f"Next: {view.next_step}" if view.next_step else "",
                    f"`{view.next_command}`" if view.next_command else "",
                )
                if text
            ),
        )
        for view in report.questions
    )
    if not answers:
        return None
    answers = (*answers, _limits_answer(report.limits))
    costs = [view.over_years for view in report.questions if view.over_years]
    details = Fold("Evidence, amounts and next steps", (Answers(answers), *chain(*map(_over_years, costs))))
    return Chapter("questions", "Questions before you buy", (_questions_table(report), details))


def _amounts_without_break_even(amounts: CostAmounts) -> tuple[str, ...]:
    return amounts.per_job, amounts.over_years, amounts.over_years_details


def _limits_answer(limits: WorkloadLimits) -> AnswerBlock:
    """Return the answer to the question on limits, with each workload or how to measure it."""
    lines = (*(f"{row.line}." for row in limits.workloads), limits.basis)
    step = limits.next_step()
    next_step = f"Next: {step}" if step else ""
    return AnswerBlock(LIMITS, LIMITS_QUESTION, limits.answer, tuple((text,) for text in (*lines, next_step) if text))


def _over_years(costs: CostsOverYears) -> tuple[Block, ...]:
    """Return the table of costs over years of use, and sentences on its scope, without the answer to the question."""
    option, price, cost, interval_head, verdict = costs.headers
    columns = (option, f"#{price}", f"#{cost}", f"#{interval_head}", verdict)
    return table(columns, costs.rows, f"Cost over {costs.period}"), Paragraph((" ".join(costs.sentences[1:]),))


def _questions_table(report: Report) -> Table:
    """Return a row for each question: the answer, the speedup and the cost ratio of its option, and the confidence."""
    rows = [
        (
            view.question,
            view.advice or view.answer,
            _speedup(view.leading),
            _cost_ratios(view),
            view.confidence or NO_VALUE,
        )
        for view in report.questions
    ]
    rows.append((LIMITS_QUESTION, report.limits.answer, NO_VALUE, NO_VALUE, NO_VALUE))
    has_costs = any(view.leading and view.leading.cost for view in report.questions)
    columns = ("Question", "Answer", "Speedup (95 %)", *(("Cost per job (95 %)",) if has_costs else ()), "Confidence")
    return table(columns, rows if has_costs else [(*row[:3], row[4]) for row in rows])


def decisions_chapter(report: Report, palette: Mapping[str, str]) -> Chapter | None:
    """Return the chapter with every comparison; None without a decision.

    The report's decisions come first, then the further decisions of the buyer's questions.
    """
    decisions = (*report.decisions, *report.further_decisions)
    if not decisions:
        return None
    blocks: list[Block] = []
    for number, decision in enumerate(decisions):
        decision_blocks = _decision_blocks(report, decision, number, palette)
        if number == 0:
            blocks += [Heading(_title(decision))] if len(decisions) > 1 else []
            blocks += decision_blocks
        elif decision_blocks:
            blocks.append(Fold(_title(decision), decision_blocks))
    return Chapter("comparisons", "Every comparison", tuple(blocks))


def _decision_blocks(report: Report, decision: Decision, number: int, palette: Mapping[str, str]) -> tuple[Block, ...]:
    """Return the sentences, chart and tables of a decision. ``number``: its position among all decisions."""
    blocks: list[Block] = []
    is_further = number >= len(report.decisions)
    name = f"decision-{number + 1}-{slug(decision.factor)}"
    is_on_page_one = number == 0 and not is_further
    money = cost_headline(decision) or ""
    sentences = (headline(decision), evidence(decision), money, *remarks(decision))
    amounts = amount_sentences(decision)
    if is_on_page_one:
        texts = [*remarks(decision), *filter(None, [amounts.over_years_details if amounts else ""])]
    else:
        texts = list(filter(None, (*sentences, *(amounts.sentences if amounts else ()))))
    if texts:
        blocks.append(Paragraph((" ".join(texts),)))
    if number and not is_further:
        blocks += _chart(decision, name, report, palette) if number < DECISIONS_MAX else []
    curve = curve_of(decision)
    blocks += _curve(decision, curve) if curve else []
    blocks += [*_results(decision, name, rows_max=ROWS_MAX), Paragraph((verdict_note(decision),))]
    # The chapter on the six questions has the next step of a further decision.
    proposals = [] if is_further else [Fact("Next", sentence) for sentence in next_sentences(decision)]
    blocks += [Facts(tuple(proposals))] if proposals else []
    return tuple(blocks)


def caveats_of(report: Report) -> list[Fact]:
    """Return the distinct caveats of all decisions, in the decisions' order."""
    texts: dict[str, Fact] = {}
    for decision in (*report.decisions, *report.further_decisions):
        for caveat in decision.caveats:
            texts.setdefault(caveat.text, Fact(caveat.kind.capitalize(), caveat.text))
    return list(texts.values())


def _title(decision: Decision) -> str:
    return f"{question(decision)} {origin_badge(decision.origin, decision.lab_scale)}"


def _omission_facts(report: Report) -> list[Fact]:
    """Return the options and workloads that no decision compares, with the reason."""
    facts = []
    if report.decisions and report.not_compared:
        names = _joined_names([option_text(factor, level) for factor, level in report.not_compared])
        facts.append(Fact("Options not compared", f"{names}: no run is equal in everything else to another option's."))
    if report.decisions and report.workloads_not_compared:
        names = _joined_names([workload_title(name) for name in report.workloads_not_compared])
        facts.append(Fact("Workloads not compared", f"{names}: no two runs differ in the factor alone."))
    return facts


def _joined_names(names: Sequence[str]) -> str:
    omitted_count = len(names) - NAMES_MAX
    return joined([*names[:NAMES_MAX], f"{omitted_count} more"] if omitted_count > 0 else list(names))


def _chart(decision: Decision, name: str, report: Report, palette: Mapping[str, str]) -> list[Block]:
    """Return the chart of a decision; empty for a decision without comparisons."""
    rows = forest_rows(decision, report.layout_classes)
    shown_rows = forest_rows(decision, report.layout_classes, CHART_WORKLOADS_MAX)
    if not shown_rows:
        return []
    omitted_text = (
        f" {plural(len(rows) - len(shown_rows), 'further workload')}: see the table."
        if len(rows) > len(shown_rows)
        else ""
    )
    caption = (
        "Speedup: dot and 95 % interval, logarithmic axis. Right of the dashed line is faster than "
        f"{compared_option(decision, decision.baseline)}.{omitted_text}"
    )
    return [ReportFigure(name, lambda width: speedup_forest(shown_rows, palette, width), caption, FULL_PX)]


def _ratio(value: TimeRatio | CostRatio | None) -> str:
    if value is None:
        return NO_VALUE
    if isinstance(value, CostRatio) and value.verdict is CostVerdict.NOT_ENOUGH_RUNS:
        return f"{ratio(value.ratio)} ({value.verdict})"
    return f"{ratio(value.ratio)} ({interval(value.low, value.high)})" if value.low is not None else ratio(value.ratio)


def _speedup(result: OptionResult | None) -> str:
    """Return the speedup of an option with its interval, or that it has too few runs for one."""
    if result and result.time and result.verdict is Verdict.NOT_ENOUGH_RUNS:
        return f"{ratio(result.time.ratio)} ({result.verdict})"
    return _ratio(result.time if result else None)


def _cost_ratios(view: QuestionView) -> str:
    """Return the cost ratio of the leading option, by storage class where the answer states it so."""
    by_storage = costs_by_storage(view.decisions[0].decision) if view.decisions and view.advice else ()
    if by_storage:
        return "; ".join(f"{_ratio(cost)} with {name}" for name, cost in by_storage)
    return _ratio(view.leading.cost if view.leading else None)


def _results(decision: Decision, name: str, rows_max: int) -> tuple[Block, ...]:
    """Return the table of results, with a row for each workload and option."""
    has_costs = any(result.cost for result in decision.results)
    rows: list[tuple[Line | str, ...]] = [
        (
            workload_title(result.workload),
            compared_option(decision, result.option),
            row_verdict(result),
            _ratio(result.time),
            basis_text(result.time) if result.time else NO_VALUE,
            scope_text(result.time.scope) if result.time and result.time.low is not None else NO_VALUE,
            *([_ratio(result.cost)] if has_costs else []),
        )
        for result in decision.results
    ]
    leader = decision.named_option.option if decision.named_option else ""
    leader_positions = [position for position, result in enumerate(decision.results) if result.option == leader]
    cost = ["#Cost per job (95 %)"] if has_costs else []
    columns = ("Workload", "Option", "Verdict", "#Speedup (95 %)", "Runs", "Scope", *cost)
    full_table = table(columns, rows, f"Every workload, against {compared_option(decision, decision.baseline)}")
    return table_blocks(full_table, name, rows_max, row_positions=leader_positions, rows_name="leading option's")


def _curve(decision: Decision, curve: Curve) -> list[Block]:
    """Return a sentence and a table of speed, parallel efficiency and cost by level of a numeric factor."""
    text = curve_table(decision.factor, curve)
    by_level = table([f"#{header}" for header in text.headers], text.rows, text.title)
    return [Paragraph((curve.sentence,)), *table_blocks(by_level, f"curve-{slug(decision.factor)}")]
