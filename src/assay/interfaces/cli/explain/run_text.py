"""Render a run as lines of text, for ``assay show``.

In: a run with its detail, its tasks, and the files of its bundle. Out: lines of text.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from assay.analysis.outliers.anomalies import Anomaly
from assay.analysis.run_profile.run_detail import RunDetail
from assay.analysis.run_profile.tables.run_tables import (
    cache_state_text,
    counter_tables,
    phase_table,
    run_sections,
    tasks_table,
)
from assay.foundation.units import format_duration
from assay.interfaces.cli.common import aligned_lines
from assay.model import LAYOUT_FACTOR, Phase, Run, TaskAttempt
from assay.questions.decisions.sentences.option_words import context_text
from assay.text import TextTable, layout_text, plural, tenths, workload_title

_WIDTH = 80
"""Maximum length of a line of notes, in characters."""
_BAR_WIDTH = 48
"""Width of the time axis of phases, in characters."""
_ENVIRONMENT_LINES_MAX = 40
"""Maximum number of entries of the environment that are printed."""


def configuration_text(run: Run) -> str:
    """Return the layout and the other factors' levels in words: ``2 hard disks (HD2), HDFS block size 64 MB``."""
    other_levels = {name: level for name, level in run.levels.items() if name != LAYOUT_FACTOR}
    return ", ".join(filter(None, [layout_text(run.layout), context_text(other_levels)]))


def run_lines(
    run: Run, detail: RunDetail, sizes: Mapping[str, int], flags: Sequence[Anomaly] = (), limit: str | None = None
) -> Iterator[str]:
    """Yield the sections of a run; sections without content are left out.

    ``sizes``: size of each file of the bundle, in bytes. ``flags``: the reasons that the run is an outlier. ``limit``:
    the resource that limited the run, as a sentence; None if unknown.
    """
    yield from _header(run)
    if limit is None:
        yield "The resource that limited the run is unknown: the run has no traces of its workers."
    else:
        yield f"{limit} More: --limits."
    for flag in flags:
        yield f"outlier, {flag.kind}: {flag.reason}"
    sections = run_sections(run, detail, sizes)
    if "phases" in sections:
        sections["phases"] = TextTable("phases", notes=tuple(phase_bars(run.phases, run.duration_s)))
    files = sections.pop("files", TextTable(""))
    for table in (*sections.values(), _environment(run), files):
        yield from table_lines(table)


def part_lines(
    run: Run, detail: RunDetail, tasks: Sequence[TaskAttempt], *, phases: bool, attempts: bool, counters: bool
) -> Iterator[str]:
    """Yield the selected parts of a run: phases of each job, task attempts, counters of the jobs."""
    yield from _header(run)
    if phases:
        yield from table_lines(phase_table(detail.breakdown, "the run", overlaps=True))
        for job_detail in detail.jobs if any(job.job.job_id for job in detail.jobs) else ():
            yield from table_lines(
                phase_table(job_detail.breakdown, f"{job_detail.job.job_id} {job_detail.job.name}", overlaps=True)
            )
    if attempts:
        yield from (
            table_lines(tasks_table(tasks, detail)) if tasks else ("", "This run has no task attempts on record.")
        )
    if counters:
        tables = list(counter_tables([job_detail.job for job_detail in detail.jobs]))
        for table in tables:
            yield from table_lines(table)
        if not tables:
            yield from ("", "This run has no counters on record.")


def _header(run: Run) -> Iterator[str]:
    yield f"run {run.run_id}"
    place_text = f" on {configuration}" if (configuration := configuration_text(run).strip()) else ""
    yield f"{workload_title(run.workload)}{place_text}, repetition {run.repetition}: {run.status}, {run.origin}"
    if run.cause:
        yield f"cause{f' ({run.failure_class})' if run.failure_class else ''}: {run.cause}"
    start_text = run.started_at or "at an unknown time"
    yield f"started {start_text}, took {format_duration(run.duration_s)}, caches {cache_state_text(run)}"


def phase_bars(phases: Sequence[Phase], duration_s: float) -> Iterator[str]:
    """Yield a line for each phase, with a bar on a time axis from the start to the end of the run."""
    if not phases:
        return
    start_s = min(0.0, *(phase.start_s for phase in phases))
    span_s = max(duration_s, *(phase.end_s for phase in phases)) - start_s or 1.0
    width = max(len(phase.name) for phase in phases)
    for phase in phases:
        start_column = min(round((phase.start_s - start_s) / span_s * _BAR_WIDTH), _BAR_WIDTH - 1)
        length = max(1, round((phase.end_s - start_s) / span_s * _BAR_WIDTH) - start_column)
        bar = " " * start_column + "█" * length
        times = f"{tenths(phase.start_s)} – {tenths(phase.end_s)} s"
        yield f"{phase.name:<{width}} │{bar:<{_BAR_WIDTH}}│ {format_duration(phase.duration_s):>11}  ({times})"


def _environment(run: Run) -> TextTable:
    """Return the table of the environment, with at most ``_ENVIRONMENT_LINES_MAX`` entries."""

    def summary(value: object) -> str:
        return plural(len(value), "entry", "entries") if isinstance(value, dict | list) else str(value)

    rows = tuple((name, summary(value)) for name, value in run.environment.items())
    hidden_rows = len(rows) - _ENVIRONMENT_LINES_MAX
    omitted_text = (f"and {hidden_rows} more",) if hidden_rows > 0 else ()
    return TextTable("environment (in full: --json)", (), rows[:_ENVIRONMENT_LINES_MAX], omitted_text)


def table_lines(table: TextTable) -> Iterator[str]:
    """Yield the title, and the rows and notes with indentation; an empty table has no lines."""
    if table:
        yield ""
        yield table.title
        lines = [table.headers, *table.rows] if table.headers else table.rows
        notes = [line for note in table.notes for line in textwrap.wrap(note, _WIDTH)] if table.rows else table.notes
        yield from (
            f"  {line}" for line in (*(aligned_lines(lines, table.right_aligned) if table.rows else ()), *notes)
        )
