"""Test the Grafana dashboard: its panels have what Grafana reads, and query only exported metrics and labels."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from assay.analysis.statistics import InferenceScope, table_of
from assay.interfaces.web.api.metrics import MonitoringCollector
from assay.model import HostSample
from assay.questions.decisions.decision import CostRatio, CostVerdict, TimeRatio
from assay.questions.decisions.option_figures import OptionFigures
from assay.questions.runs.monitoring import DecisionFigures, monitoring
from assay.store.campaigns.status import CampaignStatus
from builders import make_run
from paths import EXAMPLES

STATUS = CampaignStatus(
    "c1", "plan", "lab", 1.0, True, 1, 18, 4, 1, 6, "TeraSort", 2.0, "job", 600.0, 700.0, (), None, 2.0
)
DASHBOARD: dict[str, Any] = json.loads((EXAMPLES / "grafana" / "dashboard.json").read_text())
QUERIES = [
    *(target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]),
    *(item["query"] for item in DASHBOARD["templating"]["list"] if item["type"] == "query"),
]


@pytest.fixture(scope="module")
def exported() -> dict[str, set[str]]:
    """Return the exported metrics with their labels."""
    registry = CollectorRegistry(auto_describe=False)
    time = TimeRatio(1.5, 1.4, 1.6, InferenceScope.TESTED, "", 3, 9, 9, None, None)
    cost = CostRatio(0.7, 0.6, 0.8, 1.1, 1.5, None, CostVerdict.CHEAPER)
    option = OptionFigures("storage", "layout", "HD2", "SS2", "measured", "", time, cost)
    host = HostSample("n1", 1.0, 4.0, {"user": 1.0}, 2.0, {"d1": (1.0, 2.0, 3.0)}, {"eth0": (1.0, 2.0)})
    view = replace(
        monitoring(table_of([make_run(1)]), [STATUS]), decisions=DecisionFigures((option,), 1.0), hosts=(("c1", host),)
    )
    registry.register(MonitoringCollector(view))
    families = text_string_to_metric_families(generate_latest(registry).decode())
    labels: dict[str, set[str]] = {}
    for sample in (sample for family in families for sample in family.samples):
        labels.setdefault(sample.name, set()).update(sample.labels)
    return labels


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_names_exported_metrics(query: str, exported: dict[str, set[str]]) -> None:
    names = re.findall(r"\bassay_\w+", query)
    assert names
    assert set(names) <= exported.keys()
    for labels in re.findall(r"\{(\w+)=|by \((\w+)\)|label_values\(\w+, (\w+)\)", query):
        for label in filter(None, labels):
            assert all(label in exported[name] for name in names)


def test_every_metric_is_on_the_dashboard(exported: dict[str, set[str]]) -> None:
    assert set(re.findall(r"\bassay_\w+", " ".join(QUERIES))) == exported.keys()


@pytest.mark.parametrize("panel", DASHBOARD["panels"], ids=lambda panel: panel["title"])
def test_a_panel_has_a_position_and_a_legend_of_known_labels(
    panel: dict[str, Any], exported: dict[str, set[str]]
) -> None:
    assert panel["type"] in {"stat", "bargauge", "timeseries"}
    position = panel["gridPos"]
    assert min(position.values()) >= 0
    assert position["x"] + position["w"] <= 24
    for target in panel["targets"]:
        labels = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        assert all(labels <= exported[name] for name in re.findall(r"\bassay_\w+", target["expr"]))


def test_panels_have_distinct_ids_and_do_not_overlap() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells))
    assert DASHBOARD["schemaVersion"] >= 36
