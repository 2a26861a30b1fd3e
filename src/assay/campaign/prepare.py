"""What a call of ``assay run`` will do: the runs that are left of a plan, their order, restarts, times and limits.

In: a plan, the repository or none, what was asked for on the command line. Out: a :class:`Schedule`, and the same in
words and as rows. Needs no host, and with ``write=False`` writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.campaign.failures import retry_words
from assay.campaign.journal import Journal, find_campaign, key_of, open_campaign, remaining
from assay.campaign.timeline import measured_overheads
from assay.errors import RepositoryError, SpecificationError
from assay.model import containers
from assay.model.cluster import Placement
from assay.model.plan import Plan
from assay.model.run import Run, RunStatus
from assay.planning import room
from assay.planning.estimate import Overheads, expected, inputs_s, inputs_there, remaining_s, time_limit
from assay.planning.inputs import Key
from assay.planning.limits import Selection, Stop, TimeLimit, parse_selection
from assay.planning.order import PlannedRun, restarts, schedule
from assay.repository import Repository
from assay.spec import expand
from assay.units import format_bytes, format_duration


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a call will do: every planned run, and those that are left with their attempt's number."""

    runs: Sequence[PlannedRun]
    left: Sequence[tuple[PlannedRun, int]]
    done: int
    """Planned runs with a valid result."""
    expected_s: float
    campaign: Journal | None
    """None in a preview of a campaign that is not begun."""
    continued: bool
    overheads: Overheads = field(default_factory=Overheads)
    selection: Selection = field(default_factory=Selection)
    stop: Stop | None = None
    inputs_there: frozenset[Key] = frozenset()
    """Inputs that need not be made, as far as runs tell."""
    warnings: tuple[str, ...] = ()
    """What the user should know before it begins, in words."""

    @property
    def journal(self) -> Journal:
        """The campaign's folder. Raises RepositoryError in a preview of a new one."""
        if self.campaign is None:
            raise RepositoryError("this campaign is not begun")
        return self.campaign


@dataclass(frozen=True, slots=True)
class Row:
    """One run of a schedule. ``starts_after_s`` and ``expected_s`` count what comes before it to the run: a restart,
    and the making of its input.
    """

    planned: PlannedRun
    attempt: int
    restart: str | None
    """Why the daemons (re)start before it; None when they go on."""
    starts_after_s: float
    expected_s: float
    basis: str
    limit: TimeLimit
    if_needed: bool
    """Made only when the repetitions before it leave the mean too uncertain."""
    input_s: float = 0.0
    """What of ``expected_s`` goes into making inputs: always a guess."""


def prepare(
    plan: Plan,
    repository: Repository | None,
    *,
    again: bool,
    only: Sequence[str] = (),
    stop: Stop | None = None,
    write: bool = True,
    history: Sequence[Run] | None = None,
) -> Schedule:
    """Return what there is to do for ``plan``: a new campaign, or the rest of one that was begun.

    ``repository`` may be None in a preview (``write=False``) before there is one. ``history``: the cluster's runs,
    where the caller has them; else all runs are read. Raises :class:`SpecificationError`, before anything is begun, for
    what can't fit on the devices; a preview has that as a warning.
    """
    runs = schedule(plan, expand(plan))
    selection = parse_selection(only, runs)
    if history is None:
        history = repository.runs(environment=False) if repository else []
    campaign = find_campaign(repository.folders.campaigns, plan, history, runs, again=again) if repository else None
    overheads = measured_overheads(repository.folders.campaigns, plan.cluster.name) if repository else Overheads()
    todo = Schedule(runs, (), 0, 0.0, campaign, campaign is not None, overheads, selection, stop)
    todo = with_room(plan, renewed(plan, todo, history), history, refuse=write and stop is None)
    todo = replace(todo, warnings=(*_silent_on_containers(plan, runs), *todo.warnings))
    if repository and write and campaign is None:
        begun, continued = open_campaign(repository.folders.campaigns, plan, history, runs, again=again)
        todo = replace(todo, campaign=begun, continued=continued)
    return todo


def _silent_on_containers(plan: Plan, runs: Sequence[PlannedRun]) -> tuple[str, ...]:
    """Return a warning where real hosts would run with the few small containers that suit a lab's nodes."""
    stated = all(containers.NODE_MEMORY in run.configuration.parameters for run in runs)
    if stated or plan.cluster.placement is not Placement.SSH:
        return ()
    given, has = containers.node_memory_mb({}) * 2**20, plan.cluster.workers[0].type.memory_bytes
    return (
        f"the plan does not say how many containers a worker runs: YARN gets {format_bytes(given)} of its "
        f"{format_bytes(has)}; set containers, {containers.MAP_MEMORY} and {containers.REDUCE_MEMORY}",
    )


