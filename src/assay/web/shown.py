"""How values stand on pages: state in addresses, titles of columns, and what of a run is listed where.

In: values of other rooms. Out: texts and lists for templates. Nothing is measured or compared here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from assay.errors import AssayError
from assay.model.layout_code import HDD, NVME, REMOTE, SSD, Beside, LayoutCode, parse
from assay.statistics.run_table import DESCRIPTIVE, RunTable
from assay.web import api_views
from assay.web.context import Context
from assay.web.models import CostPlane, CostQuestion
from assay.wording.numbers import NOTHING, seconds
from assay.wording.titles import scale_text, workload_title

_TITLES = {
    "workload": "Workload",
    "layout": "Storage layout",
    "network": "Network",
    "cluster": "Cluster",
    "status": "Status",
    "origin": "Origin",
    "cold": "Caches",
    "plan": "Plan",
    "campaign_id": "Campaign",
    "duration_s": "Time (s)",
    "started_unix_s": "Started (UTC)",
    "data_bytes": "Data (bytes)",
    "lab_scale": "Lab scale",
    "engine": "Engine",
    "engine_version": "Engine version",
    "mapreduce.tasktracker.map.tasks.maximum": "Map slots a node",
    "mapreduce.task.io.sort.factor": "Sort factor",
    "dfs.replication": "HDFS copies",
    "io.file.buffer.size": "I/O buffer (bytes)",
    "mapreduce.map.output.compress": "Map output compressed",
    "mapreduce.map.output.compress.codec": "Compression codec",
    "dfs.blocksize": "HDFS block size",
}
_SHORT = 13


def short(run_id: str) -> str:
    """Return the beginning of a run's id that people read."""
    return run_id[:_SHORT]


def facet_title(name: str) -> str:
    """Return a column's title; what has none stands as it is named."""
    return _TITLES.get(name, name)


def level_text(name: str, level: str) -> str:
    """Return a column's level as people read it."""
    if name == "workload":
        return workload_title(level)
    if name == "campaign_id":
        return short(level)
    if name == "lab_scale":
        return scale_text(float(level))
    return level.rpartition(".")[2] if name.endswith(".codec") else level


def interval_s(low_s: float | None, high_s: float | None) -> str:
    """Return an interval of seconds, or a dash."""
    return NOTHING if low_s is None or high_s is None else f"{seconds(low_s)} to {seconds(high_s)}"


def digest(content: bytes) -> str:
    """Return what stands for a content in an address."""
    return hashlib.sha256(content).hexdigest()[:12]


def own_path(target: str) -> str:
    """Return ``target`` when it is a path of this server, else its front page."""
    plain = target.startswith("/") and not target.startswith(("//", "/\\")) and target.isprintable()
    return target if plain else "/"


def origin(name: str, lab_scale: str | float | None) -> str:
    """Return where numbers come from: ``measured, lab 1/20``."""
    return f"{name}, lab {scale_text(float(lab_scale))}" if lab_scale else name


def claims_of(key: str) -> str:
    """Return the origin that findings are told of (``measured, lab scale 0.05``) as it stands beside numbers."""
    name, _, scale = key.partition(", lab scale ")
    return origin(name, scale)


