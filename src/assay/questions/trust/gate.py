"""Check whether configurations became slower than permitted since a baseline: the gate of a pipeline.

In: a repository of runs over time, and a :class:`GateRequest`. Out: a :class:`GateView` with a verdict for each
configuration (:mod:`assay.analysis.slowdowns`). The gate fails if a configuration is slower than permitted.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from assay.analysis.slowdowns import SlowdownVerdict, slowdowns
from assay.analysis.statistics import Floats, RunTable, has_level, require_factor, started_unix_s, usable
from assay.foundation.errors import RepositoryError, SpecificationError
from assay.questions.runs.runs import selected
from assay.store import Repository
from assay.text import TextTable, interval, levels_text, plural, ratio

SLOWDOWN_MAX = 0.05
"""Default of the permitted slowdown."""


@dataclass(frozen=True, slots=True)
class GateRequest:
    """One question: is anything slower than it was at the baseline?"""

    baseline: str
    """A time in ISO 8601 (UTC without an offset), ``COLUMN=LEVEL``, or the beginning of a run's or campaign's id. For
    runs, the baseline is the start of the newest one."""
    slowdown_max: float = SLOWDOWN_MAX
    """Permitted slowdown, 0.05 for 5 %."""
    where: tuple[str, ...] = ()
    """Conditions ``COLUMN=LEVEL`` on runs."""
    ignore: tuple[str, ...] = ()
    """Factors that may differ within a configuration, such as the version of a build."""


@dataclass(frozen=True, slots=True)
class GateRow:
    """The verdict on one configuration."""

    configuration: dict[str, str]
    origin: str
    verdict: SlowdownVerdict
    runs_before: int
    runs_since: int
    ratio: float | None
    """Time since the baseline / time before it: above 1 is slower. None with too few runs."""
    low: float | None
    high: float | None
    """Ends of the 95 % interval."""
    p: float | None
    """p value of a slowdown of at most the limit, after Holm's correction over all configurations."""


@dataclass(frozen=True, slots=True)
class GateView:
    """The verdicts on all configurations."""

    passed: bool
    baseline: str
    """The baseline in ISO 8601, in UTC."""
    slowdown_max: float
    rows: tuple[GateRow, ...]
    """The largest slowdown first; configurations with too few runs last."""
    runs_without_start: int
    """Valid runs without a start time; they are left out."""

    @property
    def judged(self) -> int:
        """Number of configurations with enough runs on both sides of the baseline."""
        return sum(row.verdict is not SlowdownVerdict.FEW_RUNS for row in self.rows)

    @property
    def exceeded(self) -> tuple[GateRow, ...]:
        """The configurations that are slower than permitted."""
        return tuple(row for row in self.rows if row.verdict is SlowdownVerdict.EXCEEDED)


def gate(repository: Repository, request: GateRequest) -> GateView:
    """Return the verdicts. Raises SpecificationError if no configuration has enough runs on both sides."""
    table = selected(repository.table(), request.where)
    for name in request.ignore:
        require_factor(table, name)
    baseline_unix_s = _baseline(repository, table, request.baseline)
    results = slowdowns(table, baseline_unix_s, request.slowdown_max, request.ignore)
    rows = tuple(
        GateRow(
            configuration=_configuration_levels(table, result.position, request.ignore),
            origin=table.columns["origin"].text(result.position) or "",
            verdict=result.verdict,
            runs_before=result.runs_before,
            runs_since=result.runs_since,
            ratio=result.ratio.value if result.ratio else None,
            low=result.ratio.low if result.ratio else None,
            high=result.ratio.high if result.ratio else None,
            p=result.p,
        )
        for result in results
    )
    is_undated = usable(table) & ~np.isfinite(table.values["started_unix_s"])
    at = datetime.fromtimestamp(baseline_unix_s, UTC).isoformat(timespec="seconds")
    has_passed = all(row.verdict is not SlowdownVerdict.EXCEEDED for row in rows)
    view = GateView(has_passed, at, request.slowdown_max, rows, int(np.count_nonzero(is_undated)))
    if not view.judged:
        raise SpecificationError(
            f"no configuration has 3 valid runs with a start time on each side of the baseline {at}",
            where="baseline",
            hint="choose another baseline, or ignore the factors that differ from run to run (`ignore`)",
        )
    return view


