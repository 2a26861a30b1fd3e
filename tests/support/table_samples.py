"""Write a small table of runs and its correction, and import it as the command does."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from assay.interfaces.cli.main import assay
from assay.store import Repository

FIRST = "job,t\nterasort,100\nsort,50\n"
CORRECTED = "job,t\nterasort,100\nsort,55\n"


def imported(folder: Path, text: str, *words: str, name: str = "runs.csv") -> Result:
    path = folder / name
    path.write_text(text)
    columns = ("--map", "job=workload", "--map", "t=duration_s", "--repository", str(folder / "r"))
    return CliRunner().invoke(assay, ["import", "table", str(path), *columns, *words])


def stored_times_s(folder: Path) -> list[float]:
    """Return the run times in the repository that :func:`imported` uses."""
    return sorted(run.duration_s for run in Repository.open(folder / "r").runs())
