"""Answer which code a run executed when: the mean number of threads in each category of code, by interval.

In: a repository and a run whose profile has times. Out: a :class:`CodeOverTime`.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass

from assay.analysis.code_profile.categories import category_of
from assay.analysis.statistics import started_unix_s
from assay.questions.runs.code_profiles.code_profile import profile_facts, times_of_run
from assay.store import Repository


@dataclass(frozen=True, slots=True)
class CategoryOverTime:
    """One category: for each interval the mean number of threads that executed its code."""

    category: str
    threads: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class CodeOverTime:
    """The categories of a run's code in intervals of ``interval_s``, largest category first.

    In a profile of ``cpu``, a thread counts while it uses a CPU; in one of ``wall``, always.
    """

    run_id: str
    kind: str
    interval_s: float
    start_s: tuple[float, ...]
    """Start of each interval with samples, in seconds from the run's start."""
    categories: tuple[CategoryOverTime, ...]


def code_over_time(repository: Repository, prefix: str) -> CodeOverTime:
    """Return when the run whose id begins with ``prefix`` executed which code.

    Raises FormatError if the run has no profile, or one without times.
    """
    run = repository.run(prefix)
    counts: defaultdict[str, Counter[int]] = defaultdict(Counter)
    times = times_of_run(repository, run)
    for part in times.values():
        for second, stacks in part.stacks.items():
            for stack, count in stacks.items():
                counts[category_of(stack)][second] += count
    run_profile, interval_s = profile_facts(repository, run), next(iter(times.values())).interval_s
    threads_per_count = run_profile["interval_ms"] / 1000 / interval_s
    seconds = sorted({second for category in counts.values() for second in category})
    return CodeOverTime(
        run_id=run.run_id,
        kind=str(run_profile["kind"]),
        interval_s=interval_s,
        start_s=tuple(second - started_unix_s(run) for second in seconds),
        categories=tuple(
            CategoryOverTime(name, tuple(category[second] * threads_per_count for second in seconds))
            for name, category in sorted(counts.items(), key=lambda item: -item[1].total())
        ),
    )
