"""Run coverage-guided fuzzing in one child process per parser (:mod:`fuzz_child`) and return its findings.

What reached new code is then made large: the units that take most time per byte, each repeated to 10 MB, are read by
the parser in a separate process (:mod:`bounds_child`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from bounds import BYTES_MAX, CPU_MAX_S
from paths import ROOT, SUPPORT

IN_MEMORY = Path("/dev/shm")
START_MAX_S = 600
"""Allowance for a child besides fuzzing: a busy machine instruments and reads 10 MB slowly."""


@dataclass(frozen=True)
class Fuzzed:
    """What became of a parser. Times in CPU seconds, memory in bytes above what the samples took."""

    parser: str
    executions: int
    edges: int
    features: int
    corpus: int
    slowest_s: float
    most_bytes: int
    findings: tuple[str, ...]
    large_s: float | None = None
    large_bytes: int | None = None
    """The most that one of the slowest units took, repeated to 10 MB; None where that was not tried."""


def can_fuzz() -> bool:
    """Say whether atheris is installed, which is not made for every platform and Python."""
    return find_spec("atheris") is not None


def fuzzed(parser: str, folder: Path, seconds: int, executions: int = -1) -> Fuzzed:
    """Fuzz a parser for ``seconds``, or for ``executions`` where these end first.

    ``folder`` stores its corpus, which the next call extends, and its findings.
    """
    (folder / "corpus").mkdir(parents=True, exist_ok=True)
    for before in ("findings", "slow"):
        shutil.rmtree(folder / before, ignore_errors=True)
    # The child is ended by libFuzzer, and leaves what it has written.
    with tempfile.TemporaryDirectory(prefix="assay-fuzz-", dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as scratch:
        arguments = (parser, folder, scratch, seconds, executions)
        output = _child_output("fuzz_child.py", *arguments, timeout_s=seconds + START_MAX_S).stderr
    (folder / "log").write_text(output)
    lines = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)/", output)
    executed = re.search(r"stat::number_of_executed_units: (\d+)", output)
    if not lines or not executed:
        raise RuntimeError(f"{parser} was not fuzzed: {output[-2000:]}")
    done = json.loads((folder / "done.json").read_text())
    findings = [*done["findings"], *sorted(path.name for path in (folder / "findings").glob("hang-*"))]
    edges, features, kept = map(int, lines[-1])
    slowest_s, most_bytes = done["slowest_s"], done["most_bytes"]
    return Fuzzed(parser, int(executed[1]), edges, features, kept, slowest_s, most_bytes, tuple(findings))


def large(done: Fuzzed, folder: Path) -> Fuzzed:
    """Read the units that took most time per byte, repeated to 10 MB each; what is over the bounds is a finding."""
    output = _child_output("bounds_child.py", done.parser, folder / "slow", timeout_s=START_MAX_S)
    if output.returncode:
        return replace(done, findings=(*done.findings, f"repeated to 10 MB: {output.stderr.strip().splitlines()[-1]}"))
    took = json.loads(output.stdout)
    over = [f"{name}: {cost}" for name, cost in took.items() if cost["cpu_s"] > CPU_MAX_S or cost["bytes"] > BYTES_MAX]
    return replace(
        done,
        large_s=max((cost["cpu_s"] for cost in took.values()), default=0.0),
        large_bytes=max((cost["bytes"] for cost in took.values()), default=0),
        findings=(*done.findings, *over),
    )


def _child_output(script: str, *arguments: object, timeout_s: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SUPPORT / script), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{SUPPORT}"},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout_s,
        check=False,
    )
