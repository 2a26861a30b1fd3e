"""Tune a workload: search for the fastest configuration with real runs, then compare it with the defaults.

:func:`planned_tuning` takes a plan and a request. It returns the plan of the campaign, and the tuner that chooses the
runs. :func:`tuning_state` takes a repository and a campaign. It returns the state or the result of the tuning. Times
are in seconds. Ratios are time of the defaults / time of the candidate: above 1, the candidate is faster.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from assay.analysis.comparison.comparison import log_ratio
from assay.analysis.comparison.matched import LogMean
from assay.analysis.comparison.verdict_text import ComparedNames, evidence_text, groups_and_runs, verdict_text
from assay.analysis.statistics import verdict_of
from assay.estimation.tuning.planned_tuning import NOTHING_BETTER, TUNING, PlannedTuning, TuningRequest, WarmStart
from assay.estimation.tuning.space import space_of
from assay.estimation.tuning.tuner import BUDGET_MIN, Tuner
from assay.estimation.tuning.tuning import CandidateRun
from assay.execution.planning.forecast.estimate import comparable_runs
from assay.foundation.errors import RepositoryError, SpecificationError
from assay.model import CostProfile, Origin, Plan, Run, RunStatus
from assay.questions.forecasts.tuning_estimates import predicted_logs, simulated_logs
from assay.store import Repository
from assay.store.campaigns.status import object_in

DEFAULTS, TUNED = "the plan's configuration", "the tuned configuration"


class NoTuningError(RepositoryError):
    """The campaign does not exist, or is not a tuning."""


def planned_tuning(
    plan: Plan, request: TuningRequest, repository: Repository | None, profile: CostProfile | None, origin: Origin
) -> PlannedTuning:
    """Return the tuning. Raises SpecificationError for a request that can't be run.

    ``profile``: costs of the workloads, for an initial estimate by simulation. Only runs of ``origin`` count.
    """
    if request.budget < BUDGET_MIN:
        message = f"{request.budget} runs are too few for a search"
        raise SpecificationError(
            message, where="--budget", hint=f"use at least {BUDGET_MIN}, better 10 for each tuned parameter"
        )
    space = space_of(plan, request.workload, dict(request.at or {}), request.over, request.budget + 2 * request.pairs)
    tuner = Tuner(space, request.budget, request.pairs, request.strategy, seed=plan.seed)
    if int(tuner.possible.sum()) < 2:
        why = next(reason for candidate in range(1, len(space.points)) if (reason := space.why_not(candidate)))
        raise SpecificationError(f"none of these configurations can be run: {why}", where="--over")
    text = f"{space.plan.fingerprint} tuning {space.dimensions!r} {request!r}"
    plan = replace(space.plan, fingerprint=hashlib.sha256(text.encode()).hexdigest())
    if request.warm is WarmStart.SIMULATION:
        assert profile is not None
        tuner = replace(tuner, estimate=simulated_logs(tuner, profile))
    elif request.warm is WarmStart.REPOSITORY and repository is not None:
        tuner = replace(tuner, earlier_runs=_runs_of_other_campaigns(tuner, plan, repository, origin))
    elif request.warm is WarmStart.PREDICTION:
        prediction = predicted_logs(tuner, repository, origin, _same_tuning_ids(plan, repository) if repository else ())
        return PlannedTuning(plan, replace(tuner, estimate=prediction.log_s), request, prediction.basis)
    return PlannedTuning(plan, tuner, request)


def _runs_of_other_campaigns(
    tuner: Tuner, plan: Plan, repository: Repository, origin: Origin
) -> tuple[CandidateRun, ...]:
    """Return the runs of the candidates in other campaigns, with the same work on the same cluster."""
    same_tuning = _same_tuning_ids(plan, repository)
    runs = repository.runs(environment=False)
    history = [
        run
        for run in runs
        if run.cluster == plan.cluster.name and run.origin is origin and run.campaign_id not in same_tuning
    ]
    results = []
    for candidate in np.flatnonzero(tuner.possible).tolist() if history else ():
        run = tuner.space.run(candidate, 1, 0, 0)
        assert run is not None
        results += [
            CandidateRun(candidate, math.log(comparable_run.duration_s))
            for comparable_run in comparable_runs(run, plan, history)
        ]
    return tuple(results)


def _same_tuning_ids(plan: Plan, repository: Repository) -> set[str]:
    """Return the ids of the campaigns of this tuning; the tuner reads their runs itself."""
    return {
        folder.parent.name for folder in repository.folders.campaigns.glob(f"*/{TUNING}") if _has_plan(folder, plan)
    }


def _has_plan(file: Path, plan: Plan) -> bool:
    campaign_facts = object_in(file.parent / "campaign.json")
    return campaign_facts.get("fingerprint") == plan.fingerprint


@dataclass(frozen=True, slots=True)
class TuningTrial:
    """One run of a tuning."""

    number: int
    run_id: str
    levels: dict[str, str]
    is_default: bool
    comparison: bool
    """Whether the run belongs to the comparison after the search."""
    status: str
    duration_s: float | None
    """None for a run that is not valid."""
    cause: str | None
    fastest_s: float | None
    """Time of the fastest run of the search up to this one."""


@dataclass(frozen=True, slots=True)
class MeanTime:
    """Number of runs of one configuration, and the geometric mean of their times."""

    levels: dict[str, str]
    runs: int
    mean_s: float


@dataclass(frozen=True, slots=True)
class TuningState:
    """State of a tuning, or its result."""

    campaign_id: str
    plan: str
    cluster: str
    workload: str
    origin: str | None
    """None before the first run."""
    strategy: str
    warm: str
    over: dict[str, list[str]]
    defaults: dict[str, str]
    budget: int
    pairs: int
    trials: tuple[TuningTrial, ...]
    searched: int
    failed: int
    search_s: float
    """Total time of the search's runs."""
    search_best: MeanTime | None
    """The configuration with the smallest mean time in the search. The time is biased, because it was selected."""
    search_defaults: MeanTime | None
    compared: MeanTime | None
    """``search_best`` in the comparison, without selection bias. ``compared_defaults``: the defaults there."""
    compared_defaults: MeanTime | None
    ratio: float | None
    """Ratio in the comparison; ``ratio_low`` and ``ratio_high`` are its 95 % interval."""
    ratio_low: float | None
    ratio_high: float | None
    claim: str
    complete: bool


