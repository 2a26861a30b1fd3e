"""``assay examples``: the clusters, plans and price books that come with assay, listed, or copied to where
they can be changed."""

import shutil
from pathlib import Path

import click

from assay.foundation.errors import AssayError, SpecificationError
from assay.foundation.installation import installation
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import json_option, print_json


def example_folder() -> Path:
    """Return the folder of the examples; raise AssayError where they did not come with this installation."""
    folder = installation().examples
    if folder is None:
        raise AssayError("the examples did not come with this installation", hint="install assay from its wheel")
    return folder


@click.command(cls=AssayCommand)
@click.argument("folder", required=False, type=click.Path(path_type=Path, file_okay=False))
@json_option
def examples(folder: Path | None, as_json: bool) -> None:
    """List the example clusters, plans and price books; with FOLDER, copy them there.

    The documentation's `examples/…` are then there to run: `assay examples examples`.
    """
    source = example_folder()
    names = sorted(str(path.relative_to(source)) for path in source.rglob("*.yaml"))
    if folder is not None:
        if folder.exists() and any(folder.iterdir()):
            raise SpecificationError(
                "there are files already", where=str(folder), hint="name a folder that is not there"
            )
        shutil.copytree(source, folder, dirs_exist_ok=True)
    if as_json:
        print_json({"folder": str(folder or source), "files": names})
        return
    for name in names:
        click.echo(str((folder or source) / name))
