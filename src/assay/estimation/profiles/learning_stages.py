"""Learn the data flow and costs of each stage of a Spark workload per byte of data, from measured runs.

In: runs with their stages and task attempts. Out: :class:`~assay.model.plans.workload_profile.StageProfile` values. A
stage's CPU is the sum over its attempts (executorCpuTime, which starts with the task). A task's memory is the peak
execution memory of an attempt. Runs of one workload must have the same graph of stages: the most frequent graph is
learned.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from assay.model import COMPRESSED_SHARES, Run, Stage, StageProfile, TaskAttempt, Uncertain, shuffle_codec

_CODEC_ASSUMED = 0.5
"""Assumed compressed share of data for a codec without a known share."""
NEGLIGIBLE_SHARE = 0.01
"""Share of the data below which bytes count as none: control files, reports."""
_TASK_MIN_BYTES = 1_000_000
"""Minimum input of a task, in bytes, for its peak memory to count: smaller tasks measure the runtime's memory."""


@dataclass(frozen=True, slots=True)
class StagedRun:
    """One run with the CPU time and the job of each stage."""

    run: Run
    stages: tuple[Stage, ...]
    """Stages that succeeded, by number."""
    cpu_s: Mapping[int, float]
    jobs: Mapping[int, int]
    """Stage number to the position of its job among the jobs of the run."""

    @property
    def data_bytes(self) -> float:
        """Size of the run's data, the unit of every profile. The caller omits runs of unknown size."""
        assert self.run.data_bytes
        return float(self.run.data_bytes)

    @property
    def shape(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Job and parents of each stage by position: equal for equal graphs."""
        positions = {stage.stage_id: position for position, stage in enumerate(self.stages)}
        return tuple(
            (
                self.jobs.get(stage.stage_id, 0),
                tuple(sorted(positions[parent] for parent in stage.parents if parent in positions)),
            )
            for stage in self.stages
        )


def staged_run_of(run: Run, tasks: Iterable[TaskAttempt]) -> StagedRun:
    """Return ``run`` with the CPU time and the job of each stage, from its task attempts."""
    cpu_s: dict[int, float] = {}
    job_of: dict[int, str] = {}
    for task in tasks:
        number = int(task.task_id.split(".", 1)[0])
        cpu_s[number] = cpu_s.get(number, 0.0) + (task.cpu_s or 0.0)
        job_of.setdefault(number, task.job_id)
    order = {job.job_id: position for position, job in enumerate(run.jobs)}
    succeeded_stages = sorted(
        (stage for stage in run.stages if stage.failure is None), key=lambda stage: stage.stage_id
    )
    return StagedRun(
        run, tuple(succeeded_stages), cpu_s, {number: order.get(name, 0) for number, name in job_of.items()}
    )


def most_frequent(runs: Sequence[StagedRun]) -> list[StagedRun]:
    """Return the runs with the most frequent graph."""
    counts = Counter(staged_run.shape for staged_run in runs)
    shape = max(counts, key=lambda candidate: counts[candidate])
    return [staged_run for staged_run in runs if staged_run.shape == shape]


def compressed_shares(runs: Sequence[StagedRun]) -> dict[str, Uncertain]:
    """Return the share of shuffled bytes that each codec leaves; an assumed share, ``n`` 0, if every run compressed."""
    by_codec: dict[str, list[float]] = {}
    for staged_run in runs:
        shuffled_bytes = sum(stage.shuffle_write_bytes for stage in staged_run.stages)
        by_codec.setdefault(shuffle_codec(staged_run.run.parameters), []).append(shuffled_bytes / staged_run.data_bytes)
    uncompressed_ratios = by_codec.pop("", None)
    if not uncompressed_ratios or not fmean(uncompressed_ratios) > NEGLIGIBLE_SHARE:
        return {codec: Uncertain.assumed(COMPRESSED_SHARES.get(codec, _CODEC_ASSUMED)) for codec in by_codec}
    shares = {}
    for codec, ratios in by_codec.items():
        codec_shares = [ratio / fmean(uncompressed_ratios) for ratio in ratios]
        shares[codec] = Uncertain(fmean(codec_shares), min(codec_shares), max(codec_shares), len(codec_shares))
    return shares


def stage_profiles(
    runs: Sequence[StagedRun],
    compression: Mapping[str, Uncertain],
    rule_of_tasks: Callable[[Sequence[tuple[Run, int]]], str],
    estimate: Callable[[Iterable[float]], Uncertain],
    idle_s: float,
) -> tuple[StageProfile, ...]:
    """Return the profile of each stage.

    ``compression``: share of bytes that each codec leaves. ``rule_of_tasks``: returns the option that sets a number of
    tasks. ``idle_s``: CPU seconds of an idle attempt.
    """
    profiles: list[StageProfile] = []
    for position, (job, all_parents) in enumerate(runs[0].shape):
        samples = [
            (staged_run, staged_run.stages[position], _compressed_share(staged_run, compression)) for staged_run in runs
        ]
        data = {id(staged_run): staged_run.data_bytes for staged_run in runs}
        parents = tuple(parent for parent in all_parents if profiles[parent].shuffled)
        read = (
            0.0
            if parents
            else zero_if_negligible(fmean(stage.read_bytes / data[id(staged_run)] for staged_run, stage, _ in samples))
        )
        shuffled = fmean(
            stage.shuffle_write_bytes / remaining_share / data[id(staged_run)]
            for staged_run, stage, remaining_share in samples
        )
        written = zero_if_negligible(
            fmean(stage.written_bytes / data[id(staged_run)] for staged_run, stage, _ in samples)
        )
        handled_share = sum(profiles[parent].shuffled for parent in parents) if parents else read
        handled_share = handled_share or max(shuffled, written) or 1.0
        task_bytes = [handled_share * data[id(staged_run)] / max(1, stage.tasks) for staged_run, stage, _ in samples]
        profiles.append(
            StageProfile(
                tasks=rule_of_tasks([(staged_run.run, stage.tasks) for staged_run, stage, _ in samples]),
                job=job,
                parents=parents,
                read=read,
                shuffled=shuffled,
                written=written,
                memory=max(_memory(stage, size) for (_, stage, _), size in zip(samples, task_bytes, strict=True)),
                cpu_s_per_byte=estimate(
                    max(0.0, staged_run.cpu_s.get(stage.stage_id, 0.0) - idle_s * stage.tasks)
                    / (handled_share * data[id(staged_run)])
                    for staged_run, stage, _ in samples
                ),
            )
        )
    return tuple(profiles)


def _memory(stage: Stage, task_bytes: float) -> float:
    """Return the execution memory per byte of a task; 0 for tasks so small that only whole pages count."""
    return stage.peak_memory_bytes / task_bytes if task_bytes >= _TASK_MIN_BYTES else 0.0


def _compressed_share(staged_run: StagedRun, compression: Mapping[str, Uncertain]) -> float:
    codec = shuffle_codec(staged_run.run.parameters)
    return compression[codec].value if codec in compression else 1.0


def zero_if_negligible(value: float) -> float:
    """Return a share of the data's bytes, or 0 if it is negligible."""
    return value if value > NEGLIGIBLE_SHARE else 0.0
