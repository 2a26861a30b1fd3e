"""The search among a catalogue's clusters: bounds first, then simulations of those that may still be worth it.

In: candidates, a mix, limits, a price book, a profile, simulators. Out: what each simulated cluster takes, and how many
were looked at on which stage. What a bound rules out is not simulated. Of the rest, the simulator is asked for those
that would lie on the front of money and time by what it told so far of clusters like them (its time over the bound, by
workload and kind of storage), until the front that this predicts has been simulated, or so many simulations were made.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from assay.analysis.cost.bills import Bills, Parts, bills
from assay.analysis.cost.pareto import Priced, on_front
from assay.analysis.cost.parts import Counts
from assay.analysis.statistics import Floats, Ints, Mask
from assay.estimation.recommendation.candidates import Candidates, plan_for
from assay.estimation.recommendation.time_bounds import Moved, Powers, fits, least_s, powers
from assay.estimation.simulator.pool import SimulatorPool
from assay.estimation.simulator.process import SimulationResult
from assay.estimation.simulator.scenario import CODECS, SimulationRequest, scenario_of, shares_of
from assay.estimation.simulator.scenario_document import ScenarioDocument
from assay.execution.planning.forecast.device_space import FULL_SHARE
from assay.execution.planning.forecast.inputs import size_of
from assay.execution.planning.plan_files.changed_plan import only_run
from assay.foundation.errors import SpecificationError
from assay.foundation.units import format_bytes
from assay.model import YEAR_H, CostProfile, PriceBook
from assay.questions.costs.mix import DAY_S, Work
from assay.workloads.catalogue import workloads
from assay.workloads.workload import Size

Progress = Callable[[str, int, int], None]
SEED = 1
RESERVE_SHARE = 0.25
"""Of HDFS's devices, kept free of the data that stays: for outputs and intermediate data."""
_SPREAD = 2.0
_SLACK = 1.25
"""How far a simulated time may lie beyond a limit and still be looked at: doubt may put it within."""
_BATCH = 24
_NEAR_BEST = 16
_PRIOR_RATIO = 1.5
_REPLICATION = "dfs.replication"


