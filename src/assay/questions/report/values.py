"""A report as one frozen value: the decisions first, then sections that are present where the repository holds them.

Sections refer to a decision by its position in :attr:`Report.decisions`, and use its baseline and its options.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.analysis.comparison.details.level_summary import LevelSummary
from assay.analysis.comparison.details.threats import Threat
from assay.analysis.comparison.factors.device_classes import DeviceClass
from assay.analysis.comparison.joint import LevelNetwork
from assay.analysis.comparison.result import SpeedupResult
from assay.analysis.run_profile.devices import Purpose
from assay.analysis.run_profile.limits.run_limits import Limits
from assay.analysis.run_profile.phases import Occupancy, rank
from assay.analysis.run_profile.reasons import ObservedSide, reasons
from assay.analysis.run_profile.run_detail import RunDetail
from assay.analysis.run_profile.tasks import Timeline
from assay.analysis.run_profile.traffic import TrafficSeries
from assay.analysis.run_profile.workload_ratios import WorkloadRatios
from assay.estimation.prediction.explaining import Cell
from assay.model import CodedWarning, Origin, Run
from assay.questions.claims.findings import FindingsView
from assay.questions.clusters.hardware import HardwareView
from assay.questions.clusters.hosts import CheckedCluster
from assay.questions.comparisons.speedup_tables import SpeedupTable
from assay.questions.costs.cost_rows import JobCostEffectiveness
from assay.questions.costs.job_cost import CostView
from assay.questions.decisions.decision import Decision
from assay.questions.decisions.sentences.option_words import option_text, workload_in_context
from assay.questions.decisions.sentences.question_sentences import QuestionView
from assay.questions.forecasts.whatif.whatif_answer import WhatIfAnswer
from assay.questions.report.request import Fact, ReportRequest
from assay.questions.runs.workload_limits import WorkloadLimits
from assay.store.campaigns.plan_texts import PlanText
from assay.text import TextTable


@dataclass(frozen=True, slots=True)
class RunTraffic:
    """Disk traffic of one run."""

    level: str
    run_id: str
    series: tuple[TrafficSeries, ...]


@dataclass(frozen=True, slots=True)
class RunView:
    """The details of the run that is nearest to the median of its configuration."""

    level: str
    run_id: str
    duration_s: float
    detail: RunDetail
    occupancy: tuple[Occupancy, ...]
    timeline: Timeline
    limits: Limits | None = None
    """None without a trace."""
    stages: tuple[TextTable, ...] = ()
    """Of a Spark program: the graph of its stages, and the data that they moved."""

    @property
    def shares_disks(self) -> bool:
        """Return whether a device holds both HDFS blocks and intermediate data."""
        return any(use.purpose is Purpose.SHARED for use in self.detail.by_purpose)


@dataclass(frozen=True, slots=True)
class ReportSection:
    """One workload: a summary of each configuration, and details of one run of each.

    The baseline comes first. ``traffic`` is empty without traces, ``views`` without task attempts and traces.
    """

    decision: int
    workload: str
    context: str
    """Distinguishes sections of the same workload; empty for the only one."""
    comparisons: tuple[SpeedupResult, ...]
    summaries: tuple[LevelSummary, ...]
    traffic: tuple[RunTraffic, ...] = ()
    views: tuple[RunView, ...] = ()

    @property
    def title(self) -> str:
        """The workload, with its context."""
        return workload_in_context(self.workload, self.context)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the other configurations are faster or slower than the baseline, from one run of each."""
        factor = self.comparisons[0].factor
        sides = [ObservedSide(option_text(factor, view.level), view.duration_s, view.detail) for view in self.views]
        return reasons(sides).sentences

    def phase_names(self) -> list[str]:
        """Return the phases of all views, in the order in which Hadoop runs them."""
        return sorted({phase.name for view in self.views for phase in view.detail.breakdown.phases}, key=rank)

    def has_throughput(self, name: str) -> bool:
        """Return whether any configuration has this throughput."""
        return any(summary.throughputs_mb_per_s.get(name) is not None for summary in self.summaries)


