"""Record a profile of each JVM that executes a job, and collect the profiles after the job.

In: the kind of profile (``cpu``, ``cpu+kernel``, ``wall``, ``alloc`` or ``lock``), the hosts' transports, the parts of
the job's JVMs (:mod:`.parts`). Out: options for the JVMs of tasks, executors and drivers before the job; files for the
bundle after it: a recording of each JVM, and the stacks of each part of it with their times.
:mod:`assay.analysis.code_profile.files` defines their names.

Before the first job, assay tries the methods of a kind (:mod:`.methods`) on every host with ``java -version``. The
first method that works on all of them is used. If no method works on a host, the job runs without a profile, and the
run says why. DataNodes and NodeManagers are recorded while the job runs, if the plan requests it (:mod:`.daemons`).
"""

import asyncio
import contextlib
import io
import secrets
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.analysis.code_profile.files import DAEMONS, FOLDER, RECORDED, recording_and_part, stacks_file, times_file
from assay.analysis.code_profile.seconds import StackSamples, timed_parts, times_text
from assay.analysis.code_profile.stacks import collapsed_text
from assay.execution.engines.contract import ProgramResult
from assay.execution.engines.hadoop.profiling import agent
from assay.execution.engines.hadoop.profiling.daemons import DaemonJvm, start_on, stop_on
from assay.execution.engines.hadoop.profiling.methods import INTERVAL_MS, METHODS, ProfilingMethod
from assay.execution.engines.hadoop.profiling.parts import PartSpan, RecordedParts
from assay.execution.engines.hadoop.settings import containers
from assay.execution.hosts.clock import clock_offset
from assay.execution.hosts.transport import Transport
from assay.foundation.errors import AssayError, EngineError, FormatError, HostError
from assay.foundation.units import format_bytes
from assay.model import DAEMONS_TOO, CodedWarning, WarningCode
from assay.store.formats.profiles.otlp import timed_stacks

BYTES_MAX = 200_000_000
"""Maximum bytes of a run's recordings in the bundle. If there are more, only evenly spaced attempts are stored."""
TASK_JAVA_OPTIONS = tuple(
    containers.JAVA_OPTIONS[memory] for memory in (containers.MAP_MEMORY, containers.REDUCE_MEMORY)
)
"""Parameters with the Java options of map and reduce tasks."""
ATTEMPT = "@taskid@"
"""Variable in the Java options of a task that Hadoop replaces by the attempt's id."""
TIMED_JOB = "job"
"""Label of the job that a run times. Only its JVMs are profiled, not those of jobs that make input or check output."""
_PROBE_TIMEOUT_S = 60.0
"""Maximum time of each command that tries a profiling method, in seconds."""
_COLLECT_TIMEOUT_S = 900.0
"""Maximum time for converting or fetching a node's recordings, in seconds."""
_MESSAGE_LINES = 2
"""Maximum number of lines of a JVM's message in a reason. The first says only that the JVM did not start."""
# $1 the folder, $2 Java, $3 the converter, then its options. Lines of stdin: recording, file to write, from and to in
# milliseconds. A part may consist of several times, so its stacks are appended.
_CONVERT = """cd "$1" || exit 1; java="$2"; jar="$3"; shift 3
while read -r recording file from to; do
  "$java" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -jar "$jar" "$@" ${from:+--from $from} ${to:+--to $to} \
    "$recording.jfr" converted </dev/null >/dev/null 2>&1 && cat converted >>"$file"
done
"""
_STACKS, _TIMED = ("-o", "collapsed"), ("-o", "otlp")
"""The converter's options for stacks without times, and with them."""
_TIMED_SUFFIX = ".otlp"
"""Ending of the converter's file with times."""


@dataclass(frozen=True, slots=True)
class ProfiledJob:
    """The recordings of one job: their folder on every host, and for each node the lead of its clock over this
    machine's, in seconds."""

    folder: str
    ahead_s: Mapping[str, float]
    daemons: tuple[DaemonJvm, ...] = ()
    """The daemons that are recorded."""
    problems: tuple[str, ...] = ()
    """Why other daemons are not recorded."""


