"""Merge the stacks of one phase into a tree, for the flame graph of one side or of the difference of two.

In: for each side its stacks with their counts. Out: the frames in preorder, so that a frame's callees follow it, as
columns: depth, name and the count of each side. Flame graphs: B. Gregg, ACM Queue 14 (2016).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from assay.analysis.code_profile.categories import plain_frame
from assay.analysis.code_profile.stacks import Stack

SHARE_MIN = 0.001
"""Minimum share of a phase that a frame has on one side; smaller frames are counted in their caller alone."""


@dataclass(frozen=True, slots=True)
class FlameGraph:
    """The frames of one phase in preorder as columns; the first frame is the whole phase."""

    phase: str
    depths: tuple[int, ...]
    """Number of callers of each frame."""
    frames: tuple[int, ...]
    """Name of each frame, as an index in the list of all names."""
    counts: tuple[tuple[int, ...], ...]
    """For each side the samples (bytes, nanoseconds) of each frame with its callees."""


@dataclass(slots=True)
class _Node:
    counts: list[int]
    callees: dict[str, "_Node"] = field(default_factory=dict)


def flame_graph(phase: str, sides: Sequence[Mapping[Stack, int]], names: dict[str, int]) -> FlameGraph:
    """Return the graph of a phase. ``names``: index of each name, to which new ones are added. The root is ``all``."""
    root = _Node([0] * len(sides))
    for side, stacks in enumerate(sides):
        for stack, count in stacks.items():
            node = root
            node.counts[side] += count
            for frame in map(plain_frame, stack):
                node = node.callees.setdefault(frame, _Node([0] * len(sides)))
                node.counts[side] += count
    rows = [(depth, names.setdefault(name, len(names)), node.counts) for depth, name, node in _preorder(root)]
    return FlameGraph(
        phase,
        depths=tuple(depth for depth, _, _ in rows),
        frames=tuple(name for _, name, _ in rows),
        counts=tuple(tuple(counts[side] for _, _, counts in rows) for side in range(len(sides))),
    )


def _preorder(root: _Node) -> Iterator[tuple[int, str, _Node]]:
    """Yield depth, name and node; callees are in order of their names.

    It is not recursive, because stacks may be deeper than Python's limit.
    """
    counts_min = [SHARE_MIN * count for count in root.counts]
    pending_nodes = [(0, "all", root)]
    while pending_nodes:
        depth, name, node = pending_nodes.pop()
        yield depth, name, node
        pending_nodes += [
            (depth + 1, callee_name, callee_node)
            for callee_name, callee_node in sorted(node.callees.items(), reverse=True)
            if any(
                count and count >= count_min for count, count_min in zip(callee_node.counts, counts_min, strict=True)
            )
        ]
