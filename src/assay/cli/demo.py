"""``assay demo``: the main job at a small scale. HDD against SSD on the lab; on a machine that can't emulate a cluster,
two configurations of a real Hadoop on this host, with the reason said aloud."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.common import repository_option
from assay.errors import AssayError
from assay.output import check_output

_EXAMPLES = Path(__file__).parents[3] / "examples"


@click.command()
@repository_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default="report.html",
    show_default=True,
    help="Where the report goes.",
)
@click.option("--local", is_flag=True, help="Do not try to make a lab.")
@click.pass_context
def demo(context: click.Context, repository: Path, output: Path, local: bool) -> None:
    """Measure HDD against SSD with real Hadoop on an emulated cluster, and write a report."""
    from assay.cli.compare import compare
    from assay.cli.report import report
    from assay.cli.run import run_plan
    from assay.cli.tco import tco
    from assay.lab.probe import probe

    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AssayError(f"its folder can't be made: {error.strerror}", where=str(output)) from error
    check_output(output)
    missing = [] if local else [f"{item.name}: {item.detail}" for item in probe().missing]
    if local or missing:
        for line in missing:
            click.echo(f"no emulated cluster here: {line}", err=True)
        click.echo(
            "Without it, storage devices can't be compared. Instead, this host's own Hadoop is measured with "
            "fewer and with more containers.",
            err=True,
        )
        plan, factor, baseline, prices = _EXAMPLES / "local" / "containers.yaml", _CONTAINERS, None, None
    else:
        plan, factor, baseline = _EXAMPLES / "lab" / "hdd-vs-ssd.yaml", "layout", "HD2"
        prices = _EXAMPLES / "lab" / "prices.yaml"
    run_plan(plan, repository, again=True, baseline=True)
    click.echo()
    context.invoke(compare, factor=factor, baseline=baseline, repository=repository)
    if prices:
        click.echo()
        context.invoke(tco, prices=prices, baseline=baseline, repository=repository)
    context.invoke(report, output=output, factor=factor, baseline=baseline, prices=prices, repository=repository)
    click.echo(f"\nrepository: {repository}\nreport:     {output}")


_CONTAINERS = "yarn.nodemanager.resource.memory-mb"
