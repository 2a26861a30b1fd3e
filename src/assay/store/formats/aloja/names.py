"""Parse the names of the result folders of ALOJA's benchmark scripts, which contain the configuration.

In: a folder's name. Out: :class:`FolderName`. The three forms follow the scripts of github Aloja/aloja
(``shell/OLD/run_*.sh``, ``shell/common/common_benchmarks.sh``):

- 2013 to 2014: ``DATE_TIME_conf_NET_DISK_b[_SIZE]_mMAPS_iSORT_rREPLICATION_IBUFFER[_cCODEC[_zBLOCK]][_CLUSTER]``.
  MAPS: map slots (and reduce slots) per node. SORT: io.sort.factor. BUFFER: io.file.buffer.size in bytes. CODEC: 0 to
  3. BLOCK: MiB. SIZE: HiBench's data size (``min``, ``10``, ``1TB``); the standard size if omitted. The oldest names
  lack codec and block size, which are then unknown.
- 2015: ``DATE_TIME_NET_DISK_bSUITE_DNODES_CLUSTER``; the folder's ``config.sh`` has the configuration.
- 2016: ``DATE_TIME_NET_DISK_bSUITE_SSCALE_DNODES_CLUSTER``, with the same file.

DATE_TIME is the start of the script on the master; runs begin later. ALOJA's tables name a run by folder and benchmark
(``FOLDER/terasort``), and some of the folder names are incomplete.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from assay.model import Run
from assay.store.formats.aloja.codes import known_text
from assay.workloads.catalogue import known_name

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
_STAMPED = re.compile(r"(?P<date>\d{8})_(?P<time>\d{6})(?=_)", re.ASCII)
_NEW_STYLE = re.compile(r"\d{8}_\d{6}_.*_D\d+_(?P<cluster>[^/]+)")
AZURE = "az"
"""ALOJA's early suffix for a cluster on Azure, which is not a cluster's name."""


@dataclass(frozen=True, slots=True)
class FolderConfiguration:
    """The fields of a complete name, under the names of the columns of ALOJA's table ``execs``."""

    values: dict[str, str] = field(default_factory=dict)
    """The recorded fields among ``net disk bench_type maps iosf replication iofilebuf comp blk_size``."""
    cluster: str = ""
    azure: bool = False
    """Whether the name has the suffix :data:`AZURE`."""
    datanodes: int | None = None


@dataclass(frozen=True, slots=True)
class FolderName:
    """The name of a run's folder, complete or not, with the benchmark after a slash if the source has it."""

    text: str
    stamp: str = ""
    """Creation time of the folder in UTC as fourteen digits; empty if the name does not begin with it."""
    old: bool = False
    """Whether the name has the form of ALOJA's first scripts, with all parameters."""
    location: str = ""
    """Name of the cluster in the newer forms, or :data:`AZURE` in the old form; empty if unknown."""

    @classmethod
    def of(cls, text: str) -> Self:
        """Parse a folder's name; all fields are empty for other texts."""
        if not known_text(text):
            return cls("")
        match, folder = _STAMPED.match(text), text.partition("/")[0]
        stamp = match["date"] + match["time"] if match else ""
        if text[15:21] == "_conf_":
            return cls(text, stamp, True, AZURE if folder.endswith(f"_{AZURE}") else "")
        new_style = _NEW_STYLE.fullmatch(folder)
        return cls(text, stamp, False, new_style["cluster"] if new_style else "")

    def configuration(self) -> FolderConfiguration | None:
        """Return the configuration; None if the name is not a complete ALOJA name."""
        folder = self.text.partition("/")[0]
        if match := _LEGACY.fullmatch(folder):
            fields = {key: value for key, value in match.groupdict().items() if value is not None}
            size = fields.pop("size", "")
            cluster = fields.pop("cluster", "")
            fields["bench_type"] = f"HiBench-{size}" if size else "HiBench"
            return FolderConfiguration(fields, "" if cluster == AZURE else cluster, cluster == AZURE)
        if match := _LATER.fullmatch(folder):
            fields = {key: match[key] for key in ("net", "disk", "bench_type")}
            return FolderConfiguration(fields, match["cluster"], datanodes=int(match["datanodes"]))
        return None

    def contradiction(self, row: Mapping[str, str]) -> str | None:
        """Return how a row of ``execs`` contradicts the name in its ``exec``; None if it does not.

        ALOJA's import fills both from the same name, so a difference means a manual change. A zero in the row
        represents an unknown value. ``bench_type`` is not compared, because ALOJA renames it. Names of the later
        forms are not compared, because ALOJA corrects their disk.
        """
        bench = self.text.partition("/")[2]
        if bench and row.get("bench", bench) != bench:
            return f"bench is {row['bench']} but the folder is {self.text}"
        configuration = self.configuration() if self.old else None
        for column, value in configuration.values.items() if configuration else ():
            if column != "bench_type" and row.get(column, value) != value:
                return f"{column} is {row[column]} but the folder is {self.text}"
        return None

    def differences(self, run: Run) -> str:
        """Return a message on the differences between the name and the run of its row; empty if they agree."""
        folder, slash, bench = self.text.partition("/")
        differences = []
        if slash and known_name(bench.lower()) != run.workload:
            differences.append("benchmark")
        network, layout = run.levels.get("network", ""), run.layout
        if self.stamp and network and layout and f"_{network}_{layout}_" not in folder:
            differences.append("network or disk")
        return f"the folder's name has another {' and another '.join(differences)}" if differences else ""
