"""The workloads that a plan can name, the options that each takes, and how a factor can vary an option."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, create_model, model_validator

from assay.model.plan import WorkloadSpec
from assay.spec.fields import POSITIVE, SIZE, Form, Label, Positive, Size, choice
from assay.spec.section import Section

WORKLOAD_OPTIONS: dict[str, tuple[str, ...]] = {
    "dfsio-write": ("files",),
    "dfsio-read": ("files",),
    "teragen": ("maps",),
    "terasort": ("maps", "reduces"),
    "teravalidate": ("maps", "reduces"),
    "wordcount": ("maps", "reduces"),
    "teraread": ("maps",),
    "shuffle": ("maps", "reduces", "payload", "seed"),
    "hdfs-write": ("maps", "payload"),
    "randomtextwriter": ("maps",),
    "sort": ("maps", "reduces"),
    "dfsioe-write": ("files", "payload", "seed"),
    "dfsioe-read": ("files", "payload", "seed"),
    "pagerank": ("maps", "reduces", "iterations", "seed"),
    "kmeans": ("maps", "reduces", "iterations", "clusters", "seed"),
    "sql-aggregation": ("maps", "reduces", "seed"),
    "sql-join": ("maps", "reduces", "seed"),
}
"""Workload to its options; every workload has ``data`` or ``data_per_node`` (required), ``waves`` and ``label`` too."""

_OPTION_HELP = {
    "files": "Number of files, each written or read by one map task.",
    "maps": "Number of map tasks that generate the data, and so of the files that it lies in.",
    "reduces": "Number of reduce tasks of the sorting or counting job.",
    "iterations": "Number of iterations, each of them a job.",
    "clusters": "Number of clusters that are looked for, and of centres that the points are generated around.",
    "payload": "Bytes written or sent: a pattern as in stock jobs, or random ones, which can't be compressed.",
    "seed": "Seed of everything random in generated data; the same seed makes the same data. 1 if left out.",
}
_PAYLOAD = choice("payload", ("pattern", "random"))
_FORMS: dict[str, Form] = {"data": SIZE, "data_per_node": SIZE, "payload": _PAYLOAD}
_TYPES: dict[str, Any] = {"payload": Annotated[str, _PAYLOAD]}


class WorkloadOptions(Section):
    """What every workload takes."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["data"]}, {"required": ["data_per_node"]}]})

    data: Size | None = None
    """Bytes to process at full scale; a lab multiplies them by its scale."""
    data_per_node: Size | None = None
    """The same for each worker in use, in place of data: the whole grows with the workers."""
    waves: Positive | None = None
    """As many tasks as the workers in use run at once, times this: files, reduces or maps, whichever it has."""
    label: Label | None = None
    """Name in results instead of the workload's own, needed when a plan has one workload twice."""

    @model_validator(mode="after")
    def _data_once(self) -> Self:
        if (self.data is None) == (self.data_per_node is None):
            both = "write either data or data_per_node" if self.data else "data is missing: write data or data_per_node"
            raise ValueError(both)
        return self


class _OneWorkload(Section):
    """Exactly one workload with its options."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError(f"each list item names one workload; valid: {', '.join(WORKLOAD_OPTIONS)}")
        return self


def _options_model(workload: str, options: Iterable[str]) -> type[WorkloadOptions]:
    fields: dict[str, Any] = {
        option: (_TYPES.get(option, Positive) | None, Field(default=None, description=_OPTION_HELP[option]))
        for option in options
    }
    return create_model(workload, __base__=WorkloadOptions, __doc__=f"Options of {workload}.", **fields)


def _entry_model() -> type[_OneWorkload]:
    fields: dict[str, Any] = {
        workload.replace("-", "_"): (
            _options_model(workload, options) | None,
            Field(default=None, alias=workload, description=f"Run {workload}."),
        )
        for workload, options in WORKLOAD_OPTIONS.items()
    }
    return create_model("Workload", __base__=_OneWorkload, __doc__=_OneWorkload.__doc__, **fields)


WorkloadEntry: Any = _entry_model()
"""One item of a plan's ``workloads``: a model made from :data:`WORKLOAD_OPTIONS`, so that the two can't differ."""


def workload_of(entry: Section, workers: int) -> WorkloadSpec:
    """Return the workload that a validated :data:`WorkloadEntry` names, on ``workers`` nodes."""
    ((name, options),) = entry.model_dump(by_alias=True, exclude_none=True).items()
    data, label, per_node = options.pop("data", None), options.pop("label", None), options.pop("data_per_node", None)
    given = {option: str(value) for option, value in options.items()}
    return WorkloadSpec(name, data or per_node * workers, given, label, per_node)


def workload_option(factor: str, workloads: Iterable[WorkloadSpec]) -> tuple[WorkloadSpec, str] | None:
    """Return the workload and the option that a factor ``WORKLOAD.option`` varies; None for any other factor.

    ``WORKLOAD`` is a key of one of ``workloads``: its label if it has one, else its name. An engine parameter that
    begins with the same word stays an engine parameter, because the option has to be one of that workload's.
    """
    key, _, option = factor.partition(".")
    return next(
        (
            (workload, option)
            for workload in workloads
            if workload.key == key and option in varied_options(workload.name)
        ),
        None,
    )


def option_form(option: str) -> Form:
    """Return the form of an option's value."""
    return _FORMS.get(option, POSITIVE)


def varied_options(workload: str) -> tuple[str, ...]:
    """Return the options of ``workload`` that a factor can vary."""
    return ("data", "data_per_node", "waves", *WORKLOAD_OPTIONS[workload])
