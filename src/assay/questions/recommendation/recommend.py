"""Which cluster should be had for a mix of work, how sure that is, and what would change it: one answer for all faces.

In: a catalogue of hardware, a price book, a profile, a mix of work and limits. Out: :class:`Recommendation`. Every time
in it is simulated: it has an interval that holds nine of ten runs, and its assumptions stand beside it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from assay.analysis.cost.pareto import on_front
from assay.analysis.statistics import Floats, Mask
from assay.estimation.recommendation.candidates import candidates
from assay.estimation.simulator.draws import SCATTER_SIGMA
from assay.estimation.simulator.pool import SimulatorPool
from assay.foundation.errors import SpecificationError
from assay.model import YEAR_H, CostProfile, HardwareCatalogue, Origin, PriceBook
from assay.questions.costs.mix import DAY_S, Work
from assay.questions.recommendation.finalists import Finals, finals
from assay.questions.recommendation.search import RESERVE_SHARE, Least, Limits, Progress, Search, Stage, begun
from assay.questions.recommendation.sensitivity import Change, Hardware, changes_of, hardware_of
from assay.questions.recommendation.value_of_information import (
    WORDS,
    Drawn,
    drawn,
    losses,
    worth_of_everything,
    worth_of_knowing,
)

SIMULATIONS_MAX = 300
SURELY = 0.9
EXTRAPOLATION_STATED = 2.0
"""Data per worker, as a multiple of what the profile was learned from, from which an answer begins with it."""
EXTRAPOLATION_MAX = 8.0
"""The same multiple, above which no share of draws is stated: the draws know nothing of errors so far away."""
FRONT_SHOWN = 0.05
"""Who is on the front in fewer of the draws, and is not on it at the middle, is not listed."""
_LOW, _HIGH = 0.05, 0.95


@dataclass(frozen=True, slots=True)
class RecommendQuestion:
    """What is asked."""

    works: tuple[Work, ...]
    limits: Limits = field(default_factory=Limits)
    least: Least | None = None
    """None: the price where there is a deadline, else the cost of a day's work."""
    surely: float = SURELY
    """How sure it must be that every limit is kept."""
    simulations_max: int = SIMULATIONS_MAX
    seed: int = 1


@dataclass(frozen=True, slots=True)
class WorkTime:
    """How long one workload takes on one cluster."""

    workload: str
    time_s: float
    low_s: float
    high_s: float
    """With ``low_s``, nine of ten runs."""
    limit: str
    """What limited its tasks for the longest time."""
    in_time: float | None
    """Share of the draws in which a run keeps the deadline; None without one."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One cluster with what it costs and takes. Intervals hold nine of ten."""

    label: str
    levels: Mapping[str, str]
    bill: float
    """Money over the years."""
    bill_low: float
    bill_high: float
    day_s: float
    """Time that a day's work takes, with its ends."""
    day_low_s: float
    day_high_s: float
    day_cost: float
    """What that time costs by the hour, with its ends."""
    day_cost_low: float
    day_cost_high: float
    times: tuple[WorkTime, ...]
    on_pareto_front: bool
    """At the middle of everything."""
    pareto_front_probability: float
    best_probability: float
    """Share of the draws in which it, with these settings, is the best of those that keep the limits."""
    hardware_probability: float
    """Share of the draws in which its hardware is the best, with any settings. This share is shown to users."""
    keeps_probability: float
    """Share of the draws in which it keeps every limit."""
    fidelity: str
    """``requests`` where each request was simulated to correct the flows, else ``flows``."""

    # What the chart of money against time asks (interfaces/charts/plane.py).
    cost: float
    cost_low: float
    cost_high: float

    @property
    def time_s(self) -> float:
        """Of a day's work."""
        return self.day_s

    @property
    def time_low_s(self) -> float:
        """Its lower end."""
        return self.day_low_s

    @property
    def time_high_s(self) -> float:
        """Its upper end."""
        return self.day_high_s

    @property
    def runs(self) -> int:
        """Measured runs that it stands for: none."""
        return 0


