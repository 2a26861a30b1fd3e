"""Read and write stacks as collapsed text.

The format is Brendan Gregg's, as async-profiler's converter writes it: one line for each distinct stack, its frames
from the root to the executing method with ``;`` between them, a space, and its count. The count is a number of samples;
for allocations it is bytes, for locks nanoseconds of waiting.
"""

import re
from collections import Counter
from collections.abc import Mapping

Stack = tuple[str, ...]
"""Frames from the root to the executing method."""

_DOTTED = re.compile(r"(?P<package>(?:[a-z_]\w*\.)+)(?P<method>[A-Z][\w$]*\.[\w$<>]+.*)", re.DOTALL)
"""A Java method with dots in its package."""
_SEPARATORS = str.maketrans({";": ",", "\n": " "})


def stored_frame(name: str) -> str:
    """Return the frame for a method's name: without separators of collapsed text, and ``package/Class.method`` of Java.

    The rules of categories have this form, which async-profiler's converter writes.
    """
    cleaned_name = name.translate(_SEPARATORS).strip() or "[unknown]"
    match = _DOTTED.fullmatch(cleaned_name)
    return match["package"].replace(".", "/") + match["method"] if match else cleaned_name


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
