"""Remove the resources of a journal: in reverse order, bounded in time, idempotent.

Each kind of step has a removal function, which does nothing if the resource is already gone. One LabError reports all
remaining resources. The journal then stays, so that the next command tries again.
"""

import os
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any

from assay.execution.lab.cgroups import DiskLimits, member_pids, throttle
from assay.execution.lab.commands import parallel, run, write_text
from assay.execution.lab.disks.disk_emulators import backing_image, loops_over
from assay.execution.lab.disks.diskd import daemon_of
from assay.execution.lab.journal import UndoStep, read_journal
from assay.foundation.errors import AssayError, LabError
from assay.foundation.process import boot_id

TERMINATE_WAIT_S = 2.0
"""Maximum wait for processes after SIGTERM, and for a control group's removal, in seconds."""
KILL_WAIT_S = 60.0
"""Maximum wait for a killed process, in seconds. The process ends after writing back its file systems, at the speed of
a modelled disk: half a second's worth of sequential writes takes many times as long if scattered over the disk."""
DETACH_WAIT_S = 60.0
"""Maximum wait for the last user of a loop device to unmount its file system, in seconds."""
POLL_S = 0.05
"""Pause between two checks whether a resource is gone, in seconds."""
NETNS = Path("/run/netns")


def _wait_until(is_done: Callable[[], bool], timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while not is_done():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def _node_pids(arguments: dict[str, Any]) -> set[int]:
    pids = member_pids([Path(directory) for directory in arguments["cgroups"]])
    if (NETNS / arguments["namespace"]).exists():
        with suppress(LabError):  # the namespace was removed in between
            pids |= {int(word) for word in run(["ip", "netns", "pids", arguments["namespace"]]).split()}
    return pids - {os.getpid()}


def _signal(pids: set[int], signal_number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal_number)


def _undo_node(arguments: dict[str, Any]) -> str | None:
    """End all processes in the node's control groups and network namespace, and prevent a pending start."""
    Path(arguments["boot"]).unlink(missing_ok=True)
    _signal(_node_pids(arguments), signal.SIGTERM)
    if _wait_until(lambda: not _node_pids(arguments), TERMINATE_WAIT_S):
        return None

    def kill_remaining() -> bool:
        pids = _node_pids(arguments)
        _signal(pids, signal.SIGKILL)
        return not pids

    if _wait_until(kill_remaining, KILL_WAIT_S):
        return None
    return f"processes {sorted(_node_pids(arguments))} of {arguments['namespace']} do not end"


def _undo_throttle(arguments: dict[str, Any]) -> str | None:
    # If the device has another image, another lab uses it now and keeps its limits.
    if backing_image(Path(arguments["block"])) in (None, Path(arguments["image"])):
        throttle(Path(arguments["directory"]), arguments["device"], DiskLimits())
    return None


def _undo_settings(arguments: dict[str, Any]) -> str | None:
    if backing_image(Path(arguments["block"])) in (None, Path(arguments["image"])):
        for path, value in arguments["values"].items():
            write_text(Path(path), value)
    return None


def _undo_loop(arguments: dict[str, Any]) -> str | None:
    """Detach the loop devices of a file, or of the files below a folder, once they are not mounted."""
    path = Path(arguments["path"])

    def detach_all() -> bool:
        for block in loops_over(path):
            with suppress(LabError):
                run(["losetup", "--detach", str(block)])
        return not loops_over(path)

    if not _wait_until(detach_all, DETACH_WAIT_S):
        return f"{', '.join(map(str, loops_over(path)))} over {path} is still in use"
    return None


def _undo_image(arguments: dict[str, Any]) -> str | None:
    """Delete the file of a disk; detach it first if it was attached directly."""
    message = _undo_loop(arguments)
    if message is None:
        Path(arguments["path"]).unlink(missing_ok=True)
    return message


def _undo_diskd(arguments: dict[str, Any]) -> str | None:
    """Unmount the files of modelled disks and end the daemon."""
    return daemon_of(arguments).end()


def _undo_link(arguments: dict[str, Any]) -> str | None:
    name = arguments["name"]
    path = Path("/sys/class/net") / name
    if path.exists():
        with suppress(LabError):
            run(["ip", "link", "delete", name])
    return f"network interface {name} can't be deleted" if path.exists() else None


def _undo_namespace(arguments: dict[str, Any]) -> str | None:
    name = arguments["name"]
    if (NETNS / name).exists():
        with suppress(LabError):
            run(["ip", "netns", "delete", name])
    return f"network namespace {name} can't be deleted" if (NETNS / name).exists() else None


def _undo_cgroup(arguments: dict[str, Any]) -> str | None:
    path = Path(arguments["path"])

    def remove_group() -> bool:
        with suppress(OSError):
            path.rmdir()
        return not path.exists()

    return None if _wait_until(remove_group, TERMINATE_WAIT_S) else f"control group {path} can't be removed"


UNDO: dict[str, Callable[[dict[str, Any]], str | None]] = {
    "node": _undo_node,
    "throttle": _undo_throttle,
    "settings": _undo_settings,
    "image": _undo_image,
    "loop": _undo_loop,
    "diskd": _undo_diskd,
    "link": _undo_link,
    "namespace": _undo_namespace,
    "cgroup": _undo_cgroup,
}
"""Step kind to its removal function, which returns None or a message about the remaining resource."""


def _undo_step(step: UndoStep) -> str | None:
    try:
        return UNDO[step.kind](step.arguments)
    except (AssayError, OSError, KeyError) as error:
        return f"{step.kind} {step.arguments}: {error}"


def undo_all(directory: Path) -> None:
    """Undo all steps of the journal in ``directory``, then delete the directory.

    After a reboot only files remain, because the kernel lost all other resources. Raises LabError with the resources
    that could not be removed.
    """
    header, steps = read_journal(directory)
    messages: list[str] = []
    if header is not None and header.owner.boot_id == boot_id():
        for step in steps:
            if step.kind == "diskd":
                daemon_of(step.arguments).wake()
        for _, steps_of_kind in groupby(reversed(steps), key=lambda step: step.kind):
            messages += [message for message in parallel(_undo_step, list(steps_of_kind)) if message]
        # A losetup that the kernel delayed can attach an image after its owner was killed and its step was undone.
        if not messages and (message_of_loops := _undo_loop({"path": str(directory)})):
            messages.append(message_of_loops)
    if messages:
        raise LabError(
            f"the lab {directory.name} is not completely removed: {'; '.join(messages)}",
            where=str(directory),
            hint=f"end the programs that use it, then: assay lab down {directory.name}",
        )
    shutil.rmtree(directory, ignore_errors=True)
    if directory.exists():
        raise LabError("its files can't be deleted", where=str(directory), hint="delete the folder by hand")
