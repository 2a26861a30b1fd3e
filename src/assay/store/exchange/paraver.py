"""Write a run as a trace for Paraver (tools.bsc.es/paraver): states of containers, events, and counters of devices.

In: a run, its task attempts and its trace. Out: the texts of the three files of a trace, by file extension. The
format is that of BSC's document "Paraver: Trace generation": ``.prv`` has a header and a line for each record, ``.pcf``
the names of states and events, ``.row`` the names of nodes and threads. docs/reference/paraver.md describes what assay
writes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from assay.analysis.run_profile.series import WINDOWS_MAX, Series, series_of
from assay.model import Run, TaskAttempt, Trace
from assay.store.exchange.containers import containers_of, parts_of

PHASES, ATTEMPTS, COUNTERS = 91_000_000, 92_000_000, 93_000_000
"""Event types of the first phase, of task attempts, and of the first counter."""
_NS_PER_S = 1_000_000_000
_STATE, _EVENT = 1, 2
_THOUSANDTHS = 1000
"""Factor of counters other than bytes, because Paraver's values are whole numbers."""
_COLOURS = ((210, 210, 210), (42, 120, 214), (224, 117, 45), (120, 94, 190), (38, 150, 90), (190, 60, 90), (90, 90, 90))


@dataclass(slots=True)
class _Files:
    """Records as time and text, names of states and events, and for each node the names of its threads."""

    start_s: float
    threads: dict[str, list[str]] = field(default_factory=dict)
    records: list[tuple[int, str]] = field(default_factory=list)
    states: dict[str, int] = field(default_factory=lambda: {"idle": 0})
    events: dict[int, tuple[str, list[str]]] = field(default_factory=dict)

    def ns(self, t_s: float) -> int:
        return round((t_s - self.start_s) * _NS_PER_S)

    def state(self, thread_object: str, name: str, start_s: float, end_s: float) -> None:
        number = self.states.setdefault(name, len(self.states))
        start_ns = self.ns(start_s)
        self.records.append((start_ns, f"{_STATE}:{thread_object}:{start_ns}:{max(start_ns, self.ns(end_s))}:{number}"))

    def event(self, thread_object: str, t_s: float, kind: int, value: int) -> None:
        self.records.append((self.ns(t_s), f"{_EVENT}:{thread_object}:{self.ns(t_s)}:{kind}:{value}"))


def paraver_files(run: Run, tasks: Sequence[TaskAttempt], trace: Trace) -> Mapping[str, str]:
    """Return the run as a trace for Paraver: the texts of ``.prv``, ``.pcf`` and ``.row``."""
    series = series_of(trace, windows=WINDOWS_MAX)
    files = _Files(min([0.0, *(line.t_s[0] for line in series if line.t_s), *(task.start_s for task in tasks)]))
    nodes = sorted({task.node for task in tasks} | set(trace.node)) or ["run"]
    containers = {node: containers_of([task for task in tasks if task.node == node]) for node in nodes}
    for node in nodes:
        name = node or "no node"
        files.threads[node] = [name, *(f"{name} container {number}" for number in range(1, len(containers[node]) + 1))]
    _add_phases(files, run, _object_of(files, nodes[0], 0))
    numbers = {task.attempt_id: number for number, task in enumerate(tasks, start=1)}
    files.events[ATTEMPTS] = ("Task attempt", ["none", *numbers])
    for node in nodes:
        for thread, attempts in enumerate(containers[node], start=1):
            _add_attempts(files, _object_of(files, node, thread), attempts, numbers)
    _add_counters(files, series)
    end_s = max([run.duration_s, *(task.end_s for task in tasks), *(line.t_s[-1] for line in series if line.t_s)])
    return {".prv": _prv(files, files.ns(end_s)), ".pcf": _pcf(files), ".row": _row(files)}


def _object_of(files: _Files, node: str, thread: int) -> str:
    """Return CPU, application, task and thread: each thread has its CPU, and each node is a task."""
    nodes = list(files.threads)
    threads_before = sum(len(files.threads[name]) for name in nodes[: nodes.index(node)])
    return f"{threads_before + thread + 1}:1:{nodes.index(node) + 1}:{thread + 1}"


def _add_phases(files: _Files, run: Run, thread_object: str) -> None:
    for kind, phase in enumerate(run.phases, start=PHASES):
        files.events[kind] = (f"Phase {phase.name}", ["ends", "starts"])
        files.event(thread_object, phase.start_s, kind, 1)
        files.event(thread_object, phase.end_s, kind, 0)


def _add_attempts(
    files: _Files, thread_object: str, attempts: Iterable[TaskAttempt], numbers: Mapping[str, int]
) -> None:
    idle_from_s = files.start_s
    for task in attempts:
        files.state(thread_object, "idle", idle_from_s, task.start_s)
        for name, start_s, end_s in list(parts_of(task)) or [(task.kind, task.start_s, task.end_s)]:
            files.state(thread_object, name, start_s, end_s)
        files.event(thread_object, task.start_s, ATTEMPTS, numbers[task.attempt_id])
        files.event(thread_object, task.end_s, ATTEMPTS, 0)
        idle_from_s = task.end_s


def _add_counters(files: _Files, series: Sequence[Series]) -> None:
    kinds: dict[tuple[str, str], int] = {}
    for line in series:
        kind = kinds.setdefault((line.subject, line.metric), COUNTERS + len(kinds))
        unit = f"{line.unit}/s" if line.counter else line.unit
        factor = 1 if line.unit == "bytes" else _THOUSANDTHS
        files.events[kind] = (f"{line.subject} {line.metric} ({unit}{'' if factor == 1 else ', thousandths'})", [])
        for t_s, value in zip(line.t_s, line.values, strict=True):
            files.event(_object_of(files, line.node, 0), t_s, kind, round(value * factor))


def _prv(files: _Files, end_ns: int) -> str:
    sizes = [len(names) for names in files.threads.values()]
    tasks = ",".join(f"{size}:{node}" for node, size in enumerate(sizes, start=1))
    header = (
        f"#Paraver (01/01/1970 at 00:00):{end_ns}_ns:{len(sizes)}({','.join(map(str, sizes))}):1:{len(sizes)}({tasks})"
    )
    return "\n".join([header, *(text for _, text in sorted(files.records, key=lambda record: record[0]))]) + "\n"


def _pcf(files: _Files) -> str:
    lines = ["DEFAULT_OPTIONS", "", "LEVEL               THREAD", "UNITS               NANOSEC", ""]
    lines += ["STATES", *(f"{number}    {name}" for name, number in files.states.items()), "", "STATES_COLOR"]
    colours = [_COLOURS[number % len(_COLOURS)] for number in files.states.values()]
    lines += [f"{number}    {{{red},{green},{blue}}}" for number, (red, green, blue) in enumerate(colours)]
    for kind, (name, values) in files.events.items():
        lines += ["", "EVENT_TYPE", f"0    {kind}    {name}"]
        if values:
            lines += ["VALUES", *(f"{number}      {value}" for number, value in enumerate(values))]
    return "\n".join(lines) + "\n"


def _row(files: _Files) -> str:
    threads = [name for names in files.threads.values() for name in names]
    levels = (("NODE", list(files.threads)), ("THREAD", threads))
    return "\n".join("\n".join([f"LEVEL {level} SIZE {len(names)}", *names, ""]) for level, names in levels)
