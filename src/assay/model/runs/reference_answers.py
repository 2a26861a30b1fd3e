"""Reference answers for a run's output, computed by another program from the same files.

In: queries, and how the files are generated. Out: rows of text, and size and checksum of the files.
"""

from dataclasses import dataclass

TABLE_GENERATOR = "tpchgen-cli"
"""Python package that generates the tables of decision support."""

Rows = tuple[tuple[str | None, ...], ...]


@dataclass(frozen=True, slots=True)
class ReferenceQueries:
    """SQL queries over tables, in order; the scale factor of the tables as text, and the number of files of each."""

    scale_factor: str
    parts: int
    queries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReferenceAnswers:
    """The reference answers in the order of the queries, and the facts of the files."""

    rows: tuple[Rows, ...]
    files_bytes: int
    files_checksum: int
    """The sum over all files of the CRC-32 of their name, such as ``part/part.1.parquet``, and content."""
