"""Import ALOJA's tables of runs: its ``execs`` table as CSV, and the wider table that its learning tools exchange.

In: CSV files with columns in any order (``id_exec,id_cluster,exec,bench,exe_time,...`` or
``ID,Benchmark,Exe.Time,Net,Disk,...``), with the list of clusters among them or in the same folder. Out: the runs, as
columns. Durations are seconds, ``blk_size`` is MiB; times are UTC.

docs/reference/import-aloja.md describes the formats and their pitfalls. :mod:`assay.store.formats.aloja.exec_rows`
parses cells.
"""

from collections.abc import Iterator, Sequence

from assay.analysis.statistics import Item
from assay.foundation.errors import FormatError
from assay.model import SkippedItem
from assay.store.formats.aloja.clusters import FILE_NAME, AlojaCluster, is_clusters, parse_clusters
from assay.store.formats.aloja.exec_columns import ColumnReader
from assay.store.formats.aloja.exec_rows import ExecHeader, ExecTable, header_of
from assay.store.formats.aloja.joins import Clusters
from assay.store.formats.format import Format
from assay.store.formats.source import HEAD_BYTES, LINE_BYTES_MAX, Source, decoded


def _first_line(text: str) -> str:
    return next((line for line in text.split("\n") if line.strip()), "").rstrip("\r")


def recognises(name: str, head: bytes) -> bool:
    """Return whether a file is one of ALOJA's tables of runs, or its list of clusters."""
    try:
        text = decoded(head[:HEAD_BYTES], name)
    except FormatError:
        return False
    return header_of(_first_line(text)) is not None or is_clusters(text)


def read(sources: Sequence[Source]) -> Iterator[Item]:
    """Yield the runs of all tables by columns, and skipped lines. Lists of clusters apply to all tables."""
    tables, lists, unreadable = _classify_sources(sources)
    yield from unreadable
    clusters: list[AlojaCluster] = []
    for source in lists:
        try:
            clusters += parse_clusters(source.text(), source.name)
        except FormatError as error:
            yield SkippedItem(error.where or source.name, error.message)
    earlier_tables: list[ExecTable] = []
    for source, text, header in tables:
        listed_clusters = [] if lists else _clusters_next_to(source)
        table = ExecTable(source.name, header, Clusters(clusters or listed_clusters), tuple(earlier_tables))
        yield from ColumnReader(table).read(text)
        earlier_tables.append(table)
    if lists and not tables:
        for source in lists:
            yield SkippedItem(
                source.name, "is a list of clusters, not of runs: import it together with a table of runs"
            )


def _classify_sources(
    sources: Sequence[Source],
) -> tuple[list[tuple[Source, str, ExecHeader]], list[Source], list[SkippedItem]]:
    """Return the tables of runs with their texts, the lists of clusters, and the files that are neither."""
    tables: list[tuple[Source, str, ExecHeader]] = []
    lists: list[Source] = []
    unreadable: list[SkippedItem] = []
    for source in sources:
        try:
            source.check_lines(LINE_BYTES_MAX)
            text = source.text()
        except FormatError as error:
            unreadable.append(SkippedItem(error.where or source.name, error.message))
            continue
        header = header_of(_first_line(text))
        if header is not None:
            tables.append((source, text, header))
        elif is_clusters(text[:HEAD_BYTES]):
            lists.append(source)
        else:
            why = "is empty" if not text.strip() else "lacks the columns of ALOJA's tables"
            unreadable.append(SkippedItem(source.name, why))
    return tables, lists, unreadable


def _clusters_next_to(source: Source) -> list[AlojaCluster]:
    """Return the clusters of the list in the table's folder; empty without a usable list."""
    path = source.path.parent / FILE_NAME
    try:
        return parse_clusters(Source(path, path.name).text(), path.name) if path.is_file() else []
    except FormatError:
        return []


FORMAT = Format("aloja", "ALOJA's tables of runs, with its list of clusters", recognises, read, by_rows=True)
