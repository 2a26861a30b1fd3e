"""Compare workloads with a reference workload: data at each stage and use of the CPU (LISA'14, table 3).

In: runs with their metrics. Out: medians by workload and configuration, and their ratios to the reference workload
(TeraSort) on the same configuration. Input is bytes read from HDFS. Shuffle is bytes that reducers fetched. Output is
bytes written to HDFS with all copies; if one side lacks the number of copies, both sides count one copy.

CPU is the busy share of the workers' CPU time. If one side lacks it, both sides use CPU time of the jobs / duration of
the run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from assay.analysis.run_profile.devices import quotient
from assay.analysis.run_profile.run_detail import replication_of
from assay.model import LAYOUT_FACTOR, Origin, Run, RunStatus

REFERENCE = "terasort"


@dataclass(frozen=True, slots=True)
class WorkloadRatioRow:
    """The valid runs of one workload on one configuration: medians, bytes; None if no run has the metric."""

    workload: str
    layout: str
    context: str
    """The rest of the configuration: levels of other factors, and the cluster if there are several."""
    origin: Origin
    lab_scale: float | None
    n: int
    input_bytes: float | None
    shuffle_bytes: float | None
    output_bytes: float | None
    """One copy of the output."""
    stored_bytes: float | None
    """All copies of the output."""
    cpu_busy_share: float | None
    cpu_s_per_s: float | None
    """CPU seconds of the jobs per second of the run."""
    input_ratio: float | None = None
    """Ratios to the reference workload on the same configuration; None without it."""
    shuffle_ratio: float | None = None
    output_ratio: float | None = None
    cpu_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class WorkloadRatios:
    """All rows, and the reference workload."""

    reference: str
    rows: tuple[WorkloadRatioRow, ...]

    @property
    def has_ratios(self) -> bool:
        """Whether the reference workload is among the rows."""
        return any(row.workload == self.reference for row in self.rows)


_Key = tuple[str, str, str, Origin, float | None, str]


def _key(run: Run, programs: frozenset[str]) -> _Key:
    """Return the run's configuration, without options of ``programs``, which no other workload can have."""
    levels = ((name, level) for name, level in sorted(run.levels.items()) if name != LAYOUT_FACTOR)
    other_levels = ", ".join(f"{name}={level}" for name, level in levels if name.partition(".")[0] not in programs)
    return run.cluster, run.engine, run.layout, run.origin, run.lab_scale, other_levels


def _median_of_known(values: Sequence[float | None]) -> float | None:
    known_values = [value for value in values if value is not None]
    return median(known_values) if known_values else None


def _stored_bytes(run: Run) -> float | None:
    written_bytes, copies = run.metrics.get("hdfs_write_bytes"), replication_of(run)
    return None if written_bytes is None or copies is None else written_bytes * copies


def _cpu_rate(run: Run) -> float | None:
    cpu_s = run.metrics.get("cpu_s")
    return cpu_s / run.duration_s if cpu_s and run.duration_s > 0 else None


def _row(runs: Sequence[Run], context: str) -> WorkloadRatioRow:
    def median_of(name: str) -> float | None:
        return _median_of_known([run.metrics.get(name) for run in runs])

    return WorkloadRatioRow(
        workload=runs[0].workload,
        layout=runs[0].layout,
        context=context,
        origin=runs[0].origin,
        lab_scale=runs[0].lab_scale,
        n=len(runs),
        input_bytes=median_of("hdfs_read_bytes"),
        shuffle_bytes=median_of("shuffle_bytes"),
        output_bytes=median_of("hdfs_write_bytes"),
        stored_bytes=_median_of_known([_stored_bytes(run) for run in runs]),
        cpu_busy_share=median_of("cpu_busy_share"),
        cpu_s_per_s=_median_of_known([_cpu_rate(run) for run in runs]),
    )


def _relative_to(row: WorkloadRatioRow, reference: WorkloadRatioRow | None) -> WorkloadRatioRow:
    if reference is None:
        return row
    both_recorded = row.stored_bytes is not None and reference.stored_bytes is not None
    output = (row.stored_bytes, reference.stored_bytes) if both_recorded else (row.output_bytes, reference.output_bytes)
    shares_recorded = row.cpu_busy_share is not None and reference.cpu_busy_share is not None
    cpu = (
        (row.cpu_busy_share, reference.cpu_busy_share) if shares_recorded else (row.cpu_s_per_s, reference.cpu_s_per_s)
    )
    values = {name: getattr(row, name) for name in WorkloadRatioRow.__dataclass_fields__}
    shuffle_bytes = 0.0 if row.shuffle_bytes is None and row.input_bytes is not None else row.shuffle_bytes
    return WorkloadRatioRow(
        **values
        | {
            "input_ratio": quotient(row.input_bytes, reference.input_bytes),
            "shuffle_ratio": quotient(shuffle_bytes, reference.shuffle_bytes),
            "output_ratio": quotient(*output),
            "cpu_ratio": quotient(*cpu),
        }
    )


def workload_ratios(runs: Sequence[Run], *, reference: str = REFERENCE) -> WorkloadRatios:
    """Return a row for each workload on each configuration with valid runs, ordered by configuration."""
    programs = frozenset(name for run in runs for name in (run.workload, run.workload_parameters.get("program", "")))
    groups: dict[_Key, dict[str, list[Run]]] = {}
    for run in runs:
        if run.status is RunStatus.VALID:
            groups.setdefault(_key(run, programs), {}).setdefault(run.workload, []).append(run)
    has_several_clusters = len({key[0] for key in groups}) > 1
    rows = []
    for key, by_workload in groups.items():
        context = ", ".join(part for part in (key[0] if has_several_clusters else "", key[5]) if part)
        workload_rows = [_row(members, context) for members in by_workload.values()]
        reference_row = next((row for row in workload_rows if row.workload == reference), None)
        rows += [_relative_to(row, reference_row) for row in workload_rows]
    return WorkloadRatios(reference, tuple(rows))
