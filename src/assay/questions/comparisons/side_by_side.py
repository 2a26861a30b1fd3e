"""Compare two to six runs, or their configurations, side by side.

In: a repository, its table of runs, and the chosen runs. Out: the sides with their job counters; the first is the
baseline.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from assay.analysis.comparison.details.side_by_side import SIDES_MAX, SIDES_MIN, Sides, same_configuration, side_by_side
from assay.analysis.run_profile.phases import Occupancy, occupancy
from assay.analysis.run_profile.traffic import TrafficSeries, disk_traffic, grid_step_s
from assay.analysis.statistics import RunTable
from assay.foundation.errors import SpecificationError
from assay.model import Run
from assay.questions.runs.complete_run import CompleteRun, jobs_in_logs_only, with_jobs
from assay.store import Repository

LIKE_MAX = 500
"""Maximum number of runs of one configuration (the newest)."""
Of = Literal["configurations", "runs"]


def sides_of(repository: Repository, table: RunTable, chosen_runs: Sequence[Run], of: Of) -> Sides:
    """Return the sides. Raises SpecificationError unless there are two to six different runs."""
    if len(chosen_runs) < SIDES_MIN:
        raise SpecificationError(
            "fewer than two runs are chosen", where="run", hint=f"choose {SIDES_MIN} to {SIDES_MAX} in the list of runs"
        )
    if len({run.run_id for run in chosen_runs}) < len(chosen_runs):
        raise SpecificationError("a run is named twice", where="run")
    if of == "runs":
        return side_by_side([[_with_jobs(repository, run)] for run in chosen_runs])

    rows = [same_configuration(table, run)[-LIKE_MAX:].tolist() for run in chosen_runs]
    all_rows = [row for side_rows in rows for row in side_rows]
    run_at = dict(zip(all_rows, repository.runs_at(table, all_rows), strict=True))
    sides = [
        [run, *(run_at[row] for row in side_rows if run_at[row].run_id != run.run_id)]
        for run, side_rows in zip(chosen_runs, rows, strict=True)
    ]
    for number, side in enumerate(sides):
        equal_side = next(
            (other for other in sides[:number] if {r.run_id for r in other} == {r.run_id for r in side}), None
        )
        if equal_side is not None:
            raise SpecificationError(
                f"runs {chosen_runs[number].run_id[:13]} and {equal_side[0].run_id[:13]} are of one configuration",
                where="run",
                hint="compare them as runs, or choose another",
            )
    return side_by_side([[_with_jobs(repository, run) for run in side] for side in sides])


def _with_jobs(repository: Repository, run: Run) -> Run:
    return with_jobs(repository, run) if jobs_in_logs_only(run) else run


def occupancy_of_runs(runs: Mapping[str, CompleteRun]) -> dict[str, tuple[Occupancy, ...]]:
    """Return how many attempts were in each phase over each run, in equal steps for all runs."""
    step_s = _step_s(runs)
    return {label: occupancy(side.run, side.tasks, step_s) for label, side in runs.items()}


def disk_traffic_of_runs(runs: Mapping[str, CompleteRun]) -> dict[str, list[TrafficSeries]]:
    """Return the disk traffic of each run that has a trace of disks, in equal steps for all runs."""
    step_s = _step_s(runs)
    traffic = {label: disk_traffic(side.trace, side.run.duration_s, step_s=step_s) for label, side in runs.items()}
    return {label: series for label, series in traffic.items() if series}


def _step_s(runs: Mapping[str, CompleteRun]) -> float:
    return grid_step_s(max(side.run.duration_s for side in runs.values()))
