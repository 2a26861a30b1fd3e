"""List the runs of a report: a table of runs that do not count, with the cause, and a table of all runs.

In: a report. Out: blocks of the appendix. Nothing is computed here.
"""

from dataclasses import replace

from assay.interfaces.report.output.document import Block, Code, Heading, Paragraph
from assay.interfaces.report.tables import table, table_blocks
from assay.model import RunStatus
from assay.questions.report.values import Report
from assay.text import language, numbers, titles

RUNS_MAX = 40
"""Maximum number of runs in the document."""
_COLD = {"cold": "yes", "warm": "no", "": "not known"}
_COLUMNS = (
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


def run_blocks(report: Report) -> list[Block]:
    """Return the tables of runs, or the commands that list them if the report has no details of configurations."""
    if report.configurations is None:
        text = (Code("assay runs"), " lists every run, ", Code("assay anomalies"), " the outliers.")
        return [Paragraph(text, "soft")]
    runs = report.configurations.runs
    invalid_runs = [run for run in runs if run.status is not RunStatus.VALID]
    blocks: list[Block] = []
    if invalid_runs:
        rows = [
            (
                (Code(run.run_id),),
                titles.workload_title(run.workload),
                run.layout,
                run.status.value,
                run.cause or "not recorded",
            )
            for run in invalid_runs
        ]
        full_table = table(("Run", "Workload", "Layout", "Status", "Cause"), rows)
        blocks += [Heading("Runs that do not count"), *table_blocks(full_table, "runs-that-do-not-count")]
    run_rows = [
        (
            (Code(run.run_id),),
            titles.workload_title(run.workload),
            run.layout,
            numbers.seconds(run.duration_s),
            run.status.value,
            run.origin.value,
            _COLD.get(run.cache_state, run.cache_state),
            str(run.block),
            language.moment(run.started_at),
            f"{run.engine} {run.engine_version}",
            titles.assay_version(run),
        )
        for run in runs
    ]
    note = (Code("assay show RUN"), " shows everything that was recorded of a run.")
    full_table = replace(table(_COLUMNS, run_rows), dense=True)
    return [*blocks, Heading("Every run"), Paragraph(note, "soft"), *table_blocks(full_table, "runs", RUNS_MAX)]
