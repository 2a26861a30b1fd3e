"""Compose the chapters on single configurations: comparisons, one chapter for each workload, and workload profiles.

In: a report and its figures. Out: chapters of a document. Nothing is computed here.
"""

from assay.analysis.comparison.result import SpeedupResult
from assay.analysis.run_profile.run_detail import request_limits_note
from assay.analysis.run_profile.tables.limits_tables import LIMIT_TITLES
from assay.interfaces.charts.single_runs.runs import PURPOSE_TITLES
from assay.interfaces.charts.times import THROUGHPUT_TITLES
from assay.interfaces.report.figures import Figures, SectionFigures
from assay.interfaces.report.output.document import (
    Block,
    Chapter,
    Code,
    Facts,
    Fold,
    Heading,
    Level,
    Line,
    Pair,
    Paragraph,
    ReportFigure,
    Table,
    TableColumn,
)
from assay.interfaces.report.tables import table, table_blocks
from assay.model.runs.throughput import GATED_AGGREGATE, JOB_THROUGHPUT, PER_STREAM
from assay.questions.comparisons.result_sentences import exclusions_text, name_of
from assay.questions.decisions.sentences.decision_sentences import result_sentence
from assay.questions.report.request import Fact
from assay.questions.report.values import ConfigurationDetails, Report, ReportSection, RunView
from assay.text import NO_VALUE, language, numbers, ratios, titles

TABLE_ROWS_MAX = 12
"""Maximum number of rows of a table about single runs."""
THROUGHPUT_MEANINGS = {
    PER_STREAM: "Bytes divided by the sum of the tasks' I/O times: the rate of one file's stream while "
    'others run concurrently. Stock TestDFSIO prints it as "Throughput".',
    GATED_AGGREGATE: "The rate of the whole cluster, averaged over the seconds in which at least half of "
    "the maximum number of tasks was active. Enhanced DFSIO measures the bytes of each second; for other workloads, "
    "each task's bytes are spread evenly over its time.",
    JOB_THROUGHPUT: "The job's data divided by its wall time, with start-up and stragglers: the rate that "
    "its user sees.",
}


def workload_chapters(report: Report, figures: Figures) -> list[Chapter]:
    """Return the chapters; an empty list if the report has no details of configurations."""
    details = report.configurations
    if details is None or not details.sections:
        return []
    chapters = [_comparisons(details)]
    chapters += [
        _workload(report, section, index, section_figures)
        for index, (section, section_figures) in enumerate(zip(details.sections, figures.sections, strict=True))
    ]
    if any(section_figures.throughput for section_figures in figures.sections):
        facts = tuple(Fact(title, THROUGHPUT_MEANINGS[key]) for key, title in THROUGHPUT_TITLES.items())
        note = "They answer different questions and differ by factors. Compare each only with itself."
        chapters.append(
            Chapter("throughputs", "Meaning of the three throughputs", (Paragraph((note,)), Facts(facts)), inner=True)
        )
    return [*chapters, *_profile(details)]


def _by_level(row_title: str, levels: list[str], unit: str, rows: list[tuple[str, list[str]]]) -> Table:
    """Return a table with a column for each configuration."""
    columns = (TableColumn(row_title), *(TableColumn(f"{level} ({unit})", True, level) for level in levels))
    return Table(columns, tuple(((name,), *((text,) for text in texts)) for name, texts in rows))


def _comparisons(details: ConfigurationDetails) -> Chapter:
    """Return the chapter that lists the comparison in each matched group."""
    rows: list[tuple[Line | str, ...]] = [
        (
            name_of(c),
            (Level(c.candidate), " against ", Level(c.baseline)),
            ratios.ratio(c.ratio),
            ratios.interval(c.low, c.high),
            f"{c.runs_candidate} against {c.runs_baseline}",
            _medians(c),
            c.origin,
        )
        for c in details.comparisons
    ]
    columns = ("Workload", "Options", "#Speedup", "#95 % interval", "#Runs", "#Median time (s)", "Origin")
    blocks = list(table_blocks(table(columns, rows, "Each matched group by itself"), "matched-groups"))
    if details.left_out:
        names = language.joined(list(details.left_out[:TABLE_ROWS_MAX]))
        omitted_count = len(details.left_out) - TABLE_ROWS_MAX
        text = f"Without charts: {names}{f' and {omitted_count} more' if omitted_count > 0 else ''}. "
        blocks.append(Paragraph((text, Code("assay report --workload NAME"), " draws those of one workload."), "soft"))
    return Chapter("matched-groups", "Each configuration by itself", tuple(blocks), inner=True)


def _medians(result: SpeedupResult) -> str:
    if result.runs is None:
        return NO_VALUE
    candidate, baseline = result.runs.candidate, result.runs.baseline
    return f"{numbers.seconds(candidate.median_s)} against {numbers.seconds(baseline.median_s)}"


