"""State directories of labs, and locks that keep two processes from working on one lab.

``/var/lib/assay`` (environment: ASSAY_STATE) holds ``labs/NAME/``: ``journal.jsonl``, ``lab.json`` once the lab is up,
keys, disk images and the nodes' directories. A machine-wide lock is held while any lab is created or removed, because
names and subnets are shared. A lock per lab is held while a process creates, uses or removes it.
"""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.foundation.errors import LabError, SpecificationError
from assay.foundation.process import Lock, lock_holder

STATE_DEFAULT = Path("/var/lib/assay")
MACHINE_LOCK = Path("/run/assay-lab.lock")
MACHINE_LOCK_WAIT_S = 120.0
"""Maximum wait for the machine-wide lock, in seconds."""
LOCK_POLL_S = 0.1
"""Pause between two tries to take the lock of labs, in seconds."""
LAB_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?")


def state_root(state: Path | None = None) -> Path:
    """Return the state directory: ``state``, else $ASSAY_STATE, else /var/lib/assay."""
    return (state or Path(os.environ.get("ASSAY_STATE") or STATE_DEFAULT)).absolute()


def lab_directory(name: str, state: Path | None = None) -> Path:
    """Return the directory of the lab ``name``. Raises SpecificationError for an invalid name."""
    if not LAB_NAME.fullmatch(name):
        raise SpecificationError(
            f"{name!r} can't name a lab",
            hint="use up to 32 lower-case letters, digits and dashes, such as demo or two-racks",
        )
    return state_root(state) / "labs" / name


def lab_directories(state: Path | None = None) -> list[Path]:
    """Return the directories of all labs with resources on this machine, by name."""
    labs = state_root(state) / "labs"
    return sorted(path for path in labs.iterdir() if path.is_dir()) if labs.is_dir() else []


@contextmanager
def machine_lock() -> Iterator[None]:
    """Hold the machine-wide lock. Raises LabError with its holder after two minutes."""
    deadline = time.monotonic() + MACHINE_LOCK_WAIT_S
    while (lock := Lock.try_take(MACHINE_LOCK)) is None:
        if time.monotonic() > deadline:
            holder = lock_holder(MACHINE_LOCK) or "another process"
            raise LabError(
                f"another lab has been under creation or removal for {MACHINE_LOCK_WAIT_S:g} s ({holder})",
                where=str(MACHINE_LOCK),
                hint="wait for it, or end that process; the next assay command then removes its lab",
            )
        time.sleep(LOCK_POLL_S)
    try:
        yield
    finally:
        lock.release()


def take_lab_lock(directory: Path) -> Lock:
    """Take the lock of the lab in ``directory``. Raises LabError with the user of the lab if another process holds it.

    Also raises LabError if the lab was removed before the lock was taken.
    """
    path = directory / "lock"
    try:
        lock = Lock.try_take(path)
        if lock is not None and not lock.holds(path):
            lock.release()
            raise FileNotFoundError(path)
    except FileNotFoundError as error:
        raise LabError(
            f"the lab {directory.name} has just been removed by another command",
            where=str(directory),
            hint="assay lab status lists the labs that are up",
        ) from error
    if lock is None:
        holder = lock_holder(path)
        raise LabError(
            f"the lab {directory.name} is in use ({holder or 'by another process'})",
            where=str(directory),
            hint=f"wait until it ends, or end it with: kill {holder.pid}" if holder else "wait until it ends",
        )
    return lock
