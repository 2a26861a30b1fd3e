"""What an installation says of itself, as a wheel's package and as a source tree's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay import __version__
from assay.foundation.installation import Installation, installation
from assay.interfaces.cli.main import assay
from paths import EXAMPLES, ROOT


def _wheel(folder: Path) -> Installation:
    """Return an installation as a wheel's would lie in ``folder``, with no part yet."""
    package = folder / "site-packages" / "assay"
    (package / "shipped").mkdir(parents=True)
    return Installation(package)


def _tree(folder: Path) -> Installation:
    package = folder / "src" / "assay"
    for made in (package, folder / "rust"):
        made.mkdir(parents=True)
    (folder / "pyproject.toml").touch()
    return Installation(package)


def test_this_suite_runs_from_a_source_tree() -> None:
    own = installation()
    assert own.tree == ROOT
    assert own.examples == EXAMPLES
    assert own.hadoop_pom == ROOT / "java" / "hadoop-distribution" / "pom.xml"
    assert own.jobs_sources == ROOT / "java" / "jobs"
    assert own.jobs_jar is None


def test_parts_that_did_not_come_along_are_none(tmp_path: Path) -> None:
    own = _wheel(tmp_path)
    assert own.tree is None
    programs = [own.disks_daemon, own.simulator]
    assert [*programs, own.examples, own.hadoop_pom, own.hadoop_jars, own.jobs_jar, own.jobs_sources] == [None] * 7
    assert own.commit is None
    assert own.version == __version__


def test_a_wheel_has_its_parts_beside_the_package(tmp_path: Path) -> None:
    own = _wheel(tmp_path)
    shipped = own.package / "shipped"
    (shipped / "examples").mkdir()
    for name in ("assay-diskd", "assay-simulate", "assay-jobs.jar", "hadoop-jars.txt", "hadoop-distribution.pom.xml"):
        (shipped / name).touch()
    assert own.disks_daemon is None  # it can't be executed
    for name in ("assay-diskd", "assay-simulate"):
        (shipped / name).chmod(0o755)
    (shipped / "commit").write_text("8f3c2a91b7de\n")
    assert own.disks_daemon == shipped / "assay-diskd"
    assert own.simulator == shipped / "assay-simulate"
    assert own.examples == shipped / "examples"
    assert own.jobs_jar == shipped / "assay-jobs.jar"
    assert own.hadoop_jars == shipped / "hadoop-jars.txt"
    assert own.hadoop_pom == shipped / "hadoop-distribution.pom.xml"
    assert own.version == f"{__version__} (8f3c2a91b7de)"


def test_a_checkout_asks_git_for_its_commit_and_says_what_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = _tree(tmp_path)
    assert own.tree == tmp_path
    assert own.commit is None  # an unpacked archive of the sources
    for variable in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(variable, "somebody")
    for command in (["init", "-q"], ["add", "pyproject.toml"], ["commit", "-qm", "first"]):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    head = subprocess.run(
        ["git", "-C", str(tmp_path), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True
    )
    assert own.commit == head.stdout.strip()
    (tmp_path / "pyproject.toml").write_text("changed")
    assert own.commit == f"{head.stdout.strip()}-dirty"
    monkeypatch.setenv("PATH", "")
    assert own.commit is None


def test_the_version_is_printed_with_the_commit() -> None:
    told = CliRunner().invoke(assay, ["--version"])
    assert told.exit_code == 0
    assert told.output.split()[:2] == ["assay", __version__]
