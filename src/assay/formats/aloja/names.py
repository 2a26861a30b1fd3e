"""Reads the configuration out of the name of a folder that ALOJA's benchmark scripts made for their results.

Three forms, after the scripts of github Aloja/aloja (``shell/OLD/run_*.sh``, ``shell/common/common_benchmarks.sh``):

- 2013 to 2014: ``DATE_TIME_conf_NET_DISK_b[_SIZE]_mMAPS_iSORT_rREPLICATION_IBUFFER[_cCODEC[_zBLOCK]][_CLUSTER]``.
  MAPS: map slots (and reduce slots) per node. SORT: io.sort.factor. BUFFER: io.file.buffer.size in bytes. CODEC: 0 to
  3. BLOCK: MiB. SIZE is that of HiBench's data (``min``, ``10``, ``1TB``), the standard size when left out. The oldest
  names lack codec and block size, which then are not told.
- 2015: ``DATE_TIME_NET_DISK_bSUITE_DNODES_CLUSTER``, the configuration in the folder's ``config.sh``.
- 2016: ``DATE_TIME_NET_DISK_bSUITE_SSCALE_DNODES_CLUSTER``, likewise.

DATE_TIME is when the script was started on the master, in its own time zone; no run begins then, so it is not read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_STAMP = r"20[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])_[0-2][0-9][0-5][0-9][0-6][0-9]"
_LEGACY = re.compile(
    rf"{_STAMP}_conf_(?P<net>[A-Za-z0-9]{{1,16}})_(?P<disk>[A-Za-z0-9]{{1,16}})_b(?:_(?P<size>[A-Za-z0-9]{{1,16}}))?"
    r"_m(?P<maps>[0-9]{1,9})_i(?P<iosf>[0-9]{1,9})_r(?P<replication>[0-9]{1,9})_I(?P<iofilebuf>[0-9]{1,9})"
    r"(?:_c(?P<comp>[0-9]{1,9}))?(?:_z(?P<blk_size>[0-9]{1,9}))?(?:_(?P<cluster>[A-Za-z0-9.-]{1,64}))?"
)
_LATER = re.compile(
    rf"{_STAMP}_(?P<net>[A-Za-z0-9]{{1,16}})_(?P<disk>[A-Za-z0-9]{{1,16}})_b(?P<bench_type>[A-Za-z][A-Za-z0-9.-]{{0,63}})"
    r"(?:_S(?P<scale_factor>[0-9]{1,9}))?_D(?P<datanodes>[0-9]{1,9})_(?P<cluster>[A-Za-z0-9.-]{1,64})"
)
_AZURE = "az"


@dataclass(frozen=True, slots=True)
class FolderName:
    """What a folder's name tells, under the names of the columns of ALOJA's table ``execs``."""

    values: dict[str, str] = field(default_factory=dict)
    """Of ``net disk bench_type maps iosf replication iofilebuf comp blk_size``, those that are told."""
    cluster: str = ""
    azure: bool = False
    """Whether it bears ALOJA's early mark for a cluster on Azure, which is no cluster's name."""
    datanodes: int | None = None


def folder_name(name: str) -> FolderName | None:
    """Return what the folder's name tells; None when it is not one of ALOJA's."""
    if found := _LEGACY.fullmatch(name):
        told = {key: value for key, value in found.groupdict().items() if value is not None}
        size = told.pop("size", "")
        cluster = told.pop("cluster", "")
        told["bench_type"] = f"HiBench-{size}" if size else "HiBench"
        return FolderName(told, "" if cluster == _AZURE else cluster, cluster == _AZURE)
    if found := _LATER.fullmatch(name):
        told = {key: found[key] for key in ("net", "disk", "bench_type")}
        return FolderName(told, found["cluster"], datanodes=int(found["datanodes"]))
    return None


def contradiction(row: dict[str, str], folder: str) -> str | None:
    """Say where a row of ``execs`` contradicts its own ``exec``, which is ``folder/bench``; None where nothing does.

    ALOJA's import fills both from the same name, so a difference means that the row was changed by hand. A zero in the
    row stands for what the name does not tell; ``bench_type`` is renamed by ALOJA itself and is not compared, nor are
    names of the later forms, whose disk ALOJA corrects.
    """
    outer, _, inner = folder.partition("/")
    if inner and row.get("bench", inner) != inner:
        return f"bench is {row['bench']} but the folder is {folder}"
    name = folder_name(outer)
    if name is None or not _LEGACY.fullmatch(outer):
        return None
    for column, value in name.values.items():
        told = row.get(column, value)
        if column != "bench_type" and told != value:
            return f"{column} is {told} but the folder is {folder}"
    return None
