"""Tuning: which configuration is fastest within what may be tried, found by real runs, and then measured again.

In: a plan and what is asked of it; out: the campaign that answers (its plan, and who decides what is run next). In: a
repository and a campaign; out: how that tuning stands, or what came of it. Times in seconds; every ratio is the
defaults' time over the candidate's, above 1 where the candidate is faster.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from assay.analysis.comparison.comparison import log_ratio
from assay.analysis.comparison.matched import LogMean
from assay.analysis.comparison.verdict_text import evidence_text, groups_and_runs, verdict_text
from assay.analysis.statistics import verdict_of
from assay.estimation.tuning.space import space_of
from assay.estimation.tuning.tuner import BUDGET_MIN, Strategy, Tuner
from assay.estimation.tuning.tuning import CandidateRun
from assay.execution.campaign.attempts.runner import CampaignSummary
from assay.execution.campaign.execute import CampaignRequest, execute_campaign, prepare_campaign
from assay.execution.campaign.journal import CampaignJournal
from assay.execution.campaign.loop import ProgressObserver
from assay.execution.campaign.status import object_in
from assay.execution.planning.forecast.estimate import like_runs
from assay.foundation.errors import RepositoryError, SpecificationError
from assay.foundation.output import write_whole
from assay.model import CostProfile, Origin, Plan, Run, RunStatus
from assay.questions.forecasts.tuning_estimates import predicted_logs, simulated_logs
from assay.store import Repository

TUNING = "tuning.json"
NOTHING_BETTER = "nothing_better"
DEFAULTS, TUNED = "the plan's own configuration", "the one that was found"


class NoTuningError(RepositoryError):
    """No campaign that is a tuning is meant."""


class Warm(StrEnum):
    """What the search knows before its first run."""

    NOTHING = "nothing"
    REPOSITORY = "repository"
    PREDICTION = "prediction"
    SIMULATION = "simulation"


@dataclass(frozen=True, slots=True)
class TuningAsked:
    """What is asked for, as the command line has it."""

    over: tuple[str, ...]
    workload: str
    budget: int
    pairs: int = 4
    """Of the comparison afterwards."""
    strategy: Strategy = Strategy.BAYESIAN
    warm: Warm = Warm.NOTHING
    at: Mapping[str, str] | None = None
    """Levels of the plan's own factors."""


@dataclass(frozen=True, slots=True)
class TuningMade:
    """A tuning that can be carried out."""

    plan: Plan
    tuner: Tuner
    asked: TuningAsked
    estimated: str | None = None
    """What an estimate made beforehand rests on, in words."""

    def lines(self) -> list[str]:
        """Return what will be done, in words."""
        space, possible = self.tuner.space, int(self.tuner.possible.sum())
        sample = f", a sample of {space.combinations:,}" if space.combinations > len(space.points) else ""
        found = [
            f"{self.asked.workload}: {possible:,} configurations can be tried{sample}; {self.tuner.budget} runs to "
            f"find the fastest ({self.tuner.strategy}), then {2 * self.tuner.pairs} beside the plan's own"
        ]
        why = Counter(words for one in range(len(space.points)) if (words := space.why_not(one)) is not None)
        found += [f"{count:,} can't be: {words}" for words, count in why.most_common(3)]
        if self.tuner.before:
            found.append(f"{len(self.tuner.before)} runs of such configurations are in the repository, and count")
        return [*found, self.estimated] if self.estimated else found

    def keep(self, journal: CampaignJournal) -> None:
        """Write down beside the campaign what it tunes, for whoever asks how it stands."""
        told = {
            "workload": self.asked.workload,
            "over": {one.name: list(one.levels) for one in self.tuner.space.dimensions},
            "defaults": self.tuner.space.levels(0),
            "budget": self.tuner.budget,
            "pairs": self.tuner.pairs,
            "strategy": str(self.tuner.strategy),
            "warm": str(self.asked.warm),
            NOTHING_BETTER: False,
        }
        if not (journal.folder / TUNING).exists():
            _write(journal, told)

    def settle(self, journal: CampaignJournal, runs: Sequence[Run]) -> None:
        """Write down that the search expects nothing to be faster, if it does: its runs alone do not tell."""
        told = object_in(journal.folder / TUNING)
        found = self.tuner.expects_nothing([run for run in runs if run.campaign_id == journal.campaign_id])
        if NOTHING_BETTER in told and told[NOTHING_BETTER] is not found:
            _write(journal, {**told, NOTHING_BETTER: found})


