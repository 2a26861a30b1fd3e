"""``assay gate``: fail a pipeline if a configuration became slower than permitted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import click

from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import (
    all_option,
    json_option,
    print_json,
    print_rows,
    repository_option,
    row_limit,
    where_option,
)
from assay.text.control_characters import printable

if TYPE_CHECKING:
    from assay.questions.trust.gate import GateView


def _share(_context: click.Context, _parameter: click.Parameter, value: str) -> float:
    """Return a share from a text such as ``5%`` or ``0.05``."""
    text = value.strip()
    try:
        share = float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 10:
        raise SpecificationError(f"{value!r} is not a share", where="--max-slowdown", hint="such as 5% or 0.05")
    return share


@click.command(cls=AssayCommand)
@click.option(
    "--baseline",
    required=True,
    metavar="TIME|COLUMN=LEVEL|ID",
    help="The last state that you accept: a time (2026-11-01), a level (the newest run with it counts), or the id of a "
    "campaign or run.",
)
@click.option(
    "--max-slowdown", "slowdown_max", default="5%", show_default=True, callback=_share, help="Permitted slowdown."
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="FACTOR",
    help="Factor that may differ from run to run, such as a version; repeatable.",
)
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), help="Write the verdicts as JUnit XML.")
@click.option("--markdown", type=click.Path(path_type=Path, dir_okay=False), help="Write a summary as Markdown.")
@all_option
@where_option
@json_option
@repository_option
def gate(
    junit: Path | None, markdown: Path | None, all_rows: bool, as_json: bool, repository: Path, **fields: Any
) -> None:
    """Fail (exit code 1) if a configuration is shown to be slower than permitted since a baseline."""
    from assay.foundation.output import check_output, write_output
    from assay.questions.json_values import json_value
    from assay.questions.trust.gate import GateRequest, gate_notes, gate_sentence, gate_table
    from assay.questions.trust.gate import gate as answer
    from assay.store import Repository

    for path in filter(None, (junit, markdown)):
        check_output(path)
    view = answer(Repository.open(repository), GateRequest(**fields))
    if junit is not None:
        write_output(junit, junit_xml(view))
    if markdown is not None:
        write_output(markdown, markdown_summary(view).encode())
    if as_json:
        print_json(json_value(view))
    else:
        click.echo(gate_sentence(view))
        for note in gate_notes(view):
            click.echo(note)
        click.echo()
        table = gate_table(view)
        print_rows(table.headers, table.rows, limit=row_limit(all_rows))
        for note in table.notes:
            click.echo(note)
    if not view.passed:
        sys.exit(1)


def junit_xml(view: GateView) -> bytes:
    """Return the verdicts as JUnit XML: a test case for each configuration, skipped where runs are too few."""
    from assay.questions.trust.gate import gate_sentence, row_name, row_text

    skipped_count = len(view.rows) - view.judged
    counts = {"tests": str(len(view.rows)), "failures": str(len(view.exceeded)), "skipped": str(skipped_count)}
    suite = ET.Element("testsuite", {"name": "assay gate", "errors": "0", **counts})
    exceeded_ids = set(map(id, view.exceeded))
    for row in view.rows:
        case = ET.SubElement(suite, "testcase", classname="assay.gate", name=printable(row_name(row)))
        text = printable(row_text(row))
        if id(row) in exceeded_ids:
            ET.SubElement(case, "failure", message=text).text = gate_sentence(view)
        elif row.ratio is None:
            ET.SubElement(case, "skipped", message=text)
        else:
            ET.SubElement(case, "system-out").text = text
    root = ET.Element("testsuites", {"errors": "0", **counts})
    root.append(suite)
    ET.indent(root)
    content: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return content


def markdown_summary(view: GateView) -> str:
    """Return the answer and the table of verdicts as Markdown."""
    from assay.interfaces.report.output.markdown import escaped
    from assay.questions.trust.gate import gate_notes, gate_sentence, gate_table

    lines = [f"**{escaped(gate_sentence(view))}**", "", *(f"- {escaped(note)}" for note in gate_notes(view)), ""]
    table = gate_table(view)
    lines += [f"| {' | '.join(table.headers)} |", f"|{'---|' * len(table.headers)}"]
    lines += [f"| {' | '.join(map(escaped, row))} |" for row in table.rows]
    return "\n".join([*lines, "", *table.notes, ""])
