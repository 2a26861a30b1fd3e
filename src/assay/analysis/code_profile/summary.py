"""Summarise the stacks of a profile: counts per category, and the methods with the highest self counts."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from assay.analysis.code_profile.categories import category_of, plain_frame
from assay.analysis.code_profile.stacks import Stack


@dataclass(frozen=True, slots=True)
class CategoryCount:
    """The count of one category, and its share of all counts."""

    category: str
    count: int
    share: float


@dataclass(frozen=True, slots=True)
class FrameCount:
    """The self count of a method: of stacks that end in its frame, without the methods that it calls."""

    frame: str
    category: str
    count: int
    share: float


def category_counts(stacks: Mapping[Stack, int]) -> tuple[CategoryCount, ...]:
    """Return the categories with stacks, largest first."""
    counts, total = Counter[str](), sum(stacks.values())
    for stack, count in stacks.items():
        counts[category_of(stack)] += count
    return tuple(CategoryCount(name, count, count / total) for name, count in counts.most_common())


def frame_counts(stacks: Mapping[Stack, int]) -> tuple[FrameCount, ...]:
    """Return the executing methods by category, largest first."""
    counts, total = Counter[tuple[str, str]](), sum(stacks.values())
    for stack, count in stacks.items():
        counts[plain_frame(stack[-1]), category_of(stack)] += count
    return tuple(FrameCount(frame, name, count, count / total) for (frame, name), count in counts.most_common())