def _write(journal: CampaignJournal, told: Mapping[str, Any]) -> None:
    write_whole(journal.folder / TUNING, json.dumps(told, indent=2, ensure_ascii=False).encode() + b"\n")


def tuning_made(
    plan: Plan, asked: TuningAsked, repository: Repository | None, profile: CostProfile | None, origin: Origin
) -> TuningMade:
    """Return the tuning. Raises SpecificationError, in words, for what can't be asked.

    ``profile``: what workloads cost, where the simulator is asked beforehand. Runs of ``origin`` alone count.
    """
    if asked.budget < BUDGET_MIN:
        words = f"{asked.budget} runs are too few to look for anything"
        raise SpecificationError(words, where="--budget", hint=f"{BUDGET_MIN} at least, better 10 for each name varied")
    space = space_of(plan, asked.workload, dict(asked.at or {}), asked.over, asked.budget + 2 * asked.pairs)
    tuner = Tuner(space, asked.budget, asked.pairs, asked.strategy, seed=plan.seed)
    if int(tuner.possible.sum()) < 2:
        why = next(reason for one in range(1, len(space.points)) if (reason := space.why_not(one)))
        raise SpecificationError(f"none of these configurations can be run: {why}", where="--over")
    text = f"{space.plan.fingerprint} tuning {space.dimensions!r} {asked!r}"
    plan = replace(space.plan, fingerprint=hashlib.sha256(text.encode()).hexdigest())
    if asked.warm is Warm.SIMULATION:
        assert profile is not None
        tuner = replace(tuner, estimate=simulated_logs(tuner, profile))
    elif asked.warm is Warm.REPOSITORY and repository is not None:
        tuner = replace(tuner, before=_measured(tuner, plan, repository, origin))
    elif asked.warm is Warm.PREDICTION:
        told = predicted_logs(tuner, repository, origin, _own(plan, repository) if repository else ())
        return TuningMade(plan, replace(tuner, estimate=told.log_s), asked, told.words)
    return TuningMade(plan, tuner, asked)


def _measured(tuner: Tuner, plan: Plan, repository: Repository, origin: Origin) -> tuple[CandidateRun, ...]:
    """Return the runs of the candidates that other campaigns made, of the same work on the same cluster."""
    own = _own(plan, repository)
    every = repository.runs(environment=False)
    history = [
        run for run in every if run.cluster == plan.cluster.name and run.origin is origin and run.campaign_id not in own
    ]
    found = []
    for candidate in np.flatnonzero(tuner.possible).tolist() if history else ():
        run = tuner.space.run(candidate, 1, 0, 0)
        assert run is not None
        found += [CandidateRun(candidate, math.log(like.duration_s)) for like in like_runs(run, plan, history)]
    return tuple(found)


def _own(plan: Plan, repository: Repository) -> set[str]:
    """Return the ids of the campaigns that are this tuning: what they run is learned from as it goes."""
    return {folder.parent.name for folder in repository.folders.campaigns.glob(f"*/{TUNING}") if _is_of(folder, plan)}


def _is_of(told: Path, plan: Plan) -> bool:
    described = object_in(told.parent / "campaign.json")
    return described.get("fingerprint") == plan.fingerprint


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of a tuning."""

    number: int
    run_id: str
    levels: dict[str, str]
    is_default: bool
    comparison: bool
    """Whether it is of the comparison afterwards."""
    status: str
    duration_s: float | None
    """None where the run was not valid."""
    cause: str | None
    fastest_s: float | None
    """The fastest run of the search so far."""


@dataclass(frozen=True, slots=True)
class Side:
    """One configuration's runs: how many, and the geometric mean of their times."""

    levels: dict[str, str]
    runs: int
    mean_s: float


