"""``assay demo``: decide between HDD and SSD on a small lab cluster.

On a machine that can't emulate a cluster, it states the reason and compares two configurations of Hadoop on this host.
"""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from assay.foundation.errors import AssayError, HostError
from assay.foundation.output import check_output
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import repository_option


@click.command(cls=AssayCommand)
@repository_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default="report.html",
    show_default=True,
    help="Report file to write.",
)
@click.option(
    "--local", is_flag=True, help="Compare two configurations of Hadoop on this machine instead. Needs no root."
)
@click.pass_context
def demo(context: click.Context, repository: Path, output: Path, local: bool) -> None:
    """Measure hard disks against SSDs with real Hadoop on an emulated cluster, and write a report."""
    from assay.estimation.simulator.campaign import campaign_request
    from assay.execution.engines.hadoop.deployment.distribution import require
    from assay.execution.lab.probe import probe
    from assay.execution.planning.plan_files.plan_reader import load_plan
    from assay.interfaces.cli.decide.decide import decide
    from assay.interfaces.cli.decide.report import report
    from assay.interfaces.cli.measure.run import run_campaign_request
    from assay.interfaces.cli.start.examples import example_folder
    from assay.model import NODE_MEMORY
    from assay.questions.commands import command, repository_options
    from assay.questions.decisions.provisional import FirstRuns

    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AssayError(f"its folder can't be made: {error.strerror}", where=str(output)) from error
    check_output(output)
    examples = example_folder()
    missing_tools = [] if local else [f"{item.name}: {item.detail}" for item in probe().missing]
    _require_programs(("java",) if local or missing_tools else tuple(_PROGRAMS))
    require(None, lambda line: click.echo(line, err=True))  # here, so that an error comes before the long baseline
    if local or missing_tools:
        for line in missing_tools:
            click.echo(f"no emulated cluster here: {line}", err=True)
        click.echo(
            "Without it, storage devices can't be compared. Instead, this host's own Hadoop is measured with "
            "fewer and with more containers.",
            err=True,
        )
        plan, factor, baseline, prices = examples / "local" / "containers.yaml", NODE_MEMORY, None, None
    else:
        plan, factor, baseline = examples / "lab" / "hdd-vs-ssd.yaml", "layout", "HD2"
        prices = examples / "lab" / "prices.yaml"
        # The answer suggests a command with this path.
        prices = prices.relative_to(Path.cwd()) if prices.is_relative_to(Path.cwd()) else prices
    request = replace(campaign_request(load_plan(plan)), again=True)
    run_campaign_request(request, repository, first_runs=FirstRuns(factor, baseline))
    click.echo()
    context.invoke(decide, question=factor, baseline=baseline, prices=prices, repository=repository)
    context.invoke(report, output=output, factor=factor, baseline=baseline, prices=prices, repository=repository)
    click.echo(f"\nrepository: {repository}\nreport:     {output}")
    details = command("decide", factor, "--details", "groups", options=repository_options(repository))
    click.echo(f"details:    {details}")


def _require_programs(programs: Sequence[str]) -> None:
    """Raise HostError with the packages to install if this machine lacks one of the programs."""
    missing_programs = [program for program in programs if shutil.which(program) is None]
    if missing_programs:
        packages = " ".join(_PROGRAMS[program] for program in missing_programs)
        raise HostError(f"not installed: {', '.join(missing_programs)}", hint=f"as root: apt-get install {packages}")


# Debian package of each program. A probe checks the other requirements of the lab.
_PROGRAMS = {"java": "openjdk-17-jre-headless", "fio": "fio", "iperf3": "iperf3"}
