"""Predict the run times of measured configurations with changed settings or hardware.

In: a repository, a selection of measured runs, and changes. Out: a :class:`WhatIfAnswer` with one :class:`WhatIf` for
each measured workload and configuration, and with the effect of each change alone. The measured runs anchor the
prediction: the measured configuration is simulated first, and the simulator's error there corrects the prediction, as
far as the same resources limit both (:mod:`assay.estimation.simulator.error_model`).

The 90 % interval combines:

* draws of CPU, devices, links and fixed costs, the same before and after the change
* the spread of the measured runs
* the model's error
* the simulator's error on the measured runs
* the error of extrapolation
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import covariance, fmean, median, stdev, variance

from assay.analysis.statistics import RunTable
from assay.estimation.simulator.credits import typical_use
from assay.estimation.simulator.draws import REPETITION_SIGMA, draws
from assay.estimation.simulator.error_model import Z90, DrawCovariance, correction, similarity
from assay.estimation.simulator.extrapolation import WITHIN_RANGE_FACTOR_MAX, extrapolation_error, times_beyond
from assay.estimation.simulator.process import SimulationResult, simulate
from assay.estimation.simulator.scenario import Scenario, SimulationRequest, request_of, scenario_of, shares_of
from assay.estimation.simulator.scenario_document import ScenarioDocument
from assay.execution.planning.forecast import device_space
from assay.execution.planning.plan_files.changed_plan import Change, changed_plan, only_run
from assay.foundation.errors import RepositoryError, SpecificationError
from assay.foundation.units import format_percent
from assay.model import CONTAINERS, CostProfile, Origin, Plan, Run
from assay.questions.commands import NO_OPTIONS, CommandOptions
from assay.questions.costs.changed_prices import prices_in
from assay.questions.forecasts.learning import RUNS_MAX, profile_of
from assay.questions.forecasts.measured import Measured, is_target, measured_of, measured_runs
from assay.questions.forecasts.whatif.core_speed import core_speed_uncertainty
from assay.questions.forecasts.whatif.lab_cpu import lab_cores, share_of_lab_cpu
from assay.questions.forecasts.whatif.simulation_obstacle import hint_of, simulation_obstacle
from assay.questions.forecasts.whatif.task_slots import task_slots, tasks_sentence
from assay.questions.forecasts.whatif.whatif_answer import ChangeEffect, RefusedChange, WhatIf, WhatIfAnswer
from assay.questions.forecasts.whatif.whatif_costs import WhatIfPrices, cost_change, costs_of
from assay.questions.forecasts.whatif.whatif_sentences import (
    caveat_of,
    effect_of,
    money_sentence,
    notes_of,
    refused_effect,
    sentence_of,
    slower_link_notes,
)
from assay.questions.runs.plans import refuse_another_scale
from assay.questions.runs.workload_limits import WorkloadLimit, limit_of_runs
from assay.store import Repository
from assay.text import joined

DRAWS = 16
"""Number of draws of costs and hardware; each is simulated with and without the changes."""
SEED = 1
ALL_RUNS = "measured runs of the repository"
"""Name of the learned profile."""
_NAMED_MAX = 8
"""Maximum number of prices of a book that an error names."""
MISS_WARNED = 0.25
"""Maximum error of the simulator on the measured runs without a warning, as a share."""
_UNCHANGED = "without changes, the time is the measured time, and only the limits are simulated"


@dataclass(frozen=True, slots=True)
class WhatIfQuestion:
    """Changes, and the measured runs that they apply to."""

    changes: tuple[Change, ...]
    where: tuple[str, ...] = ()
    target: str = ""
    """Prefix of a run's or a campaign's id, or a plan's name: only configurations with these runs are answered. Empty:
    all configurations. The profile is learned from all measured runs of the repository, also from those that
    ``where`` and ``target`` leave out: a selection of answers changes no answer."""
    cluster: str = ""
    """Text of a cluster file to use instead of the stored file; empty: the stored file."""
    commands: CommandOptions = NO_OPTIONS
    """Options of the question, which the commands of an answer or a refusal keep."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """Measured runs with the simulation of their configuration, which all sets of changes share."""

    measured: Measured
    profile: CostProfile
    plan: Plan
    """The plan of the measured configuration alone."""
    scenario: Scenario
    simulated: tuple[SimulationResult, ...]
    limit: WorkloadLimit | None = None
    """What limited the measured runs, from their traces."""


@dataclass(frozen=True, slots=True)
class Anchors:
    """The anchors of all selected configurations, oldest runs first."""

    anchors: tuple[Anchor, ...]
    runs_without_plan: int

    def of_target(self, target: str) -> Anchors:
        """Return the anchors with a run of ``target``. Raises RepositoryError if there is none."""
        matching_anchors = tuple(anchor for anchor in self.anchors if anchor.measured.has_target(target))
        if not matching_anchors:
            raise _no_measured_run(target)
        return replace(self, anchors=matching_anchors)


RunSimulations = Callable[[Sequence[ScenarioDocument]], list[SimulationResult]]
"""Runs simulations: scenarios in, results out, in the same order."""


def what_if(
    repository: Repository,
    question: WhatIfQuestion,
    prices: WhatIfPrices | None = None,
    profile: CostProfile | None = None,
) -> WhatIfAnswer:
    """Return the answer for each workload and configuration. ``profile``: None learns it from the measured runs.

    Raises RepositoryError if no measured run is selected, and SpecificationError for changes that are unknown, or
    impossible on every configuration, and for a given cluster file of another scale than the runs.
    """
    return answer_of(
        anchors_of(repository, repository.table(), question, simulate, profile), question.changes, prices, simulate
    )


def anchors_of(
    repository: Repository,
    table: RunTable,
    question: WhatIfQuestion,
    run_simulations: RunSimulations,
    profile: CostProfile | None = None,
) -> Anchors:
    """Simulate each selected measured configuration."""
    runs = measured_runs(repository, table, question.where)
    targets = [run for run in runs if is_target(run, question.target)]
    if not targets:
        raise _no_measured_run(question.target, str(repository.root))
    groups, without_plan = measured_of(repository, runs, question.cluster)
    groups_of_target = [group for group in groups if group.has_target(question.target)]
    if not groups_of_target:
        obstacle = simulation_obstacle(repository, table, targets, question.changes)
        raise RepositoryError(obstacle.sentence, where=str(repository.root), hint=hint_of(obstacle, question.commands))
    for group in groups_of_target if question.cluster else ():
        refuse_another_scale(group.plan.cluster, group.runs[0])
    profiles = {
        in_lab: _with_worker_range(profile or _profile_of_all(repository, table, in_lab), groups)
        for in_lab in {_in_lab(group.runs[0]) for group in groups_of_target}
    }
    anchors = tuple(
        replace(
            anchor_of(group, profiles[_in_lab(group.runs[0])].of_engine(group.runs[0].engine), run_simulations),
            limit=limit_of_runs(repository, group.runs),
        )
        for group in groups_of_target
    )
    return Anchors(anchors, without_plan)


def _profile_of_all(repository: Repository, table: RunTable, in_lab: bool) -> CostProfile:
    """Return the profile of the newest measured runs of labs, or of hosts: they can't be learned from together."""
    runs = [run for run in measured_runs(repository, table) if _in_lab(run) is in_lab]
    return profile_of(repository, runs[-RUNS_MAX:], ALL_RUNS)


