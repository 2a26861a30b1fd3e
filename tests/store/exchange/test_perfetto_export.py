"""Test the export for Perfetto: intervals and counters are those of the bundle, within a millisecond."""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from assay.analysis.run_profile.series import WINDOWS_MAX, series_of
from assay.analysis.statistics import started_unix_s
from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.main import assay
from assay.store import Repository
from builders import make_run
from detail_support import hybrid_run, hybrid_tasks, hybrid_trace
from profile_support import BURN, add_run
from protobuf_support import Fields, fields, message


class DecodedTrace(NamedTuple):
    """Names of tracks with their parents, intervals by track, and values of counters by track."""

    tracks: dict[int, tuple[str, int | None]]
    intervals: dict[int, list[tuple[str, int, int]]]
    values: dict[int, list[tuple[int, float]]]


def text(content: Fields, number: int) -> str:
    value = content[number][0]
    assert isinstance(value, bytes)
    return value.decode()


def decoded(data: bytes) -> DecodedTrace:
    """Return a trace; fails if an interval ends before those inside it, or never."""
    tracks: dict[int, tuple[str, int | None]] = {}
    intervals, values = (
        defaultdict[int, list[tuple[str, int, int]]](list),
        defaultdict[int, list[tuple[int, float]]](list),
    )
    unfinished = defaultdict[int, list[tuple[str, int]]](list)
    for packet in map(message, fields(data)[1]):
        if 60 in packet:
            track = message(packet[60][0])
            parent = track.get(5)
            tracks[int(track[1][0])] = (text(track, 2), int(parent[0]) if parent else None)
            continue
        event, at_ns = message(packet[11][0]), int(packet[8][0])
        number = int(event[11][0])
        assert number in tracks
        if event[9] == [1]:
            unfinished[number].append((text(event, 23), at_ns))
        elif event[9] == [2]:
            name, start_ns = unfinished[number].pop()
            intervals[number].append((name, start_ns, at_ns))
        else:
            value = event[44][0]
            assert isinstance(value, bytes)
            values[number].append((at_ns, struct.unpack("<d", value)[0]))
    assert not any(unfinished.values())
    return DecodedTrace(tracks, intervals, values)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> DecodedTrace:
    store = Repository.create(tmp_path_factory.mktemp("perfetto") / "repository")
    store.publish(hybrid_run(), tasks=hybrid_tasks(), trace=hybrid_trace())
    target = store.root.parent / "run.pftrace"
    command = ["export", "perfetto", "--run", hybrid_run().run_id, "--repository", str(store.root)]
    done = CliRunner().invoke(assay, [*command, "-o", str(target)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert isinstance(CliRunner().invoke(assay, command).exception, SpecificationError)
    return decoded(target.read_bytes())


def test_attempts_and_phases_have_the_times_of_the_bundle(trace: DecodedTrace) -> None:
    run, tasks = hybrid_run(), hybrid_tasks()
    start_ns = next(start for name, start, _ in trace.intervals[1] if name == "run")
    drawn = {
        name.split()[1]: (trace.tracks[track][1], (start - start_ns) / 1e9, (end - start_ns) / 1e9)
        for track, intervals in trace.intervals.items()
        for name, start, end in intervals
        if len(name.split()) == 3
    }
    assert set(drawn) == {task.attempt_id for task in tasks}
    for task in tasks:
        node, start_s, end_s = drawn[task.attempt_id]
        assert node is not None
        assert trace.tracks[node][0] == task.node
        assert (start_s, end_s) == pytest.approx((task.start_s, task.end_s), abs=1e-3)
    phases = {
        (name, (end - start) / 1e9)
        for track, intervals in trace.intervals.items()
        for name, start, end in intervals
        if trace.tracks[track][1] == 1
    }
    assert {name for name, _ in phases} == {phase.name for phase in run.phases}
    assert sum(length for _, length in phases) == pytest.approx(sum(phase.duration_s for phase in run.phases), abs=1e-3)


def test_attempts_in_a_container_never_overlap_and_reduces_have_their_parts(trace: DecodedTrace) -> None:
    reduces = sum(task.shuffle_end_s is not None for task in hybrid_tasks())
    assert reduces > 0
    inside = [
        name
        for track, items in trace.intervals.items()
        if "container" in trace.tracks[track][0]
        for name, _, _ in items
    ]
    assert inside.count("merge") == reduces
    for track, intervals in trace.intervals.items():
        if "container" in trace.tracks[track][0]:
            attempts = sorted((start, end) for name, start, end in intervals if len(name.split()) == 3)
            assert all(end <= start for (_, end), (start, _) in pairwise(attempts))


def test_counters_are_the_series_of_the_trace(trace: DecodedTrace) -> None:
    series = {
        (line.node, f"{line.subject} {line.metric}"): line.values
        for line in series_of(hybrid_trace(), windows=WINDOWS_MAX)
    }
    drawn = {
        (trace.tracks[trace.tracks[track][1] or 0][0], trace.tracks[track][0]): tuple(value for _, value in values)
        for track, values in trace.values.items()
    }
    assert series
    assert drawn == series


def test_a_run_without_tasks_or_trace_has_its_duration(tmp_path: Path) -> None:
    store = Repository.create(tmp_path / "repository")
    store.publish(make_run(1))
    target = tmp_path / "run.pftrace"
    command = ["export", "perfetto", "--run", make_run(1).run_id, "-o", str(target), "--repository", str(store.root)]
    assert CliRunner().invoke(assay, command).exit_code == 0
    ((name, start, end),) = decoded(target.read_bytes()).intervals[1]
    assert name == "run"
    assert (end - start) / 1e9 == pytest.approx(make_run(1).duration_s)


def test_samples_are_in_their_second_and_have_their_stacks(tmp_path: Path) -> None:
    store = Repository.create(tmp_path / "repository")
    run_id = add_run(store, 1, "HDD", 50, timed=True)
    target = tmp_path / "run.pftrace"
    command = ["export", "perfetto", "--run", run_id, "-o", str(target), "--repository", str(store.root)]
    assert CliRunner().invoke(assay, command, catch_exceptions=False).exit_code == 0
    packets = [packet for packet in map(message, fields(target.read_bytes())[1]) if packet[10] == [2]]
    assert [packet[13] for packet in packets[:3]] == [[0], [1], [2]], (
        "processes, then names, then samples that need them"
    )
    tree, interned = message(packets[0][2][0]), message(packets[1][12][0])
    ((pid,), (recording,)) = (message(tree[1][0])[number] for number in (1, 3))
    thread = message(tree[2][0])
    assert (recording, thread[2], thread[3]) == (b"attempt_2", [b"reduce"], [pid])
    functions = {item[1][0]: text(item, 2) for item in map(message, interned[5])}
    frames = {item[1][0]: functions[item[2][0]] for item in map(message, interned[6])}
    stacks = {item[1][0]: tuple(frames[frame] for frame in item[2]) for item in map(message, interned[7])}
    started_s = int(started_unix_s(store.run(run_id)))
    drawn = Counter[tuple[tuple[str, ...], int]]()
    for packet in packets[2:]:
        sample = message(packet[66][0])
        assert (sample[2], sample[3]) == ([pid], thread[1])
        drawn[stacks[sample[4][0]], int(packet[8][0]) // 1_000_000_000 - started_s] += 1
    assert drawn == {
        (("a", BURN), 3): 50,
        (("a", "org/apache/hadoop/hdfs/DFS.read"), 2): 100,
        (("a", "b</script>_method", "c"), 2): 7,
    }
