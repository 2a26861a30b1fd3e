"""``assay hadoop``: fetch the Hadoop distribution, or show the installation in use."""

import click

from assay.execution.engines.hadoop.deployment import distribution
from assay.execution.engines.hadoop.jobs import jobs
from assay.foundation.errors import EngineError
from assay.interfaces.cli.command_classes import AssayGroup
from assay.interfaces.cli.common import json_option, print_json


@click.group(cls=AssayGroup)
def hadoop() -> None:
    """Fetch Hadoop, or show the installation in use."""


@hadoop.command()
def fetch() -> None:
    """Download Hadoop from Maven Central, unless it is present or HADOOP_HOME is set, and build assay's jobs."""

    def progress(line: str) -> None:
        click.echo(line, err=True)

    hadoop_distribution = distribution.require(None, progress)
    click.echo(f"Hadoop {hadoop_distribution.version} at {hadoop_distribution.home}")
    click.echo(f"assay's jobs at {jobs.require(progress)}")


@hadoop.command()
@json_option
def where(as_json: bool) -> None:
    """Show the Hadoop installation in use."""
    hadoop_distribution = distribution.find()
    if hadoop_distribution is None:
        raise EngineError("no Hadoop found", hint="run `assay hadoop fetch`, or set HADOOP_HOME")
    jar = jobs.find()
    if as_json:
        print_json(
            {
                "home": str(hadoop_distribution.home),
                "version": hadoop_distribution.version,
                "jobs": str(jar) if jar else None,
            }
        )
    else:
        click.echo(f"Hadoop {hadoop_distribution.version} at {hadoop_distribution.home}")
        click.echo(f"assay's jobs at {jar}" if jar else "assay's jobs are not built yet: run `assay hadoop fetch`")
