"""Read public run tables of rented clusters: recognise columns by name, and read the runs with assay's importer.

In: a folder of CSV or TSV files. A table with a column of run times has runs. A table with instance types and
prices but no run times is a price list. Out: runs as a table with the hardware of their instance types, and prices per
hour.

Names are compared in lower case, without separators and without a unit at their end (``data_size_MB``, ``runtime_ms``).
Columns that no rule names are parameters of the job, unless they follow from the instance type and the number of
instances, or look like measurements. Numbers that differ by at most 1 % are one level: generated inputs vary by as
much. ``--map COLUMN=FIELD`` overrides the rules; the fields are :data:`FIELDS`. A table
without a column of jobs has one job, named after the file.
"""

import csv
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from assay.analysis.statistics import Floats, ImportedRows, Ints, RunTable, groups_by, table_of, usable
from assay.estimation.prediction.features import hardware_values
from assay.foundation.errors import FormatError, SpecificationError
from assay.model import Hardware, Origin, Run, SkippedItem
from assay.specs.instances import shipped_instances
from assay.store.formats.source import Source
from assay.store.formats.tables.table import read_table

FIELDS = ("workload", "instance_type", "workers", "duration", "data", "price", "cores", "memory", "option", "ignore")
"""Fields of a column. ``cores`` and ``memory`` are of one instance, or of the whole cluster."""
NAMES = {
    "duration": (
        "grossruntime runtime duration elapsedtime elapsed executiontime exectime completiontime jobtime walltime "
        "wallclock wallclocktime makespan totaltime jobduration time seconds"
    ),
    "instance_type": (
        "instancetype machinetype vmtype vmsize nodetype workertype instance machine vm flavor flavour nodetypeid type "
        "servertype ec2type"
    ),
    "workers": (
        "instancecount nodecount numnodes nodes workers numworkers workercount machines machinecount nummachines "
        "numinstances instances scaleout clustersize numberofnodes numberofworkers numberofinstances numberofmachines "
        "nnodes nworkers vmcount numvms size count n"
    ),
    "workload": "workload job jobname jobtype algorithm application app benchmark program query jobid",
    "data": (
        "datasize datasetsize inputsize inputdatasize datavolume inputvolume databytes inputbytes inputdata data input "
        "dataset size"
    ),
    "cores": "cores vcpus vcpu cpus cpu slots numcores cpucores totalcores",
    "memory": "memory ram mem memorysize totalmemory",
    "price": (
        "price hourlyprice priceperhour priceusdperhour usdperhour costperhour hourlycost ondemandprice ondemand "
        "pricehour pricehourly instanceprice unitprice"
    ),
}
"""Names of each field, separated by blanks, without separators and units; the preferred name first."""
IGNORED = (
    "run runid runno repetition rep trial attempt id index unnamed timestamp starttime startedat endtime date seed "
    "experiment experimentid region zone provider cloud cost totalcost jobcost costusd status completed"
)
"""Names of columns that describe a run and not its configuration."""
MEASURED = re.compile(r"util|usage|throughput|netruntime|runtime|elapsed|error|busy|idle|_time$|cost|predict")
"""Pattern of the names of measurements, among the columns that no rule names."""
SECONDS = {
    "ms": 1e-3,
    "msec": 1e-3,
    "millis": 1e-3,
    "milliseconds": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "secs": 1.0,
    "seconds": 1.0,
    "min": 60.0,
    "mins": 60.0,
    "minutes": 60.0,
    "h": 3600.0,
    "hours": 3600.0,
}
BYTES = {
    "b": 1.0,
    "bytes": 1.0,
    "kb": 1e3,
    "mb": 1e6,
    "gb": 1e9,
    "tb": 1e12,
    "kib": 2.0**10,
    "mib": 2.0**20,
    "gib": 2.0**30,
    "tib": 2.0**40,
}
SUCCEEDED = ("", "true", "1", "yes", "completed", "success", "succeeded", "finished", "valid", "ok", "done")
"""Texts of a column ``status`` or ``completed`` for runs that count."""
MEMORY_MB_FROM = 512.0
"""Memory of an instance from this number on is in MB if its column has no unit; below it is in GB."""
SAME_WITHIN = 0.01
"""Maximum relative difference of two sizes or parameters that count as equal."""
_COUNTED = re.compile(r"(\d+)\s*[x×_*-]\s*([A-Za-z].*)")
"""An instance type with a number of instances, such as ``8x m4.xlarge``."""


@dataclass(frozen=True, slots=True)
class CloudRuns:
    """The valid runs of a folder."""

    table: RunTable
    contexts: Ints
    """Each run's workload with its input and parameters, as a number."""
    types: tuple[str, ...]
    type: Ints
    """Each run's instance type, as an index into ``types``."""
    workers: Floats
    price_usd_per_h: Floats
    """Price of one instance; NaN where no price is known."""
    notes: tuple[str, ...]
    """The columns of each file, and rows that were skipped."""


