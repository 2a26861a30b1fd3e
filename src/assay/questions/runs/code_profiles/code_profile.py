"""Answer which code the JVMs of a run executed: categories and methods, by phase or stage, node and recording.

In: a repository, a run, and the wanted phase, stage, node or recording. Out: a :class:`CodeProfile`, from the collapsed
stacks in the run's bundle.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, isnan
from typing import Any

import msgspec

from assay.analysis.code_profile.files import (
    DAEMONS,
    EXECUTOR,
    FOLDER,
    JOB,
    TIMES,
    UNKNOWN,
    WHOLE,
    daemon_recording,
    process_of,
    recording_and_part,
    stacks_file,
    stages_of,
    times_file,
)
from assay.analysis.code_profile.recorded import RecordedPart, RecordedStacks
from assay.analysis.code_profile.seconds import StackTimes, parse_times
from assay.analysis.code_profile.stacks import Stack, parse_collapsed
from assay.analysis.code_profile.summary import CategoryCount, FrameCount, category_counts, frame_counts
from assay.analysis.statistics import started_unix_s
from assay.foundation.errors import FormatError
from assay.foundation.units import format_percent
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
    processes: tuple[tuple[str, int], ...]
    """The chosen kinds of process, each with its count: ``job``, ``datanode``, ``nodemanager``."""
    named_share: float
    """Share of the job's counts that fall into a named phase."""
    total: int
    categories: tuple[CategoryCount, ...]
    frames: tuple[FrameCount, ...]
    skipped_lines: int
    """Number of lines in the profile's files that are not stacks."""
    start_s: float | None = None
    """Start of the chosen interval in seconds from the run's start; None for the whole run."""
    end_s: float | None = None


@dataclass(frozen=True, slots=True)
class CodeProfileRequest:
    """The part of a run's profile to count. None: no limit."""

    phase: str | None = None
    """Phase of MapReduce, or stage of Spark by name (``stage-0``)."""
    stage: int | None = None
    """Stage of Spark by number. While several stages ran at once, their samples belong to each of them."""
    node: str | None = None
    attempt: str | None = None
    """A recording: task attempt, executor (``executor-1``) or ``driver``."""
    at_s: float | None = None
    """Only the interval at this time, in seconds from the run's start."""
    process: str | None = None
    """A kind of process: ``job`` (tasks, executors and driver), ``datanode`` or ``nodemanager``."""


WHOLE_PROFILE = CodeProfileRequest()


def code_profile(repository: Repository, prefix: str, request: CodeProfileRequest = WHOLE_PROFILE) -> CodeProfile:
    """Return the requested part of the profile of the run whose id begins with ``prefix``.

    Raises FormatError if the run has no profile, or no samples of this kind, with the choices.
    """
    run = repository.run(prefix)
    run_profile = profile_facts(repository, run)
    moment = stacks_at(repository, run, request.at_s) if request.at_s is not None else None
    files = list(moment.stacks) if moment else require_recordings(repository, run)
    nodes = _nodes(repository, run) if request.node else {}
    chosen_parts = [
        (name, part)
        for name, part in files
        if request.phase in (None, part)
        and (request.stage is None or request.stage in stages_of(part))
        and request.attempt in (None, name)
        and (request.node is None or nodes.get(name) == request.node)
        and request.process in (None, process_of(part))
    ]
    if not chosen_parts:
        raise FormatError("no samples match the choice", where=run.run_id, hint=_choices(files, nodes))
    stacks, phases, skipped_lines = Counter[Stack](), Counter[str](), 0
    for name, part in chosen_parts:
        counted_stacks, ignored_stacks = (
            (moment.stacks[name, part], 0) if moment else stored_stacks(repository, run.run_id, name, part)
        )
        stacks.update(counted_stacks)
        phases[part] += counted_stacks.total()
        skipped_lines += ignored_stacks
    processes = Counter[str]()
    for part, count in phases.items():
        processes[process_of(part)] += count
    job_samples = processes[JOB]
    return CodeProfile(
        run_id=run.run_id,
        kind=str(run_profile.get("kind", "")),
        method=str(run_profile.get("method", "")),
        reason=run_profile.get("reason"),
        interval_ms=run_profile.get("interval_ms"),
        attempts=tuple(dict.fromkeys(name for name, _ in chosen_parts)),
        phases=tuple(phases.most_common()),
        processes=tuple(processes.most_common()),
        named_share=1 - (phases[UNKNOWN] + phases[WHOLE]) / job_samples if job_samples else 0.0,
        total=stacks.total(),
        categories=category_counts(stacks),
        frames=frame_counts(stacks),
        skipped_lines=skipped_lines,
        start_s=moment.start_s if moment else None,
        end_s=moment.end_s if moment else None,
    )


