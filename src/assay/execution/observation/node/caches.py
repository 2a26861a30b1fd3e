"""Drop this node's page cache, and print its size before and after as a JSON object.

In, as JSON in argv[1]: ``directories`` with the data files; ``budget_s``: time limit for one count. Out:
``cached_before_bytes`` and ``cached_after_bytes`` (Cached of /proc/meminfo, which includes tmpfs),
``resident_before_bytes`` and ``resident_after_bytes`` (of the data files; null: could not be counted, ``unknown`` has
the reason), ``dropped``, ``reason`` (why not), ``sync_s``, ``drop_s``.

Dirty pages can't be dropped, so sync(2) comes first. Writing 3 to /proc/sys/vm/drop_caches drops clean pages, dentries
and inodes (the kernel's Documentation/admin-guide/sysctl/vm.rst). Cached pages of a file are counted by cachestat(2),
number 451 since Linux 6.5, and before that by mincore(2).
"""

import ctypes
import errno
import json
import mmap
import os
import re
import subprocess
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

CACHESTAT = 451
"""Number of the system call cachestat(2), which Linux has since 6.5."""
PROT_READ, MAP_SHARED = 1, 1
DROP_FILE = "/proc/sys/vm/drop_caches"
SUDO_TIMEOUT_S = 20
"""Maximum wait for sudo to drop the caches, in seconds."""
MINCORE_STEP_BYTES = 1 << 30
"""Maximum part of a file that is mapped at a time to count its cached pages, in bytes."""
ATTEMPTS = 3
"""Maximum number of attempts to drop the caches."""
RESIDENT_BYTES_MAX = 1 << 20
"""Maximum resident bytes without another attempt to drop them: single pages in use by other processes."""


class UnknownError(Exception):
    """The data files can't be counted; the message has the reason."""


class CachestatRange(ctypes.Structure):
    """struct cachestat_range; length 0 means to the end of the file."""

    _fields_ = (("offset", ctypes.c_uint64), ("length", ctypes.c_uint64))


