"""``assay report``: write the decisions and their details as HTML, PDF or Markdown, or as a package with the runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.foundation.errors import SpecificationError
from assay.foundation.output import check_output
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import json_option, print_json, repository_option, request_of, where_option
from assay.interfaces.cli.repository_runs import read_flagged

if TYPE_CHECKING:
    from assay.analysis.statistics import RunTable
    from assay.interfaces.report.output.document import ReportDocument
    from assay.questions.report.values import Report
    from assay.store import Repository


@click.command("report", cls=AssayCommand)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write; its ending chooses the format: .html, .md (with its charts in a folder) or .pdf.",
)
@click.option(
    "--charts", type=click.Path(path_type=Path, file_okay=False), help="Folder for every chart as SVG and PNG."
)
@click.option(
    "--bundle",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File (.tar.gz) for the report with its full tables, plans, prices and runs, for others to check.",
)
@click.option(
    "--by",
    "factor",
    default="layout",
    show_default=True,
    help="Factor to compare; several, joined by commas, are compared as one.",
)
@click.option("--baseline", help="Option to compare with. Default: as in `assay decide`.")
@click.option("--workload", help="Only this workload.")
@click.option("--prices", type=click.Path(path_type=Path, dir_okay=False), help="Price book (YAML): adds costs.")
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NAME=VALUE",
    help="Also simulate the measured runs with this change, as `assay whatif` does; repeatable.",
)
@click.option("--title", help="The report's title instead of the generated one.")
@click.option("--question", help="The question instead of the generated one.")
@click.option("--author", help="Author: a person or a team.")
@click.option("--date", type=click.DateTime(["%Y-%m-%d"]), help="Date of the report. Default: today.")
@click.option(
    "--plan",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With --bundle: the plan, for a campaign that did not keep its cluster file.",
)
@click.option(
    "--matched/--single",
    default=None,
    help="Details of matched groups only, or of each configuration only. Default: both, where available.",
)
@where_option
@repository_option
@json_option
def report(
    prices: Path | None, plan: Path | None, where: tuple[str, ...], repository: Path, as_json: bool, **options: Any
) -> None:
    """Write a report: the decision on page one, then its details, findings, threats to validity, and how to repeat it.

    --json prints the data of the report.
    """
    targets = request_of(_ReportTargets, options)
    targets.check(as_json)
    book = None
    if prices is not None:
        from assay.specs import load_prices

        book = load_prices(prices)
    from assay.interfaces.report.compose import compose
    from assay.questions.report.build import report_of
    from assay.questions.report.request import DetailLevel, ReportRequest

    details = {None: None, True: DetailLevel.GROUPS, False: DetailLevel.CONFIGURATIONS}[options["matched"]]
    request = request_of(
        ReportRequest,
        options,
        prices=prices.name if prices else None,
        date=options["date"].date().isoformat() if options["date"] else None,
        details=details,
        conditions=where,
    )
    opened_repository, _, table = read_flagged(repository, request.where)
    answer = report_of(opened_repository, table, request, book)
    document = compose(answer)
    targets.write(document, as_json)
    if targets.bundle is not None:
        files = _input_files(opened_repository, answer, plan, prices)
        _write_package(targets.bundle, opened_repository, table, document, answer, files)
    if as_json:
        from assay.questions.decisions.sentences.decision_sentences import answer_of
        from assay.questions.json_values import json_value

        decisions = [answer_of(decision) for decision in answer.decisions]
        sentences = {"title": document.title, "question": document.question}
        print_json({**sentences, **json_value(answer), "decisions": json_value(decisions)})


@dataclass(frozen=True, slots=True)
class _ReportTargets:
    """The files to write."""

    output: Path | None
    charts: Path | None
    bundle: Path | None

    def check(self, as_json: bool) -> None:
        """Raise SpecificationError for files that can't be written, before the report is computed."""
        from assay.interfaces.report.output.writing import form_of

        if self.output is None and self.charts is None and self.bundle is None and not as_json:
            raise SpecificationError("no output file for the report", hint="assay report -o report.html")
        if self.output is not None:
            form_of(self.output)
        if self.bundle is not None and not self.bundle.name.endswith((".tar.gz", ".tgz")):
            raise SpecificationError(
                "the name of a package must end in .tar.gz",
                where=str(self.bundle),
                hint="assay report --bundle report.tar.gz",
            )
        for path in (self.output, self.bundle):
            if path is not None:
                check_output(path)

    def write(self, document: ReportDocument, as_json: bool) -> None:
        """Write the report and its charts."""
        from assay.interfaces.report.output.writing import write_charts, write_document

        if self.output is not None:
            write_document(self.output, document)
            click.echo(f"wrote {self.output}", err=as_json)
        if self.charts is not None:
            number = write_charts(self.charts, document)
            click.echo(f"wrote {number} charts to {self.charts}", err=as_json)


def _input_files(repository: Repository, report: Report, plan: Path | None, prices: Path | None) -> dict[str, bytes]:
    """Return the plans of the report with their campaign files, and the price book, by name in the package."""
    from assay.interfaces.report.package import PRICES, campaign_files, plan_files

    plan_of_option = None
    if plan is not None:
        from assay.execution.planning.plan_files.plan_reader import load_plan

        plan_of_option = load_plan(plan)
    campaigns, plans = repository.folders.campaigns, report.provenance.plans
    book = {} if prices is None else {PRICES: prices.read_bytes()}
    return plan_files(campaigns, plans, plan_of_option) | book | campaign_files(campaigns, plans)


def _write_package(
    path: Path,
    repository: Repository,
    table: RunTable,
    document: ReportDocument,
    report: Report,
    input_files: Mapping[str, bytes],
) -> None:
    from assay.interfaces.report.package import package_files
    from assay.store.exchange.package import bundles_with, write_package
    from assay.text import plural

    bundles = bundles_with(repository, repository.ids_at(table, range(len(table))))
    size = write_package(path, repository, bundles, package_files(document, report, input_files, len(bundles)))
    click.echo(
        f"wrote {path}: {plural(len(table), 'run')} in {plural(len(bundles), 'bundle')}, {size / 1e6:.1f} MB", err=True
    )