@dataclass(frozen=True, slots=True)
class ProfileRecorder:
    """A method that works on all hosts, or the reason why no method works; ``folder`` is the same on every host."""

    kind: str
    method: ProfilingMethod | None
    reason: str
    """Why better methods, or all methods, do not work; empty if the best method works."""
    hosts: Mapping[str, Transport]
    java: str
    folder: str
    with_daemons: bool = False
    """Whether DataNodes and NodeManagers are recorded too."""

    def facts(self, stored_count: int, attempts: int) -> dict[str, object]:
        """Return the facts about the profile for the run's environment."""
        return {
            "kind": self.kind,
            "method": self.method.name if self.method else None,
            "reason": self.reason or None,
            "interval_ms": INTERVAL_MS if self.kind in ("cpu", "wall") else None,
            "attempts_stored": stored_count,
            "attempts": attempts,
        }

    async def begin(self, pid_files: Mapping[str, Mapping[str, str]] | None = None) -> ProfiledJob | None:
        """Make a folder for the recordings of one job on every host, and measure the hosts' clocks; None without a
        method.

        Every user may write there: an attached cluster runs containers as another user. ``pid_files``: for
        each node, the pid files of the daemons that a profile can include, by the daemon's name.
        """
        if self.method is None:
            return None
        folder = f"{self.folder}/{secrets.token_hex(6)}"
        await _run_on_all(self.hosts, ["mkdir", "-p", "-m", "1777", folder])
        ahead_s = await asyncio.gather(*map(_clock_ahead_s, self.hosts.values()))
        job = ProfiledJob(folder, dict(zip(self.hosts, ahead_s, strict=True)))
        if not self.with_daemons:
            return job
        daemons = [
            DaemonJvm(node, name, pid_file)
            for node, files in (pid_files or {}).items()
            for name, pid_file in files.items()
            if name in DAEMONS
        ]
        if not self.method.event:
            return replace(job, problems=(f"no daemon is profiled: {self.method.name} records only new JVMs",))
        library, method = f"{self.folder}/agent.so", self.method
        reasons = await asyncio.gather(
            *(start_on(self.hosts[jvm.node], jvm, self.java, library, method, folder) for jvm in daemons)
        )
        return replace(
            job,
            daemons=tuple(jvm for jvm, reason in zip(daemons, reasons, strict=True) if reason is None),
            problems=tuple(reason for reason in reasons if reason is not None),
        )

    def option(self, profiled_job: ProfiledJob, recording: str) -> str:
        """Return the option of a JVM that writes ``recording``, which may have variables that the engine replaces."""
        assert self.method is not None
        return self.method.option(f"{self.folder}/agent.so", f"{profiled_job.folder}/{recording}{RECORDED}")

    async def end(self, profiled_job: ProfiledJob | None, result: ProgramResult, parts: RecordedParts) -> ProgramResult:
        """Return the result with the profiles of its JVMs, and remove their folder.

        ``profiled_job``: from :meth:`begin`. Profiles that are missing or unreadable are counted in a warning; they
        never make a run fail.
        """
        if profiled_job is None:
            return self._result_without_profile(result, parts.jvms)
        logs, problems = dict[str, bytes](), list(profiled_job.problems)
        daemons = {jvm.recording: jvm.name for jvm in profiled_job.daemons}
        try:
            library = f"{self.folder}/agent.so"
            await asyncio.gather(
                *(stop_on(self.hosts[jvm.node], jvm, self.java, library) for jvm in profiled_job.daemons)
            )
            sizes, node_of = await self._sizes(profiled_job.folder)
            stored_names = evenly_spaced(sizes, BYTES_MAX)
            if len(stored_names) < len(sizes):
                problems.append(
                    f"{len(stored_names)} of {len(sizes)} recordings are stored, evenly spaced: all of them "
                    f"have {format_bytes(sum(sizes.values()))}, and a run stores {format_bytes(BYTES_MAX)}"
                )
            spans = list(parts.spans_of([name for name in stored_names if name not in daemons]))
            spans += [PartSpan(name, daemons[name]) for name in stored_names if name in daemons]
            for node in dict.fromkeys(node_of[name] for name in stored_names):
                node_spans = [span for span in spans if node_of[span.recording] == node]
                logs |= await self._fetch(node, profiled_job, node_spans, parts.clock_node or node)
            await _run_on_all(self.hosts, ["rm", "-rf", profiled_job.folder])
        except (HostError, tarfile.TarError) as error:
            problems.append(f"profiles could not be collected: {error}")
        clocks = {
            "clock_ahead_s": {node: round(ahead_s, 3) for node, ahead_s in profiled_job.ahead_s.items() if ahead_s}
        }
        readable_recordings = {names[0] for names in map(recording_and_part, logs) if names}
        expected_recordings = parts.expected_recordings | daemons.keys()
        # Problems while collecting already explain missing profiles.
        if (missing_count := len(expected_recordings - readable_recordings)) and problems == list(
            profiled_job.problems
        ):
            problems.append(f"{missing_count} of {len(expected_recordings)} JVMs have no readable profile")
        return replace(
            result,
            logs={**result.logs, **logs},
            warnings=(*result.warnings, *(CodedWarning(WarningCode.LEFT_OUT, message) for message in problems)),
            environment={
                **result.environment,
                "profile": {**self.facts(len(readable_recordings), parts.jvms + len(daemons)), **clocks},
            },
        )

    def _result_without_profile(self, result: ProgramResult, jvms: int) -> ProgramResult:
        """Return the result of a job without a profile of its JVMs, with the reason."""
        warning = CodedWarning(WarningCode.LEFT_OUT, f"no {self.kind} profile was recorded: {self.reason}")
        facts = self.facts(0, jvms)
        return replace(
            result, warnings=(*result.warnings, warning), environment={**result.environment, "profile": facts}
        )

    async def _sizes(self, folder: str) -> tuple[dict[str, int], dict[str, str]]:
        """Return each recording's size in bytes and its node, by name. A lab's nodes may share a file system."""
        sizes, node_of = dict[str, int](), dict[str, str]()
        command = ["find", folder, "-name", f"*{RECORDED}", "-printf", "%s %f\\n"]
        for node, output in (await _run_on_all(self.hosts, command)).items():
            for line in output.decode().splitlines():
                size, _, name = line.partition(" ")
                recording = name.removesuffix(RECORDED)
                if int(size) and recording not in sizes:
                    sizes[recording], node_of[recording] = int(size), node
        return dict(sorted(sizes.items())), node_of

    async def _fetch(self, node: str, job: ProfiledJob, spans: Sequence[PartSpan], clock_node: str) -> dict[str, bytes]:
        """Convert recordings on their node, and return recordings, stacks and times by name.

        ``spans``: times by the clock of the node ``clock_node``; samples have times by the clock of ``node``.
        """
        assert self.method is not None
        folder, ahead_s = job.folder, job.ahead_s.get(node, 0.0)
        spans = [
            span.shifted(-job.ahead_s.get(clock_node, 0.0) + (0.0 if self.method.has_times else ahead_s))
            for span in spans
        ]
        recordings = list(dict.fromkeys(span.recording for span in spans))
        if self.method.has_times:
            outputs = {f"{name}{_TIMED_SUFFIX}": f"{name} {name}{_TIMED_SUFFIX}" for name in recordings}
            lines, output_options = list(outputs.values()), _TIMED
        else:
            files = [stacks_file(span.recording, span.part).removeprefix(FOLDER) for span in spans]
            outputs = dict.fromkeys(files, "")
            rows = [(span.recording, file, *span[2:]) for span, file in zip(spans, files, strict=True)]
            lines, output_options = [" ".join(row).rstrip() for row in rows], _STACKS
        transport = self.hosts[node]
        command = ["sh", "-c", _CONVERT, "sh", folder, self.java, f"{self.folder}/{agent.CONVERTER}"]
        await transport.run(
            [*command, *self.method.converter_options, *output_options],
            timeout_s=_COLLECT_TIMEOUT_S,
            stdin="".join(f"{line}\n" for line in lines).encode(),
            check=False,
        )
        archive_output = await transport.run(
            ["tar", "-C", folder, "--ignore-failed-read", "-cf", "-", "-T", "-"],
            timeout_s=_COLLECT_TIMEOUT_S,
            stdin="".join(f"{name}\n" for name in [*(f"{name}{RECORDED}" for name in recordings), *outputs]).encode(),
            check=False,
        )
        with tarfile.open(fileobj=io.BytesIO(archive_output.stdout)) as archive:
            archive_files = {member.name: archive.extractfile(member) for member in archive.getmembers()}
            contents = {name: file.read() for name, file in archive_files.items() if file is not None}
        return await asyncio.to_thread(_logs_of, contents, spans, ahead_s)