@dataclass(frozen=True, slots=True)
class TuningState:
    """How a tuning stands, or what came of it."""

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
    trials: tuple[Trial, ...]
    searched: int
    failed: int
    search_s: float
    """What the search's runs took together."""
    found: Side | None
    """The configuration with the least mean time in the search. Picked because it was fast, it was lucky too."""
    found_defaults: Side | None
    compared: Side | None
    """The winner of the search in the comparison, and the defaults there: runs that picked nothing."""
    compared_defaults: Side | None
    ratio: float | None
    """Of the comparison, with its 95 % interval."""
    ratio_low: float | None
    ratio_high: float | None
    claim: str
    complete: bool


def tuning_state(repository: Repository, prefix: str | None = None) -> TuningState:
    """Return how a tuning stands: that whose id begins so, or the newest. NoTuningError where there is none."""
    folders = sorted(path.parent for path in repository.folders.campaigns.glob(f"*/{TUNING}"))
    chosen = [folder for folder in folders if prefix is None or folder.name.startswith(prefix)]
    if not chosen:
        words = "no campaign here is a tuning" if prefix is None else f"no tuning's id begins with {prefix!r}"
        raise NoTuningError(words, where=str(repository.root), hint="`assay tune PLAN --over …` begins one")
    folder = chosen[-1]
    told, described = object_in(folder / TUNING), object_in(folder / "campaign.json")
    if not all(isinstance(told.get(name), kind) for name, kind in _FORM.items()):
        raise RepositoryError("what this campaign tunes can't be read", where=str(folder / TUNING))
    runs = [run for run in repository.runs(environment=False) if run.campaign_id == folder.name]
    return state_of(folder.name, told, described, runs)


def tune(
    tuning: TuningMade, request: CampaignRequest, repository: Repository, watcher: ProgressObserver
) -> tuple[TuningState, CampaignSummary | None]:
    """Make the remaining runs of a tuning; return its state, and the summary of this call or None without runs left.

    ``request`` executes ``tuning.plan``; the tuner chooses its runs.
    """
    request = replace(request, next_runs=tuning.tuner)
    schedule = prepare_campaign(request, repository)
    tuning.keep(schedule.journal)
    for line in [f"tuning plan {request.plan.name}, campaign {schedule.journal.campaign_id}", *tuning.lines()]:
        watcher.say(line)
    summary = execute_campaign(request, schedule, repository, watcher) if schedule.left else None
    tuning.settle(schedule.journal, repository.runs(environment=False))
    return tuning_state(repository, schedule.journal.campaign_id), summary


_FORM = {"workload": str, "over": dict, "defaults": dict, "budget": int, "pairs": int}


def is_tuning(repository: Repository, campaign_id: str) -> bool:
    """Say whether a campaign is a tuning."""
    return (repository.folders.campaigns / campaign_id / TUNING).is_file()