def with_room(plan: Plan, todo: Schedule, history: Sequence[Run], *, refuse: bool) -> Schedule:
    """Return ``todo`` with its warnings of devices that get full: by the runs that are left, and on hosts that stay by
    those that are done as well.

    With ``refuse``, raises :class:`SpecificationError` where a call that makes all that is left can't but fail.
    """
    left = [planned for planned, _ in todo.left]
    if not left:
        return todo
    why = room.refusal(plan, left)
    if why and refuse:
        raise SpecificationError(why, where=f"plan {plan.name}", hint=room.remedy(plan.cluster))
    done = set() if plan.cluster.placement is Placement.LAB else _done(todo, history)
    lines = room.warnings(plan, [*left, *(run for run in todo.runs if run.key in done)])
    if why:
        lines.insert(0, f"it can't be carried out: {why}")
    return replace(todo, warnings=tuple(lines))


def _done(todo: Schedule, history: Sequence[Run]) -> set[tuple[str, str, int]]:
    """Return the keys of the planned runs that the campaign has a valid result of."""
    if todo.campaign is None:
        return set()
    campaign_id = todo.campaign.campaign_id
    return {key_of(run) for run in history if run.campaign_id == campaign_id and run.status is RunStatus.VALID}


def renewed(plan: Plan, todo: Schedule, history: Sequence[Run]) -> Schedule:
    """Return ``todo`` with what is left by ``history``: somebody else may have made runs since it was counted."""
    finished = [run for run in history if todo.campaign and run.campaign_id == todo.campaign.campaign_id]
    there = _done(todo, history)
    left = [
        (planned, number) for planned, number in remaining(plan, todo.runs, finished) if todo.selection.takes(planned)
    ]
    made = inputs_there(todo.runs, plan, history)
    expected_s = remaining_s([planned for planned, _ in left], plan, history, todo.overheads, made)
    done = sum(run.key in there for run in todo.runs)
    return replace(todo, left=left, done=done, expected_s=expected_s, inputs_there=made)


def rows(plan: Plan, todo: Schedule, history: Sequence[Run], now_unix_s: float) -> list[Row]:
    """Return the runs that this call should make, in order: up to where it is to stop, as far as one can tell."""
    found: list[Row] = []
    after_s = 0.0
    known: dict[tuple[str, str], tuple[float, str, TimeLimit]] = {}
    left = [run for run, _ in todo.left]
    before = zip(restarts(left, plan.cluster), inputs_s(left, plan, todo.inputs_there), strict=True)
    for (planned, number), (restart, input_s) in zip(todo.left, before, strict=True):
        if todo.stop and todo.stop.reached(len(found), now_unix_s + after_s):
            break
        if planned.key[:2] not in known:
            job = expected(planned, plan, history)
            known[planned.key[:2]] = (job.duration_s, job.basis, time_limit(planned, plan, history))
        job_s, basis, limit = known[planned.key[:2]]
        took_s = input_s + job_s + todo.overheads.beside_job_s(planned)
        took_s += todo.overheads.restart_s if restart else 0.0
        if_needed = plan.until is not None and planned.repetition > plan.repetitions
        found.append(Row(planned, number, restart, after_s, took_s, basis, limit, if_needed, input_s))
        after_s += took_s
    return found


def plan_lines(plan: Plan, todo: Schedule, repository_root: Path) -> list[str]:
    """Return what a call will do, in words."""
    configurations = list(dict.fromkeys(run.configuration.key for run in todo.runs))
    workloads = list(dict.fromkeys(run.workload.key for run in todo.runs))
    repetitions = max(run.repetition for run in todo.runs)
    often = f"{plan.repetitions} to {repetitions}" if plan.until else str(repetitions)
    lines = [
        f"{len(workloads)} workloads ({', '.join(workloads)}) × {len(configurations)} configurations "
        f"({'; '.join(configurations)}) × {often} repetitions = {len(todo.runs)} runs"
    ]
    if todo.continued:
        ready = f"{todo.done} of {len(todo.runs)} runs are done"
        lines.append(f"going on with campaign {todo.journal.campaign_id}: {ready}")
    starts = sum(reason is not None for reason in restarts((run for run, _ in todo.left), plan.cluster))
    lines.append(f"runs left: {len(todo.left)}; starts of the daemons: {starts}; retries of a run: {retry_words(plan)}")
    lines += [f"warning: {words}" for words in todo.warnings]
    lines.append(f"expected to take {format_duration(todo.expected_s)}; runs go to {repository_root}")
    return lines
