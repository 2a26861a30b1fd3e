"""Parse the cells of ALOJA's tables of runs, or give the reason to skip a row.

In: a table's header and cells. Out: values that rows share: labels, engine parameters, clusters.
docs/reference/import-aloja.md describes the formats and their pitfalls. Each line is split separately, so that a stray
quotation mark damages only one row.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from operator import itemgetter
from typing import Any, Final

from assay.model import CodedWarning, Run, RunStatus, WarningCode, foreign_run
from assay.store.formats.aloja import codes
from assay.store.formats.aloja.joins import Clusters, JoinedCluster
from assay.store.formats.aloja.names import FolderName
from assay.store.formats.aloja.times import DURATION_S_MAX
from assay.workloads.catalogue import known_name

VALID_MIN_S: Final = 60.0
"""Minimum duration of runs that ALOJA calls valid, in seconds."""
_DELIMITERS: Final = ",;\t|"
_NAMES: Final[Mapping[str, str]] = {
    "idexec": "id",
    "id": "id",
    "idcluster": "cluster",
    "cluster": "cluster",
    "exec": "exec",
    "execconf": "exec",
    "bench": "bench",
    "benchmark": "bench",
    "exetime": "duration",
    "starttime": "start",
    "endtime": "end",
    "net": "net",
    "disk": "disk",
    "benchtype": "bench_type",
    "maps": "maps",
    "iosf": "iosf",
    "iosfac": "iosf",
    "iosfs": "iosf",
    "replication": "replication",
    "rep": "replication",
    "iofilebuf": "iofilebuf",
    "iofbuf": "iofilebuf",
    "comp": "comp",
    "blksize": "blk_size",
    "valid": "valid",
    "filter": "filter",
    "outlier": "outlier",
    "exectype": "exec_type",
    "hadoopversion": "hadoop",
    "datasize": "datasize",
    "scalefactor": "scale",
    "clname": "cluster_name",
    "datanodes": "datanodes",
    "headnodes": "headnodes",
    "vmos": "vm_os",
    "vmcores": "cores",
    "vmram": "ram_gb",
    "provider": "provider",
    "vmsize": "vm_size",
    "servicetype": "service_type",
    "type": "service_type",
    "runningcost": "cost",
}
"""Lower-case letters and digits of a column's header to its field: ``IO.SFac``, ``io_sfac`` and ``IO SFac`` are
equal."""
_REQUIRED: Final = frozenset({"bench", "duration", "net", "disk", "maps", "comp"})
_LABELS: Final = (
    "bench",
    "net",
    "disk",
    "bench_type",
    "valid",
    "filter",
    "outlier",
    "exec_type",
    "hadoop",
    "datasize",
    "scale",
)
ENGINE_FIELDS: Final = ("maps", "iosf", "replication", "iofilebuf", "comp", "blk_size")
_CLUSTER: Final = (
    "disk",
    "cluster",
    "cluster_name",
    "datanodes",
    "headnodes",
    "vm_os",
    "cores",
    "ram_gb",
    "provider",
    "vm_size",
    "service_type",
)
_NUMBER: Final = re.compile(r"\d{1,12}(\.\d{1,12})?", re.ASCII)
ZEROS: Final = re.compile(r"(?<=\d)[.,]0+$|(?<=[.,]\d)0+$", re.MULTILINE)
"""Insignificant zeros at the end of a cell. A text of many cells has one per line."""
_VALID: Final = {"1": True, "true": True, "0": False, "false": False}


@dataclass(frozen=True, slots=True)
class ExecHeader:
    """A table's first line: its delimiter, and the column of each field."""

    text: str
    delimiter: str
    width: int
    column_numbers: Mapping[str, int]


def header_of(line: str) -> ExecHeader | None:
    """Return the parsed header of a table of ALOJA's runs; None for other lines."""
    for delimiter in _DELIMITERS:
        cells = [cell.strip() for cell in cells_of(line, delimiter) or ()]
        keys = [_NAMES.get(re.sub(r"[^a-z0-9]", "", cell.lower()), "") for cell in cells]
        known_keys = [key for key in keys if key]
        if set(known_keys) >= _REQUIRED and len(set(known_keys)) == len(known_keys):
            return ExecHeader(line, delimiter, len(cells), {key: number for number, key in enumerate(keys) if key})
    return None


