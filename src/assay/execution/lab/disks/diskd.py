"""Find, start and stop the daemon of modelled disks.

``assay-diskd SPEC.json`` mounts a FUSE file system with one file per device. Reads and writes of that file take as long
as on the described disk, and reach the device's image. In: the specification (bytes, bytes/s, seconds, all after
scaling). Out: a running process with files for loop devices. The daemon outlives assay if the lab does. It is
recognised by its command line, which ends with the path of a specification file that no other process has. It does not
start without that file, so deleting the file also stops a daemon that has not started yet.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.execution.lab.commands import ENVIRONMENT, run
from assay.execution.lab.journal import UndoJournal, UndoStep
from assay.foundation.errors import LabError
from assay.foundation.installation import installation
from assay.foundation.process import start_ticks

PROGRAM = "assay-diskd"
FUSE = Path("/dev/fuse")
READY = "ready"
READY_TIMEOUT_S = 10.0
"""Maximum time until the daemon's files exist after its start, in seconds."""
TERMINATE_WAIT_S = 3.0
"""Maximum wait for the end of a terminated daemon, in seconds; then it is killed."""
POLL_S = 0.01
"""Pause between two checks of a daemon, in seconds."""
NICENESS = "-15"
"""Priority of the daemon. Disks must respond in time when every core is busy."""


def find_daemon(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the daemon's program: $ASSAY_DISKD, else the packaged program, else the program on the PATH; None if
    there is none."""
    if stated_program := environment.get("ASSAY_DISKD"):
        return (
            Path(stated_program).absolute()
            if os.access(stated_program, os.X_OK) and Path(stated_program).is_file()
            else None
        )
    if packaged_program := installation().disks_daemon:
        return packaged_program
    path = shutil.which(PROGRAM, path=environment.get("PATH") or ENVIRONMENT["PATH"])
    return Path(path).absolute() if path else None


@dataclass(frozen=True, slots=True)
class DiskDaemon:
    """A daemon's program and files, whether it runs or not."""

    program: Path
    specification: Path
    mount: Path

    @property
    def log(self) -> Path:
        """The daemon's log."""
        return self.specification.with_suffix(".log")

    def start(self, devices: Sequence[Mapping[str, Any]], seed: int, journal: UndoJournal) -> subprocess.Popen[bytes]:
        """Start the daemon and wait until its files exist. Raises LabError with its message if it fails."""
        journal.record(
            UndoStep(
                "diskd",
                {"program": str(self.program), "specification": str(self.specification), "mount": str(self.mount)},
            )
        )
        self.mount.mkdir(parents=True)
        content = {"mount": str(self.mount), "seed": seed, "devices": list(devices)}
        self.specification.write_text(json.dumps(content, indent=1))
        with self.log.open("wb") as log:
            process = subprocess.Popen(
                ["nice", "-n", NICENESS, str(self.program), str(self.specification)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env=ENVIRONMENT,
                start_new_session=True,  # assay handles a Ctrl-C at the terminal
            )
        deadline = time.monotonic() + READY_TIMEOUT_S
        while READY not in self._log_lines():
            if process.poll() is not None or time.monotonic() > deadline:
                message = " / ".join(self._log_lines()[-3:]) or f"it is not ready after {READY_TIMEOUT_S:g} s"
                raise LabError(
                    f"the disks' daemon failed: {message}",
                    where=str(self.program),
                    hint='to use throttled disks instead, set "disks: throttle" in the cluster file\'s lab section',
                )
            time.sleep(POLL_S)
        return process

    def _log_lines(self) -> list[str]:
        try:
            return self.log.read_text(errors="replace").splitlines()
        except OSError:
            return []

    def pids(self) -> dict[int, int]:
        """Return the processes of this daemon, each with its start in clock ticks since boot."""
        ticks_by_pid = {}
        command = [os.fsencode(self.program), os.fsencode(self.specification)]
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (entry / "cmdline").read_bytes().split(b"\0")[:-1][-2:] == command:
                    ticks = start_ticks(int(entry.name))
                    if ticks is not None:
                        ticks_by_pid[int(entry.name)] = ticks
        return ticks_by_pid

    @property
    def is_mounted(self) -> bool:
        """Whether the daemon's file system, or a dead mount of it, is mounted."""
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
        return any(Path(line.split()[4].encode().decode("unicode_escape")) == self.mount for line in lines)

    def wake(self) -> None:
        """Resume a stopped daemon (SIGSTOP). Every process that uses its disks waits for it and ignores signals."""
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def end(self) -> str | None:
        """Unmount the file system and end the process. Returns a message if that fails."""
        self.specification.unlink(missing_ok=True)
        if self.is_mounted:
            with suppress(LabError):
                run(["umount", str(self.mount)])
        ticks_by_pid = self.pids()
        for signal_number in (signal.SIGTERM, signal.SIGKILL):
            for pid, ticks in ticks_by_pid.items():
                if start_ticks(pid) == ticks:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal_number)
            if _wait_until_gone(ticks_by_pid):
                break
        # A daemon that was killed leaves a mount without a server, which only a lazy unmount is sure to remove.
        while self.is_mounted:
            try:
                run(["umount", "--lazy", str(self.mount)])
            except LabError as error:
                return f"the disks' files at {self.mount} can't be unmounted: {error.message}"
        return f"the disks' daemon, process {min(ticks_by_pid)}, does not end" if self.pids() else None


def daemon_of(arguments: Mapping[str, Any]) -> DiskDaemon:
    """Return the daemon of a journal step."""
    return DiskDaemon(*(Path(arguments[name]) for name in ("program", "specification", "mount")))


def _wait_until_gone(ticks_by_pid: Mapping[int, int]) -> bool:
    deadline = time.monotonic() + TERMINATE_WAIT_S
    while any(start_ticks(pid) == ticks for pid, ticks in ticks_by_pid.items()):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True
