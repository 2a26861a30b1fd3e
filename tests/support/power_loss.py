"""Replay recorded writes of a process to every state that fsync permits after a power loss.

A program runs under strace(1). Its calls that change a folder are read back as operations; a state after a power loss
is those up to some moment, of which each that no fsync has made sure of may be missing. POSIX promises no more: data of
a file by fsync of the file, names in a folder by fsync of that folder. Operations that are there keep their order.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

CALLS = (
    "openat,open,creat,write,pwrite64,writev,pwritev,lseek,close,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,"
    "rmdir,fsync,fdatasync,ftruncate,truncate,link,linkat,symlink,symlinkat,sendfile,copy_file_range,fallocate"
)
_CALL = re.compile(r"^(?P<pid>\d+) +(?P<name>\w+)\((?P<rest>.*)\) += (?P<result>-?\d+)")
_PART = re.compile(r"^(?P<pid>\d+) +(?P<text>.*?) *<unfinished \.\.\.>$")
_REST = re.compile(r"^(?P<pid>\d+) +<\.\.\. \w+ resumed>(?P<text>.*)$")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')
UNREADABLE = (*("writev", "pwritev", "sendfile", "copy_file_range", "fallocate"), *("truncate", "symlink", "symlinkat"))
"""Calls that the replay does not support: a program that makes one in the folder cannot be replayed."""


@dataclass
class Operation:
    """One change: ``create``, ``write``, ``size``, ``folder``, ``link``, ``rename``, ``unlink``.

    It is sure from ``safe_at`` on.
    """

    kind: str
    path: str
    other: str = ""
    file: int = -1
    offset: int = 0
    data: bytes = b""
    safe_at: int | None = None


@dataclass
class _Recorder:
    root: str
    operations: list[Operation] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    """Path to file, as of now."""
    opened: dict[int, list[int]] = field(default_factory=dict)
    """Descriptor to file and position."""
    folders: dict[int, str] = field(default_factory=dict)
    """Descriptor to a folder."""
    files: int = 0

    def add(self, operation: Operation) -> None:
        self.operations.append(operation)

    def sure(self, wanted: Callable[[Operation], bool]) -> None:
        """Mark what a call of fsync has made sure of."""
        for operation in self.operations:
            if operation.safe_at is None and wanted(operation):
                operation.safe_at = len(self.operations)

    def open(self, path: str, flags: str, result: int) -> None:
        self.opened.pop(result, None)
        self.folders.pop(result, None)
        if not path.startswith(self.root):
            return
        if path not in self.names:
            if "O_CREAT" not in flags:
                self.folders[result] = path
                return
            self.names[path] = self.files
            self.files += 1
            self.add(Operation("create", path, file=self.names[path]))
        elif "O_TRUNC" in flags:
            self.add(Operation("size", path, file=self.names[path]))
        self.opened[result] = [self.names[path], 0]

    def write(self, descriptor: int, data: bytes, offset: int | None) -> None:
        if descriptor in self.opened:
            file, position = self.opened[descriptor]
            self.add(Operation("write", "", file=file, offset=position if offset is None else offset, data=data))
            if offset is None:
                self.opened[descriptor][1] += len(data)

    def rename(self, old: str, new: str) -> None:
        self.add(Operation("rename", old, new))
        for path in [path for path in self.names if path == old or path.startswith(f"{old}/")]:
            self.names[new + path[len(old) :]] = self.names.pop(path)

    def sync(self, descriptor: int) -> None:
        if descriptor in self.opened:
            file = self.opened[descriptor][0]
            self.sure(lambda operation: operation.kind in ("write", "size") and operation.file == file)
        elif descriptor in self.folders:
            folder = self.folders[descriptor]

            def named_there(operation: Operation) -> bool:
                target = operation.other or operation.path
                return operation.kind not in ("write", "size") and str(Path(target).parent) == folder

            self.sure(named_there)


def _lines(log: Path) -> Iterator[str]:
    """Yield whole calls; strace splits calls of several threads."""
    started: dict[str, str] = {}
    with log.open(encoding="ascii", errors="replace") as file:
        for line in file:
            text = line.rstrip("\n")
            if part := _PART.match(text):
                started[part["pid"]] = part["text"]
            elif (rest := _REST.match(text)) and rest["pid"] in started:
                yield f"{rest['pid']} {started.pop(rest['pid'])}{rest['text']}"
            else:
                yield text


def recorded(command: Sequence[str], root: Path, log: Path) -> list[Operation]:
    """Run a command to its end and return what it changed below ``root``, where it changed no file that was there."""
    strace = ["strace", "-f", "-xx", "-s", "16777216", "-e", f"trace={CALLS}", "-o", str(log)]
    subprocess.run([*strace, *command], check=True, timeout=300)
    seen = _Recorder(str(root))
    for line in _lines(log):
        if call := _CALL.match(line):
            _take(seen, call["name"], call["rest"], int(call["result"]))
    return seen.operations


def _take(seen: _Recorder, name: str, rest: str, result: int) -> None:
    if result < 0:
        return
    texts = [bytes.fromhex(match[1].replace("\\x", "")) for match in _TEXT.finditer(rest)]
    paths = [text.decode(errors="replace") for text in texts]
    first = rest.split(",", 1)[0].strip()
    descriptor = int(first) if first.isdigit() else -1
    touches = descriptor in seen.opened or any(path.startswith(seen.root) for path in paths)
    if name in UNREADABLE and touches:
        raise NotImplementedError(f"{name}({rest[:200]}")
    if name in ("openat", "open", "creat"):
        seen.open(paths[0], rest if name != "creat" else "O_CREAT|O_TRUNC", result)
    elif name in ("write", "pwrite64"):
        offset = int(rest.rsplit(",", 1)[1]) if name == "pwrite64" else None
        seen.write(descriptor, texts[0][:result] if texts else b"", offset)
    elif name == "close":
        seen.opened.pop(descriptor, None)
        seen.folders.pop(descriptor, None)
    elif name in ("fsync", "fdatasync"):
        seen.sync(descriptor)
    elif descriptor in seen.opened:
        _take_position(seen, name, descriptor, rest, result)
    elif any(path.startswith(seen.root) for path in paths):
        _take_name(seen, name, paths)


def _take_position(seen: _Recorder, name: str, descriptor: int, rest: str, result: int) -> None:
    if name == "lseek":
        seen.opened[descriptor][1] = result
    elif name == "ftruncate":
        seen.add(Operation("size", "", file=seen.opened[descriptor][0], offset=int(rest.split(",")[1])))


def _take_name(seen: _Recorder, name: str, paths: Sequence[str]) -> None:
    if name in ("mkdir", "mkdirat"):
        seen.add(Operation("folder", paths[0]))
    elif name.startswith("rename"):
        seen.rename(paths[0], paths[1])
    elif name in ("link", "linkat"):
        seen.names[paths[1]] = seen.names[paths[0]]
        seen.add(Operation("link", paths[0], paths[1], file=seen.names[paths[0]]))
    elif name in ("unlink", "rmdir", "unlinkat"):
        seen.names.pop(paths[0], None)
        seen.add(Operation("unlink", paths[0]))


def states(operations: Sequence[Operation], drawn: int, seed: int) -> Iterator[list[Operation]]:
    """Yield what may be there after a power loss: at each moment nothing, all, all but one, only one of what is unsure,
    and ``drawn`` drawn choices.
    """
    draw = random.Random(seed)
    for moment in range(len(operations) + 1):
        sure = {n for n in range(moment) if (at := operations[n].safe_at) is not None and at <= moment}
        unsure = [n for n in range(moment) if n not in sure]
        chosen = [set(), set(unsure)]
        near = unsure[-6:] + unsure[:3]
        chosen += [set(unsure) - {n} for n in near] + [{n} for n in near]
        chosen += [{n for n in unsure if draw.random() < 0.5} for _ in range(drawn)]
        seen: set[frozenset[int]] = set()
        for some in chosen:
            if (key := frozenset(some)) not in seen:
                seen.add(key)
                yield [operations[n] for n in sorted(sure | some)]


def laid_out(kept: Sequence[Operation], before: Path, root: Path, target: Path) -> None:
    """Make ``target`` what ``root`` holds when, from its state ``before`` on, only ``kept`` has happened."""
    shutil.copytree(before, target)
    contents: dict[int, bytearray] = {}
    names: dict[str, int] = {}
    folders = {str(root), *(str(root / path.relative_to(before)) for path in before.rglob("*") if path.is_dir())}
    for operation in kept:
        if operation.kind == "create" and str(Path(operation.path).parent) in folders:
            names[operation.path] = operation.file
        elif operation.kind == "link" and str(Path(operation.other).parent) in folders:
            names[operation.other] = operation.file
        elif operation.kind == "folder" and str(Path(operation.path).parent) in folders:
            folders.add(operation.path)
        elif operation.kind == "unlink":
            names.pop(operation.path, None)
            folders.discard(operation.path)
        elif operation.kind == "rename":
            _renamed(operation, names, folders)
        elif operation.kind in ("write", "size"):
            held = contents.setdefault(operation.file, bytearray())
            if operation.kind == "size":
                held[:] = held[: operation.offset].ljust(operation.offset, b"\0")
            else:
                held.extend(bytes(max(0, operation.offset + len(operation.data) - len(held))))
                held[operation.offset : operation.offset + len(operation.data)] = operation.data
    for folder in sorted(folders):
        (target / Path(folder).relative_to(root)).mkdir(parents=True, exist_ok=True)
    for path, file in names.items():
        if str(Path(path).parent) in folders:
            (target / Path(path).relative_to(root)).write_bytes(bytes(contents.get(file, b"")))


def _renamed(operation: Operation, names: dict[str, int], folders: set[str]) -> None:
    if operation.path not in names and operation.path not in folders:
        return
    for path in [path for path in names if path == operation.path or path.startswith(f"{operation.path}/")]:
        names[operation.other + path[len(operation.path) :]] = names.pop(path)
    for path in [path for path in folders if path == operation.path or path.startswith(f"{operation.path}/")]:
        folders.discard(path)
        folders.add(operation.other + path[len(operation.path) :])