def has_recordings(logs: Iterable[str]) -> bool:
    """Return whether the logs of a run have a profile."""
    return any(map(recording_and_part, logs))


def has_times(logs: Iterable[str]) -> bool:
    """Return whether the logs of a run have a profile with times."""
    return any(name.startswith(FOLDER) and name.endswith(TIMES) for name in logs)


def profile_facts(repository: Repository, run: Run) -> Mapping[str, Any]:
    """Return the facts about the profile of a run, recorded with it or attached to it; empty without a profile."""
    run_profile: Mapping[str, Any] = run.environment.get("profile") or {}
    attached_profile = None if run_profile.get("method") else repository.attached_profile(run.run_id)
    return run_profile if attached_profile is None else msgspec.structs.asdict(attached_profile)


def require_recordings(repository: Repository, run: Run) -> list[tuple[str, str]]:
    """Return recording and part of each file of stacks of a run. Raises FormatError if it has none."""
    files = [names for names in map(recording_and_part, repository.logs(run.run_id)) if names]
    if not files:
        reason = (run.environment.get("profile") or {}).get("reason")
        raise FormatError(
            f"it has no profile{f': {reason}' if reason else ''}",
            where=run.run_id,
            hint="record one: assay run PLAN --profile cpu; or attach one: assay import profile FILE --run RUN",
        )
    return files


def stacks_of_run(repository: Repository, prefix: str) -> RecordedStacks:
    """Return all stacks of the run whose id begins with ``prefix``. Raises FormatError if it has no profile."""
    run = repository.run(prefix)
    run_profile = profile_facts(repository, run)
    return RecordedStacks(
        run=run,
        kind=str(run_profile.get("kind", "")),
        interval_ms=run_profile.get("interval_ms"),
        parts=tuple(
            RecordedPart(recording, part, stored_stacks(repository, run.run_id, recording, part)[0])
            for recording, part in require_recordings(repository, run)
        ),
    )


def stored_stacks(repository: Repository, run_id: str, recording: str, part: str) -> tuple[Counter[Stack], int]:
    """Return the stacks of one part of a recording, and the number of lines that are not stacks."""
    return parse_collapsed(repository.log(run_id, stacks_file(recording, part)).decode(errors="replace"))


@dataclass(frozen=True, slots=True)
class Moment:
    """The stacks of one interval of a run, by recording and part; times in seconds from the run's start."""

    start_s: float
    end_s: float
    stacks: Mapping[tuple[str, str], Counter[Stack]]


def stacks_at(repository: Repository, run: Run, at_s: float) -> Moment:
    """Return the stacks of the interval at ``at_s``. Raises FormatError if the run has no times, or no sample then."""
    times = times_of_run(repository, run)
    interval_s = next(iter(times.values())).interval_s
    started_s = started_unix_s(run)
    start_unix_s = floor((started_s + at_s) / interval_s) * interval_s
    stacks = {names: part.stacks[start_unix_s] for names, part in times.items() if start_unix_s in part.stacks}
    if not stacks:
        seconds = [second - started_s for part in times.values() for second in part.stacks]
        hint = f"it has samples from {min(seconds):.0f} s to {max(seconds) + interval_s:.0f} s"
        raise FormatError(f"it has no samples at {at_s:g} s", where=run.run_id, hint=hint)
    return Moment(start_unix_s - started_s, start_unix_s - started_s + interval_s, stacks)