@dataclass(frozen=True, slots=True)
class ConfigurationDetails:
    """Details of each configuration."""

    sections: tuple[ReportSection, ...]
    """The workloads with charts, most runs first."""
    left_out: tuple[str, ...]
    """Titles of the workloads without charts, because the report would be too long."""
    comparisons: tuple[SpeedupResult, ...]
    """Comparisons with the baseline within each matched group, for all workloads."""
    profile: WorkloadRatios | None
    """The data and CPU use of each workload; None where the runs do not record it."""
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class CombinedTimes:
    """One workload's expected time at each measured combination of storage, network and containers."""

    workload: str
    factors: tuple[str, ...]
    cells: tuple[Cell, ...]
    not_measured: int
    """Number of combinations that no run has."""


@dataclass(frozen=True, slots=True)
class DecisionGroups:
    """The matched groups of one decision: each inference scope and each pair of options."""

    decision: int
    tables: tuple[SpeedupTable, ...]
    network: LevelNetwork | None
    """Which options matched groups compare; None with fewer than three."""


@dataclass(frozen=True, slots=True)
class GroupDetails:
    """Matched groups together."""

    decisions: tuple[DecisionGroups, ...]
    combined: tuple[CombinedTimes, ...]
    """How storage, network and containers interact."""


@dataclass(frozen=True, slots=True)
class RunCostSection:
    """Time and cost of a run on each layout, network and cluster, by workload."""

    jobs: tuple[JobCostEffectiveness, ...]
    unpriced: tuple[str, ...]
    """Hardware without a price in the book, with the reason."""


@dataclass(frozen=True, slots=True)
class FactorLevels:
    """One factor of the configuration, with its levels and the number of runs of each."""

    name: str
    levels: tuple[tuple[str, int], ...]
    absent: int
    """Runs without a recorded level; 0 for an option of one workload, which other workloads do not have."""

    @property
    def varies(self) -> bool:
        """Return whether runs differ in it."""
        return len(self.levels) > 1


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the numbers come from, and how to reproduce them."""

    settings: tuple[FactorLevels, ...]
    hosts: tuple[Fact, ...]
    checked: tuple[CheckedCluster, ...]
    """The newest stored host check of each cluster."""
    facts: tuple[Fact, ...]
    plans: tuple[PlanText, ...]
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The decisions, and the details below them."""

    request: ReportRequest
    written_on: str
    """Date of the report, ``2026-11-22``."""
    assay_version: str
    runs: int
    origins: tuple[tuple[Origin, float | None], ...]
    """Origin and lab scale of the runs."""
    decisions: tuple[Decision, ...]
    """The first is the answer; empty where no two options can be compared."""
    questions: tuple[QuestionView, ...]
    """Every question of a buyer, asked of the same runs."""
    limits: WorkloadLimits
    """What limits the runs, by workload and kind of storage."""
    further_decisions: tuple[Decision, ...]
    """The decisions on ``questions`` that are not among ``decisions``."""
    layout_classes: Mapping[str, DeviceClass]
    """Device class of each layout; it selects the layout's colour."""
    not_compared: tuple[tuple[str, str], ...]
    """Factor and level of the options that no decision has."""
    workloads_not_compared: tuple[str, ...]
    """Workloads on which no decision compares options."""
    method: tuple[Fact, ...]
    hardware: HardwareView
    configurations: ConfigurationDetails | None
    groups: GroupDetails | None
    job_costs: CostView | None
    run_costs: RunCostSection | None
    whatif: WhatIfAnswer | None
    """Simulated effect of the requested changes on the measured runs."""
    findings: FindingsView
    """The claims of the published studies, tested on these runs."""
    warnings: tuple[CodedWarning, ...]
    """Differences between hosts, and factors that change together with the factor."""
    threats: tuple[Threat, ...]
    """Threats to validity that no caveat of a decision states."""
    provenance: Provenance