def _logs_of(files: Mapping[str, bytes], spans: Sequence[PartSpan], ahead_s: float) -> dict[str, bytes]:
    """Return the logs of a node's files. Files with timed stacks are cut into parts. Unreadable files are omitted.

    ``ahead_s``: lead of the node's clock over this machine's clock, which gives the times of ``spans``.
    """
    logs = dict[str, bytes]()
    for name, content in files.items():
        if not name.endswith(_TIMED_SUFFIX):
            logs[f"{FOLDER}{name}"] = content
            continue
        recording = name.removesuffix(_TIMED_SUFFIX)
        with contextlib.suppress(FormatError):
            samples = [sample.shifted(-ahead_s) for sample in timed_stacks(content)]
            logs |= part_logs(samples, [span for span in spans if span.recording == recording])
    return logs


def part_logs(samples: Sequence[StackSamples], spans: Sequence[PartSpan]) -> dict[str, bytes]:
    """Return the stacks and times of each part of one recording, by the names of their files."""
    logs = dict[str, bytes]()
    for part, times in timed_parts(samples, [(span.part, float(span.from_ms or 0)) for span in spans]).items():
        logs[stacks_file(spans[0].recording, part)] = collapsed_text(times.total()).encode("utf-8", "replace")
        logs[times_file(spans[0].recording, part)] = times_text(times).encode()
    return logs


