"""``assay mcp``: answer the questions of an AI assistant over the Model Context Protocol."""

from pathlib import Path

import click

from assay.foundation.errors import MissingLibraryError
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import repository_option
from assay.interfaces.cli.terminal import unescaped_output


@click.command(cls=AssayCommand)
@repository_option
@click.option("--allow-run", is_flag=True, help="Let the assistant execute plans, also on real hosts.")
def mcp(repository: Path, allow_run: bool) -> None:
    """Answer the questions of an AI assistant on stdin and stdout, over the Model Context Protocol.

    The assistant starts this command. It can only read, unless --allow-run is given.
    """
    try:
        from assay.interfaces.mcp.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"mcp", "mcp_types"}:
            raise
        raise MissingLibraryError("assay mcp needs the library mcp", hint="pip install 'assay[mcp]'") from error
    with unescaped_output():
        serve(repository, may_run=allow_run)
