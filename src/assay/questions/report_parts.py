"""What reports are asked, and the lines that they are made of: values without logic."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReportQuestion:
    """What a report was asked, for the commands that make it again. File names are without folders."""

    factor: str
    """Several are joined by commas."""
    baseline: str
    """Empty: that on hard disks, or the one that ran first."""
    workload: str | None = None
    prices: str | None = None
    title: str | None = None
    question: str | None = None
    author: str | None = None
    date: str | None = None
    """The day that it carries, ``2026-11-22``; None: today."""
    changes: tuple[str, ...] = ()
    """What is asked of the measured runs with some things set otherwise, ``NAME=VALUE`` each."""

    @property
    def factors(self) -> list[str]:
        """The factors by name."""
        return [name.strip() for name in self.factor.split(",")]


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of how it was measured."""

    name: str
    text: str
