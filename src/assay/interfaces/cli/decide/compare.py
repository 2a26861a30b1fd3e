"""``assay compare RUN RUN``: print runs, or their configurations, side by side."""

from pathlib import Path
from typing import Any

import click

from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import all_option, json_option, repository_option, say, where_option
from assay.interfaces.cli.decide.compare_runs import print_sides
from assay.interfaces.cli.decide.decide import Details, decide
from assay.questions.comparisons.side_by_side import Of
from assay.store import Repository


@click.command("compare", cls=AssayCommand)
@click.argument("names", metavar="RUN RUN...", nargs=-1)
@click.option(
    "--of",
    type=click.Choice(["configurations", "runs"]),
    default="configurations",
    show_default=True,
    help="Compare all runs of the configurations of these runs, or these runs alone.",
)
@click.option("--by", "factor", default="layout", hidden=True)
@click.option("--baseline", hidden=True)
@click.option("--workload", hidden=True)
@where_option
@all_option
@repository_option
@json_option
@click.pass_context
def compare(
    context: click.Context,
    /,
    names: tuple[str, ...],
    of: Of,
    all_rows: bool,
    repository: Path,
    as_json: bool,
    **group_options: Any,
) -> None:
    """Compare 2 to 6 runs side by side: times, what differs, and job counters with the largest differences first.

    RUN is the beginning of a run id; the first is the baseline. `assay decide QUESTION --details groups` compares the
    levels of a factor.
    """
    if len(names) > 1:
        print_sides(repository, names, of, all_rows=all_rows, as_json=as_json)
        return
    workloads = Repository.open(repository).table().columns.get("workload")
    if names and (workloads is None or names[0] not in workloads.levels):
        raise click.UsageError("compare needs 2 to 6 runs; `assay runs` lists their ids.")
    say(f"note: `assay compare` without runs is now `assay decide {group_options['factor']} --details groups`")
    group_options["workload"] = group_options["workload"] or "".join(names) or None
    details = Details.GROUPS.value
    context.invoke(decide, details=details, all_rows=all_rows, repository=repository, as_json=as_json, **group_options)
