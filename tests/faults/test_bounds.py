"""Test that no parser needs more than 200 MB of memory or 5 s of CPU time for an input of 10 MB.

`make test` reads a quarter of it, with limits in proportion.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bounds import BYTES_MAX, CONSTANT_BYTES_MAX, CPU_MAX_S, SIZE_BYTES
from fuzz_targets import bounded
from paths import ROOT, SUPPORT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=[SIZE_BYTES // 4, pytest.param(SIZE_BYTES, marks=pytest.mark.long)])
def size(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory, size: int) -> Path:
    """Return a folder with the output of a process for each parser."""
    folder = tmp_path_factory.mktemp("bounds")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{SUPPORT}"}
    command = [sys.executable, str(SUPPORT / "bounds_child.py"), "--all", str(folder), str(size)]
    subprocess.run(command, env=environment, timeout=1800, check=True)
    return folder


@pytest.mark.parametrize(("number", "parser"), [*enumerate(bounded())], ids=bounded())
def test_inputs_of_any_kind_are_parsed_in_bounded_memory_and_time(
    outputs: Path, number: int, parser: str, size: int
) -> None:
    printed = (outputs / f"{number}.out").read_text(encoding="utf-8")
    assert printed, f"{parser}: {(outputs / f'{number}.err').read_text(encoding='utf-8')}"
    costs = json.loads(printed)
    assert len(costs) >= 6
    part = size / SIZE_BYTES
    cpu_max_s, bytes_max = CPU_MAX_S * part, CONSTANT_BYTES_MAX + (BYTES_MAX - CONSTANT_BYTES_MAX) * part
    assert {kind: cost for kind, cost in costs.items() if cost["cpu_s"] > cpu_max_s or cost["bytes"] > bytes_max} == {}
