"""Compose the commands that answers name as a next step, so that they run as they are printed.

In: a command with its words, and the options of the answer. Out: the command with those options that it accepts. Every
interface prints commands that this module composes.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.foundation.installation import installation

DEFAULT_REPOSITORY = "repository"
"""The folder of a repository that commands use without ``--repository``."""
ACCEPTED: Mapping[str, tuple[str, ...]] = {
    "decide": ("where", "years", "prices", "repository"),
    "whatif": ("where", "prices", "cluster", "repository"),
    "predict": ("repository",),
    "demo": ("repository",),
    "recommend": ("repository",),
    "size": (),
    "serve": ("prices", "repository"),
    "run": ("repository",),
    "runs": ("repository",),
    "show": ("repository",),
}
"""The options of each command that it takes over from the options of an answer."""


@dataclass(frozen=True, slots=True)
class CommandOptions:
    """The options of an answer that further commands need, as its reader writes them. Empty: the default."""

    repository: str = ""
    prices: str = ""
    """File of the price book."""
    cluster: str = ""
    """Cluster file of runs without a stored one."""
    where: tuple[str, ...] = ()
    years: float | None = None

    def of(self, name: str) -> list[str]:
        """Return the words of the option ``name``; empty if it has its default."""
        value = getattr(self, name)
        if not value or (name == "repository" and value == DEFAULT_REPOSITORY):
            return []
        values = value if isinstance(value, tuple) else (f"{value:g}" if isinstance(value, float) else value,)
        return [word for text in values for word in (f"--{name}", text)]


NO_OPTIONS = CommandOptions()
"""Options that have their defaults."""


def command(name: str, *words: str, options: CommandOptions) -> str:
    """Return ``assay NAME WORDS`` with the options that the command accepts and the words do not have."""
    missing_options = [option for option in ACCEPTED[name] if f"--{option}" not in words or option == "where"]
    return shlex.join(["assay", name, *words, *(word for option in missing_options for word in options.of(option))])


def repository_options(folder: Path) -> CommandOptions:
    """Return the options of commands that ask a repository."""
    return CommandOptions(from_here(folder))


def recommend_example(options: CommandOptions) -> str:
    """Return the command that recommends hardware of the example catalogue; empty without the examples."""
    catalogue, prices = (example_file(f"hardware/{name}.yaml") for name in ("catalogue", "prices"))
    if not catalogue:
        return ""
    return command("recommend", "--catalogue", catalogue, "--prices", prices, options=options)


def example_file(name: str) -> str:
    """Return the path of an example file; in the current folder's ``examples`` if it is there. Empty without any."""
    here = Path("examples") / name
    if here.exists():
        return str(here)
    folder = installation().examples
    return "" if folder is None else from_here(folder / name)


def from_here(path: Path) -> str:
    """Return a path relative to the current folder if it is below it."""
    folder, absolute_path = Path.cwd(), path.absolute()
    return str(absolute_path.relative_to(folder) if absolute_path.is_relative_to(folder) else absolute_path)
