"""The answer to "which option is faster, and what does it cost?": one frozen object for every interface.

A :class:`Decision` compares the options of one factor (device classes, layouts, networks, numbers of workers) with one
baseline. It covers runs of one origin and lab scale, and options that matched groups connect. Ratios are baseline time
/ option time: above 1, the option is faster. Cost ratios are option cost / baseline cost: below 1, the option is
cheaper.
"""

from dataclasses import dataclass
from enum import StrEnum

from assay.analysis.comparison.sampled_levels import SampledLevels
from assay.analysis.statistics import MARGIN, InferenceScope, Verdict
from assay.model import PriceBook


class CaveatKind(StrEnum):
    """A kind of limit on a decision, most harmful first."""

    CONFOUNDED = "confounded"
    SIMULATED = "simulated"
    UNPRICED = "unpriced"
    EXCLUDED_UNEVENLY = "runs excluded unevenly"
    OUTLIERS = "outliers"
    COMPARISONS = "number of comparisons"
    LINK_RATE = "link rate not recorded"
    TESTED_ONLY = "tested settings only"
    LAB_SCALE = "lab scale"
    ONE_CLUSTER = "one cluster"
    ONE_WORKLOAD = "one workload"
    ONE_PRICE = "one price for different clusters"
    OTHER_SIZE = "prices of another cluster size"
    SESSIONS = "sessions"
    FEW_RUNS = "few runs"
    CACHES = "caches"
    INTERVALS = "intervals of other comparisons"
    EXCLUDED = "excluded runs"
    HOSTS_DIFFER = "hosts differ"


@dataclass(frozen=True, slots=True)
class DecisionRequest:
    """One question: which level of ``factor`` is faster and cheaper?"""

    factor: str = ""
    """A buyer's question (``buyer.py``) or any factor. Factors joined by commas are compared as one. Empty: storage."""
    baseline: str | None = None
    """The option to compare with. None: hard disks, Ethernet, the smallest number, ``none``, or the option with most
    runs."""
    where: tuple[str, ...] = ()
    """Conditions ``COLUMN=LEVEL`` on runs."""
    ignore: tuple[str, ...] = ()
    """Factors that may differ within a matched group: the answer is then confounded by them."""
    prices: PriceBook | None = None
    years: float | None = None
    """Years of use that a job's cost is spread over. None: the price book's amortisation, or three."""
    margin: float = MARGIN


@dataclass(frozen=True, slots=True)
class TimeRatio:
    """Baseline time / option time, with its 95 % interval and its basis."""

    ratio: float
    low: float | None
    high: float | None
    """Ends of the 95 % interval; None with too few runs for one."""
    scope: InferenceScope
    method: str
    groups: int
    """Matched groups that hold both options; 0 where only other options connect the two."""
    runs_baseline: int
    runs_option: int
    p: float | None
    """Two-sided p value for no difference, before correction."""
    holm_p: float | None
    """The same after Holm's correction over all estimates of the decision."""
    confounded: tuple[str, ...] = ()
    """Ignored factors that differ between the two options; the ratio then has no interval."""
    levels: SampledLevels | None = None
    """The levels that count as the values, where the speedup depends on them; None: the matched groups count."""


class CostVerdict(StrEnum):
    """Verdict on a cost ratio, after Holm's correction over all cost ratios of its decision."""

    CHEAPER = "costs less"
    DEARER = "costs more"
    NOT_DISTINGUISHABLE = "not distinguishable"
    NOT_ENOUGH_RUNS = "not enough runs"


@dataclass(frozen=True, slots=True)
class CostRatio:
    """Option cost / baseline cost of a job, from the same runs as the time ratio."""

    ratio: float
    low: float | None
    high: float | None
    price_ratio: float
    """Price per hour of the option / of the baseline."""
    break_even_price_ratio: float
    """The option is cheaper per job while its price per hour is below this multiple of the baseline's."""
    holm_p: float | None
    verdict: CostVerdict

    @property
    def side_of_one(self) -> int:
        """1 where the 95 % interval is above 1, -1 where it is below 1; 0 where it includes 1, or there is none."""
        if self.low is None or self.high is None:
            return 0
        return int(self.low > 1) - int(self.high < 1)


@dataclass(frozen=True, slots=True)
class ComparedCost:
    """Cost per job of the cheapest option / cost per job of another option."""

    option: str
    """The other option."""
    ratio: float
    low: float | None
    high: float | None
    """Ends of the 95 % interval; None with too few runs for one."""
    verdict: CostVerdict
    """Whether the cheapest option costs less, after the correction over all other options."""


@dataclass(frozen=True, slots=True)
class Cheapest:
    """The option with the lowest cost per job over the workloads that it shares with others."""

    option: str
    ties: tuple[str, ...]
    """Options whose cost per job is not distinguishable from that of ``option``, the lowest first."""
    rivals: tuple[ComparedCost, ...]
    """``option`` compared with every other option, the lowest cost first."""