def _with_worker_range(profile: CostProfile, groups: Sequence[Measured]) -> CostProfile:
    """Return the profile with the numbers of workers of the measured clusters, if its runs record none."""
    if profile.learned.workers_max:
        return profile
    counts = [len(group.plan.cluster.workers) for group in groups]
    return replace(profile, learned=replace(profile.learned, workers_min=min(counts), workers_max=max(counts)))


def _in_lab(run: Run) -> bool:
    return run.lab_scale is not None


def answer_of(
    anchors: Anchors, changes: Sequence[Change], prices: WhatIfPrices | None, run_simulations: RunSimulations
) -> WhatIfAnswer:
    """Return the answer for each configuration. Raises SpecificationError if every configuration refuses a change."""
    answers: list[WhatIf] = []
    refused_changes: list[RefusedChange] = []
    possible_anchors: list[Anchor] = []
    for anchor in anchors.anchors:
        try:
            answers.append(answer_for(anchor, changes, prices, run_simulations))
            possible_anchors.append(anchor)
        except SpecificationError as error:
            if len(refused_changes) + 1 == len(anchors.anchors):
                raise
            measured, remedy = anchor.measured, error.hint or ""
            run_id = measured.runs[0].run_id
            refused_changes.append(
                RefusedChange(run_id, measured.workload, measured.configuration, error.message, remedy)
            )
    _refuse_unknown_prices(answers, prices)
    slower_links = [answer for answer in answers if answer.is_slower_link]
    main_answers = [answer for answer in answers if not answer.is_slower_link] or answers
    main_anchors = [anchor for anchor, answer in zip(possible_anchors, answers, strict=True) if answer in main_answers]
    effects = _effects_of(main_anchors, main_answers, prices, run_simulations)
    return WhatIfAnswer(
        sentence=sentence_of(main_answers, prices is not None),
        notes=(*slower_link_notes(slower_links, len(answers)), *notes_of(main_answers, effects)),
        tasks=tasks_sentence(answers),
        caveat=caveat_of(answers),
        money=money_sentence(main_answers, prices),
        effects=effects,
        configurations=tuple(answers),
        refused=tuple(refused_changes),
        runs_without_plan=anchors.runs_without_plan,
    )


