"""Imports ALOJA's tables of runs: its ``execs`` table as CSV, and the wider table that its learning tools exchange.

In: CSV files whose columns may stand in any order (``id_exec,id_cluster,exec,bench,exe_time,...`` or
``ID,Benchmark,Exe.Time,Net,Disk,...``), with the list of clusters among them or beside them. Out: one run a row.
Durations are seconds, ``blk_size`` is MiB; times are UTC.

Formats and their traps: docs/import-aloja.md. Rows are taken apart line by line, so that a stray quotation mark costs
one row and not the rest of the file; what rows have in common (parameters, levels, facts of the cluster) is made once
and shared.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, Final

from assay.errors import FormatError
from assay.formats import aloja_codes as codes
from assay.formats.aloja_clusters import FILE_NAME, AlojaCluster, is_clusters, parse_clusters
from assay.formats.aloja_joins import Clusters, FolderName
from assay.formats.aloja_times import Started, started
from assay.formats.importing import Format
from assay.formats.source import HEAD_BYTES, Source, decoded
from assay.model.imported import Found, Left, foreign_run
from assay.model.run import Run, RunStatus

VALID_MIN_S: Final = 60.0
"""No run that ALOJA calls valid is shorter."""
DURATION_MAX_S: Final = 30 * 86_400.0
"""Nothing that ALOJA ran takes a month; its longest run takes 25 hours."""
INVALID: Final = "ALOJA's table marks it invalid"
_DELIMITERS: Final = ",;\t|"
_NAMES: Final[Mapping[str, str]] = {
    "idexec": "id", "id": "id", "idcluster": "cluster", "cluster": "cluster", "exec": "exec", "execconf": "exec",
    "bench": "bench", "benchmark": "bench", "exetime": "duration", "starttime": "start", "endtime": "end",
    "net": "net", "disk": "disk", "benchtype": "bench_type", "maps": "maps", "iosf": "iosf", "iosfac": "iosf",
    "iosfs": "iosf", "replication": "replication", "rep": "replication", "iofilebuf": "iofilebuf",
    "iofbuf": "iofilebuf", "comp": "comp", "blksize": "blk_size", "valid": "valid", "filter": "filter",
    "outlier": "outlier", "exectype": "exec_type", "hadoopversion": "hadoop", "datasize": "datasize",
    "scalefactor": "scale", "clname": "cluster_name", "datanodes": "datanodes", "headnodes": "headnodes",
    "vmos": "vm_os", "vmcores": "cores", "vmram": "ram_gb", "provider": "provider", "vmsize": "vm_size",
    "servicetype": "service_type", "type": "service_type", "runningcost": "cost",
}  # fmt: skip
"""A header's letters and digits, small, to the field: so ``IO.SFac``, ``io_sfac`` and ``IO SFac`` are one."""
_NEEDED: Final = frozenset({"bench", "duration", "net", "disk", "maps", "comp"})
_OF_A_ROW: Final = frozenset({"id", "exec", "duration", "start", "end", "cost"})
"""Fields that differ from row to row; all others are a configuration, which many rows share."""
_NUMBER: Final = re.compile(r"\d{1,12}(\.\d{1,12})?", re.ASCII)
_VALID: Final = {"1": True, "true": True, "0": False, "false": False}


@dataclass(frozen=True, slots=True)
class Header:
    """A table's first line: how cells are parted, and which cell is which field."""

    text: str
    delimiter: str
    width: int
    places: Mapping[str, int]

    def cell(self, name: str) -> Callable[[Sequence[str]], str]:
        """Return a function from a row's cells to the field's text; empty when the table has no such column."""
        return itemgetter(self.places[name]) if name in self.places else lambda cells: ""


def header_of(line: str) -> Header | None:
    """Return the header that ``line`` is; None when it is none of ALOJA's."""
    for delimiter in _DELIMITERS:
        cells = [cell.strip() for cell in _cells(line, delimiter) or ()]
        keys = [_NAMES.get(re.sub(r"[^a-z0-9]", "", cell.lower()), "") for cell in cells]
        named = [key for key in keys if key]
        if set(named) >= _NEEDED and len(set(named)) == len(named):
            return Header(line, delimiter, len(cells), {key: place for place, key in enumerate(keys) if key})
    return None


def _cells(line: str, delimiter: str) -> list[str] | None:
    """Return a line's cells; None when its quotation marks do not pair."""
    if '"' not in line:
        return line.split(delimiter)
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True))
    except (csv.Error, StopIteration):
        return None


def _first_line(text: str) -> str:
    return next((line for line in text.split("\n") if line.strip()), "").rstrip("\r")


