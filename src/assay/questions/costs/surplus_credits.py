"""Count the surplus CPU credits of a day's work on rented machines in unlimited mode.

In: the use of credits of each run of a day, and the idle time of the day. Out: vCPU-hours that the provider charges, at
a flat price per vCPU-hour (source: :mod:`assay.model.clusters.credits`). Credits that are earned in the idle time pay
back what a run owes at its end, but not what was charged at once. Use is the mean over the workers, so the count is too
low if the load of the workers differs.
"""

from collections.abc import Sequence
from dataclasses import replace

from assay.foundation.errors import SpecificationError
from assay.model import HardwareCatalogue
from assay.model.clusters.credits import CreditBucket, CreditKind, CreditUse


def in_unlimited_mode(catalogue: HardwareCatalogue) -> HardwareCatalogue:
    """Return the catalogue with all machines that have CPU credits in unlimited mode.

    Raises SpecificationError if it has no such machines, or does not state their vCPUs.
    """
    burstable = [worker.name for worker in catalogue.workers if cpu_bucket_of(worker.credits)]
    if not burstable:
        raise SpecificationError(
            f"the catalogue {catalogue.name} has no machines with CPU credits, so surplus credits cost nothing",
            where="extra costs",
            hint="leave out surplus-credits",
        )
    workers = []
    for worker in catalogue.workers:
        bucket = cpu_bucket_of(worker.credits)
        if bucket is not None and not bucket.vcpus_per_core:
            raise SpecificationError(
                f"the catalogue does not state the vCPUs of a core of {worker.name}",
                where="extra costs",
                hint="add vcpus_per_core to its CPU credits, such as 2",
            )
        buckets = (replace(worker_bucket, is_unlimited=worker_bucket is bucket) for worker_bucket in worker.credits)
        workers.append(replace(worker, credits=tuple(buckets)))
    return replace(catalogue, workers=tuple(workers))


def surplus_vcpu_h(
    bucket: CreditBucket, uses: Sequence[CreditUse], per_day: Sequence[float], workers: int, idle_s: float
) -> float:
    """Return the surplus that a day's work is charged for, in vCPU-hours of all workers.

    ``uses``: the use of CPU credits by a run of each workload. ``per_day``: its runs per day.
    """
    charged_credits = sum(use.surplus_charged * runs for use, runs in zip(uses, per_day, strict=True))
    owed_credits = sum(use.surplus_owed * runs for use, runs in zip(uses, per_day, strict=True))
    core_s = charged_credits + max(0.0, owed_credits - bucket.baseline_per_s * idle_s)
    return workers * core_s * (bucket.vcpus_per_core or 0.0) / 3600


def cpu_bucket_of(credits_: Sequence[CreditBucket]) -> CreditBucket | None:
    """Return the CPU credits of a machine; None if it has none."""
    return next((bucket for bucket in credits_ if bucket.kind is CreditKind.CPU), None)
