"""List the data that stays in HDFS between runs: inputs, made once in the file system of each layout. Pure.

In: a planned run. Out: the data sets below ``/assay/input`` after the run, in bytes of one replica at the lab's scale.
Runs share a data set if its file system and folder are the same. The output of a write test is a data set too, because
the read test uses it; the run itself writes it.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from assay.execution.planning.order import PlannedRun
from assay.model import Plan
from assay.workloads.catalogue import workloads
from assay.workloads.common.inputs import INPUT, Input
from assay.workloads.workload import Size

Key = tuple[str, str]
"""Name of a file system, and name of a folder below ``/assay/input``."""


@dataclass(frozen=True, slots=True)
class CachedDataset:
    """A data set that stays in HDFS between runs."""

    key: Key
    name: str
    data_bytes: int
    copies: int
    made_before: bool
    """Whether it is made before the run; False: the run itself writes it."""
    is_sorted: bool = False
    """Whether it is made by sorting another input, which needs intermediate data."""


def size_of(planned_run: PlannedRun, plan: Plan) -> Size:
    """Return the workload's parameters after the lab's scale."""
    return Size.of(
        round(planned_run.workload.data_bytes * plan.cluster.scale),
        plan.rules.copies(planned_run.configuration.parameters),
        planned_run.configuration.parameters,
        planned_run.workload.parameters,
    )


def datasets_after(planned_run: PlannedRun, plan: Plan) -> list[CachedDataset]:
    """Return the data sets in HDFS after ``planned_run``, in the order of their creation."""
    workload, size = workloads()[planned_run.workload.name], size_of(planned_run, plan)
    file_system = plan.rules.file_system(planned_run.configuration, plan.cluster)
    needed_input = workload.input(size)
    if needed_input is not None:
        return [
            CachedDataset(
                (file_system, _folder(step.path)),
                step.name,
                step.data_bytes,
                step.replication,
                True,
                step.needs is not None,
            )
            for step in _chain(needed_input)
        ]
    return [
        CachedDataset(
            (file_system, _folder(folder)),
            planned_run.workload.name,
            workload.data_bytes(size),
            size.replication,
            False,
        )
        for folder in workload.kept_outputs(size)
    ]


def _chain(input_: Input) -> Iterator[Input]:
    if input_.needs is not None:
        yield from _chain(input_.needs)
    yield input_


def _folder(path: str) -> str:
    return path.removeprefix(f"{INPUT}/").split("/")[0]


def inputs_to_make(runs: Iterable[PlannedRun], plan: Plan, initial_keys: Collection[Key]) -> list[list[CachedDataset]]:
    """Return for each run, in order, the inputs to make for it.

    ``initial_keys``: keys of the inputs that exist already. Inputs and outputs of earlier runs are not made again.
    """
    existing_keys, prepared_keys = set(initial_keys), set[tuple[str, str]]()
    inputs: list[list[CachedDataset]] = []
    for run in runs:
        new_datasets: list[CachedDataset] = []
        if run.key[:2] not in prepared_keys:
            prepared_keys.add(run.key[:2])
            datasets = datasets_after(run, plan)
            new_datasets = [dataset for dataset in datasets if dataset.made_before and dataset.key not in existing_keys]
            existing_keys |= {dataset.key for dataset in datasets}
        inputs.append(new_datasets)
    return inputs
