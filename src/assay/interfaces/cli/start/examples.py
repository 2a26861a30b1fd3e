"""``assay examples``: list the example clusters, plans and price books, or copy them to a folder."""

import shutil
from pathlib import Path

import click

from assay.foundation.errors import AssayError, SpecificationError
from assay.foundation.installation import installation
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import json_option, print_json


def example_folder() -> Path:
    """Return the folder of the examples. Raises AssayError if this installation has none."""
    folder = installation().examples
    if folder is None:
        raise AssayError("this installation has no examples", hint="install assay from its wheel")
    return folder


@click.command(cls=AssayCommand)
@click.argument("folder", required=False, type=click.Path(path_type=Path, file_okay=False))
@json_option
def examples(folder: Path | None, as_json: bool) -> None:
    """List the example clusters, plans and price books; with FOLDER, copy them there.

    `assay examples examples` creates the files that the documentation uses.
    """
    source = example_folder()
    names = sorted(str(path.relative_to(source)) for path in source.rglob("*.yaml"))
    if folder is not None:
        if folder.exists() and any(folder.iterdir()):
            raise SpecificationError("the folder is not empty", where=str(folder), hint="choose a new folder")
        shutil.copytree(source, folder, dirs_exist_ok=True)
    if as_json:
        print_json({"folder": str(folder or source), "files": names})
        return
    for name in names:
        click.echo(str((folder or source) / name))
