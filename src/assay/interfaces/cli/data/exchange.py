"""``assay export``, ``assay pull`` and ``assay push``: runs for other tools, and repositories that merge."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import click

from assay.foundation.errors import RepositoryError, SpecificationError
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import json_option, print_json, repository_option
from assay.interfaces.cli.terminal import unescaped
from assay.store import Repository
from assay.store.exchange.exchange import Copied, copy_bundles


def _token_option(command: Callable[..., None]) -> Callable[..., None]:
    return click.option(
        "--token-file",
        type=click.Path(path_type=Path, dir_okay=False),
        help="For an address: a file with the token; else the environment's ASSAY_TOKEN.",
    )(command)


@click.command(cls=AssayCommand)
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


@click.command(cls=AssayCommand)
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
