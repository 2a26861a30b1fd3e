"""Test that the Hosts page and the API show host checks, and that host names are escaped."""

from __future__ import annotations

from pathlib import Path

from assay.analysis.host_checks.catalogue import CRITERIA, grade_hosts
from assay.model.clusters.cluster import Address, Cluster, Nic, Node, NodeType, Placement, Role
from assay.model.clusters.survey import Survey
from assay.store import Repository
from assay.store.check_reports import newest_checks, store_check
from survey_samples import basics, survey
from web_support import EVIL, client_of

TYPE = NodeType("worker", 12, 64 * 2**30, (), Nic(1e10))
CLUSTER = Cluster("rack", Placement.SSH, (Node("w1", TYPE, frozenset(Role), Address("w1")),))


def kept(root: Path) -> Repository:
    repository = Repository.create(root)
    for checked_at, host in (("2026-01-01T10:00:00+00:00", survey()), ("2026-01-02T10:00:00+00:00", poor())):
        store_check(repository, grade_hosts(CLUSTER, checked_at, {"w1": host, "w2": survey("w2")}, {"w3": EVIL}))
    return repository


def poor() -> Survey:
    return survey(hostname=EVIL, name_addresses=(), basics=basics(huge_pages="always", open_files=1024))


def test_the_newest_check_is_shown_hosts_against_checks(tmp_path: Path) -> None:
    repository = kept(tmp_path / "repository")
    assert [check.checked_at for check in newest_checks(repository)] == ["2026-01-02T10:00:00+00:00"]
    with client_of(repository.root) as client:
        page = client.get("/hosts").text
        assert "transparent huge pages: enabled" in page
        assert "Hortonworks Community" in page
        assert "has no address" in page
        assert EVIL not in page
        [check] = client.get("/api/v1/hosts").json()
    assert check["hosts"] == ["w1", "w2", "between hosts"]
    rows = {row["criterion"]["name"]: row["grades"] for row in check["rows"]}
    assert rows["open-files"] == ["error", "fit", None]
    assert check["fit"] + len(rows) == len(CRITERIA)
    assert check["counts"]["error"] >= 3


def test_without_a_check_the_page_says_how_to_make_one(tmp_path: Path) -> None:
    with client_of(Repository.create(tmp_path / "repository").root) as client:
        assert "assay check CLUSTER" in client.get("/hosts").text
        assert client.get("/api/v1/hosts").json() == []
