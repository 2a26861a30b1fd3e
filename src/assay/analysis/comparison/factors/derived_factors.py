"""Add factors that are derived from several columns to a table of runs, if a question names them."""

from collections.abc import Sequence

from assay.analysis.comparison.factors.compression import with_compression
from assay.analysis.comparison.factors.device_classes import DEVICE_CLASS, with_device_class
from assay.analysis.comparison.factors.disk_counts import DISKS, with_disks
from assay.analysis.statistics import RunTable
from assay.model import COMPRESSION


def with_factors(table: RunTable, names: Sequence[str]) -> RunTable:
    """Return the table with the derived factors among ``names``: ``compression``, ``device_class`` and ``disks``."""
    if COMPRESSION in names:
        table = with_compression(table)
    if DEVICE_CLASS in names:
        table = with_device_class(table)
    if DISKS in names:
        table = with_disks(table)
    return table
