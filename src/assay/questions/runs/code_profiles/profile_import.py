"""Attach a profile that was recorded outside assay to a run.

In: a repository, a run without a profile, and files: JFR recordings, pprof profiles or collapsed stacks, also
compressed. Out: a bundle next to the run's bundle, and a :class:`ProfileImport`. ``assay profile`` and the pages then
show it.

A JFR recording is cut by time as assay's own: into the phases of the task attempt that its file is named after, else
into the run's stages. Collapsed stacks and pprof profiles have no times, so they are one part, ``whole``; the labels
and file names of assay's exports name their parts.
"""

import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path

from assay.analysis.code_profile.files import DRIVER, TIMES, WHOLE, is_part, recording_and_part, stacks_file
from assay.analysis.code_profile.recorded import ProfileKind
from assay.analysis.code_profile.seconds import StackSamples
from assay.analysis.code_profile.stacks import Stack, collapsed_text, parse_collapsed, stored_frame
from assay.analysis.statistics import started_unix_s
from assay.execution.engines.hadoop.profiling.conversion import JfrConverter, require_converter
from assay.execution.engines.hadoop.profiling.parts import PartSpan, phase_spans, stage_parts
from assay.execution.engines.hadoop.profiling.recording import BYTES_MAX, part_logs
from assay.foundation.errors import FormatError, RepositoryError
from assay.foundation.units import format_bytes
from assay.model import Run, TaskAttempt
from assay.questions.runs.code_profiles.code_profile import has_recordings
from assay.store import Repository
from assay.store.exchange.attached_profiles import AttachedFacts, AttachedProfile, ProfileSource, profile_bundle
from assay.store.formats.profiles.pprof import read_pprof
from assay.store.formats.source import Source, decoded, sources_in

_JFR_MAGIC = b"FLR\0"
_ENDINGS = re.compile(r"(\.(gz|bz2|xz|jfr|collapsed|folded|txt|pprof|pb))+$")
_UNSAFE = re.compile(r"[^A-Za-z0-9._+@=-]+")
_NAME_CHARACTERS_MAX = 120
_MS_PER_S = 1000
_NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class ProfileImportRequest:
    """The run of a profile, and facts that its files do not state."""

    run: str
    """Beginning of the run's id."""
    kind: ProfileKind | None = None
    """What was sampled, for JFR recordings with several kinds and for collapsed stacks; None: ``cpu``."""
    interval_ms: float | None = None
    """Time between two samples of a thread, where the files do not state it."""


@dataclass(frozen=True, slots=True)
class ProfileImport:
    """The result: the facts about the profile, its samples, and the lines that are not stacks."""

    facts: AttachedFacts
    bundle: str
    parts: tuple[tuple[str, int], ...]
    """The parts, each with its count."""
    skipped_lines: int


@dataclass(slots=True)
class _Content:
    """What the files of one format hold."""

    method: ProfileSource
    kinds: set[ProfileKind] = field(default_factory=set)
    intervals_ms: set[float | None] = field(default_factory=set)
    logs: dict[str, bytes] = field(default_factory=dict)
    skipped_lines: int = 0

    def add(self, recording: str, part: str, stacks: Mapping[Stack, int]) -> None:
        """Add the stacks of one part of a recording."""
        name = stacks_file(recording, part)
        if name in self.logs:
            raise FormatError("two files have this name", where=recording, hint="rename one: its name is its recording")
        self.logs[name] = collapsed_text(stacks).encode("utf-8", "replace")


