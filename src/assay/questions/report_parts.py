"""What every report says, whatever its comparisons are of: the values that its documents are composed of.

In: comparisons. Out: a :class:`Report`, which is also what ``assay report --json`` prints, its key figures, and how
sure they are in words.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay.compare.compared import Compared
from assay.compare.threats import Threat
from assay.wording.ratios import format_interval, format_ratio, interval, ratio

TILES_MAX = 4


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

    @property
    def factors(self) -> list[str]:
        """The factors by name."""
        return [name.strip() for name in self.factor.split(",")]


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of how it was measured."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Tile:
    """One key figure."""

    label: str
    figure: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a report answers, and what it rests on."""

    title: str
    answer: str
    detail: str
    origin: str
    factor: str
    baseline: str
    levels: tuple[str, ...]
    tiles: tuple[Tile, ...]
    method: tuple[Fact, ...]
    threats: tuple[Threat, ...]
    assay_version: str


def tile_of(compared: Compared, label: str) -> Tile:
    """Return a comparison as a key figure."""
    sure = f"95 % interval {interval(compared.low, compared.high)}, {compared.basis.units}"
    return Tile(label, ratio(compared.ratio), sure)


def sure_of(compared: Compared) -> str:
    """Return how sure a ratio is, a sentence. ValueError without an interval."""
    if compared.low is None or compared.high is None:
        raise ValueError("a ratio without an interval is not sure")
    return f"The 95 % interval is {format_interval(compared.low, compared.high)}, from {compared.basis.units}."


def faster(compared: Compared, where: str) -> str:
    """Return the sentence of a candidate that is faster; ``where``: `` on TeraSort``."""
    how = format_ratio(compared.ratio or 1.0)
    return f"{compared.candidate} is {how} times as fast as {compared.baseline}{where}."
