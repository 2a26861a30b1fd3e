"""Read and write profile files: costs of workloads and an engine, learned from measured runs, as YAML.

In: a file or its text. Out: :class:`~assay.model.plans.cost_profile.CostProfile`; and the reverse. Times are in
seconds, CPU costs in seconds of one core of the processor ``cpu``, amounts of data in bytes per byte of the workload's
data. Costs have a 90 % interval and the number of runs behind it (0: assumed).
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import Field, model_validator

from assay.foundation.errors import HostError
from assay.foundation.installation import installation
from assay.model import CostProfile, EngineCosts, ProfileSource, StageProfile, Uncertain, WorkloadProfile
from assay.specs.document import Document, read_document
from assay.specs.fields import WHOLE_NUMBER_MAX, Count, FieldFormat, Label, Name, Text, text_of, whole_number
from assay.specs.section import Section, parse

_AMOUNT_MAX = 1e9
_OTHER_ENGINE_PROFILES = ("lab-spark.yaml",)
"""Profiles that assay ships for engines other than Hadoop."""


def _amount(value: object) -> float:
    text = text_of(value).strip()
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= _AMOUNT_MAX:
        raise ValueError(f"{text[:20]!r} is not a number from 0 to {_AMOUNT_MAX:g}")
    return number


def _flag(value: object) -> bool:
    text = text_of(value)
    if text not in ("true", "false"):
        raise ValueError(f"{text[:20]!r} is neither true nor false")
    return text == "true"


def _tasks(value: object) -> str:
    text = text_of(value)
    if text not in ("files", "maps", "splits", "reduces") and not (text.isdecimal() and int(text) < WHOLE_NUMBER_MAX):
        raise ValueError(f"{text[:20]!r} is not files, maps, splits, reduces or a number")
    return text


_NUMBER = {"type": ["number", "string"], "description": "A number from 0"}
Amount: TypeAlias = Annotated[float, FieldFormat(_amount, _NUMBER)]
Flag: TypeAlias = Annotated[bool, FieldFormat(_flag, {"type": "boolean"})]
Tasks: TypeAlias = Annotated[
    str, FieldFormat(_tasks, {"type": ["string", "integer"], "examples": ["splits", "files", 1]})
]
Runs: TypeAlias = Annotated[int, whole_number(0, WHOLE_NUMBER_MAX)]


class UncertainSection(Section):
    """A value with its 90 % interval."""

    value: Amount
    """The value."""
    low: Amount
    """The interval's lower end."""
    high: Amount
    """The interval's upper end."""
    runs: Runs = 0
    """Number of measured runs behind it; 0: assumed."""

    @model_validator(mode="after")
    def _ordered(self) -> UncertainSection:
        if not self.low <= self.value <= self.high:
            raise ValueError("the value must lie between low and high")
        return self


class CostsSection(Section):
    """Fixed costs of every job."""

    client_start_s: UncertainSection
    """From the client's start to the job's submission."""
    job_start_s: UncertainSection
    """From the submission to the first task: start of the ApplicationMaster."""
    job_end_s: UncertainSection
    """From the end of the last task to the end of the job."""
    client_end_s: UncertainSection
    """From the end of the last job to the end of the client."""
    task_cpu_s: UncertainSection
    """CPU time of an empty task."""
    job_cpu_s: UncertainSection
    """CPU time of the ApplicationMaster, or on Spark of each executor's JVM, while tasks run."""
    io_cpu_s_per_byte: UncertainSection
    """CPU time of daemons and kernel per byte over a disk or link."""


class StageSection(Section):
    """One stage of a workload on an engine with stages (Spark), per byte of the workload's data."""

    tasks: Tasks
    """Source of the number of tasks: files, maps, splits, reduces, or a number."""
    job: Runs = 0
    """Index of its job in the run, from 0."""
    parents: list[Runs] = Field(default_factory=list)
    """Indexes of the stages whose shuffle files it reads, from 0."""
    read: Amount = 0.0
    """Read from storage."""
    shuffled: Amount = 0.0
    """Written to shuffle files, before compression."""
    written: Amount = 0.0
    """Written to storage, one replica."""
    memory: Amount = 0.0
    """Execution memory of a task, for each byte that it handles."""
    cpu_s_per_byte: UncertainSection
    """CPU per byte that it handles."""


