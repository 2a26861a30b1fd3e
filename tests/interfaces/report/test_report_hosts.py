"""Test that a report shows the host checks of its runs alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.analysis.host_checks.catalogue import grade_hosts
from assay.model.clusters.cluster import Address, Cluster, Nic, Node, NodeType, Placement, Role
from assay.store.check_reports import store_check
from campaign_support import assay
from survey_samples import basics, survey
from web_support import filled

TYPE = NodeType("worker", 12, 64 * 2**30, (), Nic(1e10))


@pytest.mark.slow
def test_a_report_states_whether_the_hosts_of_its_runs_passed_the_checks(tmp_path: Path) -> None:
    repository = filled(tmp_path / "repository")
    cluster = repository.runs()[0].cluster
    node = Node("w1", TYPE, frozenset(Role), Address("w1"))
    for name in (cluster, "elsewhere"):
        checked = Cluster(name, Placement.SSH, (node,))
        poor = survey(basics=basics(huge_pages="always"))
        store_check(repository, grade_hosts(checked, "2026-01-02T10:00:00+00:00", {"w1": poor}, {}))
    page = tmp_path / "report.html"
    assay("report", "-o", page, "--by", "layout", "--repository", repository.root)
    text = page.read_text()
    assert f"Host checks of {cluster}" in text
    assert "Hortonworks Community" in text
    assert "elsewhere" not in text
