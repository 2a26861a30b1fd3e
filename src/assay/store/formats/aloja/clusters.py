"""Read ALOJA's list of clusters: hardware and hourly prices, as CSV with the columns of its cluster files.

In: the text of a CSV with ``id_cluster``, ``conf_name``, ``provider``, ``type``, ``datanodes``, ``vm_size``, ``vm_OS``,
``vm_cores``, ``vm_RAM_GB``, ``cost_hour``, ``cost_remote_disk``, ``cost_SSD``, ``cost_IB``, ``attached_volumes``,
``disk_size_GB``, ``disks``, ``nets``, ``description``. Out: one :class:`AlojaCluster` per row. Prices are US dollars
per *cluster*-hour: ``cost_hour`` for the cluster, and surcharges for each remote disk (on premises: each hard disk),
each SSD, and InfiniBand. Runs are joined by name, because some ids refer to two clusters.

The list was extracted from shell scripts, so some cells hold shell expressions. assay reads no value from such a cell,
and records the reason.
"""

import csv
import io
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from assay.foundation.errors import FormatError
from assay.store.formats.aloja.codes import known_text

COLUMNS: Final = (
    "id_cluster",
    "conf_name",
    "provider",
    "type",
    "datanodes",
    "vm_size",
    "vm_OS",
    "vm_cores",
    "vm_RAM_GB",
    "cost_hour",
    "cost_remote_disk",
    "cost_SSD",
    "cost_IB",
)
"""Required columns of ALOJA's list of clusters."""
FILE_NAME: Final = "aloja-clusters.csv"
_NUMBER: Final = re.compile(r"\d{1,15}(\.\d{1,15})?", re.ASCII)
_ON_PREMISE: Final = frozenset({"on-premise", "onprem"})


@dataclass(frozen=True, slots=True)
class AlojaCluster:
    """One cluster. Unknown values are None or empty; ``absent`` names the columns whose cells can't be used."""

    name: str
    cluster_id: int | None
    """Not unique: five ids refer to two clusters each."""
    provider: str
    service_type: str
    """``IaaS``, ``PaaS``, ``SaaS`` or ``on-premise``; the list has four spellings."""
    datanodes: int | None
    vm_size: str
    vm_os: str
    cores: int | None
    """Cores per node."""
    ram_gb: float | None
    """Memory of one node, in ALOJA's gigabytes (2^30 or 10^9 bytes: unknown)."""
    cost_usd_per_h: float | None
    """Price of the whole cluster without the surcharges below. 0: ALOJA knew no price."""
    cost_remote_disk_usd_per_h: float | None
    """Surcharge per remote disk, on premises per hard disk; for the whole cluster, not per node."""
    cost_ssd_usd_per_h: float | None
    """Surcharge per SSD; for the whole cluster."""
    cost_ib_usd_per_h: float | None
    """Surcharge for InfiniBand; for the whole cluster."""
    attached_volumes: int | None
    disk_size_gb: float | None
    disks: tuple[str, ...]
    """Disk codes that the cluster supports, without duplicates."""
    networks: tuple[str, ...]
    description: str
    """May hold shell variables such as ``${vmCores}``."""
    absent: Mapping[str, str]
    """Column to the reason why its cell could not be used."""
    where: str
    """``file:line``."""


def is_clusters(head: str) -> bool:
    """Return whether a text that begins with ``head`` is ALOJA's list of clusters."""
    first_line = head.lstrip("\r\n").split("\n", 1)[0].rstrip("\r")
    return set(COLUMNS) <= {cell.strip().strip('"') for cell in first_line.split(",")}


def parse_clusters(text: str, source: str = FILE_NAME) -> list[AlojaCluster]:
    """Return the clusters in the order of the text.

    Raises :class:`FormatError` with ``source:line`` if columns are missing, a row has another number of cells, or a
    name is missing or repeated. A cell without a usable number gives no value and a reason in ``absent``.
    """
    if not is_clusters(text[:65_536]):
        raise FormatError(
            "is not ALOJA's list of clusters: columns are missing", where=source, hint=f"it needs {', '.join(COLUMNS)}"
        )
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] = []
    clusters: list[AlojaCluster] = []
    names: dict[str, str] = {}
    try:
        for cells in reader:
            where = f"{source}:{reader.line_num}"
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = [cell.strip() for cell in cells]
                continue
            if len(cells) != len(header):
                raise FormatError(f"has {len(cells)} cells where the header has {len(header)}", where=where)
            cluster = _Row(dict(zip(header, cells, strict=True)), where).cluster()
            if cluster.name in names:
                raise FormatError(f"the cluster {cluster.name!r} is also at {names[cluster.name]}", where=where)
            names[cluster.name] = where
            clusters.append(cluster)
    except csv.Error as error:
        raise FormatError(f"is not valid CSV: {error}", where=f"{source}:{reader.line_num}") from error
    return clusters


@dataclass(frozen=True, slots=True)
class _Row:
    """One row during parsing; ``absent`` collects why cells were not usable."""

    cells: Mapping[str, str]
    where: str
    absent: dict[str, str] = field(default_factory=dict)

    def text(self, column: str) -> str:
        return known_text(self.cells.get(column, ""))

    def number(self, column: str) -> float | None:
        text = self.text(column)
        if not text:
            return None
        if "$" in text:
            self.absent[column] = f"the cluster file computes it by a shell command: {text!r}"
            return None
        value = float(text) if _NUMBER.fullmatch(text) else math.nan
        if not math.isfinite(value):
            self.absent[column] = f"{text!r} is not a number"
            return None
        return value

    def count(self, column: str) -> int | None:
        value = self.number(column)
        if value is not None and value != int(value):
            self.absent[column] = f"{self.text(column)!r} is not a whole number"
            return None
        return None if value is None else int(value)

    def codes(self, column: str) -> tuple[str, ...]:
        codes = self.text(column).split()
        shell_codes = [code for code in codes if "$" in code]
        if shell_codes:
            self.absent[column] = f"the list is longer: {' '.join(shell_codes)} is set by the provider's script"
        return tuple(dict.fromkeys(code for code in codes if "$" not in code))

    def cluster(self) -> AlojaCluster:
        name, kind = self.text("conf_name"), self.text("type")
        if not name:
            raise FormatError("the cluster has no name (conf_name)", where=self.where)
        return AlojaCluster(
            name=name,
            cluster_id=self.count("id_cluster"),
            provider=self.text("provider"),
            service_type="on-premise" if kind.lower() in _ON_PREMISE else kind,
            datanodes=self.count("datanodes"),
            vm_size=self.text("vm_size"),
            vm_os=self.text("vm_OS"),
            cores=self.count("vm_cores"),
            ram_gb=self.number("vm_RAM_GB"),
            cost_usd_per_h=self.number("cost_hour"),
            cost_remote_disk_usd_per_h=self.number("cost_remote_disk"),
            cost_ssd_usd_per_h=self.number("cost_SSD"),
            cost_ib_usd_per_h=self.number("cost_IB"),
            attached_volumes=self.count("attached_volumes"),
            disk_size_gb=self.number("disk_size_GB"),
            disks=self.codes("disks"),
            networks=self.codes("nets"),
            description=self.text("description"),
            absent=self.absent,
            where=self.where,
        )
