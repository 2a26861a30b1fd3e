"""Run the program ``assay``: call the command, and print errors as messages without a traceback."""

import gc
import os
import sys

import click

from assay.foundation.errors import AssayError
from assay.interfaces.cli.command_classes import LazyGroup
from assay.interfaces.cli.terminal import escaped_output

GC_THRESHOLD = 10_000
"""Allocations between two runs of Python's cyclic garbage collector, instead of 700.

Imports and tables allocate hundreds of thousands of objects that stay alive. `assay decide` needs an eighth less CPU
time.
"""


def _show_version(context: click.Context, parameter: click.Parameter, is_requested: bool) -> None:  # noqa: ARG001 - click's
    if is_requested and not context.resilient_parsing:
        from assay.foundation.installation import installation

        click.echo(f"assay {installation().version}")
        context.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and the commit, and exit.",
)
@click.option("--pager/--no-pager", default=True, help="Show long answers in a pager (PAGER) on a terminal.")
def assay(pager: bool) -> None:
    """Measure which storage, network and configuration a Hadoop or Spark cluster should have, and what each costs."""


def main() -> None:
    """Run the command. After an error, print its message to stderr and exit with its exit code."""
    # Threads of OpenBLAS wait in a loop for more work. No answer has matrices so large that they need less time with
    # threads: `assay decide` needs a seventh less CPU time without them, `assay recommend` a fifth.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(GC_THRESHOLD)
    with escaped_output():
        try:
            code = assay(standalone_mode=False)
        except AssayError as error:
            click.echo(f"assay: {error}", err=True)
            sys.exit(error.exit_code)
        except click.exceptions.Abort:
            click.echo("assay: interrupted", err=True)
            sys.exit(130)
        except click.ClickException as error:
            error.show()
            sys.exit(error.exit_code)
        sys.exit(code if isinstance(code, int) else 0)
