"""Define a plan file's workloads and their options.

In: the options that each workload declares. Out: the pydantic model of an item of ``workloads``, and the
:class:`WorkloadSpec` of a validated item.
"""

from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, create_model, model_validator

from assay.model import WorkloadSpec
from assay.specs.fields import (
    POSITIVE,
    SIZE,
    WHOLE_NUMBER_MAX,
    FieldFormat,
    Label,
    Positive,
    Size,
    choice,
    whole_number,
)
from assay.specs.section import Section
from assay.workloads.catalogue import workloads
from assay.workloads.workload import Option, Workload


class WorkloadOptions(Section):
    """Options of every workload."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["data"]}, {"required": ["data_per_node"]}]})

    data: Size | None = None
    """Bytes to process at full scale; a lab multiplies them by its scale."""
    data_per_node: Size | None = None
    """Bytes for each used worker, instead of data: the total grows with the number of workers."""
    waves: Positive | None = None
    """Waves of tasks: sets files, reduces or maps to this times the concurrent tasks of the used workers."""
    label: Label | None = None
    """Name in results instead of the workload's name, needed when a plan has a workload twice."""

    @model_validator(mode="after")
    def _data_once(self) -> Self:
        if (self.data is None) == (self.data_per_node is None):
            message = (
                "write either data or data_per_node" if self.data else "data is missing: write data or data_per_node"
            )
            raise ValueError(message)
        return self


class _OneWorkload(Section):
    """Exactly one workload with its options."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError(f"each list item names one workload; valid: {', '.join(workloads())}")
        return self


def _options_model(workload: Workload) -> type[WorkloadOptions]:
    fields: dict[str, Any] = {
        option.name: (Annotated[Any, _format_of(option)] | None, Field(default=None, description=option.help))
        for option in workload.options
    }
    return create_model(workload.name, __base__=WorkloadOptions, __doc__=f"Options of {workload.name}.", **fields)


def workload_entry() -> Any:
    """Return the model of one item of a plan's ``workloads``, with the options that workloads declare."""
    fields: dict[str, Any] = {
        name.replace("-", "_"): (
            _options_model(workload) | None,
            Field(default=None, alias=name, description=f"Run {name}."),
        )
        for name, workload in workloads().items()
    }
    return create_model("Workload", __base__=_OneWorkload, __doc__=_OneWorkload.__doc__, **fields)


def workload_of(entry: Section, workers: int) -> WorkloadSpec:
    """Return the workload that a validated :func:`workload_entry` names, on ``workers`` nodes."""
    ((name, options),) = entry.model_dump(by_alias=True, exclude_none=True).items()
    data_bytes, label, per_node_bytes = (
        options.pop("data", None),
        options.pop("label", None),
        options.pop("data_per_node", None),
    )
    parameters = {option: str(value) for option, value in options.items()}
    return WorkloadSpec(name, data_bytes or per_node_bytes * workers, parameters, label, per_node_bytes)


def varied_options(workload: str) -> dict[str, FieldFormat]:
    """Return the options of ``workload`` that a factor can vary, with the formats of their values."""
    workload_formats = {option.name: _format_of(option) for option in workloads()[workload].options}
    return {"data": SIZE, "data_per_node": SIZE, "waves": POSITIVE, **workload_formats}


def _format_of(option: Option) -> FieldFormat:
    return choice(option.name, option.choices) if option.choices else whole_number(option.minimum, WHOLE_NUMBER_MAX)
