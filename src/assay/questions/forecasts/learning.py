"""Learn a cost profile, which a simulation needs for each workload, from measured runs.

In: a repository and conditions on its runs. Out: a :class:`~assay.model.plans.workload_profile.CostProfile`.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from assay.estimation.profiles.learning import ObservedRun, learned_profile
from assay.model import CostProfile, Origin, Run, RunStatus
from assay.questions.runs.runs import selected
from assay.questions.runs.whole_run import whole_run
from assay.specs.profiles import shipped_profile
from assay.store import Repository

__all__ = ["learned_from", "profile_of", "shipped_profile"]

RUNS_MAX = 400
"""Maximum number of runs that a profile is learned from: the newest."""


def learned_from(root: Path, where: Sequence[str] = (), name: str | None = None) -> CostProfile:
    """Return the profile of the measured runs in the repository at ``root`` that match every condition."""
    store = Repository.open(root)
    table = selected(store.table(), where, "--where")
    runs = store.runs_at(table, range(len(table)))[-RUNS_MAX:]
    return profile_of(store, runs, name or root.name)


def profile_of(store: Repository, runs: Sequence[Run], name: str) -> CostProfile:
    """Return the profile of these runs. With several engines, the first engine's profile includes the others."""
    engines = sorted({run.engine for run in runs if run.origin is Origin.MEASURED})
    if len(engines) < 2:
        return learned_profile([_watched(store, run) for run in runs], name)
    profiles = [
        learned_profile([_watched(store, run) for run in runs if run.engine == engine], name)
        for engine in engines
        if any(run.engine == engine and run.status is RunStatus.VALID for run in runs)
    ]
    return profiles[0].together_with(profiles[1:])


def _watched(store: Repository, run: Run) -> ObservedRun:
    seen = whole_run(store, run)
    return ObservedRun(replace(seen.run, metrics=run.metrics), seen.tasks, seen.trace)
