"""``assay export``: write runs as files or as a dataset for other tools."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import click

from assay.foundation.errors import RepositoryError, SpecificationError
from assay.foundation.output import output_file, write_output
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import repository_option, request_of, where_option
from assay.interfaces.cli.terminal import unescaped
from assay.model import Run
from assay.questions.runs.code_profiles.code_profile import has_times, stacks_of_run, times_of_run
from assay.questions.runs.runs import in_order_of_start, selected
from assay.questions.trust.listed_runs import RunsRequest, chosen_runs
from assay.store import Repository
from assay.store.exchange.exchange import write_csv, write_json_lines, write_otava, write_parquet, write_perfkit
from assay.store.exchange.paraver import paraver_files
from assay.store.exchange.perfetto import perfetto_bytes
from assay.store.exchange.profiles import collapsed_bytes, pprof_bytes
from assay.text import plural

_WRITERS: dict[str, Callable[[Sequence[Run], IO[str]], None]] = {
    "csv": write_csv,
    "jsonl": write_json_lines,
    "perfkit": write_perfkit,
    "otava": write_otava,
}


def _perfetto(opened_repository: Repository, prefix: str) -> bytes:
    run = opened_repository.run(prefix)
    stacks = (
        times_of_run(opened_repository, run) if run.started_at and has_times(opened_repository.logs(run.run_id)) else {}
    )
    return perfetto_bytes(run, opened_repository.tasks(run.run_id), opened_repository.trace(run.run_id), stacks)


_RUN_WRITERS: dict[str, Callable[[Repository, str], bytes]] = {
    "collapsed": lambda opened_repository, run: collapsed_bytes(stacks_of_run(opened_repository, run)),
    "pprof": lambda opened_repository, run: pprof_bytes(stacks_of_run(opened_repository, run)),
    "perfetto": _perfetto,
}
_BINARY_FORMS = ("pprof", "perfetto")
_PARAVER = "paraver"
_RUN_FORMS = (*_RUN_WRITERS, _PARAVER)
"""Formats of one run; all others are of many runs."""


@click.command(cls=AssayCommand)
@click.argument("form", type=click.Choice([*_WRITERS, "parquet", *_RUN_FORMS]), required=False)
@click.option(
    "--dataset",
    metavar="DIR|hdfs://…",
    help="Instead of FORM: add new runs to a dataset of runs, task attempts and traces, for Spark and other readers.",
)
@click.option(
    "--run", metavar="RUN", help="For collapsed, pprof, perfetto and paraver: the beginning of the id of the run."
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="File to write. Default: standard output."
)
@where_option
@click.option("--workload", help="Only runs of this workload.")
@click.option("--layout", help="Only runs on this layout.")
@repository_option
def export(
    form: str | None, dataset: str | None, run: str | None, output: Path | None, repository: Path, **options: Any
) -> None:
    """Write runs as a file or a dataset, or one run for a profiler or a trace viewer.

    Runs: CSV, Parquet, JSON lines (jsonl), PerfKitBenchmarker samples (perfkit) or Apache Otava's CSV (otava). One run:
    the stacks of its profile (collapsed, pprof), or its phases, tasks and device counters (perfetto, paraver).
    """
    opened_repository = Repository.open(repository)
    request = request_of(RunsRequest, options)
    has_filter = request != RunsRequest()
    if dataset is not None:
        if form or run or output or has_filter:
            raise SpecificationError("a dataset takes all runs; leave out the other options", where="--dataset")
        _export_dataset(opened_repository, dataset)
        return
    if form is None:
        raise SpecificationError(
            "no output format", hint=f"choose one of {', '.join([*_WRITERS, 'parquet', *_RUN_FORMS])}, or --dataset"
        )
    if form in _RUN_FORMS or run:
        if form not in _RUN_FORMS or not run or has_filter:
            raise SpecificationError(
                "this format exports one run and takes no filter",
                where=form,
                hint=f"assay export {'|'.join(_RUN_FORMS)} --run RUN -o FILE",
            )
        _export_run(opened_repository, form, run, output)
        return
    runs_to_export = chosen_runs(selected(opened_repository.table(), ()), request)
    runs = (
        opened_repository.runs_at(runs_to_export, in_order_of_start(opened_repository, runs_to_export))
        if runs_to_export is not None
        else []
    )
    if not runs:
        raise RepositoryError("no run matches", where=str(repository), hint="`assay runs` lists the runs")
    if output is None:
        if form == "parquet":
            raise SpecificationError("Parquet can't go to standard output", hint="name a file with -o")
        _WRITERS[form](runs, sys.stdout if sys.stdout.isatty() else unescaped(sys.stdout))
        return
    with output_file(output) as new_file:
        if form == "parquet":
            write_parquet(runs, new_file)
        else:
            with new_file.open("w", encoding="utf-8", newline="") as file:
                _WRITERS[form](runs, file)
    click.echo(f"wrote {output} from {plural(len(runs), 'run')}", err=True)


def _export_run(opened_repository: Repository, form: str, run: str, output: Path | None) -> None:
    if form == _PARAVER:
        _export_paraver(opened_repository, run, output)
        return
    content = _RUN_WRITERS[form](opened_repository, run)
    if output is not None:
        write_output(output, content)
        click.echo(f"wrote {output}", err=True)
    elif form in _BINARY_FORMS:
        raise SpecificationError("this format can't go to standard output", where=form, hint="name a file with -o")
    else:
        click.echo(content.decode(), nl=False)


def _export_paraver(opened_repository: Repository, prefix: str, output: Path | None) -> None:
    if output is None or output.suffix != ".prv":
        raise SpecificationError(
            "a trace for Paraver is three files: .prv, .pcf and .row", where=_PARAVER, hint="name the first: -o run.prv"
        )
    run = opened_repository.run(prefix)
    files = paraver_files(run, opened_repository.tasks(run.run_id), opened_repository.trace(run.run_id))
    for suffix, text in files.items():
        write_output(output.with_suffix(suffix), text.encode())
    click.echo(f"wrote {', '.join(str(output.with_suffix(suffix)) for suffix in files)}", err=True)


def _export_dataset(opened_repository: Repository, address: str) -> None:
    from assay.questions.runs.dataset import export_to

    summary = export_to(opened_repository, address, lambda line: click.echo(line, err=True))
    click.echo(
        f"{address}: {plural(summary.bundles, 'bundle')} added with {plural(summary.runs, 'run')}, "
        f"{plural(summary.tasks, 'task attempt')} and {plural(summary.samples, 'trace sample')}; "
        f"{summary.already_there} already in the dataset",
        err=True,
    )
