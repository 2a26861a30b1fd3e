"""Plan the next run of a tuning: a search within a budget, then new runs of the winner and the defaults.

In: a space, a budget, and the campaign's finished runs, which are the only state: an interrupted call continues from
them. Out: planned runs. Runs 0 to budget - 1 are the search. Later runs are the comparison, in pairs in the order ABBA.
The comparison uses new runs only: the winner's runs in the search were partly fast by chance, so their times are too
short.
"""

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

import numpy as np

from assay.analysis.statistics import Floats, Mask
from assay.estimation.tuning.space import Space
from assay.estimation.tuning.tuning import (
    CONFIRMATION_SHARE,
    CandidateRun,
    Posterior,
    best_candidate,
    first_candidates,
    next_candidate,
    posterior,
)
from assay.execution.planning.order import PlannedRun
from assay.model import FailureClass, Plan, Run, RunStatus

SLOW_RUN_RATIO_MAX = 2.5
"""Multiple of the fastest time at which a run of the search is stopped."""
SLOW_RUN_TIMEOUT_MIN_S = 60.0
"""Minimum time after which a run of the search is stopped, in seconds."""
BUDGET_MIN = 4
"""Minimum number of runs of a search."""


class Strategy(StrEnum):
    """Ways in which the search chooses candidates."""

    BAYESIAN = "bayesian"
    RANDOM = "random"


