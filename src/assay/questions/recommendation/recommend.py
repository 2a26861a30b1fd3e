"""Recommend a cluster for a mix of workloads, with its probability, its alternatives, and what would change it.

In: a request, a catalogue of hardware, a price book and a profile. Out: :class:`Recommendation`, the one answer for
every interface. Every time is simulated. Every interval is a 90 % interval.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.cost.pareto import on_front
from assay.analysis.cost.volumes import unpriced_volumes
from assay.analysis.statistics import Floats, Mask
from assay.estimation.recommendation.candidates import candidates
from assay.estimation.simulator.draws import REPETITION_SIGMA
from assay.estimation.simulator.pool import SimulatorPool
from assay.estimation.simulator.process import simulator
from assay.foundation.errors import SpecificationError
from assay.foundation.progress import Progress
from assay.foundation.units import format_percent
from assay.model import YEAR_H, CostProfile, HardwareCatalogue, Origin, PriceBook
from assay.questions.costs.extra_costs import ExtraCosts
from assay.questions.costs.mix import DAY_S, Work, parse_mix
from assay.questions.costs.surplus_credits import in_unlimited_mode
from assay.questions.forecasts.learning import ProfileOrigin
from assay.questions.recommendation.clusters.capacity import RESERVE_SHARE
from assay.questions.recommendation.clusters.choice import Choice, WorkTime, without_money
from assay.questions.recommendation.finalists import Finalists, last_stages
from assay.questions.recommendation.measured_types import TimeSources, timed_finalists
from assay.questions.recommendation.request import Constraints, Objective, RecommendRequest
from assay.questions.recommendation.search import (
    PRICE_TIE,
    ClusterSearch,
    SearchStage,
    best_first,
    bill_text,
    start_search,
    why_none_simulated,
)
from assay.questions.recommendation.sensitivity import AnswerChange, Hardware, changes_of, hardware_of
from assay.questions.recommendation.value_of_information import (
    InputDraws,
    Uncertainty,
    best_shares,
    draw_inputs,
    input_text,
    losses,
    value_of_information,
    value_of_perfect_information,
)
from assay.text import duration_text

EXTRAPOLATION_STATED = 2.0
"""Data per worker, as a multiple of the learned data per worker, above which the extrapolation is stated first."""
EXTRAPOLATION_MAX = 8.0
"""Maximum data per worker, as the same multiple, for which shares of draws are stated: draws do not cover errors of
larger extrapolation."""
FRONT_SHARE_MIN = 0.05
"""Minimum share of draws on the Pareto front to list a candidate that is not on the front of the central inputs."""
_FASTER_STATED = 0.05
"""Minimum share of time that a cluster saves to be named although uncertain prices may exceed the budget."""
_LOW_QUANTILE, _HIGH_QUANTILE = 0.05, 0.95


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The answer. ``chosen`` is None where no cluster keeps the constraints with the requested confidence."""

    catalogue: str
    catalogue_source: str
    book: str
    """Name of the price book; ``book_date`` and ``book_source``: its date and source."""
    book_date: str
    book_source: str
    currency: str
    works: tuple[Work, ...]
    constraints: Constraints
    objective: Objective
    confidence: float
    stages: tuple[SearchStage, ...]
    origin: str
    seed: int
    profile: str
    profile_origin: ProfileOrigin
    """Whether the profile was learned from the runs of a repository, is shipped with assay, or is in files."""
    assumptions: tuple[str, ...]
    chosen: Choice | None = None
    runner_up: Choice | None = None
    """The best cluster with other hardware."""
    tied: bool = False
    """Whether the expected prices of the chosen cluster and the runner-up count as equal, so that time decided."""
    fastest: Choice | None = None
    """The fastest cluster that keeps the constraints; None where time is the objective."""
    cheapest: Choice | None = None
    """The cluster with the lowest price that keeps the constraints; None unless time is the objective."""
    over_budget: Choice | None = None
    """The fastest cluster within the budget at the list prices that is left out because prices are uncertain; None if
    it is hardly faster than ``fastest``."""
    why_none: str = ""
    """Why no cluster is chosen."""
    front: tuple[Choice, ...] = ()
    """Candidates that may be on the Pareto front of money and time, the cheapest first, of those that keep the
    constraints, else of all."""
    finalists: tuple[Choice, ...] = ()
    """Every cluster that was examined, the best first."""
    changes: tuple[AnswerChange, ...] = ()
    uncertainties: tuple[Uncertainty, ...] = ()
    """The most valuable to measure first."""
    value_of_perfect_information: float = 0.0
    draws: int = 0
    purchased: bool = False
    """Whether the price book prices purchases, which cost the same while the cluster is idle."""
    extrapolation: float = 1.0
    """Largest data per worker of a finalist, as a multiple of the largest that the profile was learned from."""
    extrapolated_workload: str = ""
    """The workload with this multiple; empty within the learned range."""
    learned_bytes_per_worker: float = 0.0
    """Largest data per worker of that workload that the profile was learned from."""
    unpriced: str = ""
    """Why the price book can't rank the clusters by cost. Times alone are then ranked, and amounts are NaN. Empty if
    it can."""
    time_model: str = ""
    """Whether runs on instance types predict the times, or why not; empty without such runs."""

    @property
    def extrapolated(self) -> bool:
        """Whether the data per worker is too far from the learned data for a share of draws to be stated."""
        return self.extrapolation > EXTRAPOLATION_MAX

    @property
    def needed_bytes_per_worker(self) -> float:
        """Data per worker of a measured run from which shares of draws would be stated."""
        return self.learned_bytes_per_worker * self.extrapolation / EXTRAPOLATION_MAX

    @property
    def too_close(self) -> bool:
        """Whether other hardware may be the best: the chosen hardware is the best in too small a share of the draws."""
        return (
            self.chosen is not None
            and self.runner_up is not None
            and (self.extrapolated or self.chosen.hardware_probability < self.confidence)
        )

    @property
    def estimated(self) -> bool:
        """Whether the chosen cluster is only the best estimate: it is too close to call, or extrapolated too far."""
        return self.chosen is not None and (self.extrapolated or self.too_close)