def recognises(name: str, head: bytes) -> bool:
    """Return whether a file is one of ALOJA's tables of runs, or its list of clusters."""
    try:
        text = decoded(head[:HEAD_BYTES], name)
    except FormatError:
        return False
    return header_of(_first_line(text)) is not None or is_clusters(text)


def read(sources: Sequence[Source]) -> Iterator[Found | Left]:
    """Yield the runs of all tables, and what could not be taken. Lists of clusters name the clusters of all tables."""
    tables, lists, unread = _sorted_out(sources)
    yield from unread
    clusters: list[AlojaCluster] = []
    for source in lists:
        try:
            clusters += parse_clusters(source.text(), source.name)
        except FormatError as error:
            yield Left(error.where or source.name, error.message)
    taken: dict[str, str] = {}
    for source, text, header in tables:
        beside = [] if lists else _beside(source)
        yield from _Table(source.name, header, Clusters(clusters or beside), taken).rows(text)
    if lists and not tables:
        for source in lists:
            yield Left(source.name, "lists clusters, which are no runs: import it together with a table of runs")


def _sorted_out(
    sources: Sequence[Source],
) -> tuple[list[tuple[Source, str, Header]], list[Source], list[Left]]:
    """Return the tables of runs with their texts, the lists of clusters, and the files that are neither."""
    tables: list[tuple[Source, str, Header]] = []
    lists: list[Source] = []
    unread: list[Left] = []
    for source in sources:
        try:
            text = source.text()
        except FormatError as error:
            unread.append(Left(error.where or source.name, error.message))
            continue
        header = header_of(_first_line(text))
        if header is not None:
            tables.append((source, text, header))
        elif is_clusters(text[:HEAD_BYTES]):
            lists.append(source)
        else:
            why = "is empty" if not text.strip() else "has not the columns of one of ALOJA's tables"
            unread.append(Left(source.name, why))
    return tables, lists, unread


def _beside(source: Source) -> list[AlojaCluster]:
    """Return the clusters that a list beside the table names; none when there is no such list or it can't be used."""
    path = source.path.parent / FILE_NAME
    try:
        return parse_clusters(Source(path, path.name).text(), path.name) if path.is_file() else []
    except FormatError:
        return []