def _sentences(report: Report, section: ReportSection) -> list[Block]:
    """Return warnings and reasons of the workload, and the decision's results that rest on one matched group."""
    decision = report.decisions[section.decision]
    levels = {c.candidate for c in section.comparisons}
    blocks: list[Block] = [
        Paragraph((result_sentence(decision, result),))
        for result in decision.results
        if result.workload == section.workload and result.option in levels and result.time and result.time.groups == 1
    ]
    for c in section.comparisons:
        blocks += [Paragraph((f"{warning}.",), "warn") for warning in c.warnings]
        exclusions = exclusions_text([c])
        blocks += [Paragraph((f"Not counted: {exclusions}.",), "soft")] if exclusions else []
    if section.reasons:
        blocks.append(Paragraph((f"Why, from one run of each: {' '.join(section.reasons)}",)))
    return blocks


def _phases(section: ReportSection, figure: ReportFigure) -> tuple[Block, ...]:
    durations_s = [{phase.name: phase.duration_s for phase in summary.phases} for summary in section.summaries]
    names = dict.fromkeys(name for phases in durations_s for name in phases)
    rows = [(name, [numbers.seconds(phases.get(name)) for phases in durations_s]) for name in names]
    levels = [summary.level for summary in section.summaries]
    return (Heading("Phases side by side"), figure, _by_level("Phase", levels, "s", rows))


def _throughput(section: ReportSection, figure: ReportFigure) -> tuple[Block, ...]:
    rows = [
        (title, [numbers.rate(s.throughputs_mb_per_s.get(key)) for s in section.summaries])
        for key, title in THROUGHPUT_TITLES.items()
        if section.has_throughput(key)
    ]
    levels = [s.level for s in section.summaries]
    return (Heading("Throughput"), figure, _by_level("Throughput", levels, "MB/s", rows))


def _workload(report: Report, section: ReportSection, index: int, figures: SectionFigures) -> Chapter:
    cells: list[tuple[Block, ...]] = []
    if figures.runtime:
        cells.append((Heading("Run time"), figures.runtime))
    if figures.phases:
        cells.append(_phases(section, figures.phases))
    if figures.throughput:
        cells.append(_throughput(section, figures.throughput))
    if figures.traffic:  # last: on paper, a chart of full width comes below the others
        cells.append((Heading("Disk traffic of one run of each"), figures.traffic))
    blocks = [*_sentences(report, section), Pair(tuple(cells))]
    if section.views:
        blocks.append(Fold("One run of each in detail", _views(section, figures)))
    return Chapter(f"workload-{index + 1}-{language.slug(section.title)}", section.title, tuple(blocks), inner=True)


def _shares(section: ReportSection, figure: ReportFigure) -> tuple[Block, ...]:
    rows = [
        (name, [numbers.seconds(view.detail.breakdown.share_s(name)) for view in section.views])
        for name in section.phase_names()
    ] + [("whole run", [numbers.seconds(view.duration_s) for view in section.views])]
    levels = [view.level for view in section.views]
    return (Heading("Where the time went"), Pair(((figure,), (_by_level("Phase", levels, "s", rows),))))


def _requests(section: ReportSection, figure: ReportFigure) -> tuple[Block, ...]:
    rows: list[tuple[Line | str, ...]] = [
        (
            (Level(view.level),),
            f"{PURPOSE_TITLES[use.purpose]} ({', '.join(use.devices)})",
            numbers.size(use.transfers.read_bytes),
            numbers.size(use.transfers.read_request_bytes),
            numbers.size(use.transfers.write_bytes),
            numbers.size(use.transfers.write_request_bytes),
        )
        for view in section.views
        for use in view.detail.by_purpose
    ]
    columns = ("Disks of", "Hold", "#Read", "#Per request", "#Written", "#Per request")
    sizes = table_blocks(table(columns, rows), f"request-sizes-{language.slug(section.title)}", TABLE_ROWS_MAX)
    has_shared_disks = any(view.shares_disks for view in section.views)
    note = "The kernel counts requests by device, so a disk with both kinds of data shows only their sum."
    limits = request_limits_note(view.detail for view in section.views)
    notes = (note if has_shared_disks else None, limits)
    texts = tuple(Paragraph((text,), "soft") for text in notes if text)
    return (Heading("Size of disk requests"), *((Pair(((figure,), texts)),) if texts else (figure,)), *sizes)


