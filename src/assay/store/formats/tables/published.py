"""Import results that a person typed from a paper or a report: YAML that names its source.

In: a file with ``source``, ``runs`` and settings that all runs share (``cluster``, ``engine``, ``engine_version``,
``levels``, ``parameters``). A run has a workload and a ``duration``, or ``data`` and ``throughput``, from which the
duration follows. Quantities carry their units. A metric whose name ends in ``_mb_per_s`` is in 10^6 bytes/s unless its
value has a unit (``722.56MiB/s``). ``ratios`` are results that a source prints only as a ratio of two layouts. They are
checked but not imported, with the reason that a ratio is not a run. Out: runs of origin ``published``, or of the origin
in ``origin``.

The file is read as strictly as a plan: if anything is wrong, the whole file is rejected, with every error and its line.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import Field, field_validator, model_validator

from assay.foundation.errors import FormatError, SpecificationError
from assay.foundation.units import parse_byte_rate
from assay.model import CodedWarning, ImportedRun, Origin, Run, RunStatus, SkippedItem, WarningCode, foreign_run
from assay.model.runs.throughput import JOB_THROUGHPUT, JOB_THROUGHPUT_SOURCE, job_throughput_mb_per_s
from assay.specs.document import Document, document_of
from assay.specs.fields import (
    ByteRate,
    Duration,
    FieldFormat,
    Label,
    MetricName,
    Name,
    ParameterName,
    Scalar,
    Size,
    Text,
    choice,
    text_of,
)
from assay.specs.section import Section, parse
from assay.store.formats.format import Format, read_each
from assay.store.formats.source import Source
from assay.store.formats.tables.printed import duration_problem, utc_of

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
_NUMBER_LENGTH_MAX = 40
"""Maximum length of a number, in characters."""
_MB_PER_S = "_mb_per_s"


@dataclass(frozen=True, slots=True)
class Amount:
    """A metric's value. With ``is_rate``, it was written with a unit and is in 10^6 bytes/s."""

    value: float
    is_rate: bool


def _amount(value: object) -> Amount:
    text = text_of(value).strip()
    if len(text) > _NUMBER_LENGTH_MAX:
        raise ValueError(f"{text[:12]!r}… is too long for a number")
    is_rate = text.endswith("B/s")
    number = math.nan
    if is_rate:
        number = parse_byte_rate(text) / 1e6
    elif _NUMBER.fullmatch(text):
        number = float(text)
    if not math.isfinite(number):
        raise ValueError(f'{text!r} is not a number of at least 0; write "12.5", or "12.5MiB/s" for a rate')
    return Amount(number, is_rate)


def _positive(value: object) -> float:
    amount = _amount(value)
    if amount.is_rate or amount.value <= 0:
        raise ValueError(f"{value!r} is not a ratio; write a number above 0, such as 1.7")
    return amount.value


_AMOUNT = {"type": ["string", "number"], "description": "A number; a rate may have a unit", "examples": [0.5, "9MB/s"]}
_RATIO = {"type": ["string", "number"], "description": "A ratio above 0", "examples": [1.7]}
Levels = dict[Name, Text]
Parameters = dict[ParameterName, Scalar]


class ResultSection(Section):
    """One run as its source prints it."""

    workload: Label
    """The workload."""
    duration: Duration | None = None
    """Wall time, such as 1756s or 12 min."""
    throughput: ByteRate | None = None
    """Instead of a duration: data over wall time. Needs ``data``."""
    data: Size | None = None
    """Bytes that the workload had to process."""
    layout: Name | None = None
    """A layout's code or name."""
    cluster: Name | None = None
    """The cluster, unless the file names one for all."""
    status: Annotated[str, choice("status", RunStatus)] = RunStatus.VALID
    """How the run ended."""
    cause: Text | None = None
    """Why it is invalid or failed."""
    started_at: Text | None = None
    """When it started: ISO 8601 with its time zone."""
    levels: Levels = Field(default_factory=dict)
    """Factors other than engine parameters, for example network."""
    parameters: Parameters = Field(default_factory=dict)
    """Engine parameters under their current names."""
    options: dict[Label, Scalar] = Field(default_factory=dict)
    """The workload's options, for example files."""
    metrics: dict[MetricName, Annotated[Amount, FieldFormat(_amount, _AMOUNT)]] = Field(default_factory=dict)
    """Further figures; the unit stands last in the name."""
    source: Text | None = None
    """Where in the file's source: table 4, page 7."""
    note: Text | None = None
    """A remark on this figure for readers."""

    @field_validator("started_at", mode="after")
    @classmethod
    def _in_utc(cls, value: str | None) -> str | None:
        utc_text = utc_of(value) if value is not None else None
        if value is not None and not utc_text:
            raise ValueError(f"{value[:40]!r} is not a date and time with a zone; write 2015-09-07T12:00:00Z")
        return utc_text

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.duration is None) == (self.throughput is None):
            raise ValueError("a run has a duration, or data and a throughput: one of the two")
        if self.throughput is not None and self.data is None:
            raise ValueError("a throughput needs data, from which the duration follows")
        if problem := duration_problem(self.duration_s):
            raise ValueError(problem)
        if self.status != RunStatus.VALID and self.cause is None:
            raise ValueError(f"a run that is {self.status} needs a cause")
        for name, amount in self.metrics.items():
            if amount.is_rate and not name.endswith(_MB_PER_S):
                raise ValueError(f"metric {name} has a rate's unit, but its name does not end in {_MB_PER_S}")
        return self

    @property
    def duration_s(self) -> float:
        """Wall time in seconds, as written or as it follows."""
        if self.duration is not None:
            return self.duration
        assert self.throughput is not None
        assert self.data is not None
        return self.data / self.throughput


