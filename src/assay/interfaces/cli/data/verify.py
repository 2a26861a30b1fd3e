"""``assay verify``: check bundles against their checksums and signatures."""

import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from assay.foundation.errors import RepositoryError
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import json_option, print_json, print_table, repository_option
from assay.interfaces.cli.terminal import send_control
from assay.store import Repository
from assay.store.bundles.signatures import bad_signatures
from assay.text import plural


@click.command(cls=AssayCommand)
@click.argument("package", type=click.Path(path_type=Path, dir_okay=False), required=False)
@json_option
@repository_option
def verify(package: Path | None, as_json: bool, repository: Path) -> None:
    """Check every bundle against its checksums and, if it is signed, its signature.

    Exit code 6: a check failed.

    With PACKAGE, a file from `assay report --bundle`, check its bundles instead of the repository.
    """
    checked_path = repository if package is None else package
    if package is None:
        opened_repository = Repository.open(repository)
        problems = opened_repository.verify(_progress) + bad_signatures(opened_repository.folders)
    else:
        from assay.store.exchange.package import opened_package

        with (
            TemporaryDirectory(prefix="assay-verify-") as scratch,
            opened_package(package, Path(scratch)) as packed_repository,
        ):
            problems = packed_repository.verify(_progress)
    if as_json:
        print_json([asdict(problem) for problem in problems])
    elif problems:
        rows = [(problem.run_id, problem.file, problem.kind.value, problem.detail) for problem in problems]
        print_table(("run", "file", "problem", "detail"), rows)
    else:
        click.echo("Every bundle is intact.")
    if problems:
        raise RepositoryError(
            f"{plural(len(problems), 'problem')} in {plural(len({problem.run_id for problem in problems}), 'bundle')}",
            where=str(checked_path),
            hint="restore the bundles from a copy, or delete their folders",
        )


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        send_control("\r", sys.stderr)
        click.echo(f"{done} of {total} bundles checked", err=True, nl=done == total)
