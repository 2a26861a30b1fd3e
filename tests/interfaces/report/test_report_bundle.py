"""Test ``assay report --bundle``: packed files and their return."""

from __future__ import annotations

import gzip
import io
import json
import shlex
import subprocess
import tarfile
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import RepositoryError, SpecificationError
from assay.store import Repository
from assay.store.campaigns.journal import create_campaign
from assay.store.exchange import package as packages
from builders import PRICES_YAML, make_run, study_runs
from command import invoke
from paths import ROOT

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "examples" / "lab"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository with the runs of a campaign of the example's plan."""
    folder = tmp_path_factory.mktemp("repository")
    repository = Repository.create(folder)
    journal = create_campaign(repository.folders.campaigns, load_plan(EXAMPLES / "hdd-vs-ssd.yaml"), 0)
    for run in study_runs():
        repository.publish(replace(run, campaign_id=journal.campaign_id), logs={"job.log": b"done"})
    return folder


@pytest.fixture(scope="module")
def packed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packed")
    (folder / "my prices.yaml").write_text(PRICES_YAML)
    result = invoke(
        "report", "--bundle", folder / "study.tar.gz", "--prices", folder / "my prices.yaml", "--repository", root
    )
    assert result.exit_code == 0, result.exception
    return folder / "study.tar.gz"


def test_a_bundle_has_report_plan_cluster_prices_runs_and_versions(
    packed: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path, filter="data")
    top = tmp_path / "study"
    names = {path.name for path in top.iterdir()}
    assert names == {"README.md", "SHA256SUMS", "plans", "prices.yaml", "report.html", "repository", "versions.json"}
    assert (top / "prices.yaml").read_text() == PRICES_YAML
    again = load_plan(top / "plans" / "hdd-vs-ssd" / "plan.yaml")
    assert again.fingerprint == load_plan(EXAMPLES / "hdd-vs-ssd.yaml").fingerprint
    assert json.loads((top / "versions.json").read_text())["assay"]
    readme = (top / "README.md").read_text()
    for words in (
        "assay run plans/hdd-vs-ssd/plan.yaml",
        "assay verify --repository repository",
        "--prices prices.yaml --date ",
        "sha256sum -c",
    ):
        assert words in readme
    subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=top, check=True)
    assert Repository.open(top / "repository").verify() == []
    written = invoke(
        "report",
        "-o",
        tmp_path / "r.html",
        "--baseline",
        "HD2",
        "--prices",
        top / "prices.yaml",
        "--repository",
        top / "repository",
    )
    assert written.exit_code == 0, written.exception
    assert (
        "2 SSDs per worker (SS2) are 1.67× as fast as 2 hard disks per worker (HD2) over 3 workloads"
        in (tmp_path / "r.html").read_text()
    )
    anew = next(line for line in readme.splitlines() if line.startswith("    assay report"))
    monkeypatch.chdir(top)
    assert invoke(*shlex.split(anew)[1:]).exit_code == 0
    first, again_page = (unescape((top / name).read_text()) for name in ("report.html", "again.html"))
    assert again_page.replace("--prices prices.yaml", "--prices 'my prices.yaml'") == first


def test_the_round_trip_gives_the_same_runs(packed: Path, root: Path, tmp_path: Path) -> None:
    assert invoke("verify", packed).exit_code == 0
    result = invoke("pull", packed, "--repository", tmp_path / "mine", "--json")
    assert json.loads(result.stdout) == {"copied": 20, "already_there": 0, "refused": []}
    mine = Repository.open(tmp_path / "mine")
    assert mine.verify() == []
    assert mine.runs() == Repository.open(root).runs()
    assert mine.log(study_runs()[0].run_id, "job.log") == b"done"
    again = invoke("pull", packed, "--repository", tmp_path / "mine", "--json")
    assert json.loads(again.stdout)["already_there"] == 20
    assert list((tmp_path / "mine" / "partial").iterdir()) == []


def test_the_same_runs_make_the_same_bytes(packed: Path, root: Path, tmp_path: Path) -> None:
    (tmp_path / "my prices.yaml").write_text(PRICES_YAML)
    target = tmp_path / "study.tar.gz"
    assert (
        invoke("report", "--bundle", target, "--prices", tmp_path / "my prices.yaml", "--repository", root).exit_code
        == 0
    )
    assert target.read_bytes() == packed.read_bytes()


def test_only_the_runs_that_the_report_shows_are_packed(root: Path, tmp_path: Path) -> None:
    target = tmp_path / "sort.tar.gz"
    result = invoke("report", "--bundle", target, "--workload", "terasort", "--repository", root)
    assert result.exit_code == 0, result.exception
    invoke("pull", target, "--repository", tmp_path / "mine")
    assert {run.workload for run in Repository.open(tmp_path / "mine").runs()} == {"terasort"}


