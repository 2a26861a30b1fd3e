"""Define an importable format: its name, a function that recognises its files, and a function that reads their runs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from assay.analysis.statistics import ImportedRows, Item
from assay.foundation.errors import FormatError
from assay.model import ImportedRun, SkippedItem
from assay.store.formats.source import Source

Reads = Callable[[Sequence[Source]], Iterator[Item]]
"""Reads files of one format, in the given order. Many runs that share values are one item."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format that assay can import."""

    name: str
    """The name in ``assay import NAME``."""
    title: str
    """Description in the list of formats."""
    recognises: Callable[[str, bytes], bool]
    """Recognises a file by its path and its first 64 KiB. Never raises, and never claims another format's files."""
    items: Reads
    variant: str = ""
    """Further settings of the reader, for example a table's map. Another variant makes another import."""
    by_rows: bool = False
    """Whether a run is identified by the content of its row. The same run in another notation then has another id."""

    def read(self, sources: Sequence[Source]) -> Iterator[ImportedRun | SkippedItem]:
        """Read files run by run."""
        for item in self.items(sources):
            if isinstance(item, ImportedRows):
                yield from item.runs()
            else:
                yield item


Read = TypeVar("Read", bound=Item)


def read_each(
    read_file: Callable[[Source], Iterator[Read | SkippedItem]],
) -> Callable[[Sequence[Source]], Iterator[Read | SkippedItem]]:
    """Return a reader of many files from a reader of one file.

    A :class:`FormatError` ends only its own file: items before it stay, and the rest of the file is skipped with the
    error's message.
    """

    def read(sources: Sequence[Source]) -> Iterator[Read | SkippedItem]:
        for source in sources:
            try:
                yield from read_file(source)
            except FormatError as error:
                yield SkippedItem(error.where or source.name, error.message)

    return read
