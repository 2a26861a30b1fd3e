"""Run the client of the documentation, which prints what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from assay.interfaces.mcp.questions import question_names
from command import printed
from paths import EXAMPLES, ROOT

PAGE = ROOT / "docs" / "how-to" / "use-from-an-assistant.md"


@pytest.mark.slow
def test_the_client_prints_what_the_page_shows(tmp_path: Path) -> None:
    printed("import", EXAMPLES / "bsc-2015" / "measured" / "runs.csv", "--repository", tmp_path / "results")
    command = tmp_path / "assay"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m assay "$@"\n')
    command.chmod(0o755)
    page = PAGE.read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    program = program.replace('args=["mcp"', 'env=dict(__import__("os").environ), args=["mcp"')
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == shown, done.stderr


def test_the_page_names_every_question() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in question_names() if f"`{name}`" not in page] == []