def evenly_spaced(sizes: Mapping[str, int], bytes_max: int) -> list[str]:
    """Return evenly spaced names whose sizes sum to at most ``bytes_max``; all of them if they fit."""
    names, step = list(sizes), 1
    while sum(sizes[name] for name in names[::step]) > bytes_max and step <= len(names):
        step += 1
    spaced_names = names[::step]
    return spaced_names if sum(sizes[name] for name in spaced_names) <= bytes_max else []


class ProfileRecorders:
    """The recorders of a cluster, one for each kind of profile. Each is prepared once."""

    def __init__(self, hosts: Mapping[str, Transport], java: str, home: str) -> None:
        """Prepare nothing yet. ``hosts``: all hosts that may run a profiled JVM; ``home``: assay's folder on them."""
        self._hosts, self._java, self._home = hosts, java, home
        self._prepared: dict[str, ProfileRecorder] = {}

    async def recorder(self, value: str | None, show: Callable[[str], None]) -> ProfileRecorder | None:
        """Return the recorder for the plan's ``value`` of ``profile``; None if no profile is requested."""
        if value is None:
            return None
        kind = value.removesuffix(DAEMONS_TOO)
        if kind not in self._prepared:
            self._prepared[kind] = await prepare(kind, self._hosts, self._java, self._home, show)
        return replace(self._prepared[kind], with_daemons=value.endswith(DAEMONS_TOO))


async def prepare(
    kind: str,
    hosts: Mapping[str, Transport],
    java: str,
    home: str,
    show: Callable[[str], None],
    methods: Sequence[ProfilingMethod] = (),
) -> ProfileRecorder:
    """Copy async-profiler to the hosts, and return a recorder with the first method that works on all of them.

    ``methods``: the methods to try; by default all of ``kind``.
    """
    show("preparing the profiler")
    folder, reasons = f"{home}/profiler", list[str]()
    recorder = ProfileRecorder(kind.partition("+")[0], None, "", hosts, java, folder)
    try:
        files = await asyncio.to_thread(agent.require, show)
        await asyncio.gather(*(_install(transport, files, folder) for transport in hosts.values()))
    except AssayError as error:
        return replace(recorder, reason=str(error))
    for method in methods or METHODS[kind]:
        answers = await asyncio.gather(*(_probe(transport, method, folder, java) for transport in hosts.values()))
        problem = next((answer for answer in answers if answer), None)
        if problem is None:
            return replace(recorder, method=method, reason="; ".join(reasons))
        reasons.append(f"{method.name}: {problem}")
    return replace(recorder, reason="; ".join(reasons))


async def _install(transport: Transport, files: Path, folder: str) -> None:
    machine = (await transport.run(["uname", "-m"], timeout_s=_PROBE_TIMEOUT_S)).stdout.decode().strip()
    if machine not in agent.LIBRARIES:
        raise EngineError(f"async-profiler has no library for {machine}", where=transport.name)
    await transport.write_file(f"{folder}/agent.so", (files / agent.LIBRARIES[machine]).read_bytes(), 0o755)
    await transport.write_file(f"{folder}/{agent.CONVERTER}", (files / agent.CONVERTER).read_bytes())


async def _probe(transport: Transport, method: ProfilingMethod, folder: str, java: str) -> str | None:
    """Return why ``method`` does not work on a host; None if a JVM wrote a recording with it."""
    file = f"{folder}/probe-{secrets.token_hex(4)}.jfr"
    option = method.option(f"{folder}/agent.so", file)
    try:
        jvm_result = await transport.run([java, option, "-version"], timeout_s=_PROBE_TIMEOUT_S, check=False)
        file_result = await transport.run(["test", "-s", file], timeout_s=_PROBE_TIMEOUT_S, check=False)
        await transport.run(["rm", "-f", file], timeout_s=_PROBE_TIMEOUT_S, check=False)
    except HostError as error:
        return str(error)
    if jvm_result.exit_status == 0 and file_result.exit_status == 0:
        return None
    lines = (jvm_result.stdout + b"\n" + jvm_result.stderr).decode(errors="replace").strip().splitlines()
    message = " ".join(line.strip() for line in lines[:_MESSAGE_LINES]) or "no recording was written"
    return f"{message} ({transport.name})"


async def _clock_ahead_s(host: Transport) -> float:
    """Return how far a host's clock is ahead of this machine's; 0 if this is within the uncertainty or unknown."""
    try:
        return (await clock_offset(host, _PROBE_TIMEOUT_S)).significant_s
    except HostError:
        return 0.0


async def _run_on_all(hosts: Mapping[str, Transport], command: Sequence[str]) -> dict[str, bytes]:
    answers = await asyncio.gather(*(host.run(command, timeout_s=_PROBE_TIMEOUT_S) for host in hosts.values()))
    return {node: answer.stdout for node, answer in zip(hosts, answers, strict=True)}
