"""``assay report``: what the runs say, as a page, a document, or a package that somebody else can check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.common import json_option, print_json, repository_option
from assay.cli.factor import find_baseline, read_runs
from assay.cli.speedup import read_table
from assay.errors import SpecificationError
from assay.output import check_output

if TYPE_CHECKING:
    from assay.model.price import PriceBook
    from assay.model.run import Run
    from assay.report.content import ReportContent
    from assay.report.document import Document
    from assay.report.frame import Asked, Frame
    from assay.report.matched import MatchedReport
    from assay.repository import Repository
    from assay.statistics.run_table import RunTable


@dataclass(frozen=True, slots=True)
class _Made:
    """A report, in all its forms."""

    content: MatchedReport | ReportContent
    frame: Frame
    document: Document


def _many(table: RunTable, factors: Sequence[str]) -> bool:
    """Tell whether the runs make more comparisons than a page of single ones can show."""
    from assay.compare.speedups import matched_speedups
    from assay.report.content import COMPARISONS_MAX

    if len(factors) > 1:
        return True
    if factors[0] not in table.factors:
        return False
    return sum(found.sets for found in matched_speedups(table, factors[0])) > COMPARISONS_MAX


def _matched(
    opened: Repository, table: RunTable, factors: Sequence[str], asked: Asked, book: PriceBook | None
) -> _Made:
    """Return the report over matched sets, with costs by layout, network and cluster where there is a price book."""
    from assay.compare.speedups import matched_speedups
    from assay.questions.observed import examples_of
    from assay.questions.planes import Question, cost_planes
    from assay.questions.speedup import differences
    from assay.report.compose_matched import matched_document
    from assay.report.matched import matched_report

    baseline = asked.baseline or None
    named = factors[0] if len(factors) == 1 else list(factors)
    found = matched_speedups(table, named, baseline)
    warnings = differences(opened, table, factors[0], found) if len(factors) == 1 else []
    costs = cost_planes(opened, table, book, Question((), take="all", skip_unpriced=True)) if book else []
    content = matched_report(table, named, baseline, warnings=warnings, costs=costs)
    frame = _frame(opened, table, examples_of(opened, table), replace(asked, baseline=content.baseline), content.levels)
    return _Made(content, frame, _titled(matched_document(content, frame), asked))


def _single(root: Path, table: RunTable, asked: Asked, book: PriceBook | None) -> _Made:
    """Return the report that shows each configuration by itself."""
    from assay.questions.observed import observed, with_figures
    from assay.report.compose_single import single_document
    from assay.report.content import build_content

    store, stored = read_runs(root, asked.workload)
    runs = with_figures(store, stored)
    first = find_baseline(runs, asked.factor, asked.baseline or None)
    content = build_content(
        runs, factor=asked.factor, baseline=first, trace_of=store.trace, observed_of=partial(observed, store), book=book
    )
    frame = _frame(store, table, runs, replace(asked, baseline=first), content.levels)
    return _Made(content, frame, _titled(single_document(content, frame), asked))


def _frame(store: Repository, table: RunTable, examples: Sequence[Run], asked: Asked, levels: Sequence[str]) -> Frame:
    from assay import __version__
    from assay.campaign.plan_texts import plan_texts
    from assay.report.frame import frame_of
    from assay.repository.package import imports_of

    return frame_of(
        table,
        examples,
        asked,
        levels=levels,
        plans=plan_texts(store.folders.campaigns),
        imports=imports_of(store),
        assay_version=__version__,
    )


def _titled(document: Document, asked: Asked) -> Document:
    return replace(document, title=asked.title) if asked.title else document


def _packed(
    path: Path, store: Repository, table: RunTable, made: _Made, plan: Path | None, prices: Path | None
) -> None:
    from assay.report.handover import campaign_files, package_files, plan_files
    from assay.repository.package import bundles_with, write_package
    from assay.wording.language import plural

    given = None
    if plan is not None:
        from assay.planning.plan_reader import load_plan

        given = load_plan(plan)
    bundles = bundles_with(store, store.ids_at(table, range(len(table))))
    plans = plan_files(store.folders.campaigns, made.frame.plans, given)
    book = prices.read_bytes() if prices is not None else None
    files = package_files(made.document, made.frame, plans, book, len(bundles))
    files |= campaign_files(store.folders.campaigns, made.frame.plans)
    size = write_package(path, store, bundles, files)
    click.echo(
        f"wrote {path}: {plural(len(table), 'run')} in {plural(len(bundles), 'bundle')}, {size / 1e6:.1f} MB", err=True
    )


@click.command("report")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write; its ending says what: .html, .md (with its charts beside it) or .pdf.",
)
@click.option(
    "--charts", type=click.Path(path_type=Path, file_okay=False), help="Folder for every chart as SVG and PNG."
)
@click.option(
    "--bundle",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File (.tar.gz) for the report with its plans, prices and runs, for others to check.",
)
@click.option(
    "--by",
    "factor",
    default="layout",
    show_default=True,
    help="Factor that is compared; several with commas over matched sets.",
)
@click.option("--baseline", help="Level to compare with; left out: that on hard disks, or the one that ran first.")
@click.option("--workload", help="Only this workload.")
@click.option("--prices", type=click.Path(path_type=Path, dir_okay=False), help="Price book (YAML): adds costs.")
@click.option("--title", help="The report's title instead of the generated one.")
@click.option("--question", help="The question that it answers instead of the generated one.")
@click.option(
    "--plan",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With --bundle: the plan's file, for a cluster file that its campaign did not keep.",
)
@click.option(
    "--matched/--single",
    default=None,
    help="Put runs that are equal in all else together, or show each configuration by itself; "
    "matched where there are too many to show.",
)
@repository_option
@json_option
def report(
    output: Path | None,
    charts: Path | None,
    bundle: Path | None,
    factor: str,
    baseline: str | None,
    workload: str | None,
    prices: Path | None,
    title: str | None,
    question: str | None,
    plan: Path | None,
    matched: bool | None,
    repository: Path,
    as_json: bool,
) -> None:
    """Write a report: question, method, results with charts, cost, findings, threats to validity, how to repeat it.

    With --json, print the data that it shows.
    """
    _check_targets(output, charts, bundle, as_json)
    book = None
    if prices is not None:
        from assay.spec import load_prices  # imported here: the specification reader is slow to load

        book = load_prices(prices)
    from assay.compare.compression import with_factors
    from assay.report.frame import Asked  # imported here: numpy is slow to load

    opened, table = read_table(repository, [f"workload={workload}"] if workload else [])
    factors = [name.strip() for name in factor.split(",")]
    with_these = with_factors(table, factors)
    matched = True if with_these is not table and matched is None else matched
    table = with_these
    asked = Asked(factor, baseline or "", workload, prices.name if prices else None, title, question)
    if matched or (matched is None and _many(table, factors)):
        made = _matched(opened, table, factors, asked, book)
    else:
        made = _single(repository, table, asked, book)
    _write(made, output, charts, as_json)
    if bundle is not None:
        _packed(bundle, opened, table, made, plan, prices)
    if as_json:
        from assay.questions.plain import to_plain

        print_json({**to_plain(made.frame), **to_plain(made.content), "title": made.document.title})


def _check_targets(output: Path | None, charts: Path | None, bundle: Path | None, as_json: bool) -> None:
    """Refuse what could not be written before anything is computed."""
    from assay.report.writing import form_of  # imported here to keep start-up short

    if output is None and charts is None and bundle is None and not as_json:
        raise SpecificationError("no file is named for the report", hint="assay report -o report.html")
    if output is not None:
        form_of(output)
    if bundle is not None and not bundle.name.endswith((".tar.gz", ".tgz")):
        raise SpecificationError(
            "a package is a .tar.gz", where=str(bundle), hint="assay report --bundle report.tar.gz"
        )
    for path in (output, bundle):
        if path is not None:
            check_output(path)


def _write(made: _Made, output: Path | None, charts: Path | None, as_json: bool) -> None:
    from assay.report.writing import write_charts, write_document

    if output is not None:
        write_document(output, made.document)
        click.echo(f"wrote {output}", err=as_json)
    if charts is not None:
        number = write_charts(charts, made.document)
        click.echo(f"wrote {number} charts to {charts}", err=as_json)