def cells_of(line: str, delimiter: str) -> list[str] | None:
    """Return a line's cells; None if its quotation marks are unbalanced."""
    if '"' not in line:
        return line.split(delimiter)
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True))
    except (csv.Error, StopIteration):
        return None


@dataclass(frozen=True, slots=True)
class CellSelection:
    """A selection of cells of a row by field; fields without a column are omitted."""

    names: tuple[str, ...]
    column_numbers: tuple[int, ...]
    cells: Callable[[Sequence[str]], tuple[str, ...]]

    @classmethod
    def of(cls, header: ExecHeader, names: Sequence[str]) -> CellSelection:
        """Return a selection of the fields that the table has."""
        present_names = tuple(name for name in names if name in header.column_numbers)
        column_numbers = tuple(header.column_numbers[name] for name in present_names)
        if len(column_numbers) < 2:  # itemgetter then returns no tuple
            return cls(present_names, column_numbers, lambda cells: tuple(cells[number] for number in column_numbers))
        return cls(present_names, column_numbers, itemgetter(*column_numbers))

    def fields(self, cells: tuple[str, ...]) -> dict[str, str]:
        """Return the cells by field."""
        return {name: cell.strip() for name, cell in zip(self.names, cells, strict=True)}


def _in_column_order(header: ExecHeader, names: Sequence[str]) -> list[str]:
    """Return the ``names`` that the table has, in column order."""
    return sorted((name for name in names if name in header.column_numbers), key=header.column_numbers.__getitem__)


@dataclass(frozen=True, slots=True)
class _ClusterWithEnvironment:
    """The cluster of a run, with the environment that describes it."""

    joined: JoinedCluster
    environment: dict[str, Any]


class ExecTable:
    """A table during parsing. Rows with equal cells share the parsed objects."""

    def __init__(self, name: str, header: ExecHeader, clusters: Clusters, earlier_tables: Sequence[ExecTable]) -> None:
        self.name = name
        self.header = header
        self.clusters = clusters
        self.earlier_tables = earlier_tables
        """Tables that were read earlier."""
        self.line_by_key: dict[str, int] = {}
        """Key to line of each imported run."""
        self.ids: dict[str, int] = {}
        """ALOJA's id to line of each imported run."""
        self.labels = CellSelection.of(header, _in_column_order(header, _LABELS))
        self.engine = CellSelection.of(header, _in_column_order(header, ENGINE_FIELDS))
        self.cluster = CellSelection.of(header, _in_column_order(header, _CLUSTER))
        self.label_of = cache(self._label)
        self.parameters_of = cache(self._parameters)
        self.cluster_of = cache(self._join_cluster)
        self.sources_of = cache(partial(_sources, has_valid_column="valid" in header.column_numbers))
        self.duration_of = cache(partial(_duration, delimiter=header.delimiter))

    def cells(self, line: str) -> list[str]:
        """Return a line's cells. Raises ValueError with the reason if they are not a row."""
        row_cells = cells_of(line, self.header.delimiter)
        if row_cells is None:
            raise ValueError("its quotation marks are not balanced")
        if len(row_cells) != self.header.width:
            raise ValueError(f"has {len(row_cells)} cells where the header has {self.header.width}")
        return row_cells

    def cost_usd(self, cost: str) -> float | None:
        """Return the run's cost in US dollars from a cell; None if it is not a number."""
        return _number(cost, self.header.delimiter) if cost else None

    def register(self, key: str, identity: str, number: int) -> None:
        """Register the run of line ``number`` as imported. Raises ValueError if the run or its id is registered."""
        for table in (*self.earlier_tables, self):
            if key in table.line_by_key:
                raise ValueError(f"the same run is at {table.name}:{table.line_by_key[key]}")
        if identity and self.ids.setdefault(identity, number) != number:
            raise ValueError(
                f"the id {identity} is also at line {self.ids[identity]}, for another run: correct one of the two ids"
            )
        self.line_by_key[key] = number

    def are_new(self, keys: Mapping[str, int]) -> bool:
        """Return whether no run with one of these keys was imported, from this or an earlier table."""
        return all(table.line_by_key.keys().isdisjoint(keys) for table in (*self.earlier_tables, self))

    def _label(self, cells: tuple[str, ...]) -> Run:
        """Return the run that all rows with these labels share as a template."""
        fields = self.labels.fields(cells)
        workload = known_name(codes.known_text(fields["bench"]).lower())
        if not workload:
            raise ValueError("has no benchmark")
        is_valid = _VALID.get(fields.get("valid", "1").lower())
        if is_valid is None:
            raise ValueError(f"valid is {fields['valid'][:40]!r}, which is neither 0 nor 1")
        network = codes.network(fields["net"])
        return foreign_run(
            workload=workload,
            duration_s=0.0,
            status=RunStatus.VALID if is_valid else RunStatus.INVALID,
            cause=None if is_valid else codes.INVALID,
            layout=codes.layout_name(fields["disk"]),
            levels={"network": network} if network else {},
            engine_version=codes.known_text(fields.get("hadoop", "")),
            workload_parameters=codes.workload_parameters(
                fields.get("bench_type", ""), fields.get("datasize", ""), fields.get("scale", "")
            ),
            warnings=codes.remarks(fields),
        )

    def _parameters(self, cells: tuple[str, ...]) -> dict[str, str]:
        return codes.parameters(self.engine.fields(cells))

    def _join_cluster(self, cells: tuple[str, ...], location: str) -> _ClusterWithEnvironment:
        fields = self.cluster.fields(cells)
        joined = self.clusters.join(fields, location)
        facts = {**joined.facts, **codes.layout_facts(codes.layout_name(fields["disk"]))}
        return _ClusterWithEnvironment(joined, {"cluster": facts})


