"""Limit a node's memory, CPU and disks with control groups of version 1 or 2, as available per controller.

In: the mounted hierarchies (``/proc/self/mountinfo``), bytes of memory, relative CPU shares, rates in bytes/s and IOPS.
Out: written control files. The files are those of the kernel's
Documentation/admin-guide/cgroup-v1/{memory,blkio-controller}.rst and cgroup-v2.rst. Version 1 throttles a device for
the whole machine, in the root group. Version 2 has no ``io.max`` in the root group, so the node's group has the limit;
only that node uses the disk.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.execution.lab.commands import read_text, write_text

CONTROLLERS = ("cpu", "cpuacct", "memory", "io")
"""Controllers under their names of version 2. ``cpuacct`` (CPU time used) is part of every group in version 2, and
``io`` was ``blkio`` in version 1."""
CPU_SHARES_FULL = 1024
"""Weight of an equal share in version 1 (``cpu.shares``)."""
CPU_SHARES_MAX = 262144
"""Maximum weight of a group in version 1."""
CPU_WEIGHT_FULL = 100
"""Weight of an equal share in version 2 (``cpu.weight``)."""
CPU_WEIGHT_MAX = 10000
"""Maximum weight of a group in version 2."""


@dataclass(frozen=True, slots=True)
class DiskLimits:
    """Limits of a disk in bytes/s and requests/s; None: unlimited."""

    read_bytes_per_s: float | None = None
    write_bytes_per_s: float | None = None
    read_iops: int | None = None
    write_iops: int | None = None


@dataclass(frozen=True, slots=True)
class Controller:
    """Mount point and version (1 or 2) of a controller's hierarchy."""

    name: str
    version: int
    mount: Path


def find_controllers(mountinfo: str) -> dict[str, Controller]:
    """Return the controllers in the text of ``/proc/self/mountinfo``; version 1 if both are mounted."""
    controllers: dict[str, Controller] = {}
    for line in mountinfo.splitlines():
        mount_part, _, file_system_part = line.partition(" - ")
        kind, _, options = file_system_part.split(" ", 2) if file_system_part.count(" ") >= 2 else ("", "", "")
        mount = Path(mount_part.split()[4].encode().decode("unicode_escape")) if kind.startswith("cgroup") else Path()
        if kind == "cgroup":
            names = {"io" if option == "blkio" else option for option in options.split(",")}
            controllers |= {name: Controller(name, 1, mount) for name in CONTROLLERS if name in names}
        elif kind == "cgroup2":
            names = set((read_text(mount / "cgroup.controllers") or "").split())
            if "cpu" in names:
                names.add("cpuacct")
            controllers |= {
                name: Controller(name, 2, mount) for name in CONTROLLERS if name in names and name not in controllers
            }
    return controllers


@dataclass(frozen=True, slots=True)
class NodeCgroup:
    """The control groups of one node: a directory per controller, shared by all controllers under version 2."""

    controllers: dict[str, Controller]
    lab: str
    node: str

    def directory(self, controller_name: str) -> Path | None:
        """Return the node's directory in a controller's hierarchy; None if this machine lacks the controller."""
        controller = self.controllers.get(controller_name)
        return controller.mount / f"assay-{self.lab}" / self.node if controller else None

    @property
    def directories(self) -> tuple[Path, ...]:
        """All directories of the group without duplicates; their parents carry the lab's name."""
        paths = (self.directory(name) for name in CONTROLLERS if self._has_separate_directory(name))
        return tuple(dict.fromkeys(directory for directory in paths if directory))

    def _has_separate_directory(self, controller_name: str) -> bool:
        """Whether the controller needs a directory per node. Version 1 throttles in the root group."""
        controller = self.controllers.get(controller_name)
        return controller is not None and not (controller_name == "io" and controller.version == 1)

    def make(self) -> None:
        """Create the directories, and enable their controllers under version 2."""
        for directory in self.directories:
            directory.parent.mkdir(exist_ok=True)
            version2_names = [
                c.name for c in self.controllers.values() if c.version == 2 and directory.is_relative_to(c.mount)
            ]
            for parent in (directory.parent.parent, directory.parent):
                for name in version2_names:
                    if name != "cpuacct":
                        write_text(parent / "cgroup.subtree_control", f"+{name}")
            directory.mkdir(exist_ok=True)

    def limit_memory(self, limit_bytes: int) -> bool:
        """Limit memory to ``limit_bytes``, including the page cache and without swap. Returns False if that is not
        possible."""
        directory = self.directory("memory")
        if directory is None:
            return False
        if self.controllers["memory"].version == 1:
            is_limited = write_text(directory / "memory.limit_in_bytes", str(limit_bytes))
            write_text(directory / "memory.memsw.limit_in_bytes", str(limit_bytes))  # absent without swap accounting
            return is_limited
        write_text(directory / "memory.swap.max", "0")
        return write_text(directory / "memory.max", str(limit_bytes))

    def share_cpu(self, share: float, lab_nodes: int) -> bool:
        """Set the node's CPU ``share`` under contention; 1 is an equal share. Returns False if that is not possible.

        The lab's parent group weighs as much as its ``lab_nodes`` nodes. Otherwise all nodes together would count as
        one process.
        """
        directory = self.directory("cpu")
        if directory is None:
            return False
        if self.controllers["cpu"].version == 1:
            write_text(directory.parent / "cpu.shares", str(min(CPU_SHARES_FULL * lab_nodes, CPU_SHARES_MAX)))
            return write_text(directory / "cpu.shares", str(max(2, round(CPU_SHARES_FULL * share))))
        write_text(directory.parent / "cpu.weight", str(min(CPU_WEIGHT_FULL * lab_nodes, CPU_WEIGHT_MAX)))
        return write_text(directory / "cpu.weight", str(max(1, round(CPU_WEIGHT_FULL * share))))


def throttle_directory(group: NodeCgroup) -> Path | None:
    """Return the directory with the throttle files of the node's disks: the root group in version 1, the node's group
    in version 2; None if this machine lacks the controller."""
    io = group.controllers.get("io")
    if io is None:
        return None
    return io.mount if io.version == 1 else group.directory("io")


def throttle(directory: Path, major_minor: str, limits: DiskLimits) -> bool:
    """Limit the device ``major_minor``; return False if the kernel refuses a limit."""
    rates = (limits.read_bytes_per_s, limits.write_bytes_per_s, limits.read_iops, limits.write_iops)
    if read_text(directory / "blkio.throttle.read_bps_device") is not None:
        files = ("read_bps", "write_bps", "read_iops", "write_iops")
        results = [
            write_text(directory / f"blkio.throttle.{file}_device", f"{major_minor} {round(rate) if rate else 0}")
            for file, rate in zip(files, rates, strict=True)
        ]
        return all(results)
    keys = ("rbps", "wbps", "riops", "wiops")
    limit_texts = [f"{key}={round(rate) if rate else 'max'}" for key, rate in zip(keys, rates, strict=True)]
    return write_text(directory / "io.max", f"{major_minor} {' '.join(limit_texts)}")


def member_pids(directories: Sequence[Path]) -> set[int]:
    """Return the ids of processes in the groups ``directories``; removed groups have none."""
    pids: set[int] = set()
    for directory in directories:
        pids |= {int(word) for word in (read_text(directory / "cgroup.procs") or "").split()}
    return pids
