"""Test assay's own Java jobs: built once from source, named by content, and required only where used."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from assay.execution.engines.hadoop.deployment.distribution import ASSEMBLED_VERSION
from assay.execution.engines.hadoop.deployment.maven import package
from assay.execution.engines.hadoop.jobs import jobs
from assay.execution.engines.hadoop.jobs.jobs import JobsJar
from assay.execution.hosts import LocalTransport
from assay.foundation.errors import EngineError
from assay.foundation.installation import Installation
from assay.model.plans.program import JOBS_PACKAGE, Program
from assay.workloads.catalogue import workloads
from assay.workloads.workload import Size
from campaign_support import require_hadoop
from java_archives import SMALL_JVM
from paths import ROOT

SOURCES = ROOT / "java" / "jobs"
ASSAY_PROGRAM, STOCK = Program(f"{JOBS_PACKAGE}Shuffle", ()), Program("org.apache.hadoop.examples.Sort", ())


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sources of one class, and a separate cache."""
    folder = tmp_path / "source"
    (folder / "src" / "main").mkdir(parents=True)
    (folder / "pom.xml").write_text("<project/>")
    (folder / "src" / "main" / "A.java").write_text("class A {}")
    monkeypatch.setattr(jobs, "_sources", lambda: folder)
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    return folder


def test_changed_sources_are_another_jar(sources: Path) -> None:
    before = jobs.fingerprint()
    (sources / "src" / "main" / "A.java").write_text("class A { }")
    assert jobs.fingerprint() != before
    (sources / "src" / "main" / "A.java").write_text("class A {}")
    assert jobs.fingerprint() == before
    (sources / "src" / "main" / "A.java").rename(sources / "src" / "main" / "B.java")
    assert jobs.fingerprint() != before


def test_a_jar_that_is_there_is_not_built_again(sources: Path, tmp_path: Path) -> None:
    assert jobs.find() is None
    jar = tmp_path / "cache" / f"jobs-{jobs.fingerprint()}" / "assay-jobs.jar"
    jar.parent.mkdir(parents=True)
    jar.write_bytes(b"jar")
    assert jobs.require(lambda line: pytest.fail(line)) == jar


@pytest.mark.parametrize(("there", "word"), [((), "javac"), (("javac",), "Maven")])
def test_without_the_tools_the_error_names_what_is_missing(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: tuple[str, ...], word: str
) -> None:
    for name in there:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match=word):
        jobs.require(lambda _: None)


def test_the_error_of_maven_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mvn").write_text("#!/bin/sh\necho '[ERROR] no such artifact'; echo '[ERROR] [Help 1]'; exit 1\n")
    (tmp_path / "mvn").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(EngineError, match="no such artifact") as raised:
        package(tmp_path / "pom.xml", "the thing", {})
    assert "Help" not in str(raised.value)


async def test_a_jar_that_cannot_be_built_stops_only_its_programs(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    lines: list[str] = []
    shipped = await jobs.ship({}, "/home/assay", lines.append)
    assert shipped.with_jar("a:b") == "a:b"
    shipped.require_for(STOCK)
    with pytest.raises(EngineError, match="javac"):
        shipped.require_for(ASSAY_PROGRAM)
    assert any("continuing without" in line for line in lines)


async def test_the_jar_is_put_on_every_host(sources: Path, tmp_path: Path) -> None:
    jar = tmp_path / "cache" / f"jobs-{jobs.fingerprint()}" / "assay-jobs.jar"
    jar.parent.mkdir(parents=True)
    jar.write_bytes(b"jar")
    home = tmp_path / "home"
    home.mkdir()
    shipped = await jobs.ship({"node": LocalTransport("node")}, str(home), lambda _: None)
    name = f"jobs-{hashlib.sha256(b'jar').hexdigest()[:12]}.jar"
    assert shipped == JobsJar(f"{home}/{name}")
    assert (home / name).read_bytes() == b"jar"
    assert shipped.with_jar("a:b") == f"a:b:{shipped.path}"
    shipped.require_for(ASSAY_PROGRAM)


def test_a_jar_that_came_along_is_taken_without_its_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installation_ = Installation(tmp_path / "assay")
    (installation_.package / "shipped").mkdir(parents=True)
    monkeypatch.setattr(jobs, "installation", lambda: installation_)
    with pytest.raises(EngineError, match="lacks assay's jobs"):
        jobs.find()
    (installation_.package / "shipped" / "assay-jobs.jar").write_bytes(b"jar")
    assert jobs.require(lambda line: pytest.fail(line)) == installation_.package / "shipped" / "assay-jobs.jar"


def test_jobs_are_compiled_against_the_hadoop_that_is_assembled() -> None:
    for pom in (SOURCES / "pom.xml", ROOT / "java" / "hadoop-distribution" / "pom.xml"):
        version = re.search(r"<hadoop.version>(.*)</hadoop.version>", pom.read_text())
        assert version is not None
        assert version[1] == ASSEMBLED_VERSION


def test_every_program_of_a_workload_is_among_the_sources() -> None:
    size = Size(10**7, 1)
    of_engines = [workload.programs(size, "/in") for workload in workloads().values()]
    programs = [programs["hadoop"] for programs in of_engines if "hadoop" in programs]
    programs += [needed.program for workload in workloads().values() if (needed := workload.input(size))]
    programs = [program for program in programs if program.engine == "hadoop"]
    programs_here = {program.main_class for program in programs if program.main_class.startswith(JOBS_PACKAGE)}
    assert len(programs_here) >= 8
    for name in programs_here:
        source = SOURCES / "src" / "main" / "java" / f"{name.replace('.', '/')}.java"
        usage = re.search(r'fit\(arguments, "(.*?)"\)', source.read_text())
        assert usage is not None
        expected = len(usage[1].split()) - 1
        assert {len(program.arguments) for program in programs if program.main_class == name} == {expected}


@pytest.mark.hadoop
def test_junit_finds_the_jobs_right(tmp_path: Path) -> None:
    """In a copy, so that nothing is left in the tree."""
    require_hadoop()
    if shutil.which("javac") is None:
        pytest.skip("javac is not installed: the jobs can't be compiled here")
    shutil.copytree(SOURCES, tmp_path / "jobs", ignore=shutil.ignore_patterns("target"))
    done = subprocess.run(
        ["mvn", "-B", "-q", "-f", str(tmp_path / "jobs" / "pom.xml"), "test"],
        env={**os.environ, **SMALL_JVM},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    reports = list((tmp_path / "jobs" / "target" / "surefire-reports").glob("*.txt"))
    assert sum(int(n) for path in reports for n in re.findall(r"Tests run: (\d+)", path.read_text())) >= 15
