"""List the formats that can be imported, and recognise the format of a file."""

import importlib
from collections.abc import Mapping, Sequence

from assay.foundation.errors import FormatError, SpecificationError
from assay.store.formats.format import Format
from assay.store.formats.source import Source
from assay.store.formats.tables.exported import ParquetRows, exported_format

_MODULES = (
    "aloja.execs",
    "aloja.dump",
    "aloja.folders",
    "hadoop.jhist_import",
    "spark.event_import",
    "samplers.sadf",
    "samplers.iostat",
    "bare.fio_import",
    "bare.iperf3_import",
    "samplers.collectl",
    "benchmarks.tpcxhs",
    "benchmarks.dfsioe",
    "benchmarks.testdfsio_import",
    "benchmarks.hibench_report",
    "tables.published",
)
"""Modules of this package with a ``FORMAT``, in the order in which they are tried on a file."""
TABLE = "table"
"""The name of the format that needs a mapping: see :func:`~assay.store.formats.tables.table.table_format`."""

UNRECOGNISED = "Unrecognised format"


def formats(parquet_rows: ParquetRows) -> dict[str, Format]:
    """Return the formats by name, in the order in which they are tried. ``parquet_rows`` reads a Parquet file."""
    other_formats = [importlib.import_module(f"assay.store.formats.{name}").FORMAT for name in _MODULES]
    return {item.name: item for item in (exported_format(parquet_rows), *other_formats)}


def format_named(name: str, formats_by_name: Mapping[str, Format]) -> Format:
    """Return the format with this name. Raises :class:`SpecificationError` with the known names."""
    if name not in formats_by_name:
        raise SpecificationError(f"there is no format {name!r}", hint=f"one of: {', '.join([*formats_by_name, TABLE])}")
    return formats_by_name[name]


def sorted_by_format(
    sources: Sequence[Source], formats_by_name: Mapping[str, Format]
) -> tuple[dict[str, list[Source]], dict[str, str]]:
    """Return the files of each format, and by file name the reason why another file has no format."""
    files_by_format: dict[str, list[Source]] = {}
    reason_by_file: dict[str, str] = {}
    for source in sources:
        try:
            head = source.head()
        except FormatError as error:
            reason_by_file[source.name] = error.message
            continue
        name = next((name for name, item in formats_by_name.items() if item.recognises(source.name, head)), None)
        if name is None:
            reason_by_file[source.name] = "is empty" if not head else UNRECOGNISED
        else:
            files_by_format.setdefault(name, []).append(source)
    return files_by_format, reason_by_file