@dataclass(frozen=True, slots=True)
class Doubt:
    """One uncertain thing: what it is, what knowing it is worth, how it is measured."""

    name: str
    what: str
    worth: float
    """Saved on average, in what is to be little: money, or seconds a day."""
    share: float
    """Of what knowing everything would save."""
    measurement: str


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The answer. ``chosen`` is None where nothing keeps the limits surely enough; ``why_none`` says what fails."""

    catalogue: str
    catalogue_source: str
    book: str
    currency: str
    works: tuple[Work, ...]
    limits: Limits
    least: Least
    surely: float
    stages: tuple[Stage, ...]
    origin: str
    seed: int
    profile: str
    assumptions: tuple[str, ...]
    chosen: Choice | None = None
    runner_up: Choice | None = None
    """The best that other hardware is bought for."""
    why_none: str = ""
    front: tuple[Choice, ...] = ()
    """Pareto front of money and time, from the cheapest to the fastest. Candidates that do not keep the limits surely
    enough are omitted, unless no candidate does.
    """
    finalists: tuple[Choice, ...] = ()
    """All that were looked at closely, the best first."""
    changes: tuple[Change, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    worth_of_everything: float = 0.0
    draws: int = 0
    extrapolation: float = 1.0
    """Largest data per worker of a finalist, as a multiple of the largest that the profile was learned from."""

    @property
    def extrapolated(self) -> bool:
        """Whether the data per worker is too far from what was learned for a share of draws to be stated."""
        return self.extrapolation > EXTRAPOLATION_MAX

    @property
    def too_close(self) -> bool:
        """Whether other hardware may be the best: the chosen hardware is so in too small a share of the draws."""
        return (
            self.chosen is not None
            and self.runner_up is not None
            and (self.extrapolated or self.chosen.hardware_probability < self.surely)
        )


def recommend(
    asked: RecommendQuestion,
    catalogue: HardwareCatalogue,
    book: PriceBook,
    profile: CostProfile,
    pool: SimulatorPool,
    progress: Progress | None = None,
) -> Recommendation:
    """Return the answer. Raises SpecificationError for what can't be asked or priced."""
    unknown = [work.workload for work in asked.works if work.workload not in profile.workloads]
    if unknown:
        raise SpecificationError(
            f"the profile {profile.name} has no workload {unknown[0]!r}",
            where="--workload",
            hint=f"it has {', '.join(profile.workloads)}; --learn-from takes a repository in which it was measured",
        )
    least = asked.least or (Least.PRICE if asked.limits.deadline_s is not None else Least.JOB)
    every = candidates(catalogue)
    search = begun(every, asked.works, asked.limits, book, profile, pool, least)
    search.run(asked.simulations_max, progress)
    base = _base(asked, catalogue, book, search)
    if not search.simulated:
        return _nothing(base, search)
    known = finals(search, progress)
    view = _View(asked, search, known, drawn(known.times_s, known.follows, known.book, asked.seed, SCATTER_SIGMA))
    order, chosen = view.order(), view.chosen()
    choices = view.choices()
    front = [
        one
        for one, keeps in zip(choices, view.sure, strict=True)
        if (one.on_pareto_front or one.pareto_front_probability >= FRONT_SHOWN) and (keeps or chosen is None)
    ]
    doubts, everything = view.doubts()
    return replace(
        base,
        stages=(*search.stages, *_told(search, asked, known)),
        chosen=choices[chosen] if chosen is not None else None,
        runner_up=next((choices[p] for p in order if view.sure[p] and view.keys[p] != view.keys[order[0]]), None),
        why_none="" if chosen is not None else view.why_none(),
        front=tuple(sorted(front, key=lambda one: (one.cost, one.day_s))),
        finalists=tuple(choices[place] for place in order),
        changes=changes_of(search, known, chosen, catalogue, book, progress) if chosen is not None else (),
        doubts=doubts,
        worth_of_everything=everything,
        draws=len(view.drawn.times_s),
        assumptions=_assumptions(search, known),
        extrapolation=known.extrapolation,
    )