@dataclass(slots=True)
class _Table:
    """One table while it is read."""

    name: str
    header: Header
    clusters: Clusters
    taken: dict[str, str]
    """Key to ``file:line`` of the runs that were taken, in this table and those before."""
    ids: dict[str, int] = field(default_factory=dict)
    templates: dict[tuple[Any, ...], Run | str] = field(default_factory=dict)
    durations: dict[str, float | str] = field(default_factory=dict)

    def rows(self, text: str) -> Iterator[Found | Left]:
        """Yield what each line is, but for blank ones and headers that stand again where tables were joined."""
        header = self.header
        wanted = [header.cell(name) for name in ("id", "exec", "duration", "start", "end", "cost")]
        shared = tuple(place for name, place in sorted(header.places.items()) if name not in _OF_A_ROW)
        configuration = itemgetter(*shared)
        for number, line in enumerate(text.split("\n"), start=1):
            line = line.rstrip("\r")
            if not line or line == header.text or not line.strip():
                continue
            cells = _cells(line, header.delimiter)
            if cells is None:
                yield Left(f"{self.name}:{number}", "its quotation marks do not pair")
            elif len(cells) != header.width:
                yield Left(f"{self.name}:{number}", f"has {len(cells)} cells where the header has {header.width}")
            else:
                yield self._row(number, [cell(cells) for cell in wanted], configuration(cells))

    def _row(self, number: int, own: list[str], configuration: tuple[str, ...]) -> Found | Left:
        identity, folder, duration, start, end, cost = own
        where = f"{self.name}:{number}"
        if (seconds := self._seconds(duration)).__class__ is str:
            return Left(where, str(seconds))
        duration_s = float(seconds)
        name = FolderName.of(folder.strip())
        when = started(start, end, duration_s, name, has_start="start" in self.header.places)
        template = self._template(configuration, when.source, name.place)
        if isinstance(template, str):
            return Left(where, template)
        key = name.text or " ".join((identity, duration, template.workload, template.cluster, *configuration))
        if (double := self._double(key, identity.strip(), number)) is not None:
            return Left(where, double)
        self.taken[key] = where
        warnings = template.warnings + self._warnings(template, when, duration_s, name)
        metrics = {}
        if cost and isinstance(dollars := _number(cost, self.header.delimiter), float):
            metrics = {"aloja_cost_usd": dollars}
        run = replace(template, duration_s=duration_s, started_at=when.at, warnings=warnings, metrics=metrics)
        return Found(key, where, run)

    def _seconds(self, text: str) -> float | str:
        found = self.durations.get(text)
        if found is None:
            found = self.durations[text] = _duration(text, self.header.delimiter)
        return found

    def _double(self, key: str, identity: str, number: int) -> str | None:
        """Return why a row is not taken beside one that was; None when it may be."""
        if key in self.taken:
            return f"the same run stands at {self.taken[key]}"
        if identity and self.ids.setdefault(identity, number) != number:
            return f"the id {identity} stands also at line {self.ids[identity]}, for another run: which is right?"
        return None

    def _warnings(self, template: Run, when: Started, duration_s: float, name: FolderName) -> tuple[str, ...]:
        found = when.warnings
        if duration_s < VALID_MIN_S and template.status is RunStatus.VALID:
            found += (f"ALOJA calls it valid, though no run that it calls so is under {VALID_MIN_S:.0f} s",)
        differ = name.contradictions(template)
        return found + (differ,) if differ else found

    def _template(self, configuration: tuple[str, ...], when: str, place: str) -> Run | str:
        """Return the run that all rows of this configuration are copies of; or why there is none."""
        key = (configuration, when, place)
        found = self.templates.get(key)
        if found is None:
            names = (name for name in sorted(self.header.places) if name not in _OF_A_ROW)
            fields = {name: text.strip() for name, text in zip(names, configuration, strict=True)}
            try:
                found = self._made(fields, when, place)
            except ValueError as error:
                found = str(error)
            self.templates[key] = found
        return found

    def _made(self, fields: dict[str, str], when: str, place: str) -> Run:
        workload = codes.known(fields["bench"]).lower()
        if not workload:
            raise ValueError("has no benchmark")
        valid = _VALID.get(fields.get("valid", "1").lower())
        if valid is None:
            raise ValueError(f"valid is {fields['valid']!r}, which is neither 0 nor 1")
        joined = self.clusters.join(fields, place)
        code = codes.layout_name(fields["disk"])
        facts = dict(joined.facts)
        if (devices := codes.layout_devices(code)) is not None:
            facts["layout_devices"] = devices
        if (words := codes.layout_words(code)) is not None:
            facts["layout_words"] = words
        network = codes.network(fields["net"])
        options = {"suite": codes.suite(fields.get("bench_type", "")), "datasize": codes.known(fields.get("datasize", "")),
                   "scale": codes.known(fields.get("scale", ""))}  # fmt: skip
        return foreign_run(
            workload=workload,
            duration_s=0.0,
            status=RunStatus.VALID if valid else RunStatus.INVALID,
            cause=None if valid else INVALID,
            cluster=joined.name,
            layout=code,
            levels={"network": network} if network else {},
            parameters=codes.parameters(fields),
            engine_version=codes.known(fields.get("hadoop", "")),
            workload_parameters={name: text for name, text in options.items() if text},
            environment={"cluster": facts},
            warnings=joined.warnings + _remarks(fields),
            sources=_sources(when, joined.source, "valid" in self.header.places),
        )


def _sources(when: str, cluster: str, labelled: bool) -> dict[str, str]:
    told = "the table's column valid"
    untold = "the table has no column valid: ALOJA exports valid runs only"
    return {
        "duration_s": "exe_time of ALOJA's table: the benchmark's wall time, in whole seconds",
        "started_at": when,
        "status": told if labelled else untold,
        "cluster": cluster,
    }


def _remarks(fields: Mapping[str, str]) -> tuple[str, ...]:
    """Return what else ALOJA says of a run, in words."""
    found = []
    if codes.known(fields.get("filter", "")) not in ("", "0"):
        found.append("ALOJA's views leave it out (filter)")
    if codes.known(fields.get("outlier", "")) not in ("", "0"):
        found.append("ALOJA's prediction calls it an outlier")
    kind = codes.known(fields.get("exec_type", ""))
    if kind not in ("", "default"):
        found.append(f"ALOJA's type of execution is {kind!r}")
    return tuple(found)


def _number(text: str, delimiter: str) -> float | None:
    """Return a number; with another delimiter than a comma, decimals may follow a comma. None when it is none."""
    text = text.strip()
    if delimiter != ",":
        text = text.replace(",", ".")
    return float(text) if _NUMBER.fullmatch(text) else None


def _duration(text: str, delimiter: str) -> float | str:
    """Return a duration in seconds, or why it is none."""
    if not codes.known(text):
        return "has no duration"
    seconds = _number(text, delimiter)
    if seconds is None:
        return f"the duration is {text.strip()[:40]!r}, which is not a positive number of seconds"
    if seconds == 0:
        return "the duration is 0 s: nothing was measured"
    if seconds > DURATION_MAX_S:
        return f"the duration is {seconds:.0f} s, more than 30 days: not a time that a benchmark takes"
    return seconds


FORMAT = Format("aloja", "ALOJA's tables of runs (execs, and the wider one), with its list of clusters", recognises, read)
