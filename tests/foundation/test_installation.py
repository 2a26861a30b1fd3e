"""Test the description of an installation, as a wheel and as a source tree."""

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
    """Return the installation of a wheel in ``folder``, without any part."""
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
    installation_ = installation()
    assert installation_.tree == ROOT
    assert installation_.examples == EXAMPLES
    assert installation_.hadoop_pom == ROOT / "java" / "hadoop-distribution" / "pom.xml"
    assert installation_.jobs_sources == ROOT / "java" / "jobs"
    assert installation_.jobs_jar is None


def test_parts_that_did_not_come_along_are_none(tmp_path: Path) -> None:
    installation_ = _wheel(tmp_path)
    assert installation_.tree is None
    programs = [installation_.disks_daemon, installation_.simulator]
    assert [
        *programs,
        installation_.examples,
        installation_.hadoop_pom,
        installation_.hadoop_jars,
        installation_.jobs_jar,
        installation_.jobs_sources,
    ] == [None] * 7
    assert installation_.commit is None
    assert installation_.version == __version__


def test_a_wheel_has_its_parts_next_to_the_package(tmp_path: Path) -> None:
    installation_ = _wheel(tmp_path)
    shipped = installation_.package / "shipped"
    (shipped / "examples").mkdir()
    for name in ("assay-diskd", "assay-simulate", "assay-jobs.jar", "hadoop-jars.txt", "hadoop-distribution.pom.xml"):
        (shipped / name).touch()
    assert installation_.disks_daemon is None  # it can't be executed
    for name in ("assay-diskd", "assay-simulate"):
        (shipped / name).chmod(0o755)
    (shipped / "commit").write_text("8f3c2a91b7de\n")
    assert installation_.disks_daemon == shipped / "assay-diskd"
    assert installation_.simulator == shipped / "assay-simulate"
    assert installation_.examples == shipped / "examples"
    assert installation_.jobs_jar == shipped / "assay-jobs.jar"
    assert installation_.hadoop_jars == shipped / "hadoop-jars.txt"
    assert installation_.hadoop_pom == shipped / "hadoop-distribution.pom.xml"
    assert installation_.version == f"{__version__} (8f3c2a91b7de)"


def test_a_checkout_reads_its_commit_and_changes_from_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installation_ = _tree(tmp_path)
    assert installation_.tree == tmp_path
    assert installation_.commit is None  # an unpacked archive of the sources
    for variable in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(variable, "somebody")
    for command in (["init", "-q"], ["add", "pyproject.toml"], ["commit", "-qm", "first"]):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    head = subprocess.run(
        ["git", "-C", str(tmp_path), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True
    )
    assert installation_.commit == head.stdout.strip()
    (tmp_path / "pyproject.toml").write_text("changed")
    assert installation_.commit == f"{head.stdout.strip()}-dirty"
    monkeypatch.setenv("PATH", "")
    assert installation_.commit is None


def test_the_version_is_printed_with_the_commit() -> None:
    result = CliRunner().invoke(assay, ["--version"])
    assert result.exit_code == 0
    assert result.output.split()[:2] == ["assay", __version__]
