"""Define the click classes of commands: each help page ends with examples."""

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import click

from assay.foundation.errors import did_you_mean
from assay.interfaces.cli.commands import ANSWER_COMMANDS, COMMANDS, GROUPS, OLD_NAMES
from assay.interfaces.cli.terminal import elapsed_time, paged_output

_OPTION_WORDS = {"--cost": "--prices", "--costs": "--prices", "--price-book": "--prices", "--hardware": "--catalogue"}
"""Words that users type, and the options that they mean."""
BROKEN_PIPE = 141
"""Exit code after the reader of a pipe has closed it: 128 + SIGPIPE, as shells report it."""
_EXAMPLE_FILES = {"--prices": "examples/hardware/prices.yaml", "--catalogue": "examples/hardware/catalogue.yaml"}
"""Required options, and a file of the examples for each."""
COMMANDS_WITH_PROGRESS = frozenset({"recommend", "size"})
"""Commands that already show their progress."""


class _WithExamples(click.Command):
    """A command whose help ends with the examples that the table of commands lists for it."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples of the command; a subcommand shows the examples of its group that call it."""
        parent = ctx.parent
        command_context = parent if parent is not None and parent.parent is not None else ctx
        entry = COMMANDS.get(command_context.info_name or "")
        command = "assay" + "".join(f" {context.info_name}" for context in dict.fromkeys((command_context, ctx)))
        examples = [line for line in entry.examples if f"{line} ".startswith(f"{command} ")] if entry else []
        if examples:
            with formatter.section("Examples"):
                for line in examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


class AssayCommand(_WithExamples):
    """A command of assay. Long answers go to a pager, except with ``assay --no-pager``. Slow commands show the time."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; an error names the option that was meant, or an example of the missing file."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            option = _OPTION_WORDS.get(error.option_name)
            if option and any(option in parameter.opts for parameter in self.params):
                message = f"No such option {error.option_name!r}. Did you mean {option!r}?"
                raise click.UsageError(message, ctx) from error
            raise
        except click.MissingParameter as error:
            names = error.param.opts if error.param else []
            example = next((_EXAMPLE_FILES[name] for name in names if name in _EXAMPLE_FILES), None)
            if example:
                message = f"An example is {example}; `assay examples examples` copies the examples."
                raise click.MissingParameter(message, ctx=ctx, param=error.param) from error
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; if its group answers questions, show the elapsed time, then the output in a pager."""
        command_context = ctx.parent if ctx.parent is not None and ctx.parent.parent is not None else ctx
        is_paged = command_context.info_name in ANSWER_COMMANDS and ctx.find_root().params.get("pager")
        with ExitStack() as output_stack:
            if is_paged:
                output_stack.enter_context(paged_output())
                if command_context.info_name not in COMMANDS_WITH_PROGRESS:
                    output_stack.enter_context(elapsed_time("working"))
            return super().invoke(ctx)


class AssayGroup(_WithExamples, click.Group):
    """A command of assay with subcommands."""

    command_class = AssayCommand


@contextmanager
def _exit_at_closed_pipe() -> Iterator[None]:
    """Exit with 141 if the reader of stdout closes the pipe inside the block; click would exit with 1."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        stdout = sys.__stdout__.fileno() if sys.__stdout__ else 1
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout)  # Python flushes stdout at its end
        raise click.exceptions.Exit(BROKEN_PIPE) from None


class LazyGroup(click.Group):
    """The program: imports a command when it is called, and lists the commands by group."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the words of the command; help is printed here."""
        with _exit_at_closed_pipe():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        with _exit_at_closed_pipe():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the command names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return the command, or None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        entry = COMMANDS[cmd_name]
        module = importlib.import_module(f"assay.interfaces.cli.{entry.module}")
        command: click.Command = getattr(module, entry.attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for an unknown name, the error suggests similar names.

        An old name is replaced by its command, and a note on stderr states the new name.
        """
        if args and args[0] in OLD_NAMES:
            replacement = OLD_NAMES[args[0]]
            new_command = f"assay {' '.join(replacement)}"
            click.echo(
                f"note: `assay {args[0]}` is now `{new_command}`; the next release removes the old name", err=True
            )
            args = [*replacement, *args[1:]]
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            suggestion = did_you_mean(args[0], COMMANDS)
            raise click.UsageError(
                f"No such command {args[0]!r}. {suggestion[:1].upper()}{suggestion[1:]}".strip(), ctx
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write one section for each group of commands, without importing them."""
        width = max(map(len, COMMANDS))
        for title, entries in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), entry.summary) for name, entry in entries.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the first steps."""
        with formatter.section("Examples"):
            for line in ("assay demo", "assay decide storage --help"):
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")
