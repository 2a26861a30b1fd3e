"""``assay export``: write runs as files or as a dataset for other tools."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

import click

from assay.foundation.errors import RepositoryError, SpecificationError
from assay.foundation.output import written
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import repository_option, where_option
from assay.interfaces.cli.terminal import unescaped
from assay.model import Run
from assay.questions.runs.runs import in_order_of_start, levels_in, selected
from assay.store import Repository
from assay.store.exchange.exchange import write_csv, write_json_lines, write_otava, write_parquet, write_perfkit
from assay.text import plural, workload_named

_WRITERS: dict[str, Callable[[Sequence[Run], IO[str]], None]] = {
    "csv": write_csv,
    "jsonl": write_json_lines,
    "perfkit": write_perfkit,
    "otava": write_otava,
}


@click.command(cls=AssayCommand)
@click.argument("form", type=click.Choice([*_WRITERS, "parquet"]), required=False)
@click.option(
    "--dataset",
    metavar="DIR|hdfs://…",
    help="Instead of FORM: add new runs to a dataset of runs, task attempts and traces, for Spark and other readers.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="File to write. Default: standard output."
)
@where_option
@click.option("--workload", help="Only runs of this workload.")
@click.option("--layout", help="Only runs on this layout.")
@repository_option
def export(
    form: str | None,
    dataset: str | None,
    output: Path | None,
    where: tuple[str, ...],
    workload: str | None,
    layout: str | None,
    repository: Path,
) -> None:
    """Write runs as CSV, Parquet, JSON lines, PerfKitBenchmarker samples or Apache Otava CSV, or as a dataset."""
    opened = Repository.open(repository)
    if dataset is not None:
        if form or output or where or workload or layout:
            raise SpecificationError("a dataset takes all runs; leave out the other options", where="--dataset")
        _export_dataset(opened, dataset)
        return
    if form is None:
        raise SpecificationError(
            "no output format", hint=f"choose one of {', '.join([*_WRITERS, 'parquet'])}, or --dataset"
        )
    table = opened.table()
    named = {"workload": workload_named(workload, levels_in(table, "workload")) if workload else None, "layout": layout}
    conditions = [f"{name}={level}" for name, level in named.items() if level]
    if not all(level in levels_in(table, name) for name, level in named.items() if level):
        raise RepositoryError("no run matches", where=str(repository), hint="`assay runs` lists the runs")
    chosen = selected(table, (*where, *conditions), "--where")
    runs = opened.runs_at(chosen, in_order_of_start(opened, chosen))
    if not runs:
        raise RepositoryError("no run matches", where=str(repository), hint="`assay runs` lists the runs")
    if output is None:
        if form == "parquet":
            raise SpecificationError("Parquet can't go to standard output", hint="name a file with -o")
        _WRITERS[form](runs, sys.stdout if sys.stdout.isatty() else unescaped(sys.stdout))
        return
    with written(output) as made:
        if form == "parquet":
            write_parquet(runs, made)
        else:
            with made.open("w", encoding="utf-8", newline="") as file:
                _WRITERS[form](runs, file)
    click.echo(f"wrote {output} from {plural(len(runs), 'run')}", err=True)


def _export_dataset(opened: Repository, address: str) -> None:
    from assay.questions.runs.dataset import export_to

    done = export_to(opened, address, lambda line: click.echo(line, err=True))
    click.echo(
        f"{address}: {plural(done.bundles, 'bundle')} added with {plural(done.runs, 'run')}, "
        f"{plural(done.tasks, 'task attempt')} and {plural(done.samples, 'trace sample')}; "
        f"{done.already_there} already in the dataset",
        err=True,
    )
