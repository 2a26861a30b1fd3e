"""Keep the latest sample of each node of the running job in the campaign's folder, for other processes.

``campaigns/<id>/samples.json`` is replaced as a whole while a job runs, and removed at its end. It is not synced to
disk: after a crash it is old or missing, and readers ignore it. Runs have all their samples in their bundles.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from assay.model import HostSample

SAMPLES = "samples.json"
NODES_MAX = 100
"""Maximum number of nodes in the file: the first ones of the cluster."""
AGE_S_MAX = 60.0
"""Maximum age of a file whose samples are read, in seconds."""
_BYTES_MAX = 4_000_000
"""Maximum number of bytes read."""


@dataclass(frozen=True, slots=True)
class HostSamplesFile:
    """The file in a campaign's folder."""

    folder: Path

    def write(self, samples: Sequence[HostSample]) -> None:
        """Replace the file atomically. A failure is ignored: the campaign does not need the file."""
        temporary_file = self.folder / f"{SAMPLES}.{os.getpid()}"
        try:
            temporary_file.write_bytes(msgspec.json.encode(list(samples[:NODES_MAX])))
            temporary_file.replace(self.folder / SAMPLES)
        except OSError:
            temporary_file.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the file."""
        (self.folder / SAMPLES).unlink(missing_ok=True)

    def read(self) -> tuple[HostSample, ...]:
        """Return the samples; none if the file is missing, damaged or older than :data:`AGE_S_MAX`."""
        try:
            with (self.folder / SAMPLES).open("rb") as file:
                if time.time() - os.fstat(file.fileno()).st_mtime > AGE_S_MAX:
                    return ()
                return msgspec.json.decode(file.read(_BYTES_MAX), type=tuple[HostSample, ...])
        except (OSError, msgspec.MsgspecError):
            return ()
