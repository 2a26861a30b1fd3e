"""Record a profile of each task attempt of a job, and collect the profiles after the job.

In: the kind of profile (``cpu``, ``wall``, ``alloc`` or ``lock``), the workers' transports, the job's task attempts.
Out: options for the tasks' JVMs before the job; files for the bundle after it: ``profiles/ATTEMPT.jfr``, the recording,
and ``profiles/ATTEMPT.PHASE.collapsed``, its stacks in each phase of the attempt as collapsed text, one line for each
stack with its count.

Before the first job, assay tries the methods of a kind on every worker with ``java -version``. The first method that
works on all of them is used: async-profiler with perf_events, async-profiler with CPU timers (``ctimer``, which
needs no perf_events), then the JDK's Flight Recorder, which needs no native library. A host without a working method is
no error: the job runs unprofiled, and the run says why.
"""

import asyncio
import io
import secrets
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.execution.engines.contract import ProgramResult
from assay.execution.engines.hadoop.profiling import agent
from assay.execution.hosts.transport import Transport
from assay.foundation.errors import AssayError, EngineError, HostError
from assay.foundation.units import format_bytes
from assay.model import CodedWarning, Task, WarningCode

BYTES_MAX = 200_000_000
"""Maximum bytes of a run's recordings in the bundle. If there are more, only evenly spaced attempts are stored."""
INTERVAL_MS = 10
"""Sampling interval of a thread, in milliseconds of CPU time, or of wall time for ``wall``."""
_PROBE_TIMEOUT_S = 60.0
"""Maximum time of each command that tries a profiling method, in seconds."""
_COLLECT_TIMEOUT_S = 900.0
"""Maximum time for converting or fetching a node's recordings, in seconds."""
_MESSAGE_LINES = 2
"""Maximum number of lines of a JVM's message in a reason. The first says only that the JVM did not start."""
# $1 the folder, $2 Java, $3 the converter, then its options. Lines of stdin: file, phase, from and to in milliseconds.
_CONVERT = """cd "$1" || exit 1; java="$2"; jar="$3"; shift 3
while read -r file phase from to; do
  "$java" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -jar "$jar" "$@" ${from:+--from $from} ${to:+--to $to} \
    "$file.jfr" "$file.$phase.collapsed" </dev/null >/dev/null 2>&1
done
"""


@dataclass(frozen=True, slots=True)
class ProfilingMethod:
    """One way to record a profile: its name, the JVM option with ``{library}`` and ``{file}``, and options of the
    converter."""

    name: str
    option: str
    convert: tuple[str, ...]


def _async(event: str, convert: tuple[str, ...], name: str = "") -> ProfilingMethod:
    option = f"-agentpath:{{library}}=start,{event},jfr,file={{file}}"
    return ProfilingMethod(f"async-profiler {agent.VERSION}, {name or event.split(',')[0]}", option, convert)


def _recorder(convert: tuple[str, ...]) -> ProfilingMethod:
    option = "-XX:StartFlightRecording=filename={file},settings=profile,dumponexit=true"
    return ProfilingMethod("JDK Flight Recorder", option, convert)


METHODS: Mapping[str, tuple[ProfilingMethod, ...]] = {
    "cpu": (
        _async(f"event=cpu,interval={INTERVAL_MS}ms", ("--cpu",), "perf_events"),
        _async(f"event=ctimer,interval={INTERVAL_MS}ms", ("--cpu",), "ctimer"),
        _recorder(()),
    ),
    "wall": (_async(f"event=wall,interval={INTERVAL_MS}ms", ("--wall",), "wall"),),
    "alloc": (_async("event=alloc", ("--alloc", "--total"), "alloc"), _recorder(("--alloc", "--total"))),
    "lock": (_async("event=lock", ("--lock", "--total"), "lock"), _recorder(("--lock", "--total"))),
}
"""The methods of each kind, best first."""


