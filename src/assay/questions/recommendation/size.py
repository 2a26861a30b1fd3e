"""Size a cluster from the logs of one job: what limits the job, which rented or bought shapes fit it, and their money.

In: logs, and for shapes a hardware catalogue, a price book and simulators. Out: :class:`SizeAnswer`, the one answer for
every interface. The job's profile comes from the logs; the search is that of :mod:`recommend`. Times of shapes are
simulated, in seconds, with 90 % intervals; money is in the currency of the price book.

The simulator runs the job as an existing workload that reads, shuffles and writes as the logs counted.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from assay.analysis.cost.bills import ClusterParts
from assay.analysis.cost.interruptions import mean_time_with_restarts_s
from assay.analysis.run_profile.limits.job_limits import JobShares, job_shares
from assay.analysis.run_profile.memory_need import MemoryNeed, memory_need
from assay.estimation.profiles.log_profile import data_bytes_of, log_profile
from assay.estimation.simulator.pool import SimulatorPool
from assay.execution.engines.hadoop.settings import containers
from assay.execution.engines.hadoop.settings.defaults import STOCK_MEMORY
from assay.execution.engines.spark import settings as spark
from assay.foundation.errors import SpecificationError
from assay.foundation.progress import Progress
from assay.foundation.units import format_bytes
from assay.model import (
    MAP_OUTPUT_CODEC,
    MAP_OUTPUT_COMPRESS,
    SHUFFLE_CODEC,
    SHUFFLE_COMPRESS,
    YEAR_H,
    HardwareCatalogue,
    ImportedRun,
    Origin,
    PriceBook,
)
from assay.model.clusters.credits import CreditUse
from assay.questions.costs.extra_costs import ONCE_A_DAY, CostLine
from assay.questions.forecasts.learning import ProfileOrigin
from assay.questions.recommendation.clusters.choice import Choice
from assay.questions.recommendation.job_logs import JobLogs
from assay.questions.recommendation.measured_types import TimeSources
from assay.questions.recommendation.recommend import EXTRAPOLATION_MAX, Recommendation, recommend
from assay.questions.recommendation.request import PER_HOUR, SEED, SIMULATIONS, Objective, RecommendRequest
from assay.questions.recommendation.search import PRICE_TIE
from assay.questions.recommendation.sensitivity import AnswerChange, hardware_of

SHAPES, CANDIDATES = 3, 10
"""Number of shapes in an answer, and of the candidates that they are chosen from."""
SPEED_FACTOR = 2.0
"""Half-width of the 90 % interval of a core's speed that the catalogue does not state, as a factor."""
RATIO_STATED = 2.0
"""Ratio of the data per second of the first shape and of the log, or its inverse, from which it is stated first."""
GROWTH_MAX = 1000.0
"""Maximum growth of the data."""
_SAME_WORKLOADS = ("terasort",)
"""Workloads that the simulator runs as themselves."""
_CARRIER = "wordcount"
"""Workload as which the simulator runs a job that assay does not know: it reads an input and writes all replicas."""
_GROWTH = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*x?", re.IGNORECASE)
_SHARE_PER_H = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*%\s*/\s*h(?:our)?", re.IGNORECASE)
_TASK_MEMORY = {"map": containers.MAP_MEMORY, "reduce": containers.REDUCE_MEMORY}
_KEPT_PARAMETERS = (
    *_TASK_MEMORY.values(),
    containers.SORT_BUFFER,
    MAP_OUTPUT_COMPRESS,
    MAP_OUTPUT_CODEC,
    SHUFFLE_COMPRESS,
    SHUFFLE_CODEC,
    spark.MEMORY,
    spark.OVERHEAD,
)
"""Parameters of the logged job that a shape keeps, unless the catalogue sets them."""
_OVERHEAD_SHARE, _OVERHEAD_MIN_MB = 0.1, 384
"""Spark's default memory overhead: a share of the heap, and its minimum (spark.executor.memoryOverheadFactor)."""


