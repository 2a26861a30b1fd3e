"""Test that no parser needs more than 200 MB of memory or 5 s of CPU time for an input of 10 MB."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from bounds import BYTES_MAX, CPU_MAX_S
from fuzz_targets import parsers
from paths import ROOT, SUPPORT

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("parser", ["jhist json", *parsers()])
def test_inputs_of_any_kind_are_parsed_in_bounded_memory_and_time(parser: str) -> None:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{SUPPORT}"}
    command = [sys.executable, str(SUPPORT / "bounds_child.py"), parser]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    took = json.loads(done.stdout)
    assert len(took) >= 6
    over = {kind: cost for kind, cost in took.items() if cost["cpu_s"] > CPU_MAX_S or cost["bytes"] > BYTES_MAX}
    assert over == {}
