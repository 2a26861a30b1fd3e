"""Say whether a changed cluster runs more tasks in parallel than a stage has, and which change to try next.

In: the plans before and after the changes, and the simulated stages. Out: :class:`TaskSlots`; a sentence, and changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.estimation.simulator.scenario_document import ScenarioDocument
from assay.execution.planning.plan_files.changed_plan import WORKERS_COUNT, only_run
from assay.execution.planning.plan_files.workload_section import varied_options
from assay.model import CONTAINERS, Plan
from assay.questions.decisions.sentences.option_words import change_text
from assay.text import joined, plural, workload_title

if TYPE_CHECKING:
    from assay.questions.forecasts.whatif.whatif_answer import WhatIf

_TASK_OPTIONS = {"files": "map", "maps": "map", "reduces": "reduce"}
"""Options of workloads that set the number of tasks of a kind of stage."""


@dataclass(frozen=True, slots=True)
class TaskSlots:
    """The tasks of the largest stage, and how many of them the changed cluster runs in parallel."""

    workers: int
    tasks: int
    """Number of tasks of the stage with the most tasks."""
    parallel: int
    """Maximum number of its tasks that all workers run at the same time."""
    containers: int | None
    """Concurrent containers per worker; None for an engine without containers."""
    more_tasks: Mapping[str, str]
    """Options of the workload that give each stage as many tasks as there are workers; empty if it has none."""

    @property
    def has_idle_workers(self) -> bool:
        """Whether no stage has a task for each worker."""
        return self.tasks < self.workers

    @property
    def has_waiting_tasks(self) -> bool:
        """Whether tasks wait for containers."""
        return bool(self.containers) and self.tasks > self.parallel


def task_slots(plan: Plan, scenario: ScenarioDocument) -> TaskSlots:
    """Return the tasks of the largest stage of ``scenario``, which simulates ``plan``, and the slots for them."""
    run = only_run(plan)
    parameters, options = run.configuration.parameters, varied_options(run.workload.name)
    workers = len(plan.cluster.using(run.configuration.workers).workers)
    stages = [stage for job in scenario.jobs for stage in job.stages]
    largest = max(stages, key=lambda stage: stage.tasks)
    kinds_with_few_tasks = {stage.kind for stage in stages if stage.tasks < workers}
    return TaskSlots(
        workers=workers,
        tasks=largest.tasks,
        parallel=plan.rules.tasks_of_a_wave(parameters, largest.kind, workers),
        containers=plan.rules.containers_per_worker(parameters),
        more_tasks={
            name: str(workers)
            for name, kind in _TASK_OPTIONS.items()
            if name in options and kind in kinds_with_few_tasks
        },
    )


def tasks_sentence(answers: Sequence["WhatIf"]) -> str:
    """Return that stages have fewer tasks than the workers, or more than these run at once, and what to try next.

    Empty if the question changes neither workers nor containers, and if neither is the case.
    """
    task_rows = _about_tasks(answers)
    idle_rows = [row for row in task_rows if row.slots.has_idle_workers]
    waiting_rows = [row for row in task_rows if row.slots.has_waiting_tasks]
    if idle_rows:
        tasks, workers = max(row.slots.tasks for row in idle_rows), idle_rows[0].slots.workers
        sentence = (
            f"A stage{_workloads_text(idle_rows, answers)} has at most {plural(tasks, 'task')}: at most {tasks} of "
            f"{workers} workers run one at the same time, and the others add only their disks and network."
        )
    elif waiting_rows:
        slots = max((row.slots for row in waiting_rows), key=lambda slots: slots.tasks)
        sentence = (
            f"A stage{_workloads_text(waiting_rows, answers)} has up to {plural(slots.tasks, 'task')}, and "
            f"{slots.workers} workers run {slots.parallel} of them at once."
        )
    else:
        return ""
    row, changes = next_changes(answers)
    words = joined([change_text(name, value) for name, value in changes.items()])
    return f"{sentence} Try next for {workload_title(row.workload)}: {words}." if row and changes else sentence


def next_changes(answers: Sequence["WhatIf"]) -> tuple["WhatIf | None", Mapping[str, str]]:
    """Return the answer with the largest speedup whose workers are idle or whose tasks wait, and what to try next."""
    task_rows = _about_tasks(answers)
    rows = [row for row in task_rows if row.slots.has_idle_workers] or [
        row for row in task_rows if row.slots.has_waiting_tasks
    ]
    if not rows:
        return None, {}
    row = max(rows, key=lambda row: (row.is_shown, row.ratio))
    if row.slots.has_idle_workers:
        return row, row.slots.more_tasks
    return row, {} if CONTAINERS in row.changes else {CONTAINERS: str(2 * (row.slots.containers or 1))}


def _about_tasks(answers: Sequence["WhatIf"]) -> list["WhatIf"]:
    return [row for row in answers if {WORKERS_COUNT, CONTAINERS} & row.changes.keys()]


def _workloads_text(rows: Sequence["WhatIf"], answers: Sequence["WhatIf"]) -> str:
    """Return the workloads of ``rows``; empty for all answers."""
    names = dict.fromkeys(workload_title(row.workload) for row in rows)
    return "" if len(rows) == len(answers) else f" of {joined(list(names))}"