@dataclass(slots=True)
class _View:
    """The finalists under all draws."""

    asked: RecommendQuestion
    search: Search
    known: Finals
    drawn: Drawn

    @property
    def keys(self) -> list[Hardware]:
        """Return what tells the hardware of each finalist apart."""
        return [hardware_of(self.search.found.levels(int(row))) for row in self.known.rows]

    @property
    def _day_s(self) -> Floats:
        found: Floats = self.drawn.times_s @ self.search.per_day
        return found

    @property
    def _bills(self) -> Floats:
        return self.drawn.rates_per_h * (self.search.limits.years * YEAR_H)

    @property
    def _day_costs(self) -> Floats:
        return self.drawn.rates_per_h * self._day_s / 3600

    @property
    def _money(self) -> Floats:
        return self._day_costs if self.search.least is Least.JOB else self._bills

    @property
    def _objective(self) -> Floats:
        return self._day_s if self.search.least is Least.TIME else self._money

    @property
    def kept(self) -> Mask:
        """Draws × finalists: whether every limit is kept."""
        limits = self.search.limits
        kept: Mask = self._day_s <= DAY_S
        if limits.deadline_s is not None:
            kept = kept & (self.drawn.times_s.max(axis=2) <= limits.deadline_s)
        if limits.budget is not None:
            kept = kept & (self._bills <= limits.budget)
        return kept

    @property
    def sure(self) -> Mask:
        """Which finalists keep the limits surely enough."""
        found: Mask = self.kept.mean(axis=0) >= self.asked.surely
        return found

    def order(self) -> list[int]:
        """Return places: those that are sure first, the least on average before others, the faster before equals."""
        expected = self._objective.mean(axis=0)
        day = self.known.times_s @ self.search.per_day
        return sorted(range(len(expected)), key=lambda place: (not self.sure[place], expected[place], day[place]))

    def chosen(self) -> int | None:
        """Return the best that is sure; None where none is."""
        first = self.order()[0]
        return first if self.sure[first] else None

    def why_none(self) -> str:
        """Say what the best misses."""
        place = int(np.argmax(self.kept.mean(axis=0)))
        label, share = self.search.found.label(int(self.known.rows[place])), float(self.kept.mean(axis=0)[place])
        return (
            f"nothing that was simulated keeps every limit in {self.asked.surely:.0%} of the draws; {label} comes "
            f"nearest, in {share:.0%}: allow more time or money, be less sure (--surely), or measure (see below)"
        )

    def choices(self) -> list[Choice]:
        """Return every finalist with its numbers."""
        middle_day = self.known.times_s @ self.search.per_day
        rates = self.known.book.rates_per_h
        years_h = self.search.limits.years * YEAR_H
        bill, cost = rates * years_h, rates * middle_day / 3600
        money = cost if self.search.least is Least.JOB else bill
        front = on_front(middle_day, money)[0]
        shares = on_front(self._day_s, self._money).mean(axis=0)
        best = _best_shares(self._objective, self.kept)
        ends = {
            name: np.quantile(values, (_LOW, _HIGH), axis=0)
            for name, values in (("bill", self._bills), ("day", self._day_s), ("cost", self._day_costs))
        }
        money_ends = ends["cost"] if self.search.least is Least.JOB else ends["bill"]
        keeps, keys = self.kept.mean(axis=0), self.keys
        return [
            Choice(
                label=self.search.found.label(int(row)),
                levels=self.search.found.levels(int(row)),
                bill=float(bill[place]),
                bill_low=float(ends["bill"][0, place]),
                bill_high=float(ends["bill"][1, place]),
                day_s=float(middle_day[place]),
                day_low_s=float(ends["day"][0, place]),
                day_high_s=float(ends["day"][1, place]),
                day_cost=float(cost[place]),
                day_cost_low=float(ends["cost"][0, place]),
                day_cost_high=float(ends["cost"][1, place]),
                times=self._times(place),
                on_pareto_front=bool(front[place]),
                pareto_front_probability=float(shares[place]),
                best_probability=float(best[place]),
                hardware_probability=float(sum(best[other] for other, key in enumerate(keys) if key == keys[place])),
                keeps_probability=float(keeps[place]),
                fidelity=self.known.fidelities[place],
                cost=float(money[place]),
                cost_low=float(money_ends[0, place]),
                cost_high=float(money_ends[1, place]),
            )
            for place, row in enumerate(self.known.rows)
        ]

    def _times(self, place: int) -> tuple[WorkTime, ...]:
        deadline = self.search.limits.deadline_s
        found = []
        for number, work in enumerate(self.asked.works):
            own = self.drawn.times_s[:, place, number]
            low, high = np.quantile(own, (_LOW, _HIGH))
            in_time = None if deadline is None else float(np.mean(own <= deadline))
            middle = float(self.known.times_s[place, number])
            found.append(
                WorkTime(work.label, middle, float(low), float(high), self.known.limits[place][number], in_time)
            )
        return tuple(found)

    def doubts(self) -> tuple[tuple[Doubt, ...], float]:
        """Return what is uncertain, what matters most first, and what knowing everything would save."""
        loss = losses(self._objective, self.kept)
        chosen = int(np.argmin(loss.mean(axis=0)))
        every = worth_of_everything(loss, chosen)
        found = []
        for name, thing in self.drawn.things.items():
            worth = min(every, worth_of_knowing(thing, loss, chosen, self.asked.seed))
            what, how = _words(name)
            found.append(Doubt(name, what, worth, worth / every if every > 0 else 0.0, how))
        return tuple(sorted(found, key=lambda one: -one.worth)), every


