"""Run ``assay`` as a process, or faster in this process."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

from assay.interfaces.cli.main import main

COLUMNS = "200"
"""Wide enough for every table."""


def started(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the program as a process."""
    command = [sys.executable, "-m", "assay", *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"COLUMNS": COLUMNS}, timeout=60, check=False
    )


def called(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Call the entry point with these arguments; what would be a traceback is raised here."""
    argv = ["assay", *map(str, words)]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code: object = 0
    with (
        mock.patch.object(sys, "argv", argv),
        mock.patch.dict(os.environ, {"COLUMNS": COLUMNS}),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]
    return subprocess.CompletedProcess(argv, code if isinstance(code, int) else 0, *texts)


def called_json(*words: str | Path) -> Any:
    """Return what the program prints with ``--json``; it must end well."""
    done = called(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
