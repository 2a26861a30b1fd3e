"""Test that every chart renders, labels its axes with units, and gives a configuration one colour."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import vl_convert

from assay.analysis.comparison.comparison import compare
from assay.analysis.comparison.details.level_summary import summarise_group
from assay.analysis.comparison.details.run_groups import run_groups
from assay.analysis.comparison.joint import LevelNetwork
from assay.analysis.run_profile.traffic import disk_traffic
from assay.foundation.units import format_percent
from assay.interfaces.charts.costs import cost_bars
from assay.interfaces.charts.drawing.style import HALF_PX, NARROW_PX, PALETTE, VEGA_LITE_VERSION, log_axis
from assay.interfaces.charts.network import comparison_network, is_readable
from assay.interfaces.charts.single_runs.disks import disk_traffic_areas
from assay.interfaces.charts.speedups import speedup_forest
from assay.interfaces.charts.times import phase_timeline, runtime_bars, throughput_bars
from assay.interfaces.charts.whatif import limit_bars
from assay.questions.costs.job_cost import cost_view
from builders import make_trace, price_book, study_runs

WIDTHS = (HALF_PX, NARROW_PX)


def _specs(width_px: int) -> dict[str, dict[str, Any]]:
    runs = study_runs()
    palette = dict(zip(["HD2", "SS2"], PALETTE, strict=False))
    summaries = summarise_group(run_groups(runs, "layout")[0])
    view = cost_view(runs, price_book(), baseline="HD2")
    sides = {run.layout: disk_traffic(make_trace(run), run.duration_s) for run in runs[:2]}
    return {
        "runtime": runtime_bars(summaries, palette, width_px),
        "throughput": throughput_bars(summaries, palette, width_px),
        "speedup": speedup_forest(
            [(c.group, c) for c in compare(runs, factor="layout", baseline="HD2")], palette, width_px
        ),
        "phases": phase_timeline(summaries, palette, width_px),
        "traffic": disk_traffic_areas(sides, palette, width_px),
        "cost": cost_bars(view.rows, palette, view.titles_of(view.rows).by_workload, width_px),
    }


def _walk(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        for value in tree.values():
            yield from _walk(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _walk(value)


@pytest.mark.parametrize("width_px", WIDTHS)
def test_every_chart_renders_with_marks_within_its_width(width_px: int) -> None:
    for name, spec in _specs(width_px).items():
        svg = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE_VERSION, allowed_base_urls=[])
        size = re.search(r'<svg [^>]*width="([\d.]+)"', svg)
        assert size is not None, name
        assert float(size[1]) <= width_px + 30, name
        assert any(colour in svg for colour in PALETTE), f"{name} draws nothing"


def test_percentages_have_the_form_of_the_text() -> None:
    spec = limit_bars([("measured", {"disk": 0.6, "network": 0.4})])
    svg = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE_VERSION, allowed_base_urls=[])
    assert {format_percent(share) for share in (0.0, 0.2, 1.0)} <= set(re.findall(r">([^<>]*%)<", svg))


def test_the_traffic_chart_has_the_same_axes_in_all_panels() -> None:
    spec = _specs(HALF_PX)["traffic"]
    assert "resolve" not in spec
    panels = {row["panel"] for row in spec["data"]["values"]}
    assert panels == {f"{layout}, {way} (MB/s)" for layout in ("HD2", "SS2") for way in ("read", "write")}


def test_a_configuration_has_one_colour_in_all_charts() -> None:
    colours: dict[str, set[str]] = {}
    for spec in _specs(HALF_PX).values():
        for scale in (part["scale"] for part in _walk(spec) if isinstance(part.get("scale"), dict)):
            domain = scale.get("domain")
            if isinstance(domain, list) and all(
                isinstance(level, str) for level in [*domain, *scale.get("range", [0])]
            ):
                for level, colour in zip(domain, scale["range"], strict=True):
                    colours.setdefault(level, set()).add(colour)
    names = ("HD2", "2 hard disks (HD2)"), ("SS2", "2 SSDs (SS2)")
    assert colours == {name: {PALETTE[number]} for number, pair in enumerate(names) for name in pair}


def test_every_quantitative_axis_names_its_unit() -> None:
    titles = {
        name: {part["title"] for part in _walk(spec) if part.get("type") == "quantitative" and part.get("title")}
        for name, spec in _specs(HALF_PX).items()
    }
    assert titles == {
        "runtime": {"Run time (s)"},
        "throughput": {"Throughput (MB/s)"},
        "speedup": {"Speedup vs HD2"},
        "phases": {"Time since the run's start (s)"},
        "traffic": {"Time since the run's start (s)"},
        "cost": {"Cost per job (USD)"},
    }


def test_specifications_are_plain_json_that_load_nothing() -> None:
    for spec in _specs(HALF_PX).values():
        text = json.dumps(spec, allow_nan=False)
        assert re.findall(r"https?://[^\"]*", text) == ["https://vega.github.io/schema/vega-lite/v5.json"]
        assert not [part for part in _walk(spec) if "url" in part]


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([658.0, 5388.0], [100, 200, 500, 1000, 2000, 5000, 10_000]),
        ([0.3, 0.9], [0.1, 0.2, 0.5, 1]),
        ([1.0, 1.0], [1, 2, 5, 10]),
        ([0.02, 900_000.0], [0.01, 0.1, 1, 10, 100, 1000, 10_000, 100_000, 1_000_000]),
    ],
)
def test_a_logarithmic_axis_has_only_lines_that_are_labelled(values: list[float], ticks: list[float]) -> None:
    axis = log_axis(values)
    assert axis["values"] == pytest.approx(ticks)
    assert axis["tickCount"] == len(ticks), "with a smaller count every second of them is dropped"


def test_numbers_of_lines_to_neighbours_do_not_cover_each_other() -> None:
    """Of the lines from one level to two adjacent levels, only the thickest has a number."""
    levels = tuple(f"L{number}" for number in range(12))
    pairs = (("L3", "L4", 9), ("L3", "L5", 7), ("L0", "L6", 5))
    numbers = comparison_network(LevelNetwork(levels, pairs), {})["layer"][1]["data"]["values"]
    assert [row["groups"] for row in numbers] == [9, 5]


def test_a_network_with_too_many_lines_is_not_drawn() -> None:
    levels = tuple(f"L{number}" for number in range(7))
    pairs = tuple((a, b, 1) for index, a in enumerate(levels) for b in levels[index + 1 :])
    assert is_readable(LevelNetwork(levels, pairs[:15]))
    assert not is_readable(LevelNetwork(levels, pairs))
