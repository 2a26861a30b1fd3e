"""What the stages of a Spark workload do with each byte of its data, from measured runs.

In: runs with their stages and task attempts. Out: :class:`~assay.model.workload_profile.StageProfile` values. A stage's
CPU is what its attempts counted (executorCpuTime, which begins when the task does), a task's memory the most execution
memory of an attempt. Runs of one workload must have the same graph: the most frequent one is learned.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from assay.model import USUALLY_LEFT, Run, Stage, StageProfile, Task, Uncertain, shuffle_codec

_CODEC_ASSUMED = 0.5
SMALL = 0.01
"""Bytes below this share of the data count as none: control files, reports."""
_TASK_MIN_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Staged:
    """One run with what its attempts tell of each stage."""

    run: Run
    stages: tuple[Stage, ...]
    """Those that ended well, by their numbers."""
    cpu_s: Mapping[int, float]
    jobs: Mapping[int, int]
    """Stage to the place of its job among the run's."""

    @property
    def data_bytes(self) -> float:
        """Size of the run's data, which profiles are per byte of. Runs of unknown size are left out before."""
        assert self.run.data_bytes
        return float(self.run.data_bytes)

    @property
    def shape(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """What makes graphs the same: jobs and parents of each stage, by places."""
        places = {stage.stage_id: place for place, stage in enumerate(self.stages)}
        return tuple(
            (self.jobs.get(stage.stage_id, 0), tuple(sorted(places[one] for one in stage.parents if one in places)))
            for stage in self.stages
        )


def staged(run: Run, tasks: Iterable[Task]) -> Staged:
    """Return what the attempts of ``run`` tell of its stages."""
    cpu_s: dict[int, float] = {}
    job_of: dict[int, str] = {}
    for task in tasks:
        number = int(task.task_id.split(".", 1)[0])
        cpu_s[number] = cpu_s.get(number, 0.0) + (task.cpu_s or 0.0)
        job_of.setdefault(number, task.job_id)
    order = {job.job_id: place for place, job in enumerate(run.jobs)}
    ended = sorted((one for one in run.stages if one.failure is None), key=lambda one: one.stage_id)
    return Staged(run, tuple(ended), cpu_s, {number: order.get(name, 0) for number, name in job_of.items()})


def most_frequent(every: Sequence[Staged]) -> list[Staged]:
    """Return the runs that have the graph which most of them have."""
    counts = Counter(one.shape for one in every)
    shape = max(counts, key=lambda one: counts[one])
    return [one for one in every if one.shape == shape]


def codecs_left(every: Sequence[Staged]) -> dict[str, Uncertain]:
    """Return what each codec leaves of shuffled bytes; ``n`` 0 and the usual share where no run went without one."""
    by_codec: dict[str, list[float]] = {}
    for one in every:
        shuffled = sum(stage.shuffle_write_bytes for stage in one.stages)
        by_codec.setdefault(shuffle_codec(one.run.parameters), []).append(shuffled / one.data_bytes)
    plain = by_codec.pop("", None)
    if not plain or not fmean(plain) > SMALL:
        return {codec: Uncertain.assumed(USUALLY_LEFT.get(codec, _CODEC_ASSUMED)) for codec in by_codec}
    found = {}
    for codec, ratios in by_codec.items():
        left = [ratio / fmean(plain) for ratio in ratios]
        found[codec] = Uncertain(fmean(left), min(left), max(left), len(left))
    return found


def stage_profiles(
    every: Sequence[Staged],
    left: Mapping[str, Uncertain],
    follows: Callable[[Sequence[tuple[Run, int]]], str],
    estimate: Callable[[Iterable[float]], Uncertain],
    idle_s: float,
) -> tuple[StageProfile, ...]:
    """Return each stage's profile. ``left``: what codecs leave; ``follows``: which option a count follows; ``idle_s``:
    what an attempt counts that has nothing to do.
    """
    found: list[StageProfile] = []
    for place, (job, all_parents) in enumerate(every[0].shape):
        own = [(one, one.stages[place], _plain(one, left)) for one in every]
        data = {id(one): one.data_bytes for one in every}
        parents = tuple(parent for parent in all_parents if found[parent].shuffled)
        read = 0.0 if parents else small_is_none(fmean(stage.read_bytes / data[id(one)] for one, stage, _ in own))
        shuffled = fmean(stage.shuffle_write_bytes / plain / data[id(one)] for one, stage, plain in own)
        written = small_is_none(fmean(stage.written_bytes / data[id(one)] for one, stage, _ in own))
        handled = sum(found[parent].shuffled for parent in parents) if parents else read
        handled = handled or max(shuffled, written) or 1.0
        each = [handled * data[id(one)] / max(1, stage.tasks) for one, stage, _ in own]
        found.append(
            StageProfile(
                tasks=follows([(one.run, stage.tasks) for one, stage, _ in own]),
                job=job,
                parents=parents,
                read=read,
                shuffled=shuffled,
                written=written,
                memory=max(_memory(stage, size) for (_, stage, _), size in zip(own, each, strict=True)),
                cpu_s_per_byte=estimate(
                    max(0.0, one.cpu_s.get(stage.stage_id, 0.0) - idle_s * stage.tasks) / (handled * data[id(one)])
                    for one, stage, _ in own
                ),
            )
        )
    return tuple(found)


def _memory(stage: Stage, each: float) -> float:
    """Return the execution memory for each byte of a task; none where tasks are so small that pages alone are seen."""
    return stage.peak_memory_bytes / each if each >= _TASK_MIN_BYTES else 0.0


def _plain(one: Staged, left: Mapping[str, Uncertain]) -> float:
    codec = shuffle_codec(one.run.parameters)
    return left[codec].value if codec in left else 1.0


def small_is_none(value: float) -> float:
    """Return a share of the data's bytes, or none where it is small."""
    return value if value > SMALL else 0.0
