"""Reference answers for a run's output, computed by another program over the same files.

In: the queries, and how the files are made. Out: rows of text, and size and checksum of the files.
"""

from dataclasses import dataclass

GENERATOR = "tpchgen-cli"
"""The program that makes tables of the decision-support kind: a package of this name, which assay requires."""

Rows = tuple[tuple[str | None, ...], ...]


@dataclass(frozen=True, slots=True)
class ReferenceQueries:
    """Questions over tables: the tables' scale factor as text, in how many files each lies, and SQL in order."""

    scale_factor: str
    parts: int
    queries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReferenceAnswers:
    """The reference's answers in the order of the questions, and what its files were."""

    rows: tuple[Rows, ...]
    files_bytes: int
    files_checksum: int
    """The sum over all files of the CRC-32 of their name, such as ``part/part.1.parquet``, and content."""