@dataclass(frozen=True, slots=True)
class SizeRequest:
    """Constraints on the shape, as users write them. An empty text sets none."""

    deadline: str = ""
    """Maximum time of one run: ``40min``."""
    budget: str = ""
    """Maximum price of the cluster per hour: ``$20/h``."""
    grow: str = "1x"
    """Future data, as a multiple of the log's: ``3x``."""
    interruptions: str = ""
    """Share of spot instances that are taken away per hour: ``5%/h``."""
    simulations: int = SIMULATIONS
    seed: int = SEED
    extra_costs: str = ""
    """Costs in addition to the hours of the job, per day: ``storage=2TB,egress=50GB,idle=3h``; the job runs once a
    day. ``surplus-credits=$0.05`` runs burstable machines in unlimited mode, at this price of a vCPU-hour."""

    @property
    def growth(self) -> float:
        """The factor on the data. Raises SpecificationError."""
        match = _GROWTH.fullmatch(self.grow.strip())
        if not match or not 0 < float(match[1]) <= GROWTH_MAX:
            raise SpecificationError(
                f"{self.grow[:20]!r} is not a growth up to {GROWTH_MAX:,.0f}x", where="--grow", hint="such as 3x"
            )
        return float(match[1])

    @property
    def interruption_probability_per_h(self) -> float | None:
        """The probability that one instance is taken away within an hour. Raises SpecificationError."""
        text = self.interruptions.strip()
        if not text:
            return None
        match = _SHARE_PER_H.fullmatch(text)
        if not match or float(match[1]) >= 100:
            raise SpecificationError(
                f"{text[:20]!r} is not a share of instances per hour", where="--interruptions", hint="such as 5%/h"
            )
        return float(match[1]) / 100


@dataclass(frozen=True, slots=True)
class JobFacts:
    """One job as its logs describe it. A None is not in the logs."""

    name: str
    engine: str
    logs: int
    jobs: int
    stages: int
    data_bytes: int
    shuffled_bytes: float | None
    written_bytes: float | None
    spilled_bytes: float | None
    """Bytes that tasks spilled to disks (Spark)."""
    cpu_s: float | None
    shares: JobShares


@dataclass(frozen=True, slots=True)
class Shape:
    """One cluster that may run the job."""

    label: str
    levels: Mapping[str, str]
    time_s: float
    time_low_s: float
    time_high_s: float
    rate_per_h: float
    rate_low_per_h: float
    rate_high_per_h: float
    parts: ClusterParts
    """``rate_per_h`` by part."""
    job_cost: float
    job_cost_low: float
    job_cost_high: float
    limit: str
    keeps_probability: float | None
    """Share of the draws in which it keeps the deadline and the budget; None if the data is extrapolated too far."""
    best_probability: float | None
    """Share of the draws in which its hardware has the lowest cost of the job among those that keep them."""
    on_pareto_front: bool
    """Whether no other candidate is faster and cheaper per job, by the middle of the draws. A difference within
    PRICE_TIE counts as none."""
    credits: tuple[CreditUse, ...] = ()
    """Use of the credits of rented machines; the times include it."""
    origin: str = str(Origin.SIMULATED)
    interrupted_time_s: float | None = None
    """Mean time if every interruption of a spot instance restarts the job; None without a rate of interruptions."""
    interrupted_cost: float | None = None
    """Cost of the job in that time."""
    cost_lines: tuple[CostLine, ...] = ()
    """The lines of ``job_cost``; empty without extra costs."""