@dataclass(frozen=True)
class Tuner:
    """The choice of a tuning's next run (:class:`~assay.execution.planning.next_run.NextRuns`)."""

    space: Space
    budget: int
    pairs: int
    strategy: Strategy = Strategy.BAYESIAN
    estimate: Floats | None = None
    """Logarithms of estimated times by candidate."""
    earlier_runs: tuple[CandidateRun, ...] = ()
    """Runs of the same candidates in other campaigns."""
    seed: int = 1
    _orders: dict[str, list[int]] = field(default_factory=dict)

    @cached_property
    def possible(self) -> Mask:
        """Which candidates can be run at all."""
        return np.array([self.space.why_not(candidate) is None for candidate in range(len(self.space.points))])

    @cached_property
    def coordinates(self) -> Floats:
        """The candidates as numbers."""
        return self.space.coordinates()

    def __call__(
        self, plan: Plan, planned_runs: Sequence[PlannedRun], finished_runs: Sequence[Run]
    ) -> Sequence[PlannedRun]:
        """Return the next run of the search, or the remaining runs of the comparison."""
        del plan, planned_runs
        search_runs = self.search_runs(finished_runs)
        candidate_runs = self.candidate_runs(search_runs)
        run_counts = Counter(self.space.candidate_of(run.levels) for run in search_runs)
        if len(search_runs) < self.budget:
            used_positions = {run.position for run in search_runs}
            free_position = next(position for position in range(self.budget) if position not in used_positions)
            candidate = self.pick(candidate_runs, len(search_runs))
            return [self._search_run(candidate, run_counts[candidate] + 1, candidate_runs, free_position)]
        winner = self.winner(candidate_runs)
        return self._comparison(winner, run_counts, finished_runs) if winner else []

    def search_runs(self, finished_runs: Sequence[Run]) -> list[Run]:
        """Return the last attempt of each run of the search, in order. A valid attempt takes precedence."""
        last_attempts: dict[int, Run] = {}
        for run in finished_runs:
            if run.position < self.budget and (run.position not in last_attempts or run.status is RunStatus.VALID):
                last_attempts[run.position] = run
        return [last_attempts[position] for position in sorted(last_attempts)]

    def candidate_runs(self, search_runs: Sequence[Run]) -> list[CandidateRun]:
        """Return the candidate and time of each run of the search."""
        return [result for run in search_runs if (result := self._candidate_run(run)) is not None]

    def winner(self, candidate_runs: Sequence[CandidateRun]) -> int | None:
        """Return the candidate with the least expected time; None for the defaults, or without a valid run."""
        if not any(run.log_s is not None and run.candidate for run in candidate_runs):
            return None
        if self.strategy is Strategy.RANDOM or sum(run.log_s is not None for run in candidate_runs) < 2:
            valid_runs = [run for run in candidate_runs if run.log_s is not None]
            return min(valid_runs, key=lambda run: run.log_s or 0.0).candidate or None
        return best_candidate(self.posterior(candidate_runs), candidate_runs) or None

    def expects_no_gain(self, finished_runs: Sequence[Run]) -> bool:
        """Return whether the search is over, and no candidate is expected to be faster than the defaults."""
        search_runs = self.search_runs(finished_runs)
        return len(search_runs) >= self.budget and self.winner(self.candidate_runs(search_runs)) is None

    def posterior(self, candidate_runs: Sequence[CandidateRun]) -> Posterior:
        """Return the expected time of each candidate after these runs."""
        return posterior(self.coordinates, [*self.earlier_runs, *candidate_runs], self.estimate, self.seed)

    def pick(self, candidate_runs: Sequence[CandidateRun], runs_made: int) -> int:
        """Return the candidate of the next run; ``runs_made`` runs of the search exist."""
        if self.strategy is Strategy.RANDOM:
            return self._random_order()[runs_made % len(self._random_order())]
        opening = self._opening()
        if runs_made < len(opening):
            return opening[runs_made]
        failed_candidates = {run.candidate for run in candidate_runs if run.log_s is None}
        if sum(run.log_s is not None for run in (*self.earlier_runs, *candidate_runs)) < 2:
            return next((candidate for candidate in self._random_order() if candidate not in failed_candidates), 0)
        confirming = runs_made >= self.budget - max(1, round(CONFIRMATION_SHARE * self.budget))
        is_allowed = self.possible & ~np.isin(np.arange(len(self.possible)), list(failed_candidates))
        return next_candidate(
            self.posterior(candidate_runs),
            candidate_runs,
            is_allowed if is_allowed.any() else self.possible,
            confirming=confirming,
        )

    def _opening(self) -> list[int]:
        """Return the first candidates: the defaults, a few others, and the defaults again to estimate the noise."""
        if "opening" not in self._orders:
            count = 1 if self.earlier_runs else max(2, min(2 * len(self.space.dimensions) + 1, self.budget // 3))
            other_candidates = first_candidates(self.possible, count, self.estimate, self.seed)
            self._orders["opening"] = [0, *other_candidates, 0][: self.budget]
        return self._orders["opening"]

    def _random_order(self) -> list[int]:
        if "random" not in self._orders:
            other_candidates = [candidate for candidate in range(1, len(self.possible)) if self.possible[candidate]]
            random.Random(self.seed).shuffle(other_candidates)  # noqa: S311 - an order, not a secret
            self._orders["random"] = [0, *other_candidates]
        return self._orders["random"]

    def _candidate_run(self, run: Run) -> CandidateRun | None:
        """Return the result of a run of the search; None when the cluster caused the failure."""
        candidate = self.space.candidate_of(run.levels)
        if candidate is None:
            return None
        if run.status is RunStatus.VALID:
            return CandidateRun(candidate, math.log(run.duration_s))
        is_caused_by_configuration = run.failure_class in (FailureClass.WORKLOAD, FailureClass.VALIDATION)
        return CandidateRun(candidate, None) if is_caused_by_configuration else None

    def _search_run(
        self, candidate: int, repetition: int, candidate_runs: Sequence[CandidateRun], index: int
    ) -> PlannedRun:
        run = self.space.run(candidate, repetition, index, index)
        assert run is not None  # only possible candidates are picked
        best = min((result.log_s for result in candidate_runs if result.log_s is not None), default=None)
        return (
            run
            if best is None
            else replace(run, at_most_s=max(SLOW_RUN_TIMEOUT_MIN_S, SLOW_RUN_RATIO_MAX * math.exp(best)))
        )

    def _comparison(
        self, winner: int, run_counts: Counter[int | None], finished_runs: Sequence[Run]
    ) -> list[PlannedRun]:
        valid_positions = {run.position for run in finished_runs if run.status is RunStatus.VALID}
        remaining_runs: list[PlannedRun] = []
        for pair in range(self.pairs):
            order = (0, winner) if pair % 2 == 0 else (winner, 0)
            for side, candidate in enumerate(order):
                index = self.budget + 2 * pair + side
                run = self.space.run(candidate, run_counts[candidate] + pair + 1, index, self.budget + pair)
                assert run is not None
                remaining_runs += [run] if index not in valid_positions else []
        return remaining_runs
