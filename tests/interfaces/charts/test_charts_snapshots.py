"""Test one stored specification of every chart."""

from __future__ import annotations

import ast
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import vl_convert

import assay.interfaces.charts
from assay.analysis.comparison.comparison import compare
from assay.analysis.comparison.details.level_summary import summarise_group
from assay.analysis.comparison.details.run_groups import run_groups
from assay.analysis.comparison.joint import LevelNetwork
from assay.analysis.run_profile.limits.loads import Resource
from assay.analysis.run_profile.limits.run_limits import LimitSpan
from assay.analysis.run_profile.run_detail import run_detail
from assay.analysis.run_profile.series import Series
from assay.analysis.run_profile.task_durations import DurationBin, PhaseDurations
from assay.analysis.run_profile.tasks import lanes
from assay.analysis.run_profile.traffic import disk_traffic
from assay.analysis.statistics.runs.run_table import table_of
from assay.estimation.prediction.explaining import Cell
from assay.interfaces.charts.cluster import cluster_diagram
from assay.interfaces.charts.combinations import combinations
from assay.interfaces.charts.cost_effectiveness import cost_effectiveness_chart
from assay.interfaces.charts.costs import cost_bars, over_years_bars, storage_costs
from assay.interfaces.charts.drawing.style import HALF_PX, PALETTE, VEGA_LITE_VERSION, Spec, percent_theme
from assay.interfaces.charts.history import run_history
from assay.interfaces.charts.network import comparison_network
from assay.interfaces.charts.scatter import scatter_points
from assay.interfaces.charts.single_runs import one_run
from assay.interfaces.charts.single_runs.disks import disk_traffic_areas
from assay.interfaces.charts.single_runs.durations import duration_histograms
from assay.interfaces.charts.speedups import named_speedups, speedup_forest
from assay.interfaces.charts.times import phase_timeline, runtime_bars, throughput_bars
from assay.interfaces.charts.tuning import tuning_course
from assay.interfaces.charts.whatif import TimeCostPoint, change_chart, limit_bars
from assay.model.runs.phase import Phase
from assay.questions.clusters.clusters import HistoryPoint
from assay.questions.clusters.hardware import DeviceRow, NodeRow
from assay.questions.costs.job_cost import cost_view
from assay.questions.decisions.sentences.years_sentences import CostsOverYears, OptionOverYears
from assay.questions.forecasts.tuning import TuningTrial
from assay.questions.runs.scatter import ScatterPoint, ScatterView
from builders import make_trace, price_book, study_runs
from detail_support import hybrid_run, hybrid_tasks, hybrid_trace
from matching import matched_speedups

SNAPSHOTS = Path(__file__).parent / "snapshots"
SNAPSHOT = SNAPSHOTS / "charts.json"
"""Written anew with ASSAY_SNAPSHOTS=write; look at what changed before it is committed."""
IN_CHARTS_RUNS = {"time_shares", "task_occupancy", "task_timeline", "request_sizes"}
"""Those of single runs have their snapshots in test_charts_runs.py."""


@dataclass(frozen=True)
class Point:
    """A point of the plane."""

    label: str
    time_s: float
    cost: float
    on_pareto_front: bool
    time_low_s: float | None = None
    time_high_s: float | None = None
    cost_low: float | None = None
    cost_high: float | None = None
    pareto_front_probability: float = 0.5
    runs: int = 3
    levels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Stored:
    """A layout's costs as shares of the baseline's."""

    layout: str
    cost_per_performance: float
    cost_per_capacity: float | None


def points(number: int) -> list[Point]:
    return [
        Point(f"C{n}", 10.0 + 9 * n, 4.0 - 0.3 * n, n < 3, 9.0 + 9 * n, 11.0 + 9 * n, levels={"layout": f"C{n}"})
        for n in range(number)
    ]


