"""Read and write stacks as collapsed text.

The format is Brendan Gregg's, as async-profiler's converter writes it: one line for each distinct stack, its frames
from the root to the executing method with ``;`` between them, a space, and its count. The count is a number of samples;
for allocations it is bytes, for locks nanoseconds of waiting.
"""

from collections import Counter
from collections.abc import Mapping

Stack = tuple[str, ...]
"""Frames from the root to the executing method."""


def parse_collapsed(text: str) -> tuple[Counter[Stack], int]:
    """Return the count of each stack, and the number of lines that are not stacks."""
    stacks, skipped = Counter[Stack](), 0
    for line in text.split("\n"):
        frames, _, count = line.rpartition(" ")
        if frames and count.isascii() and count.isdecimal():
            stacks[tuple(frames.split(";"))] += int(count)
        elif line.strip():
            skipped += 1
    return stacks, skipped


def collapsed_text(stacks: Mapping[Stack, int]) -> str:
    """Return stacks as collapsed text, sorted."""
    return "".join(f"{';'.join(stack)} {count}\n" for stack, count in sorted(stacks.items()))
