"""Test flame graphs: the frames of each phase add up to its samples, on both sides."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.code_profile.flame import SHARE_MIN, FlameGraph, flame_graph
from assay.analysis.code_profile.stacks import Stack, parse_collapsed

RECORDED = Path(__file__).parents[2] / "data" / "profiles" / "terasort-merge.collapsed.gz"
STACKS = st.dictionaries(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(tuple), st.integers(1, 50))


def self_counts(graph: FlameGraph, names: dict[str, int], side: int) -> Counter[Stack]:
    """Return the count of each frame without its callees, by stack; fails if callees have more than their caller."""
    texts = list(names)
    self_counted: Counter[Stack] = Counter()
    path: list[str] = []
    for depth, frame, count in zip(graph.depths, graph.frames, graph.counts[side], strict=True):
        del path[depth:]
        if depth:
            self_counted[tuple(path[1:])] -= count
        path.append(texts[frame])
        self_counted[tuple(path[1:])] += count
    assert all(count >= 0 for count in self_counted.values())
    return self_counted


@given(STACKS, STACKS)
def test_the_frames_add_up_to_the_samples_of_each_side(first: dict[Stack, int], second: dict[Stack, int]) -> None:
    names: dict[str, int] = {}
    graph = flame_graph("map", [first, second], names)
    assert (graph.depths[0], list(names)[graph.frames[0]]) == (0, "all")
    for side, stacks in enumerate((first, second)):
        assert graph.counts[side][0] == sum(stacks.values())
        assert +self_counts(graph, names, side) == Counter(stacks)


def test_small_frames_are_counted_in_their_caller() -> None:
    recorded, _ = parse_collapsed(gzip.decompress(RECORDED.read_bytes()).decode())
    recorded["caller", "rare"] = 1
    recorded["caller", "common"] = 2_000
    names: dict[str, int] = {}
    graph = flame_graph("merge", [recorded], names)
    assert graph.counts[0][0] == recorded.total()
    assert sum(self_counts(graph, names, 0).values()) == recorded.total()
    assert "rare" not in names
    assert self_counts(graph, names, 0)["caller",] == 1
    assert min(graph.counts[0]) >= SHARE_MIN * recorded.total()
    assert not any(name.endswith("_[1]") for name in names), "marks of how a method was compiled are removed"


def test_a_stack_deeper_than_the_recursion_limit_is_drawn() -> None:
    deep = tuple(f"frame{number}" for number in range(5_000))
    assert flame_graph("map", [{deep: 3}], {}).depths[-1] == 5_000
