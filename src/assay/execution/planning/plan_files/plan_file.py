"""Define the form of a plan file: its keys, their units and defaults, as in the JSON Schema."""

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
    FieldFormat,
    Label,
    Name,
    ParameterName,
    Percentage,
    Scalar,
    Seed,
    Text,
    choice,
    text_of,
    whole_number,
)
from assay.specs.section import Section
from assay.workloads.catalogue import workloads
from assay.workloads.workload import Workload

RETRIES_MAX = 100
"""Maximum number of retries of a run in a plan."""


def _parse_directories(value: object) -> dict[str, int]:
    """Return device name to number of directories for a list of names or a mapping of names to numbers."""
    if isinstance(value, dict) and value:
        return {name: COUNT.parse(item) for name, item in value.items()}
    if not isinstance(value, list) or not value:
        raise ValueError("devices are expected here: a list such as [hdd1, hdd2], or directories of each: {ssd1: 10}")
    names = [text_of(item) for item in value]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise ValueError(f"device {duplicate!r} is given twice")
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
Retries: TypeAlias = Annotated[int, whole_number(0, RETRIES_MAX)]
Levels: TypeAlias = list[str] | dict[str, dict[str, str]]
DirectoryCounts: TypeAlias = Annotated[dict[str, int], FieldFormat(_parse_directories, _DIRECTORIES_SCHEMA)]


def _parse_levels(value: object) -> Levels:
    """Return levels as a list, or for a joined factor the settings of each level."""
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
            raise ValueError(f"level {level!r} needs settings, such as {{dfs.blocksize: 64MiB}}")
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
    """The devices of each kind of data: a list of device names, or device names with numbers of directories."""

    hdfs: DirectoryCounts
    """Devices for HDFS blocks."""
    intermediate: DirectoryCounts
    """Devices for intermediate data: spills and shuffle."""
    policy: Annotated[str, choice("storage policy", StoragePolicy)] | None = None
    """HDFS's storage policy for assay's data; the DataNodes' directories then get storage types."""


class PrecisionGoalSection(Section):
    """Repeat until the mean is precise enough."""

    half_width: Percentage
    """Half the width of the mean's 95 % interval, as a share of the mean."""
    at_most: Count = 20
    """Maximum number of repetitions."""


class RetriesSection(Section):
    """Retries of a run in one call, by failure class."""

    infrastructure: Retries | None = None
    """After an unreachable host, a full disk, a lost lab."""
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
    """The engine that runs the workloads, if it is not a factor."""
    parameters: dict[ParameterName, Scalar] = Field(default_factory=dict)
    """Engine parameters of all runs, and network, workers, containers and compression if they are not varied."""
    workloads: list[Any]
    """The workloads, in this order."""
    factors: dict[FactorName, Annotated[Levels, FieldFormat(_parse_levels, _LEVELS_SCHEMA)]] = Field(
        default_factory=dict
    )
    """Factors with their levels: layout, engine, network, workers, containers, compression, profile, an engine
    parameter, WORKLOAD.option, or a name that you choose, whose levels contain settings.
    """
    only: list[dict[str, Scalar]] = Field(default_factory=list)
    """Combinations to run, if not all: each gives levels of factors, and a workload."""
    layouts: dict[Label, LayoutSection] = Field(default_factory=dict)
    """Named layouts, in addition to the layout codes."""
    layout: Text | None = None
    """The layout of all runs, when it is not a factor: a code such as HD2, or a name under layouts."""
    repetitions: Count = 3
    """How often each combination is run."""
    until: PrecisionGoalSection | None = None
    """Repeat each combination further until its mean time is precise enough."""
    seed: Seed = 1
    """Seed of the order in which runs are interleaved."""
    timeout: Duration | None = None
    """Time limit of a run, which then counts as failed; without it, comparable runs decide."""
    attempts: Count | None = None
    """Maximum number of attempts at a run in one call."""
    retries: RetriesSection = Field(default_factory=RetriesSection)
    """Retries of a run in one call, by failure class."""


def plan_file(engines: Iterable[str]) -> type[PlanFile]:
    """Return the form of plan files with these engines, the default first, and all declared workloads."""
    return _plan_file(tuple(engines), tuple(workloads().values()))


@cache
def _plan_file(engines: tuple[str, ...], _workloads: tuple[Workload, ...]) -> type[PlanFile]:
    """Return the form of plan files. ``_workloads``: the declared workloads, whose options the cached form has."""
    fields: dict[str, Any] = {
        "engine": (
            Annotated[str, choice("engine", engines)],
            Field(default=engines[0], description="The engine that runs the workloads, if it is not a factor."),
        ),
        "workloads": (
            GenericAlias(list, (workload_entry(),)),
            Field(min_length=1, description="The workloads, in this order."),
        ),
    }
    return create_model("PlanFile", __base__=PlanFile, __doc__=PlanFile.__doc__, **fields)