def specs() -> dict[str, Spec]:
    runs = study_runs()
    palette = dict(zip(["HD2", "SS2"], PALETTE, strict=False))
    summaries = summarise_group(run_groups(runs, "layout")[0])
    view = cost_view(runs, price_book(), baseline="HD2")
    speedups = [s for s in matched_speedups(table_of(runs), "layout", "HD2") if s.ratio is not None]
    compared = compare(runs, factor="layout", baseline="HD2")
    sides = {run.layout: disk_traffic(make_trace(run), run.duration_s) for run in runs[:2]}
    series = [Series("w1", "disk:sda", "read_bytes", "MB/s", True, 2, (0.0, 1.0), (1.0, 2.0))]
    phases = (Phase("map", 0.0, 20.0), Phase("reduce", 15.0, 40.0))
    limits = (LimitSpan(0.0, 30.0, Resource.DISK_HDFS), LimitSpan(30.0, 40.0, Resource.NONE))
    lines = one_run.Lines("Disk reads", series, ["w1", "w2"], ["sda", "sdb"])
    detail = run_detail(hybrid_run(), hybrid_tasks(), hybrid_trace())
    assert detail.breakdown.phases
    return {
        "runtime_bars": runtime_bars(summaries, palette),
        "throughput_bars": throughput_bars(summaries, palette),
        "speedup_forest": speedup_forest([(c.group, c) for c in compared], palette),
        "speedup_forest of matched groups": speedup_forest(named_speedups(speedups), palette),
        "phase_timeline": phase_timeline(summaries, palette),
        "disk_traffic_areas": disk_traffic_areas(sides, palette),
        "cost_bars": cost_bars(view.rows, palette, view.titles_of(view.rows).by_workload),
        "over_years_bars": over_years_bars(
            CostsOverYears(
                3.0,
                "USD",
                False,
                "2 hard disks (HD2) + Ethernet",
                "answer",
                "assumptions",
                (OptionOverYears("2 SSDs (SS2) + InfiniBand", 58_867.0, 58_867.0, 0.66, 0.55, 0.8, "costs less"),),
                (OptionOverYears("2 hard disks (HD2) + Ethernet", 39_420.0, 39_420.0, 1.0, None, None, ""),),
                "lowest",
                "covers",
            )
        ),
        "over_time": one_run.over_time(
            one_run.OverTime(0.0, 40.0, phases, lanes(hybrid_tasks()), "Tasks", (lines,), limits)
        ),
        "trace_lines": one_run.trace_lines(lines, 10.0),
        "cost_effectiveness_chart": cost_effectiveness_chart(
            points(3), dict(zip(["C0", "C1", "C2"], PALETTE, strict=False)), "USD"
        ),
        "run_history": run_history(
            [
                HistoryPoint(f"r{n}", f"2026-01-0{n + 1}T00:00:00+00:00", 1.0 + 2 * n, "too slow" if n else None)
                for n in (0, 1)
            ],
            "Time / median of its repetitions",
        ),
        "comparison_network": comparison_network(
            LevelNetwork(("HD2", "SS2", "HS2"), (("HD2", "SS2", 12), ("HD2", "HS2", 3))), palette
        ),
        "change_chart": change_chart(
            TimeCostPoint("measured", 50.0, 0.02), TimeCostPoint("then", 30.0, 0.015, 25.0, 36.0), "USD"
        ),
        "change_chart unpriced": change_chart(
            TimeCostPoint("measured", 50.0, None), TimeCostPoint("then", 30.0, None, 25.0, 36.0), ""
        ),
        "limit_bars": limit_bars(
            [("as measured", {"cpu": 0.4, "disk:hdfs": 0.6}), ("then", {"cpu": 0.9, "network": 0.1})]
        ),
        "combinations": combinations(
            [
                Cell((layout, network, containers), 100.0 / len(layout + containers), int(network == "ETH"))
                for layout in ("HDD", "SSD")
                for network in ("ETH", "IB")
                for containers in ("4", "16")
            ],
            ["layout", "network", "containers"],
        ),
        "tuning_course": tuning_course(
            [
                TuningTrial(1, "a", {}, True, False, "valid", 60.0, None, 60.0),
                TuningTrial(2, "b", {"containers": "4"}, False, False, "valid", 50.0, None, 50.0),
                TuningTrial(3, "c", {"containers": "8"}, False, False, "failed", None, "out of memory", 50.0),
                TuningTrial(4, "d", {"containers": "4"}, False, True, "valid", 52.0, None, 50.0),
            ]
        ),
        "cluster_diagram": cluster_diagram(
            [
                NodeRow("c", "master", 1, ("master",), 4, 16 * 2**30, 1e10, None),
                NodeRow("c", "worker", 3, ("worker",), 12, 64 * 2**30, 1e10, None),
            ],
            [
                DeviceRow("c", "worker", ("hdd1", "hdd2"), "hdd", "Maker HD-500", 5 * 10**11, 1.2e8, 1.1e8, None, None),
                DeviceRow("c", "worker", ("ssd1",), "ssd", "", 48 * 10**10, 5e8, 4.6e8, None, None),
            ],
        ),
        "duration_histograms": duration_histograms(
            [PhaseDurations("map", None, 6, 1, 3.0, 9.0, (DurationBin(2.0, 5.0, 5, 0), DurationBin(5.0, 9.0, 1, 1)))]
        ),
        "scatter_points": scatter_points(
            ScatterView(
                *("map_s", "duration_s", "layout", "network", 2, 0, 0, 0),
                (ScatterPoint("r1", 10.0, 60.0, "HD2", "ETH"), ScatterPoint("r2", 5.0, 35.0, "SS2", "IB")),
                ("map_s", "duration_s"),
                ("layout", "network"),
            ),
            palette,
        ),
        "storage_costs": storage_costs([Stored("SS2", 0.7, 50.0), Stored("HS2", 0.8, None)], "HD2", palette),
    }


