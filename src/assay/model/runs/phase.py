"""A phase: a labelled interval of a run, in seconds from the run's start."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Phase:
    """A labelled interval of a run: setup, map, shuffle, merge, reduce, cleanup. Phases may overlap."""

    name: str
    start_s: float
    end_s: float

    @property
    def duration_s(self) -> float:
        """Length of the interval in seconds."""
        return self.end_s - self.start_s