def _refuse_unknown_prices(answers: Sequence[WhatIf], prices: WhatIfPrices | None) -> None:
    """Raise SpecificationError for a stated price that is neither of the book nor of a part that it lacks."""
    parts = dict.fromkeys(part.name for answer in answers for part in answer.missing_prices)
    for name in prices.parts if prices else ():
        if name not in parts:
            lacking_text = f"it lacks {joined(list(parts))}" if parts else "it lacks no part of the changed cluster"
            items = joined(list(prices_in(prices.book))[:_NAMED_MAX]) if prices else ""
            raise SpecificationError(f"the price book has no price {name!r}", hint=f"{lacking_text}, and has {items}")


def _effects_of(
    anchors: Sequence[Anchor], answers: Sequence[WhatIf], prices: WhatIfPrices | None, run_simulations: RunSimulations
) -> tuple[ChangeEffect, ...]:
    """Return the effect of each change alone and of all changes together, over the same configurations."""
    changes = answers[0].changes
    if len(changes) < 2:
        return ()
    effects = []
    for change in changes.items():
        try:
            effects.append(effect_of([answer_for(anchor, [change], prices, run_simulations) for anchor in anchors]))
        except SpecificationError as error:
            effects.append(refused_effect(change, error.message))
    return (*effects, effect_of(answers))


def anchor_of(measured: Measured, profile: CostProfile, run_simulations: RunSimulations) -> Anchor:
    """Simulate the measured configuration."""
    plan = changed_plan(measured.plan, measured.levels, measured.workload)
    request = _request_for(plan, profile)
    return Anchor(measured, profile, plan, scenario_of(request), tuple(_simulated_draws(request, run_simulations)))


def _no_measured_run(target: str, where: str | None = None) -> RepositoryError:
    return RepositoryError(
        f"there is no valid measured run{f' whose id, campaign or plan is {target[:40]!r}' if target else ''}",
        where=where,
        hint="a what-if question starts from measured runs; `assay runs` lists them",
    )


def _changed_plan(group: Measured, changes: Sequence[Change]) -> Plan:
    """Return the plan with the changes. Raises SpecificationError if its data does not fit on the devices."""
    after = changed_plan(group.plan, group.levels, group.workload, changes)
    if refusal := device_space.refusal(after, [only_run(after)]):
        raise SpecificationError(refusal, where="--set", hint=device_space.remedy(after.cluster))
    return after