@dataclass(frozen=True, slots=True)
class SizeAnswer:
    """The answer. ``shapes`` is empty without a catalogue, and if ``why_none`` says why."""

    job: JobFacts
    memory: tuple[MemoryNeed, ...]
    growth: float
    deadline: str
    budget: str
    assumptions: tuple[str, ...]
    shapes: tuple[Shape, ...] = ()
    """The best shapes with different hardware: those that keep the constraints first, then by the cost of the job."""
    candidates: tuple[Shape, ...] = ()
    """The shapes, and further clusters with different hardware, in the same order."""
    tied: tuple[str, ...] = ()
    """Labels of the candidates whose time and cost of the job are equal to those of the first within PRICE_TIE."""
    currency: str = ""
    kept: bool = False
    """Whether the first shape keeps the constraints in enough draws."""
    why_none: str = ""
    interruptions: str = ""
    changes: tuple[AnswerChange, ...] = ()
    extrapolation: float = 1.0
    """Largest data per worker of a shape, as a multiple of the log's."""
    skipped: tuple[str, ...] = field(default=())

    @property
    def extrapolated(self) -> bool:
        """Whether the data per worker is too far from the log's for intervals to have a probability."""
        return self.extrapolation > EXTRAPOLATION_MAX

    @property
    def states_kept_share(self) -> bool:
        """Whether there are constraints, and a share of draws in which a shape keeps them."""
        return bool(self.deadline or self.budget) and not self.extrapolated

    @property
    def may_be_log_cluster(self) -> bool:
        """Whether the only cluster of the answer has as many workers as the log has nodes, with the logged data."""
        is_only = len(self.candidates) == 1 and self.growth == 1 and not self.extrapolated
        return is_only and int(self.candidates[0].levels["workers"]) == self.job.shares.nodes

    @property
    def speed_ratio(self) -> float | None:
        """Data per second of the first shape, simulated, as a multiple of the log's; None without a shape."""
        return self.growth * self.job.shares.duration_s / self.shapes[0].time_s if self.shapes else None


def describe_job(logs: JobLogs, request: SizeRequest) -> SizeAnswer:
    """Return what the logs tell about the job, without shapes. Raises SpecificationError for an invalid request."""
    growth = request.growth
    longest_run = max(logs.runs, key=lambda item: data_bytes_of(item.run))
    run = longest_run.run
    has_stages = bool(run.stages)
    job = JobFacts(
        name=logs.name,
        engine=run.engine,
        logs=len(logs.runs),
        jobs=len({task.job_id for task in longest_run.tasks}),
        stages=len([stage for stage in run.stages if stage.failure is None]),
        data_bytes=data_bytes_of(run),
        shuffled_bytes=run.metrics.get("shuffle_write_bytes" if has_stages else "shuffle_bytes"),
        written_bytes=run.metrics.get("output_bytes" if has_stages else "hdfs_write_bytes"),
        spilled_bytes=run.metrics.get("disk_spilled_bytes"),
        cpu_s=run.metrics.get("cpu_s"),
        shares=job_shares(run, longest_run.tasks),
    )
    return SizeAnswer(
        job=job,
        memory=_memory(logs.runs, longest_run, growth),
        growth=growth,
        deadline=request.deadline,
        budget=request.budget,
        assumptions=(),
        skipped=logs.skipped,
    )


def size(
    logs: JobLogs,
    request: SizeRequest,
    catalogue: HardwareCatalogue,
    book: PriceBook,
    pool: SimulatorPool,
    progress: Progress | None = None,
) -> SizeAnswer:
    """Return the shapes of ``catalogue`` that fit the job best.

    Raises SpecificationError for a request that can't be answered or priced, and HostError without the simulator.
    """
    probability = request.interruption_probability_per_h
    answer = describe_job(logs, request)
    if answer.job.data_bytes <= 0 or not answer.job.cpu_s:
        lacking_text = "bytes" if answer.job.data_bytes <= 0 else "CPU time"
        return replace(answer, why_none=f"the log counts no {lacking_text} of the tasks, so the job can't be simulated")
    first = logs.runs[0].run
    workload = first.workload if first.workload in _SAME_WORKLOADS else _CARRIER
    name = "1 log" if len(logs.runs) == 1 else f"{len(logs.runs)} logs"
    profile = log_profile([(item.run, item.tasks) for item in logs.runs], workload, answer.growth, name)
    hardware, assumptions = _completed_catalogue(catalogue, first.parameters, logs.runs)
    data_bytes = round(answer.job.data_bytes * answer.growth)
    recommendation = recommend(
        RecommendRequest(
            (f"{workload}:{data_bytes}B:daily",),
            budget=_hourly_budget(request.budget),
            deadline=request.deadline,
            years=1.0,
            minimize=Objective.DAY_COST,
            simulations=request.simulations,
            seed=request.seed,
            extra_costs=request.extra_costs,
        ),
        hardware,
        book,
        TimeSources(profile, ProfileOrigin.FILES),
        pool,
        progress,
    )
    common_assumptions = (
        f"the job reads {format_bytes(data_bytes)} from HDFS on the workers' disks, and nothing else runs on them",
        f"prices: {book.name} of {book.date}",
        *((ONCE_A_DAY,) if request.extra_costs else ()),
    )
    candidates = _on_front(
        [_with_interruptions(shape, probability) for shape in _candidates(recommendation, CANDIDATES)]
    )
    labels = {shape.label for shape in _candidates(recommendation, SHAPES)}
    simulated = [text for text in recommendation.assumptions if not text.startswith("profile ")]
    return replace(
        answer,
        assumptions=(*assumptions, *common_assumptions, *simulated),
        shapes=tuple(shape for shape in candidates if shape.label in labels),
        candidates=candidates,
        tied=_tied_labels(candidates),
        interruptions=request.interruptions,
        currency=book.currency,
        kept=recommendation.chosen is not None,
        why_none=recommendation.why_none,
        # Spark compresses shuffle files by default, so a codec for map output is no change to suggest.
        changes=tuple(
            change for change in recommendation.changes if change.kind != "codec" or profile.engine != "spark"
        ),
        extrapolation=recommendation.extrapolation,
    )