def tuning_state(repository: Repository, prefix: str | None = None) -> TuningState:
    """Return the state of the newest tuning whose id begins with ``prefix``. Raises NoTuningError without one."""
    folders = sorted(path.parent for path in repository.folders.campaigns.glob(f"*/{TUNING}"))
    chosen_folders = [folder for folder in folders if prefix is None or folder.name.startswith(prefix)]
    if not chosen_folders:
        message = "the repository has no tuning" if prefix is None else f"no id of a tuning begins with {prefix!r}"
        raise NoTuningError(message, where=str(repository.root), hint="`assay tune PLAN --over …` starts one")
    folder = chosen_folders[-1]
    description, campaign_facts = object_in(folder / TUNING), object_in(folder / "campaign.json")
    if not all(isinstance(description.get(name), kind) for name, kind in _DESCRIPTION_TYPES.items()):
        raise RepositoryError("the description of this tuning is damaged", where=str(folder / TUNING))
    runs = [run for run in repository.runs(environment=False) if run.campaign_id == folder.name]
    return state_of(folder.name, description, campaign_facts, runs)


_DESCRIPTION_TYPES = {"workload": str, "over": dict, "defaults": dict, "budget": int, "pairs": int}


def is_tuning(repository: Repository, campaign_id: str) -> bool:
    """Return whether a campaign is a tuning."""
    return (repository.folders.campaigns / campaign_id / TUNING).is_file()


