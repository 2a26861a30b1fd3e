"""``assay runs``: list the runs of a repository."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from assay.analysis.run_profile.tables.run_tables import cache_state_text
from assay.foundation.units import format_duration
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import (
    ROWS_SHOWN,
    all_option,
    json_option,
    output_columns,
    print_json,
    print_table,
    repository_option,
    request_of,
    where_option,
)
from assay.interfaces.cli.explain.run_text import configuration_text
from assay.model import SIMULATED_HIGH_S, SIMULATED_LOW_S, Run, RunStatus
from assay.questions.commands import command, repository_options
from assay.questions.runs.runs import levels_in, run_json
from assay.questions.trust.listed_runs import RunsRequest, listed_runs
from assay.store import Repository, short_length
from assay.text import layout_text, workload_title

_HEADERS = ("run", "started (UTC)", "workload", "configuration", "repetition", "status", "origin", "caches", "duration")
_FIRST_HEADERS = ("run", "workload", "configuration", "duration")
_START_HEADER = _HEADERS[1]


@click.command(cls=AssayCommand)
@where_option
@click.option("--workload", help="Only runs of this workload.")
@click.option("--layout", help="Only runs on this layout, by its code in brackets: HD2.")
@click.option("--status", type=click.Choice([status.value for status in RunStatus]), help="Only runs with this status.")
@click.option("--outliers", "--odd", "outliers", is_flag=True, help="Only runs that are flagged as outliers.")
@click.option("--limit", type=click.IntRange(min=1), help="Only this many of the newest runs.")
@all_option
@json_option
@repository_option
def runs(limit: int | None, all_rows: bool, as_json: bool, repository: Path, **options: Any) -> None:
    """List runs, newest last. Outliers are marked."""
    opened_repository = Repository.open(repository)
    rows = limit or (None if all_rows or as_json else ROWS_SHOWN)
    answer = listed_runs(opened_repository, request_of(RunsRequest, options, limit=rows))
    runs_of_answer = answer.runs
    if as_json:
        print_json([run_json(run, answer.kinds.get(run.run_id)) for run in runs_of_answer])
    elif runs_of_answer:
        length = short_length(run.run_id for run in runs_of_answer)
        _print_runs([_row(run, length, answer.kinds.get(run.run_id)) for run in runs_of_answer])
        if not limit and answer.total > len(runs_of_answer):
            click.echo(f"… {answer.total - len(runs_of_answer):,} older (--all)")
    elif not len(answer.table):
        of_repository = repository_options(repository)
        click.echo(
            f"No runs in {repository} yet.\n"
            f"  → `{command('demo', options=of_repository)}` measures hard disks against SSDs on this machine; "
            f"`{command('run', 'PLAN', options=of_repository)}` executes a plan."
        )
    else:
        workloads = ", ".join(workload_title(name) for name in sorted(levels_in(answer.table, "workload")))
        layouts = ", ".join(layout_text(name) for name in sorted(levels_in(answer.table, "layout")))
        click.echo(f"No run matches.\n  → There are runs of {workloads} on {layouts}.")


def _row(run: Run, id_length: int, outlier: str | None) -> tuple[str, ...]:
    status = f"{run.status} ({run.failure_class})" if run.failure_class else run.status
    low_s, high_s = (run.metrics.get(name) for name in (SIMULATED_LOW_S, SIMULATED_HIGH_S))
    interval_text = (
        "" if low_s is None or high_s is None else f" ({format_duration(low_s)} to {format_duration(high_s)})"
    )
    return (
        run.run_id[:id_length],
        run.started_at[:19].replace("T", " "),
        workload_title(run.workload),
        configuration_text(run),
        str(run.repetition),
        f"{status}, {outlier}" if outlier else status,
        run.origin,
        cache_state_text(run),
        format_duration(run.duration_s) + interval_text,
    )


def _print_runs(rows: Sequence[tuple[str, ...]]) -> None:
    """Print the runs. If the output is too narrow, start times come after the durations and have no seconds."""
    width = output_columns()
    columns = list(zip(_HEADERS, *rows, strict=True))
    if width is not None and sum(max(map(len, column)) + 2 for column in columns) > width + 2:
        cells_by_column = {
            column[0]: tuple(cell[:16] if column[0] == _START_HEADER else cell for cell in column) for column in columns
        }
        columns = [
            cells_by_column[name]
            for name in (*_FIRST_HEADERS, *(name for name in _HEADERS if name not in _FIRST_HEADERS))
        ]
    headers, *lines = zip(*columns, strict=True)
    print_table(headers, lines)
