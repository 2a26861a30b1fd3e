"""Scale the CPU of a lab with its workers, for a what-if question.

In: the plans before and after the changes. Out: a factor on the cores of the lab's machine. A lab is a scale model: all
its workers share the cores of one machine, and more workers of the described cluster bring more cores.
"""

from assay.execution.planning.plan_files.changed_plan import only_run
from assay.model import Plan


def share_of_lab_cpu(before: Plan, after: Plan) -> float:
    """Return the factor with which each core of a worker keeps its share of the lab's machine."""
    return _worker_cores(after) / _worker_cores(before)


def _worker_cores(plan: Plan) -> int:
    return sum(worker.type.cores for worker in plan.cluster.using(only_run(plan).configuration.workers).workers)