class Counter:
    """Counts cached bytes of open files with cachestat(2), or on older kernels with mincore(2)."""

    def __init__(self) -> None:
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.mmap.restype = ctypes.c_void_p
        self.libc.mmap.argtypes = [
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_int,
            ctypes.c_int,
            ctypes.c_int,
            ctypes.c_int64,
        ]
        self.libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self.libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
        self.whole_file = CachestatRange(0, 0)
        self.answer = (ctypes.c_uint64 * 5)()
        self.has_cachestat = True

    def resident_bytes(self, fd: int, size: int) -> int:
        """Return the cached bytes of an open file."""
        if self.has_cachestat:
            failed = self.libc.syscall(CACHESTAT, fd, ctypes.byref(self.whole_file), ctypes.byref(self.answer), 0)
            if not failed:
                return self.answer[0] * mmap.PAGESIZE
            if ctypes.get_errno() not in (errno.ENOSYS, errno.EPERM, errno.EOPNOTSUPP):
                raise UnknownError("cachestat: " + os.strerror(ctypes.get_errno()))
            self.has_cachestat = False
        return self.by_mincore(fd, size)

    def by_mincore(self, fd: int, size: int) -> int:
        """Count with mincore(2).

        Raises UnknownError without write permission: the kernel then reports every page as resident.
        """
        if os.geteuid() not in (0, os.fstat(fd).st_uid) and not os.access("/proc/self/fd/%d" % fd, os.W_OK):
            raise UnknownError("the kernel reports a file's cached pages only to its owner")
        pages = 0
        for offset in range(0, size, MINCORE_STEP_BYTES):
            length = min(MINCORE_STEP_BYTES, size - offset)
            address = self.libc.mmap(None, length, PROT_READ, MAP_SHARED, fd, offset)
            if address is None or address == ctypes.c_void_p(-1).value:
                raise UnknownError("mmap: " + os.strerror(ctypes.get_errno()))
            states = ctypes.create_string_buffer((length + mmap.PAGESIZE - 1) // mmap.PAGESIZE)
            failed = self.libc.mincore(address, length, states)
            self.libc.munmap(address, length)
            if failed:
                raise UnknownError("mincore: " + os.strerror(ctypes.get_errno()))
            pages += len(states.raw) - states.raw.count(b"\0")
        return pages * mmap.PAGESIZE


def count(directories: List[str], budget_s: float) -> int:
    """Return the cached bytes of all files below the directories. Raises UnknownError if that is not possible."""
    counter = Counter()
    deadline_s = time.monotonic() + budget_s
    total = 0
    for directory in directories:
        for folder, _, names in os.walk(directory, onerror=fail):
            for name in names:
                total += count_file(os.path.join(folder, name), counter)
                if time.monotonic() > deadline_s:
                    raise UnknownError("counting the data files takes longer than %g s" % budget_s)
    return total


def fail(error: OSError) -> None:
    """Handle an error of os.walk: a missing directory holds nothing; other errors make the count unknown."""
    if error.errno != errno.ENOENT:
        raise UnknownError("%s: %s" % (error.filename, error.strerror))


def count_file(path: str, counter: Counter) -> int:
    """Return the cached bytes of a regular file; 0 if it was deleted meanwhile."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENXIO):  # gone, a link, a socket
            return 0
        raise UnknownError("%s: %s" % (path, error.strerror)) from error
    try:
        status = os.fstat(fd)
        if status.st_mode & 0o170000 != 0o100000 or not status.st_size:
            return 0
        return counter.resident_bytes(fd, status.st_size)
    finally:
        os.close(fd)


def try_count(directories: List[str], budget_s: float) -> Tuple[Optional[int], Optional[str]]:
    """Return the cached bytes, or None and the reason."""
    try:
        return count(directories, budget_s), None
    except UnknownError as error:
        return None, str(error)


def cached_bytes() -> int:
    """Return Cached of /proc/meminfo."""
    with open("/proc/meminfo") as file:
        match = re.search(r"^Cached:\s+(\d+)", file.read(), re.M)
    return int(match.group(1)) * 1024 if match else 0


def drop() -> Optional[str]:
    """Drop clean pages, as root or through sudo. Return the reason if that fails, else None."""
    if os.geteuid() != 0:
        return drop_by_sudo()
    try:
        with open(DROP_FILE, "w") as file:
            file.write("3\n")
    except OSError as error:
        return "%s can't be written, even by root (a container?): %s" % (DROP_FILE, error.strerror)
    return None


def drop_by_sudo() -> Optional[str]:
    """Drop with ``sudo -n tee``, which never waits for a password."""
    rule = "allow it with this line in sudoers: %s ALL=(root) NOPASSWD: /usr/bin/tee %s" % (user_name(), DROP_FILE)
    try:
        result = subprocess.run(
            ["sudo", "-n", "/usr/bin/tee", DROP_FILE],
            input=b"3\n",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=SUDO_TIMEOUT_S,
            check=False,
        )
    except OSError:
        return "caches can be dropped by root only, and there is no sudo; log in as root, or install sudo and " + rule
    except subprocess.TimeoutExpired:
        return "sudo does not answer within %d s" % SUDO_TIMEOUT_S
    if result.returncode == 0:
        return None
    message = result.stderr.decode("utf-8", "replace").strip()
    if "password" in message or "terminal" in message:
        return "sudo asks for a password; " + rule
    return "sudo refuses (%s); %s" % (message, rule)


def user_name() -> str:
    """Return the user's name, or the user id if there is no name."""
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return "#%d" % os.geteuid()


def main() -> None:
    """Sync, count, drop and count; drop up to :data:`ATTEMPTS` times while pages remain."""
    options = json.loads(sys.argv[1])
    directories, budget_s = options["directories"], float(options["budget_s"])
    started_s = time.monotonic()
    os.sync()
    result: Dict[str, Any] = {"sync_s": round(time.monotonic() - started_s, 4), "cached_before_bytes": cached_bytes()}
    result["resident_before_bytes"], result["unknown"] = try_count(directories, budget_s)
    started_s = time.monotonic()
    for attempt in range(ATTEMPTS):
        if attempt:
            os.sync()
        result["reason"] = drop()
        result["resident_after_bytes"], unknown = try_count(directories, budget_s)
        if result["reason"] is not None or (result["resident_after_bytes"] or 0) <= RESIDENT_BYTES_MAX:
            break
    result["unknown"] = result["unknown"] or unknown
    result["dropped"] = result["reason"] is None
    result["cached_after_bytes"] = cached_bytes()
    result["drop_s"] = round(time.monotonic() - started_s, 4)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
