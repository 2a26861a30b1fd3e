"""``assay pull`` and ``assay push``: copy runs between repositories."""

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
from assay.store.exchange.exchange import CopySummary, copy_bundles
from assay.text import plural


def _token_option(command: Callable[..., None]) -> Callable[..., None]:
    return click.option(
        "--token-file",
        type=click.Path(path_type=Path, dir_okay=False),
        help="File with the token for an address. Default: the environment variable ASSAY_TOKEN.",
    )(command)


@click.command(cls=AssayCommand)
@click.argument("source", metavar="DIR|FILE|URL")
@_token_option
@json_option
@repository_option
def pull(source: str, token_file: Path | None, as_json: bool, repository: Path) -> None:
    """Copy runs from another repository, except those that this one has.

    The source is a folder, the address of an `assay serve`, or a package from `assay report --bundle`.
    """
    target = Repository.create(repository)
    if _is_address(source):
        from assay.store.exchange.remote import Remote
        from assay.store.exchange.remote import pull as pull_remote

        with Remote(source, _token(token_file)) as remote:
            _copy_and_exit(lambda progress: pull_remote(remote, target, progress), as_json)
    if Path(source).is_file():
        from assay.store.exchange.package import pull_package

        _copy_and_exit(lambda progress: pull_package(Path(source), target, progress), as_json)
    opened_repository = Repository.open(Path(source))
    _copy_and_exit(lambda progress: copy_bundles(opened_repository, target, progress), as_json)


@click.command(cls=AssayCommand)
@click.argument("target", metavar="DIR|URL")
@click.option("--create", is_flag=True, help="Create the repository if the folder has none.")
@_token_option
@json_option
@repository_option
def push(target: str, create: bool, token_file: Path | None, as_json: bool, repository: Path) -> None:
    """Copy runs to another repository, except those that it has.

    The target is a folder, or the address of an `assay serve`.
    """
    opened_repository = Repository.open(repository)
    if _is_address(target):
        from assay.store.exchange.remote import Remote
        from assay.store.exchange.remote import push as push_remote

        with Remote(target, _token(token_file)) as remote:
            _copy_and_exit(lambda progress: push_remote(opened_repository, remote, progress), as_json)
    if not create and not Repository.is_at(Path(target)):
        raise RepositoryError(
            "not a repository", where=target, hint="check the name, or create a repository with --create"
        )
    target_repository = Repository.create(Path(target))
    _copy_and_exit(lambda progress: copy_bundles(opened_repository, target_repository, progress), as_json)


def _is_address(text: str) -> bool:
    return text.startswith(("http://", "https://"))


def _token(path: Path | None) -> str | None:
    """Return the token in the file, or else in the environment variable ASSAY_TOKEN; None without a token.

    Raises SpecificationError if the file can't be read or does not contain exactly one token.
    """
    if path is None:
        return os.environ.get("ASSAY_TOKEN") or None
    try:
        words = path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise SpecificationError(f"cannot read the token: {error}", where=str(path)) from error
    if len(words) != 1:
        raise SpecificationError("the file must contain one token and nothing else", where=str(path))
    return words[0]


def _copy_and_exit(copy: Callable[[Callable[[int, int], None]], CopySummary], as_json: bool) -> NoReturn:
    """Copy bundles with a progress bar, print the counts, and exit. If a bundle was refused, the exit code is not 0."""
    from rich.console import Console  # imported here to keep start-up short
    from rich.progress import Progress

    console = Console(file=unescaped(sys.stderr))
    with Progress(console=console, transient=True, disable=as_json or not console.is_terminal) as bar:
        task = bar.add_task("copying bundles")
        result = copy(lambda n, total: bar.update(task, completed=n, total=total))
    if as_json:
        refusals = [
            {"bundle": refusal.run_id, "file": refusal.file, "detail": refusal.detail} for refusal in result.refused
        ]
        print_json({"copied": result.copied, "already_there": result.already_there, "refused": refusals})
    else:
        click.echo(f"{plural(result.copied, 'bundle')} copied, {result.already_there} already present")
        for refusal in result.refused:
            click.echo(f"  refused: {refusal.run_id}: {refusal.file}: {refusal.detail}", err=True)
    sys.exit(RepositoryError.exit_code if result.refused else 0)
