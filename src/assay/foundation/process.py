"""Identify processes, lock files with the name of the holder, and handle the signals that end a program.

A pid can be reused. The pid and the start time (clock ticks since boot, field 22 of ``/proc/PID/stat``, proc(5))
together identify a process. Locks use flock(2): the kernel releases a lock when its holder ends.
"""

import errno
import fcntl
import hashlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, Self

import msgspec

from assay.foundation.errors import HostError

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)


def boot_id() -> str:
    """Return the kernel's identifier of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def pid_namespace_id() -> str:
    """Return a text that identifies this boot and PID namespace.

    It differs between hosts and containers that share a folder.
    """
    return hashlib.sha256(f"{boot_id()} {Path('/proc/self/ns/pid').readlink()}".encode()).hexdigest()[:12]


def start_ticks(pid: int) -> int | None:
    """Return when process ``pid`` started, in clock ticks since boot; None if it does not run."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()  # the command name before it may contain any character
    return None if fields[0] in "ZX" else int(fields[19])


def is_stopped(pid: int) -> bool:
    """Return whether SIGSTOP has suspended process ``pid``."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class Owner:
    """A process that holds a lock or a lab. ``since_unix_s``: time at which it took the lock or lab."""

    pid: int
    start_ticks: int
    boot_id: str
    since_unix_s: float

    @classmethod
    def current(cls) -> Self:
        """Return this process as an owner since now."""
        pid = os.getpid()
        return cls(pid, start_ticks(pid) or 0, boot_id(), time.time())

    @property
    def alive(self) -> bool:
        """Whether this process still runs; a later process with the same pid does not count."""
        return self.boot_id == boot_id() and start_ticks(self.pid) == self.start_ticks

    def __str__(self) -> str:
        """Return ``process 123, since 2026-01-31 12:00:00``."""
        return f"process {self.pid}, since {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(self.since_unix_s))}"


@dataclass(frozen=True, slots=True)
class Lock:
    """An exclusive flock on a file that also names its holder."""

    file: IO[str]

    @classmethod
    def try_take(cls, path: Path, *, mode: int = 0o600) -> Self | None:
        """Lock ``path`` (created with ``mode`` when absent) and write this process into it.

        Return None when another process holds the lock. Raises HostError if the file system has no locks.
        """
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode), "r+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            if isinstance(error, BlockingIOError):
                return None
            if error.errno in _NO_LOCKS:
                raise HostError(
                    f"the file system of this file has no locks ({error.strerror}), so it can't keep a"
                    " second assay process out",
                    where=str(path),
                    hint="use a local disk, or mount the share with locks (NFS: without nolock, with lockd)",
                ) from error
            raise
        file.truncate(0)
        file.write(msgspec.json.encode(Owner.current()).decode())
        file.flush()
        return cls(file)

    def holds(self, path: Path) -> bool:
        """Return whether ``path`` is still the locked file. A lock on a deleted file does not stop other processes."""
        try:
            return os.path.samestat(os.fstat(self.file.fileno()), path.stat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        if not self.file.closed:
            self.file.truncate(0)
            self.file.close()


def lock_holder(path: Path) -> Owner | None:
    """Return the process that holds the lock on ``path``; None if no living process does."""
    try:
        owner = msgspec.json.decode(path.read_bytes(), type=Owner)
    except (OSError, msgspec.MsgspecError):
        return None
    return owner if owner.alive else None


@contextmanager
def _signal_handler(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle the signals :data:`ENDING_SIGNALS` with ``handler`` in the block. Outside the main thread, do nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous_handlers = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    for number in ENDING_SIGNALS:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, previous in previous_handlers.items():
            signal.signal(number, signal.SIG_DFL if previous is None else previous)


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt, as Ctrl-C does."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with _signal_handler(interrupt):
        yield


@contextmanager
def deferred_signals() -> Iterator[Callable[[], None]]:
    """Defer Ctrl-C, SIGTERM and SIGHUP to the end of the block, or to the next call of the yielded function.

    KeyboardInterrupt is raised there, so it never interrupts work in threads. The block's duration must be bounded.
    """
    has_signal = threading.Event()

    def check() -> None:
        if has_signal.is_set():
            raise KeyboardInterrupt

    with _signal_handler(lambda _number, _frame: has_signal.set()):
        yield check
    check()