def rounded(value: Any) -> Any:
    """Return the specification with numbers that do not hang on the last bits of a machine's arithmetic."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {name: rounded(item) for name, item in value.items() if name != "config"}
    return [rounded(item) for item in value] if isinstance(value, list) else value


def test_the_charts_are_what_they_were() -> None:
    charts = rounded(json.loads(json.dumps(specs(), allow_nan=False)))
    if os.environ.get("ASSAY_SNAPSHOTS") == "write":
        SNAPSHOT.write_text(json.dumps(charts, indent=1, ensure_ascii=False) + "\n")
    assert charts == json.loads(SNAPSHOT.read_text())


CHART_MODULES = sorted(
    path for path in Path(assay.interfaces.charts.__path__[0]).rglob("*.py") if path.parent.name != "drawing"
)


def test_no_chart_is_without_a_snapshot() -> None:
    """A chart is a public function of ``charts/`` that returns a specification."""
    charts = [
        (path.stem, node.name)
        for path in CHART_MODULES
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and isinstance(node.returns, ast.Name) and node.returns.id == "Spec"
        if not node.name.startswith("_") and path.stem != "style"
    ]
    names = [name for _, name in charts]
    expected = {name if names.count(name) == 1 else f"{module}.{name}" for module, name in charts}
    assert expected == {name.partition(" ")[0] for name in specs()} | IN_CHARTS_RUNS


def test_charts_print_percentages_as_text_does() -> None:
    """The form is ``12 %``, as of ``format_percent``; Vega's is ``12%``."""
    with_percentages = {
        name: spec for name, spec in specs().items() if re.search(r'"format": "[^"]*%"', json.dumps(spec))
    }
    assert {name.partition(" ")[0] for name in with_percentages} >= {"cost_effectiveness_chart", "limit_bars"}
    themes = {name: spec["config"].get("locale") for name, spec in with_percentages.items()}
    assert all(theme == percent_theme()["locale"] for theme in themes.values()), themes


