"""The form of a plan file: its keys, their units and defaults, as the JSON Schema shows them."""

from collections.abc import Iterable
from functools import cache
from types import GenericAlias
from typing import Annotated, Any, TypeAlias

from pydantic import Field, create_model

from assay.execution.planning.plan_files.workload_section import workload_entry
from assay.model import StoragePolicy
from assay.specs.fields import (
    COUNT,
    COUNT_MAX,
    LABEL,
    SCALAR,
    Count,
    Duration,
    FactorName,
    Form,
    Label,
    Name,
    ParameterName,
    Percentage,
    Scalar,
    Seed,
    Text,
    choice,
    text_of,
    whole,
)
from assay.specs.section import Section
from assay.workloads.catalogue import workloads
from assay.workloads.workload import Workload

RETRIES_MAX = 100


def _parse_directories(value: object) -> dict[str, int]:
    """Return device name to number of directories for a list of names or a mapping of names to numbers."""
    if isinstance(value, dict) and value:
        return {name: COUNT.parse(item) for name, item in value.items()}
    if not isinstance(value, list) or not value:
        raise ValueError("devices are expected here: a list such as [hdd1, hdd2], or directories of each: {ssd1: 10}")
    names = [text_of(item) for item in value]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"device {twice!r} is given twice")
    return dict.fromkeys(names, 1)


_DIRECTORIES_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True},
        {
            "type": "object",
            "additionalProperties": {"type": "integer", "minimum": 1, "maximum": COUNT_MAX},
            "minProperties": 1,
        },
    ],
    "examples": [["hdd1", "hdd2"], {"ssd1": 10}],
}
Retries: TypeAlias = Annotated[int, whole(0, RETRIES_MAX)]
Levels: TypeAlias = list[str] | dict[str, dict[str, str]]
DirectoryCounts: TypeAlias = Annotated[dict[str, int], Form(_parse_directories, _DIRECTORIES_SCHEMA)]


def _parse_levels(value: object) -> Levels:
    """Return levels as a list, or those of a joined factor: level to what it sets."""
    if isinstance(value, list):
        if not value:
            raise ValueError("at least one entry is needed")
        return [text_of(item) for item in value]
    if not isinstance(value, dict):
        raise ValueError("a list is expected here, such as [a, b]")
    if not value:
        raise ValueError("at least one level is needed")
    for level, settings in value.items():
        LABEL.parse(level)
        if not isinstance(settings, dict) or not settings:
            raise ValueError(f"level {level!r} needs what it sets, such as {{dfs.blocksize: 64MiB}}")
        for setting in settings.values():
            text_of(setting)
    return value


_LEVELS_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "array", "items": SCALAR.schema, "minItems": 1},
        {
            "type": "object",
            "minProperties": 1,
            "propertyNames": LABEL.schema,
            "additionalProperties": {"type": "object", "minProperties": 1, "additionalProperties": SCALAR.schema},
        },
    ],
    "examples": [["HD2", "SS2"], {"small": {"containers": 2, "dfs.blocksize": "64MiB"}, "large": {"containers": 4}}],
}


class LayoutSection(Section):
    """Which devices hold what: a list of device names, or device names with their numbers of directories."""

    hdfs: DirectoryCounts
    """Devices for HDFS blocks."""
    intermediate: DirectoryCounts
    """Devices for intermediate data: spills and shuffle."""
    policy: Annotated[str, choice("storage policy", StoragePolicy)] | None = None
    """HDFS's storage policy for assay's data; HDFS is then told what kinds its devices are."""


class UntilSection(Section):
    """Repeat until the mean is known well enough."""

    half_width: Percentage
    """Half the width of the mean's 95 % interval, as a share of the mean."""
    at_most: Count = 20
    """Repetitions after which it is given up."""


class RetriesSection(Section):
    """How often a run is tried again in one call, by the class of its failure."""

    infrastructure: Retries | None = None
    """After a host out of reach, a full disk, a lab that is gone."""
    engine: Retries | None = None
    """After daemons that died or did not start."""
    workload: Retries | None = None
    """After a job that failed or was stopped at its time limit."""
    validation: Retries | None = None
    """After a job whose output did not pass its checks."""


class PlanFile(Section):
    """A plan: workloads × every combination of the factors' levels × repetitions."""

    plan: Name
    """The plan's name."""
    cluster: Text
    """The cluster file; a relative path starts at the plan file."""
    engine: str
    """What runs the workloads, where it is not a factor."""
    parameters: dict[ParameterName, Scalar] = Field(default_factory=dict)
    """Engine parameters for all runs, and network, workers, containers and compression where they are not varied."""
    workloads: list[Any]
    """What is run, in this order."""
    factors: dict[FactorName, Annotated[Levels, Form(_parse_levels, _LEVELS_SCHEMA)]] = Field(default_factory=dict)
    """What is varied, with its levels: layout, engine, network, workers, containers, compression, an engine parameter,
    WORKLOAD.option, or a name of your own, whose levels say what they set.
    """
    only: list[dict[str, Scalar]] = Field(default_factory=list)
    """Of all combinations, those that are run, where not every one is: a list of factors' levels each, and workload."""
    layouts: dict[Label, LayoutSection] = Field(default_factory=dict)
    """Named layouts, in addition to the layout codes."""
    layout: Text | None = None
    """The layout of all runs, when it is not a factor: a code such as HD2, or a name under layouts."""
    repetitions: Count = 3
    """How often each combination is run."""
    until: UntilSection | None = None
    """Repeat further, each combination until its mean time is known well enough."""
    seed: Seed = 1
    """Decides the order in which runs are interleaved."""
    timeout: Duration | None = None
    """A run that takes longer is stopped and counts as failed; without it, what like runs took decides."""
    attempts: Count | None = None
    """How often a run is tried at most in one call before it is given up."""
    retries: RetriesSection = Field(default_factory=RetriesSection)
    """How often a run is tried again in one call, by the class of its failure."""


def plan_file(engines: Iterable[str]) -> type[PlanFile]:
    """Return the form of plan files with these engines, the usual one first, and all workloads that are declared."""
    return _plan_file(tuple(engines), tuple(workloads().values()))


@cache
def _plan_file(engines: tuple[str, ...], _declared: tuple[Workload, ...]) -> type[PlanFile]:
    named: dict[str, Any] = {
        "engine": (
            Annotated[str, choice("engine", engines)],
            Field(default=engines[0], description="What runs the workloads, where it is not a factor."),
        ),
        "workloads": (
            GenericAlias(list, (workload_entry(),)),
            Field(min_length=1, description="What is run, in this order."),
        ),
    }
    return create_model("PlanFile", __base__=PlanFile, __doc__=PlanFile.__doc__, **named)
