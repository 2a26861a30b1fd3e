"""``assay export``, ``assay pull`` and ``assay push``: runs for other tools, and repositories that merge."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, NoReturn

import click

from assay.foundation.errors import RepositoryError, SpecificationError
from assay.foundation.output import written
from assay.interfaces.cli.common import json_option, print_json, repository_option
from assay.interfaces.cli.terminal import unescaped
from assay.model import Run
from assay.store import Repository
from assay.store.exchange.exchange import (
    Copied,
    copy_bundles,
    write_csv,
    write_json_lines,
    write_otava,
    write_parquet,
    write_perfkit,
)
from assay.text import workload_named

_WRITERS: dict[str, Callable[[Sequence[Run], IO[str]], None]] = {
    "csv": write_csv,
    "jsonl": write_json_lines,
    "perfkit": write_perfkit,
    "otava": write_otava,
}


@click.command()
@click.argument("form", type=click.Choice([*_WRITERS, "parquet"]), required=False)
@click.option(
    "--dataset",
    metavar="DIR|hdfs://…",
    help="Instead of FORM: add what is new to a dataset of runs, task attempts and traces, for Spark and others.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="File to write; else to the terminal."
)
@click.option("--workload", help="Only runs of this workload.")
@click.option("--layout", help="Only runs on this layout.")
@repository_option
def export(
    form: str | None,
    dataset: str | None,
    output: Path | None,
    workload: str | None,
    layout: str | None,
    repository: Path,
) -> None:
    """Write runs as CSV, Parquet, JSON lines, PerfKitBenchmarker's samples or Apache Otava's CSV; or a dataset."""
    opened = Repository.open(repository)
    if dataset is not None:
        if form or output or workload or layout:
            raise SpecificationError("a dataset takes all runs, and nothing else is named", where="--dataset")
        _export_dataset(opened, dataset)
        return
    if form is None:
        raise SpecificationError(
            "it is not said what to write", hint=f"name one of {', '.join([*_WRITERS, 'parquet'])}, or --dataset"
        )
    if workload:
        names = opened.table().columns.get("workload")
        workload = workload_named(workload, names.levels if names else ())
    found = opened.runs(workload=workload, layout=layout)
    if not found:
        raise RepositoryError("there is no such run", where=str(repository), hint="`assay runs` lists them")
    if output is None:
        if form == "parquet":
            raise SpecificationError("Parquet is no text", hint="name a file with -o")
        _WRITERS[form](found, sys.stdout if sys.stdout.isatty() else unescaped(sys.stdout))
        return
    with written(output) as made:
        if form == "parquet":
            write_parquet(found, made)
        else:
            with made.open("w", encoding="utf-8", newline="") as file:
                _WRITERS[form](found, file)
    click.echo(f"wrote {output} from {len(found)} runs", err=True)


def _export_dataset(opened: Repository, address: str) -> None:
    from assay.execution.engines.spark.datasets import store_at
    from assay.store.index.dataset import export_dataset

    done = export_dataset(opened, store_at(address, lambda line: click.echo(line, err=True)))
    click.echo(
        f"{address}: {done.bundles} bundles added with {done.runs} runs, {done.tasks} task attempts and "
        f"{done.samples} samples of traces; {done.already_there} bundles were there already",
        err=True,
    )


def _token_option(command: Callable[..., None]) -> Callable[..., None]:
    return click.option(
        "--token-file",
        type=click.Path(path_type=Path, dir_okay=False),
        help="For an address: a file with the token; else the environment's ASSAY_TOKEN.",
    )(command)


@click.command()
@click.argument("source", metavar="DIR|FILE|URL")
@_token_option
@json_option
@repository_option
def pull(source: str, token_file: Path | None, as_json: bool, repository: Path) -> None:
    """Take every run that is not here yet of another repository: a folder, or the address of an `assay serve`.

    Or of a file that `assay report --bundle` made.
    """
    target = Repository.create(repository)
    if _is_address(source):
        from assay.store.exchange.remote import Remote
        from assay.store.exchange.remote import pull as take

        with Remote(source, _token(token_file)) as remote:
            _show(lambda progress: take(remote, target, progress), as_json)
    if Path(source).is_file():
        from assay.store.exchange.package import pull_package

        _show(lambda progress: pull_package(Path(source), target, progress), as_json)
    opened = Repository.open(Path(source))
    _show(lambda progress: copy_bundles(opened, target, progress), as_json)


@click.command()
@click.argument("target", metavar="DIR|URL")
@click.option("--create", is_flag=True, help="Make the folder TARGET a repository when it is none yet.")
@_token_option
@json_option
@repository_option
def push(target: str, create: bool, token_file: Path | None, as_json: bool, repository: Path) -> None:
    """Give another repository, a folder or the address of an `assay serve`, every run that it lacks."""
    opened = Repository.open(repository)
    if _is_address(target):
        from assay.store.exchange.remote import Remote
        from assay.store.exchange.remote import push as give

        with Remote(target, _token(token_file)) as remote:
            _show(lambda progress: give(opened, remote, progress), as_json)
    if not create and not Repository.is_at(Path(target)):
        raise RepositoryError(
            "there is no repository here to give runs to",
            where=target,
            hint="--create makes one, if the name is not mistyped",
        )
    created = Repository.create(Path(target))
    _show(lambda progress: copy_bundles(opened, created, progress), as_json)


def _is_address(text: str) -> bool:
    return text.startswith(("http://", "https://"))


def _token(path: Path | None) -> str | None:
    """Return the token to show; None when none is given. Raises SpecificationError when the file has none."""
    if path is None:
        return os.environ.get("ASSAY_TOKEN") or None
    try:
        words = path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise SpecificationError(f"the token can't be read: {error}", where=str(path)) from error
    if len(words) != 1:
        raise SpecificationError("the file should hold one token and nothing else", where=str(path))
    return words[0]


def _show(copy: Callable[[Callable[[int, int], None]], Copied], as_json: bool) -> NoReturn:
    """Copy with a bar, print what was done, and end the program."""
    from rich.console import Console  # imported here to keep start-up short
    from rich.progress import Progress

    console = Console(file=unescaped(sys.stderr))
    with Progress(console=console, transient=True, disable=as_json or not console.is_terminal) as bar:
        task = bar.add_task("copying bundles")
        done = copy(lambda n, total: bar.update(task, completed=n, total=total))
    if as_json:
        refused = [{"bundle": p.run_id, "file": p.file, "detail": p.detail} for p in done.refused]
        print_json({"copied": done.copied, "already_there": done.already_there, "refused": refused})
    else:
        click.echo(f"{done.copied} bundles copied, {done.already_there} were there already")
        for problem in done.refused:
            click.echo(f"  refused: {problem.run_id}: {problem.file}: {problem.detail}", err=True)
    sys.exit(RepositoryError.exit_code if done.refused else 0)
