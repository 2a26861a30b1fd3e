"""Define the fields of a table with a map: their values, the key of a run, and the reason to skip a row.

In: texts by field (:data:`~assay.store.formats.tables.table.FIELDS`), with the defaults of all rows. Out: values of a
run, and parts of its key.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Final

from assay.foundation.units import parse_bytes
from assay.model import SOURCE_ID_LENGTH_MAX, Origin, Run, RunStatus, SkippedItem, foreign_run, unescaped_text
from assay.model.runs.throughput import JOB_THROUGHPUT, JOB_THROUGHPUT_SOURCE
from assay.specs.fields import unknown
from assay.store.formats.tables.durations import written_duration_s
from assay.store.formats.tables.printed import BYTES_MAX, duration_problem, utc_of
from assay.workloads.catalogue import known_name

DURATIONS: Final = {"duration_ms": 0.001, "duration_s": 1.0, "duration_min": 60.0, "duration_h": 3600.0}
"""Numeric duration fields, with their unit in seconds."""
NAME_PATTERNS: Final = {
    "level": re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}"),
    "parameter": re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+"),
    "option": re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}"),
    "metric": re.compile(r"[a-z][a-z0-9_]{0,63}"),
}
"""Kinds of fields with a name after a colon, and the pattern of valid names."""
HARDWARE: Final = ("workers", "cores", "memory_bytes", "instance_type", "provider", "service_type")
"""Fields that describe the workers of the run's cluster. Cores and memory are those of one worker."""
_COUNT_MAX: Final = 1_000_000
"""Maximum number of workers or of cores. A larger value is an error in the file."""
DURATION_MIN_S: Final = 0.001
"""Minimum duration of a run, in seconds. A shorter duration is an error in the file or in its unit."""
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_WHOLE = re.compile(r"[0-9]+\.0+")
_COMMA = re.compile(r"[+-]?(?P<whole>[0-9]+),(?P<decimals>[0-9]+)")
_TEXT_LENGTH_MAX = 1000
"""Maximum length of a text in a cell, in characters."""
_NUMBER_LENGTH_MAX = 40
"""Maximum length of a number in a cell, in characters."""


def is_number(name: str) -> bool:
    """Return whether a field's cells are numbers."""
    return name in DURATIONS or name == "data_bytes" or name.startswith("metric:")


@dataclass(frozen=True, slots=True)
class RowProblems:
    """The checks that find the reason to skip a row of one table."""

    name: str
    columns: Mapping[str, int]
    """The column of each field."""
    defaults: Mapping[str, str]
    """Values of fields that a row leaves empty."""
    origin: Origin
    _: KW_ONLY
    decimal_comma: bool

    def skipped(self, line: int, cells: Sequence[str] | str) -> SkippedItem:
        """Return an unreadable row with the first reason. ``cells``: the row's cells, or the reason."""
        return SkippedItem(f"{self.name}:{line}", cells if isinstance(cells, str) else self._problem(cells))

    def _problem(self, cells: Sequence[str]) -> str:
        texts = {name: cell_text(cells[column]) for name, column in self.columns.items()}
        values = {**self.defaults, **{name: text for name, text in texts.items() if text}}
        try:
            check_texts(values, self.origin)
            duration_of(values, self.decimal_comma)
            if "data_bytes" in values:
                bytes_of(values["data_bytes"], self.decimal_comma)
            label_of(values, self.origin)
            for name, text in _texts(values, "metric").items():
                number_of(text, name, self.decimal_comma)
            started_of(values.get("started_at", ""))
        except ValueError as error:
            return str(error)
        raise AssertionError(f"{self.name}: this row has no invalid field: {values}")


def cell_text(cell: str) -> str:
    """Return a cell's text."""
    return unescaped_text(cell.strip())


def check_texts(values: Mapping[str, str], origin: Origin) -> None:
    """Raise :class:`ValueError` for a row without a required field, and for a text of several lines."""
    if not values.get("workload"):
        raise ValueError("has no workload")
    if origin is Origin.PUBLISHED and not values.get("source"):
        raise ValueError("has no source, which a published result needs")
    for name, text in values.items():
        if len(text) > _TEXT_LENGTH_MAX or not text.isprintable():
            raise ValueError(f"{name} is {text[:20]!r}…, which is not a single line of text")


def label_of(values: Mapping[str, str], origin: Origin) -> Run:
    """Return the label of a row: a run with its texts and without figures, which all rows with equal texts copy."""
    status, cause = _status(values)
    cluster = hardware_of(values)
    return foreign_run(
        workload=known_name(values.get("workload", "")),
        duration_s=0.0,
        status=status,
        cause=cause,
        origin=origin,
        engine=values.get("engine", "hadoop"),
        engine_version=values.get("engine_version", ""),
        cluster=values.get("cluster", "") or cluster_name(cluster),
        environment={"cluster": cluster} if cluster else {},
        layout=values.get("layout", ""),
        levels=_texts(values, "level"),
        parameters=_texts(values, "parameter"),
        workload_parameters=_texts(values, "option"),
        sources={"duration_s": values.get("source") or "the table"},
    )


def hardware_of(values: Mapping[str, str]) -> dict[str, int | float | str]:
    """Return a row's hardware, as in an environment. Raises :class:`ValueError` with the reason."""
    hardware: dict[str, int | float | str] = {}
    for name, key in (("workers", "workers"), ("cores", "cores")):
        if name in values:
            count = number_of(values[name], name, decimal_comma=False)
            if not 0 < count <= _COUNT_MAX or (name == "workers" and count != int(count)):
                raise ValueError(f"{name} is {values[name]!r}, which is not a valid {name}")
            hardware[key] = int(count) if count == int(count) else count
    if "memory_bytes" in values:
        if not (memory_bytes := bytes_of(values["memory_bytes"], False, "memory_bytes")):
            raise ValueError("memory_bytes is 0, but a worker has memory")
        hardware["ram_gb"] = memory_bytes / 1e9
    for name, key in (("instance_type", "vm_size"), ("provider", "provider"), ("service_type", "service_type")):
        if name in values:
            hardware[key] = values[name]
    return hardware


