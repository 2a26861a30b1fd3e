"""Hold the answer to a what-if question: the effect on each measured configuration, and of each change alone."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from assay.analysis.cost.missing_prices import MissingPrice
from assay.model.clusters.credits import CreditUse
from assay.questions.costs.extra_costs import CostLine
from assay.questions.decisions.decision import CostVerdict
from assay.questions.forecasts.whatif.lab_cpu import LabCores
from assay.questions.forecasts.whatif.task_slots import TaskSlots, next_changes
from assay.questions.runs.workload_limits import WorkloadLimit


@dataclass(frozen=True, slots=True)
class CostChange:
    """Cost of a run with the changes / measured cost, with a 90 % interval from that of the time."""

    ratio: float
    low: float
    high: float
    verdict: CostVerdict
    """``costs less`` or ``costs more`` if the interval excludes 1."""

    @classmethod
    def of(cls, ratio: float, low: float, high: float) -> Self:
        """Return the ratio with its verdict."""
        if low <= 1 <= high:
            return cls(ratio, low, high, CostVerdict.NOT_DISTINGUISHABLE)
        return cls(ratio, low, high, CostVerdict.CHEAPER if ratio < 1 else CostVerdict.DEARER)


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The answer for one configuration. Times are in seconds of a run; ``ratio`` is measured time / predicted time."""

    run_id: str
    """The first of the measured runs."""
    workload: str
    configuration: str
    """The measured levels in words."""
    levels: Mapping[str, str]
    """The measured level of each factor."""
    changes: Mapping[str, str]
    measured_s: float
    n_measured: int
    simulated_s: float
    """The predicted time: simulated, and corrected by the simulator's error on the measured runs. Without changes,
    it is the measured time."""
    low_s: float
    high_s: float
    """Upper end of the interval of 90 % of run times; ``low_s`` is the lower end."""
    ratio: float
    ratio_low: float
    ratio_high: float
    measured_limit: WorkloadLimit | None
    """What limited the measured runs, from their traces; None without traces."""
    limit_before: str
    """Resource that limited the tasks longest, simulated as measured; ``limit_after``: simulated with the changes."""
    limit_after: str
    limits_before: Mapping[str, float]
    """Shares of the tasks' time by limiting resource."""
    limits_after: Mapping[str, float]
    cost_before: float | None
    cost_after: float | None
    """Cost of a run by the price book, in ``currency``; None without a book, or if it does not price the cluster. With
    extra costs, the cost of a day with one run."""
    cost_low: float | None
    """Lower end of the interval of ``cost_after``, from that of the time; ``cost_high``: the upper end."""
    cost_high: float | None
    cost_lines_before: tuple[CostLine, ...]
    """The lines of ``cost_before`` with extra costs; ``cost_lines_after``: of ``cost_after``. Empty without them."""
    cost_lines_after: tuple[CostLine, ...]
    cost: CostChange | None
    """Ratio of ``cost_after`` to ``cost_before``; None if one of them is unknown."""
    per_h_before: float | None
    """Cost of the measured cluster per hour, used or idle; ``per_h_after``: of the cluster as changed."""
    per_h_after: float | None
    missing_prices: tuple[MissingPrice, ...]
    """Parts of the changed cluster that the book lacks, with the stated price of each."""
    cost_unknown: str
    """Why the book does not price the cluster as measured or as changed; empty where it does."""
    cost_note: str
    """Which workers both costs are of, if the book prices another number of them than the runs have; else empty."""
    currency: str
    simulated_before_s: float
    """Simulated time of the measured configuration. ``miss``: simulated time / measured time - 1."""
    miss: float
    origin: str
    """``simulated``, or ``measured`` without changes."""
    assumptions: tuple[str, ...]
    data_bytes: int
    """Data with the changes, at full scale; a lab multiplies it by ``lab_scale``."""
    lab_scale: float | None
    """Scale of the lab that measured the runs; None: hosts."""
    lab_cores: LabCores | None
    """Cores of a lab's machine and of the described workers, if the changes add or remove cores; else None."""
    slots: TaskSlots
    """The tasks of the largest stage with the changes, and how many of them run in parallel."""
    links_bits_per_s: tuple[float, float]
    """Bandwidth of a worker's link at full scale, as measured and with the changes."""
    extrapolation: float
    """Data or workers as a multiple of the end of the learned range; 1 within it."""
    extrapolated: str
    """The quantity of this multiple: ``data`` or ``workers``; empty up to the multiple from which the interval is wider
    for it."""
    credits: tuple[CreditUse, ...] = ()
    """Use of the credits of rented workers; ``simulated_s`` includes it."""

    @property
    def is_shown(self) -> bool:
        """Whether a difference is shown: the interval of the speedup excludes 1."""
        return not self.ratio_low <= 1 <= self.ratio_high

    @property
    def is_slower_link(self) -> bool:
        """Whether the changes give the workers a slower link than measured."""
        before, after = self.links_bits_per_s
        return after < before