def _data_bytes(run: Run, before: Plan, after: Plan) -> int:
    """Return the data at full scale: the recorded data unless the changes alter it."""
    planned_bytes, changed_bytes = (only_run(plan).workload.data_bytes for plan in (before, after))
    if planned_bytes != changed_bytes or not run.data_bytes:
        return changed_bytes
    return round(run.data_bytes / (run.lab_scale or 1.0))


def answer_for(
    anchor: Anchor, changes: Sequence[Change], prices: WhatIfPrices | None, run_simulations: RunSimulations
) -> WhatIf:
    """Return the predicted times with ``changes``. Raises SpecificationError for an unknown or impossible change."""
    group, profile, before = anchor.measured, anchor.profile, anchor.plan
    after, cores = _changed_plan(group, changes), core_speed_uncertainty(group.runs, dict(changes))
    request = _request_for(after, profile, share_of_lab_cpu(before, after))
    scenarios = [anchor.scenario, scenario_of(request)]
    is_unchanged = request == _request_for(before, profile)
    simulated = anchor.simulated if is_unchanged else _simulated_draws(request, run_simulations, cores.sigma)
    sides = list(anchor.simulated), list(simulated)
    times = [[result.duration_s for result in side] for side in sides]
    measured_s = math.exp(fmean(math.log(run.duration_s) for run in group.runs))
    shares = [shares_of(_request_for(before, profile), sides[0]), shares_of(request, sides[1])]
    scatter, mean_sigma = _scatter(group.runs)
    miss = median(times[0]) / measured_s - 1
    alike_share = similarity(shares[0], shares[1], median(times[0]), median(times[1]))
    error = correction(shares[0], shares[1], -math.log1p(miss), mean_sigma, _draw_covariance(*times), alike_share)
    far_sigma, far_texts = (0.0, []) if is_unchanged else extrapolation_error(request)
    middle_s = median(times[1]) * error.factor
    low_s, high_s = (middle_s * math.exp(end * math.hypot(error.sigma, scatter, far_sigma)) for end in (-Z90, Z90))
    limits = [_limits(side) for side in sides]
    assumptions = _assumptions(scenarios, sides[1][0], profile, miss, error.factor - 1, far_texts)
    texts = (_UNCHANGED,) if is_unchanged else (*cores.assumptions, *assumptions, *_same_work(changes))
    costs = costs_of(prices, (before, after), measured_s, (middle_s, low_s, high_s))
    return WhatIf(
        run_id=group.runs[0].run_id,
        workload=group.workload,
        configuration=group.configuration,
        levels=group.levels,
        changes=dict(changes),
        measured_s=measured_s,
        n_measured=len(group.runs),
        simulated_s=middle_s,
        low_s=low_s,
        high_s=high_s,
        ratio=measured_s / middle_s,
        ratio_low=measured_s / high_s,
        ratio_high=measured_s / low_s,
        measured_limit=anchor.limit,
        limit_before=_largest_limit(limits[0]),
        limit_after=_largest_limit(limits[1]),
        limits_before=limits[0],
        limits_after=limits[1],
        cost_before=costs.run_before,
        cost_after=costs.run_after,
        cost_low=costs.run_low,
        cost_high=costs.run_high,
        cost=cost_change(costs),
        cost_lines_before=costs.lines_before,
        cost_lines_after=costs.lines_after,
        per_h_before=costs.per_h_before,
        per_h_after=costs.per_h_after,
        cost_unknown=costs.unknown,
        missing_prices=costs.missing_prices,
        cost_note=costs.note,
        currency=prices.book.currency if prices else "",
        simulated_before_s=median(times[0]),
        miss=miss,
        origin=str(Origin.MEASURED if is_unchanged else Origin.SIMULATED),
        assumptions=(*texts, *costs.assumptions),
        data_bytes=_data_bytes(group.runs[0], before, after),
        lab_scale=group.runs[0].lab_scale,
        lab_cores=lab_cores(before, after, anchor.scenario.document),
        slots=task_slots(after, scenarios[1].document),
        links_bits_per_s=(group.configured().link_bits_per_s, group.configured(changes).link_bits_per_s),
        extrapolation=1.0 if is_unchanged else max(1.0, *times_beyond(request).values()),
        extrapolated="" if is_unchanged else _extrapolated_quantity(request),
        credits=typical_use(sides[1], error.factor),
    )