@dataclass(frozen=True, slots=True)
class BaselineCost:
    """Cost of a job of one workload on the baseline. An option's cost is this cost times the option's cost ratio."""

    workload: str
    cost: float
    """Geometric mean over the baseline's runs in matched groups with an option."""
    low: float | None
    high: float | None
    """Ends of the 95 % interval; None with too few runs for one."""
    runs: int
    clusters: tuple[str, ...] = ()
    """Clusters of these runs, by name; empty if they record none."""


@dataclass(frozen=True, slots=True)
class ClusterPrice:
    """Price of the cluster with one option in one configuration that matched runs used."""

    option: str
    setting: dict[str, str]
    """Levels that matched groups hold equal and that prices depend on: cluster and network, for example."""
    hardware: dict[str, str]
    """Levels in which the option's hardware differs within a setting: the layouts of a device class, for example."""
    price: float
    """Total cost over the years of use."""
    runs: int


@dataclass(frozen=True, slots=True)
class OtherSize:
    """A price of a whole cluster that applies to runs with another number of workers."""

    workers_priced: int
    workers: int | None
    """Of the runs; None if they do not record it."""


@dataclass(frozen=True, slots=True)
class BaselineCosts:
    """Absolute costs of the baseline and prices of clusters, in the currency of the decision."""

    book: str
    date: str
    """The price book's name and date."""
    years: float
    rented: bool
    """Whether the price book has rents only: the cost is that of all hours of ``years``."""
    other_sizes: tuple[OtherSize, ...]
    """Prices of whole clusters that are for another number of workers than the runs had."""
    purchase: bool
    rent: bool
    power: bool
    maintenance: bool
    """Whether the price book has purchase prices, rents, a price of power, and of maintenance."""
    cluster_prices: tuple[ClusterPrice, ...]
    """Prices of the baseline and of each option with a cost ratio, most runs first."""
    jobs: tuple[BaselineCost, ...]
    """One for each workload with a price that the mean of an option covers."""


@dataclass(frozen=True, slots=True)
class OptionEnergy:
    """Energy that the site uses for the cluster with one option."""

    option: str
    power_w: float
    """Power of the hardware times PUE, as the price book states it: not measured, and constant over time."""
    kwh_per_job: float
    low: float | None
    high: float | None
    """Ends of the 95 % interval: of the baseline's mean time, or of the option's time ratio."""


@dataclass(frozen=True, slots=True)
class EnergyUse:
    """Energy of a job on the baseline and each priced option."""

    workload: str
    """The workload of ``BaselineCosts.jobs`` with most runs of the baseline."""
    years: float
    kwh_price: float
    options: tuple[OptionEnergy, ...]
    """The baseline first."""


@dataclass(frozen=True, slots=True)
class WorkloadResult:
    """One option against the baseline on one workload."""

    workload: str
    option: str
    verdict: Verdict
    time: TimeRatio | None
    cost: CostRatio | None


@dataclass(frozen=True, slots=True)
class OptionResult:
    """One option against the baseline over its workloads (``headline.py``)."""

    option: str
    verdict: Verdict
    time: TimeRatio | None
    cost: CostRatio | None
    workloads: tuple[str, ...]
    """Workloads behind ``time``."""
    tied_with_leader: TimeRatio | None
    """The leading option's speedup over this option, where the two are not distinguishable; else None."""


@dataclass(frozen=True, slots=True)
class DiskRuns:
    """Runs with one kind of disk."""

    kind: str
    """Device kind, or the family of a layout's code for devices of several kinds (``disk_counts.py``)."""
    runs: int
    numbers: tuple[str, ...]
    """Numbers of disks per worker of these runs."""


@dataclass(frozen=True, slots=True)
class ComparedDisks:
    """The kinds of disk behind a decision on numbers of disks, most runs first."""

    compared: tuple[DiskRuns, ...]
    """Runs in matched groups with several numbers of disks."""
    left_out: tuple[DiskRuns, ...]
    """Other valid runs of the same origin and lab scale, of kinds without a matched group."""


@dataclass(frozen=True, slots=True)
class StorageEffect:
    """One option against the baseline with one storage class."""

    storage: str
    """Device class."""
    workload: str
    """Empty: the mean over the workloads that are measured with every storage class."""
    verdict: Verdict
    time: TimeRatio
    cost: CostRatio | None
    """None without prices of these runs."""


@dataclass(frozen=True, slots=True)
class StorageEffects:
    """The effect of one option by storage class."""

    option: str
    workloads: int
    """Workloads that are measured with every storage class."""
    differs_on: tuple[str, ...]
    """Workloads on which the effect differs, the smallest p value first; empty text: the mean over the workloads.
    Empty where the effect is not shown to differ between the classes."""
    effects: tuple[StorageEffect, ...]

    @property
    def over_all(self) -> tuple[StorageEffect, ...]:
        """The effect with each class over all workloads that the classes share."""
        return tuple(effect for effect in self.effects if not effect.workload or self.workloads == 1)