def import_profile(
    repository: Repository,
    paths: Sequence[Path],
    request: ProfileImportRequest,
    progress: Callable[[str], None] = lambda _: None,
) -> ProfileImport:
    """Attach the profile in ``paths`` to the run of the request.

    Raises RepositoryError if the run is unknown or has a profile, FormatError if a file is no profile or damaged.
    """
    run, kind = repository.run(request.run), request.kind
    bundle = profile_bundle(repository.folders.bundles, run.run_id)
    if bundle.exists() or has_recordings(repository.logs(run.run_id)):
        hint = f"to replace it, delete the folder bundles/{bundle.name}" if bundle.exists() else "choose another run"
        raise RepositoryError("this run has a profile", where=run.run_id, hint=hint)
    sources = list(sources_in(list(paths)))
    size_bytes = sum(source.path.stat().st_size for source in sources)
    if size_bytes > BYTES_MAX:
        raise FormatError(
            f"the files have {format_bytes(size_bytes)}, and a run stores {format_bytes(BYTES_MAX)} of profiles",
            where=str(paths[0]),
            hint="import fewer recordings, for example some of the task attempts",
        )
    content = _read(repository, run, sources, kind, progress)
    stated_kinds = content.kinds
    if len(stated_kinds) > 1 or (kind and stated_kinds and stated_kinds != {kind}):
        raise FormatError(
            f"the files are profiles of {' and '.join(sorted(stated_kinds))}{f', not of {kind}' if kind else ''}",
            where=str(paths[0]),
            hint="import profiles of one kind",
        )
    intervals = content.intervals_ms - {None} or {request.interval_ms}
    if len(intervals) > 1:
        intervals_text = ", ".join(f"{value:g} ms" for value in sorted(filter(None, intervals)))
        raise FormatError(f"the files have different sampling intervals: {intervals_text}", where=str(paths[0]))
    chosen_kind: ProfileKind = kind or (stated_kinds.pop() if stated_kinds else "cpu")
    names = [names for names in map(recording_and_part, content.logs) if names]
    facts = AttachedFacts(
        run_id=run.run_id,
        kind=chosen_kind,
        method=content.method,
        interval_ms=intervals.pop() if chosen_kind in ("cpu", "wall") else None,
        recordings=len({recording for recording, _ in names}),
    )
    counts = Counter[str]()
    for recording, part in names:
        stacks, _ = parse_collapsed(content.logs[stacks_file(recording, part)].decode())
        counts[part] += stacks.total()
    has_interval = facts.interval_ms is not None
    logs = {name: log for name, log in content.logs.items() if has_interval or not name.endswith(TIMES)}
    attached_path = repository.attach_profile(
        AttachedProfile(facts, logs), [(source.name, source.path) for source in sources]
    )
    return ProfileImport(facts, attached_path.name, tuple(counts.most_common()), content.skipped_lines)


def _read(
    repository: Repository,
    run: Run,
    sources: Sequence[Source],
    kind: ProfileKind | None,
    progress: Callable[[str], None],
) -> _Content:
    """Return the content of the files, which must have one format."""
    content_by_format: dict[str, _Content] = {}
    converter: JfrConverter | None = None
    tasks = {task.attempt_id: task for task in repository.tasks(run.run_id)}
    for source in sources:
        recording = _recording(source.name)
        try:
            data = source.content()
            if not data:
                raise FormatError("it is empty", hint="record it again, or leave it out")
            if data.startswith(_JFR_MAGIC):
                converter = converter or require_converter(progress)
                content = content_by_format.setdefault("jfr", _Content("imported JFR recording"))
                _add_jfr(content, converter, data, kind or "cpu", _spans(run, tasks, recording), run)
            elif b"\0" in data:
                _add_pprof(content_by_format.setdefault("pprof", _Content("imported pprof profile")), data, recording)
            else:
                text = decoded(data, source.name)
                _add_collapsed(
                    content_by_format.setdefault("text", _Content("imported collapsed stacks")), text, recording
                )
        except FormatError as error:
            raise FormatError(error.message, where=error.where or source.name, hint=error.hint) from error
    if len(content_by_format) > 1:
        raise FormatError(
            f"the files have several formats: {', '.join(content.method for content in content_by_format.values())}",
            where=sources[0].name,
            hint="import files of one format",
        )
    if not content_by_format:
        raise FormatError("there is no file", where=run.run_id, hint="name the files of the profile")
    return next(iter(content_by_format.values()))


def _recording(name: str) -> str:
    """Return the recording's name for a file: the file's name without its endings."""
    plain_name = _UNSAFE.sub("_", _ENDINGS.sub("", Path(name).name)).lstrip(".")
    return plain_name[:_NAME_CHARACTERS_MAX] or "recording"


