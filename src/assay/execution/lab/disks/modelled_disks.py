"""Modelled disks: loop devices over files of the device-model daemon.

The daemon delays each request by the time that an arm, a platter or flash channels would take. Interleaved streams cost
as much as on the described disk, and the kernel reports realistic utilisation, queue length and await. In: disks after
scaling. Out: block devices over ``model/NODE.DEVICE``, whose content is in the images. The images are formatted before
the daemon starts, at the machine's speed. Creation order: images, daemon, loop devices. Removal is in reverse order.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.analysis.devices.model_parameters import model_parameters
from assay.execution.lab.commands import parallel
from assay.execution.lab.disks.disk_emulators import DiskSpec, EmulatedDisk, attach, make_image
from assay.execution.lab.disks.diskd import DiskDaemon
from assay.execution.lab.journal import UndoJournal, UndoStep
from assay.model import Disks

SEED = 1
"""Seed of the modelled disks' random latencies."""


class ModelledLoop:
    """Loop devices over the files of ``program``, mounted at ``directory/model``."""

    kind = Disks.MODEL
    not_emulated = ("small requests at scale: pages keep their size, so they take longer at the scaled bandwidth",)

    def __init__(self, program: Path, directory: Path) -> None:
        self.daemon = DiskDaemon(program, directory / "model.json", directory / "model")
        self.processes: tuple[subprocess.Popen[bytes], ...] = ()

    def create(self, specs: Sequence[DiskSpec], journal: UndoJournal) -> list[EmulatedDisk]:
        """Format the images, start the daemon, and attach its files."""
        journal.record(*(UndoStep("image", {"path": str(spec.image)}) for spec in specs))
        parallel(make_image, specs)
        if not specs:
            return []
        self.processes = (self.daemon.start([device_json(spec) for spec in specs], SEED, journal),)
        files = [self.daemon.mount / file_name(spec) for spec in specs]
        journal.record(*(UndoStep("loop", {"path": str(file)}) for file in files))
        return parallel(lambda pair: attach(*pair, journal), list(zip(specs, files, strict=True)))

    def limit(self, disk: EmulatedDisk, journal: UndoJournal) -> tuple[str, ...]:  # noqa: ARG002 - the protocol's signature
        """Do nothing: the model applies from the first request."""
        return ()


def file_name(spec: DiskSpec) -> str:
    """Return the name of the device's file in the daemon's mount."""
    return f"{spec.node}.{spec.name}"


def device_json(spec: DiskSpec) -> dict[str, Any]:
    """Return the daemon's description of a disk: bandwidth, capacity and caches after scaling, times unscaled."""
    return {
        "name": file_name(spec),
        "image": str(spec.image),
        "size": spec.capacity_bytes,
        "model": model_parameters(spec.device, spec.scale),
    }