def _tied_labels(candidates: Sequence[Shape]) -> tuple[str, ...]:
    """Return the labels of the candidates that are as fast and as cheap as the first."""
    best = candidates[:1]
    return tuple(shape.label for shape in candidates[1:] if _are_equal(_amounts(shape), _amounts(best[0])))


def _on_front(candidates: Sequence[Shape]) -> tuple[Shape, ...]:
    """Return the candidates, each with whether it is on their Pareto front."""
    return tuple(
        replace(shape, on_pareto_front=not any(_beats(_amounts(other), _amounts(shape)) for other in candidates))
        for shape in candidates
    )


def _amounts(shape: Shape) -> tuple[float, float]:
    return shape.time_s, shape.job_cost


def _are_equal(amounts: Sequence[float], other_amounts: Sequence[float]) -> bool:
    return all(math.isclose(a, b, rel_tol=PRICE_TIE) for a, b in zip(amounts, other_amounts, strict=True))


def _beats(amounts: Sequence[float], other_amounts: Sequence[float]) -> bool:
    """Return whether the amounts are nowhere larger, and one is smaller by more than PRICE_TIE."""
    nowhere_larger = all(
        a <= b or math.isclose(a, b, rel_tol=PRICE_TIE) for a, b in zip(amounts, other_amounts, strict=True)
    )
    return nowhere_larger and not _are_equal(amounts, other_amounts)


def _with_interruptions(shape: Shape, probability_per_h: float | None) -> Shape:
    """Return the shape with its mean time and cost under interruptions of its workers."""
    if probability_per_h is None:
        return shape
    time_s = mean_time_with_restarts_s(shape.time_s, int(shape.levels["workers"]), probability_per_h)
    cost = shape.job_cost + shape.rate_per_h * (time_s - shape.time_s) / 3600
    return replace(shape, interrupted_time_s=time_s, interrupted_cost=cost)


def _memory(runs: Sequence[ImportedRun], longest_run: ImportedRun, growth: float) -> tuple[MemoryNeed, ...]:
    """Return the need of each kind of process. Map tasks grow in number with the data."""
    if longest_run.run.engine != "hadoop":
        peaks = [float(peak) for item in runs for peak in item.memory_bytes.get("executor", ())]
        parameters = longest_run.run.parameters
        is_local = parameters.get(spark.MASTER, "").startswith("local")  # the driver's heap, whose size is not recorded
        requested_mb = None if is_local else spark.memory_mb(parameters.get(spark.MEMORY, "1g"))
        processes = max(1, len(longest_run.run.executors))
        return (memory_need("executor", peaks, requested_mb * 2**20 if requested_mb else None, processes),)
    needs = []
    for kind, parameter in _TASK_MEMORY.items():
        processes = len({task.task_id for task in longest_run.tasks if task.kind == kind})
        if not processes:
            continue
        peaks = [float(peak) for item in runs for peak in item.memory_bytes.get(kind, ())]
        text = longest_run.run.parameters.get(parameter, STOCK_MEMORY[parameter] if longest_run.run.parameters else "")
        requested_mb = float(text) * 2**20 if text.isdecimal() else None
        needs.append(memory_need(kind, peaks, requested_mb, round(processes * (growth if kind == "map" else 1.0))))
    return tuple(needs)


