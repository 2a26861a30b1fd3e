"""Tuning as a campaign's next runs: what is tried within a budget, then the winner against the defaults, measured anew.

In: a space, a budget, and the campaign's finished runs, which are all that is remembered: a call that was interrupted
goes on from them. Out: planned runs. The search is runs 0 to budget - 1 by their index; what comes after is the
comparison, in pairs as ABBA, of runs that the search has not seen: the winner of a search was lucky as well as fast,
and measured again its luck is gone.
"""

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

import numpy as np

from assay.model import FailureClass, Plan, Run, RunStatus
from assay.planning.order import PlannedRun
from assay.planning.tuning_space import Space
from assay.predict.tuning import SETTLING_SHARE, Expected, Tried, best_one, expected, first_ones, next_one
from assay.statistics import Floats, Mask

HOPELESS = 2.5
"""A run of the search that takes so many times as long as the fastest is stopped."""
HOPELESS_LEAST_S = 60.0
BUDGET_MIN = 4


class Strategy(StrEnum):
    """How candidates are picked."""

    BAYESIAN = "bayesian"
    RANDOM = "random"


@dataclass(frozen=True)
class Tuner:
    """Decides what is run next (:class:`~assay.planning.next_run.NextRuns`)."""

    space: Space
    budget: int
    pairs: int
    strategy: Strategy = Strategy.BAYESIAN
    estimate: Floats | None = None
    """Logarithms of times that were estimated beforehand, by candidate."""
    before: tuple[Tried, ...] = ()
    """Runs of the same candidates that other campaigns made."""
    seed: int = 1
    _drawn: dict[str, list[int]] = field(default_factory=dict)

    @cached_property
    def possible(self) -> Mask:
        """Which candidates can be run at all."""
        return np.array([self.space.why_not(one) is None for one in range(len(self.space.points))])

    @cached_property
    def coordinates(self) -> Floats:
        """The candidates as numbers."""
        return self.space.coordinates()

    def __call__(self, plan: Plan, planned: Sequence[PlannedRun], finished: Sequence[Run]) -> Sequence[PlannedRun]:
        """Return the next run of the search, or what is left of the comparison."""
        del plan, planned
        searched = self.searched(finished)
        tried = self.tried(searched)
        made = Counter(self.space.candidate_of(run.levels) for run in searched)
        if len(searched) < self.budget:
            there = {run.position for run in searched}
            free = next(at for at in range(self.budget) if at not in there)
            candidate = self.pick(tried, len(searched))
            return [self._search_run(candidate, made[candidate] + 1, tried, free)]
        winner = self.winner(tried)
        return self._comparison(winner, made, finished) if winner else []

    def searched(self, finished: Sequence[Run]) -> list[Run]:
        """Return the last attempt of each run of the search, in order; a valid one where there is one."""
        last: dict[int, Run] = {}
        for run in finished:
            if run.position < self.budget and (run.position not in last or run.status is RunStatus.VALID):
                last[run.position] = run
        return [last[at] for at in sorted(last)]

    def tried(self, searched: Sequence[Run]) -> list[Tried]:
        """Return what the search's runs tell."""
        return [one for run in searched if (one := self._tried(run)) is not None]

    def winner(self, tried: Sequence[Tried]) -> int | None:
        """Return the candidate that is expected to be the fastest; None where that is the defaults, or nothing ran."""
        if not any(one.log_s is not None and one.candidate for one in tried):
            return None
        if self.strategy is Strategy.RANDOM or sum(one.log_s is not None for one in tried) < 2:
            good = [one for one in tried if one.log_s is not None]
            return min(good, key=lambda one: one.log_s or 0.0).candidate or None
        return best_one(self.said(tried), tried) or None

    def expects_nothing(self, finished: Sequence[Run]) -> bool:
        """Say whether the search is over and expects nothing to be faster than the defaults."""
        searched = self.searched(finished)
        return len(searched) >= self.budget and self.winner(self.tried(searched)) is None

    def said(self, tried: Sequence[Tried]) -> Expected:
        """Return what is expected of each candidate after these runs."""
        return expected(self.coordinates, [*self.before, *tried], self.estimate, self.seed)

    def pick(self, tried: Sequence[Tried], made: int) -> int:
        """Return the candidate of the run after so many of the search."""
        if self.strategy is Strategy.RANDOM:
            return self._random_order()[made % len(self._random_order())]
        opening = self._opening()
        if made < len(opening):
            return opening[made]
        if sum(one.log_s is not None for one in (*self.before, *tried)) < 2:
            failed = {one.candidate for one in tried if one.log_s is None}
            return next((one for one in self._random_order() if one not in failed), 0)
        settling = made >= self.budget - max(1, round(SETTLING_SHARE * self.budget))
        failed = {one.candidate for one in tried if one.log_s is None}
        free = self.possible & ~np.isin(np.arange(len(self.possible)), list(failed))
        return next_one(self.said(tried), tried, free if free.any() else self.possible, settling=settling)

    def _opening(self) -> list[int]:
        """Return what the search begins with: the defaults, a few far apart, and the defaults again, for scatter."""
        if "opening" not in self._drawn:
            count = 1 if self.before else max(2, min(2 * len(self.space.dimensions) + 1, self.budget // 3))
            some = first_ones(self.possible, count, self.estimate, self.seed)
            self._drawn["opening"] = [0, *some, 0][: self.budget]
        return self._drawn["opening"]

    def _random_order(self) -> list[int]:
        if "random" not in self._drawn:
            some = [one for one in range(1, len(self.possible)) if self.possible[one]]
            random.Random(self.seed).shuffle(some)  # noqa: S311 - an order, not a secret
            self._drawn["random"] = [0, *some]
        return self._drawn["random"]

    def _tried(self, run: Run) -> Tried | None:
        """Return what a run of the search tells; None where its cluster was at fault."""
        candidate = self.space.candidate_of(run.levels)
        if candidate is None:
            return None
        if run.status is RunStatus.VALID:
            return Tried(candidate, math.log(run.duration_s))
        told = run.failure_class in (FailureClass.WORKLOAD, FailureClass.VALIDATION)
        return Tried(candidate, None) if told else None

    def _search_run(self, candidate: int, repetition: int, tried: Sequence[Tried], index: int) -> PlannedRun:
        run = self.space.run(candidate, repetition, index, index)
        assert run is not None  # only possible ones are picked
        best = min((one.log_s for one in tried if one.log_s is not None), default=None)
        return run if best is None else replace(run, at_most_s=max(HOPELESS_LEAST_S, HOPELESS * math.exp(best)))

    def _comparison(self, winner: int, made: Counter[int | None], finished: Sequence[Run]) -> list[PlannedRun]:
        valid = {run.position for run in finished if run.status is RunStatus.VALID}
        left: list[PlannedRun] = []
        for pair in range(self.pairs):
            order = (0, winner) if pair % 2 == 0 else (winner, 0)
            for side, candidate in enumerate(order):
                index = self.budget + 2 * pair + side
                run = self.space.run(candidate, made[candidate] + pair + 1, index, self.budget + pair)
                assert run is not None
                left += [run] if index not in valid else []
        return left
