"""``assay spark``: fetch Spark, or show the installation in use."""

import click

from assay.execution.engines.spark import distribution
from assay.foundation.errors import EngineError
from assay.interfaces.cli.command_classes import AssayGroup
from assay.interfaces.cli.common import json_option, print_json


@click.group(cls=AssayGroup)
def spark() -> None:
    """Fetch Spark, or show the installation in use."""


@spark.command()
def fetch() -> None:
    """Install Spark with pip, unless it is present or SPARK_HOME is set.

    A plan that needs Spark does the same.
    """
    spark_distribution = distribution.require(lambda line: click.echo(line, err=True))
    click.echo(f"Spark {spark_distribution.version} at {spark_distribution.home}")


@spark.command()
@json_option
def where(as_json: bool) -> None:
    """Show the Spark installation in use."""
    spark_distribution = distribution.find()
    if spark_distribution is None:
        raise EngineError("no Spark found", hint="run `assay spark fetch`, or set SPARK_HOME")
    if as_json:
        print_json({"home": str(spark_distribution.home), "version": spark_distribution.version})
    else:
        click.echo(f"Spark {spark_distribution.version} at {spark_distribution.home}")
