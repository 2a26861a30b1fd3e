"""Emulate the disks of a node: a :class:`DiskEmulator` turns :class:`DiskSpec` into block devices.

There are two emulators. With :class:`~assay.execution.lab.disks.modelled_disks.ModelledLoop`, a daemon delays requests
by the time that an arm or flash channels take. :class:`ThrottledLoop` is a loop device over a sparse file with the
block-I/O controller's limits on bytes/s and requests/s, which emulates transfer rates but no seeks. Both are formatted
with ext4.
Two settings shrink with the scale, so that they correspond to the same *time* as at full size:

- the largest request and the readahead window: :mod:`assay.model.clusters.disk_requests`;
- dirty pages: half a second of the write rate. Otherwise the host's page cache would absorb a run's writes. The time is
  the same for all disks of a lab, because slow disks would otherwise hide more writes than fast ones. It is longer if
  the slowest disk would have too few pages.

In: bytes, bytes/s, requests/s after scaling. Out: a block device, and the properties that are not emulated. Every
kernel setting is recorded before it is changed, because a loop device keeps its settings for its next user.
"""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from assay.execution.lab.cgroups import DiskLimits, throttle
from assay.execution.lab.commands import parallel, read_text, run, write_text
from assay.execution.lab.journal import UndoJournal, UndoStep
from assay.model import Device, DeviceKind, Disks

SYS_BLOCK = Path("/sys/block")


@dataclass(frozen=True, slots=True)
class DiskSpec:
    """A disk to emulate, after scaling. ``image``: the file with its content."""

    node: str
    name: str
    device: Device
    """The device as described, before scaling."""
    scale: float
    image: Path
    capacity_bytes: int
    limits: DiskLimits
    request_bytes: int
    dirty_bytes: int


@dataclass(frozen=True, slots=True)
class EmulatedDisk:
    """A formatted block device over the file ``backing``, with messages about properties that are not emulated."""

    spec: DiskSpec
    backing: Path
    block: Path
    major_minor: str
    not_emulated: tuple[str, ...]


class DiskEmulator(Protocol):
    """An emulator of disks. All resources are journalled before creation, and removed through the journal."""

    @property
    def kind(self) -> Disks:
        """Kind of this emulator."""

    @property
    def not_emulated(self) -> tuple[str, ...]:
        """Properties of disks that this emulator never emulates."""

    @property
    def processes(self) -> tuple[subprocess.Popen[bytes], ...]:
        """Child processes that the disks need."""

    def create(self, specs: Sequence[DiskSpec], journal: UndoJournal) -> list[EmulatedDisk]:
        """Return formatted devices, possibly without limits yet. Raises LabError if a device can't be created."""

    def limit(self, disk: EmulatedDisk, journal: UndoJournal) -> tuple[str, ...]:
        """Set the limits; return a message for each limit that the kernel refused."""


def backing_image(block: Path) -> Path | None:
    """Return the file behind a loop device; None if nothing is attached."""
    text = read_text(SYS_BLOCK / block.name / "loop" / "backing_file")
    return Path(text.removesuffix(" (deleted)")) if text else None


def loops_over(path: Path) -> list[Path]:
    """Return the loop devices attached to the file ``path``, or to files below the folder ``path``."""
    images = {Path("/dev") / entry.name: backing_image(entry) for entry in SYS_BLOCK.glob("loop*")}
    return [block for block, image in images.items() if image and image.is_relative_to(path)]


def make_image(spec: DiskSpec) -> None:
    """Create and format the sparse file, before any limit applies and without background initialisation."""
    spec.image.parent.mkdir(parents=True, exist_ok=True)
    with spec.image.open("wb") as file:
        file.truncate(spec.capacity_bytes)
    run(
        [
            "mkfs.ext4",
            "-q",
            "-F",
            "-b",
            "4096",
            "-m",
            "0",
            "-T",
            "largefile",
            "-L",
            spec.name[:16],
            "-E",
            "lazy_itable_init=1,lazy_journal_init=1,nodiscard",
            str(spec.image),
        ]
    )


def attach(spec: DiskSpec, backing: Path, journal: UndoJournal) -> EmulatedDisk:
    """Attach ``backing`` as a block device with direct I/O and the scaled queue settings of the described disk."""
    block = Path(run(["losetup", "--direct-io=on", "--find", "--show", str(backing)]).strip())
    major_minor = read_text(SYS_BLOCK / block.name / "dev") or ""
    queue, bdi = SYS_BLOCK / block.name / "queue", Path("/sys/class/bdi") / major_minor
    settings = {  # in this order: the kernel resets the readahead when the others change
        queue / "rotational": str(int(spec.device.kind is DeviceKind.HDD)),
        queue / "max_sectors_kb": str(spec.request_bytes // 1024),
        queue / "read_ahead_kb": str(spec.request_bytes // 1024),
        bdi / "strict_limit": "1",
    }
    previous_values = {path: read_text(path) for path in (*settings, bdi / "max_ratio")}
    recorded_values = {str(path): value for path, value in previous_values.items() if value is not None}
    journal.record(UndoStep("settings", {"block": str(block), "image": str(backing), "values": recorded_values}))
    refused_settings = [path.name for path, value in settings.items() if not write_text(path, value)]
    # Before Linux 6.2 there is no max_bytes, and the finest step is one per cent of all memory.
    if not write_text(bdi / "max_bytes", str(spec.dirty_bytes)) and not write_text(bdi / "max_ratio", "1"):
        refused_settings.append("max_bytes")
    not_emulated = (
        [f"disk queue settings: the kernel refused {', '.join(refused_settings)}"] if refused_settings else []
    )
    if read_text(SYS_BLOCK / block.name / "loop" / "dio") != "1":
        not_emulated.append("reads past the host's page cache: the file system below the lab has no direct I/O")
    return EmulatedDisk(spec, backing, block, major_minor, tuple(not_emulated))


class ThrottledLoop:
    """A loop device over a sparse file, throttled by the block-I/O controller in the directory ``throttles(node)``."""

    kind = Disks.THROTTLE
    not_emulated = (
        "seeks and rotation: a disk has a rate and an IOPS limit, so interleaved streams cost no seeks",
        "disk utilisation: limits act before the kernel's accounting; compare bytes with the limit, not iostat's %util",
    )
    processes: tuple[subprocess.Popen[bytes], ...] = ()

    def __init__(self, throttles: dict[str, Path | None]) -> None:
        self._throttles = throttles

    def create(self, specs: Sequence[DiskSpec], journal: UndoJournal) -> list[EmulatedDisk]:
        """Format and attach each file. Limits follow later, because mounting slow disks takes long."""

        def make_disk(spec: DiskSpec) -> EmulatedDisk:
            journal.record(UndoStep("image", {"path": str(spec.image)}))
            make_image(spec)
            return attach(spec, spec.image, journal)

        return parallel(make_disk, specs)

    def limit(self, disk: EmulatedDisk, journal: UndoJournal) -> tuple[str, ...]:
        """Write the limits to the node's throttle directory."""
        directory = self._throttles[disk.spec.node]
        if directory is None:
            return ("disk bandwidth and IOPS: this kernel has no block-I/O controller",)
        journal.record(
            UndoStep(
                "throttle",
                {
                    "directory": str(directory),
                    "device": disk.major_minor,
                    "block": str(disk.block),
                    "image": str(disk.spec.image),
                },
            )
        )
        if throttle(directory, disk.major_minor, disk.spec.limits):
            return ()
        return (f"disk bandwidth and IOPS: the kernel refused a limit in {directory}",)
