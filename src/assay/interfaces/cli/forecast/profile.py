"""``assay profile``: what each workload does with data and CPU, against one of them."""

from pathlib import Path

import click

from assay.analysis.run_profile.profile import REFERENCE, Profile, ProfileRow
from assay.interfaces.cli.common import json_option, print_json, print_table, repository_option
from assay.interfaces.cli.reading import read_table
from assay.questions.json_values import json_value
from assay.questions.runs.runs import selected
from assay.questions.runs.whole_run import workload_profile
from assay.text import NOTHING, share, size


@click.command("profile")
@click.option("--reference", default=REFERENCE, show_default=True, help="Workload that the others are compared with.")
@click.option("--layout", help="Only runs on this layout.")
@json_option
@repository_option
def profile_command(reference: str, layout: str | None, as_json: bool, repository: Path) -> None:
    """Compare what workloads read, shuffle, write and compute, as LISA'14 does in its table 3.

    Medians of the valid runs on each configuration, and their ratios to the reference workload's.
    """
    store, table = read_table(repository)
    chosen = selected(table, [f"layout={layout}"] if layout else [], "--layout")
    found = workload_profile(store, chosen, reference)
    if as_json:
        print_json(json_value(found))
        return
    if found.has_ratios:
        headers = ("workload", "configuration", "runs", "input", "shuffle", "output", "CPU")
        print_table(headers, [_ratios(row) for row in found.rows], title=f"against {reference} (1 = as much)")
        click.echo()
    headers = ("workload", "configuration", "input", "shuffle", "output", "copies incl.", "CPU busy")
    print_table(headers, [_amounts(row) for row in found.rows], title="medians")
    for line in _notes(found):
        click.echo(line)


def _configuration(row: ProfileRow) -> str:
    return " ".join(part for part in (row.layout, row.context) if part) or NOTHING


def _ratios(row: ProfileRow) -> tuple[str, ...]:
    ratios = (row.input_ratio, row.shuffle_ratio, row.output_ratio, row.cpu_ratio)
    return (
        row.workload,
        _configuration(row),
        str(row.n),
        *(NOTHING if ratio is None else f"{ratio:.2f}" for ratio in ratios),
    )


def _amounts(row: ProfileRow) -> tuple[str, ...]:
    amounts = (row.input_bytes, row.shuffle_bytes, row.output_bytes, row.stored_bytes)
    return (row.workload, _configuration(row), *map(size, amounts), share(row.cpu_busy_share))


def _notes(found: Profile) -> list[str]:
    notes = []
    if not found.has_ratios:
        workloads = ", ".join(dict.fromkeys(row.workload for row in found.rows))
        notes.append(f"There are no valid runs of {found.reference} to compare with; --reference takes {workloads}.")
    if any(row.lab_scale is not None for row in found.rows):
        notes.append("A lab's nodes share one machine, and CPU busy is that machine's.")
    return notes
