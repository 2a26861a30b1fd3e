"""Fuzz one parser by coverage in a separate process: ``fuzz_child.py PARSER FOLDER SCRATCH SECONDS EXECUTIONS``.

FOLDER/corpus has the first inputs; inputs that reach new code are added. Fuzzing continues after a finding. Of each
kind (an exception and its line, too much CPU time, too much memory), the first input is stored as
FOLDER/findings/NUMBER, and its message as NUMBER.txt. FOLDER/slow has the inputs that took most time per byte.
FOLDER/done.json has the progress. It is written every second, because libFuzzer ends the process itself.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import atheris

from bounds import BYTES_MAX, CPU_MAX_S

INSTRUMENTED = [
    "assay.store.formats",
    "assay.model",
    "assay.foundation.units",
    "assay.store",
    "tarfile",
    "fuzz_targets",
    "fuzz_planted",
]
LENGTH_MAX = 1 << 16
HANG_S = 120
RSS_MAX_MB = 4096
FINDINGS_MAX = 20
PLANTED = "fuzz_planted"
"""A module of the tests, whose parser has a defect."""
SLOW_KEPT, SLOW_BYTES_MIN = 5, 64
"""Number of stored inputs that take most time per byte, and their minimum size. Tests enlarge them."""


def main(name: str, folder: Path, scratch: Path, seconds: int, executions: int) -> None:
    """Fuzz until the time or the number of executions is reached; does not return."""
    atheris.enabled_hooks.add("str")
    with atheris.instrument_imports(include=INSTRUMENTED):
        targets = importlib.import_module(PLANTED if name == PLANTED else "fuzz_targets")
        work = Work(folder, targets.target(name, scratch))
        for number, content in enumerate(targets.seeds(name)):
            work.read(content)  # what is imported and opened only now is not an input's
            (folder / "corpus" / f"seed-{number}").write_bytes(content)
    work.base = work.memory_bytes()
    options = [f"-max_total_time={seconds}", f"-runs={executions}", f"-max_len={LENGTH_MAX}", f"-timeout={HANG_S}"]
    options += [f"-rss_limit_mb={RSS_MAX_MB}", f"-artifact_prefix={folder}/findings/hang-", "-seed=1"]
    options += ["-print_final_stats=1", "-len_control=20"]
    atheris.Setup([sys.argv[0], *options, str(folder / "corpus")], work.read)
    atheris.Fuzz()


class Work:
    """Reads inputs, and stores those with a defect."""

    def __init__(self, folder: Path, read: Callable[[bytes], int]) -> None:
        self._folder, self._read = folder, read
        self._kinds: set[str] = set()
        self.base: int | None = None
        self._slowest_s, self._most_bytes, self._reported_s = 0.0, 0, 0.0
        self._slow: list[tuple[float, bytes]] = []
        for name in ("findings", "slow"):
            (folder / name).mkdir(exist_ok=True)

    @staticmethod
    def memory_bytes() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    def read(self, content: bytes) -> None:
        """Read one input."""
        began_s = time.process_time()
        try:
            self._read(content)
        except Exception as error:
            self._store(f"{type(error).__name__} at {_location(error)}", traceback.format_exc(), content)
        took_s = time.process_time() - began_s
        if self.base is None:
            return
        self._slowest_s = max(self._slowest_s, took_s)
        if len(content) >= SLOW_BYTES_MIN:
            self._slow = sorted([*self._slow, (took_s / len(content), content)], reverse=True)[:SLOW_KEPT]
        grown = self.memory_bytes() - self.base
        self._most_bytes = max(self._most_bytes, grown)
        if took_s > CPU_MAX_S:
            self._store("time", f"{took_s:.1f} s of a CPU", content)
        if grown > BYTES_MAX:
            self._store("memory", f"{grown} bytes", content)
        if time.monotonic() - self._reported_s > 1:
            self._report()

    def _report(self) -> None:
        self._reported_s = time.monotonic()
        done = {"slowest_s": self._slowest_s, "most_bytes": self._most_bytes, "findings": sorted(self._kinds)}
        (self._folder / "done.json").write_text(json.dumps(done))
        for number, (_, slow) in enumerate(self._slow):
            (self._folder / "slow" / str(number)).write_bytes(slow)

    def _store(self, kind: str, words: str, content: bytes) -> None:
        if kind in self._kinds or len(self._kinds) >= FINDINGS_MAX:
            return
        self._kinds.add(kind)
        path = self._folder / "findings" / str(len(self._kinds))
        path.write_bytes(content)
        path.with_suffix(".txt").write_text(f"{kind}\n{words}")
        self._report()


def _location(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    ours = [entry for entry in traceback.extract_tb(error.__traceback__) if "/assay/" in entry.filename]
    where = ours[-1] if ours else frame
    return f"{Path(where.filename).name}:{where.lineno}"


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
