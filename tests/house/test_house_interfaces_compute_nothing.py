"""Test that interfaces compute nothing: from below questions they import types and these functions.

Classes and constants are free, because answers consist of them.
"""

from __future__ import annotations

import ast

import pytest

from paths import ROOT

PACKAGE = ROOT / "src" / "assay"
RENDERERS = ("interfaces/web", "interfaces/report", "interfaces/charts")
BELOW_QUESTIONS = ("assay.estimation.", "assay.execution.", "assay.store.", "assay.analysis.")
ALLOWED = {
    "assay.analysis.comparison.verdict_text.": "text of verdicts",
    "assay.analysis.run_profile.tables.": "tables and series of one run, the same on every surface",
    "assay.analysis.run_profile.run_detail.request_limits_note": "text",
    "assay.analysis.run_profile.limits.run_limits.limit_spans": "places what is known of one run on a chart's axis",
    "assay.analysis.run_profile.phases.": "order and attempts' phases, as a chart draws them",
    "assay.analysis.run_profile.series.": "cuts the series of one run to the requested windows",
    "assay.analysis.run_profile.tasks.timeline": "places the tasks of one run in lanes",
    "assay.analysis.comparison.factors.device_classes.": "the device class of a layout, for colours and options",
    "assay.analysis.statistics.counts_by": "which workloads have most runs, to prepare their answers first",
    "assay.execution.campaign.preview.preview": "the preview of a plan that is not started",
    "assay.execution.planning.": "plans are read and written as by the command",
    "assay.store.campaigns.plan_texts.": "texts as stored",
    "assay.store.exchange.": "runs and bundles leave and arrive as they are stored",
}
ALLOWED_IN_COMMANDS = {
    "assay.analysis.comparison.verdict_text.": "text of verdicts",
    "assay.analysis.run_profile.tables.": "tables of one run, the same on every surface",
    "assay.estimation.simulator.campaign.campaign_request": "simulated runs start here, as campaigns do",
    "assay.estimation.tuning.planned_tuning.execute_tuning": "tuning runs start here, as campaigns do",
    "assay.execution.": "commands start runs, check hosts and build labs, and show the progress",
    "assay.store.bundles.signatures.": "bundles are signed and signatures checked",
    "assay.store.check_reports.store_check": "a check of hosts is stored for the web app",
    "assay.store.exchange.": "runs and bundles leave and arrive as they are stored",
    "assay.store.formats.": "the user's files are recognised and read",
    "assay.store.index.": "names of bundles, and rows of a Parquet file to import",
    "assay.store.short_length": "length of shown run ids",
}
"""Commands also do work that no question answers. They call the code that does it, and compute no figure."""


def functions_from_below(source: str) -> list[str]:
    """Return the functions that a module imports from packages below questions, with their modules."""
    return [
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module and f"{node.module}.".startswith(BELOW_QUESTIONS)
        for alias in node.names
        if alias.name[0].islower()
    ]


def imported_functions(folders: tuple[str, ...]) -> dict[str, str]:
    """Return the functions from below questions that the modules of some folders import, by module and name."""
    return {
        f"{path.relative_to(PACKAGE)}: {name}": name
        for folder in folders
        for path in sorted((PACKAGE / folder).rglob("*.py"))
        for name in functions_from_below(path.read_text(encoding="utf-8"))
    }


@pytest.mark.parametrize(
    ("folders", "allowed"),
    [(RENDERERS, ALLOWED), (("interfaces/cli",), ALLOWED_IN_COMMANDS)],
    ids=["pages, reports and charts", "commands"],
)
def test_interfaces_call_nothing_below_questions_but_what_is_listed(
    folders: tuple[str, ...], allowed: dict[str, str]
) -> None:
    imported = imported_functions(folders)
    refused = [where for where, name in imported.items() if not name.startswith(tuple(allowed))]
    assert not refused, f"questions compute, and these render: {refused}"
    unused = [name for name in allowed if not any(known.startswith(name) for known in imported.values())]
    assert not unused, f"nothing to allow there: {unused}"


def test_a_computing_function_is_reported_and_a_type_is_not() -> None:
    source = "from assay.analysis.cost.repricing import repriced\nfrom assay.analysis.statistics import RunTable\n"
    assert functions_from_below(source) == ["assay.analysis.cost.repricing.repriced"]
    assert not "assay.analysis.cost.repricing.repriced".startswith((*ALLOWED, *ALLOWED_IN_COMMANDS))