def state_of(
    campaign_id: str, description: Mapping[str, Any], campaign_facts: Mapping[str, Any], runs: Sequence[Run]
) -> TuningState:
    """Return the state of a tuning.

    ``description``: written by :meth:`PlannedTuning.keep`. ``campaign_facts``: the contents of ``campaign.json``.
    ``runs``: the runs of the campaign.
    """
    budget, pairs, values_by_name = int(description["budget"]), int(description["pairs"]), dict(description["over"])
    defaults = dict(description["defaults"])
    trials = _trials(runs, budget, list(values_by_name), defaults)
    search = [trial for trial in trials if not trial.comparison]
    best, search_defaults = _best_mean(search), _side(search, defaults)
    comparison_runs = {run.position: run for run in runs if run.position >= budget and run.status is RunStatus.VALID}
    levels = {at: _levels(run, list(values_by_name)) for at, run in comparison_runs.items()}
    sides = [
        [comparison_runs[at] for at in sorted(comparison_runs) if (levels[at] == defaults) is is_default_side]
        for is_default_side in (True, False)
    ]
    mean = log_ratio(sides[0], sides[1]) if all(sides) else None
    ratio = mean.ratio if mean else None
    tuned_trials = [trial for trial in trials if trial.comparison and not trial.is_default]
    is_searched = len(search) >= budget and best is not None
    # Tunings of earlier releases did not record the expectation: their fastest runs decide.
    nothing_better = is_searched and bool(description.get(NOTHING_BETTER, best is not None and best.levels == defaults))
    settled_by_search = len(search) >= budget and (best is None or (pairs > 0 and nothing_better))
    is_complete = len(comparison_runs) >= 2 * pairs or settled_by_search
    return TuningState(
        campaign_id=campaign_id,
        plan=str(campaign_facts.get("plan", "")),
        cluster=str(campaign_facts.get("cluster", "")),
        workload=str(description["workload"]),
        origin=str(runs[0].origin) if runs else None,
        strategy=str(description.get("strategy", "")),
        warm=str(description.get("warm", "")),
        over=values_by_name,
        defaults=defaults,
        budget=budget,
        pairs=pairs,
        trials=tuple(trials),
        searched=len(search),
        failed=sum(trial.duration_s is None for trial in search),
        search_s=sum(run.duration_s for run in runs if run.position < budget),
        search_best=best,
        search_defaults=search_defaults,
        compared=_side([trial for trial in trials if trial.comparison], tuned_trials[0].levels)
        if tuned_trials
        else None,
        compared_defaults=_side([trial for trial in trials if trial.comparison], defaults),
        ratio=ratio.value if ratio else None,
        ratio_low=ratio.low if ratio else None,
        ratio_high=ratio.high if ratio else None,
        claim=_comparison_claim(mean, len(sides[0]), len(sides[1]))
        if mean
        else _why_not_compared(len(search), budget, best, nothing_better=nothing_better),
        complete=is_complete or (pairs == 0 and len(search) >= budget),
    )


def _comparison_claim(mean: LogMean, runs_defaults: int, runs_tuned: int) -> str:
    """Return the verdict on the tuned configuration as a sentence, without a margin of equivalence."""
    ratio = mean.ratio
    verdict = verdict_of(ratio, mean.p, 1, (runs_defaults, runs_tuned), margin=0.0)
    text = verdict_text(verdict, ComparedNames(TUNED, DEFAULTS), ratio.value, margin=0.0)
    basis = groups_and_runs(1, runs_defaults, runs_tuned)
    return f"{text} ({evidence_text(ratio.low, ratio.high, basis, mean.scope)})."


def _why_not_compared(search_runs: int, budget: int, best: MeanTime | None, *, nothing_better: bool) -> str:
    if search_runs < budget:
        return f"the search is not finished: {search_runs} of {budget} runs are made"
    if best is None:
        return "no run of the search was valid, so there is no result; `assay runs` shows why each failed"
    return "the search found nothing faster than the plan's configuration" if nothing_better else "not compared yet"


def _trials(runs: Sequence[Run], budget: int, names: Sequence[str], defaults: Mapping[str, str]) -> list[TuningTrial]:
    last_runs: dict[int, Run] = {}
    for run in runs:
        if run.position not in last_runs or run.status is RunStatus.VALID:
            last_runs[run.position] = run
    trials: list[TuningTrial] = []
    fastest_s: float | None = None
    for position in sorted(last_runs):
        run, levels = last_runs[position], _levels(last_runs[position], names)
        is_valid = run.status is RunStatus.VALID
        if is_valid and position < budget:
            fastest_s = min(run.duration_s, fastest_s if fastest_s is not None else math.inf)
        duration_s = run.duration_s if is_valid else None
        trials.append(
            TuningTrial(
                number=position + 1,
                run_id=run.run_id,
                levels=levels,
                is_default=levels == defaults,
                comparison=position >= budget,
                status=str(run.status),
                duration_s=duration_s,
                cause=run.cause,
                fastest_s=fastest_s,
            )
        )
    return trials


def _levels(run: Run, names: Sequence[str]) -> dict[str, str]:
    return {name: run.levels[name] for name in names if name in run.levels}


def _side(trials: Sequence[TuningTrial], levels: Mapping[str, str]) -> MeanTime | None:
    times = [trial.duration_s for trial in trials if trial.levels == levels and trial.duration_s is not None]
    return MeanTime(dict(levels), len(times), math.exp(fmean(map(math.log, times)))) if times else None


def _best_mean(trials: Sequence[TuningTrial]) -> MeanTime | None:
    sides = [_side(trials, dict(levels)) for levels in dict.fromkeys(tuple(trial.levels.items()) for trial in trials)]
    return min((side for side in sides if side), key=lambda side: side.mean_s, default=None)
