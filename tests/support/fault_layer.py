"""Make chosen calls on chosen files fail, or shift the clock, for one process, by LD_PRELOAD.

In: what is to fail, as :class:`Layer.fail` takes it. Out: the environment of the process to disturb. What fails can be
changed while the process runs. The layer is `fault_layer.c`, which is compiled where it is first asked for.
"""

from __future__ import annotations

import ctypes.util
import mmap
import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Self

import pytest

_SOURCE = Path(__file__).with_name("fault_layer.c")
_FORM = struct.Struct("<iiqq1000s1000s")
OPENS, WRITES, SYNCS, RENAMES, FOLDERS, READS = (1 << bit for bit in range(6))
CHANGES = OPENS | WRITES | SYNCS | RENAMES | FOLDERS
DAY_S = 86_400


def require_layer() -> None:
    """Skip the test, loudly, where the layer can't be compiled."""
    if shutil.which("gcc") is None or ctypes.util.find_library("c") is None:
        pytest.skip("gcc is not installed: errors of the repository's disk are NOT tested")


class Layer:
    """The layer of one process, with its files in ``folder``; calls below ``root`` fail."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._root = str(root)
        folder.mkdir(parents=True, exist_ok=True)
        self._library, control = folder / "layer.so", folder / "control"
        flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        subprocess.run(["gcc", *flags, "-o", str(self._library), str(_SOURCE), "-ldl"], check=True)
        control.write_bytes(bytes(_FORM.size))
        self._control = control
        with control.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _FORM.size)

    @property
    def environment(self) -> dict[str, str]:
        """What the disturbed process gets."""
        return {**os.environ, "LD_PRELOAD": str(self._library), "FAULT_LAYER": str(self._control)}

    def around(self, program: Path) -> Path:
        """Return a program of the same name that runs ``program`` under the layer, and is known by its own path."""
        path = self._library.parent / program.name
        lines = ["#!/bin/bash", f"export LD_PRELOAD={self._library} FAULT_LAYER={self._control}"]
        path.write_text("\n".join([*lines, f'exec -a "$0" {program} "$@"', ""]))
        path.chmod(0o755)
        return path

    @property
    def hits(self) -> int:
        """How many calls have failed by it."""
        return int(_FORM.unpack(self._map[:])[3])

    def reset(self, root: Path) -> None:
        """Let no call fail, with no failed calls and the right time, and from now on calls below ``root``."""
        self._root = str(root)
        self._map[:] = bytes(_FORM.size)

    def fail(self, error: int, part: str, calls: int = CHANGES) -> Self:
        """From now on let calls of these kinds fail on paths below the root that contain ``part``."""
        self._write(error, calls, self._clock_s, part)
        return self

    def mend(self) -> None:
        """Let all calls be; the clock stays as it is."""
        self._write(0, 0, self._clock_s, "")

    def set_clock(self, seconds: int) -> Self:
        """Let the time of day be so far off from now on."""
        error, calls, _, _, _, part = _FORM.unpack(self._map[:])
        self._write(error, calls, seconds, part.rstrip(b"\0").decode())
        return self

    @property
    def _clock_s(self) -> int:
        return int(_FORM.unpack(self._map[:])[2])

    def _write(self, error: int, calls: int, clock_s: int, part: str) -> None:
        self._map[:] = _FORM.pack(error, calls, clock_s, self.hits, self._root.encode(), part.encode())
