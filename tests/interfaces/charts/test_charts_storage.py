"""Test the charts of cost per performance against cost per capacity."""

from __future__ import annotations

from dataclasses import dataclass

import vl_convert

from assay.analysis.cost.pareto import quadrants
from assay.interfaces.charts.costs import storage_costs
from assay.interfaces.charts.drawing.style import VEGA_LITE_VERSION


@dataclass(frozen=True)
class Point:
    layout: str
    cost_per_performance: float
    cost_per_capacity: float | None


def test_layouts_are_listed_next_to_the_baseline() -> None:
    spec = storage_costs([Point("SS2", 0.6, 3.1), Point("HS5", 0.8, None)], "HD2", {"HD2": "#0072B2", "SS2": "#D55E00"})
    assert [(row["layout"], row["capacity"]) for row in spec["data"]["values"]] == [
        ("2 hard disks (HD2)", 1.0),
        ("2 SSDs (SS2)", 3.1),
    ]
    svg = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE_VERSION)
    assert "Cost per capacity (relative to 2 hard disks (HD2))" in svg
    assert "#D55E00" in svg


def test_names_cross_no_line_of_the_baseline_on_a_phone() -> None:
    """The name of SSDs at 1.26 times the cost per capacity left of its point would cross the vertical line."""
    spec = storage_costs([Point("SS2", 0.58, 1.26)], "HD2", {})
    baseline, ssds = spec["data"]["values"]
    largest = spec["layer"][0]["encoding"]["x"]["scale"]["domain"][1]
    point_px, line_px = (230 * row["capacity"] / largest for row in (ssds, baseline))
    assert ssds["name"] == "SS2"
    assert ssds["align"] == "left" or point_px + ssds["dx"] - 3 * 6 > line_px
    assert abs(baseline["dy"]) > 7, "its name is above or below the horizontal line"


def test_quadrants_meet_between_the_best_and_the_worst() -> None:
    quadrants_ = quadrants([200.0, 312.5, 250.0], [1.0, 4.0, 2.9])
    assert quadrants_ is not None
    assert (quadrants_.time_s, quadrants_.cost) == (250.0, 2.0)
    assert quadrants_.name(200, 1) == "fast, economical"
    assert quadrants_.name(300, 3) == "slow, expensive"
    assert quadrants_.name(250, 2.9) == "fast, expensive"
    assert quadrants([1.0], [1.0]) is None
    assert quadrants([1.0, 1.0], [1.0, 2.0]) is None
