"""What is its own in the document of a report that shows each configuration by itself.

In: a :class:`SingleReport`. Out: the parts of its document that are its own. Nothing is computed here.
"""

from assay.charts.runs import PURPOSE_TITLES
from assay.charts.times import THROUGHPUT_TITLES
from assay.compare.result import SpeedupResult
from assay.explain.limits_tables import LIMIT_TITLES
from assay.explain.run_detail import request_limits_note
from assay.model import Run, RunStatus
from assay.questions.report_parts import Fact
from assay.questions.report_single import RunView, SingleReport, WorkloadSection
from assay.questions.result_sentences import exclusions_text, remark, sentence
from assay.report.chapters import Parts, kept, line, method_chapter, ratios_table, table
from assay.report.cost import cost_chapter
from assay.report.document import (
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
from assay.report.figures import Figures, SectionFigures, figures_of, palette_of
from assay.wording import NOTHING, language, numbers, ratios, titles

THROUGHPUT_MEANINGS = {
    "per_stream_mb_per_s": "Bytes over the sum of the tasks' own I/O times: what one file's stream gets while others "
    'run beside it. Stock TestDFSIO prints it as "Throughput".',
    "gated_aggregate_mb_per_s": "The whole cluster's rate, averaged over those seconds in which at least half of the "
    "largest number of tasks was active. Each task's bytes are spread evenly over its time. Enhanced DFSIO's idea.",
    "job_throughput_mb_per_s": "The job's data over its wall time, with start-up and stragglers: what a user gets.",
}


def _by_level(first: str, levels: list[str], unit: str, rows: list[tuple[str, list[str]]]) -> Table:
    """Return a table with a column for each configuration."""
    columns = (TableColumn(first), *(TableColumn(f"{level} ({unit})", True, level) for level in levels))
    return Table(columns, tuple(((name,), *((text,) for text in texts)) for name, texts in rows))


def _medians(result: SpeedupResult) -> str:
    if result.runs is None:
        return NOTHING
    candidate, baseline = result.runs.candidate, result.runs.baseline
    return f"{numbers.seconds(candidate.median_s)} against {numbers.seconds(baseline.median_s)}"


def _comparison(report: SingleReport, figures: Figures) -> Chapter:
    rows = (
        (section.title, c, (f"{c.runs_candidate} against {c.runs_baseline}", _medians(c), c.origin))
        for section in report.sections
        for c in section.comparisons
    )
    blocks: list[Block] = [
        Paragraph(
            line(
                f"The ratio is {report.baseline}'s time over the other's: above 1, the other is faster. An "
                "interval that includes 1 shows no difference."
            )
        ),
        *([figures.speedups] if figures.speedups else []),
        ratios_table("Workload", "Configuration", ("#Runs", "#Median time (s)", "Origin"), rows),
    ]
    return Chapter("results", "Results", tuple(blocks))


def _claims(section: WorkloadSection) -> list[Block]:
    blocks: list[Block] = []
    for c in section.comparisons:
        blocks.append(Paragraph(line(" ".join(filter(None, (sentence(c), remark(c)))))))
        blocks += [Paragraph(line(f"{warning}."), "warn") for warning in c.warnings]
        excluded = exclusions_text([c])
        blocks += [Paragraph(line(f"Not counted: {excluded}."), "soft")] if excluded else []
    blocks += [Paragraph(line(f"Why, of one typical run each: {' '.join(section.reasons)}"))] if section.reasons else []
    return blocks


def _phases(section: WorkloadSection, figure: ReportFigure) -> tuple[Block, ...]:
    durations_s = [{phase.name: phase.duration_s for phase in summary.phases} for summary in section.summaries]
    names = dict.fromkeys(name for phases in durations_s for name in phases)
    rows = [(name, [numbers.seconds(phases.get(name)) for phases in durations_s]) for name in names]
    levels = [summary.level for summary in section.summaries]
    return (Heading("Phases side by side"), figure, _by_level("Phase", levels, "s", rows))


def _throughput(section: WorkloadSection, figure: ReportFigure) -> tuple[Block, ...]:
    rows = [
        (title, [numbers.rate(s.throughputs_mb_per_s.get(key)) for s in section.summaries])
        for key, title in THROUGHPUT_TITLES.items()
        if section.has_throughput(key)
    ]
    levels = [s.level for s in section.summaries]
    return (Heading("Throughput"), figure, _by_level("Throughput", levels, "MB/s", rows))


def _workload(report: SingleReport, place: int, drawn: SectionFigures) -> Chapter:
    section = report.sections[place]
    cells: list[tuple[Block, ...]] = []
    if drawn.runtime:
        cells.append((Heading("Run time"), drawn.runtime))
    if drawn.phases:
        cells.append(_phases(section, drawn.phases))
    if drawn.throughput:
        cells.append(_throughput(section, drawn.throughput))
    if drawn.traffic:  # the widest: on paper it stands below the others, and is numbered after them
        cells.append((Heading("Disk traffic of one run of each"), drawn.traffic))
    blocks = [*_claims(section), Pair(tuple(cells))]
    if section.views:
        blocks.append(Fold("One run of each, closely", _closely(section, drawn)))
    return Chapter(f"workload-{place + 1}-{language.slug(section.title)}", section.title, tuple(blocks), inner=True)


def _shares(section: WorkloadSection, figure: ReportFigure) -> tuple[Block, ...]:
    rows = [
        (name, [numbers.seconds(view.detail.breakdown.share_s(name)) for view in section.views])
        for name in section.phase_names()
    ] + [("the whole run", [numbers.seconds(view.duration_s) for view in section.views])]
    levels = [view.level for view in section.views]
    return (Heading("Where the time went"), Pair(((figure,), (_by_level("Phase", levels, "s", rows),))))


def _requests(section: WorkloadSection, figure: ReportFigure) -> tuple[Block, ...]:
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
    told = table(("Disks of", "Hold", "#Read", "#A request", "#Written", "#A request"), rows)
    shared = any(view.shares_disks for view in section.views)
    note = "A disk that holds both can't tell what was which: the kernel counts requests by device."
    limits = request_limits_note(view.detail for view in section.views)
    notes = (note if shared else None, limits)
    said = tuple(Paragraph(line(note), "soft") for note in notes if note)
    return (Heading("Size of disk requests"), *((Pair(((figure,), said)),) if said else (figure,)), told)


def _limits(section: WorkloadSection) -> tuple[Block, ...]:
    """Return what limited each view's run for how long, and how much faster it could be at most."""
    told = [view for view in section.views if view.limits is not None]
    found = {view.level: view.limits for view in told if view.limits is not None}
    if not found:
        return ()
    names = [one for one in LIMIT_TITLES if any(limits.total_s(one) > 0 for limits in found.values())]
    rows = [(LIMIT_TITLES[one], [numbers.seconds(limits.total_s(one)) for limits in found.values()]) for one in names]
    bounds = dict.fromkeys(bound.freed for limits in found.values() for bound in limits.bounds)
    for freed in bounds:
        least = [next((b.least_s for b in limits.bounds if b.freed == freed), None) for limits in found.values()]
        rows.append((f"at least, with infinitely fast {freed}", [numbers.seconds(one) for one in least]))
    note = next(iter(found.values())).rests_on
    return (
        Heading("What limited it"),
        _by_level("Limit", list(found), "s", rows),
        Paragraph(line(" ".join(note)), "soft"),
    )


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


def _stages(section: WorkloadSection) -> list[Block]:
    """Return the tables of the views' Spark stages, those of all views in one."""
    told = [view for view in section.views if view.stages]
    blocks: list[Block] = [Heading("Spark's stages")] if told else []
    for kind in zip(*(view.stages for view in told), strict=True):
        headers = [f"#{name}" if right else name for name, right in zip(kind[0].headers, kind[0].right, strict=True)]
        rows = [((Level(view.level),), *row) for view, one in zip(told, kind, strict=True) for row in one.rows]
        blocks.append(table(("Run of", *headers), rows, f"{kind[0].title.capitalize()} of each run"))
        blocks += [Paragraph(line(note), "soft") for note in dict.fromkeys(note for one in kind for note in one.notes)]
    return blocks


def _closely(section: WorkloadSection, drawn: SectionFigures) -> tuple[Block, ...]:
    named: list[str | Level | Code] = []
    for place, view in enumerate(section.views):
        named += [", " if place else "", Level(view.level), " is run ", Code(view.run_id)]
    blocks: list[Block] = [
        Paragraph((*named, ". ", Code("assay show RUN"), " has more of each."), "soft"),
        *(_shares(section, drawn.shares) if drawn.shares else ()),
        *(_requests(section, drawn.requests) if drawn.requests else ()),
        *_limits(section),
    ]
    if drawn.occupancy:
        blocks += [Heading("Tasks in each phase"), drawn.occupancy]
    if drawn.timelines:
        blocks += [Heading("Which container ran what"), Pair(tuple((figure,) for figure in drawn.timelines))]
    rows = [row for view in section.views for row in _task_rows(view)]
    if rows:
        blocks.append(
            table(
                (
                    "Run of",
                    "Tasks",
                    "#Number",
                    "#At once",
                    "#Waves",
                    "#Median (s)",
                    "#Longest (s)",
                    "#Slow",
                    "#Failed",
                    "#Killed",
                ),
                rows,
                "Tasks of each run",
            )
        )
    return (*blocks, *_stages(section))


def _throughputs() -> Chapter:
    facts = tuple(Fact(title, THROUGHPUT_MEANINGS[key]) for key, title in THROUGHPUT_TITLES.items())
    note = "They answer different questions and differ by factors. Compare each with itself only."
    return Chapter("throughputs", "What the three throughputs mean", (Paragraph(line(note)), Facts(facts)), inner=True)


def _profile(report: SingleReport) -> Chapter | None:
    found = report.profile
    if found is None:
        return None
    against = f"In brackets: against {titles.workload_title(found.reference)} on the same configuration. "
    rows: list[tuple[Line | str, ...]] = []
    for row in found.rows:
        stored = row.output_bytes if row.stored_bytes is None else row.stored_bytes
        rows.append(
            (
                titles.workload_title(row.workload),
                (Level(row.layout), f" {row.context}" if row.context else ""),
                str(row.n),
                numbers.size(row.input_bytes) + ratios.in_brackets(row.input_ratio),
                numbers.size(row.shuffle_bytes) + ratios.in_brackets(row.shuffle_ratio),
                numbers.size(stored) + ratios.in_brackets(row.output_ratio),
                numbers.share(row.cpu_busy_share) + ratios.in_brackets(row.cpu_ratio),
            )
        )
    note = f"Medians of the valid runs. {against if found.has_ratios else ''}Output counts every copy."
    told = table(("Workload", "Configuration", "#Runs", "#Input", "#Shuffle", "#Output", "#CPU busy"), rows)
    return Chapter("profile", "What each workload does", (Paragraph(line(note)), told), inner=True)


def _not_counted(runs: tuple[Run, ...]) -> list[Block]:
    bad = [run for run in runs if run.status is not RunStatus.VALID]
    rows = [
        (
            (Code(run.run_id),),
            titles.workload_title(run.workload),
            run.layout,
            run.status.value,
            run.cause or "not recorded",
        )
        for run in bad
    ]
    return (
        [Heading("Runs that do not count"), table(("Run", "Workload", "Layout", "Status", "Cause"), rows)]
        if bad
        else []
    )


def _every_run(runs: tuple[Run, ...]) -> list[Block]:
    columns = (
        "Run",
        "Workload",
        "Layout",
        "#Time (s)",
        "Status",
        "Origin",
        "Cold",
        "#Block",
        "Started (UTC)",
        "Engine",
        "assay",
    )
    cold = {"cold": "yes", "warm": "no", "": "not known"}
    rows = [
        (
            (Code(run.run_id),),
            titles.workload_title(run.workload),
            run.layout,
            numbers.seconds(run.duration_s),
            run.status.value,
            run.origin.value,
            cold.get(run.cache_state, run.cache_state),
            str(run.block),
            language.moment(run.started_at),
            f"{run.engine} {run.engine_version}",
            titles.assay_version(run),
        )
        for run in runs
    ]
    told = table(columns, rows)
    note = (Code("assay show RUN"), " shows one with all that was recorded.")
    return [Heading("Every run"), Paragraph(note, "soft"), Table(told.columns, told.rows, dense=True)]


def single_parts(report: SingleReport) -> Parts:
    """Return the parts of the document that are this report's own."""
    figures = figures_of(report)
    sections = [_workload(report, place, drawn) for place, drawn in enumerate(figures.sections)]
    return Parts(
        kicker=f"By {report.factor} · {language.plural(len(report.runs), 'run')}",
        notes=report.layouts,
        method=method_chapter("How it was measured", report.method),
        results=kept(_comparison(report, figures), *sections, _throughputs(), _profile(report)),
        cost=cost_chapter(report, figures.cost),
        runs=(*_not_counted(report.runs), *_every_run(report.runs)),
        palette=palette_of(report),
    )
