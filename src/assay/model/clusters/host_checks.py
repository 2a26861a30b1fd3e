"""Whether hosts are fit to be measured: what was asked, who recommends what and why, what was found on each."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

BETWEEN = "between hosts"
"""Stands for the host in a reading that is about a difference between hosts."""


class Grade(StrEnum):
    """How good what was found is, the worst last; unknown: it could not be asked with the rights that there were."""

    FIT = "fit"
    UNKNOWN = "unknown"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """The place in that order."""
        return list(Grade).index(self)


@dataclass(frozen=True, slots=True)
class Advice:
    """A recommended value, and who recommends it; vendors that disagree are each quoted."""

    value: str
    source: str


@dataclass(frozen=True, slots=True)
class Criterion:
    """A property of a host that is checked."""

    name: str
    title: str
    why: str
    change: str
    """How to change it."""
    advice: tuple[Advice, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What one criterion found on one host, or between hosts; ``subject``: the device, mount or interface meant."""

    criterion: str
    host: str
    grade: Grade
    found: str
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Fitness:
    """What was found of a whole cluster at one time."""

    cluster: str
    checked_at: str
    hosts: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    readings: tuple[Reading, ...]
    unreached: Mapping[str, str]
    """Hosts that could not be asked, each with the reason."""

    def worst(self, host: str, criterion: str) -> Grade | None:
        """Return the worst grade that ``criterion`` gave ``host``; None where it has nothing to say of it."""
        grades = [reading.grade for reading in self.readings if (reading.host, reading.criterion) == (host, criterion)]
        return max(grades, key=lambda grade: grade.rank, default=None)

    def count(self, grade: Grade) -> int:
        """Return how many readings have ``grade``; a host that could not be asked is an error."""
        extra = len(self.unreached) if grade is Grade.ERROR else 0
        return sum(reading.grade is grade for reading in self.readings) + extra

    def troubles(self) -> list[Reading]:
        """Return what is not fit and not unknown, the worst first."""
        problems = [reading for reading in self.readings if reading.grade.rank >= Grade.NOTE.rank]
        return sorted(problems, key=lambda reading: -reading.grade.rank)
