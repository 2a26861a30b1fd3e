"""Test that point labels do not overlap, and that a narrow speedup axis has labels."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field

import pytest
import vl_convert
from hypothesis import given
from hypothesis import strategies as st

from assay.interfaces.charts.cost_effectiveness import cost_effectiveness_chart, short_names
from assay.interfaces.charts.drawing.labels import SIDES, FixedText, Line, name_sides
from assay.interfaces.charts.drawing.style import FULL_PX, NARROW_PX, VEGA_LITE_VERSION
from assay.interfaces.charts.speedups import speedup_forest

POINTS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 380)), min_size=1, max_size=12)


@given(POINTS, st.integers(1, 30))
def test_no_name_covers_a_name_or_a_point(points: list[tuple[float, float]], letters: int) -> None:
    narrow, wide = 640.0, 810.0
    labels = name_sides(points, ["x" * letters] * len(points), (narrow, wide))
    for width in (narrow, wide):
        dots = [(x * width - 10, y - 10, x * width + 10, y + 10) for x, y in points]
        names: dict[int, tuple[float, float, float, float]] = {}
        for number, (side, (x, y)) in enumerate(zip(labels, points, strict=True)):
            if side is None:
                continue
            length = 6.0 * letters
            left = x * width + side.dx - {"left": 0, "center": length / 2, "right": length}[side.align]
            names[number] = (left, y + side.dy - 7, left + length, y + side.dy + 7)
            assert left >= 0
            assert left + length <= width
        for (_, a), (_, b) in itertools.combinations(names.items(), 2):
            assert a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3], (a, b)
        for number, name in names.items():
            for index, dot in enumerate(dots):
                covers = name[0] < dot[2] and dot[0] < name[2] and name[1] < dot[3] and dot[1] < name[3]
                assert index == number or not covers


def test_a_single_label_is_on_the_right_and_at_the_edge_on_the_left() -> None:
    points = [(0.5, 100.0), (0.99, 200.0)]
    assert name_sides(points, ["middle", "edge"], (640, 810)) == [SIDES[0], SIDES[1]]


def test_a_label_does_not_cover_another_text_of_the_plot() -> None:
    corner = FixedText("slow, expensive", "right", 1.0, -6, 12)
    assert name_sides([(0.95, 20.0)], ["HD2"], (640, 810), [corner]) == [SIDES[2]], "below the point"
    assert name_sides([(0.95, 20.0)], ["HD2"], (640, 810)) == [SIDES[0]]


def test_a_label_does_not_cover_an_interval() -> None:
    above = Line((0.2, 0.9), (90.0, 90.0))
    assert name_sides([(0.5, 100.0)], ["HD2"], (640, 810), lines=[above]) == [SIDES[2]], "below the point"
    upright = Line((0.52, 0.52), (200.0, 0.0))
    assert name_sides([(0.5, 100.0)], ["HD2"], (640, 810), lines=[upright]) == [SIDES[1]], "left of the line"


@dataclass(frozen=True)
class Point:
    label: str
    time_s: float
    cost: float
    levels: dict[str, str] = field(default_factory=dict)
    time_low_s: float | None = None
    time_high_s: float | None = None
    cost_low: float | None = None
    cost_high: float | None = None
    runs: int = 2
    on_pareto_front: bool = False
    pareto_front_probability: float | None = None


def crowded() -> list[Point]:
    levels = [(layout, network) for layout in ("SSD", "SS2", "HS5", "HD5") for network in ("ETH", "IB")]
    return [
        Point(f"{a} {b} bsc-2015-lab", 44 + n, 0.06 + n / 500, {"layout": a, "network": b, "cluster": "bsc-2015-lab"})
        for n, (a, b) in enumerate(levels)
    ]


def test_names_leave_out_what_all_points_share() -> None:
    assert short_names(crowded())[:2] == ["SSD Ethernet", "SSD InfiniBand"]
    assert short_names([crowded()[0]]) == ["SSD Ethernet bsc-2015-lab"]
    named = [Point("rack of six", 1, 1, {"layout": "SSD"}), Point("rack of nine", 2, 2, {"layout": "SS2"})]
    assert short_names(named) == ["rack of six", "rack of nine"]


def test_the_drawn_names_of_crowded_points_do_not_overlap() -> None:
    for width in (1440, FULL_PX, 860, 720, 600, 480, 340):
        spec = {**cost_effectiveness_chart(crowded(), {}, "USD"), "width": width}
        svg = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE_VERSION)
        marks = re.findall(
            r'text-anchor="(\w+)" transform="translate\(([\d.-]+),([\d.-]+)\)"[^>]*>((?:SS|HS|HD)[^<]*)<', svg
        )
        boxes = []
        for anchor, x, y, name in marks:
            left = float(x) - {"start": 0, "middle": 0.5, "end": 1}[anchor] * 5.5 * len(name)
            boxes.append((left, float(y) - 6, left + 5.5 * len(name), float(y) + 6))
        assert len(boxes) >= (8 if width > FULL_PX else 7 if width == FULL_PX else 4), width
        for a, b in itertools.combinations(boxes, 2):
            assert a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3], (width, a, b)


@dataclass(frozen=True)
class Ratio:
    ratio: float
    low: float
    high: float
    candidate: str = "InfiniBand"
    baseline: str = "Ethernet"
    groups: int = 1
    runs_baseline: int = 2
    runs_candidate: int = 2
    origin: str = "measured"


@pytest.mark.parametrize("width", [NARROW_PX, FULL_PX])
@pytest.mark.parametrize("ratio", [0.8, 0.93, 0.99, 1.0, 1.01, 1.08, 1.3])
def test_no_line_crosses_a_label(ratio: float, width: int) -> None:
    rows = [("SSDs", Ratio(ratio, ratio / 1.1, ratio * 1.1, "SSDs")), ("Hybrid storage", Ratio(1.4, 1.3, 1.5, "x"))]
    svg = vl_convert.vegalite_to_svg(
        speedup_forest(rows, {}, width), vl_version=VEGA_LITE_VERSION, allowed_base_urls=[]
    )
    labels = re.findall(r'text-anchor="start" transform="translate\(([\d.]+),[-\d.]+\)"[^>]*>([\d.]+×)<', svg)
    assert len(labels) == 2
    plot = re.search(r'class="background" aria-hidden="true" d="M0,0h(\d+)v', svg)
    assert plot is not None
    assert all(float(x) > float(plot[1]) for x, _ in labels), "right of the plot, where no interval and no line is"
    assert all(float(x) + 8 * len(text) < width for x, text in labels)


@given(st.floats(0.2, 5), st.floats(1, 1.5))
def test_the_axis_of_one_row_has_three_labels_at_least_and_one_at_1(ratio: float, factor: float) -> None:
    row = Ratio(ratio, ratio / factor, ratio * factor)
    spec = speedup_forest([("InfiniBand", row)], {})
    ticks = next(layer for layer in spec["layer"] if "one" in str(layer["encoding"]))["encoding"]["x"]["axis"]["values"]
    assert 3 <= len(ticks) <= 16
    assert 1 in ticks
    assert sorted(set(ticks)) == ticks
