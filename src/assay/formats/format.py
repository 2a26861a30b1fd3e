"""What an importable format is: a name, how its files are recognised, and how runs are read out of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from assay.errors import FormatError
from assay.formats.source import Source
from assay.model import ImportedRun, SkippedItem
from assay.statistics import Item

Reads = Callable[[Sequence[Source]], Iterator[ImportedRun | SkippedItem]]
"""Reads all files of one format that were named together; yields in the order of the files."""


@dataclass(frozen=True, slots=True)
class Format:
    """One foreign format."""

    name: str
    """As ``assay import NAME`` takes it."""
    title: str
    """What it is, for the list of formats."""
    recognises: Callable[[str, bytes], bool]
    """Whether a file is one, by its path and its first 64 KiB. Never raises, never claims another format's files."""
    read: Reads
    variant: str = ""
    """What else decides how files are read, such as a table's map: another reading of a file is another import."""
    by_rows: bool = False
    """Whether a run is a row and known by what that says, so that another notation makes it another run."""
    columns: Callable[[Sequence[Source]], Iterator[Item]] | None = None
    """Reads the same as ``read``, many runs at a time; None where rows are not alike enough for that."""

    def items(self, sources: Sequence[Source]) -> Iterator[Item]:
        """Read files the quickest way that there is."""
        return (self.columns or self.read)(sources)


Read = TypeVar("Read", bound=Item)


def one_by_one(
    read_file: Callable[[Source], Iterator[Read | SkippedItem]],
) -> Callable[[Sequence[Source]], Iterator[Read | SkippedItem]]:
    """Return a reader of many files from one that reads a single file.

    A :class:`FormatError` ends that file alone: what it had yielded stays, the rest is left, with the error's words.
    """

    def read(sources: Sequence[Source]) -> Iterator[Read | SkippedItem]:
        for source in sources:
            try:
                yield from read_file(source)
            except FormatError as error:
                yield SkippedItem(error.where or source.name, error.message)

    return read
