"""When configurations became faster or slower: the changes in the history of their repetitions.

In: runs as a table. Out: the histories with changes, each with what tells its configuration apart.
"""

from dataclasses import dataclass

from assay.analysis.changes import ChangePoint, histories
from assay.analysis.statistics import RunTable
from assay.questions.runs.runs import told_apart_by


@dataclass(frozen=True, slots=True)
class ConfigurationHistory:
    """The changes of one configuration."""

    configuration: dict[str, str]
    runs: int
    changes: tuple[ChangePoint, ...]


@dataclass(frozen=True, slots=True)
class ChangesView:
    """All changes, and what they were looked for in."""

    histories: tuple[ConfigurationHistory, ...]
    searched: int
    """Configurations with enough valid runs."""
    correlation: float
    """Of neighbouring runs."""
    wander: float
    """The step by which levels wander from run to run, in standard deviations of a run."""
    runs_without_start: int
    """Valid runs that are left out."""


def changes_of(table: RunTable) -> ChangesView:
    """Return the changes of every configuration's run time."""
    found = histories(table)
    told = (ConfigurationHistory(told_apart_by(table, h.position), h.runs, h.changes) for h in found.changed)
    return ChangesView(tuple(told), found.searched, found.correlation, found.wander, found.runs_without_start)
