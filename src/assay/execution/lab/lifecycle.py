"""Create, find and remove labs.

:meth:`Lab.up` turns a :class:`~assay.model.clusters.cluster.Cluster` with placement LAB into running hosts. It returns
the cluster with SSH addresses and directories of devices, so other code need not know that they are emulated. The scale
applies to bytes/s of disks, bits/s of links, memory (down to a minimum) and capacity; requests/s are not scaled. A
persistent lab stays until it is removed. Any other lab belongs to this process; if the process dies, the next assay
command removes the lab.
"""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from assay.execution.lab.build import LabSite, build
from assay.execution.lab.disks.diskd import daemon_of
from assay.execution.lab.journal import LabHeader, UndoJournal, read_journal
from assay.execution.lab.links import LabLinks
from assay.execution.lab.probe import clear_scratch, probe
from assay.execution.lab.state import lab_directories, lab_directory, machine_lock, state_root, take_lab_lock
from assay.execution.lab.undo import undo_all
from assay.foundation.errors import LabError
from assay.foundation.process import Lock, Owner, deferred_signals, lock_holder
from assay.model import Cluster, LabFacts, Placement

DESCRIPTION = "lab.json"
EXIT_WAIT_S = 5.0
"""Maximum wait for each child process after a lab's removal, in seconds."""


@dataclass(frozen=True, slots=True)
class Description:
    """Contents of ``lab.json``, which exists once a lab is up."""

    described: Cluster
    """The cluster as its file describes it."""
    cluster: Cluster
    """The cluster with the addresses and directories of the lab's nodes."""
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class LabStatus:
    """Status of a lab, read without entering it. ``state``: ``up``, ``broken``, ``being created`` or ``abandoned``."""

    name: str
    state: str
    persistent: bool
    owner: Owner | None
    used_by: Owner | None
    directory: Path
    cluster: Cluster | None
    facts: dict[str, Any] | None


class Lab:
    """An emulated cluster that is up and held by this process. As a context manager it calls ``down`` at the end."""

    def __init__(
        self, directory: Path, description: Description, lock: Lock, processes: tuple[subprocess.Popen[bytes], ...] = ()
    ) -> None:
        self._directory = directory
        self._description = description
        self._lock = lock
        self._processes = processes

    @property
    def name(self) -> str:
        """The lab's name."""
        return self._directory.name

    @property
    def cluster(self) -> Cluster:
        """The cluster with SSH addresses and mounted devices."""
        return self._description.cluster

    @property
    def facts(self) -> dict[str, Any]:
        """Facts of the lab and properties that are not emulated, as JSON values; docs/explanation/lab.md describes
        them."""
        return self._description.facts

    @property
    def typed_facts(self) -> LabFacts:
        """The facts as typed values."""
        return LabFacts.of(self.facts)

    @classmethod
    def up(
        cls,
        cluster: Cluster,
        *,
        name: str,
        persistent: bool,
        state: Path | None = None,
        progress: Callable[[str], None] = lambda _: None,
    ) -> Self:
        """Create the lab and wait until every node answers by SSH.

        Raises LabError if the machine can't emulate a cluster, a lab of this name exists, or a step fails. On any
        error, also KeyboardInterrupt, the resources that were created are removed.
        """
        if cluster.placement is not Placement.LAB or cluster.lab is None:
            raise LabError(
                f"the cluster {cluster.name} is not described as a lab", hint='add "lab: {scale: 1/20}" to its file'
            )
        directory = lab_directory(name, state)
        capabilities = probe(state)
        if missing_text := "; ".join(f"{item.name}: {item.detail}" for item in capabilities.missing):
            raise LabError(
                f"this machine can't emulate a cluster: {missing_text}",
                hint="assay lab probe shows everything that a lab needs",
            )
        started_s = time.monotonic()
        with machine_lock():
            _clear_abandoned(state)
            _refuse_existing(directory)
            directory.mkdir(parents=True, mode=0o700)
            lock = take_lab_lock(directory)
            journal = UndoJournal.begin(directory, LabHeader(name, persistent, Owner.current()))
            with _undo_on_failure(directory, lock), deferred_signals() as check:
                booted_lab = build(cluster, LabSite(name, directory, journal, capabilities, progress, check))
                facts = {"name": name, "elapsed_s": round(time.monotonic() - started_s, 3), **booted_lab.facts}
                description = Description(cluster, booted_lab.cluster, facts)
                _write_description(directory, description)
        return cls(directory, description, lock, booted_lab.processes)

    @classmethod
    def attach(cls, name: str, state: Path | None = None, *, described: Cluster | None = None) -> Self:
        """Return the lab ``name``, held by this process until :meth:`detach`.

        Raises LabError if it is not up, is in use, has lost its disks, or was created from another description than
        ``described`` (if given).
        """
        directory = lab_directory(name, state)
        description = _read_description(directory)
        if description is None:
            lab_names = ", ".join(path.name for path in lab_directories(state)) or "none"
            raise LabError(f"no lab {name} is up (labs: {lab_names})", hint="make it with: assay lab up CLUSTER.yaml")
        if _lost_disks(directory):
            raise _broken_lab_error(directory)
        if described not in (None, description.described):
            raise LabError(
                f"the lab {name} is up, but it was created from another description",
                where=str(directory),
                hint=f"create it again: assay lab down {name}, then assay lab up CLUSTER.yaml",
            )
        lab = cls(directory, description, take_lab_lock(directory))
        lab.links.shape(None)
        return lab

    @property
    def links(self) -> LabLinks:
        """The links between nodes and switch."""
        return LabLinks(self.typed_facts, self._directory)

    def detach(self) -> None:
        """Release the lab, leave it up, and restore its link rates."""
        try:
            self.links.shape(None)
        finally:
            self._lock.release()

    def down(self) -> None:
        """Remove the lab and its contents. Raises LabError with the resources that could not be removed."""
        with machine_lock(), deferred_signals():
            undo_all(self._directory)
            self._lock.release()
        for process in self._processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(EXIT_WAIT_S)

    def __enter__(self) -> Self:
        """Return the lab itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the lab."""
        self.down()