def _best_shares(objective: Floats, kept: Mask) -> Floats:
    """Return in which share of the draws each is the best of those that keep the limits."""
    allowed = np.where(kept, objective, np.inf)
    least = allowed.min(axis=1, keepdims=True)
    shared = (allowed == least) & np.isfinite(least)  # who costs the same shares a draw
    found: Floats = (shared / np.maximum(1, shared.sum(axis=1, keepdims=True))).mean(axis=0)
    return found


def _words(name: str) -> tuple[str, str]:
    kind, _, price = name.partition(":")
    if kind == "price":
        return f"the price of {price}", "a binding offer"
    return WORDS[name]


def _base(asked: RecommendQuestion, catalogue: HardwareCatalogue, book: PriceBook, search: Search) -> Recommendation:
    """Return the answer before anything is said but what was asked."""
    return Recommendation(
        catalogue=catalogue.name,
        catalogue_source=catalogue.source,
        book=book.name,
        currency=book.currency,
        works=asked.works,
        limits=asked.limits,
        least=search.least,
        surely=asked.surely,
        stages=tuple(search.stages),
        origin=str(Origin.SIMULATED),
        seed=asked.seed,
        profile=search.profile.name,
        assumptions=(f"profile {search.profile.name}: {search.profile.learned.source}",),
    )


def _told(search: Search, asked: RecommendQuestion, known: Finals) -> list[Stage]:
    full = len(search.simulated) >= asked.simulations_max
    words = "simulated in flows: the front and the best as predicted from those before"
    if full:
        words += f"; {asked.simulations_max} at most were allowed, and more might have been worth it"
    exact = sum(one == "requests" for one in known.fidelities)
    closely = f"looked at closely: {known.simulations} simulations more, {exact} of them request by request"
    return [Stage("flows", len(search.simulated), words), Stage("finals", len(known.rows), closely)]


def _assumptions(search: Search, known: Finals) -> tuple[str, ...]:
    words = [f"profile {search.profile.name}: {search.profile.learned.source}"]
    if search.limits.capacity_bytes:
        words.append(f"of HDFS's disks, {RESERVE_SHARE:.0%} stay free for outputs and intermediate data")
    words += known.assumptions
    words += [f"{count} could not be simulated: {why}" for why, count in search.refused.items()]
    return tuple(dict.fromkeys([*words, *search.assumptions]))


def _nothing(base: Recommendation, search: Search) -> Recommendation:
    """Return the answer where bounds or the simulator rule everything out."""
    empty = next((stage for stage in search.stages if stage.left == 0), None)
    why = "; ".join(search.refused) or "nothing is left"
    words = f"of the catalogue's clusters, none {empty.words}" if empty else f"no cluster could be simulated: {why}"
    return replace(base, why_none=words)
