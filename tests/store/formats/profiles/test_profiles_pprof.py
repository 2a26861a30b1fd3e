"""Test the reader of pprof: it reads what assay, Go and async-profiler write, and refuses damaged profiles."""

from __future__ import annotations

import contextlib
import gzip
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.code_profile.recorded import ProfileKind, RecordedPart, RecordedStacks
from assay.analysis.code_profile.stacks import Stack, stored_frame
from assay.foundation.errors import FormatError
from assay.store.exchange.profiles import pprof_bytes
from assay.store.formats.profiles.pprof import PprofPart, read_pprof
from assay.store.formats.protobuf import bytes_field, number_field, packed_field, text_field
from builders import make_run

FRAMES = st.text(st.characters(codec="utf-8", exclude_characters=";\n"), min_size=1, max_size=12).filter(
    lambda text: stored_frame(text) == text and not text.endswith("]")
)
STACKS = st.dictionaries(st.lists(FRAMES, min_size=1, max_size=6).map(tuple), st.integers(1, 10**12), max_size=8)


def exported(stacks: Counter[Stack], kind: str = "cpu", interval_ms: float | None = 10.0) -> bytes:
    part = RecordedPart("attempt_1", "map", stacks)
    return gzip.decompress(pprof_bytes(RecordedStacks(make_run(1), kind, interval_ms, (part,))))


@given(STACKS, st.sampled_from(["cpu", "wall"]))
def test_any_exported_stacks_are_read_again(stacks: dict[Stack, int], kind: ProfileKind) -> None:
    profile = read_pprof(exported(Counter(stacks), kind))
    assert (profile.kind, profile.interval_ms) == (kind, 10.0)
    assert profile.parts == ({PprofPart("attempt_1", "map"): Counter(stacks)} if stacks else {})


@given(STACKS.filter(bool), st.data())
def test_a_cut_or_changed_profile_is_read_or_refused(stacks: dict[Stack, int], data: st.DataObject) -> None:
    content = bytearray(exported(Counter(stacks)))
    at = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        del content[at:]
    else:
        content[at] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(FormatError):
        read_pprof(bytes(content))


def made(types: list[tuple[str, str]], values: list[int], *, period_ns: int = 0, lines: int = 1) -> bytes:
    """Return a profile with one sample of one location, whose functions are inlined into each other."""
    texts = ["", "nanoseconds", *(f"f{number}" for number in range(lines)), *(text for pair in types for text in pair)]
    pairs = [number_field(1, texts.index(name)) + number_field(2, texts.index(unit)) for name, unit in types]
    inlined = b"".join(bytes_field(4, number_field(1, number + 1)) for number in range(lines))
    functions = [number_field(1, number + 1) + number_field(2, 2 + number) for number in range(lines)]
    return b"".join(
        [
            *(bytes_field(1, pair) for pair in pairs),
            bytes_field(2, packed_field(1, [7]) + packed_field(2, values)),
            bytes_field(4, number_field(1, 7) + number_field(3, 255) + inlined),
            *(bytes_field(5, function) for function in functions),
            *(text_field(6, text) for text in texts),
            bytes_field(11, number_field(2, 1)) + number_field(12, period_ns),
        ]
    )


def test_times_are_divided_by_the_period_and_bytes_are_not() -> None:
    only_times = read_pprof(made([("cpu", "nanoseconds")], [60_000_000], period_ns=20_000_000))
    assert (only_times.kind, only_times.interval_ms) == ("cpu", 20.0)
    assert only_times.parts == {PprofPart("", ""): Counter({("f0",): 3})}
    alloc = read_pprof(made([("alloc_objects", "count"), ("alloc_space", "bytes")], [3, 4096]))
    assert (alloc.kind, alloc.interval_ms, alloc.parts) == (
        "alloc",
        None,
        {PprofPart("", ""): Counter({("f0",): 4096})},
    )


def test_an_inlined_function_is_below_its_caller_and_an_unknown_one_is_its_address() -> None:
    types = [("samples", "count")]
    assert list(read_pprof(made(types, [2], lines=3)).parts[PprofPart("", "")]) == [("f2", "f1", "f0")]
    assert list(read_pprof(made(types, [2], lines=0)).parts[PprofPart("", "")]) == [("0xff",)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no types of samples"),
        (made([("goroutine", "count")], [1]), "goroutine/count"),
        (made([("cpu", "nanoseconds")], [1]), "no sampling period"),
        (made([("samples", "count")], [2**64 - 3]), "a difference of two profiles"),
        (made([("samples", "count")], []), "does not contain"),
    ],
)
def test_unusable_profiles_are_refused_with_the_reason(content: bytes, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        read_pprof(content)


GO = """
package main

import ("os"; "runtime/pprof")

var kept uint64

//go:noinline
func burn(rounds uint64) {
	for i := uint64(0); i < rounds; i++ { kept = kept*31 + i }
}

func main() {
	file, _ := os.Create(os.Args[1])
	pprof.StartCPUProfile(file)
	burn(1_000_000_000)
	pprof.StopCPUProfile()
	file.Close()
}
"""


@pytest.mark.slow
def test_a_profile_of_a_go_program_has_its_busy_function(tmp_path: Path) -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("NOT tested: no go, so no profile of a Go program was read")
    (tmp_path / "main.go").write_text(GO)
    target = tmp_path / "cpu.pprof"
    subprocess.run([go, "run", "main.go", str(target)], cwd=tmp_path, check=True, timeout=300)
    profile = read_pprof(gzip.decompress(target.read_bytes()))
    assert (profile.kind, profile.interval_ms) == ("cpu", 10.0)
    stacks = profile.parts[PprofPart("", "")]
    burned = sum(count for stack, count in stacks.items() if "main.burn" in stack)
    assert burned > 0.8 * stacks.total() > 5
    assert all(stack.index("main.main") < stack.index("main.burn") for stack in stacks if "main.burn" in stack)