def state_of(
    campaign_id: str, told: Mapping[str, Any], described: Mapping[str, Any], runs: Sequence[Run]
) -> TuningState:
    """Return how a tuning stands: ``told`` is what :meth:`TuningMade.keep` wrote, ``runs`` those of its campaign."""
    budget, pairs, over = int(told["budget"]), int(told["pairs"]), dict(told["over"])
    defaults = dict(told["defaults"])
    trials = _trials(runs, budget, list(over), defaults)
    search = [one for one in trials if not one.comparison]
    found, found_defaults = _best(search), _side(search, defaults)
    later = {run.position: run for run in runs if run.position >= budget and run.status is RunStatus.VALID}
    levels = {at: _levels(run, list(over)) for at, run in later.items()}
    sides = [[later[at] for at in sorted(later) if (levels[at] == defaults) is of] for of in (True, False)]
    mean = log_ratio(sides[0], sides[1]) if all(sides) else None
    ratio = mean.ratio if mean else None
    picked = [one for one in trials if one.comparison and not one.is_default]
    searched = len(search) >= budget and found is not None
    # Tunings of earlier releases did not write down what was expected: there the fastest runs stand for it.
    nothing_better = searched and bool(told.get(NOTHING_BETTER, found is not None and found.levels == defaults))
    over_with = len(search) >= budget and (found is None or (pairs > 0 and nothing_better))
    complete = len(later) >= 2 * pairs or over_with
    return TuningState(
        campaign_id=campaign_id,
        plan=str(described.get("plan", "")),
        cluster=str(described.get("cluster", "")),
        workload=str(told["workload"]),
        origin=str(runs[0].origin) if runs else None,
        strategy=str(told.get("strategy", "")),
        warm=str(told.get("warm", "")),
        over=over,
        defaults=defaults,
        budget=budget,
        pairs=pairs,
        trials=tuple(trials),
        searched=len(search),
        failed=sum(one.duration_s is None for one in search),
        search_s=sum(run.duration_s for run in runs if run.position < budget),
        found=found,
        found_defaults=found_defaults,
        compared=_side([one for one in trials if one.comparison], picked[0].levels) if picked else None,
        compared_defaults=_side([one for one in trials if one.comparison], defaults),
        ratio=ratio.value if ratio else None,
        ratio_low=ratio.low if ratio else None,
        ratio_high=ratio.high if ratio else None,
        claim=_compared(mean, len(sides[0]), len(sides[1]))
        if mean
        else _not_compared(len(search), budget, found, nothing_better=nothing_better),
        complete=complete or (pairs == 0 and len(search) >= budget),
    )


def _compared(mean: LogMean, runs_defaults: int, runs_tuned: int) -> str:
    """Return the verdict on the tuned configuration as a sentence; a small gain counts as well as a large one."""
    ratio = mean.ratio
    verdict = verdict_of(ratio, mean.p, 1, (runs_defaults, runs_tuned), margin=0.0)
    text = verdict_text(verdict, TUNED, DEFAULTS, ratio.value, margin=0.0)
    basis = groups_and_runs(1, runs_defaults, runs_tuned)
    return f"{text} ({evidence_text(ratio.low, ratio.high, basis, mean.scope)})."


def _not_compared(searched: int, budget: int, found: Side | None, *, nothing_better: bool) -> str:
    if searched < budget:
        return f"the search goes on: {searched} of {budget} runs are made"
    if found is None:
        return "none of the search's runs was valid, so that nothing was found; `assay runs` tells why each failed"
    return "nothing faster than the plan's own configuration was found" if nothing_better else "not compared yet"


def _trials(runs: Sequence[Run], budget: int, names: Sequence[str], defaults: Mapping[str, str]) -> list[Trial]:
    last: dict[int, Run] = {}
    for run in runs:
        if run.position not in last or run.status is RunStatus.VALID:
            last[run.position] = run
    found: list[Trial] = []
    fastest: float | None = None
    for at in sorted(last):
        run, levels = last[at], _levels(last[at], names)
        valid = run.status is RunStatus.VALID
        if valid and at < budget:
            fastest = min(run.duration_s, fastest if fastest is not None else math.inf)
        took_s = run.duration_s if valid else None
        found.append(
            Trial(
                at + 1,
                run.run_id,
                levels,
                levels == defaults,
                at >= budget,
                str(run.status),
                took_s,
                run.cause,
                fastest,
            )
        )
    return found


def _levels(run: Run, names: Sequence[str]) -> dict[str, str]:
    return {name: run.levels[name] for name in names if name in run.levels}


def _side(trials: Sequence[Trial], levels: Mapping[str, str]) -> Side | None:
    times = [one.duration_s for one in trials if one.levels == levels and one.duration_s is not None]
    return Side(dict(levels), len(times), math.exp(fmean(map(math.log, times)))) if times else None


def _best(trials: Sequence[Trial]) -> Side | None:
    sides = [_side(trials, dict(levels)) for levels in dict.fromkeys(tuple(one.levels.items()) for one in trials)]
    return min((side for side in sides if side), key=lambda side: side.mean_s, default=None)
