"""Learn a cost profile, which a simulation needs for each workload, from measured runs.

In: a repository and conditions on its runs. Out: a :class:`~assay.model.plans.cost_profile.CostProfile`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from assay.estimation.profiles.learning import ObservedRun, learned_profile
from assay.foundation.errors import SpecificationError
from assay.model import CostProfile, Origin, Run, RunStatus
from assay.questions.runs.complete_run import read_complete_run
from assay.questions.runs.runs import selected
from assay.specs.profiles import load_profile, shipped_profile
from assay.store import Repository

__all__ = ["ProfileOrigin", "ProfileRequest", "learn_profile", "profile_from", "profile_of", "shipped_profile"]

RUNS_MAX = 400
"""Maximum number of runs that a profile is learned from (the newest)."""


def learn_profile(root: Path, where: Sequence[str] = (), name: str | None = None) -> CostProfile:
    """Return the profile of the measured runs in the repository at ``root`` that match every condition."""
    repository = Repository.open(root)
    table = selected(repository.table(), where, "--where")
    runs = repository.runs_at(table, range(len(table)))[-RUNS_MAX:]
    return profile_of(repository, runs, name or root.name)


def profile_of(repository: Repository, runs: Sequence[Run], name: str) -> CostProfile:
    """Return the profile of these runs. With several engines, the first engine's profile includes the others."""
    engines = sorted({run.engine for run in runs if run.origin is Origin.MEASURED})
    if len(engines) < 2:
        return learned_profile([_observed_run(repository, run) for run in runs], name)
    profiles = [
        learned_profile([_observed_run(repository, run) for run in runs if run.engine == engine], name)
        for engine in engines
        if any(run.engine == engine and run.status is RunStatus.VALID for run in runs)
    ]
    return profiles[0].together_with(profiles[1:])


def _observed_run(repository: Repository, run: Run) -> ObservedRun:
    complete_run = read_complete_run(repository, run)
    return ObservedRun(replace(complete_run.run, metrics=run.metrics), complete_run.tasks, complete_run.trace)


class ProfileOrigin(StrEnum):
    """Where a profile comes from."""

    SHIPPED = "shipped"
    FILES = "files"
    RUNS = "runs"
    """The measured runs of a repository."""


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """Where the profile of a simulation comes from. Without files and repository, it is the shipped profile."""

    profile: tuple[Path, ...] = ()
    """Files, one for each engine."""
    learn_from: Path | None = None
    """Folder of a repository to learn from."""
    where: tuple[str, ...] = ()
    """Learn only from runs that match every ``COLUMN=LEVEL``."""

    @property
    def is_shipped(self) -> bool:
        """Whether it is the shipped profile."""
        return self.origin is ProfileOrigin.SHIPPED

    @property
    def origin(self) -> ProfileOrigin:
        """Where the profile comes from."""
        if self.profile:
            return ProfileOrigin.FILES
        return ProfileOrigin.SHIPPED if self.learn_from is None else ProfileOrigin.RUNS


def profile_from(request: ProfileRequest) -> CostProfile:
    """Return the profile in the files, the profile learned from a repository, or the shipped profile.

    Raises SpecificationError for files together with a repository, or for two files for the same engine.
    """
    if request.profile and request.learn_from is not None:
        raise SpecificationError("a profile and a repository to learn it from exclude each other")
    if request.profile:
        profiles = [load_profile(file) for file in request.profile]
        if len({profile.engine for profile in profiles}) < len(profiles):
            raise SpecificationError(
                "two of the files after --profile are for one engine", hint="give one for each engine"
            )
        return profiles[0].together_with(profiles[1:])
    return shipped_profile() if request.learn_from is None else learn_profile(request.learn_from, request.where)
