"""``assay report``: what the runs say, as a page, a document, or a package that somebody else can check."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.common import json_option, print_json, repository_option
from assay.cli.reading import read_flagged
from assay.errors import SpecificationError
from assay.output import check_output

if TYPE_CHECKING:
    from assay.questions.report_frame import ReportFrame
    from assay.report.document import ReportDocument
    from assay.repository import Repository
    from assay.statistics import RunTable


def _packed(
    path: Path,
    store: Repository,
    table: RunTable,
    made: tuple[ReportDocument, ReportFrame],
    plan: Path | None,
    prices: Path | None,
) -> None:
    from assay.report.handover import campaign_files, package_files, plan_files
    from assay.repository.package import bundles_with, write_package
    from assay.wording import plural

    document, frame = made
    given = None
    if plan is not None:
        from assay.planning.plan_reader import load_plan

        given = load_plan(plan)
    bundles = bundles_with(store, store.ids_at(table, range(len(table))))
    plans = plan_files(store.folders.campaigns, frame.plans, given)
    book = prices.read_bytes() if prices is not None else None
    files = package_files(document, frame, plans, book, len(bundles)) | campaign_files(
        store.folders.campaigns, frame.plans
    )
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
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NAME=VALUE",
    help="Also what the measured runs would take with this set otherwise, simulated, as `assay whatif`; repeatable.",
)
@click.option("--title", help="The report's title instead of the generated one.")
@click.option("--question", help="The question that it answers instead of the generated one.")
@click.option("--author", help="Who answers for it: a person, a team.")
@click.option("--date", type=click.DateTime(["%Y-%m-%d"]), help="The day that it carries instead of today's.")
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
    changes: tuple[str, ...],
    title: str | None,
    question: str | None,
    author: str | None,
    date: datetime | None,
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
    from assay.questions.report import report_of  # imported here: numpy is slow to load
    from assay.questions.report_parts import ReportQuestion
    from assay.report.compose import compose

    opened, _, table = read_flagged(repository, [f"workload={workload}"] if workload else [])
    day = date.date().isoformat() if date else None
    book_name = prices.name if prices else None
    asked = ReportQuestion(factor, baseline or "", workload, book_name, title, question, author, day, changes)
    answer, frame = report_of(opened, table, asked, book, matched=matched)
    document = compose(answer, frame)
    _write(document, output, charts, as_json)
    if bundle is not None:
        _packed(bundle, opened, table, (document, frame), plan, prices)
    if as_json:
        from assay.questions.json_values import json_value

        sentences = {"title": document.title, "answer": answer.answer, "detail": answer.detail}
        print_json({**json_value(frame), **json_value(answer), **sentences})


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


def _write(document: ReportDocument, output: Path | None, charts: Path | None, as_json: bool) -> None:
    from assay.report.writing import write_charts, write_document

    if output is not None:
        write_document(output, document)
        click.echo(f"wrote {output}", err=as_json)
    if charts is not None:
        number = write_charts(charts, document)
        click.echo(f"wrote {number} charts to {charts}", err=as_json)
