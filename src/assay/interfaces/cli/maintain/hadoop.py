"""``assay hadoop``: fetch the Hadoop distribution, or say which one is used."""

import click

from assay.execution.engines.hadoop.deployment import distribution
from assay.execution.engines.hadoop.jobs import jobs
from assay.foundation.errors import EngineError
from assay.interfaces.cli.command_classes import AssayGroup
from assay.interfaces.cli.common import json_option, print_json


@click.group(cls=AssayGroup)
def hadoop() -> None:
    """Fetch the Hadoop distribution, or show which one is used."""


@hadoop.command()
def fetch() -> None:
    """Assemble Hadoop from Maven Central, unless one is there or HADOOP_HOME names one, and build assay's own jobs."""

    def progress(line: str) -> None:
        click.echo(line, err=True)

    found = distribution.require(None, progress)
    click.echo(f"Hadoop {found.version} at {found.home}")
    click.echo(f"assay's own jobs at {jobs.require(progress)}")


@hadoop.command()
@json_option
def where(as_json: bool) -> None:
    """Show which Hadoop is used."""
    found = distribution.find()
    if found is None:
        raise EngineError("there is no Hadoop yet", hint="run `assay hadoop fetch`, or set HADOOP_HOME")
    jar = jobs.find()
    if as_json:
        print_json({"home": str(found.home), "version": found.version, "jobs": str(jar) if jar else None})
    else:
        click.echo(f"Hadoop {found.version} at {found.home}")
        click.echo(f"assay's own jobs at {jar}" if jar else "assay's own jobs are not built yet: `assay hadoop fetch`")