@dataclass(frozen=True, slots=True)
class ProfileRecorder:
    """A method that works on all workers, or the reason why no method works; ``folder`` is the same on every worker."""

    kind: str
    method: ProfilingMethod | None
    reason: str
    """Why better methods, or all methods, do not work; empty if the best method works."""
    workers: Mapping[str, Transport]
    java: str
    folder: str

    def facts(self, stored: int, attempts: int) -> dict[str, object]:
        """Return the facts about the profile for the run's environment."""
        return {
            "kind": self.kind,
            "method": self.method.name if self.method else None,
            "reason": self.reason or None,
            "interval_ms": INTERVAL_MS if self.kind in ("cpu", "wall") else None,
            "attempts_stored": stored,
            "attempts": attempts,
        }

    async def begin(self) -> str:
        """Make a folder for the recordings of one job on every worker and return its path."""
        folder = f"{self.folder}/{secrets.token_hex(6)}"
        await _on_all(self.workers, ["mkdir", "-p", folder])
        return folder

    def option(self, folder: str) -> str:
        """Return the option of the tasks' JVMs; Hadoop replaces ``@taskid@`` by the attempt's id."""
        assert self.method is not None
        return self.method.option.format(library=f"{self.folder}/agent.so", file=f"{folder}/@taskid@.jfr")

    async def end(self, folder: str, result: ProgramResult) -> ProgramResult:
        """Return the result with the profiles of its task attempts, and remove their folder.

        Profiles that are missing or unreadable are counted in a warning; they never make a run fail.
        """
        tasks, logs, problems = result.tasks, dict[str, bytes](), []
        try:
            sizes, at = await self._sizes(folder)
            chosen = sampled(sizes, BYTES_MAX)
            if len(chosen) < len(sizes):
                problems.append(
                    f"profiles of {len(chosen)} of {len(sizes)} task attempts are stored, evenly spaced: all of them "
                    f"have {format_bytes(sum(sizes.values()))}, and a run stores {format_bytes(BYTES_MAX)}"
                )
            cuts = list(phase_cuts(tasks, result.started_unix_s, chosen))
            for node in dict.fromkeys(at[name] for name in chosen):
                logs |= await self._fetched(node, folder, [cut for cut in cuts if at[cut[0]] == node])
            await _on_all(self.workers, ["rm", "-rf", folder])
        except (HostError, tarfile.TarError) as error:
            problems.append(f"profiles could not be collected: {error}")
        readable = {name.split("/")[-1].split(".")[0] for name in logs if name.endswith(".collapsed")}
        ended = {task.attempt_id for task in tasks if task.status == "succeeded"}
        if ended - readable and not problems:
            problems.append(f"{len(ended - readable)} of {len(ended)} task attempts have no readable profile")
        return replace(
            result,
            logs={**result.logs, **logs},
            warnings=(*result.warnings, *(CodedWarning(WarningCode.LEFT_OUT, words) for words in problems)),
            environment={**result.environment, "profile": self.facts(len(readable), len(tasks))},
        )

    def unprofiled(self, result: ProgramResult) -> ProgramResult:
        """Return the result of a job without a profile, with the reason."""
        warning = CodedWarning(WarningCode.LEFT_OUT, f"no {self.kind} profile was recorded: {self.reason}")
        facts = self.facts(0, len(result.tasks))
        return replace(
            result, warnings=(*result.warnings, warning), environment={**result.environment, "profile": facts}
        )

    async def _sizes(self, folder: str) -> tuple[dict[str, int], dict[str, str]]:
        """Return each recording's size in bytes and its node, by attempt. A lab's nodes may share a file system."""
        sizes, at = dict[str, int](), dict[str, str]()
        command = ["find", folder, "-name", "*.jfr", "-printf", "%s %f\\n"]
        for node, output in (await _on_all(self.workers, command)).items():
            for line in output.decode().splitlines():
                size, _, name = line.partition(" ")
                attempt = name.removesuffix(".jfr")
                if int(size) and attempt not in sizes:
                    sizes[attempt], at[attempt] = int(size), node
        return dict(sorted(sizes.items())), at

    async def _fetched(self, node: str, folder: str, cuts: Sequence[tuple[str, str, str, str]]) -> dict[str, bytes]:
        """Convert recordings on their node, and return recordings and stacks by name."""
        assert self.method is not None
        transport, lines = self.workers[node], "".join(f"{' '.join(cut).rstrip()}\n" for cut in cuts)
        command = ["sh", "-c", _CONVERT, "sh", folder, self.java, f"{self.folder}/{agent.CONVERTER}"]
        await transport.run(
            [*command, *self.method.convert], timeout_s=_COLLECT_TIMEOUT_S, stdin=lines.encode(), check=False
        )
        names = [f"{name}.jfr" for name in dict.fromkeys(cut[0] for cut in cuts)]
        listed = "".join(f"{name}\n" for name in [*names, *(f"{cut[0]}.{cut[1]}.collapsed" for cut in cuts)])
        packed = await transport.run(
            ["tar", "-C", folder, "--ignore-failed-read", "-cf", "-", "-T", "-"],
            timeout_s=_COLLECT_TIMEOUT_S,
            stdin=listed.encode(),
            check=False,
        )
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            files = {member.name: archive.extractfile(member) for member in archive.getmembers()}
            return {f"profiles/{name}": file.read() for name, file in files.items() if file is not None}