class Least(StrEnum):
    """What is to be as little as possible."""

    PRICE = "price"
    JOB = "job"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Limits:
    """What the cluster must keep. None: no such limit."""

    budget: float | None = None
    """Money over ``years``, in the book's currency."""
    deadline_s: float | None = None
    """For every single run."""
    capacity_bytes: float = 0.0
    """Of data in HDFS, one copy."""
    years: float = 3.0


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the search: how many went on from it, and what it did."""

    name: str
    left: int
    words: str


@dataclass(slots=True)
class Found:
    """What the simulator said of one cluster, by workload."""

    times_s: list[float]
    shares: list[dict[str, float]]
    """Shares of the time by resource."""
    limits: list[str]


@dataclass(slots=True)
class Search:
    """One search and what it knows."""

    found: Candidates
    works: Sequence[Work]
    limits: Limits
    profile: CostProfile
    pool: SimulatorPool
    least: Least
    bound_s: Floats
    """Rows × workloads."""
    book: Bills
    alive: Ints
    """Rows that no bound ruled out."""
    stages: list[Stage]
    factor: float = 1.0
    """On all data."""
    simulated: dict[int, Found] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    """Why clusters could not be simulated, and how many."""
    assumptions: dict[str, None] = field(default_factory=dict)

    def priced(self, rows: Ints) -> Priced:
        """Return what rows cost an hour."""
        return self.book.of(self.found.machine[rows], self.found.workers[rows])

    def bill(self, rows: Ints) -> Floats:
        """Return money over the years."""
        bill: Floats = self.priced(rows).rates_per_h * self.limits.years * YEAR_H
        return bill

    @property
    def per_day(self) -> Floats:
        """How often each workload runs a day."""
        return np.array([work.per_day for work in self.works])

    def money(self, rows: Ints, day_s: Floats) -> Floats:
        """Return the money that counts: the bill, or of a day's work its share by the hour."""
        if self.least is not Least.JOB:
            return self.bill(rows)
        found: Floats = self.priced(rows).rates_per_h * day_s / 3600
        return found

    def objective(self, rows: Ints, day_s: Floats) -> Floats:
        """Return what is to be as little as possible."""
        return day_s if self.least is Least.TIME else self.money(rows, day_s)

    def within(self, times_s: Floats, slack: float) -> Mask:
        """Tell which rows of times (rows × workloads) keep the deadline, and a day's work within a day."""
        kept: Mask = times_s @ self.per_day <= DAY_S * slack
        if self.limits.deadline_s is not None:
            kept &= times_s.max(axis=1) <= self.limits.deadline_s * slack
        return kept

    def scenario(
        self, row: int, work: Work, draw: Mapping[str, float] | None = None
    ) -> tuple[SimulationRequest, ScenarioDocument]:
        """Return what is asked of one cluster. Raises SpecificationError for what can't be."""
        plan = plan_for(self.found, row, work.entry(self.factor))
        run = only_run(plan)
        asked = SimulationRequest(
            plan.cluster, run.configuration, run.workload.name, size_of(run, plan), self.profile, **(draw or {})
        )
        scenario = scenario_of(asked)
        self.assumptions.update(dict.fromkeys(scenario.assumptions))
        return asked, scenario.with_seed(SEED, f"{row}")

    def ask(self, rows: Sequence[int], progress: Progress | None, done_before: int, most: int) -> None:
        """Simulate every workload on these clusters."""
        asked: list[tuple[int, SimulationRequest]] = []
        scenarios = []
        for row in rows:
            try:
                pairs = [self.scenario(row, work) for work in self.works]
            except SpecificationError as error:
                self._refuse(row, error.message)
                continue
            asked += [(row, pair[0]) for pair in pairs]
            scenarios += [pair[1] for pair in pairs]
        hear = (lambda ready: progress("simulated", done_before + ready // len(self.works), most)) if progress else None
        for (row, one), answer in zip(asked, self.pool.simulate_each(scenarios, hear), strict=True):
            if not isinstance(answer, SimulationResult):
                if not isinstance(answer, SpecificationError):
                    raise answer
                self._refuse(row, answer.message)
                continue
            self.assumptions.update(dict.fromkeys(answer.assumptions))
            known = self.simulated.setdefault(row, Found([], [], []))
            known.times_s.append(answer.duration_s)
            known.shares.append(shares_of(one, [answer]))
            known.limits.append(limit_of(answer))
        gone = [row for row in rows if len(self.simulated.get(row, Found([], [], [])).times_s) != len(self.works)]
        for row in gone:
            self.simulated.pop(row, None)
        self.alive = np.setdiff1d(self.alive, np.array(gone, dtype=np.int64), assume_unique=True)

    def _refuse(self, row: int, words: str) -> None:
        del row
        self.refused[words] = self.refused.get(words, 0) + 1

    def predicted_s(self, rows: Ints) -> Floats:
        """Return times (rows × workloads): as simulated, or the bound times what clusters alike took over theirs."""
        family = self._family()
        logs = np.full((int(family.max()) + 1, len(self.works)), math.log(_PRIOR_RATIO))
        sums, counts = np.zeros_like(logs), np.zeros((len(logs), 1))
        for row, known in self.simulated.items():
            sums[family[row]] += np.log(np.array(known.times_s) / self.bound_s[row])
            counts[family[row]] += 1
        if self.simulated:
            logs[:] = sums.sum(axis=0) / counts.sum()
        logs = (sums + logs) / (counts + 1)
        times: Floats = self.bound_s[rows] * np.exp(logs[family[rows]])
        for place, row in enumerate(rows):
            if (known_row := self.simulated.get(int(row))) is not None:
                times[place] = known_row.times_s
        return times

    def _family(self) -> Ints:
        """Return which clusters are alike: their kinds of storage and its use, in each machine's own."""
        names: dict[tuple[object, ...], int] = {}
        own = []
        for machine in self.found.machines:
            kinds = tuple(sorted(machine.kinds)), bool(set(machine.hdfs) & set(machine.intermediate)), machine.network
            own.append(names.setdefault(kinds, len(names)))
        family: Ints = np.array(own, dtype=np.int64)[self.found.machine]
        return family

    def run(self, most: int, progress: Progress | None = None) -> None:
        """Simulate until the predicted front is simulated, or ``most`` clusters were."""
        while len(self.simulated) < most and len(self.alive):
            rows = self.alive
            times = self.predicted_s(rows)
            day = times @ self.per_day
            worth = self.within(times, _SLACK)
            chosen = _front_and_best(day, self.money(rows, day), self.objective(rows, day), worth)
            new = [int(row) for row in rows[chosen] if int(row) not in self.simulated]
            if not new:
                return
            self.ask(new[: min(_BATCH, most - len(self.simulated))], progress, len(self.simulated), most)

    def simulated_rows(self) -> Ints:
        """Return the simulated clusters."""
        return np.array(sorted(self.simulated), dtype=np.int64)


def limit_of(answer: SimulationResult) -> str:
    """Return what limited the tasks for the longest time."""
    if not answer.limits:
        return "not told"
    return max(answer.limits, key=lambda name: answer.limits[name]).replace(":dfs", ":hdfs")


def _front_and_best(day: Floats, money: Floats, objective: Floats, worth: Mask) -> Ints:
    """Return places of the front and of the best ones, the best first."""
    places = np.flatnonzero(worth)
    if not places.size:  # nothing is predicted to do: the fastest come nearest
        return np.argsort(day, kind="stable")[:_NEAR_BEST].astype(np.int64)
    front = places[on_front(day[places], money[places])[0]]
    best = places[np.argsort(objective[places], kind="stable")][:_NEAR_BEST]
    found: Ints = np.array(list(dict.fromkeys([*best.tolist(), *front.tolist()])), dtype=np.int64)
    return found


def parts_of(found: Candidates) -> list[Parts]:
    """Return each machine as prices count a cluster with one worker of it."""
    masters = found.catalogue.masters
    parts = []
    for machine in found.machines:
        levels = {
            "cluster": found.catalogue.name,
            "network": machine.network,
            "memory": format_bytes(machine.memory_bytes).replace(" ", ""),
            "worker": machine.option.name,
        }
        counts = Counts(
            nodes=masters + 1,
            masters=masters,
            workers=1,
            layout_devices=machine.kinds,
            device_names={device.name: str(device.kind) for device in machine.devices},
            node_types={"master": masters, machine.option.name: 1},
            capacity_bytes=sum(device.capacity_bytes for device in machine.devices),
            levels=levels,
        )
        parts.append(Parts(machine.layout.name, counts))
    return parts


def begun(
    found: Candidates,
    works: Sequence[Work],
    limits: Limits,
    book: PriceBook,
    profile: CostProfile,
    pool: SimulatorPool,
    least: Least,
    factor: float = 1.0,
) -> Search:
    """Return the search with what bounds rule out left out. Raises SpecificationError where nothing is priced."""
    priced = bills(book, parts_of(found))
    every = np.arange(len(found))
    stages = [Stage("catalogue", len(found), f"clusters that {found.catalogue.name}'s choices combine to")]
    rows = every[priced.priced[found.machine]]
    if not rows.size:
        why = "; ".join(f"{layout}: {words}" for layout, words in list(priced.unpriced.items())[:3])
        raise SpecificationError(f"the price book {book.name} prices none of the catalogue's clusters: {why}")
    if len(rows) < len(found):
        shown = ", ".join(list(priced.unpriced)[:5])
        stages.append(Stage("prices", len(rows), f"priced; {shown} of {len(priced.unpriced)} layouts are not"))
    own = powers(found)
    rows = rows[_room(own, found, works, limits, profile, factor)[rows]]
    stages.append(Stage("room", len(rows), "hold the data in all copies, with what runs write beside it"))
    bound = np.stack(
        [least_s(own, profile, profile.workloads[w.workload], _moved(found, w, profile, factor)) for w in works], 1
    )
    search = Search(found, works, limits, profile, pool, least, bound, priced, rows, stages, factor)
    if limits.budget is not None:
        lowest = np.array([float(price.low) for price in priced.prices])
        factors = search.priced(rows).factors
        rows = rows[(factors @ lowest) * limits.years * YEAR_H <= limits.budget]
        stages.append(Stage("budget", len(rows), "within the budget at the lowest prices thought possible"))
    rows = rows[search.within(bound[rows], _SLACK)]
    stages.append(Stage("bounds", len(rows), "can be in time by bytes and cycles alone"))
    search.alive = rows
    return search


def _size(found: Candidates, work: Work, factor: float) -> Size:
    copies = int(found.catalogue.parameters.get(_REPLICATION, 3))
    options = {name: text for name, text in work.options.items() if name != "waves"}
    return Size.of(round(work.data_bytes * factor), copies, found.catalogue.parameters, options)


def _moved(found: Candidates, work: Work, profile: CostProfile, factor: float) -> Moved:
    own, size = workloads()[work.workload], _size(found, work, factor)
    known = profile.workloads[work.workload].compression
    left = [known.get(codec, CODECS.get(codec, (None, 0.0))[0]) for codec in found.codecs]
    smallest = min((one.low for one in left if one is not None), default=1.0)
    return Moved(
        float(own.data_bytes(size)), own.iterations(size), size.replication, own.output_copies(size), min(1.0, smallest)
    )


def _room(
    own: Powers, found: Candidates, works: Sequence[Work], limits: Limits, profile: CostProfile, factor: float
) -> Mask:
    """Tell which clusters hold what stays and, beside it, the largest of what runs write."""
    places: dict[str, float] = {}
    passing = spilled = 0.0
    for work in works:
        known, size, one = profile.workloads[work.workload], _size(found, work, factor), workloads()[work.workload]
        data = one.data_bytes(size)
        needed = one.input(size)
        stays = (needed.path,) if needed is not None else one.leaves(size)
        for place in stays:
            places[place] = max(places.get(place, 0.0), float(data * size.replication))
        if needed is not None or not stays:
            passing = max(passing, data * known.written * one.output_copies(size))
        spilled = max(spilled, data * known.map_output * known.combined * _SPREAD)
    copies = float(found.catalogue.parameters.get(_REPLICATION, 3))
    kept = limits.capacity_bytes * factor * copies
    whole = fits(own, kept, 0.0, 1 - RESERVE_SHARE) if kept else np.ones(len(found), dtype=np.bool_)
    return whole & fits(own, max(kept, sum(places.values())) + passing, spilled, FULL_SHARE)