@dataclass(frozen=True, slots=True)
class RunsState:
    """What the list of runs shows, as its address says it."""

    where: tuple[str, ...]
    sort: str
    offset: int
    columns: tuple[str, ...]
    page: int
    picked: tuple[str, ...] = ()
    """Ids of the runs that are chosen to be compared."""

    def address(self) -> str:
        """Return the address of the list."""
        pairs = [("where", text) for text in self.where] + [("columns", name) for name in self.columns]
        pairs += [("pick", run_id) for run_id in self.picked]
        if self.sort != "-started_unix_s":
            pairs.append(("sort", self.sort))
        if self.offset:
            pairs.append(("offset", str(self.offset)))
        return f"/runs?{urlencode(pairs)}" if pairs else "/runs"

    def sorted_by(self, name: str) -> str:
        """Return the address of the same list by a column; the other way round when it is by that already."""
        return replace(self, sort=f"-{name}" if self.sort == name else name, offset=0).address()

    def direction(self, name: str) -> str:
        """Return how the list is sorted by a column, in ARIA's words."""
        return "ascending" if self.sort == name else "descending" if self.sort == f"-{name}" else "none"

    def without(self, condition: str) -> str:
        """Return the address without a condition."""
        return replace(self, where=tuple(text for text in self.where if text != condition), offset=0).address()

    def moved(self, pages: int) -> str:
        """Return the address of another page of the list."""
        return replace(self, offset=max(0, self.offset + pages * self.page)).address()

    def cleared(self) -> str:
        """Return the address without conditions."""
        return replace(self, where=(), offset=0).address()

    def unpicked(self) -> str:
        """Return the address with nothing chosen to be compared."""
        return replace(self, picked=()).address()

    def query(self) -> str:
        """Return the conditions for the API."""
        return urlencode([("where", text) for text in self.where])


def comparable(table: RunTable) -> dict[str, str]:
    """Return the factors with several levels and their titles, storage and network first."""
    names = [name for name in table.factors if len(table.columns[name].levels) > 1]
    never = ("workload", "origin", "lab_scale", *DESCRIPTIVE)
    first = ("layout", "network", "cluster")
    names = sorted((n for n in names if n not in never), key=lambda n: first.index(n) if n in first else len(first))
    return {name: facet_title(name) for name in names}


def levels(table: RunTable, name: str) -> list[str]:
    """Return the levels of a column that runs of the table have."""
    column = table.columns.get(name)
    if column is None:
        return []
    present = {int(code) for code in set(column.codes.tolist()) if code >= 0}
    return [level for code, level in enumerate(column.levels) if code in present]


def cheapest(context: Context) -> tuple[list[tuple[CostPlane, CostPlane]], list[CostPlane]]:
    """Return the cost planes under the server's own price book, and those of jobs that it prices nothing of.

    Each is there twice: over all runs of a row, which tells how sure the ranking is, and over each row's best
    configuration, which often is a single run. Nothing without a book.
    """
    if context.book is None:
        return [], []
    try:
        every = api_views.planes(context, CostQuestion(take="all"))
        best = {tuple(plane.job.items()): plane for plane in api_views.planes(context, CostQuestion())}
    except AssayError:
        return [], []
    paired = [(plane, best[tuple(plane.job.items())]) for plane in every if plane.rows]
    return paired, [plane for plane in every if not plane.rows]


_DEVICES = {HDD: "hard disk", SSD: "SSD", NVME: "NVMe drive", REMOTE: "remote volume"}
_NETWORKS = {"ETH": "Ethernet", "IB": "InfiniBand"}


def meanings(names: Iterable[str]) -> dict[str, str]:
    """Return what the codes of layouts (each worker's devices) and networks mean; other names are left out."""
    found = {name: _NETWORKS[name] for name in names if name in _NETWORKS}
    return found | {name: _meaning(code) for name in names if (code := parse(name)) is not None}


def _meaning(code: LayoutCode) -> str:
    devices = f"{code.disks} {_DEVICES[code.kind]}{'s' if code.disks != 1 else ''} a worker"
    if code.more is None:
        return f"{devices}, for everything" if code.kind == REMOTE else devices
    one = f"one {'local ' if code.kind == REMOTE else ''}{_DEVICES[code.more]}"
    return {
        Beside.INTERMEDIATE: f"{devices}, intermediate data on {one}",
        Beside.HDFS: f"{devices}, for intermediate data, HDFS on {one}",
        Beside.BOTH: f"{devices}, and {one}, both for everything",
    }[code.beside or Beside.INTERMEDIATE]
