"""``assay sign``: vouch for bundles with an SSH key."""

from pathlib import Path

import click

from assay.foundation.errors import RepositoryError
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import json_option, print_json, repository_option
from assay.store import Repository
from assay.store.bundles.signatures import sign as sign_bundle
from assay.store.index.index import bundle_names


@click.command(cls=AssayCommand)
@click.argument("bundles", nargs=-1, metavar="[RUN…]")
@click.option(
    "--key",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="An SSH key: the private one, or the public half of one that an agent holds.",
)
@json_option
@repository_option
def sign(bundles: tuple[str, ...], key: Path, as_json: bool, repository: Path) -> None:
    """Sign bundles that nobody has signed yet: those of RUN…, or all.

    A repository with a file `allowed_signers` takes from others only what one of those has signed.
    """
    folders = Repository.open(repository).folders
    every = bundle_names(folders.bundles)
    unknown = [name for name in bundles if name not in every]
    if unknown:
        raise RepositoryError(
            f"there is no bundle {unknown[0]!r}", where=str(repository), hint="`assay runs` lists ids"
        )
    wanted = list(bundles) or every
    signed = sum(sign_bundle(folders, folders.bundles / name, key) for name in wanted)
    if as_json:
        print_json({"signed": signed, "signed_before": len(wanted) - signed})
    else:
        click.echo(f"{signed} bundles signed, {len(wanted) - signed} were signed already")
