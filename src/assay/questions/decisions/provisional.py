"""Compare the first runs of two options while a campaign is still running.

In: finished runs and a factor. Out: the ratio of two single run times in seconds. It has no interval, because two runs
show nothing about their spread. The decision over all repetitions replaces it.
"""

from dataclasses import dataclass

from assay.model import Run, RunStatus
from assay.questions.decisions.sentences.option_words import option_text
from assay.text import ratio, seconds, workload_title


@dataclass(frozen=True, slots=True)
class FirstRunsRatio:
    """One valid run of each of two options on the same workload."""

    factor: str
    baseline: Run
    candidate: Run

    @property
    def speedup(self) -> float:
        """Baseline time / candidate time."""
        return self.baseline.duration_s / self.candidate.duration_s


class FirstRuns:
    """Collects the first valid run of each option on each workload."""

    def __init__(self, factor: str, baseline: str | None) -> None:
        """Compare levels of ``factor`` with ``baseline``; None: with the level of the first valid run."""
        self._factor, self._baseline = factor, baseline
        self._first: dict[tuple[str, str], Run] = {}

    def add(self, run: Run) -> tuple[FirstRunsRatio, ...]:
        """Add a finished run; return the ratios that it completes."""
        level = run.levels.get(self._factor)
        if run.status is not RunStatus.VALID or level is None or (run.workload, level) in self._first:
            return ()
        self._first[run.workload, level] = run
        self._baseline = self._baseline or level
        baseline = self._first.get((run.workload, self._baseline))
        if baseline is None:
            return ()
        first_runs = [first for (workload, _), first in self._first.items() if workload == run.workload]
        other_runs = first_runs if run is baseline else [run]
        return tuple(
            FirstRunsRatio(self._factor, baseline, other_run) for other_run in other_runs if other_run is not baseline
        )


def provisional_sentence(answer: FirstRunsRatio) -> str:
    """Return the ratio as a sentence that states that it is provisional and has no interval."""
    candidate, baseline = (
        f"{option_text(answer.factor, run.levels[answer.factor])} ({seconds(run.duration_s)} s)"
        for run in (answer.candidate, answer.baseline)
    )
    return (
        f"provisional, one run each, no interval: {workload_title(answer.baseline.workload)} with {candidate} against "
        f"{baseline}: {ratio(answer.speedup)}"
    )
