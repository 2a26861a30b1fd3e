"""``assay publish``: write a static site from the repository."""

from functools import partial
from pathlib import Path

import click

from assay.foundation.units import format_bytes
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import json_option, print_json, repository_option, where_option
from assay.interfaces.cli.repository_runs import read_flagged
from assay.interfaces.cli.terminal import stage_progress
from assay.text import plural


@click.command(cls=AssayCommand)
@click.argument("site", type=click.Path(path_type=Path, file_okay=False))
@click.option("--prices", type=click.Path(path_type=Path, dir_okay=False), help="Price book (YAML): adds costs.")
@click.option("--title", help="Title of the site. Default: the name of the repository's folder.")
@click.option(
    "--keep-private", is_flag=True, help="Also publish host names, user names, paths and texts that may contain them."
)
@where_option
@json_option
@repository_option
def publish(
    site: Path,
    prices: Path | None,
    title: str | None,
    keep_private: bool,
    where: tuple[str, ...],
    as_json: bool,
    repository: Path,
) -> None:
    """Write a static site to SITE: decisions, a list of runs with filters, and downloads. It needs no server.

    Publishing again writes only what changed. Private fields (host names, user names, paths) are removed and listed.
    """
    from assay.interfaces.publish.publish import PublishRequest, publish_site
    from assay.questions.json_values import json_value
    from assay.specs import load_prices

    opened_repository, _, table = read_flagged(repository, where)
    book = load_prices(prices) if prices is not None else None
    name = title or repository.resolve().name
    request = PublishRequest(site, name, book, where, keep_private)
    with stage_progress() as progress:
        summary, public = publish_site(opened_repository, table, request, partial(progress, "files"))
    if as_json:
        print_json({**json_value(summary), "removed_fields": json_value(public.removed)})
        return
    if public.removed:
        click.echo("Removed private fields:")
        for field in public.removed:
            click.echo(f"  {field.name} ({plural(field.runs, 'run')}): {field.why}")
    click.echo(
        f"{site / 'index.html'}: {plural(len(table), 'run')}, {plural(summary.written, 'file')} written, "
        f"{summary.unchanged:,} unchanged, {summary.deleted:,} deleted, {format_bytes(summary.size_bytes)} in total"
    )