def _spans(run: Run, tasks: Mapping[str, TaskAttempt], recording: str) -> list[PartSpan]:
    """Return the parts of a recording by time."""
    started_s = started_unix_s(run)
    if not isnan(started_s) and recording in tasks:
        return list(phase_spans([tasks[recording]], started_s, [recording]))
    if not isnan(started_s) and any(stage.start_s is not None for stage in run.stages):
        spans = stage_parts({}, run.stages, started_s).spans_of([DRIVER])
        return [span._replace(recording=recording) for span in spans]
    return [PartSpan(recording, WHOLE)]


def _add_jfr(
    content: _Content, converter: JfrConverter, data: bytes, kind: ProfileKind, spans: Sequence[PartSpan], run: Run
) -> None:
    recording = spans[0].recording
    with tempfile.NamedTemporaryFile(prefix="assay-", suffix=".jfr") as file:
        file.write(data)
        file.flush()
        path = Path(file.name)
        if kind in ("cpu", "wall"):
            samples = converter.timed_samples(path, kind)
            logs = part_logs(samples, spans)
            _check_times(samples, run)
            content.intervals_ms.add(converter.interval_ms(path, kind))
        else:
            totals: defaultdict[str, Counter[Stack]] = defaultdict(Counter)
            for span in spans:
                totals[span.part].update(converter.total(path, kind, span))
            logs = {
                stacks_file(recording, part): collapsed_text(stacks).encode("utf-8", "replace")
                for part, stacks in totals.items()
                if stacks
            }
    if not logs:
        raise FormatError(f"it has no samples of {kind}", hint="choose what it sampled: --kind cpu|wall|alloc|lock")
    if not content.logs.keys().isdisjoint(logs):
        raise FormatError("two files have this name", where=recording, hint="rename one: its name is its recording")
    content.logs |= logs


def _check_times(samples: Iterable[StackSamples], run: Run) -> None:
    """Raise FormatError if all samples are before the run's start or after its end."""
    times_ns = [time_ns for sample in samples for time_ns in sample.times_ns]
    started_s = started_unix_s(run)
    if not times_ns or isnan(started_s):
        return
    first_s, last_s = min(times_ns) / _NS_PER_S - started_s, max(times_ns) / _NS_PER_S - started_s
    if last_s < 0 or first_s > run.duration_s:
        raise FormatError(
            f"its samples are from {first_s:.0f} to {last_s:.0f} s after the run's start, and the run took "
            f"{run.duration_s:.0f} s",
            hint="choose the run that it was recorded in, or convert it to collapsed stacks, which have no times",
        )


def _add_pprof(content: _Content, data: bytes, recording: str) -> None:
    try:
        profile = read_pprof(data)
    except FormatError as error:
        raise FormatError(
            f"it is neither a JFR recording, nor collapsed stacks, nor a pprof profile: {error.message}",
            hint="`go tool pprof -raw FILE` or `jfr summary FILE` checks it",
        ) from error
    if not profile.parts:
        raise FormatError("it has no samples", hint="record it again, or leave it out")
    content.kinds.add(profile.kind)
    content.intervals_ms.add(profile.interval_ms)
    for (label, part), stacks in profile.parts.items():
        content.add(_recording(label) if label else recording, part if is_part(part) else WHOLE, stacks)


def _add_collapsed(content: _Content, text: str, recording: str) -> None:
    stacks, skipped_lines = parse_collapsed(text)
    if len(stacks) <= skipped_lines:
        raise FormatError(
            "it is neither a JFR recording, nor a pprof profile, nor collapsed stacks: "
            f"{len(stacks)} of its lines are FRAME;FRAME COUNT, and {skipped_lines} are not",
            hint="write it with `asprof -o collapsed`, `jfrconv -o collapsed` or stackcollapse.pl",
        )
    content.skipped_lines += skipped_lines
    name, _, part = recording.rpartition(".")
    recording_and_part = (name, part) if name and is_part(part) else (recording, WHOLE)
    stack_counts = Counter[Stack]()
    for stack, count in stacks.items():
        stack_counts[tuple(map(stored_frame, stack))] += count
    content.add(*recording_and_part, stack_counts)