class WorkloadSection(Section):
    """Data flow and costs of a workload per byte of its data."""

    runs: Runs
    """Number of measured runs that it was learned from."""
    data_bytes_min: Amount
    """Smallest data size of these runs."""
    data_bytes_max: Amount
    """Largest data size of these runs."""
    maps: Tasks
    """Source of the number of map tasks: files, maps, splits, reduces, or a number."""
    reduces: Tasks
    """Source of the number of reduce tasks: files, maps, splits, reduces, or a number."""
    jobs: Count = 1
    """Jobs of one iteration."""
    read: Amount = 0.0
    """Read from HDFS."""
    map_output: Amount = 0.0
    """Map output, before a combiner."""
    combined: Amount = 1.0
    """Share of map output that remains after the combiner."""
    written: Amount = 0.0
    """Written to HDFS, one replica."""
    written_by_maps: Flag = False
    """Whether maps write the output to HDFS."""
    located: Flag = True
    """Whether maps are placed on the nodes that have their data."""
    map_cpu_s_per_byte: UncertainSection
    """CPU per byte that maps handle."""
    reduce_cpu_s_per_byte: UncertainSection
    """CPU per byte that reduces handle."""
    compression: dict[Label, UncertainSection] = Field(default_factory=dict)
    """Codec to compressed share of map output."""
    stages: list[StageSection] = Field(default_factory=list)
    """On an engine with stages: all stages in order."""

    @model_validator(mode="after")
    def _parents_before(self) -> WorkloadSection:
        for number, stage in enumerate(self.stages):
            if any(parent >= number or not self.stages[parent].shuffled for parent in stage.parents):
                raise ValueError(f"stage {number} can read only shuffle files of earlier stages")
        return self


class LearnedSection(Section):
    """Origin of the profile."""

    source: Text
    """Source as text."""
    runs: Runs
    """Number of measured runs."""
    date: Text | None = None
    """Date of the last of these runs."""
    clusters: list[Text] = Field(default_factory=list)
    """Clusters of these runs."""
    layouts: list[Text] = Field(default_factory=list)
    """Layouts of these runs."""
    workers_min: Runs = 0
    """Smallest number of workers."""
    workers_max: Runs = 0
    """Largest number of workers."""
    lab_scale: Amount | None = None
    """The lab's scale; real hosts when absent."""


class ProfileFile(Section):
    """A profile: costs of an engine and its workloads on a kind of machine."""

    profile: Name
    """The profile's name."""
    engine: Label
    """Engine of the profile."""
    cpu: Text | None = None
    """Processor on which CPU seconds were measured."""
    machine_cores: Count | None = None
    """In a lab: cores of the machine, which all nodes share."""
    background_cores: Amount = 0.0
    """In a lab: cores used by the master, by disk emulation and by the machine itself."""
    learned: LearnedSection
    """Origin of the profile."""
    costs: CostsSection
    """Fixed costs of every job."""
    workloads: dict[Label, WorkloadSection] = Field(min_length=1)
    """Workloads by name."""


def load_profile(path: str | Path) -> CostProfile:
    """Return the profile in a file. Raises :class:`SpecificationError` with file and line."""
    return _profile(read_document(path))


def _profile(document: Document) -> CostProfile:
    file = parse(ProfileFile, document)
    learned = file.learned
    return CostProfile(
        name=file.profile,
        engine=file.engine,
        cpu_model=file.cpu or "",
        machine_cores=file.machine_cores,
        background_cores=file.background_cores,
        costs=EngineCosts(**{name: _uncertain(getattr(file.costs, name)) for name in CostsSection.model_fields}),
        workloads={
            name: WorkloadProfile(
                workload=name,
                n=section.runs,
                data_bytes_min=int(section.data_bytes_min),
                data_bytes_max=int(section.data_bytes_max),
                maps=section.maps,
                reduces=section.reduces,
                jobs=section.jobs,
                read=section.read,
                map_output=section.map_output,
                combined=section.combined,
                written=section.written,
                written_by_maps=section.written_by_maps,
                located=section.located,
                map_cpu_s_per_byte=_uncertain(section.map_cpu_s_per_byte),
                reduce_cpu_s_per_byte=_uncertain(section.reduce_cpu_s_per_byte),
                compression={codec: _uncertain(share) for codec, share in section.compression.items()},
                stages=tuple(map(_stage, section.stages)),
            )
            for name, section in file.workloads.items()
        },
        learned=ProfileSource(
            source=learned.source,
            runs=learned.runs,
            clusters=tuple(learned.clusters),
            layouts=tuple(learned.layouts),
            workers_min=learned.workers_min,
            workers_max=learned.workers_max,
            lab_scale=learned.lab_scale,
            date=learned.date or "",
        ),
    )