def sampled(sizes: Mapping[str, int], bytes_max: int) -> list[str]:
    """Return evenly spaced names whose sizes sum to at most ``bytes_max``; all of them if they fit."""
    names, step = list(sizes), 1
    while sum(sizes[name] for name in names[::step]) > bytes_max and step <= len(names):
        step += 1
    chosen = names[::step]
    return chosen if sum(sizes[name] for name in chosen) <= bytes_max else []


def phase_cuts(
    tasks: Iterable[Task], started_unix_s: float, chosen: Sequence[str]
) -> Iterator[tuple[str, str, str, str]]:
    """Yield attempt, phase, and the phase's start and end as Unix milliseconds; empty where the phase is open.

    The first phase starts with the JVM and the last ends with it, so each sample of a known attempt has a phase. The
    samples of an attempt that the job history does not have are in the phase ``unknown``.
    """
    known = {task.attempt_id: task for task in tasks}
    for name in chosen:
        task = known.get(name)
        if task is None:
            yield name, "unknown", "", ""
            continue
        ends = [("shuffle", task.shuffle_end_s), ("merge", task.merge_end_s)] if task.kind == "reduce" else []
        at = "1"
        for phase, end_s in ends:
            if end_s is not None:
                until = str(round((started_unix_s + end_s) * 1000))
                yield name, phase, at, until
                at = until
        yield name, task.kind, at if at != "1" else "", ""


async def prepare(
    kind: str, workers: Mapping[str, Transport], java: str, home: str, show: Callable[[str], None]
) -> ProfileRecorder:
    """Copy async-profiler to the workers, and return a recorder with the first method that works on all of them."""
    show("preparing the profiler")
    folder, reasons = f"{home}/profiler", list[str]()
    recorder = ProfileRecorder(kind, None, "", workers, java, folder)
    try:
        files = await asyncio.to_thread(agent.require, show)
        await asyncio.gather(*(_install(transport, files, folder) for transport in workers.values()))
    except AssayError as error:
        return replace(recorder, reason=str(error))
    for method in METHODS[kind]:
        answers = await asyncio.gather(*(_probe(node, method, folder, java) for node in workers.values()))
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
    option = method.option.format(library=f"{folder}/agent.so", file=file)
    try:
        done = await transport.run([java, option, "-version"], timeout_s=_PROBE_TIMEOUT_S, check=False)
        written = await transport.run(["test", "-s", file], timeout_s=_PROBE_TIMEOUT_S, check=False)
        await transport.run(["rm", "-f", file], timeout_s=_PROBE_TIMEOUT_S, check=False)
    except HostError as error:
        return str(error)
    if done.exit_status == 0 and written.exit_status == 0:
        return None
    lines = (done.stdout + b"\n" + done.stderr).decode(errors="replace").strip().splitlines()
    message = " ".join(line.strip() for line in lines[:_MESSAGE_LINES]) or "no recording was written"
    return f"{message} ({transport.name})"


async def _on_all(workers: Mapping[str, Transport], command: Sequence[str]) -> dict[str, bytes]:
    answers = await asyncio.gather(*(worker.run(command, timeout_s=_PROBE_TIMEOUT_S) for worker in workers.values()))
    return {node: answer.stdout for node, answer in zip(workers, answers, strict=True)}
