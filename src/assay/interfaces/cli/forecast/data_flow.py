"""``assay data-flow``: print data flow and CPU use of each workload, relative to a reference workload."""

from pathlib import Path

import click

from assay.analysis.run_profile.workload_ratios import REFERENCE, WorkloadRatioRow, WorkloadRatios
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import (
    all_option,
    json_option,
    print_json,
    print_rows,
    repository_option,
    row_limit,
    where_option,
)
from assay.interfaces.cli.repository_runs import read_table
from assay.questions.json_values import json_value
from assay.questions.runs.complete_run import workload_table
from assay.text import NO_VALUE, layout_text, share, size, workload_title


@click.command("data-flow", cls=AssayCommand)
@click.option("--reference", default=REFERENCE, show_default=True, help="Workload to compare the others with.")
@click.option("--layout", help="Only runs on this layout.", hidden=True)
@where_option
@all_option
@json_option
@repository_option
def data_flow_command(
    reference: str, layout: str | None, where: tuple[str, ...], all_rows: bool, as_json: bool, repository: Path
) -> None:
    """Compare what workloads read, shuffle, write and compute, as table 3 of the LISA'14 paper does.

    The tables show medians over the valid runs of each configuration, and ratios to the reference workload.
    """
    opened_repository, table = read_table(repository, [*([f"layout={layout}"] if layout else []), *where])
    answer = workload_table(opened_repository, table, reference)
    limit = row_limit(all_rows)
    if as_json:
        print_json(json_value(answer))
        return
    if answer.has_ratios:
        headers = ("workload", "configuration", "runs", "input", "shuffle", "output", "CPU")
        title = f"ratio to {workload_title(reference)}"
        print_rows(headers, [_ratios(row) for row in answer.rows], limit=limit, title=title)
        click.echo()
    headers = ("workload", "configuration", "input", "shuffle", "output", "output in all copies", "CPU busy")
    print_rows(headers, [_amounts(row) for row in answer.rows], limit=limit, title="medians")
    for line in _notes(answer):
        click.echo(line)


def _configuration(row: WorkloadRatioRow) -> str:
    layout = layout_text(row.layout) if row.layout else ""
    return " ".join(part for part in (layout, row.context) if part) or NO_VALUE


def _ratios(row: WorkloadRatioRow) -> tuple[str, ...]:
    ratios = (row.input_ratio, row.shuffle_ratio, row.output_ratio, row.cpu_ratio)
    return (
        workload_title(row.workload),
        _configuration(row),
        str(row.n),
        *(NO_VALUE if ratio is None else f"{ratio:.2f}" for ratio in ratios),
    )


def _amounts(row: WorkloadRatioRow) -> tuple[str, ...]:
    amounts = (row.input_bytes, row.shuffle_bytes, row.output_bytes, row.stored_bytes)
    return (workload_title(row.workload), _configuration(row), *map(size, amounts), share(row.cpu_busy_share))


def _notes(answer: WorkloadRatios) -> list[str]:
    notes = []
    if not answer.has_ratios:
        workloads = ", ".join(dict.fromkeys(row.workload for row in answer.rows))
        notes.append(f"There are no valid runs of {answer.reference}. Choose another --reference: {workloads}.")
    if any(row.lab_scale is not None for row in answer.rows):
        notes.append("The nodes of a lab share one machine: CPU busy is the value of that machine.")
    return notes
