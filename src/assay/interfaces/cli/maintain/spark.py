"""``assay spark``: fetch Spark, or say which one is used."""

import click

from assay.execution.engines.spark import distribution
from assay.foundation.errors import EngineError
from assay.interfaces.cli.command_classes import AssayGroup
from assay.interfaces.cli.common import json_option, print_json


@click.group(cls=AssayGroup)
def spark() -> None:
    """Fetch Spark, or show which one is used."""


@spark.command()
def fetch() -> None:
    """Bring Spark by pip, unless one is there or SPARK_HOME names one. A plan that needs it does the same."""
    found = distribution.require(lambda line: click.echo(line, err=True))
    click.echo(f"Spark {found.version} at {found.home}")


@spark.command()
@json_option
def where(as_json: bool) -> None:
    """Show which Spark is used."""
    found = distribution.find()
    if found is None:
        raise EngineError("there is no Spark yet", hint="run `assay spark fetch`, or set SPARK_HOME")
    if as_json:
        print_json({"home": str(found.home), "version": found.version})
    else:
        click.echo(f"Spark {found.version} at {found.home}")
