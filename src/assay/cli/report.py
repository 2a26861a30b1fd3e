"""``assay report``: one self-contained HTML file with tables and charts."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import click

from assay.cli.common import json_option, print_json, repository_option
from assay.cli.factor import find_baseline, read_runs
from assay.errors import AssayError, SpecificationError
from assay.report.content import build_content
from assay.report.observed import observed, with_figures
from assay.report.plain import to_plain
from assay.report.render import render_report


def write_page(path: Path, page: str) -> None:
    """Write ``page`` to ``path`` whole or not at all. Raises AssayError when it can't be written."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        aside.write_text(page, encoding="utf-8")
        aside.replace(path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise AssayError(f"the report can't be written: {error.strerror}", where=str(path)) from error


@click.command("report")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="HTML file to write.")
@click.option("--by", "factor", default="layout", show_default=True, help="Factor that is compared.")
@click.option("--baseline", help="Level that the others are compared with; the one that ran first when left out.")
@click.option("--workload", help="Only this workload.")
@click.option("--prices", type=click.Path(path_type=Path, dir_okay=False), help="Price book (YAML): adds costs.")
@repository_option
@json_option
def report(
    output: Path | None, factor: str, baseline: str | None, workload: str | None, prices: Path | None, repository: Path,
    as_json: bool,
) -> None:  # fmt: skip
    """Write one self-contained HTML file with tables and charts.

    With --json, print the data that it shows.
    """
    if output is None and not as_json:
        raise SpecificationError("no file is named for the report", hint="assay report -o report.html")
    if output is not None and not output.absolute().parent.is_dir():
        raise AssayError("the report can't be written: No such file or directory", where=str(output))
    book = None
    if prices is not None:
        from assay.spec import load_prices  # imported here: the specification reader is slow to load

        book = load_prices(prices)
    store, stored = read_runs(repository, workload)
    runs = with_figures(store, stored)
    first = find_baseline(runs, factor, baseline)
    content = build_content(runs, factor=factor, baseline=first, trace_of=store.trace,
                            observed_of=partial(observed, store), book=book)  # fmt: skip
    if output is not None:
        write_page(output, render_report(content))
        click.echo(f"wrote {output}", err=as_json)
    if as_json:
        print_json(to_plain(content))