def cluster_name(hardware: Mapping[str, int | float | str]) -> str:
    """Return a name for an unnamed cluster: its hardware, so that runs on equal hardware belong to one cluster."""
    size = str(hardware.get("vm_size", ""))
    if not size:
        parts = (("cores", " cores"), ("ram_gb", " GB"))
        size = " ".join(f"{hardware[fact]:g}{unit}" for fact, unit in parts if fact in hardware)
    count = f"{hardware['workers']}x" if "workers" in hardware else ""
    return " ".join(filter(None, (str(hardware.get("provider", "")), count, size)))


def sources_of(source: str, *, with_throughput: bool) -> dict[str, str]:
    """Return the sources of a row's figures; ``with_throughput``: assay computes the throughput."""
    return {"duration_s": source, **({JOB_THROUGHPUT: JOB_THROUGHPUT_SOURCE} if with_throughput else {})}


def started_of(text: str) -> tuple[str, dict[str, str]]:
    """Return a run's start in UTC, or the text as written for its environment. Raises :class:`ValueError`."""
    started_at = utc_of(text) if text else ""
    if started_at is None:
        raise ValueError(f"started_at is {text!r}, which is not an ISO 8601 date and time")
    return started_at, {} if started_at or not text else {"started_at_as_written": text}


def source_id_of(text: str) -> str:
    """Return the source's id of a run."""
    return text[:SOURCE_ID_LENGTH_MAX]


def shows_comma(cell: str) -> bool:
    """Return whether ``cell`` is a number whose comma must separate decimals."""
    match = _COMMA.fullmatch(cell)
    return match is not None and (len(match["decimals"]) != 3 or match["whole"].startswith("0") or len(match[0]) > 8)


def number_of(text: str, name: str, decimal_comma: bool) -> float:
    """Return a cell's number. Raises :class:`ValueError` for other texts and for ambiguous commas."""
    if len(text) > _NUMBER_LENGTH_MAX:
        raise ValueError(f"{name} is {text[:12]!r}…, which is too long for a number")
    if _COMMA.fullmatch(text):
        if not decimal_comma:
            raise ValueError(f"{name} is {text!r}: the comma may separate thousands or decimals; use a point")
        text = text.replace(",", ".")
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise ValueError(f"{name} is {text!r}, which is not a number")
    return value


def duration_of(values: Mapping[str, str], decimal_comma: bool) -> float:
    """Return a row's duration in seconds. Raises :class:`ValueError` without a possible duration."""
    name = next((name for name in ("duration", *DURATIONS) if name in values), None)
    if name is None:
        raise ValueError("has no duration")
    text = values[name]
    if name == "duration":
        if len(text) > _NUMBER_LENGTH_MAX:
            raise ValueError(f"{text[:12]!r}… is too long for a duration")
        duration_s = written_duration_s(text)
    else:
        duration_s = number_of(text, name, decimal_comma) * DURATIONS[name]
    if problem := duration_problem(duration_s):
        raise ValueError(problem)
    if duration_s < DURATION_MIN_S:
        raise ValueError(f"a run of {duration_s:g} s is not plausible: is the unit right?")
    return duration_s


def bytes_of(text: str, decimal_comma: bool, name: str = "data_bytes") -> int:
    """Return a cell's number of bytes. Raises :class:`ValueError` for other texts."""
    if len(text) <= _NUMBER_LENGTH_MAX and text.endswith("B"):
        count = float(parse_bytes(text))
    else:
        count = number_of(text, name, decimal_comma)
    if not 0 <= count <= BYTES_MAX or count != int(count):
        raise ValueError(f"{name} is {text!r}, which is not a number of bytes")
    return int(count)


def _texts(values: Mapping[str, str], kind: str) -> dict[str, str]:
    prefix = f"{kind}:"
    return {name.removeprefix(prefix): text for name, text in values.items() if name.startswith(prefix)}


def key_text(name: str, text: str) -> str:
    """Normalise a text for a key: spaces are collapsed, and 8.0 becomes 8."""
    collapsed_text = " ".join(text.split())
    is_numeric = name.partition(":")[0] in NAME_PATTERNS or name in HARDWARE
    return collapsed_text.partition(".")[0] if is_numeric and _WHOLE.fullmatch(collapsed_text) else collapsed_text


def key_number(value: float) -> str:
    """Normalise a number for a key: 1119, 1119.0 and 1.119e3 are equal."""
    return f"{value:.12g}"


def key_item(name: str, text: str) -> str:
    """Return the part of a key for a field."""
    return json.dumps([name, text])


def key_of(origin: Origin, items: Iterable[str]) -> str:
    """Return a row's key from the parts of its fields, which are sorted by name."""
    return f"[{json.dumps(str(origin))}, [{', '.join(items)}]]"


def _status(values: Mapping[str, str]) -> tuple[RunStatus, str | None]:
    text = values.get("status", RunStatus.VALID).lower()
    if text not in [str(status) for status in RunStatus]:
        raise ValueError(unknown("status", text, [str(status) for status in RunStatus]))
    status = RunStatus(text)
    return status, None if status is RunStatus.VALID else values.get("cause") or f"the table says {text}"
