"""Test that lines of a run's timeline that coincide are drawn once, with a note."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simulator_support import measured_repository
from web_support import client_of


@pytest.mark.slow
def test_three_equal_workers_are_one_line_and_the_title_names_them(tmp_path: Path) -> None:
    client = client_of(measured_repository(tmp_path / "r").root)
    run_id = client.get("/api/v1/runs").json()["runs"][0]["run_id"]
    chart = json.dumps(client.get(f"/runs/{run_id}/over-time").json())
    assert "CPU of the node's own processes; worker1, worker2 and worker3 coincide (cores)" in chart
    assert '"node": "worker1"' in chart
    assert '"node": "worker2"' not in chart