def _limits(section: ReportSection) -> tuple[Block, ...]:
    """Return a table of the seconds that each resource limited each run, and the shortest time without that limit."""
    limits = {view.level: view.limits for view in section.views if view.limits is not None}
    if not limits:
        return ()
    names = [name for name in LIMIT_TITLES if any(run_limits.total_s(name) > 0 for run_limits in limits.values())]
    rows = [
        (LIMIT_TITLES[name], [numbers.seconds(run_limits.total_s(name)) for run_limits in limits.values()])
        for name in names
    ]
    for freed_resource in dict.fromkeys(bound.freed for run_limits in limits.values() for bound in run_limits.bounds):
        shortest_times_s = [
            next((run_bound.least_s for run_bound in run_limits.bounds if run_bound.freed == freed_resource), None)
            for run_limits in limits.values()
        ]
        rows.append(
            (
                f"shortest time if {freed_resource} cost no time",
                [numbers.seconds(shortest_s) for shortest_s in shortest_times_s],
            )
        )
    note = next(iter(limits.values())).rests_on
    return (Heading("Bottlenecks"), _by_level("Limit", list(limits), "s", rows), Paragraph((" ".join(note),), "soft"))


def _task_rows(view: RunView) -> list[tuple[Line | str, ...]]:
    return [
        (
            (Level(view.level),),
            kind.kind,
            str(kind.tasks),
            str(kind.at_once_max),
            str(kind.waves),
            numbers.seconds(kind.median_s),
            numbers.seconds(kind.longest_s),
            str(len(kind.stragglers)),
            str(kind.failed),
            str(kind.killed),
        )
        for job in view.detail.jobs
        for kind in job.kinds
    ]


def _stages(section: ReportSection) -> list[Block]:
    """Return the tables of Spark stages of the section's runs."""
    views = [view for view in section.views if view.stages]
    blocks: list[Block] = [Heading("Spark stages")] if views else []
    for tables in zip(*(view.stages for view in views), strict=True):
        first_table = tables[0]
        headers = [
            f"#{name}" if is_numeric else name
            for name, is_numeric in zip(first_table.headers, first_table.right_aligned, strict=True)
        ]
        rows = [
            ((Level(view.level),), *row)
            for view, stage_table in zip(views, tables, strict=True)
            for row in stage_table.rows
        ]
        full_table = table(("Run of", *headers), rows, f"{first_table.title.capitalize()} of each run")
        blocks += table_blocks(
            full_table, f"{language.slug(first_table.title)}-{language.slug(section.title)}", TABLE_ROWS_MAX
        )
        blocks += [
            Paragraph((note,), "soft") for note in dict.fromkeys(n for stage_table in tables for n in stage_table.notes)
        ]
    return blocks


def _views(section: ReportSection, figures: SectionFigures) -> tuple[Block, ...]:
    view_parts: list[str | Level | Code] = []
    for index, view in enumerate(section.views):
        view_parts += [", " if index else "", Level(view.level), " is run ", Code(view.run_id)]
    blocks: list[Block] = [
        Paragraph((*view_parts, ". ", Code("assay show RUN"), " shows more."), "soft"),
        *(_shares(section, figures.shares) if figures.shares else ()),
        *(_requests(section, figures.requests) if figures.requests else ()),
        *_limits(section),
    ]
    if figures.occupancy:
        blocks += [Heading("Tasks in each phase"), figures.occupancy]
    if figures.timelines:
        blocks += [Heading("Tasks by container"), Pair(tuple((figure,) for figure in figures.timelines))]
    rows = [row for view in section.views for row in _task_rows(view)]
    if rows:
        columns = (
            "Run of",
            "Tasks",
            "#Number",
            "#Concurrent",
            "#Waves",
            "#Median (s)",
            "#Longest (s)",
            "#Slow",
            "#Failed",
            "#Killed",
        )
        name = f"tasks-{language.slug(section.title)}"
        blocks += table_blocks(table(columns, rows, "Tasks of each run"), name, TABLE_ROWS_MAX)
    return (*blocks, *_stages(section))


def _profile(details: ConfigurationDetails) -> list[Chapter]:
    profile = details.profile
    if profile is None:
        return []
    rows: list[tuple[Line | str, ...]] = []
    for row in profile.rows:
        output_bytes = row.output_bytes if row.stored_bytes is None else row.stored_bytes
        rows.append(
            (
                titles.workload_title(row.workload),
                (Level(row.layout), f" {row.context}" if row.context else ""),
                str(row.n),
                numbers.size(row.input_bytes) + ratios.in_brackets(row.input_ratio),
                numbers.size(row.shuffle_bytes) + ratios.in_brackets(row.shuffle_ratio),
                numbers.size(output_bytes) + ratios.in_brackets(row.output_ratio),
                numbers.share(row.cpu_busy_share) + ratios.in_brackets(row.cpu_ratio),
            )
        )
    reference = titles.workload_title(profile.reference)
    reference_text = f"In brackets: relative to {reference} on the same configuration. " if profile.has_ratios else ""
    note = f"Medians of the valid runs. {reference_text}Output counts every copy."
    full_table = table(("Workload", "Configuration", "#Runs", "#Input", "#Shuffle", "#Output", "#CPU busy"), rows)
    blocks = (Paragraph((note,)), *table_blocks(full_table, "workload-profiles", TABLE_ROWS_MAX))
    return [Chapter("profile", "Data and CPU use of each workload", blocks, inner=True)]
