"""Execute the notebooks of examples/ with nbmake: they print what their stored outputs show."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from paths import EXAMPLES, ROOT
from simulator_support import needs_simulator

TIMEOUT_S = 500
ALOJA = ("aloja-execs-2014-09-dump.csv", "aloja-clusters.csv")


def printed_by(notebook: Path) -> list[str]:
    """Return the texts that the cells of a notebook printed."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return ["".join(output["text"]) for output in outputs if output["output_type"] == "stream"]


def check(name: str, folder: Path) -> None:
    (folder / "examples" / "notebooks").mkdir(parents=True)
    for path in EXAMPLES.iterdir():
        if path.name != "notebooks":
            (folder / "examples" / path.name).symlink_to(path)
    stored = EXAMPLES / "notebooks" / name
    notebook = folder / "examples" / "notebooks" / name
    notebook.write_bytes(stored.read_bytes())
    command = folder / "assay"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m assay "$@"\n')
    command.chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}
    words = ["-m", "pytest", "-q", "-c", os.devnull, "--noconftest", "-p", "no:cacheprovider", "-p", "no:schemathesis"]
    done = subprocess.run(
        [sys.executable, *words, f"--rootdir={folder}", "--nbmake", "--overwrite", str(notebook)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert printed_by(notebook) == printed_by(stored) != []


@pytest.mark.slow
def test_the_first_repository_prints_its_stored_outputs(tmp_path: Path) -> None:
    check("first-repository.ipynb", tmp_path)


@needs_simulator
@pytest.mark.slow
def test_the_plan_of_a_purchase_prints_its_stored_outputs(tmp_path: Path) -> None:
    check("plan-a-purchase.ipynb", tmp_path)


@pytest.mark.slow
def test_alojas_runs_print_their_stored_outputs(tmp_path: Path) -> None:
    data = os.environ.get("ASSAY_ALOJA_DATA", "")
    if not data or any(not Path(data, name).exists() for name in ALOJA):
        pytest.skip(f"ASSAY_ALOJA_DATA names no folder with {' and '.join(ALOJA)}")
    check("aloja.ipynb", tmp_path)
