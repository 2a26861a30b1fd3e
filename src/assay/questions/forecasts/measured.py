"""Group measured runs by configuration with their plans, and find the cluster files that describe them.

In: a repository, runs, and texts of cluster files. Out: :class:`Measured`, and the names of files that fit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.analysis.statistics import RunTable
from assay.execution.planning.order import PlannedRun
from assay.execution.planning.plan_files.changed_plan import Change, changed_plan, only_run
from assay.execution.planning.plan_files.plan_reader import plan_of_texts
from assay.execution.planning.plan_files.plan_text import PLAN_FILE
from assay.foundation.errors import AssayError
from assay.foundation.installation import installation
from assay.model import PROFILED, Origin, Plan, Run, RunStatus
from assay.questions.commands import from_here
from assay.questions.decisions.sentences.option_words import context_text
from assay.questions.runs.plans import recorded_plan, refuse_another_scale, run_files
from assay.questions.runs.runs import selected
from assay.specs.document import document_of
from assay.store import Repository

_CHECKED_MAX = 20
"""Maximum number of configurations that a cluster file is checked with."""


@dataclass(frozen=True, slots=True)
class Configured:
    """What one configuration of a plan uses, by the plan, its engine's defaults and the cluster file."""

    plan: Plan
    """The plan of this configuration alone."""
    run: PlannedRun
    workers: int
    link_bits_per_s: float
    """Bandwidth of a worker's link at full scale, in bits/s."""
    containers: int | None
    """Concurrent containers per worker; None for an engine without containers."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Measured runs of one workload in one configuration of one campaign, with their plan."""

    plan: Plan
    workload: str
    runs: tuple[Run, ...]

    @property
    def levels(self) -> Mapping[str, str]:
        """The levels that the runs have in common."""
        return self.runs[0].levels

    @property
    def configuration(self) -> str:
        """The levels in words."""
        return context_text(self.levels)

    def configured(self, changes: Sequence[Change] = ()) -> Configured:
        """Return what the configuration uses, with ``changes``. Raises SpecificationError for impossible changes."""
        plan = changed_plan(self.plan, self.levels, self.workload, changes)
        run = only_run(plan)
        configuration, cluster = run.configuration, plan.cluster
        link = cluster.workers[0].type.nic.rate_bits_per_s
        if configuration.network:
            link = cluster.link_bits_per_s(configuration.network) / cluster.scale
        return Configured(
            plan=plan,
            run=run,
            workers=configuration.workers or len(cluster.workers),
            link_bits_per_s=link,
            containers=plan.rules.containers_per_worker(configuration.parameters),
        )

    def has_target(self, target: str) -> bool:
        """Whether a run matches ``target`` of a :class:`WhatIfQuestion`."""
        return any(is_target(run, target) for run in self.runs)


def measured_runs(repository: Repository, table: RunTable, where: Sequence[str] = ()) -> list[Run]:
    """Return the valid measured runs that match every condition, oldest first."""
    matching_table = selected(table, where, "--where")
    conditions = (("origin", Origin.MEASURED), ("status", RunStatus.VALID))
    if not len(matching_table) or any(
        str(level) not in matching_table.columns[name].levels for name, level in conditions
    ):
        return []
    matching_table = selected(matching_table, [f"{name}={level}" for name, level in conditions])
    return repository.runs_at(matching_table, range(len(matching_table)))


def is_target(run: Run, target: str) -> bool:
    """Return whether ``target`` is the beginning of the run's or campaign's id, or the plan's name; empty: any run."""
    return not target or run.run_id.startswith(target) or run.campaign_id.startswith(target) or run.plan == target


def measured_of(repository: Repository, runs: Sequence[Run], cluster: str = "") -> tuple[list[Measured], int]:
    """Return the measured runs by campaign, workload and configuration, and the number of runs without a cluster file.

    Profiled runs are apart from unprofiled ones. ``cluster``: the text of a cluster file to use instead of the stored
    files; empty: the stored files.
    """
    by_key: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        levels = (f"{name}={level}" for name, level in sorted(run.levels.items()))
        profile = run.parameters.get(PROFILED, "")
        by_key.setdefault((run.campaign_id, run.workload, profile, *levels), []).append(run)
    plans: dict[tuple[str, str], Plan] = {}
    groups, without_plan = [], 0
    for runs_of_group in by_key.values():
        files = run_files(repository, runs_of_group[0])
        texts = files.plan or recorded_plan(runs_of_group[0]), cluster or files.cluster
        if not texts[1]:
            without_plan += len(runs_of_group)
            continue
        if texts not in plans:
            plans[texts] = plan_of_texts(document_of(texts[0].encode(), PLAN_FILE).content, texts[1])
        groups.append(Measured(plans[texts], runs_of_group[0].workload, tuple(runs_of_group)))
    return groups, without_plan


def fitting_clusters(repository: Repository, runs: Sequence[Run], texts: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the cluster files that have the scale, the disks and the network of measured runs.

    ``texts``: cluster files by name. Each configuration's first run is checked, up to a maximum.
    """
    examples = {tuple(sorted(run.levels.items())): run for run in reversed(runs)}
    checked_clusters = list(examples.values())[:_CHECKED_MAX]

    def is_fitting(text: str) -> bool:
        try:
            groups, _ = measured_of(repository, checked_clusters, text)
            for group in groups:
                refuse_another_scale(group.plan.cluster, group.runs[0])
                only_run(changed_plan(group.plan, group.levels, group.workload))
        except AssayError:
            return False
        return bool(groups)

    return tuple(name for name, text in texts.items() if is_fitting(text))


def fitting_examples(repository: Repository, runs: Sequence[Run]) -> tuple[str, ...]:
    """Return the paths of the example cluster files that fit the runs, those with the runs' cluster name first."""
    folder = installation().examples
    if folder is None:
        return ()
    texts = {str(path): path.read_text(encoding="utf-8") for path in sorted(folder.glob("*/*cluster.yaml"))}
    names = [f"cluster: {run.cluster}\n" for run in runs]
    fitting_paths = fitting_clusters(repository, runs, texts)
    ordered_paths = sorted(fitting_paths, key=lambda path: not any(name in texts[path] for name in names))
    return tuple(from_here(Path(path)) for path in ordered_paths)