def _configuration_levels(table: RunTable, position: int, ignore: tuple[str, ...]) -> dict[str, str]:
    """Return the levels that distinguish a configuration."""
    levels = table.distinguishing_levels(position)
    distinguishing_levels = {name: level for name, level in levels.items() if name not in ignore}
    return distinguishing_levels or {"workload": table.columns["workload"].text(position) or ""}


def _baseline(repository: Repository, table: RunTable, reference: str) -> float:
    """Return the time of the baseline (Unix seconds). Raises SpecificationError for an unknown one."""
    starts = table.values["started_unix_s"]
    try:
        time = datetime.fromisoformat(reference)
    except ValueError:
        pass
    else:
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    if "=" in reference:
        starts = selected(table, (reference,), "--baseline").values["started_unix_s"]
        return _newest_start_s(starts, reference)
    campaigns = table.columns.get("campaign_id")
    campaign_ids = [name for name in campaigns.levels if reference and name.startswith(reference)] if campaigns else []
    if len(campaign_ids) > 1:
        raise SpecificationError(
            f"{len(campaign_ids)} campaigns have an id that begins with {reference!r}",
            where="baseline",
            hint=f"one of {', '.join(campaign_ids[:5])}",
        )
    if campaign_ids:
        return _newest_start_s(starts[has_level(table, "campaign_id", campaign_ids[0])], reference)
    try:
        run = repository.run(reference)
    except RepositoryError as error:
        raise SpecificationError(
            f"{reference!r} is not a time, condition, campaign or run",
            where="baseline",
            hint="write a time (2026-11-01), a condition (COLUMN=LEVEL), or the beginning of a run's or campaign's id",
        ) from error
    return _newest_start_s(np.array([started_unix_s(run)]), reference)


def _newest_start_s(starts: Floats, reference: str) -> float:
    known_starts = starts[np.isfinite(starts)]
    if not len(known_starts):
        raise SpecificationError(f"no run of {reference!r} has a start time", where="baseline")
    return float(known_starts.max())


def gate_sentence(view: GateView) -> str:
    """Return the answer in words."""
    limit, configurations = f"{100 * view.slowdown_max:g} %", plural(view.judged, "configuration")
    if view.passed:
        return f"Passed: none of {configurations} is shown to be more than {limit} slower since {view.baseline}."
    return f"Failed: {len(view.exceeded)} of {configurations} more than {limit} slower since {view.baseline}."


def gate_notes(view: GateView) -> tuple[str, ...]:
    """Return each configuration that is slower than permitted, and the number of those without a verdict."""
    notes = [f"{row_name(row)}: {row_text(row)}" for row in view.exceeded]
    undecided_count = len(view.rows) - view.judged
    if undecided_count:
        notes.append(f"{plural(undecided_count, 'configuration')} without a verdict: fewer than 3 runs on a side.")
    if view.runs_without_start:
        notes.append(f"{plural(view.runs_without_start, 'valid run')} left out: no start time is recorded.")
    return tuple(notes)


def row_name(row: GateRow) -> str:
    """Return the name of a configuration in words: ``TestDFSIO write, 182 MB``."""
    return levels_text(row.configuration)


def row_text(row: GateRow) -> str:
    """Return the verdict on a configuration with its interval and runs."""
    runs = f"{row.runs_before} and {row.runs_since} runs"
    if row.ratio is None:
        return f"{row.verdict.value}, {runs}"
    return f"{row.verdict.value}, {ratio(row.ratio)} the time, 95 % interval {interval(row.low, row.high)}, {runs}"


def gate_table(view: GateView) -> TextTable:
    """Return a row for each configuration."""
    rows = (
        (
            row_name(row),
            row.verdict.value,
            ratio(row.ratio),
            interval(row.low, row.high),
            str(row.runs_before),
            str(row.runs_since),
        )
        for row in view.rows
    )
    headers = ("Configuration", "Verdict", "Time", "95 % interval", "Runs before", "Runs since")
    return TextTable("Verdicts", headers, tuple(rows), ("Time: since / before the baseline; above 1 is slower.",))
