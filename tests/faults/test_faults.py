"""Test a selection of the fault table: daemons, disks and links that fail during a job. ``make faults`` runs all."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from campaign_support import require_hadoop
from fault_claims import CLAIMS
from fault_runner import inject_fault
from fault_table import ROWS, Row
from lab_support import require_lab, unique_name
from paths import ROOT

LONG = ("link down 20 s", "ResourceManager killed", "assay-diskd killed")
"""Faults of the short form that `make test-long` injects. In `make test`, a DataNode is killed during a job, and the
disk emulator during a job of the toy engine; both campaigns continue."""


def test_every_row_has_a_unique_name_and_a_time_limit_for_detection() -> None:
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)
    assert {row.bound_s for row in ROWS} == {15.0, None}
    # A fault that ends the call by itself, and one that cannot be noticed during the run, has no bound.
    unbound = {row.fault for row in ROWS if row.bound_s is None}
    assert not [fault for fault in unbound if "diskd" in fault or "Manager" in fault or "Node " in fault]


@pytest.mark.slow
def test_the_table_is_printed_with_what_was_run_before_and_says_what_was_not(tmp_path: Path) -> None:
    results_file = tmp_path / "kept.jsonl"
    results_file.write_text(json.dumps([ROWS[0].name, "| as it was |"]) + "\n")
    command = [sys.executable, str(ROOT / "tools" / "faults.py"), "--kept", str(results_file), "--minutes", "0"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert printed[2] == "| as it was |"
    ends = printed.index("")
    assert ends == 2 + len(ROWS)
    assert all("not run" in line for line in printed[3:ends])
    assert len(printed[ends + 1 :]) == 2 + len(CLAIMS)
    assert all(line.endswith("| not run |") for line in printed[ends + 3 :])


@pytest.mark.lab
@pytest.mark.hadoop
@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=row.name, marks=[pytest.mark.long] if row.fault in LONG else [])
        for row in ROWS
        if row.short
    ],
)
def test_a_fault_is_noticed_named_and_survived(row: Row, tmp_path: Path) -> None:
    require_lab()
    require_hadoop()
    result = inject_fault(row, tmp_path, unique_name("fault"))
    print(f"{row.name}: {result.attempts}; {result.cause}; noticed after {result.noticed_s} s; {result.took_s:.0f} s")
    assert result.wrong == []