def times_of_run(repository: Repository, run: Run) -> dict[tuple[str, str], StackTimes]:
    """Return when the stacks of each recording and part were sampled, in intervals of one length.

    Raises FormatError if the run has no profile, or one without times.
    """
    logs, times = set(repository.logs(run.run_id)), {}
    for recording, part in require_recordings(repository, run):
        if times_file(recording, part) in logs:
            stacks, _ = stored_stacks(repository, run.run_id, recording, part)
            text = repository.log(run.run_id, times_file(recording, part)).decode(errors="replace")
            times[recording, part] = parse_times(text, list(stacks))
    if not times or isnan(started_unix_s(run)):
        raise FormatError(
            "its profile has no times",
            where=run.run_id,
            hint="profiles of cpu and wall have them: recorded with assay 0.3.0 or newer, or imported JFR recordings "
            "with a sampling interval",
        )
    interval_s = max(part.interval_s for part in times.values())
    return {names: part.widened(interval_s) for names, part in times.items()}


def _nodes(repository: Repository, run: Run) -> dict[str, str]:
    """Return recording to node, of task attempts, executors and daemons."""
    attempts = {task.attempt_id: task.node for task in repository.tasks(run.run_id)}
    executors = {f"{EXECUTOR}{executor.executor_id}": executor.node for executor in run.executors}
    nodes = {*attempts.values(), *executors.values()}
    daemons = {daemon_recording(daemon, node): node for daemon in DAEMONS for node in nodes}
    return {**attempts, **executors, **daemons}


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
    return f"{first.category} has {format_percent(first.share)} of the {answer.kind} profile"


def profile_basis(answer: CodeProfile) -> tuple[str, ...]:
    """Return what was recorded and how: the method, the counts of phases, and lines that could not be read."""
    unit = _UNITS.get(answer.kind, f"samples of {answer.interval_ms:g} ms" if answer.interval_ms else "samples")
    phases = ", ".join(f"{name} {count}" for name, count in answer.phases)
    processes = dict(answer.processes)
    named_text = f"; {format_percent(answer.named_share, 1)} in a named phase" if JOB in processes else ""
    lines = [
        f"run {answer.run_id}, {answer.method}, {plural(len(answer.attempts), 'recording')}",
        f"{answer.total} {unit}: {phases}{named_text}",
    ]
    if processes.keys() != {JOB}:
        lines.append(f"processes: {', '.join(f'{name} {count}' for name, count in answer.processes)}")
    if answer.start_s is not None:
        lines.insert(1, interval_text(answer))
    if answer.reason:
        lines.append(f"not used: {answer.reason}")
    if answer.skipped_lines:
        lines.append(f"{plural(answer.skipped_lines, 'line')} of the profile could not be read")
    return tuple(lines)


def interval_text(answer: CodeProfile) -> str:
    """Return the chosen interval of a run in words."""
    return f"only from {answer.start_s:.1f} to {answer.end_s:.1f} s after the run's start"


def profile_tables(answer: CodeProfile) -> tuple[TextTable, TextTable]:
    """Return the categories and the methods as tables, largest first."""
    categories = tuple((row.category, str(row.count), format_percent(row.share, 1)) for row in answer.categories)
    methods = tuple((row.frame, row.category, str(row.count), format_percent(row.share, 1)) for row in answer.frames)
    return (
        TextTable("categories", ("category", "count", "share"), categories),
        TextTable("methods, by self time", ("method", "category", "count", "share"), methods),
    )