def test_an_import_is_copied_as_a_whole_with_its_source(tmp_path: Path) -> None:
    table = tmp_path / "runs.csv"
    lines = [f"terasort,{layout},{seconds}" for layout, seconds in (("HD2", 90), ("HD2", 91), ("SS2", 40), ("SS2", 41))]
    table.write_text("\n".join(["workload,layout,seconds", *lines, ""]))
    assert (
        invoke(
            "import",
            "table",
            table,
            "--map",
            "workload=workload",
            "--map",
            "layout=layout",
            "--map",
            "seconds=duration_s",
            "--repository",
            tmp_path / "r",
        ).exit_code
        == 0
    )
    result = invoke("report", "--bundle", tmp_path / "t.tgz", "--repository", tmp_path / "r")
    assert result.exit_code == 0, result.exception
    invoke("pull", tmp_path / "t.tgz", "--repository", tmp_path / "mine")
    assert len(Repository.open(tmp_path / "mine").runs()) == 4
    with tarfile.open(tmp_path / "t.tgz") as archive:
        readme = archive.extractfile("t/README.md")
        assert readme is not None
        assert b"imported" in readme.read()


def test_a_plan_may_bring_a_cluster_file_that_was_not_kept(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r")
    plan = load_plan(EXAMPLES / "hdd-vs-ssd.yaml")
    journal = create_campaign(repository.folders.campaigns, plan, 0)
    (journal.folder / "cluster.yaml").unlink()
    for number, layout in enumerate(("HD2", "SS2")):
        repository.publish(replace(make_run(number, layout=layout), campaign_id=journal.campaign_id))
    bare, whole = tmp_path / "bare.tar.gz", tmp_path / "whole.tar.gz"
    invoke("report", "--bundle", bare, "--repository", repository.root)
    invoke("report", "--bundle", whole, "--plan", EXAMPLES / "hdd-vs-ssd.yaml", "--repository", repository.root)
    with tarfile.open(bare) as first, tarfile.open(whole) as second:
        assert "bare/plans/hdd-vs-ssd/cluster.yaml" not in first.getnames()
        readme = first.extractfile("bare/README.md")
        assert readme is not None
        assert b"did not keep the cluster file" in readme.read()
        assert "whole/plans/hdd-vs-ssd/cluster.yaml" in second.getnames()
    other = tmp_path / "other.yaml"
    other.write_text((EXAMPLES / "hdd-vs-ssd.yaml").read_text().replace("seed: 1", "seed: 2"))
    (tmp_path / "cluster.yaml").write_text((EXAMPLES / "cluster.yaml").read_text())
    result = invoke("report", "--bundle", bare, "--plan", other, "--repository", repository.root)
    assert isinstance(result.exception, SpecificationError)
    assert "these runs were not made for the plan" in str(result.exception)


def _repacked(
    packed: Path, target: Path, change: dict[str, bytes | None], extra: tarfile.TarInfo | None = None
) -> Path:
    """Write the package anew with some members changed, left out, or added."""
    with tarfile.open(packed) as source, tarfile.open(target, "w:gz") as copy:
        for entry in source:
            content = source.extractfile(entry)
            assert content is not None
            data = change.get(entry.name.partition("/")[2], content.read())
            if data is not None:
                entry.size = len(data)
                copy.addfile(entry, io.BytesIO(data))
        if extra is not None:
            copy.addfile(extra)
    return target


def test_a_bundle_changed_in_transit_is_refused(packed: Path, tmp_path: Path) -> None:
    run = f"repository/bundles/{study_runs()[0].run_id}/run.json"
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(packed.read_bytes()[:-500])
    text = tmp_path / "text.tar.gz"
    text.write_text("hello")
    empty = tmp_path / "empty.tar.gz"
    empty.write_bytes(gzip.compress(b""))
    link, above = tarfile.TarInfo("study/link"), tarfile.TarInfo("study/../above")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    bad = [
        _repacked(packed, tmp_path / "a.tar.gz", {"README.md": b"other"}),
        _repacked(packed, tmp_path / "b.tar.gz", {run: None}),
        _repacked(packed, tmp_path / "c.tar.gz", {"SHA256SUMS": None}),
        _repacked(packed, tmp_path / "d.tar.gz", {}, link),
        _repacked(packed, tmp_path / "e.tar.gz", {}, above),
        cut,
        text,
        empty,
    ]
    for path in bad:
        for result in (invoke("verify", path), invoke("pull", path, "--repository", tmp_path / "mine")):
            assert isinstance(result.exception, RepositoryError), path.name
            assert str(path) in str(result.exception)
    assert Repository.open(tmp_path / "mine").runs() == []
    assert list((tmp_path / "mine" / "partial").iterdir()) == []
    assert not (tmp_path / "above").exists()


def test_a_damaged_run_is_not_handed_on(root: Path, tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r")
    for run in study_runs()[:2]:
        repository.publish(run, logs={"job.log": b"done"})
    (repository.root / "bundles" / study_runs()[0].run_id / "logs" / "job.log.gz").write_bytes(b"x")
    result = invoke("report", "--bundle", tmp_path / "x.tar.gz", "--repository", repository.root)
    assert isinstance(result.exception, RepositoryError)
    assert "job.log.gz" in str(result.exception)
    assert not list(tmp_path.glob("*.tar.gz*"))


def test_more_files_than_a_package_holds_are_refused(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "FILES_MAX", 10)
    result = invoke("report", "--bundle", tmp_path / "x.tar.gz", "--repository", root)
    assert isinstance(result.exception, RepositoryError)
    assert "--workload" in str(result.exception)


def test_a_package_needs_its_ending(root: Path, tmp_path: Path) -> None:
    result = invoke("report", "--bundle", tmp_path / "x.zip", "--repository", root)
    assert isinstance(result.exception, SpecificationError)
