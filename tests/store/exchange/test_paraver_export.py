"""Test the export for Paraver: states, events and counters that are read back are those of the bundle."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.analysis.run_profile.series import WINDOWS_MAX, series_of
from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.main import assay
from assay.model import Run, TaskAttempt, Trace
from assay.store import Repository
from assay.store.exchange.paraver import ATTEMPTS, COUNTERS, PHASES
from builders import make_run
from detail_support import hybrid_run, hybrid_tasks, hybrid_trace

ThreadNumber = tuple[int, int]


class ReadTrace:
    """A trace that was read back: states, and events by type, with the names of nodes and threads."""

    def __init__(self, prv: Path) -> None:
        pcf, row = (prv.with_suffix(suffix).read_text() for suffix in (".pcf", ".row"))
        head, *lines = prv.read_text().splitlines()
        date = r"\d\d/\d\d/\d{4} at \d\d:\d\d"
        match = re.fullmatch(rf"#Paraver \({date}\):(\d+)_ns:(\d+)\(([\d,]+)\):1:(\d+)\((.+)\)", head)
        assert match
        self.end_ns = int(match[1])
        sizes = [int(size) for size in match[3].split(",")]
        assert match[5] == ",".join(f"{size}:{number}" for number, size in enumerate(sizes, start=1))
        _, nodes, thread_names = re.split(r"LEVEL \w+ SIZE \d+\n", row)
        self.nodes, names = nodes.split("\n")[:-2], thread_names.split("\n")[:-1]
        assert (len(self.nodes), len(names)) == (len(sizes), sum(sizes))
        threads = [(task, thread) for task, size in enumerate(sizes, start=1) for thread in range(1, size + 1)]
        self.states: list[tuple[ThreadNumber, float, float, str]] = []
        self.events: defaultdict[int, list[tuple[ThreadNumber, float, int]]] = defaultdict(list)
        state_names = dict(re.findall(r"^(\d+)    ([a-z]+)$", pcf, re.MULTILINE))
        self.types = {int(kind): name for kind, name in re.findall(r"^0    (\d+)    (.+)$", pcf, re.MULTILINE)}
        attempts = pcf.split("Task attempt\n")[1].split("EVENT")[0]
        self.attempts = dict(re.findall(r"^(\d+)      (\S+)$", attempts, re.MULTILINE))
        times = []
        for line in lines:
            kind, cpu, application, task, thread, *rest = map(int, line.split(":"))
            assert application == 1
            assert threads[cpu - 1] == (task, thread)
            times.append(rest[0])
            if kind == 1:
                self.states.append(((task, thread), rest[0] / 1e9, rest[1] / 1e9, state_names[str(rest[2])]))
            else:
                assert kind == 2
                self.events[rest[1]].append(((task, thread), rest[0] / 1e9, rest[2]))
        assert times == sorted(times)
        assert not times or max(times) <= self.end_ns


def exported(folder: Path, run: Run, tasks: list[TaskAttempt], trace: Trace | None = None) -> ReadTrace:
    store = Repository.create(folder / "repository")
    store.publish(run, tasks=tasks, trace=trace)
    command = ["export", "paraver", "--run", run.run_id, "--repository", str(store.root)]
    done = CliRunner().invoke(assay, [*command, "-o", str(folder / "run.prv")], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    for wrong in ([], ["-o", str(folder / "run.txt")]):
        assert isinstance(CliRunner().invoke(assay, [*command, *wrong]).exception, SpecificationError)
    return ReadTrace(folder / "run.prv")


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> ReadTrace:
    return exported(tmp_path_factory.mktemp("paraver"), hybrid_run(), hybrid_tasks(), hybrid_trace())


def test_attempts_are_in_containers_of_their_nodes_and_have_their_times(trace: ReadTrace) -> None:
    starts = {trace.attempts[str(value)]: (thread, t_s) for thread, t_s, value in trace.events[ATTEMPTS] if value}
    assert set(starts) == {task.attempt_id for task in hybrid_tasks()}
    origin_s = starts[hybrid_tasks()[0].attempt_id][1] - hybrid_tasks()[0].start_s
    for task in hybrid_tasks():
        container, t_s = starts[task.attempt_id]
        assert trace.nodes[container[0] - 1] == task.node
        assert t_s == pytest.approx(task.start_s + origin_s, abs=1e-6)
        ends = [end for thread, start, end, _ in trace.states if thread == container and start >= t_s]
        assert any(end == pytest.approx(task.end_s + origin_s, abs=1e-6) for end in ends)
    states = defaultdict[ThreadNumber, list[tuple[float, float]]](list)
    for thread, start_s, end_s, _ in trace.states:
        states[thread].append((start_s, end_s))
    for spans in states.values():
        assert all(first[1] <= second[0] + 1e-9 for first, second in pairwise(sorted(spans)))
    busy_s = sum(end_s - start_s for _, start_s, end_s, name in trace.states if name != "idle")
    assert busy_s == pytest.approx(sum(task.end_s - task.start_s for task in hybrid_tasks()), abs=1e-3)


def test_phases_have_the_times_of_the_bundle(trace: ReadTrace) -> None:
    for kind, phase in enumerate(hybrid_run().phases, start=PHASES):
        assert trace.types[kind] == f"Phase {phase.name}"
        (_, start_s, start), (_, end_s, end) = trace.events[kind]
        assert (start, end) == (1, 0)
        assert end_s - start_s == pytest.approx(phase.duration_s, abs=1e-6)


def test_counters_are_the_series_of_the_trace(trace: ReadTrace) -> None:
    read: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for kind, name in trace.types.items():
        for (node, _), _, value in trace.events[kind] if kind >= COUNTERS else ():
            read[trace.nodes[node - 1], name.partition(" (")[0]].append(value / (1000 if "thousandths" in name else 1))
    series = series_of(hybrid_trace(), windows=WINDOWS_MAX)
    assert series
    assert set(read) == {(line.node, f"{line.subject} {line.metric}") for line in series}
    for line in series:
        assert read[line.node, f"{line.subject} {line.metric}"] == pytest.approx(line.values, abs=0.5)


def test_a_run_without_tasks_or_trace_has_its_duration(tmp_path: Path) -> None:
    read = exported(tmp_path, make_run(1), [])
    assert read.end_ns / 1e9 == pytest.approx(make_run(1).duration_s)
    assert read.states == []
