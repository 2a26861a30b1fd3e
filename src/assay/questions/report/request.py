"""Define the request for a report, and the named facts that a report consists of."""

from dataclasses import dataclass
from enum import StrEnum


class DetailLevel(StrEnum):
    """Which details a report has below its decisions."""

    CONFIGURATIONS = "configurations"
    """Each configuration separately, with charts of its runs."""
    GROUPS = "groups"
    """Matched groups together, without single configurations."""


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """One request for a report. File names are without folders."""

    factor: str = "layout"
    """Several factors are joined by commas."""
    baseline: str | None = None
    """The option to compare with. None: each decision chooses its own."""
    workload: str | None = None
    """Only this workload. None: all."""
    prices: str | None = None
    title: str | None = None
    question: str | None = None
    author: str | None = None
    date: str | None = None
    """The report's date, ``2026-11-22``. None: today."""
    changes: tuple[str, ...] = ()
    """Changes ``NAME=VALUE`` whose effect on the measured runs is simulated."""
    details: DetailLevel | None = None
    """None: all details that fit."""
    conditions: tuple[str, ...] = ()
    """Only runs that match every ``COLUMN=LEVEL``."""

    @property
    def factors(self) -> list[str]:
        """The factors by name."""
        return [name.strip() for name in self.factor.split(",")]

    @property
    def where(self) -> tuple[str, ...]:
        """All conditions on runs, as ``COLUMN=LEVEL``."""
        return (*((f"workload={self.workload}",) if self.workload else ()), *self.conditions)


@dataclass(frozen=True, slots=True)
class Fact:
    """A name and a text."""

    name: str
    text: str
