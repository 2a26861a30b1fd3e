"""The host checks of a cluster: criteria with recommended values and their sources, and a grade for each host."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

BETWEEN = "between hosts"
"""Name in place of a host for differences between hosts."""


class Grade(StrEnum):
    """The grade of a value, from best to worst. Unknown: the host did not report it, or the login lacks the rights."""

    FIT = "fit"
    UNKNOWN = "unknown"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """Position in the order from best to worst, from 0."""
        return list(Grade).index(self)


@dataclass(frozen=True, slots=True)
class Advice:
    """A recommended value and its source; where vendors disagree, each is quoted."""

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
class CheckReading:
    """The value of one criterion on one host, or between hosts; ``subject``: the device, mount or interface."""

    criterion: str
    host: str
    grade: Grade
    message: str
    """The value as text."""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class HostCheckReport:
    """All host checks of a cluster at one time."""

    cluster: str
    checked_at: str
    hosts: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    readings: tuple[CheckReading, ...]
    unreachable: Mapping[str, str]
    """Unreachable hosts, each with the reason."""

    def worst(self, host: str, criterion: str) -> Grade | None:
        """Return the worst grade that ``criterion`` gave ``host``; None without a reading."""
        grades = [reading.grade for reading in self.readings if (reading.host, reading.criterion) == (host, criterion)]
        return max(grades, key=lambda grade: grade.rank, default=None)

    def count(self, grade: Grade) -> int:
        """Return the number of readings with ``grade``. An unreachable host counts as an error."""
        extra = len(self.unreachable) if grade is Grade.ERROR else 0
        return sum(reading.grade is grade for reading in self.readings) + extra

    def problems(self) -> list[CheckReading]:
        """Return the notes, warnings and errors, the worst first."""
        problems = [reading for reading in self.readings if reading.grade.rank >= Grade.NOTE.rank]
        return sorted(problems, key=lambda reading: -reading.grade.rank)