def test_charts_compute_nothing() -> None:
    """No room of arithmetic is imported, and neither are numpy or the statistics of the standard library.

    ``labels.py`` computes places in pixels, nothing of the data.
    """
    forbidden = {"numpy", "scipy", "statistics", "math", "random"}
    for path in CHART_MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            allowed = {"math"} if path.name == "labels.py" else set()
            assert not {name.partition(".")[0] for name in names} & (forbidden - allowed), path


@pytest.mark.parametrize("name", sorted(specs()))
def test_every_chart_draws_something(name: str) -> None:
    svg = vl_convert.vegalite_to_svg(specs()[name], vl_version=VEGA_LITE_VERSION, allowed_base_urls=[])
    assert svg.count("<path") > 3


def test_a_line_has_the_same_form_whichever_columns_of_the_run_are_shown() -> None:
    """A zoom into a span without work of the first worker and disk changes no colour and no dashes."""
    series = [
        Series(f"worker{n}", f"disk:hdd{d}", "read_bytes", "MB/s", True, 1, (0.0,), (1.0,))
        for n in (1, 2, 3)
        for d in (1, 2)
    ]
    nodes, devices = ["worker1", "worker2", "worker3"], ["hdd1", "hdd2"]

    def looks(shown: list[Series]) -> list[Any]:
        lines = one_run.Lines("Disk read", shown, nodes, devices)
        panel = one_run.over_time(one_run.OverTime(0.0, 9.0, lines=(lines,)))["vconcat"][0]
        return [panel["encoding"][channel]["scale"] for channel in ("color", "strokeDash")]

    assert looks(series) == looks(series[-1:])
    assert len({str(dash) for dash in looks(series)[1]["range"]}) == len(devices)


def test_all_panels_of_a_run_have_one_axis_of_time() -> None:
    panels = specs()["over_time"]["vconcat"]
    assert [panel["title"]["text"] for panel in panels] == [
        "What limited most workers",
        "Phases",
        "Tasks",
        "Disk reads (MB/s)",
    ]
    assert {str(panel["encoding"]["x"]["scale"]) for panel in panels} == {
        str({"domain": [0.0, 40.0], "nice": False, "zero": False})
    }
    assert len({panel["width"] for panel in panels}) == 1
    colours = [panel["encoding"]["color"]["scale"] for panel in panels[1:3]]
    of_phase = [dict(zip(scale["domain"], scale["range"], strict=True)) for scale in colours]
    assert of_phase[0]["map"] == of_phase[1]["map"], "phases are coloured as tasks are"


def test_a_network_draws_a_line_for_each_pair_that_was_compared() -> None:
    svg = vl_convert.vegalite_to_svg(specs()["comparison_network"], vl_version=VEGA_LITE_VERSION)
    drawn = re.findall(r'class="mark-rule[^>]*>(.*?)</g>', svg, re.DOTALL)[0]
    widths = [float(width) for width in re.findall(r'stroke-width="([0-9.]+)"', drawn)]
    assert len(widths) == 2
    assert widths[0] > 1.5 * widths[1], "twelve sets are more than three"
    assert all(f">{text}<" in svg for text in ("HD2", "SS2", "HS2", "12", "3"))


def test_a_plane_of_many_points_names_its_front_and_has_a_legend_for_the_rest() -> None:
    palette = {f"C{n}": PALETTE[n % len(PALETTE)] for n in range(30)}
    few, some, many = (cost_effectiveness_chart(points(number), palette, "USD", HALF_PX) for number in (3, 12, 30))
    named, of_some = ({row["name"] for row in spec["layer"][-1]["data"]["values"]} for spec in (many, some))
    assert of_some > {"C0", "C1", "C2", "C11"}, "names of other points, where they fit"
    assert named == {"C0", "C1", "C2"}
    legends = [
        [layer["encoding"]["color"]["legend"] for layer in spec["layer"] if "color" in layer["encoding"]]
        for spec in (few, many)
    ]
    assert legends[0] == [None] * 3
    assert all(legend is not None for legend in legends[1])
