"""Test that the fast decoders of job histories return the same as the field-by-field decoder."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jhist_samples as samples
from assay.foundation.errors import FormatError
from assay.store.formats.hadoop import jhist_events
from assay.store.formats.hadoop.jhist import JobHistory, parse_jhist
from assay.store.formats.hadoop.jhist_binary import BinaryScanner
from effort import examples
from mutation import fuzz_count, mutations
from paths import ROOT

REAL = sorted((ROOT.parent / "shared" / "data" / "job-history").glob("*.jhist"))
Encode = Callable[[samples.Events], bytes]
ENCODINGS = pytest.mark.parametrize(
    "encode", [samples.binary, samples.as_json, samples.compact_json], ids=["binary", "json", "compact"]
)


def slow(content: bytes) -> JobHistory:
    """Decode every event field by field."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BinaryScanner, "scan", lambda self, start: None)
        patch.setattr(jhist_events, "type_of", lambda line: "")
        return parse_jhist(content)


def outcome(read: Callable[[bytes], JobHistory], content: bytes) -> Any:
    try:
        return read(content)
    except FormatError as error:
        return (error.where, error.message)


def same_either_way(content: bytes) -> bool:
    """Return whether both ways agree. Only the fast way accepts a number like 1e999 in a field that is not read."""
    expected = outcome(slow, content)
    return "Number out of range" in str(expected) or outcome(parse_jhist, content) == expected


def long_job(attempts: int = 300, host: str = "w") -> samples.Events:
    """Return a job of many attempts with a TASK_FINISHED after each, as Hadoop writes them."""
    events = samples.sort_job()
    more: samples.Events = []
    for number in range(attempts):
        kind = "MAP" if number % 3 else "REDUCE"
        task = {"taskid": f"task_1_x_{number}", "attemptId": f"attempt_1_x_{number}_0"}
        node, ms = f"{host}{number % 7}", samples.SUBMIT_MS + number * 1001
        counts = samples.counters(
            {"HDFS_BYTES_READ": number * 2**33, "FILE_BYTES_READ": -number},
            {"SPILLED_RECORDS": number, "OTHER": 5} if number % 2 else {},
        )
        middle = (
            {"mapFinishTime": ms}
            if kind == "MAP"
            else {"shuffleFinishTime": ms - 1 if number % 2 else -1, "sortFinishTime": 0}
        )
        more.append((f"{kind}_ATTEMPT_STARTED", "TaskAttemptStarted", task | {"startTime": ms, "trackerName": node}))
        record = "MapAttemptFinished" if kind == "MAP" else "ReduceAttemptFinished"
        more.append(
            (
                f"{kind}_ATTEMPT_FINISHED",
                record,
                task | middle | {"finishTime": ms + 500, "hostname": node, "counters": counts},
            )
        )
    return [*events[:-1], *more, events[-1]]


@ENCODINGS
@pytest.mark.parametrize("host", ["w", "node-with-a-name-of-more-than-63-characters-" * 2, "n" * 300, "größer", ""])
def test_sound_histories_are_the_same_either_way(encode: Encode, host: str) -> None:
    content = encode(long_job(host=host))
    assert parse_jhist(content) == slow(content)


def test_nearly_all_events_are_decoded_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    events = long_job()
    scanned: list[bool] = []
    slow_lines: list[bytes] = []
    scan, decode = BinaryScanner.scan, jhist_events._decoded

    def counted_scan(self: BinaryScanner, start: int) -> int | None:
        end = scan(self, start)
        scanned.append(end is not None)
        return end

    def counted_decode(line: bytes, where: str) -> jhist_events.Event:
        slow_lines.append(line)
        return decode(line, where)

    monkeypatch.setattr(BinaryScanner, "scan", counted_scan)
    monkeypatch.setattr(jhist_events, "_decoded", counted_decode)
    parse_jhist(samples.binary(events))
    assert sum(scanned) > 0.95 * len(events)
    parse_jhist(samples.compact_json(events))
    assert len(slow_lines) < 0.05 * len(events)