def recommend(
    request: RecommendRequest,
    catalogue: HardwareCatalogue,
    book: PriceBook,
    sources: TimeSources,
    pool: SimulatorPool,
    progress: Progress | None = None,
) -> Recommendation:
    """Return the recommendation.

    Raises SpecificationError for a request that can't be answered or priced, and HostError without the simulator.
    """
    simulator()  # fails before the search if the simulator is missing
    profile = sources.profile
    works = _known_works(request, profile)
    devices = [option.device for worker in catalogue.workers for option in worker.devices]
    if ExtraCosts.of(request.extra_costs, book).surplus_price:
        catalogue = in_unlimited_mode(catalogue)
    catalogue = replace(catalogue, assumptions=(*catalogue.assumptions, *unpriced_volumes(book, devices)))
    search = start_search(request, candidates(catalogue), book, profile, pool)
    search.run(request.simulations, progress)
    answer_without_choice = Recommendation(
        catalogue=catalogue.name,
        catalogue_source=catalogue.source,
        book=book.name,
        book_date=book.date,
        book_source=book.source,
        currency=book.currency,
        works=works,
        constraints=search.constraints,
        objective=search.objective,
        confidence=request.confidence,
        stages=tuple(search.stages),
        origin=str(Origin.SIMULATED),
        seed=request.seed,
        profile=profile.name,
        profile_origin=sources.origin,
        purchased=book.has_purchases,
        unpriced=search.why_unranked,
        assumptions=(f"profile {profile.name}: {profile.learned.source}", *catalogue.assumptions),
    )
    if not len(search.store):
        return replace(answer_without_choice, why_none=why_none_simulated(search))
    finalists, time_model, origin = timed_finalists(search, sources.measured, progress)
    draws = draw_inputs(finalists.times_s, finalists.sensitivities, finalists.prices, request.seed, REPETITION_SIGMA)
    ranking = _Ranking.of(request, search, finalists, draws)
    choices, chosen, (uncertainties, perfect) = ranking.choices(), ranking.chosen(), ranking.uncertainties()
    return replace(
        answer_without_choice,
        stages=(*search.stages, *last_stages(search, request.simulations, finalists)),
        chosen=None if chosen is None else choices[chosen],
        runner_up=None if (runner_up := ranking.runner_up()) is None else choices[runner_up],
        tied=runner_up is not None and ranking.tied(runner_up),
        fastest=None if (fastest := ranking.fastest()) is None else choices[fastest],
        cheapest=None if (cheapest := ranking.cheapest()) is None else choices[cheapest],
        over_budget=None if (over_budget := ranking.over_budget()) is None else choices[over_budget],
        why_none="" if chosen is not None else ranking.why_none(book.currency),
        front=ranking.front(choices),
        finalists=tuple(choices[number] for number in ranking.order),
        changes=() if chosen is None else changes_of(search, finalists, chosen, catalogue, book, progress, origin),
        uncertainties=uncertainties,
        value_of_perfect_information=perfect,
        draws=len(draws.times_s),
        assumptions=_assumptions(search, finalists),
        time_model=time_model,
        origin=str(origin),
        extrapolation=finalists.extrapolation.multiple,
        extrapolated_workload=finalists.extrapolation.workload,
        learned_bytes_per_worker=finalists.extrapolation.learned_bytes,
    )


