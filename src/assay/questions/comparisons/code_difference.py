"""Answer which code makes one side slower than another: the difference of their profiles, per byte of data.

In: a repository, its table of runs, and two runs or their configurations. Out: a :class:`ComparedProfiles`. Its
arithmetic is in :mod:`assay.analysis.code_profile.difference`.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.analysis.code_profile.difference import (
    CodeDifference,
    CodeRow,
    CodeVerdict,
    IntervalBasis,
    ProfiledRun,
    code_difference,
    decided,
)
from assay.analysis.code_profile.stacks import Stack
from assay.analysis.statistics import RunTable
from assay.foundation.errors import FormatError, SpecificationError
from assay.model import Run
from assay.questions.comparisons.side_by_side import Of, sides_of
from assay.questions.runs.code_profiles.code_profile import profile_facts, require_recordings, stored_stacks
from assay.store import Repository
from assay.text import TextTable, joined, plural

_EXPONENT_MIN = 999.5
"""Numbers from this on would have an exponent at three significant digits."""


@dataclass(frozen=True, slots=True)
class ProfiledSide:
    """One side: its label, and the runs with a profile."""

    label: str
    run_ids: tuple[str, ...]
    data_bytes: int
    """Bytes of data of all these runs."""


@dataclass(frozen=True, slots=True)
class ComparedProfiles:
    """The profiles of two sides: the first is the baseline."""

    kind: str
    method: str
    baseline: ProfiledSide
    candidate: ProfiledSide
    unprofiled: int
    """Number of runs of both configurations that have no profile and are left out."""
    difference: CodeDifference


@dataclass(frozen=True, slots=True)
class ProfiledSides:
    """The loaded profiles of two sides, of one kind and method."""

    kind: str
    method: str
    interval_s: float
    labels: tuple[str, ...]
    sides: tuple[tuple[ProfiledRun, ...], ...]
    unprofiled: int


def profiled_sides(
    repository: Repository, table: RunTable, prefixes: Sequence[str], of: Of, phase: str | None = None
) -> ProfiledSides:
    """Return the profiles of two runs or configurations, in one phase or all.

    Raises SpecificationError unless two different sides are chosen; FormatError if a side has no profile, if the
    profiles differ in kind or method, or if their counts are not samples of time.
    """
    if len(prefixes) != 2:
        raise SpecificationError("a difference has two sides", where="diff", hint="name two runs: diff A B")
    sides = sides_of(repository, table, [repository.run(prefix) for prefix in prefixes], of).sides
    runs = [[repository.run(run_id) for run_id in side.summary.run_ids] for side in sides]
    runs_with_profile = [[run for run in side if _recorded_profile(repository, run)] for side in runs]
    for side, profiled_runs in zip(sides, runs_with_profile, strict=True):
        if not profiled_runs:
            require_recordings(repository, repository.run(side.run_id))
            raise FormatError("no valid run of this side has a profile", where=side.run_id)
    keys = ("kind", "method", "interval_ms")
    recorded_settings = {
        tuple(_recorded_profile(repository, run).get(key) for key in keys) for side in runs_with_profile for run in side
    }
    if len(recorded_settings) > 1:
        texts = ", ".join(sorted(f"{kind} by {method}" for kind, method, _ in recorded_settings))
        raise FormatError(f"the profiles are of different kinds or methods: {texts}", where="diff")
    kind, method, interval_ms = recorded_settings.pop()
    if not interval_ms:
        hint = "use profiles of cpu or wall; imported files may need --interval-ms"
        message = f"a {kind} profile without a sampling interval does not count samples of time"
        raise FormatError(message, where="diff", hint=hint)
    stacks = tuple(tuple(_profiled_run(repository, run, phase) for run in side) for side in runs_with_profile)
    if not any(run.parts for side in stacks for run in side):
        raise FormatError(f"no profile has the phase {phase!r}", where="--phase")
    return ProfiledSides(
        kind=str(kind),
        method=str(method),
        interval_s=interval_ms / 1000,
        labels=tuple(side.label for side in sides),
        sides=stacks,
        unprofiled=sum(map(len, runs)) - sum(map(len, runs_with_profile)),
    )


def difference_of_sides(profiles: ProfiledSides) -> ComparedProfiles:
    """Return where the second side spends more time than the first."""
    baseline, candidate = profiles.sides
    return ComparedProfiles(
        kind=profiles.kind,
        method=profiles.method,
        baseline=_side(profiles.labels[0], baseline),
        candidate=_side(profiles.labels[1], candidate),
        unprofiled=profiles.unprofiled,
        difference=code_difference(baseline, candidate, profiles.interval_s),
    )


def _recorded_profile(repository: Repository, run: Run) -> Mapping[str, Any]:
    run_profile = profile_facts(repository, run)
    return run_profile if run_profile.get("method") else {}


def _side(label: str, runs: Sequence[ProfiledRun]) -> ProfiledSide:
    return ProfiledSide(label, tuple(run.run_id for run in runs), sum(run.data_bytes for run in runs))


def _profiled_run(repository: Repository, run: Run, phase: str | None) -> ProfiledRun:
    parts: dict[str, dict[str, Counter[Stack]]] = defaultdict(dict)
    for recording, part in require_recordings(repository, run):
        if phase in (None, part):
            parts[part][recording] = stored_stacks(repository, run.run_id, recording, part)[0]
    if not run.data_bytes:
        raise FormatError("its bytes of data are unknown, so it has no time per byte", where=run.run_id)
    return ProfiledRun(run.run_id, run.data_bytes, dict(parts))


def difference_sentence(answer: ComparedProfiles) -> str:
    """Return the answer as one sentence: the largest increase, then the category and the method that have it."""
    difference, unit = (
        answer.difference,
        f"{answer.kind.upper() if answer.kind == 'cpu' else answer.kind} seconds per GB",
    )
    if difference.basis is IntervalBasis.RECORDINGS:
        largest = max((*difference.phases, *difference.frames), key=lambda row: row.difference_s_per_gb)
        return f"Single runs have no verdict. Largest increase in {unit} from A to B: {_row_text(largest)}"
    increases = decided((*difference.phases, *difference.categories, *difference.frames), CodeVerdict.MORE)
    if not increases:
        decreases = decided((*difference.phases, *difference.categories, *difference.frames), CodeVerdict.LESS)
        if not decreases:
            return f"No code is shown to use more or fewer {unit} in B than in A"
        row = min(decreases, key=lambda row: row.difference_s_per_gb)
        return f"No code is shown to use more {unit} in B than in A; fewer: {_row_text(row)}"
    largest_increase = max(increases, key=lambda row: row.difference_s_per_gb)
    parts: list[str] = []
    for rows in (difference.categories, difference.frames):
        phase_rows = [
            row
            for row in decided(rows, CodeVerdict.MORE)
            if row.code.phase == largest_increase.code.phase and row is not largest_increase
        ]
        if phase_rows:
            code = phase_rows[0].code
            parts.append(f"{_signed_text(phase_rows[0].difference_s_per_gb)} in {code.frame or code.category}")
    parts_text = f"; of these, {joined(parts)}" if parts else ""
    return f"B uses more {unit} than A: {_row_text(largest_increase)}{parts_text}"


def _row_text(row: CodeRow) -> str:
    where = f" in {row.code.frame or row.code.category}" if row.code.category else ""
    spread = (
        f" ({_signed_text(row.low_s_per_gb)} to {_signed_text(row.high_s_per_gb)})"
        if row.low_s_per_gb is not None and row.high_s_per_gb is not None
        else ""
    )
    return f"{_signed_text(row.difference_s_per_gb)}{spread} in the phase {row.code.phase}{where}"


def _signed_text(value: float) -> str:
    """Return a number with its sign and three significant digits, without an exponent: ``+4,960``."""
    return f"{float(f'{value:.3g}'):+,.0f}" if abs(value) >= _EXPONENT_MIN else f"{value:+.3g}"


def basis_sentence(answer: ComparedProfiles) -> str:
    """Return what the intervals vary over, and how the verdicts are corrected."""
    difference = answer.difference
    if difference.basis is IntervalBasis.REPETITIONS:
        units_text = f"repetitions: {difference.baseline_units} and {difference.candidate_units}"
    else:
        units_text = (
            f"task attempts or executors: {difference.baseline_units} and {difference.candidate_units}. "
            "They leave out the variation between runs, so there are no verdicts: repeat both sides"
        )
    tested_rows = len(difference.phases) + len(difference.categories) + len(difference.frames)
    correction_text = (
        f". Verdicts are corrected for {plural(tested_rows, 'row')}"
        if difference.basis is IntervalBasis.REPETITIONS
        else ""
    )
    return f"95 % intervals over {units_text}{correction_text}"


def difference_tables(answer: ComparedProfiles) -> tuple[TextTable, ...]:
    """Return phases, categories and methods as tables, largest increase first; empty ones are left out."""
    difference = answer.difference
    titled_rows = (
        ("phases", difference.phases),
        ("categories", difference.categories),
        ("methods with most samples, by self time", difference.frames),
    )
    return tuple(_table(title, rows) for title, rows in titled_rows if rows)


def _table(title: str, rows: Sequence[CodeRow]) -> TextTable:
    cells = tuple(
        (
            row.code.phase,
            *([row.code.frame] if row.code.frame else []),
            row.code.category or "all",
            _signed_text(row.baseline_s_per_gb).removeprefix("+"),
            _signed_text(row.candidate_s_per_gb).removeprefix("+"),
            _signed_text(row.difference_s_per_gb),
            "–"
            if row.low_s_per_gb is None or row.high_s_per_gb is None
            else f"{_signed_text(row.low_s_per_gb)} to {_signed_text(row.high_s_per_gb)}",
            row.verdict.value,
        )
        for row in rows
    )
    name_headers = ("phase", "method", "category") if rows[0].code.frame else ("phase", "category")
    return TextTable(title, (*name_headers, "A (s/GB)", "B (s/GB)", "B − A", "95 % interval", "verdict"), cells)


def difference_notes(answer: ComparedProfiles) -> tuple[str, ...]:
    """Return what was recorded, what the intervals vary over, and the number of runs and rows that are left out."""
    untested_count = answer.difference.untested
    notes = [f"{answer.kind} profile, {answer.method}. {basis_sentence(answer)}"]
    if answer.unprofiled:
        notes.append(f"{plural(answer.unprofiled, 'run')} without a profile left out")
    if untested_count:
        untested_text = plural(untested_count, "category or method", "categories and methods")
        notes.append(f"{untested_text} not tested: too few samples")
    return tuple(notes)