@contextmanager
def _undo_on_failure(directory: Path, lock: Lock) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        # Resources that can't be removed stay in the journal, for the next command. The first error is reported.
        with suppress(LabError), deferred_signals():
            undo_all(directory)
        lock.release()
        if isinstance(error, OSError):
            raise LabError(f"the lab can't be made: {error}", where=str(directory)) from error
        raise


def _broken_lab_error(directory: Path) -> LabError:
    return LabError(
        f"the lab {directory.name} is broken: the daemon of its disks has ended, so the disks are lost",
        where=str(directory),
        hint=f"remove it: assay lab down {directory.name}; the next command creates it again",
    )


def _refuse_existing(directory: Path) -> None:
    header, _ = read_journal(directory)
    if header is None:
        return
    if _lost_disks(directory):
        raise _broken_lab_error(directory)
    raise LabError(
        f"a lab {directory.name} exists already, made by {header.owner}",
        where=str(directory),
        hint=f"use it, choose another name with --name, or remove it with: assay lab down {directory.name}",
    )


def _write_description(directory: Path, description: Description) -> None:
    temporary_file = directory / f"{DESCRIPTION}.partial"
    with temporary_file.open("wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(description)))
        file.flush()
        os.fsync(file.fileno())
    temporary_file.replace(directory / DESCRIPTION)


def _read_description(directory: Path) -> Description | None:
    try:
        return msgspec.json.decode((directory / DESCRIPTION).read_bytes(), type=Description)
    except (OSError, msgspec.MsgspecError):
        return None


def labs(state: Path | None = None) -> list[LabStatus]:
    """Return all labs with resources on this machine, by name."""
    return [_status(directory) for directory in lab_directories(state)]


def _status(directory: Path) -> LabStatus:
    header, _ = read_journal(directory)
    description = _read_description(directory)
    if _is_abandoned(directory):
        state = "abandoned"
    elif not description:
        state = "being created"
    else:
        state = "broken" if _lost_disks(directory) else "up"
    return LabStatus(
        name=directory.name,
        state=state,
        persistent=header.persistent if header else False,
        owner=header.owner if header else None,
        used_by=lock_holder(directory / "lock"),
        directory=directory,
        cluster=description.cluster if description else None,
        facts=description.facts if description else None,
    )


def _lost_disks(directory: Path) -> bool:
    """Return whether the daemon of the lab's disks has died."""
    _, steps = read_journal(directory)
    return any(not daemon_of(step.arguments).pids() for step in steps if step.kind == "diskd")


def _is_abandoned(directory: Path) -> bool:
    """Return whether no process will use or finish the lab; see :func:`clear_abandoned`."""
    header, _ = read_journal(directory)
    if header is None or header.owner.boot_id != Owner.current().boot_id:
        return True
    if header.persistent and (directory / DESCRIPTION).exists():
        return False
    return not header.owner.alive and lock_holder(directory / "lock") is None


def clear_abandoned(state: Path | None = None) -> list[str]:
    """Remove labs whose owner died before they were up, temporary labs of dead owners, and labs of an earlier boot.

    Returns a message for each removed lab. Does nothing without root, which labs need. Raises LabError if a resource
    can't be removed.
    """
    if os.geteuid() != 0 or not any(map(_is_abandoned, lab_directories(state))):
        return []
    with machine_lock():
        return _clear_abandoned(state)


def _clear_abandoned(state: Path | None) -> list[str]:
    messages = []
    for directory in lab_directories(state):
        if _is_abandoned(directory):
            header, _ = read_journal(directory)
            owner = f"made by {header.owner}" if header else "without a header"
            with deferred_signals():
                undo_all(directory)
            messages.append(f"removed the remains of the lab {directory.name} ({owner})")
    clear_scratch(state_root(state))
    return messages


def remove(name: str, state: Path | None = None) -> None:
    """Remove the lab ``name`` in any state. Raises LabError if there is none or another process uses it."""
    directory = lab_directory(name, state)
    if not directory.is_dir():
        lab_names = ", ".join(path.name for path in lab_directories(state)) or "none"
        raise LabError(f"there is no lab {name} (labs: {lab_names})")
    with machine_lock():
        lock = take_lab_lock(directory)
        try:
            with deferred_signals():
                undo_all(directory)
        finally:
            lock.release()