def _uncertain(section: UncertainSection) -> Uncertain:
    return Uncertain(section.value, section.low, section.high, section.runs)


def _stage(section: StageSection) -> StageProfile:
    return StageProfile(
        tasks=section.tasks,
        job=section.job,
        parents=tuple(section.parents),
        read=section.read,
        shuffled=section.shuffled,
        written=section.written,
        memory=section.memory,
        cpu_s_per_byte=_uncertain(section.cpu_s_per_byte),
    )


def profile_text(profile: CostProfile) -> str:
    """Return the profile as the text of a file."""
    learned, costs = profile.learned, profile.costs
    lines = [f"profile: {profile.name}", f"engine: {profile.engine}"]
    lines += [f"cpu: {_quoted(profile.cpu_model)}"] if profile.cpu_model else []
    lines += [f"machine_cores: {profile.machine_cores}"] if profile.machine_cores else []
    lines += [f"background_cores: {profile.background_cores:.3g}"] if profile.background_cores else []
    lines += ["learned:", f"  source: {_quoted(learned.source)}", f"  runs: {learned.runs}"]
    lines += [f"  date: {_quoted(learned.date)}"] if learned.date else []
    for name, values in (("clusters", learned.clusters), ("layouts", learned.layouts)):
        lines += [f"  {name}: [{', '.join(map(_quoted, values))}]"] if values else []
    lines += [f"  workers_min: {learned.workers_min}", f"  workers_max: {learned.workers_max}"]
    lines += [f"  lab_scale: {learned.lab_scale:g}"] if learned.lab_scale is not None else []
    lines += ["costs:", *(f"  {name}: {_inline(getattr(costs, name))}" for name in CostsSection.model_fields)]
    lines.append("workloads:")
    for workload in profile.workloads.values():
        lines += _workload_lines(workload)
    return "\n".join([*lines, ""])


def _workload_lines(profile: WorkloadProfile) -> list[str]:
    values: dict[str, Any] = {
        "runs": profile.n,
        "data_bytes_min": profile.data_bytes_min,
        "data_bytes_max": profile.data_bytes_max,
        "maps": profile.maps,
        "reduces": profile.reduces,
        "jobs": profile.jobs,
        **{name: f"{getattr(profile, name):.6g}" for name in ("read", "map_output", "combined", "written")},
        "written_by_maps": str(profile.written_by_maps).lower(),
        "located": str(profile.located).lower(),
        "map_cpu_s_per_byte": _inline(profile.map_cpu_s_per_byte),
        "reduce_cpu_s_per_byte": _inline(profile.reduce_cpu_s_per_byte),
    }
    lines = [f"  {profile.workload}:", *(f"    {name}: {value}" for name, value in values.items())]
    if profile.compression:
        lines += [
            "    compression:",
            *(f"      {name}: {_inline(value)}" for name, value in profile.compression.items()),
        ]
    return lines + (["    stages:", *map(_stage_line, profile.stages)] if profile.stages else [])


def _stage_line(stage: StageProfile) -> str:
    amounts = "".join(
        f", {name}: {value:.6g}"
        for name in ("read", "shuffled", "written", "memory")
        if (value := getattr(stage, name))
    )
    parents = f", parents: [{', '.join(map(str, stage.parents))}]" if stage.parents else ""
    cpu = _inline(stage.cpu_s_per_byte)
    return f"      - {{tasks: {stage.tasks}, job: {stage.job}{parents}{amounts}, cpu_s_per_byte: {cpu}}}"


def _inline(value: Uncertain) -> str:
    # Rounding must not put the value outside the interval.
    low, high = min(value.low, float(f"{value.value:.4g}")), max(value.high, float(f"{value.value:.4g}"))
    return f"{{value: {value.value:.4g}, low: {low:.6g}, high: {high:.6g}, runs: {value.n}}}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def shipped_profile() -> CostProfile:
    """Return the profile that assay ships: Hadoop's, with Spark's as an additional engine.

    Raises HostError if this installation lacks it.
    """
    folder = installation().profiles
    path = folder / "lab.yaml" if folder else None
    if path is None or not path.is_file():
        raise HostError(
            "this installation has no profile",
            hint="name one with --profile FILE, or a repository of measured runs with --learn-from",
        )
    other_paths = [other_path for name in _OTHER_ENGINE_PROFILES if (other_path := path.with_name(name)).is_file()]
    return load_profile(path).together_with([load_profile(other_path) for other_path in other_paths])
