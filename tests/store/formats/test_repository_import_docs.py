"""Test that the examples of docs/how-to/import-results.md are read as it says."""

from __future__ import annotations

import re
from pathlib import Path

from assay.model.runs.imported import ImportedRun, SkippedItem
from assay.specs.section import schema_of
from assay.store.formats.benchmarks import dfsioe, hibench_report, testdfsio_import, tpcxhs
from assay.store.formats.tables import published
from assay.store.formats.tables.table import FIELDS, table_format
from import_samples import items
from paths import ROOT

TEXT = (ROOT / "docs" / "how-to" / "import-results.md").read_text()


def block(language: str, holding: str = "") -> str:
    fences: list[tuple[str, str]] = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    return next(text for name, text in fences if name == language and holding in text)


def line_of(item: ImportedRun | SkippedItem) -> str:
    if isinstance(item, SkippedItem):
        return f"rejected: {item.where}: {item.why}\n"
    run = item.run
    values = {k: v for k, v in run.levels.items() if k != "layout"} | run.parameters
    values |= {name: f"{value:g}" for name, value in run.metrics.items()}
    extras = " ".join(f"{name}={value}" for name, value in values.items())
    return f"{item.where}: {run.workload} {run.duration_s:g} s {run.layout} {extras}\n"


def test_the_table_reads_as_the_page_says(tmp_path: Path) -> None:
    mapping = dict(pair.split("=", 1) for pair in re.findall(r"--map (\S+=\S+)", TEXT))
    read = items(table_format(mapping, {}), tmp_path, block("csv"), "runs.csv")
    assert "".join(line_of(item) for item in read) == block("", "runs.csv:2")


def test_typed_results_read_as_the_page_says(tmp_path: Path) -> None:
    read = items(published.FORMAT, tmp_path, block("yaml"), "results.yaml")
    assert "".join(line_of(item) for item in read) == block("", "results.yaml:6")


def test_every_format_field_and_key_is_on_the_page() -> None:
    words = set(re.findall(r"[a-z][a-z_-]*", " ".join([*re.findall(r"`([^`\n]+)`", TEXT), block("yaml")])))
    schema = schema_of(published.ResultsFile)
    keys = {key for model in (schema, *schema["$defs"].values()) for key in model.get("properties", {})}
    forms = {module.FORMAT.name for module in (testdfsio_import, dfsioe, hibench_report, tpcxhs, published)}
    assert (keys | set(FIELDS) | forms | {"table"}) - words == set()
