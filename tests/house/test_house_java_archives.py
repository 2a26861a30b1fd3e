"""Test the class archives of the tests' JVMs: recorded by one JVM of each kind, made, and used by the others."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from java_archives import KINDS, make_class_archives
from paths import ARCHIVED_JAVA

CLIENT, TASK, DAEMON = (
    "org.apache.hadoop.examples.WordCount",
    "org.apache.hadoop.mapred.YarnChild",
    "org.apache.hadoop.hdfs.server.namenode.NameNode",
)
SUBMIT = "org.apache.spark.deploy.SparkSubmit"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a cache with jars of Hadoop and Spark, and the archive of the daemons."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    for folder in ("hadoop-9.9/lib", "spark-9.9/jars", "classes-0123456789ab"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "classes-0123456789ab" / "daemons.jsa").write_bytes(b"archive")
    return tmp_path


def command_of(cache: Path, main: str) -> str:
    """Return the arguments with which the script runs Java."""
    folder = cache / "bin"
    folder.mkdir(exist_ok=True)
    (folder / "java").write_text('#!/bin/sh\necho "$@"\n')
    (folder / "java").chmod(0o755)
    jars = "spark-9.9/jars" if ".spark." in main else "hadoop-9.9/lib"
    words = [str(ARCHIVED_JAVA / "bin" / "java"), "-cp", f"/conf:{cache}/{jars}/*:/x.jar", main, "argument"]
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout


def archive_of(cache: Path, main: str) -> str | None:
    """Return the folder of the archive that Java gets, and check that it comes first on the class path."""
    words = command_of(cache, main).split()
    archives = [word.split("=")[1] for word in words if word.startswith("-XX:SharedArchiveFile=")]
    if not archives:
        return None
    assert words[words.index("-cp") + 1].endswith("/*:/conf:/x.jar")
    assert words[-2:] == [main, "argument"]
    return Path(archives[0]).parent.name


def test_one_jvm_of_each_kind_records_its_classes(cache: Path) -> None:
    assert archive_of(cache, CLIENT) == "classes-0123456789ab"
    assert archive_of(cache, SUBMIT) is None
    make_class_archives()
    for main, kind, home in ((CLIENT, "Client", "hadoop-9.9"), (SUBMIT, "SparkSubmit", "spark-9.9")):
        recording = command_of(cache, main)
        assert f"-XX:DumpLoadedClassList={cache}/tests-classes-0123456789ab-{home}/{kind}.classes" in recording
        assert "DumpLoadedClassList" not in command_of(cache, main)
    assert archive_of(cache, DAEMON) == "classes-0123456789ab"
    assert "YarnChild.classes" in command_of(cache, TASK)


@pytest.mark.slow
def test_a_complete_record_becomes_an_archive_that_all_but_daemons_use(cache: Path) -> None:
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    make_class_archives()
    folder = cache / "tests-classes-0123456789ab-hadoop-9.9"
    for kind in KINDS["hadoop-*/lib"]:
        (folder / f"{kind}.classes").write_text("java/lang/Object\n")
    make_class_archives()
    assert not (folder / "daemons.jsa").exists(), "a JVM that recorded a class just now may record more"
    for path in folder.glob("*.classes"):
        os.utime(path, (0, 0))
    make_class_archives()
    assert (folder / "daemons.jsa").stat().st_size > 1_000_000
    assert archive_of(cache, CLIENT) == archive_of(cache, TASK) == folder.name
    assert archive_of(cache, DAEMON) == "classes-0123456789ab"
    assert archive_of(cache, SUBMIT) is None
