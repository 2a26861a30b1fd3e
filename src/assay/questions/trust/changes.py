"""Find when configurations became faster or slower, in the history of their repetitions.

In: runs as a table. Out: the histories with changes, each with the levels that distinguish its configuration.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from assay.analysis.changes import RUNS_MIN, ChangePoint, histories
from assay.analysis.statistics import RunTable
from assay.text import TextTable, interval, plural

_SHOWN_MIN = 0.005
"""Minimum correlation to print; a smaller value would round to 0.00."""


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
        ConfigurationHistory(table.distinguishing_levels(h.position), h.runs, h.changes) for h in history.changed
    )
    return ChangesView(
        tuple(changed), history.searched, history.correlation, history.wander, history.runs_without_start
    )


def changes_sentence(view: ChangesView) -> str:
    """Return the number of changes and of configurations searched."""
    if not view.searched:
        return f"No change can be found yet: no configuration has {RUNS_MIN} valid runs."
    changes = plural(sum(len(history.changes) for history in view.histories), "change")
    return f"{changes} in {plural(view.searched, 'configuration')} with at least {RUNS_MIN} valid runs."


def changes_notes(view: ChangesView) -> tuple[str, ...]:
    """Return what the tests allow for, and the runs that are left out."""
    notes = []
    if view.correlation >= _SHOWN_MIN:
        notes.append(f"The tests allow for a correlation of up to {view.correlation:.2f} between neighbouring runs.")
    if view.wander >= _SHOWN_MIN:
        notes.append(
            f"The tests allow for drift of up to {view.wander:.2f} standard deviations from run to run, as between "
            "sessions or on a machine that drifts."
        )
    if view.runs_without_start:
        notes.append(f"{plural(view.runs_without_start, 'valid run')} left out: no start time is recorded.")
    return tuple(notes)


def changes_table(view: ChangesView) -> TextTable:
    """Return a row for each change."""
    rows = (
        (
            ", ".join(history.configuration.values()),
            str(history.runs),
            datetime.fromtimestamp(change.first_after_unix_s, UTC).strftime("%Y-%m-%d %H:%M"),
            f"{change.ratio.value:.2f}×",
            interval(change.ratio.low, change.ratio.high),
            f"{change.p:.3f}",
        )
        for history in view.histories
        for change in history.changes
    )
    headers = ("Configuration", "Runs", "From (UTC)", "Time", "95 % interval", "p")
    return TextTable("Changes", headers, tuple(rows), ("Time: after / before; above 1 is slower.",))