@dataclass(frozen=True, slots=True)
class RefusedChange:
    """A measured configuration on which the changes are impossible, with the reason and what to do."""

    run_id: str
    workload: str
    configuration: str
    reason: str
    remedy: str


@dataclass(frozen=True, slots=True)
class ChangeEffect:
    """The speedup of one change alone, or of all changes together: its mean over the configurations of the answer.

    The mean is geometric. The ends of its 90 % interval are the means of the configurations' ends. The interval is
    therefore right if the simulator errs alike on all configurations, and too wide otherwise.
    """

    changes: Mapping[str, str]
    title: str
    """The change in words: ``12 workers``, ``12 workers alone``."""
    ratio: float | None
    """Measured time / predicted time; None, as all figures, if the change alone is impossible."""
    ratio_low: float | None
    ratio_high: float | None
    smallest: float | None
    """Smallest speedup of a configuration; ``largest``: the largest."""
    largest: float | None
    configurations: int
    shown: int
    """Number of configurations for which a difference is shown: the interval of their speedup excludes 1."""
    cost: CostChange | None = None
    """Mean cost ratio of a run over the configurations; None if a cost is unknown."""
    refusal: str = ""
    """Why the change alone is impossible; empty if it is possible."""


@dataclass(frozen=True, slots=True)
class WhatIfAnswer:
    """The answer for all configurations."""

    sentence: str
    """Speedup with the changes, the mean of several configurations, and the cost ratio of a run or why it is not known.
    """
    notes: tuple[str, ...]
    """How far it is extrapolated, its range over the configurations, which of several changes has the effect, and what
    the changes leave unused."""
    tasks: str
    """Whether a stage has fewer tasks than the changed cluster has workers, or more than it runs at once, and what to
    try next; empty if neither."""
    money: str
    """What the cluster costs per hour, and a run, before and after the changes; or which prices are missing."""
    caveat: str
    """What the times of a lab can be used for, and how to get times of hosts; empty for runs on hosts."""
    effects: tuple[ChangeEffect, ...]
    """With several changes: the effect of each change alone, and of all together last. Empty with one change, whose
    effect ``configurations`` has."""
    configurations: tuple[WhatIf, ...]
    refused: tuple[RefusedChange, ...]
    runs_without_plan: int
    """Number of selected measured runs that cannot be simulated, because no plan or cluster file is stored."""

    @property
    def next_changes(self) -> tuple[WhatIf | None, Mapping[str, str]]:
        """The configuration and the further changes that ``tasks`` says to try next; None and empty without them."""
        return next_changes(self.configurations)

    @property
    def most_changed(self) -> WhatIf:
        """The configuration with the largest difference that is shown; without one, with the largest difference."""
        return max(self.configurations, key=lambda row: (row.is_shown, abs(math.log(row.ratio))))
