"""Find when configurations became faster or slower, in the history of their repetitions.

In: runs as a table. Out: the histories with changes, each with the levels that distinguish its configuration.
"""

from dataclasses import dataclass

from assay.analysis.changes import RUNS_MIN, ChangePoint, histories
from assay.analysis.statistics import RunTable
from assay.questions.runs.runs import distinguishing_levels
from assay.text import plural


@dataclass(frozen=True, slots=True)
class ConfigurationHistory:
    """The changes of one configuration."""

    configuration: dict[str, str]
    runs: int
    changes: tuple[ChangePoint, ...]


@dataclass(frozen=True, slots=True)
class ChangesView:
    """All changes, and how they were found."""

    histories: tuple[ConfigurationHistory, ...]
    searched: int
    """Configurations with enough valid runs."""
    correlation: float
    """Correlation of consecutive runs."""
    wander: float
    """Step of the random walk of the level from run to run, in standard deviations of a run."""
    runs_without_start: int
    """Valid runs without a start time; they are left out."""


def changes_of(table: RunTable) -> ChangesView:
    """Return the changes of every configuration's run time."""
    history = histories(table)
    changed = (
        ConfigurationHistory(distinguishing_levels(table, h.position), h.runs, h.changes) for h in history.changed
    )
    return ChangesView(
        tuple(changed), history.searched, history.correlation, history.wander, history.runs_without_start
    )


def changes_sentence(view: ChangesView) -> str:
    """Return the number of changes and of configurations searched."""
    changes = plural(sum(len(history.changes) for history in view.histories), "change")
    return f"{changes} in {plural(view.searched, 'configuration')} with at least {RUNS_MIN} valid runs."