def _completed_catalogue(
    catalogue: HardwareCatalogue, parameters: Mapping[str, str], runs: Sequence[ImportedRun]
) -> tuple[HardwareCatalogue, tuple[str, ...]]:
    """Return the catalogue with the job's parameters and an interval of each core's speed, and what that assumes."""
    kept_parameters = {name: parameters[name] for name in _KEPT_PARAMETERS if name in parameters}
    cores = [executor.cores for executor in runs[0].run.executors if executor.cores]
    if cores:
        heap_mb = spark.memory_mb(parameters.get(spark.MEMORY, "1g")) or 1024
        overhead_mb = max(_OVERHEAD_MIN_MB, _OVERHEAD_SHARE * heap_mb)
        kept_parameters = {
            spark.CORES: str(max(cores)),
            spark.MEMORY: "1g",
            spark.OVERHEAD: f"{overhead_mb:.0f}m",
            **kept_parameters,
        }
    assumptions = [f"costs of the job: {len(runs)} of its runs, on hardware that a log does not describe"]
    workers = []
    for option in catalogue.workers:
        low, high = option.cpu_speed_low, option.cpu_speed_high
        if low == high:
            assumptions.append(
                f"a core of {option.name} is {option.cpu_speed:g} times as fast as one of the log's machines, within a "
                f"factor of {SPEED_FACTOR:g}: the catalogue states no interval (cpu: {{speed, low, high}})"
            )
            low, high = option.cpu_speed / SPEED_FACTOR, option.cpu_speed * SPEED_FACTOR
        workers.append(replace(option, cpu_speed_low=low, cpu_speed_high=high))
    changed: dict[str, Any] = {"workers": tuple(workers), "parameters": {**kept_parameters, **catalogue.parameters}}
    return replace(catalogue, **changed), tuple(assumptions)


def _hourly_budget(text: str) -> str:
    """Return a budget per hour. Raises SpecificationError for another budget."""
    if text and not PER_HOUR.fullmatch(text.strip()):
        raise SpecificationError(f"{text[:30]!r} is not a price per hour", where="--budget", hint='such as "$20/h"')
    return text


def _candidates(recommendation: Recommendation, number: int) -> tuple[Shape, ...]:
    """Return the best finalists: the best of each kind of worker, then others with different hardware."""
    by_worker: dict[str, Choice] = {}
    other_choices: dict[object, Choice] = {}
    for choice in recommendation.finalists:
        by_worker.setdefault(choice.levels["worker"], choice)
        other_choices.setdefault(hardware_of(choice.levels), choice)
    ranked_choices = list(by_worker.values())
    ranked_choices += [choice for choice in other_choices.values() if choice not in ranked_choices]
    order = recommendation.finalists.index
    hours = YEAR_H * recommendation.constraints.years
    return tuple(
        Shape(
            label=choice.label,
            levels=choice.levels,
            time_s=choice.day_s,
            time_low_s=choice.day_low_s,
            time_high_s=choice.day_high_s,
            rate_per_h=choice.bill / hours,
            rate_low_per_h=choice.bill_low / hours,
            rate_high_per_h=choice.bill_high / hours,
            parts=choice.parts.scaled(1 / hours),
            job_cost=choice.day_cost,
            job_cost_low=choice.day_cost_low,
            job_cost_high=choice.day_cost_high,
            limit=choice.times[0].limit,
            keeps_probability=None if recommendation.extrapolated else choice.keeps_probability,
            best_probability=None if recommendation.extrapolated else choice.hardware_probability,
            on_pareto_front=True,
            credits=choice.times[0].credits,
            cost_lines=choice.cost_lines,
        )
        for choice in sorted(ranked_choices[:number], key=order)
    )
