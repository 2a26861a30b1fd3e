"""Read large inputs with one parser and print the CPU seconds and additional memory of each as JSON.

Run as a separate process: ``bounds_child.py PARSER [FOLDER]``; see tests/faults/test_bounds.py. With a folder it reads
its files, each repeated up to 10 MB: the inputs that took most time per byte in fuzzing. ``bounds_child.py --all
FOLDER BYTES`` reads inputs of that size. It forks a process for each parser, which saves imports, and writes its output
and errors to files in the folder.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import re
import sys
import tarfile
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import fuzz_targets
from assay.foundation.errors import AssayError
from bounds import SIZE_BYTES


def seed_of(name: str) -> bytes:
    """Return a sample of a format, and after a blank in ``name`` which."""
    form, _, which = name.partition(" ")
    folder = fuzz_targets.CORPUS / form
    return (folder / which if which else min(folder.iterdir())).read_bytes()


def grown(seed: bytes, size: int) -> Iterator[tuple[str, bytes]]:
    """Yield what an input of ``size`` bytes can be, with a name."""
    chance = random.Random(1)
    damaged = bytearray((seed * (size // len(seed) + 1))[:size])
    for _ in range(2000):
        damaged[chance.randrange(size)] = chance.randrange(256)
    first = seed.splitlines()[0]
    yield "repeated", (seed * (size // len(seed) + 1))[:size]
    yield "repeated and damaged", bytes(damaged)
    yield "one long line", first + b"x" * size
    yield "long last line", seed + b"x" * size
    yield "brackets", b"[" * size
    yield "braces", b'{"a":' * (size // 5)
    yield "numbers", b"[" + b"1," * (size // 2 - 1) + b"1]"
    yield "digits", b"9" * size
    yield "nothing", bytes(size)
    yield "noise", chance.randbytes(size)
    yield "empty lines", b"\n" * size
    yield "fields", first + b"\n" + b"a,b;c d\t" * (size // 8)


def repeated(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield each file of a folder, repeated up to 10 MB: first as it is, then its longest line."""
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        line = max(content.splitlines(keepends=True), key=len)
        yield f"{path.name} repeated", content * (SIZE_BYTES // len(content))
        yield f"{path.name} and its longest line", content + line * ((SIZE_BYTES - len(content)) // len(line))


def packages(size: int) -> Iterator[tuple[str, bytes]]:
    """Yield what a package of about ``size`` bytes can be."""
    noise = random.Random(1).randbytes(size)
    yield "noise", noise
    yield "noise in gzip", gzip.compress(noise, 1)
    yield "cut", gzip.compress(_tar([("top/repository/bundles/x/run.json", noise)]), 1)[: size // 2]
    yield "a large file of facts", gzip.compress(_tar([("top/repository/bundles/x/run.json", noise)]), 1)
    yield "many files", gzip.compress(_tar([(f"top/{number}", b"") for number in range(size // 526)]), 1)
    yield "a header that claims 4 GiB", gzip.compress(_tar([], claims=1 << 32) + noise, 1)


def _tar(files: list[tuple[str, bytes]], claims: int = 0) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    if not claims:
        return made.getvalue()
    entry = tarfile.TarInfo("top/run.json")
    entry.type, entry.size = tarfile.XHDTYPE, claims
    return entry.tobuf(tarfile.PAX_FORMAT)


def memory_bytes(name: str) -> int:
    match = re.search(rf"^{name}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert match
    return int(match[1]) * 1024


def measured(read: Callable[[Path], object], content: bytes, path: Path) -> dict[str, object]:
    """Return what reading took, and how it ended. Errors that are not assay's come through."""
    path.write_bytes(content)
    Path("/proc/self/clear_refs").write_text("5")  # the most memory so far is counted anew
    before, began_s, ended = memory_bytes("VmRSS"), time.process_time(), "read"
    try:
        read(path)
    except AssayError as error:
        ended = error.message[:80]
    return {"cpu_s": time.process_time() - began_s, "bytes": memory_bytes("VmHWM") - before, "ended": ended}


def main(name: str, units: Path | None = None, size: int = SIZE_BYTES) -> None:
    with tempfile.TemporaryDirectory(prefix="assay-bounds-") as scratch:
        folder = Path(scratch)
        inputs, path = repeated(units) if units else grown(seed_of(name), size), folder / "large.tar.gz"
        if name == fuzz_targets.PACKAGE and not units:
            inputs, read = packages(size), _package_reader(folder)
        else:
            read = _reader(name, folder)
            measured(read, seed_of(name), path)  # what the parser imports is not the input's
        took = {}
        for kind, content in inputs:
            took[kind] = measured(read, content, path)
            print(f"{name}: {kind}: {took[kind]}", file=sys.stderr)
    print(json.dumps(took))


def fork_for_each(parsers: list[str], folder: Path, size: int) -> None:
    """Run :func:`main` for each parser in a forked process, and write what it prints to ``NUMBER.out`` and ``.err``."""
    for number, name in enumerate(parsers):
        if child := os.fork():
            os.waitpid(child, 0)
            continue
        sys.stdout = (folder / f"{number}.out").open("w", encoding="utf-8")
        sys.stderr = (folder / f"{number}.err").open("w", encoding="utf-8")
        try:
            main(name, size=size)
        except BaseException:
            traceback.print_exc()
        sys.stdout.close()
        sys.stderr.close()
        os._exit(0)


def _reader(name: str, folder: Path) -> Callable[[Path], object]:
    target = fuzz_targets.target(name.partition(" ")[0], folder, stored=False)
    return lambda path: target(path.read_bytes())


def _package_reader(folder: Path) -> Callable[[Path], object]:
    from assay.store import Repository
    from assay.store.exchange.package import pull_package

    target = Repository.create(folder / "target")
    return lambda path: pull_package(path, target, lambda *_: None)


if __name__ == "__main__":
    if sys.argv[1] == "--all":
        fork_for_each(fuzz_targets.bounded(), Path(sys.argv[2]), int(sys.argv[3]))
        sys.exit()
    main(sys.argv[1], Path(sys.argv[2]) if sys.argv[2:] else None)
