"""Replay recorded writes of a process to every state that fsync permits after a power loss.

A program runs under strace(1). Its calls that change a folder become operations. A state after a power loss has the
operations up to some moment. Each operation that no fsync has made durable may be missing. POSIX promises no more:
fsync of a file makes its data durable, and fsync of a folder its names. The operations of a state keep their order.
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

    It is durable from ``durable_at`` on, a number of operations; None: never.
    """

    kind: str
    path: str
    other: str = ""
    file: int = -1
    offset: int = 0
    data: bytes = b""
    durable_at: int | None = None


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

    def mark_durable(self, is_covered: Callable[[Operation], bool]) -> None:
        """Mark the operations that a call of fsync makes durable."""
        for operation in self.operations:
            if operation.durable_at is None and is_covered(operation):
                operation.durable_at = len(self.operations)

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
            self.mark_durable(lambda operation: operation.kind in ("write", "size") and operation.file == file)
        elif descriptor in self.folders:
            folder = self.folders[descriptor]

            def names_in_folder(operation: Operation) -> bool:
                target = operation.other or operation.path
                return operation.kind not in ("write", "size") and str(Path(target).parent) == folder

            self.mark_durable(names_in_folder)


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


def record_operations(command: Sequence[str], root: Path, log: Path) -> list[Operation]:
    """Run a command to its end and return its changes below ``root``. It must change no existing file."""
    strace = ["strace", "-f", "-xx", "-s", "16777216", "-e", f"trace={CALLS}", "-o", str(log)]
    subprocess.run([*strace, *command], check=True, timeout=300)
    recorder = _Recorder(str(root))
    for line in _lines(log):
        if call := _CALL.match(line):
            _take(recorder, call["name"], call["rest"], int(call["result"]))
    return recorder.operations


def _take(recorder: _Recorder, name: str, rest: str, result: int) -> None:
    if result < 0:
        return
    texts = [bytes.fromhex(match[1].replace("\\x", "")) for match in _TEXT.finditer(rest)]
    paths = [text.decode(errors="replace") for text in texts]
    first = rest.split(",", 1)[0].strip()
    descriptor = int(first) if first.isdigit() else -1
    touches = descriptor in recorder.opened or any(path.startswith(recorder.root) for path in paths)
    if name in UNREADABLE and touches:
        raise NotImplementedError(f"{name}({rest[:200]}")
    if name in ("openat", "open", "creat"):
        recorder.open(paths[0], rest if name != "creat" else "O_CREAT|O_TRUNC", result)
    elif name in ("write", "pwrite64"):
        offset = int(rest.rsplit(",", 1)[1]) if name == "pwrite64" else None
        recorder.write(descriptor, texts[0][:result] if texts else b"", offset)
    elif name == "close":
        recorder.opened.pop(descriptor, None)
        recorder.folders.pop(descriptor, None)
    elif name in ("fsync", "fdatasync"):
        recorder.sync(descriptor)
    elif descriptor in recorder.opened:
        _take_position(recorder, name, descriptor, rest, result)
    elif any(path.startswith(recorder.root) for path in paths):
        _take_name(recorder, name, paths)


def _take_position(recorder: _Recorder, name: str, descriptor: int, rest: str, result: int) -> None:
    if name == "lseek":
        recorder.opened[descriptor][1] = result
    elif name == "ftruncate":
        recorder.add(Operation("size", "", file=recorder.opened[descriptor][0], offset=int(rest.split(",")[1])))


def _take_name(recorder: _Recorder, name: str, paths: Sequence[str]) -> None:
    if name in ("mkdir", "mkdirat"):
        recorder.add(Operation("folder", paths[0]))
    elif name.startswith("rename"):
        recorder.rename(paths[0], paths[1])
    elif name in ("link", "linkat"):
        recorder.names[paths[1]] = recorder.names[paths[0]]
        recorder.add(Operation("link", paths[0], paths[1], file=recorder.names[paths[0]]))
    elif name in ("unlink", "rmdir", "unlinkat"):
        recorder.names.pop(paths[0], None)
        recorder.add(Operation("unlink", paths[0]))


def states(operations: Sequence[Operation], draws: int, seed: int) -> Iterator[list[Operation]]:
    """Yield the operations that may have happened after a power loss, for each moment.

    Of the operations that are not durable, a state has none, all, all but one, only one, or one of ``draws`` random
    selections.
    """
    random_numbers = random.Random(seed)
    for moment in range(len(operations) + 1):
        durable = {n for n in range(moment) if (at := operations[n].durable_at) is not None and at <= moment}
        volatile = [n for n in range(moment) if n not in durable]
        selections = [set(), set(volatile)]
        edges = volatile[-6:] + volatile[:3]
        selections += [set(volatile) - {n} for n in edges] + [{n} for n in edges]
        selections += [{n for n in volatile if random_numbers.random() < 0.5} for _ in range(draws)]
        seen: set[frozenset[int]] = set()
        for selection in selections:
            if (key := frozenset(selection)) not in seen:
                seen.add(key)
                yield [operations[n] for n in sorted(durable | selection)]


def write_state(operations: Sequence[Operation], before: Path, root: Path, target: Path) -> None:
    """Write to ``target`` the content of ``root`` if only ``operations`` happened since its state ``before``."""
    shutil.copytree(before, target)
    contents: dict[int, bytearray] = {}
    names: dict[str, int] = {}
    folders = {str(root), *(str(root / path.relative_to(before)) for path in before.rglob("*") if path.is_dir())}
    for operation in operations:
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
            content = contents.setdefault(operation.file, bytearray())
            if operation.kind == "size":
                content[:] = content[: operation.offset].ljust(operation.offset, b"\0")
            else:
                content.extend(bytes(max(0, operation.offset + len(operation.data) - len(content))))
                content[operation.offset : operation.offset + len(operation.data)] = operation.data
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