def _extrapolated_quantity(request: SimulationRequest) -> str:
    """Return the quantity that is furthest beyond the learned range; empty if the interval is not wider for it."""
    name, times = max(times_beyond(request).items(), key=lambda entry: entry[1])
    return name if times > WITHIN_RANGE_FACTOR_MAX else ""


def _scatter(runs: Sequence[Run]) -> tuple[float, float]:
    """Return the standard deviation of the log times of runs, at least that of usual repetitions, and of their mean."""
    spread = stdev(math.log(run.duration_s) for run in runs) if len(runs) > 1 else REPETITION_SIGMA
    scatter = max(spread, REPETITION_SIGMA)
    return scatter, scatter / math.sqrt(len(runs))


def _same_work(changes: Sequence[Change]) -> tuple[str, ...]:
    """Return the assumption that the data stay as measured, where the changes add or remove slots for tasks."""
    names = {name for name, _ in changes}
    if "data" in names or not names & {"workers.count", CONTAINERS}:
        return ()
    return (
        "the data stays as measured: more workers or containers help only if tasks wait for them; --set data=SIZE "
        "changes it",
    )


def _request_for(plan: Plan, profile: CostProfile, lab_cpu: float = 1.0) -> SimulationRequest:
    return request_of(plan, only_run(plan), profile, {"lab_cpu": lab_cpu})


def _simulated_draws(
    request: SimulationRequest, run_simulations: RunSimulations, core_sigma: float = 0.0
) -> list[SimulationResult]:
    """Simulate the request with each draw of costs and hardware."""
    parameter_draws = list(draws(request.profile, DRAWS, SEED, core_sigma))
    scenarios = [scenario_of(draw.of(request)) for draw in parameter_draws]
    documents = [
        scenario.with_seed(draw.seed, f"draw{number}")
        for number, (scenario, draw) in enumerate(zip(scenarios, parameter_draws, strict=True))
    ]
    return [scenario.limited(result) for scenario, result in zip(scenarios, run_simulations(documents), strict=True)]


def _limits(side: Sequence[SimulationResult]) -> dict[str, float]:
    names = dict.fromkeys(name for result in side for name in result.limits)
    return {name.replace(":dfs", ":hdfs"): fmean(result.limits.get(name, 0.0) for result in side) for name in names}


def _largest_limit(limits: Mapping[str, float]) -> str:
    return max(limits, key=lambda name: limits[name]) if limits else "unknown"


def _draw_covariance(before_s: Sequence[float], after_s: Sequence[float]) -> DrawCovariance:
    """Return the variance of the log times of each side over the paired draws, and their covariance."""
    logs = [[math.log(time_s) for time_s in side] for side in (before_s, after_s)]
    return DrawCovariance(variance(logs[0]), variance(logs[1]), covariance(*logs))


def _assumptions(
    scenarios: Sequence[Scenario],
    after: SimulationResult,
    profile: CostProfile,
    miss: float,
    correction_share: float,
    far_texts: Sequence[str],
) -> tuple[str, ...]:
    texts = [f"profile {profile.name}: {profile.learned.source}"]
    direction = "longer" if miss >= 0 else "shorter"
    texts.append(
        f"the simulated time of the measured runs is {format_percent(abs(miss))} {direction} than measured; "
        f"this corrects the answer by "
        f"{'0 %' if round(100 * correction_share) == 0 else f'{100 * correction_share:+.0f} %'}"
    )
    if abs(miss) > MISS_WARNED:
        texts.append("the simulator's error on the measured runs is large, so the answer is a rough guide only")
    return tuple(dict.fromkeys([*texts, *far_texts, *scenarios[1].assumptions, *after.assumptions]))