def test_a_line_with_another_name_or_order_is_decoded_as_it_is() -> None:
    events = long_job(30)
    sound = samples.compact_json(events)
    last = sound.rindex(b"_ATTEMPT_FINISHED")
    for old, new in (
        (b"HDFS_BYTES_READ", b"HDFS_BYTES_REED"),
        (b'"value":', b'"valve":'),
        (b'"taskid":', b'"tasksid":'),
        (b'"finishTime":', b'"finishTime":0'),
        (b'"hostname":"w', b'"hostname":"\\u0077'),
        (b'"groups":[', b'"groups":[null,'),
    ):
        assert old in sound[last:]
        changed = sound[:last] + sound[last:].replace(old, new, 1)
        assert outcome(parse_jhist, changed) == outcome(slow, changed)


@ENCODINGS
def test_damaged_histories_are_the_same_either_way(encode: Encode) -> None:
    content = encode(long_job(4))
    for damaged in mutations(content, fuzz_count()):
        assert same_either_way(damaged)


def test_damaged_events_after_a_sound_schema_are_the_same_either_way() -> None:
    content = samples.binary(long_job(3))
    begin = content.index(b"\n", 20) + 1
    for damaged in mutations(content[begin:], fuzz_count() // 2, seed=1):
        assert same_either_way(content[:begin] + damaged)


numbers = st.integers(-(2**63) + 1, 2**63 - 1)
names = st.text(max_size=70)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.tuples(names, numbers, st.dictionaries(names, numbers, max_size=4), numbers), max_size=6))
def test_any_names_and_numbers_are_the_same_either_way(records: list[tuple[str, int, dict[str, int], int]]) -> None:
    events = samples.sort_job()
    for number, (name, time_ms, counts, spilled) in enumerate(records):
        values = samples.counters(counts, {"SPILLED_RECORDS": spilled})
        finished = {
            "taskid": f"task_{number}",
            "attemptId": f"a{number % 3}",
            "mapFinishTime": 0,
            "hostname": name,
            "finishTime": time_ms,
            "counters": values,
        }
        events.insert(-1, ("MAP_ATTEMPT_FINISHED", "MapAttemptFinished", finished))
    for content in (samples.binary(events), samples.as_json(events), samples.compact_json(events)):
        assert parse_jhist(content) == slow(content)


@contextmanager
def windows_of(size: int) -> Iterator[None]:
    """Let histories be read in windows of ``size`` bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jhist_events, "_WINDOW_BYTES", size)
        patch.setattr(jhist_events, "_MARGIN_BYTES", max(1, size // 4))
        yield


@ENCODINGS
@pytest.mark.parametrize("size", [1, 7, 300, 5000, 2**20])
def test_a_history_is_the_same_in_windows_of_any_size(encode: Encode, size: int) -> None:
    content = encode(long_job(60, host="n" * 90))
    with windows_of(size):
        assert parse_jhist(content) == slow(content)


def test_damaged_histories_are_the_same_in_small_windows() -> None:
    content = samples.binary(long_job(3))
    for damaged in mutations(content, fuzz_count() // 4, seed=2):
        expected = outcome(parse_jhist, damaged)
        with windows_of(200):
            assert outcome(parse_jhist, damaged) == expected


@ENCODINGS
def test_a_stream_is_read_in_parts_and_few_of_them_are_in_memory(encode: Encode) -> None:
    class Stream(io.BytesIO):
        longest = 0

        def read(self, size: int | None = -1, /) -> bytes:
            assert size is not None
            assert size >= 0, "a stream of any size is never read whole"
            self.longest = max(self.longest, size)
            return super().read(size)

    content = encode(long_job(200))
    stream = Stream(content)
    with windows_of(4096):
        assert parse_jhist(stream) == slow(content)
    assert stream.longest <= 4096 < len(content) / 10


@pytest.mark.skipif(not REAL, reason="the real job histories are not available: NOT tested")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name[:22])
def test_real_histories_are_the_same_either_way(path: Path) -> None:
    assert parse_jhist(path.read_bytes()) == slow(path.read_bytes())
