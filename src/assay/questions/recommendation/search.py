"""Search a catalogue's clusters: discard clusters by lower bounds, then simulate the promising clusters.

In: candidates, a mix of workloads, constraints, a price book and simulators. Out: the simulated jobs of each simulated
cluster, and how many clusters remained after each stage. A cluster that a bound rules out is not simulated. Of the
rest, the search simulates those on the predicted Pareto front of money and time, until the front is simulated or the
maximum number of simulations is reached. :class:`Surrogate` makes the predictions from the results so far.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.analysis.cost.bills import Bills, ClusterParts, bills
from assay.analysis.cost.pareto import PricedRates, on_front
from assay.analysis.statistics import Floats, Ints, Mask
from assay.estimation.recommendation.candidates import Candidates, parts_of, plan_for
from assay.estimation.recommendation.time_bounds import DataVolumes, cluster_resources, shortest_times_s
from assay.estimation.simulator.pool import SimulatorPool
from assay.estimation.simulator.process import SimulationResult
from assay.estimation.simulator.scenario import CODECS, Scenario, SimulationRequest, request_of, scenario_of, shares_of
from assay.estimation.simulator.scenario_document import ScenarioDocument
from assay.execution.planning.plan_files.changed_plan import only_run
from assay.foundation.errors import SpecificationError
from assay.foundation.progress import Progress
from assay.model import YEAR_H, CostProfile, PriceBook
from assay.model.clusters.credits import CreditKind, CreditUse
from assay.questions.costs.extra_costs import ExtraCosts
from assay.questions.costs.mix import DAY_S, Work, parse_mix
from assay.questions.costs.surplus_credits import cpu_bucket_of, surplus_vcpu_h
from assay.questions.recommendation.clusters.capacity import capacity_need, with_capacity, work_size
from assay.questions.recommendation.clusters.unpriced_choices import CostObstacle, cost_obstacle
from assay.questions.recommendation.request import Constraints, Objective, RecommendRequest
from assay.text import duration_text, money
from assay.workloads.catalogue import workloads

SEED = 1
_CONSTRAINT_FACTOR_MAX = 1.25
"""Maximum time of a cluster to simulate, as a multiple of the limit. Above 1, because times are uncertain."""
_BATCH = 24
"""Maximum number of clusters simulated before new predictions."""
_NEAR_BEST = 16
"""Maximum number of clusters by the objective in one batch."""
_EXPANDED_MAX = 4
"""Number of best clusters whose neighbours are simulated, too."""
_PRIOR_RATIO = 1.5
"""Simulated time / lower bound before any simulation."""
PRICE_TIE = 0.01
"""Maximum difference of two prices that count as equal, as a share of the lower price."""


@dataclass(frozen=True, slots=True)
class SearchStage:
    """One stage of the search: its action, and the number of clusters that remained after it."""

    name: str
    left: int
    text: str


@dataclass(frozen=True, slots=True)
class SimulatedJob:
    """One workload on one cluster, as simulated."""

    time_s: float
    shares: Mapping[str, float]
    """Share of the time by limiting resource."""
    bottleneck: str
    """The resource that limited its tasks for the longest time."""
    credits: tuple[CreditUse, ...] = ()
    """Use of the credits of rented machines."""

    @classmethod
    def of(cls, request: SimulationRequest, result: SimulationResult) -> "SimulatedJob":
        """Return the job of a result."""
        return cls(result.duration_s, shares_of(request, [result]), bottleneck_of(result), result.credits)


@dataclass(slots=True)
class SimulationStore:
    """Results of the simulator by cluster (row of the candidates): one job for each workload."""

    jobs: dict[int, tuple[SimulatedJob, ...]] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    """Reason why clusters could not be simulated, and their number."""
    assumptions: dict[str, None] = field(default_factory=dict)
    """Assumptions of the simulations, in order."""

    def __len__(self) -> int:
        """Return the number of simulated clusters."""
        return len(self.jobs)

    def rows(self) -> Ints:
        """Return the simulated clusters in ascending order."""
        return np.array(sorted(self.jobs), dtype=np.int64)

    def times_s(self, rows: Ints) -> Floats:
        """Return the times of simulated clusters: rows × workloads."""
        return np.array([[job.time_s for job in self.jobs[int(row)]] for row in rows])

    def shares(self, rows: Ints) -> list[list[Mapping[str, float]]]:
        """Return the shares of time by limiting resource: rows × workloads."""
        return [[job.shares for job in self.jobs[int(row)]] for row in rows]

    def fail(self, reason: str) -> None:
        """Count one cluster that could not be simulated."""
        self.failures[reason] = self.failures.get(reason, 0) + 1


@dataclass(frozen=True, slots=True)
class Surrogate:
    """Predictor of times from lower bounds. It uses the ratio of time to bound of simulated clusters of the family."""

    bound_s: Floats
    """Lower bound of the time: rows × workloads."""
    family: Ints
    """Family of each row: clusters with the same kinds of storage, use of storage, network, and codec."""

    @classmethod
    def of(cls, candidates: Candidates, bound_s: Floats) -> "Surrogate":
        """Return the surrogate of all candidates."""
        numbers: dict[tuple[object, ...], int] = {}
        families = [
            numbers.setdefault(
                (tuple(sorted(machine.kinds)), bool(set(machine.hdfs) & set(machine.intermediate)), machine.network),
                len(numbers),
            )
            for machine in candidates.machines
        ]
        family_of_row = np.array(families, dtype=np.int64)[candidates.machine]
        return cls(bound_s, family_of_row * len(candidates.codecs) + candidates.codec)

    def predicted_s(self, rows: Ints, store: SimulationStore) -> Floats:
        """Return the times of ``rows`` (rows × workloads): as simulated, else as predicted."""
        prior = np.full((int(self.family.max()) + 1, self.bound_s.shape[1]), math.log(_PRIOR_RATIO))
        sums, counts = np.zeros_like(prior), np.zeros((len(prior), 1))
        simulated = store.rows()
        if simulated.size:
            excess = np.log(store.times_s(simulated) / self.bound_s[simulated])
            np.add.at(sums, self.family[simulated], excess)
            np.add.at(counts, self.family[simulated], 1)
            prior[:] = sums.sum(axis=0) / counts.sum()
        log_ratios = (sums + prior) / (counts + 1)
        times_s: Floats = self.bound_s[rows] * np.exp(log_ratios[self.family[rows]])
        is_simulated = np.isin(rows, simulated)
        if is_simulated.any():
            times_s[is_simulated] = store.times_s(rows[is_simulated])
        return times_s


@dataclass(slots=True)
class ClusterSearch:
    """One search: its request, the clusters that no bound ruled out, and the results so far."""

    request: RecommendRequest
    candidates: Candidates
    works: Sequence[Work]
    constraints: Constraints
    objective: Objective
    profile: CostProfile
    pool: SimulatorPool
    prices: Bills
    surrogate: Surrogate
    rows: Ints
    """Clusters that no bound and no failed simulation ruled out."""
    stages: list[SearchStage]
    extras: ExtraCosts
    cost_obstacle: CostObstacle | None
    """Why the price book can't rank the clusters by cost; the objective is then the time. None if it can."""
    data_factor: float = 1.0
    """Factor on the data of every workload."""
    store: SimulationStore = field(default_factory=SimulationStore)

    def priced(self, rows: Ints) -> PricedRates:
        """Return the prices of clusters per hour."""
        return self.prices.of(self.candidates.machine[rows], self.candidates.workers[rows])

    def bill(self, rows: Ints) -> Floats:
        """Return the price of clusters over the years."""
        bill: Floats = self.priced(rows).rates_per_h * self.constraints.years * YEAR_H
        return bill

    def parts(self, row: int) -> ClusterParts:
        """Return the price of a cluster over the years by part."""
        machine, workers = int(self.candidates.machine[row]), int(self.candidates.workers[row])
        return self.prices.parts(machine, workers).scaled(self.constraints.years * YEAR_H)

    @property
    def why_unranked(self) -> str:
        """Why the price book can't rank the clusters by cost; empty if it can."""
        return self.cost_obstacle.sentence if self.cost_obstacle else ""

    @property
    def per_day(self) -> Floats:
        """Runs of each workload per day."""
        return np.array([work.per_day for work in self.works])

    def money(self, rows: Ints, day_s: Floats) -> Floats:
        """Return the money axis of the Pareto front: the price over the years, or the cost of a day's work."""
        if self.objective is not Objective.DAY_COST:
            return self.bill(rows)
        return self.extras.day_costs(self.priced(rows).rates_per_h, day_s, self.surplus_vcpu_h(rows, day_s))

    def surplus_vcpu_h(self, rows: Ints, day_s: Floats) -> Floats:
        """Return the vCPU-hours of surplus CPU credits of a day's work; 0 for clusters that are not simulated yet, so
        that no cluster is left out for a cost that is only predicted.
        """
        vcpu_h = np.zeros(len(rows))
        if not self.extras.surplus_price:
            return vcpu_h
        idle_s = self.extras.paid_s(day_s) - day_s
        for position, row in enumerate(rows.tolist()):
            bucket = cpu_bucket_of(self.candidates.machines[self.candidates.machine[row]].option.credits)
            if bucket is None or row not in self.store.jobs:
                continue
            uses = [use for job in self.store.jobs[row] for use in job.credits if use.kind is CreditKind.CPU]
            workers = int(self.candidates.workers[row])
            vcpu_h[position] = surplus_vcpu_h(bucket, uses, self.per_day.tolist(), workers, float(idle_s[position]))
        return vcpu_h

    def objective_of(self, rows: Ints, day_s: Floats) -> Floats:
        """Return the quantity to minimize."""
        return day_s if self.objective is Objective.TIME else self.money(rows, day_s)

    def in_time(self, times_s: Floats, slack: float) -> Mask:
        """Return which rows of ``times_s`` (rows × workloads) keep the deadline, and end a day's work within a day."""
        in_time: Mask = times_s @ self.per_day <= DAY_S * slack
        if self.constraints.deadline_s is not None:
            in_time &= times_s.max(axis=1) <= self.constraints.deadline_s * slack
        return in_time

    def scenario(
        self, row: int, work: Work, draw: Mapping[str, float] | None = None
    ) -> tuple[SimulationRequest, Scenario, ScenarioDocument]:
        """Return the simulation of a workload on one cluster, and its document.

        Raises SpecificationError if it can't be simulated.
        """
        plan = plan_for(self.candidates, row, work.entry(self.data_factor), self.profile.engine)
        request = request_of(plan, only_run(plan), self.profile, draw)
        scenario = scenario_of(request)
        self.store.assumptions.update(dict.fromkeys(scenario.assumptions))
        return request, scenario, scenario.with_seed(SEED, f"{row}")

    def simulate(self, rows: Sequence[int], progress: Progress | None, simulations_max: int) -> None:
        """Simulate every workload on these clusters."""
        requests: list[tuple[int, SimulationRequest, Scenario]] = []
        documents = []
        for row in rows:
            try:
                simulations = [self.scenario(row, work) for work in self.works]
            except SpecificationError as error:
                self.store.fail(error.message)
                continue
            requests += [(row, request, scenario) for request, scenario, _ in simulations]
            documents += [document for _, _, document in simulations]
        simulated_count, works = len(self.store), len(self.works)
        report = (
            (lambda runs_count: progress("simulated", simulated_count + runs_count // works, simulations_max))
            if progress
            else None
        )
        jobs: dict[int, list[SimulatedJob]] = {}
        for (row, request, scenario), result in zip(requests, self.pool.simulate_each(documents, report), strict=True):
            if not isinstance(result, SimulationResult):
                if not isinstance(result, SpecificationError):
                    raise result
                self.store.fail(result.message)
                continue
            self.store.assumptions.update(dict.fromkeys(result.assumptions))
            job = SimulatedJob.of(request, scenario.limited(result))
            jobs.setdefault(row, []).append(job)
        self.store.jobs.update((row, tuple(row_jobs)) for row, row_jobs in jobs.items() if len(row_jobs) == works)
        failed_rows = [row for row in rows if row not in self.store.jobs]
        self.rows = np.setdiff1d(self.rows, np.array(failed_rows, dtype=np.int64), assume_unique=True)

    def run(self, simulations_max: int, progress: Progress | None = None) -> None:
        """Simulate the best clusters, at most ``simulations_max``.

        First the best cluster of each family by lower bounds, because one family's ratio of time to bound says little
        about another's. Then the predicted Pareto front, until it is simulated. Then the clusters that differ from one
        of the best in one choice, until the best stay the same.
        """
        expanded_rows: set[int] = set()
        """Clusters whose neighbours are simulated."""
        while len(self.store) < simulations_max and len(self.rows):
            rows = self.rows
            times_s = self.surrogate.predicted_s(rows, self.store)
            day_s = times_s @ self.per_day
            objective = self.objective_of(rows, day_s)
            in_time = self.in_time(times_s, _CONSTRAINT_FACTOR_MAX)
            if not len(self.store):
                best_rows = _best_of_each(self.surrogate.family[rows], in_time, objective)
            else:
                best_rows = _front_and_best(day_s, self.money(rows, day_s), objective, in_time)[:_BATCH]
            new = self._not_simulated(rows[best_rows])
            if not new:
                order = np.lexsort((objective, ~in_time))
                best_row = next((row for row in rows[order[:_EXPANDED_MAX]].tolist() if row not in expanded_rows), None)
                if best_row is None:
                    return
                expanded_rows.add(best_row)
                similar_rows = order[self.candidates.differ_in_one_choice(best_row)[rows[order]]]
                new = self._not_simulated(rows[similar_rows])[:_NEAR_BEST]
            self.simulate(new[: simulations_max - len(self.store)], progress, simulations_max)

    def _not_simulated(self, rows: Ints) -> list[int]:
        return [int(row) for row in rows if int(row) not in self.store.jobs]


def best_first(objective: Objective, amounts: Floats, day_s: Floats) -> Ints:
    """Return the positions of clusters, the best first.

    Prices within ``PRICE_TIE`` of the lowest count as equal: among these clusters the fastest comes first.
    """
    is_tied = amounts <= amounts.min(initial=np.inf) * (1 + PRICE_TIE if objective is Objective.PRICE else 1)
    order: Ints = np.lexsort((day_s, np.where(is_tied, -np.inf, amounts)))
    return order


def bottleneck_of(result: SimulationResult) -> str:
    """Return the resource that limited the tasks for the longest time."""
    if not result.limits:
        return "unknown"
    return max(result.limits, key=lambda name: result.limits[name]).replace(":dfs", ":hdfs")


def _front_and_best(day_s: Floats, money: Floats, objective: Floats, in_time: Mask) -> Ints:
    """Return positions of the best clusters by the objective, then of the Pareto front."""
    positions = np.flatnonzero(in_time)
    if not positions.size:  # no cluster is predicted to be in time: the fastest come nearest
        return np.argsort(day_s, kind="stable")[:_NEAR_BEST].astype(np.int64)
    front = positions[on_front(day_s[positions], money[positions])[0]]
    best_positions = positions[np.argsort(objective[positions], kind="stable")][:_NEAR_BEST]
    return np.array(list(dict.fromkeys([*best_positions.tolist(), *front.tolist()])), dtype=np.int64)


def _best_of_each(family: Ints, in_time: Mask, objective: Floats) -> Ints:
    """Return the position of the best cluster of each family, the best first; clusters in time precede others."""
    order = np.lexsort((objective, ~in_time))
    first_positions = np.unique(family[order], return_index=True)[1]
    positions: Ints = order[np.sort(first_positions)]
    return positions


def start_search(
    request: RecommendRequest,
    candidates: Candidates,
    book: PriceBook,
    profile: CostProfile,
    pool: SimulatorPool,
    data_factor: float = 1.0,
) -> ClusterSearch:
    """Return the search over the clusters that no bound rules out.

    ``data_factor``: factor on the data of every workload. Raises SpecificationError for a request that can't be
    answered, and if no cluster has a price.
    """
    works, constraints = parse_mix(request.workloads), request.constraints(book)
    parts, objective = parts_of(candidates), request.objective(constraints, book)
    prices = bills(book, parts)
    stages = [
        SearchStage("catalogue", len(candidates), f"clusters that {candidates.catalogue.name}'s choices combine to")
    ]
    rows = np.flatnonzero(prices.priced[candidates.machine])
    if not rows.size:
        why = "; ".join(f"{layout}: {reason}" for layout, reason in list(prices.unpriced.items())[:3])
        raise SpecificationError(f"the price book {book.name} prices none of the catalogue's clusters: {why}")
    obstacle = cost_obstacle(book, candidates, parts, prices.priced)
    if obstacle and (objective is not Objective.TIME or constraints.budget is not None or request.extra_costs):
        obstacle.refuse()
    if len(rows) < len(candidates):
        unpriced = ", ".join(list(prices.unpriced)[:5])
        stages.append(SearchStage("prices", len(rows), f"priced; {unpriced} of {len(prices.unpriced)} layouts are not"))
    resources = cluster_resources(candidates)
    need = capacity_need(candidates, works, constraints, profile, data_factor)
    rows, text = with_capacity(rows, resources, candidates, need)
    stages.append(SearchStage("room", len(rows), text))
    bounds_s = [
        shortest_times_s(
            resources, profile, profile.workloads[work.workload], _data_volumes(candidates, work, profile, data_factor)
        )
        for work in works
    ]
    bound_s = np.stack(bounds_s, 1)
    search = ClusterSearch(
        request=request,
        candidates=candidates,
        works=works,
        constraints=constraints,
        objective=objective,
        profile=profile,
        pool=pool,
        prices=prices,
        surrogate=Surrogate.of(candidates, bound_s),
        rows=rows,
        stages=stages,
        extras=ExtraCosts.of(request.extra_costs, book),
        cost_obstacle=obstacle,
        data_factor=data_factor,
    )
    _keep_budget(search, book.currency)
    _keep_time_limits(search, bound_s)
    return search


def _keep_budget(search: ClusterSearch, currency: str) -> None:
    """Keep the clusters within the budget at the lowest prices."""
    constraints, rows = search.constraints, search.rows
    if constraints.budget is None:
        return
    low, high = (
        np.array(ends) for ends in zip(*((float(p.low), float(p.high)) for p in search.prices.prices), strict=True)
    )
    factors = search.priced(rows).factors * (constraints.years * YEAR_H)
    is_kept = factors @ low <= constraints.budget
    text = "within the budget at the lowest prices"
    if rows.size and not is_kept.any():
        text += _cheapest_text(constraints, float((factors @ low).min()), float((factors @ high).min()), currency)
    search.rows = rows[is_kept]
    search.stages.append(SearchStage("budget", len(search.rows), text))


def _keep_time_limits(search: ClusterSearch, bound_s: Floats) -> None:
    """Keep the clusters that can meet the time limits. ``bound_s``: lower bounds, candidates × workloads."""
    bound_s = bound_s[search.rows]
    is_in_time = search.in_time(bound_s, _CONSTRAINT_FACTOR_MAX)
    text = "can meet the time limits by bytes and CPU cycles alone"
    if search.rows.size and not is_in_time.any():
        text += _shortest_text(search, bound_s)
    search.rows = search.rows[is_in_time]
    search.stages.append(SearchStage("bounds", len(search.rows), text))


def bill_text(bill: float, constraints: Constraints, currency: str) -> str:
    """Return a price, rounded up, for the period of the budget: ``$30,626 over 3 years`` or ``$1.17 per hour``."""
    if constraints.budget_per_h is None:
        return f"{money(math.ceil(bill), currency)} over {constraints.years:g} years"
    per_h = bill / (constraints.years * YEAR_H)
    return f"{money(math.ceil(100 * per_h) / 100, currency)} per hour"


def _cheapest_text(constraints: Constraints, low: float, high: float, currency: str) -> str:
    """Return the price of the cheapest cluster at the lowest and the highest prices, and what to change."""
    price, high_price = (bill_text(amount, constraints, currency) for amount in (low, high))
    if high_price != price:
        price += f" at the lowest prices and {high_price} at the highest"
    return f"; the cheapest costs {price}: allow {high_price}, or add cheaper hardware to the catalogue"


def _shortest_text(search: ClusterSearch, bound_s: Floats) -> str:
    """Return the shortest possible time of the constraint that no cluster keeps, and what to change."""
    deadline_s, run_s = search.constraints.deadline_s, float(bound_s.max(axis=1).min())
    what, time_s, limit = "day's work", float((bound_s @ search.per_day).min()), "do less work per day"
    if deadline_s is not None and run_s > deadline_s * _CONSTRAINT_FACTOR_MAX:
        what, time_s, limit = "run" if len(search.works) == 1 else "longest run", run_s, "allow more time"
    return (
        f"; no {what} can take less than {duration_text(time_s, rough=False)}, and waiting comes on top: {limit}, or "
        "add faster hardware to the catalogue"
    )


def why_none_simulated(search: ClusterSearch) -> str:
    """Return which bound, or which failure of the simulator, rules out every cluster."""
    empty_stage = next((stage for stage in search.stages if stage.left == 0), None)
    if empty_stage is not None:
        return f"of the catalogue's clusters, none {empty_stage.text}"
    return f"no cluster could be simulated: {'; '.join(search.store.failures) or 'no cluster is left'}"


def _data_volumes(candidates: Candidates, work: Work, profile: CostProfile, data_factor: float) -> DataVolumes:
    """Return the data volumes of a run of a workload, with the best codec that the catalogue offers."""
    workload, size = workloads()[work.workload], work_size(candidates, work, data_factor)
    learned_ratios = profile.workloads[work.workload].compression
    ratios = [learned_ratios.get(codec, CODECS.get(codec, (None, 0.0))[0]) for codec in candidates.codecs]
    smallest_ratio = min((ratio.low for ratio in ratios if ratio is not None), default=1.0)
    return DataVolumes(
        float(workload.data_bytes(size)),
        workload.iterations(size),
        size.replication,
        workload.output_copies(size),
        min(1.0, smallest_ratio),
    )
