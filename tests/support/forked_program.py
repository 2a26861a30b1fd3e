"""Run ``assay`` in processes that are forked from one that has imported it.

The imports of a command take longer than a short command. Run as a separate process, this module reads a call as a line
of JSON (arguments, environment variables, files of the two outputs), forks a process for it, and prints its exit code.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from paths import ROOT, SUPPORT

CALL_MAX_S = 600
"""Maximum time of a call, in seconds."""


class ForkedProgram:
    """The process that imports assay, to be used as a context: it ends with the block. Calls follow one another."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._outputs = folder / "stdout", folder / "stderr"
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__))],
            env={**environment, "PYTHONPATH": f"{ROOT / 'src'}:{SUPPORT}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=CALL_MAX_S)

    def run(self, *arguments: str | Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Run ``assay`` with the arguments and with further environment variables."""
        assert self._process.stdin
        assert self._process.stdout
        words = [*map(str, arguments)]
        call = {"arguments": words, "environment": {**environment}, "outputs": [*map(str, self._outputs)]}
        print(json.dumps(call), file=self._process.stdin, flush=True)
        code = int(self._process.stdout.readline())
        return subprocess.CompletedProcess(words, code, *(path.read_text(encoding="utf-8") for path in self._outputs))


def _import_commands() -> None:
    import click
    import scipy.special  # noqa: F401 - commands import it when they need it

    from assay.interfaces.cli.main import assay

    context = click.Context(assay)
    for name in ("run", "runs", "verify"):
        assert assay.get_command(context, name)


def _answer_calls() -> None:
    from assay.interfaces.cli.main import main

    for line in sys.stdin:
        call = json.loads(line)
        if child := os.fork():
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
            continue
        for number, path in enumerate(("/dev/null", *call["outputs"])):
            file = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            os.dup2(file, number)
        os.environ.update(call["environment"])
        sys.argv = ["assay", *call["arguments"]]
        main()


if __name__ == "__main__":
    _import_commands()
    _answer_calls()
