"""Hold a tuning that is ready to run, and make its runs as a campaign.

In: the plan of a tuning and its tuner. Out: the campaign's runs, and the description of the tuning in the campaign's
folder, from which the state is read later. Times are in seconds.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from assay.estimation.tuning.tuner import Strategy, Tuner
from assay.execution.campaign.attempts.runner import CampaignSummary
from assay.execution.campaign.execute import CampaignRequest, execute_campaign, prepare_campaign
from assay.execution.campaign.loop import ProgressObserver
from assay.foundation.output import write_output
from assay.model import Plan, Run
from assay.store import Repository
from assay.store.campaigns.journal import CampaignJournal
from assay.store.campaigns.status import object_in

TUNING = "tuning.json"
"""The file in a campaign's folder that describes its tuning."""
NOTHING_BETTER = "nothing_better"


class WarmStart(StrEnum):
    """Source of the estimates that a search starts with."""

    NONE = "nothing"
    REPOSITORY = "repository"
    PREDICTION = "prediction"
    SIMULATION = "simulation"


@dataclass(frozen=True, slots=True)
class TuningRequest:
    """A request for a tuning, with the options of ``assay tune``."""

    over: tuple[str, ...]
    workload: str
    budget: int
    pairs: int = 4
    """Pairs of runs in the comparison after the search."""
    strategy: Strategy = Strategy.BAYESIAN
    warm: WarmStart = WarmStart.NONE
    at: Mapping[str, str] | None = None
    """Levels of the plan's factors, by default the first of each."""


@dataclass(frozen=True, slots=True)
class PlannedTuning:
    """A tuning that is ready to run."""

    plan: Plan
    tuner: Tuner
    request: TuningRequest
    estimate_basis: str | None = None
    """Basis of the initial estimate as text; None without an estimate."""

    def lines(self) -> list[str]:
        """Return lines that describe the planned runs."""
        space, possible = self.tuner.space, int(self.tuner.possible.sum())
        sample = f", a sample of {space.combinations:,}" if space.combinations > len(space.points) else ""
        lines = [
            f"{self.request.workload}: {possible:,} configurations can be tried{sample}; {self.tuner.budget} runs to "
            f"find the fastest ({self.tuner.strategy}), then {2 * self.tuner.pairs} to compare it with the plan's "
            "configuration"
        ]
        reasons = Counter(
            message for candidate in range(len(space.points)) if (message := space.why_not(candidate)) is not None
        )
        lines += [f"{count:,} can't be run: {message}" for message, count in reasons.most_common(3)]
        if self.tuner.earlier_runs:
            lines.append(
                f"{len(self.tuner.earlier_runs)} runs of these configurations are in the repository, and count"
            )
        return [*lines, self.estimate_basis] if self.estimate_basis else lines

    def write_description(self, journal: CampaignJournal) -> None:
        """Write the description of the tuning to the campaign's folder, for later status requests."""
        description = {
            "workload": self.request.workload,
            "over": {dimension.name: list(dimension.levels) for dimension in self.tuner.space.dimensions},
            "defaults": self.tuner.space.levels(0),
            "budget": self.tuner.budget,
            "pairs": self.tuner.pairs,
            "strategy": str(self.tuner.strategy),
            "warm": str(self.request.warm),
            NOTHING_BETTER: False,
        }
        if not (journal.folder / TUNING).exists():
            _write(journal, description)

    def record_expectation(self, journal: CampaignJournal, runs: Sequence[Run]) -> None:
        """Record whether the search expects no faster configuration: it can't be computed from the runs later."""
        description = object_in(journal.folder / TUNING)
        nothing_better = self.tuner.expects_no_gain([run for run in runs if run.campaign_id == journal.campaign_id])
        if NOTHING_BETTER in description and description[NOTHING_BETTER] is not nothing_better:
            _write(journal, {**description, NOTHING_BETTER: nothing_better})


def _write(journal: CampaignJournal, description: Mapping[str, Any]) -> None:
    write_output(journal.folder / TUNING, json.dumps(description, indent=2, ensure_ascii=False).encode() + b"\n")


def execute_tuning(
    tuning: PlannedTuning, request: CampaignRequest, repository: Repository, observer: ProgressObserver
) -> tuple[str, CampaignSummary | None]:
    """Make the remaining runs of a tuning. Return the campaign's id, and the summary of this call; None if no run is
    left.

    ``request`` executes ``tuning.plan``; the tuner chooses its runs.
    """
    request = replace(request, next_runs=tuning.tuner)
    schedule = prepare_campaign(request, repository)
    tuning.write_description(schedule.journal)
    for line in [f"tuning plan {request.plan.name}, campaign {schedule.journal.campaign_id}", *tuning.lines()]:
        observer.say(line)
    summary = execute_campaign(request, schedule, repository, observer) if schedule.remaining else None
    tuning.record_expectation(schedule.journal, repository.runs(environment=False))
    return schedule.journal.campaign_id, summary