class RatioSection(Section):
    """A ratio of two layouts that a source prints without the times behind it."""

    workload: Label
    """The workload."""
    layout: Name
    """The layout that is compared."""
    baseline: Name
    """The layout that it is compared with."""
    speedup: Annotated[float, FieldFormat(_positive, _RATIO)]
    """The baseline's time over the layout's."""
    levels: Levels = Field(default_factory=dict)
    """As in runs."""
    parameters: Parameters = Field(default_factory=dict)
    """As in runs."""
    source: Text | None = None
    """Where in the file's source."""
    note: Text | None = None
    """A remark on this figure for readers."""


class ResultsFile(Section):
    """A file of results typed by hand."""

    source: Text
    """Who printed the results, and where."""
    origin: Annotated[str, choice("origin", Origin)] = Origin.PUBLISHED
    """published, unless they are your own."""
    cluster: Name | None = None
    """The cluster of runs that name none."""
    engine: Name = "hadoop"
    """hadoop or spark."""
    engine_version: Text | None = None
    """The engine's version."""
    levels: Levels = Field(default_factory=dict)
    """Levels of all runs; a run's levels take precedence."""
    parameters: Parameters = Field(default_factory=dict)
    """Parameters of all runs; a run's parameters take precedence."""
    runs: list[ResultSection] = Field(default_factory=list)
    """The runs."""
    ratios: list[RatioSection] = Field(default_factory=list)
    """Results that are printed only as a ratio."""

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not self.runs and not self.ratios:
            raise ValueError("the file has neither runs nor ratios")
        return self


def _run(file: ResultsFile, section: ResultSection) -> Run:
    source = f"{file.source}; {section.source}" if section.source else file.source
    metrics = {name: amount.value for name, amount in section.metrics.items()}
    sources = {"duration_s": source} | dict.fromkeys(metrics, source)
    warnings: tuple[CodedWarning, ...] = ()
    if section.throughput is not None:
        sources["duration_s"] = f"data over the throughput that is printed in {source}"
        warnings = (CodedWarning(WarningCode.TIME, "the duration follows from a printed throughput"),)
    if section.data is not None and JOB_THROUGHPUT not in metrics:
        metrics[JOB_THROUGHPUT] = job_throughput_mb_per_s(section.data, section.duration_s)
        sources[JOB_THROUGHPUT] = source if section.throughput else JOB_THROUGHPUT_SOURCE
    if section.data is not None:
        sources["data_bytes"] = source
    return foreign_run(
        workload=section.workload,
        duration_s=section.duration_s,
        status=RunStatus(section.status),
        cause=section.cause,
        origin=Origin(file.origin),
        engine=file.engine,
        engine_version=file.engine_version or "",
        cluster=section.cluster or file.cluster or "",
        layout=section.layout or "",
        levels=file.levels | section.levels,
        parameters=file.parameters | section.parameters,
        workload_parameters=section.options,
        started_at=section.started_at or "",
        data_bytes=section.data,
        metrics=metrics,
        sources=sources,
        warnings=warnings,
        environment={"source": source} | ({"note": section.note} if section.note else {}),
    )


def _parsed(source: Source) -> tuple[ResultsFile, Document]:
    try:
        document = document_of(source.content(), source.name)
        return parse(ResultsFile, document), document
    except SpecificationError as error:
        raise FormatError(error.message, where=error.where, hint=error.hint) from error


def _read(source: Source) -> Iterator[ImportedRun | SkippedItem]:
    file, document = _parsed(source)
    runs_as_written: Any = document.content.get("runs", [])
    for number, section in enumerate(file.runs):
        where = f"{source.name}:{document.line(('runs', number))}"
        key = json.dumps([file.source, runs_as_written[number]], sort_keys=True, ensure_ascii=False)
        yield ImportedRun(key, where, _run(file, section))
    for number, ratio in enumerate(file.ratios):
        where = f"{source.name}:{document.line(('ratios', number))}"
        statement = f"{ratio.workload} on {ratio.layout} {ratio.speedup:g} times as fast as on {ratio.baseline}"
        yield SkippedItem(where, f"{statement} is printed as a ratio without times, so it is not a run")


def _recognises(name: str, head: bytes) -> bool:
    lines = [line.split(b":")[0] for line in head.splitlines()]
    return name.endswith((".yaml", ".yml")) and b"source" in lines and (b"runs" in lines or b"ratios" in lines)


FORMAT = Format(
    "published", "results entered by hand in YAML, with their source", _recognises, read_each(_read), by_rows=True
)
