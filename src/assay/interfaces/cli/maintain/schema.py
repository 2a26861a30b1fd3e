"""``assay schema``: print the JSON Schema of a specification file, for editors and other programs."""

import click

from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import print_json


@click.command(cls=AssayCommand)
@click.argument("kind", type=click.Choice(["cluster", "plan", "prices", "profile", "catalogue"]))
def schema(kind: str) -> None:
    """Print the JSON Schema of a cluster, plan, prices, profile or catalogue file."""
    from assay.execution.planning.plan_files.schemas import json_schema

    print_json(json_schema(kind))
