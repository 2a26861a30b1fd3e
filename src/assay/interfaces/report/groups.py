"""Compose the chapters on matched groups: inference scopes, pairs of options, and interactions of factors.

In: a report. Out: chapters of a document. Nothing is computed here.
"""

from collections.abc import Mapping
from functools import partial

from assay.interfaces.charts.combinations import combinations
from assay.interfaces.charts.drawing.style import FULL_PX
from assay.interfaces.charts.network import comparison_network, is_readable
from assay.interfaces.report.output.document import Block, Chapter, Heading, Paragraph, ReportFigure
from assay.interfaces.report.tables import table, table_blocks
from assay.questions.decisions.sentences.decision_sentences import question
from assay.questions.report.values import Report
from assay.text import column_title, joined, origin_badge, plural, slug, workload_title

ROWS_MAX = 12
"""Maximum number of rows of a table."""
DECISIONS_MAX = 2
"""Maximum number of decisions with a chart of the compared levels."""


def groups_chapter(report: Report, palette: Mapping[str, str]) -> Chapter | None:
    """Return the chapter with the scopes and pairs of each decision; None without matched groups to show."""
    if report.groups is None or not report.groups.decisions:
        return None
    blocks: list[Block] = []
    has_several_decisions = len(report.groups.decisions) > 1
    for index, groups in enumerate(report.groups.decisions):
        decision = report.decisions[groups.decision]
        if has_several_decisions:
            badge = origin_badge(decision.origin, decision.lab_scale)
            blocks.append(Heading(f"{question(decision)} {badge}, against {decision.baseline}"))
        if groups.network is not None and is_readable(groups.network) and index < DECISIONS_MAX:
            caption = "Options that matched groups compare, over all workloads. No line: never compared directly."
            draw = partial(comparison_network, groups.network, palette)
            blocks.append(ReportFigure(f"network-{index + 1}", draw, caption, FULL_PX))
        for group_table in groups.tables:
            name = f"{slug(group_table.title)}-{index + 1}"
            blocks += [Heading(group_table.title), Paragraph((group_table.note,), "soft")]
            blocks += table_blocks(table(group_table.headers, group_table.rows), name, ROWS_MAX)
    return Chapter("groups", "Matched groups", tuple(blocks), inner=True)


def combined_chapter(report: Report) -> Chapter | None:
    """Return the chapter on interactions of storage, network and containers; None unless the runs vary several."""
    if report.groups is None or not report.groups.combined:
        return None
    text = (
        "Parallel lines: the effect of a factor does not depend on the other. Lines that cross or diverge: it does. "
        "Times are predicted by the model learned from the runs, with all other settings as measured. Only measured "
        "combinations are drawn."
    )
    blocks: list[Block] = [Paragraph((text,), "soft")]
    for number, times in enumerate(report.groups.combined, start=1):
        factors = tuple(column_title(name) for name in times.factors)
        title = workload_title(times.workload)
        left_out_text = (
            f" Left out: {plural(times.not_measured, 'combination')} that no run has." if times.not_measured else ""
        )
        caption = f"{title}: expected time by {joined(list(factors))}, predicted from measured runs.{left_out_text}"
        draw = partial(combinations, times.cells, factors)
        blocks.append(ReportFigure(f"combined-{number}-{slug(title)}", draw, caption, FULL_PX))
    return Chapter("combined", "Storage × network × containers", tuple(blocks), inner=True)
