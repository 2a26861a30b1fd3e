"""Answer which code the JVMs of a run executed: categories and methods, by phase or stage, node and recording.

In: a repository, a run, and the wanted phase, stage, node or recording. Out: a :class:`CodeProfile`, from the collapsed
stacks in the run's bundle.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.analysis.code_profile.files import EXECUTOR, UNKNOWN, recording_and_part, stacks_file, stages_of
from assay.analysis.code_profile.recorded import RecordedPart, RecordedStacks
from assay.analysis.code_profile.stacks import Stack, parse_collapsed
from assay.analysis.code_profile.summary import CategoryCount, FrameCount, category_counts, frame_counts
from assay.foundation.errors import FormatError
from assay.model import Run
from assay.store import Repository
from assay.text import TextTable, plural

_UNITS = {"alloc": "bytes", "lock": "ns waited"}


@dataclass(frozen=True, slots=True)
class CodeProfile:
    """The code of a run's task attempts, or of its executors and driver.

    Counts are samples; for ``alloc`` they are bytes, for ``lock`` nanoseconds.
    """

    run_id: str
    kind: str
    method: str
    reason: str | None
    """Why a better method does not work on these hosts; None for the best method."""
    interval_ms: float | None
    """Time between two samples; None if counts are not samples."""
    attempts: tuple[str, ...]
    """The chosen recordings: task attempts of MapReduce; executors and driver of Spark."""
    phases: tuple[tuple[str, int], ...]
    """The chosen phases or stages, each with its count."""
    named_share: float
    """Share of the counts that fall into a named phase."""
    total: int
    categories: tuple[CategoryCount, ...]
    frames: tuple[FrameCount, ...]
    skipped_lines: int
    """Number of lines in the profile's files that are not stacks."""


def code_profile(
    store: Repository,
    prefix: str,
    *,
    phase: str | None = None,
    stage: int | None = None,
    node: str | None = None,
    attempt: str | None = None,
) -> CodeProfile:
    """Return the profile of the run whose id begins with ``prefix``, limited to a phase, a stage, a node or a
    recording. While several stages ran at once, their samples belong to each of them.

    Raises FormatError if the run has no profile, or no samples of this kind, with the choices.
    """
    run = store.run(prefix)
    recorded = run.environment.get("profile") or {}
    files = require_recordings(store, run)
    nodes = _nodes(store, run) if node else {}
    chosen = [
        (name, part)
        for name, part in files
        if phase in (None, part)
        and (stage is None or stage in stages_of(part))
        and attempt in (None, name)
        and (node is None or nodes.get(name) == node)
    ]
    if not chosen:
        raise FormatError("no samples match the choice", where=run.run_id, hint=_choices(files, nodes))
    stacks, phases, skipped = Counter[Stack](), Counter[str](), 0
    for name, part in chosen:
        counted, ignored = stored_stacks(store, run.run_id, name, part)
        stacks.update(counted)
        phases[part] += counted.total()
        skipped += ignored
    total = stacks.total()
    return CodeProfile(
        run_id=run.run_id,
        kind=str(recorded.get("kind", "")),
        method=str(recorded.get("method", "")),
        reason=recorded.get("reason"),
        interval_ms=recorded.get("interval_ms"),
        attempts=tuple(dict.fromkeys(name for name, _ in chosen)),
        phases=tuple(phases.most_common()),
        named_share=1 - phases[UNKNOWN] / total if total else 0.0,
        total=total,
        categories=category_counts(stacks),
        frames=frame_counts(stacks),
        skipped_lines=skipped,
    )


def has_recordings(logs: Iterable[str]) -> bool:
    """Return whether the logs of a run have a profile."""
    return any(map(recording_and_part, logs))


def require_recordings(store: Repository, run: Run) -> list[tuple[str, str]]:
    """Return recording and part of each file of stacks of a run. Raises FormatError if it has none."""
    files = [names for names in map(recording_and_part, store.logs(run.run_id)) if names]
    if not files:
        reason = (run.environment.get("profile") or {}).get("reason")
        raise FormatError(
            f"it has no profile{f': {reason}' if reason else ''}",
            where=run.run_id,
            hint="record one: assay run PLAN --profile cpu",
        )
    return files


def stacks_of_run(store: Repository, prefix: str) -> RecordedStacks:
    """Return all stacks of the run whose id begins with ``prefix``. Raises FormatError if it has no profile."""
    run = store.run(prefix)
    recorded = run.environment.get("profile") or {}
    return RecordedStacks(
        run=run,
        kind=str(recorded.get("kind", "")),
        interval_ms=recorded.get("interval_ms"),
        parts=tuple(
            RecordedPart(recording, part, stored_stacks(store, run.run_id, recording, part)[0])
            for recording, part in require_recordings(store, run)
        ),
    )


def stored_stacks(store: Repository, run_id: str, recording: str, part: str) -> tuple[Counter[Stack], int]:
    """Return the stacks of one part of a recording, and the number of lines that are not stacks."""
    return parse_collapsed(store.log(run_id, stacks_file(recording, part)).decode(errors="replace"))


def _nodes(store: Repository, run: Run) -> dict[str, str]:
    """Return recording to node, of task attempts and executors."""
    attempts = {task.attempt_id: task.node for task in store.tasks(run.run_id)}
    return attempts | {f"{EXECUTOR}{executor.executor_id}": executor.node for executor in run.executors}


def _choices(files: Sequence[tuple[str, str]], nodes: dict[str, str]) -> str:
    parts = ", ".join(sorted({part for _, part in files}))
    attempts = ", ".join(sorted({attempt for attempt, _ in files})[:3])
    where = f"; nodes: {', '.join(sorted({nodes[name] for name, _ in files if name in nodes}))}" if nodes else ""
    return f"phases or stages: {parts}; attempts: {attempts}, …{where}"


def profile_sentence(answer: CodeProfile) -> str:
    """Return the answer in one sentence: the category with most samples."""
    if not answer.categories:
        return "the profile has no samples"
    first = answer.categories[0]
    return f"{first.category} has {first.share:.0%} of the {answer.kind} profile"


def profile_basis(answer: CodeProfile) -> tuple[str, ...]:
    """Return what was recorded and how: the method, the counts of phases, and lines that could not be read."""
    unit = _UNITS.get(answer.kind, f"samples of {answer.interval_ms:g} ms" if answer.interval_ms else "samples")
    phases = ", ".join(f"{name} {count}" for name, count in answer.phases)
    lines = [
        f"run {answer.run_id}, {answer.method}, {plural(len(answer.attempts), 'recording')}",
        f"{answer.total} {unit}: {phases}; {answer.named_share:.1%} in a named phase",
    ]
    if answer.reason:
        lines.append(f"not used: {answer.reason}")
    if answer.skipped_lines:
        lines.append(f"{plural(answer.skipped_lines, 'line')} of the profile could not be read")
    return tuple(lines)


def profile_tables(answer: CodeProfile) -> tuple[TextTable, TextTable]:
    """Return the categories and the methods as tables, largest first."""
    categories = tuple((row.category, str(row.count), f"{row.share:.1%}") for row in answer.categories)
    methods = tuple((row.frame, row.category, str(row.count), f"{row.share:.1%}") for row in answer.frames)
    return (
        TextTable("categories", ("category", "count", "share"), categories),
        TextTable("methods, by self time", ("method", "category", "count", "share"), methods),
    )
