"""Host checks in a repository: reports of this version and of earlier versions open."""

from __future__ import annotations

import json
from pathlib import Path

from assay.analysis.host_checks.catalogue import grade_hosts
from assay.model.clusters.cluster import Address, Cluster, Nic, Node, NodeType, Placement, Role
from assay.model.clusters.host_checks import HostCheckReport
from assay.store import Repository
from assay.store.bundles.bundle import check_bundle
from assay.store.check_reports import newest_checks, read_check, store_check
from builders import make_run
from survey_samples import survey

CLUSTER = Cluster(
    "rack",
    Placement.SSH,
    (Node("w1", NodeType("worker", 12, 64 * 2**30, (), Nic(1e10)), frozenset(Role), Address("w1")),),
)


def report() -> HostCheckReport:
    return grade_hosts(CLUSTER, "2026-01-02T10:00:00+00:00", {"w1": survey()}, {"w2": "no route to host"})


def as_earlier_versions_wrote(path: Path) -> bytes:
    """Return the same report with the keys ``found`` and ``unreached`` of earlier versions."""
    tree = json.loads(path.read_bytes())
    for reading in tree["readings"]:
        reading["found"] = reading.pop("message")
    tree["unreached"] = tree.pop("unreachable")
    return json.dumps(tree).encode()


def test_a_report_is_read_as_it_was_stored(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "repository")
    store_check(repository, report())
    assert newest_checks(repository) == [report()]


def test_a_report_of_an_earlier_version_opens(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "repository")
    path = store_check(repository, report())
    earlier = as_earlier_versions_wrote(path)
    assert b'"message"' not in earlier
    path.write_bytes(earlier)
    assert newest_checks(repository) == [report()]


def test_a_bundle_of_an_earlier_version_with_fitness_json_opens(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "repository")
    earlier = as_earlier_versions_wrote(store_check(repository, report()))
    run = make_run(1)
    bundle = repository.publish(run, files={"fitness.json": earlier})
    assert check_bundle(bundle) == []
    assert [stored.run_id for stored in repository.runs()] == [run.run_id]
    assert read_check((bundle / "fitness.json").read_bytes()) == report()


def test_a_file_that_is_no_report_is_skipped(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "repository")
    store_check(repository, report())
    (repository.folders.checks / "rack" / "2026-01-03T100000Z.json").write_text("[1, 2]")
    assert newest_checks(repository) == [report()]
