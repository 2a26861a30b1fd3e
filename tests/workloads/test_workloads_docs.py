"""Test that the table of docs/reference/workloads.md matches the workloads' declarations."""

from __future__ import annotations

import re

import pytest

from assay.model.plans.program import JOBS_PACKAGE, SPARK_JOBS_PACKAGE
from assay.workloads.catalogue import workloads
from assay.workloads.workload import Size
from paths import ROOT

ASSAY_PACKAGES = (JOBS_PACKAGE, SPARK_JOBS_PACKAGE)
TEXT = (ROOT / "docs" / "reference" / "workloads.md").read_text()
TABLE = TEXT[TEXT.index("| workload | program |") : TEXT.index("**On Spark**")]
ROWS = {
    cells[0].strip("`"): cells
    for line in TABLE.splitlines()[2:]
    if (cells := [cell.strip() for cell in line.strip("|").split("|")])[0]
}


def test_workloads_that_run_on_spark_are_named() -> None:
    [named] = re.findall(r"^\*\*On Spark\*\*, too: ([^.]*)\.", TEXT, re.MULTILINE)
    assert re.findall(r"`([\w-]+)`", named) == [
        name for name, workload in workloads().items() if "spark" in workload.engines
    ]


def test_the_table_has_every_workload() -> None:
    assert set(ROWS) == set(workloads())


@pytest.mark.parametrize("name", list(workloads()))
def test_a_row_has_the_options_program_and_input_that_are_declared(name: str) -> None:
    _, program, needed, options, *_ = ROWS[name]
    workload, size = workloads()[name], Size(10**9, 3)
    assert re.findall(r"`(\w+)`", options) == [option.name for option in workload.options]
    timed = workload.programs(size, "/in")[workload.engines[0]].main_class
    assert program.startswith(f"{timed.rsplit('.', 1)[-1]}, {'own' if timed.startswith(ASSAY_PACKAGES) else 'stock'}")
    assert ("on Spark alone" in program) == (workload.engines == ("spark",))
    assert (needed == "–" or needed.startswith("none")) == (workload.input(size) is None)
