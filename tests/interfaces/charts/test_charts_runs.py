"""Test charts of single runs: data, units, and unchanged specifications."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import vl_convert

from assay.analysis.run_profile.phases import occupancy
from assay.analysis.run_profile.run_detail import run_detail
from assay.analysis.run_profile.tasks import timeline
from assay.interfaces.charts.drawing.style import HALF_PX, NARROW_PX, PALETTE, PHASE_COLOURS, VEGA_LITE_VERSION
from assay.interfaces.charts.single_runs.runs import request_sizes, task_occupancy, task_timeline, time_shares
from detail_support import hybrid_run, hybrid_tasks, hybrid_trace

SNAPSHOT = Path(__file__).parent / "snapshots" / "charts_runs.json"
"""Written anew with ASSAY_SNAPSHOTS=write; look at what changed before it is committed."""


def specs(width_px: int) -> dict[str, dict[str, Any]]:
    run, tasks = hybrid_run(), hybrid_tasks()
    detail = run_detail(run, tasks, hybrid_trace())
    return {
        "shares": time_shares({"HD2": detail.breakdown, "SS2": detail.breakdown}, width_px),
        "occupancy": task_occupancy({"HD2": occupancy(run, tasks, 4.0), "SS2": ()}, width_px),
        "timeline": task_timeline(timeline(tasks).placed, 40.0, width_px),
        "requests": request_sizes({"HD2": detail.by_purpose}, {"HD2": PALETTE[0]}, width_px),
    }


def test_the_specifications_of_the_charts_are_unchanged() -> None:
    charts = json.loads(json.dumps(specs(HALF_PX), allow_nan=False))
    for spec in charts.values():
        del spec["config"]
    if os.environ.get("ASSAY_SNAPSHOTS") == "write":
        SNAPSHOT.parent.mkdir(exist_ok=True)
        SNAPSHOT.write_text(json.dumps(charts, indent=1, ensure_ascii=False) + "\n")
    assert charts == json.loads(SNAPSHOT.read_text())


@pytest.mark.parametrize("width_px", [HALF_PX, NARROW_PX])
def test_every_chart_renders_within_its_width(width_px: int) -> None:
    for name, spec in specs(width_px).items():
        svg = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE_VERSION, allowed_base_urls=[])
        size = re.search(r'<svg [^>]*width="([\d.]+)"', svg)
        assert size is not None, name
        assert float(size[1]) <= width_px + 40, name
        colour = PALETTE[0] if name == "requests" else PHASE_COLOURS["map"]
        assert colour in svg, f"{name} draws nothing"


def test_a_timeline_draws_each_attempts_phases_in_its_lane() -> None:
    rows = specs(HALF_PX)["timeline"]["data"]["values"]
    assert {row["phase"] for row in rows} == {"map", "waste", "shuffle", "merge", "reduce"}
    assert len(rows) == 5 + 1 + 3 + 2  # one reduce merged nothing
    assert all(row["end"] > row["start"] for row in rows)


def test_request_sizes_are_listed_by_purpose_and_omitted_without_requests() -> None:
    rows = specs(HALF_PX)["requests"]["data"]["values"]
    assert {row["what"]: row["size"] for row in rows} == {
        "HDFS, read": 128.0,
        "Intermediate, read": 16.0,
        "Intermediate, write": 64.0,
        "HDFS + intermediate, write": 64.0,
    }