def _known_works(request: RecommendRequest, profile: CostProfile) -> tuple[Work, ...]:
    """Return the mix of workloads. Raises SpecificationError for a workload that the profile lacks."""
    works = parse_mix(request.workloads)
    unknown_workloads = [work.workload for work in works if work.workload not in profile.workloads]
    if unknown_workloads:
        raise SpecificationError(
            f"the profile {profile.name} has no workload {unknown_workloads[0]!r}",
            where="--workload",
            hint=f"it has {', '.join(profile.workloads)}; --repository takes a repository in which it was measured",
        )
    return works


@dataclass(frozen=True, slots=True)
class _Ranking:
    """The finalists under all draws. Arrays are draws × finalists."""

    request: RecommendRequest
    search: ClusterSearch
    finalists: Finalists
    draws: InputDraws
    hardware: list[Hardware]
    """Hardware of each finalist."""
    day_s: Floats
    bills: Floats
    day_costs: Floats
    surplus_vcpu_h: Floats
    """Surplus CPU credits of a day's work, by finalist. In the draws, they are proportional to the time."""
    objective: Floats
    kept: Mask
    """Whether every constraint is kept."""
    confident: Mask
    """Finalists that keep the constraints with the requested confidence."""
    order: list[int]
    """Finalists in order: confident first, then by mean objective; prices within PRICE_TIE are ordered by time."""

    @classmethod
    def of(
        cls, request: RecommendRequest, search: ClusterSearch, finalists: Finalists, draws: InputDraws
    ) -> "_Ranking":
        """Rank the finalists."""
        constraints = search.constraints
        day_s: Floats = draws.times_s @ search.per_day
        bills: Floats = draws.rates_per_h * (constraints.years * YEAR_H)
        middle_s = finalists.times_s @ search.per_day
        surplus = search.surplus_vcpu_h(finalists.rows, middle_s)
        day_costs: Floats = search.extras.day_costs(draws.rates_per_h, day_s, surplus * day_s / middle_s)
        objective = {Objective.TIME: day_s, Objective.DAY_COST: day_costs, Objective.PRICE: bills}[search.objective]
        is_kept: Mask = day_s <= DAY_S
        if constraints.deadline_s is not None:
            is_kept = is_kept & (draws.times_s.max(axis=2) <= constraints.deadline_s)
        if constraints.budget is not None:
            is_kept = is_kept & (bills <= constraints.budget)
        is_confident: Mask = is_kept.mean(axis=0) >= request.confidence
        expected_objective = objective.mean(axis=0)
        groups = (np.flatnonzero(is_confident), np.flatnonzero(~is_confident))
        order = np.concatenate(
            [n[best_first(search.objective, expected_objective[n], middle_s[n])] for n in groups]
        ).tolist()
        hardware = [hardware_of(search.candidates.levels(int(row))) for row in finalists.rows]
        return cls(
            request,
            search,
            finalists,
            draws,
            hardware,
            day_s,
            bills,
            day_costs,
            surplus,
            objective,
            is_kept,
            is_confident,
            order,
        )

    def chosen(self) -> int | None:
        """Return the best confident finalist; None if there is none."""
        return self.order[0] if self.confident[self.order[0]] else None

    def runner_up(self) -> int | None:
        """Return the best confident finalist with other hardware; None if there is none."""
        best_hardware = self.hardware[self.order[0]]
        return next(
            (number for number in self.order if self.confident[number] and self.hardware[number] != best_hardware), None
        )

    def tied(self, runner_up: int) -> bool:
        """Return whether the expected price of the runner-up counts as equal to that of the chosen finalist."""
        prices = self.objective.mean(axis=0)[[self.order[0], runner_up]]
        return self.search.objective is Objective.PRICE and bool(prices.max() <= prices.min() * (1 + PRICE_TIE))

    def fastest(self) -> int | None:
        """Return the fastest confident finalist; None if there is none, or if time is the objective."""
        if self.search.objective is Objective.TIME or not self.confident.any():
            return None
        middle_s = self.finalists.times_s @ self.search.per_day
        return int(np.argmin(np.where(self.confident, middle_s, np.inf)))

    def cheapest(self) -> int | None:
        """Return the cheapest confident finalist; None if there is none, or unless time is the objective."""
        if self.search.cost_obstacle or self.search.objective is not Objective.TIME or not self.confident.any():
            return None
        return int(np.argmin(np.where(self.confident, self.finalists.prices.rates_per_h, np.inf)))

    def over_budget(self) -> int | None:
        """Return the fastest finalist that keeps the deadline, and the budget at the list prices alone; None if a
        confident one is about as fast.
        """
        constraints = self.search.constraints
        if constraints.budget is None or not self.confident.any():
            return None
        bills = self.finalists.prices.rates_per_h * (constraints.years * YEAR_H)
        in_budget = (self.bills <= constraints.budget).mean(axis=0) >= self.request.confidence
        middle_s = self.finalists.times_s @ self.search.per_day
        is_over_budget = (bills <= constraints.budget) & ~in_budget & self.search.in_time(self.finalists.times_s, 1.0)
        is_over_budget &= middle_s < middle_s[self.confident].min() * (1 - _FASTER_STATED)
        return int(np.argmin(np.where(is_over_budget, middle_s, np.inf))) if is_over_budget.any() else None

    def front(self, choices: Sequence[Choice]) -> tuple[Choice, ...]:
        """Return the confident choices on the Pareto front in enough draws; without a confident one, all of them.

        Empty if the price book can't rank them.
        """
        if self.search.cost_obstacle:
            return ()
        front = [
            choice
            for choice, is_confident in zip(choices, self.confident, strict=True)
            if (choice.on_pareto_front or choice.pareto_front_probability >= FRONT_SHARE_MIN)
            and (is_confident or self.chosen() is None)
        ]
        return tuple(sorted(front, key=lambda choice: (choice.cost, choice.day_s)))

    def why_none(self, currency: str) -> str:
        """Return why no finalist was chosen, with the one that comes nearest to keeping every constraint."""
        shares = self.kept.mean(axis=0)
        nearest = int(np.argmax(shares))
        label = self.search.candidates.label(int(self.finalists.rows[nearest]))
        return (
            f"no simulated cluster keeps every constraint in {format_percent(self.request.confidence)} of the draws; "
            f"{label} comes nearest, with {format_percent(float(shares[nearest]))}"
            f"{self._needs_text(nearest, currency)}: allow more time or money, or a lower confidence, or measure "
            "(see below)"
        )

    def _needs_text(self, finalist: int, currency: str) -> str:
        """Return the time and the price that a finalist keeps in enough draws, for each constraint that it breaks."""
        constraints, confidence = self.search.constraints, self.request.confidence
        time_s = math.ceil(np.quantile(self.draws.times_s[:, finalist].max(axis=1), confidence))
        bill, texts = float(np.quantile(self.bills[:, finalist], confidence)), []
        if constraints.deadline_s is not None and time_s > constraints.deadline_s:
            texts.append(f"its runs take at most {duration_text(time_s, rough=False)}")
        if constraints.budget is not None and bill > constraints.budget:
            texts.append(f"it costs at most {bill_text(bill, constraints, currency)}")
        return "".join(f"; in {format_percent(confidence)} of the draws, {text}" for text in texts)

    def choices(self) -> list[Choice]:
        """Return every finalist with its numbers."""
        middle_s = self.finalists.times_s @ self.search.per_day
        rates_per_h = self.finalists.prices.rates_per_h
        extras, bill = self.search.extras, rates_per_h * self.search.constraints.years * YEAR_H
        day_cost = extras.day_costs(rates_per_h, middle_s, self.surplus_vcpu_h)
        by_day = self.search.objective is Objective.DAY_COST
        money, money_draws = (day_cost, self.day_costs) if by_day else (bill, self.bills)
        bill_low, bill_high = np.quantile(self.bills, (_LOW_QUANTILE, _HIGH_QUANTILE), axis=0)
        day_low, day_high = np.quantile(self.day_s, (_LOW_QUANTILE, _HIGH_QUANTILE), axis=0)
        cost_low, cost_high = np.quantile(self.day_costs, (_LOW_QUANTILE, _HIGH_QUANTILE), axis=0)
        money_low, money_high = (cost_low, cost_high) if by_day else (bill_low, bill_high)
        front, front_shares = on_front(middle_s, money)[0], on_front(self.day_s, money_draws).mean(axis=0)
        best_share, kept_share = best_shares(self.objective, self.kept), self.kept.mean(axis=0)
        choices = [
            Choice(
                label=self.search.candidates.label(int(row)),
                levels=self.search.candidates.levels(int(row)),
                storage=self.search.candidates.machines[self.search.candidates.machine[row]].storage,
                bill=float(bill[number]),
                bill_low=float(bill_low[number]),
                bill_high=float(bill_high[number]),
                parts=self.search.parts(int(row)),
                day_s=float(middle_s[number]),
                day_low_s=float(day_low[number]),
                day_high_s=float(day_high[number]),
                day_cost=float(day_cost[number]),
                day_cost_low=float(cost_low[number]),
                day_cost_high=float(cost_high[number]),
                times=self._times(number),
                on_pareto_front=bool(front[number]),
                pareto_front_probability=float(front_shares[number]),
                best_probability=float(best_share[number]),
                hardware_probability=float(
                    sum(best_share[other] for other, key in enumerate(self.hardware) if key == self.hardware[number])
                ),
                keeps_probability=float(kept_share[number]),
                fidelity=self.finalists.fidelities[number],
                cost=float(money[number]),
                cost_low=float(money_low[number]),
                cost_high=float(money_high[number]),
                cost_lines=extras.lines(
                    float(rates_per_h[number]), float(middle_s[number]), float(self.surplus_vcpu_h[number])
                ),
            )
            for number, row in enumerate(self.finalists.rows)
        ]
        return [without_money(choice) for choice in choices] if self.search.cost_obstacle else choices

    def _times(self, finalist: int) -> tuple[WorkTime, ...]:
        deadline_s = self.search.constraints.deadline_s
        times = []
        for number, work in enumerate(self.search.works):
            run_s = self.draws.times_s[:, finalist, number]
            low, high = np.quantile(run_s, (_LOW_QUANTILE, _HIGH_QUANTILE))
            in_time = None if deadline_s is None else float(np.mean(run_s <= deadline_s))
            middle_s = float(self.finalists.times_s[finalist, number])
            bottleneck = self.finalists.bottlenecks[finalist][number]
            credit_uses = self.finalists.credits[finalist][number]
            times.append(WorkTime(work.label, middle_s, float(low), float(high), bottleneck, in_time, credit_uses))
        return tuple(times)

    def uncertainties(self) -> tuple[tuple[Uncertainty, ...], float]:
        """Return the uncertain inputs, the most valuable first, and the value of perfect information."""
        loss = losses(self.objective, self.kept)
        best_finalist = int(np.argmin(loss.mean(axis=0)))
        perfect = value_of_perfect_information(loss, best_finalist)
        uncertainties = []
        for name, values in self.draws.inputs.items():
            value = min(perfect, value_of_information(values, loss, best_finalist, self.request.seed))
            input_name, measurement = input_text(name)
            uncertainties.append(
                Uncertainty(name, input_name, value, value / perfect if perfect > 0 else 0.0, measurement)
            )
        return tuple(sorted(uncertainties, key=lambda uncertainty: -uncertainty.value)), perfect


def _assumptions(search: ClusterSearch, finalists: Finalists) -> tuple[str, ...]:
    texts = [f"profile {search.profile.name}: {search.profile.learned.source}"]
    if search.constraints.capacity_bytes:
        texts.append(
            f"{format_percent(RESERVE_SHARE)} of the HDFS capacity stays free for outputs and intermediate data"
        )
    texts += (*search.candidates.catalogue.assumptions, *search.extras.assumptions(), *finalists.assumptions)
    texts += [f"{count} could not be simulated: {reason}" for reason, count in search.store.failures.items()]
    return tuple(dict.fromkeys([*texts, *search.store.assumptions]))