@lru_cache(maxsize=100_000)
def plain(cell: str) -> str:
    """Normalise a cell of a key: ``808.000`` and ``808`` are the same time."""
    return ZEROS.sub("", cell.strip())


def row_warnings(label: Run, duration_s: float, folder: FolderName) -> tuple[CodedWarning, ...]:
    """Return the warnings about a row."""
    warnings: tuple[CodedWarning, ...] = ()
    if duration_s < VALID_MIN_S and label.status is RunStatus.VALID:
        message = f"ALOJA marks it valid, but no other run under {VALID_MIN_S:.0f} s"
        warnings = (CodedWarning(WarningCode.FLAGGED, message),)
    differences = folder.differences(label)
    return (*warnings, CodedWarning(WarningCode.SOURCES_DIFFER, differences)) if differences else warnings


def _sources(start_source: str, cluster: str, has_valid_column: bool) -> dict[str, str]:
    from_column = "the table's column valid"
    without_column = "the table has no column valid: ALOJA exports valid runs only"
    return {
        "duration_s": "exe_time of ALOJA's table: the benchmark's wall time, in whole seconds",
        "started_at": start_source,
        "status": from_column if has_valid_column else without_column,
        "cluster": cluster,
    }


def _number(text: str, delimiter: str) -> float | None:
    """Return a number; None for other texts. A comma is a decimal separator unless it is the delimiter."""
    text = text.strip()
    if delimiter != ",":
        text = text.replace(",", ".")
    return float(text) if _NUMBER.fullmatch(text) else None


def _duration(text: str, delimiter: str) -> float:
    """Return a duration in seconds. Raises ValueError for an implausible duration."""
    if not codes.known_text(text):
        raise ValueError("has no duration")
    seconds = _number(text, delimiter)
    if seconds is None:
        raise ValueError(f"the duration is {text.strip()[:40]!r}, which is not a positive number of seconds")
    if seconds == 0:
        raise ValueError("the duration is 0 s: nothing was measured")
    if seconds > DURATION_S_MAX:
        raise ValueError(f"the duration is {seconds:.0f} s, more than 30 days: not a time that a benchmark takes")
    return seconds
