"""What ``compare`` and ``report`` share: reading runs, and finding the factor and its baseline among them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.errors import RepositoryError, SpecificationError
from assay.model.run import Run
from assay.repository import Repository
from assay.statistics.factors import default_baseline, factors_of, layout_devices, levels_of, on_hard_disks
from assay.wording.titles import workload_named


def read_runs(root: Path, workload: str | None = None) -> tuple[Repository, list[Run]]:
    """Open the repository at ``root`` and read its runs, of one workload if named.

    Raises RepositoryError when there is none, and SpecificationError for a workload that never ran.
    """
    repository = Repository.open(root)
    if workload is not None:
        found = repository.table().columns.get("workload")
        names = found.levels if found else ()
        workload = workload_named(workload, names)
        if names and workload not in names:
            raise SpecificationError(
                f"no run of workload {workload!r}", where=str(root), hint=f"there is {', '.join(names)}"
            )
    runs = repository.runs(workload=workload)
    if not runs:
        raise RepositoryError(
            "there are no runs yet", where=str(root), hint="`assay run PLAN` or `assay demo` makes some"
        )
    return repository, runs


def find_baseline(runs: Sequence[Run], factor: str, baseline: str | None) -> str:
    """Return the baseline level: the named one, or hard disks, or the level that was run first.

    Raises SpecificationError that lists what exists when the factor or the level does not.
    """
    levels = levels_of(runs, factor)
    if not levels:
        found = "; ".join(f"{name} ({', '.join(values)})" for name, values in factors_of(runs).items())
        raise SpecificationError(f"no run has a factor {factor!r}", hint=f"what the runs vary: {found or 'nothing'}")
    if baseline is None:
        return default_baseline(factor, levels, on_hard_disks((run.layout, layout_devices(run)) for run in runs))
    if baseline not in levels:
        raise SpecificationError(f"no run has {factor} {baseline!r}", hint=f"its levels: {', '.join(levels)}")
    return baseline
