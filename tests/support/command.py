"""Call a command of assay in this process."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from assay.interfaces.cli.main import assay


def invoke(*arguments: str | Path) -> Result:
    """Call ``assay`` with the arguments and return its output and exit code."""
    return CliRunner().invoke(assay, [str(argument) for argument in arguments])


def printed(*arguments: str | Path) -> str:
    """Return what ``assay`` prints to standard output with the arguments; it must succeed."""
    done = invoke(*arguments)
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout
