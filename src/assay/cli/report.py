"""``assay report``: one self-contained HTML file with tables and charts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.common import json_option, print_json, repository_option
from assay.cli.factor import find_baseline, read_runs
from assay.cli.speedup import read_table
from assay.errors import AssayError, SpecificationError
from assay.report.content import COMPARISONS_MAX, ReportContent, build_content
from assay.report.observed import observed, with_figures
from assay.report.plain import to_plain
from assay.report.render import rendered

if TYPE_CHECKING:
    from assay.analysis.table import RunTable
    from assay.model.price import PriceBook
    from assay.report.matched import MatchedReport
    from assay.repository import Repository


def write_page(path: Path, page: str) -> None:
    """Write ``page`` to ``path`` whole or not at all. Raises AssayError when it can't be written."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        aside.write_text(page, encoding="utf-8")
        aside.replace(path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise AssayError(f"the report can't be written: {error.strerror}", where=str(path)) from error


def _many(table: RunTable, factors: Sequence[str]) -> bool:
    """Tell whether the runs make more comparisons than a page of single ones can show."""
    from assay.analysis.matched import matched_speedups

    if len(factors) > 1:
        return True
    if factors[0] not in table.factors:
        return False
    return sum(found.sets for found in matched_speedups(table, factors[0])) > COMPARISONS_MAX


def _matched(
    opened: Repository, table: RunTable, factors: Sequence[str], baseline: str | None, book: PriceBook | None
) -> MatchedReport:
    """Return the report over matched sets, with costs by layout, network and cluster where there is a price book."""
    from assay.analysis.matched import matched_speedups
    from assay.report.matched import matched_report
    from assay.report.planes import Question
    from assay.report.selection import cost_planes, differences

    named = factors[0] if len(factors) == 1 else list(factors)
    found = matched_speedups(table, named, baseline)
    warnings = differences(opened, table, factors[0], found) if len(factors) == 1 else []
    costs = cost_planes(opened, table, book, Question((), take="all", skip_unpriced=True)) if book else []
    return matched_report(table, named, baseline, warnings=warnings, costs=costs)


@click.command("report")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="HTML file to write.")
@click.option("--by", "factor", default="layout", show_default=True,
              help="Factor that is compared; several with commas over matched sets.")  # fmt: skip
@click.option("--baseline", help="Level that the others are compared with; the one that ran first when left out.")
@click.option("--workload", help="Only this workload.")
@click.option("--prices", type=click.Path(path_type=Path, dir_okay=False), help="Price book (YAML): adds costs.")
@click.option("--matched/--single", default=None,
              help="Put runs that are equal in all else together, or show each configuration by itself; "
              "matched where there are too many to show.")  # fmt: skip
@repository_option
@json_option
def report(
    output: Path | None, factor: str, baseline: str | None, workload: str | None, prices: Path | None,
    matched: bool | None, repository: Path, as_json: bool,
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
    from assay.report.selection import with_factors  # imported here: numpy is slow to load

    opened, table = read_table(repository, [f"workload={workload}"] if workload else [])
    factors = [name.strip() for name in factor.split(",")]
    with_these = with_factors(table, factors)
    matched = True if with_these is not table and matched is None else matched
    table = with_these
    content: MatchedReport | ReportContent
    if matched or (matched is None and _many(table, factors)):
        content = _matched(opened, table, factors, baseline, book)
    else:
        store, stored = read_runs(repository, workload)
        runs = with_figures(store, stored)
        first = find_baseline(runs, factor, baseline)
        content = build_content(runs, factor=factor, baseline=first, trace_of=store.trace,
                                observed_of=partial(observed, store), book=book)  # fmt: skip
    if output is not None:
        write_page(output, rendered(content))
        click.echo(f"wrote {output}", err=as_json)
    if as_json:
        print_json(to_plain(content))
