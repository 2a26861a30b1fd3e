"""``assay sign``: sign bundles with an SSH key."""

from pathlib import Path

import click

from assay.foundation.errors import RepositoryError
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import json_option, print_json, repository_option
from assay.store import Repository
from assay.store.bundles.signatures import sign as sign_bundle
from assay.store.index.index import bundle_names
from assay.text import plural


@click.command(cls=AssayCommand)
@click.argument("bundles", nargs=-1, metavar="[RUN…]")
@click.option(
    "--key",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Private SSH key, or the public key of a private key in the SSH agent.",
)
@json_option
@repository_option
def sign(bundles: tuple[str, ...], key: Path, as_json: bool, repository: Path) -> None:
    """Sign bundles that have no signature yet: those of RUN…, or all.

    A repository with a file `allowed_signers` accepts only bundles that one of these signers signed.
    """
    folders = Repository.open(repository).folders
    names = bundle_names(folders.bundles)
    unknown_bundles = [name for name in bundles if name not in names]
    if unknown_bundles:
        raise RepositoryError(
            f"no bundle {unknown_bundles[0]!r}", where=str(repository), hint="list the ids with `assay runs`"
        )
    bundles_to_sign = list(bundles) or names
    signed_count = sum(sign_bundle(folders, folders.bundles / name, key) for name in bundles_to_sign)
    if as_json:
        print_json({"signed": signed_count, "signed_before": len(bundles_to_sign) - signed_count})
    else:
        click.echo(f"{plural(signed_count, 'bundle')} signed, {len(bundles_to_sign) - signed_count} already signed")