@dataclass(frozen=True, slots=True)
class Caveat:
    """One limit of the decision, with its numbers."""

    kind: CaveatKind
    text: str


class RunGoal(StrEnum):
    """The result that further runs would show."""

    FIRST_INTERVAL = "first interval"
    DIFFERENCE = "difference"
    EQUIVALENCE = "equivalence"


@dataclass(frozen=True, slots=True)
class FurtherRuns:
    """Runs that would settle an open row of a decision. Half-widths are of 95 % intervals, as shares of the ratio."""

    workload: str
    options: tuple[str, str]
    """The option to compare with, and the compared option."""
    groups: int
    """Matched groups that the runs are made in."""
    repetitions: int
    """Further runs of each option in each group; with ``new_groups``, only of the option that the group lacks."""
    new_groups: bool
    """Whether each of the groups has runs of only one of the two options so far."""
    clusters: tuple[str, ...]
    """Clusters of these groups; empty where clusters are compared, or may differ within a group."""
    aim: RunGoal
    ratio: float
    """The present estimate. The runs reach ``aim`` if the ratio stays as it is."""
    half_width: float | None
    expected_half_width: float | None
    """None where no runs were repeated."""
    duration_s: float
    """Expected run time of all these runs, without the time between them."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to one request, for runs of one origin and lab scale and for options that runs connect."""

    factor: str
    baseline: str
    options: tuple[OptionResult, ...]
    """All options but the baseline, the fastest first; options that are not part of the headline last."""
    results: tuple[WorkloadResult, ...]
    """One row for each workload and option."""
    headline_workloads: tuple[str, ...]
    """The workloads behind the ratio of :attr:`named_option`."""
    leader: str
    """The fastest option (``headline.py``); the baseline where no option is faster."""
    ties: tuple[str, ...]
    """Options that are not distinguishable from the leader."""
    origin: str
    lab_scale: str | None
    runs: int
    """Valid runs of these options."""
    family: int
    """Number of estimates that Holm's correction covers."""
    margin: float
    currency: str | None
    """Currency of costs; None without a price book."""
    disks: ComparedDisks | None
    """None unless the factor is the number of disks."""
    storage_effects: StorageEffects | None
    """None where fewer than two storage classes have an effect."""
    baseline_costs: BaselineCosts | None
    """None without a price for the baseline and one other option."""
    energy: EnergyUse | None
    """None where the price book states no power."""
    cheapest: Cheapest | None
    """None without a price for the baseline and one other option."""
    link_rates: dict[str, str]
    """Rate per node of each network, ``1 Gbit/s``, where cluster files state it; empty for other factors."""
    caveats: tuple[Caveat, ...]
    next_runs: tuple[FurtherRuns, ...]
    """At most three proposals for rows without a verdict."""

    @property
    def named_option(self) -> OptionResult | None:
        """The option that the answer names; None without a compared option.

        It is the leader, or the first compared option if the baseline leads. Where this option is not shown to cost
        less than the baseline, it is the cheapest option that is, and that is not distinguishable from the leader in
        speed.
        """
        compared_options = [option for option in self.options if option.time]
        fastest = next((option for option in compared_options if option.option == self.leader), None)
        fastest = fastest or next(iter(compared_options), None)
        if fastest is None or fastest.cost is None or fastest.cost.verdict is CostVerdict.CHEAPER:
            return fastest
        costs = {
            option.option: option.cost.ratio
            for option in compared_options
            if option.cost and option.cost.verdict is CostVerdict.CHEAPER and option.tied_with_leader
        }
        return self.option(min(costs, key=lambda name: costs[name])) if costs else fastest

    @property
    def storage_difference(self) -> StorageEffects | None:
        """The effects by storage class, where they are shown to differ; else None."""
        return self.storage_effects if self.storage_effects and self.storage_effects.differs_on else None

    @property
    def storage_costs(self) -> StorageEffects | None:
        """The effects by storage class, where the effect on time differs or the results on cost do; else None.

        Results on cost differ if the 95 % interval of the option is above 1, or below it, with some of the classes
        only, or is confirmed there only.
        """
        if self.storage_effects is None or self.storage_difference is not None:
            return self.storage_difference
        costs = [effect.cost for effect in self.storage_effects.over_all if effect.cost]
        if len(costs) < len(self.storage_effects.over_all):
            return None
        results = {(cost.verdict, cost.side_of_one) for cost in costs}
        has_difference = any(side and verdict is not CostVerdict.NOT_ENOUGH_RUNS for verdict, side in results)
        return self.storage_effects if has_difference and len(results) > 1 else None

    @property
    def workloads(self) -> tuple[str, ...]:
        """Every workload with a comparison, in the order of the results."""
        return tuple(dict.fromkeys(result.workload for result in self.results))

    def option(self, name: str) -> OptionResult:
        """Return the result of one option. Raises KeyError for an unknown option."""
        return {result.option: result for result in self.options}[name]