def name_and_unit(name: str) -> tuple[str, str]:
    """Return a column's name without separators and unit, and the unit; the unit is empty if there is none."""
    words = [word for word in re.split(r"[^a-z0-9]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()) if word]
    if len(words) > 1 and (words[-1] in SECONDS or words[-1] in BYTES):
        return "".join(word for word in words[:-1] if word != "in"), words[-1]
    return "".join(words), ""


def fields_of(header: Sequence[str], mapping: Mapping[str, str]) -> dict[str, str]:
    """Return the field of each column that is named by ``mapping`` or by a rule; each field has one column."""
    fields = {column: mapping[column] for column in header if column in mapping}
    for field, names in NAMES.items():
        if field in fields.values():
            continue
        by_name = {name_and_unit(column)[0]: column for column in reversed(header) if column not in fields}
        if (match := next((by_name[name] for name in names.split() if name in by_name), None)) is not None:
            fields[match] = field
    return fields


def read_rows(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the header and the complete rows of a file; the separator is the one that splits the header most."""
    text = path.read_text(encoding="utf-8-sig")
    header_line = next((line for line in text.splitlines() if line.strip()), "")
    separator = max(",\t;|", key=header_line.count)
    rows = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines(), delimiter=separator) if row]
    header = rows[0] if rows else []
    return header, [row for row in rows[1:] if len(row) == len(header)]


def number(text: str) -> float:
    """Return a cell's number; NaN for other texts."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def with_merged_numbers(texts: Sequence[str]) -> list[str]:
    """Return the texts; numbers that differ by at most 1 % become the smallest of them."""
    levels = sorted({text for text in texts if number(text) > 0}, key=number)
    names: dict[str, str] = {}
    smallest = ""
    for text in levels:
        if not smallest or number(text) > number(smallest) * (1 + SAME_WITHIN):
            smallest = text
        names[text] = smallest
    return [names.get(text, text) for text in texts]


class TableReader:
    """A reader of one folder's tables."""

    def __init__(self, mapping: Mapping[str, str]) -> None:
        for column, field in mapping.items():
            if field not in FIELDS:
                raise SpecificationError(f"--map {column}={field}: a field is one of {', '.join(FIELDS)}")
        self.mapping = mapping
        self.prices: dict[str, list[float]] = {}
        self.cores: dict[str, float] = {}
        self.memory_bytes: dict[str, float] = {}
        self.runs: list[Run] = []
        self.notes: list[str] = []

    def read(self, path: Path) -> None:
        """Read one file."""
        header, rows = read_rows(path)
        fields = fields_of(header, self.mapping)
        field_names = set(fields.values())
        if "instance_type" not in field_names or not field_names & {"duration", "price"}:
            self.notes.append(f"{path.name}: skipped: no column is an instance type, with a run time or a price")
            return
        cells = {field: [row[header.index(column)] for row in rows] for column, field in fields.items()}
        if "workers" not in cells:
            matches = [_COUNTED.fullmatch(text) for text in cells["instance_type"]]
            cells["workers"] = [match[1] if match else "1" for match in matches]
            cells["instance_type"] = [
                match[2] if match else text for match, text in zip(matches, cells["instance_type"], strict=True)
            ]
        for kind, price in zip(cells["instance_type"], cells.get("price", ()), strict=False):
            if number(price) > 0:
                self.prices.setdefault(kind, []).append(number(price))
        if "duration" not in field_names:
            self.notes.append(f"{path.name}: prices of {len(set(cells['instance_type']))} instance types")
            return
        units = {field: name_and_unit(column)[1] for column, field in fields.items()}
        self._hardware(cells, units)
        options = self._options(header, rows, fields, cells)
        self._import(path, cells, units, options, self._succeeded(header, rows))
        columns_text = ", ".join(f"{column}={field}" for column, field in fields.items())
        self.notes.append(f"{path.name}: {columns_text}; parameters: {', '.join(options) or 'none'}")

    def _succeeded(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[bool]:
        """Return for each row whether its run succeeded."""
        status_columns = [
            position for position, column in enumerate(header) if name_and_unit(column)[0] in ("status", "completed")
        ]
        return [all(row[position].lower() in SUCCEEDED for position in status_columns) for row in rows]

    def _hardware(self, cells: Mapping[str, list[str]], units: Mapping[str, str]) -> None:
        """Keep the cores and memory of each instance type, where the table has them."""
        count = np.array([number(text) for text in cells["workers"]])
        for field, values_by_type in (("cores", self.cores), ("memory", self.memory_bytes)):
            if field not in cells:
                continue
            values = np.array([number(text) for text in cells[field]])
            kinds = np.array(cells["instance_type"])
            is_of_cluster = any(len(np.unique(values[kinds == kind])) > 1 for kind in set(cells["instance_type"]))
            for kind in dict.fromkeys(cells["instance_type"]):
                has_kind = kinds == kind
                value = float(np.nanmedian(values[has_kind] / count[has_kind] if is_of_cluster else values[has_kind]))
                if field == "memory":
                    unit = BYTES.get(units[field], 1e6 if value >= MEMORY_MB_FROM else 1e9)
                    value *= unit
                values_by_type[kind] = value

    def _options(
        self,
        header: Sequence[str],
        rows: Sequence[Sequence[str]],
        fields: Mapping[str, str],
        cells: dict[str, list[str]],
    ) -> dict[str, list[str]]:
        """Return the parameters of the job by name."""
        shape = list(zip(cells["instance_type"], cells["workers"], strict=True))
        options = {}
        for position, column in enumerate(header):
            texts = with_merged_numbers([row[position] for row in rows])
            is_explicit = fields.get(column) == "option"
            if not is_explicit and (
                column in fields or name_and_unit(column)[0] in IGNORED.split() or MEASURED.search(column.lower())
            ):
                continue
            numbers = np.array([number(text) for text in texts])
            has_fractions = bool(np.isfinite(numbers).all()) and bool((numbers != np.round(numbers)).any())
            is_run_name = len(set(texts)) > max(20, len(texts) // 2) and (
                has_fractions or not np.isfinite(numbers).any()
            )
            follows_from_shape = len(set(shape)) > 1 and len(set(zip(shape, texts, strict=True))) == len(set(shape))
            if not is_explicit and (len(set(texts)) < 2 or is_run_name or follows_from_shape):
                continue
            options[re.sub(r"[^A-Za-z0-9_-]", "_", column).lstrip("_0123456789-")[:60] or f"column{position}"] = texts
        data = cells.get("data", [])
        if any(not np.isfinite(number(text)) and not _with_unit(text) for text in data):
            options["data"] = cells.pop("data")
        return options

    def _import(
        self,
        path: Path,
        cells: Mapping[str, list[str]],
        units: Mapping[str, str],
        options: Mapping[str, list[str]],
        is_valid: Sequence[bool],
    ) -> None:
        """Write the columns under their fields' names and units, and read them with the importer of tables."""
        columns = {
            "workload": cells.get("workload", [path.stem] * len(is_valid)),
            "instance_type": cells["instance_type"],
            "workers": [f"{number(text):g}" for text in cells["workers"]],
            "duration_s": [f"{number(text) * SECONDS.get(units['duration'], 1.0):.12g}" for text in cells["duration"]],
            **{f"option:{name}": texts for name, texts in options.items()},
        }
        if "data" in cells:
            scale = BYTES.get(units.get("data", ""), 1.0)
            columns["data_bytes"] = [
                _with_unit(text) or f"{round(number(text) * scale)}" if text else ""
                for text in with_merged_numbers(cells["data"])
            ]
        with tempfile.TemporaryDirectory() as folder:
            plain_path = Path(folder) / "runs.csv"
            with plain_path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(columns)
                writer.writerows(
                    row for row, valid in zip(zip(*columns.values(), strict=True), is_valid, strict=True) if valid
                )
            skipped = 0
            mapping = {name: name for name in columns}
            for item in read_table(Source(plain_path, path.name), mapping, {"engine": "spark"}, Origin.MEASURED):
                if isinstance(item, SkippedItem):
                    skipped += 1
                    reason = item.why
                elif isinstance(item, ImportedRows):
                    self.runs += [imported.run for imported in item.runs()]
            if skipped:
                self.notes.append(f"{path.name}: {skipped} rows skipped, for example: {reason}")


def _with_unit(text: str) -> str:
    """Return a size with a unit in its cell (``10 GB``) as the importer reads it; an empty text for other texts."""
    compact = text.replace(" ", "")
    return compact if re.fullmatch(r"[0-9.]+[KMGTkmgt]i?B", compact) else ""


def read_folder(folder: Path, mapping: Mapping[str, str]) -> CloudRuns:
    """Return the runs of a folder's tables. Raises FormatError if there are none."""
    reader = TableReader(mapping)
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() in (".csv", ".tsv", ".txt"):
            reader.read(path)
    if not reader.runs:
        raise FormatError("no run was read: " + "; ".join(reader.notes), where=str(folder))
    recorded = [run.recorded.hardware for run in reader.runs]
    hardware = [_described(facts, reader) for facts in recorded]
    table = table_of(reader.runs)
    table = replace(table, values={**table.values, **hardware_values(hardware, shipped_instances())})
    kinds = np.array([facts.instance_type for facts in hardware])
    workers = np.array([float(facts.workers or 1) for facts in hardware])
    valid = usable(table)
    table, kinds, workers = table.subset(valid), kinds[valid], workers[valid]
    types, codes = np.unique(kinds, return_inverse=True)
    price = np.array([median(reader.prices[kind]) if kind in reader.prices else np.nan for kind in types])
    factors = [name for name in table.factors if name != "cluster"]
    return CloudRuns(
        table,
        groups_by(table, factors).of_row,
        tuple(str(kind) for kind in types),
        codes,
        workers,
        price[codes],
        tuple(reader.notes),
    )


def _described(hardware: Hardware, reader: TableReader) -> Hardware:
    """Return a run's hardware, with the cores and memory that the table states for its instance type."""
    kind = hardware.instance_type
    return replace(
        hardware,
        cores=hardware.cores or reader.cores.get(kind),
        memory_bytes=hardware.memory_bytes or reader.memory_bytes.get(kind),
    )
