"""Test the version of an installed Hadoop, which is in the names of its jars, and its options for versions of Java."""

from pathlib import Path

import pytest

from assay.execution.engines.hadoop.deployment import distribution as distributions
from assay.execution.engines.hadoop.deployment.deployed import required_options
from assay.execution.engines.hadoop.deployment.distribution import assemble, find
from assay.foundation.errors import EngineError

PARTS = {
    "common": ("hadoop-common",),
    "hdfs": ("hadoop-hdfs",),
    "yarn": ("hadoop-yarn-server-resourcemanager", "hadoop-yarn-server-nodemanager"),
    "mapreduce": ("hadoop-mapreduce-client-hs", "hadoop-mapreduce-examples"),
}


def install(home: Path, version: str) -> None:
    for part, names in PARTS.items():
        folder = home / "share" / "hadoop" / part
        folder.mkdir(parents=True)
        for name in names:
            (folder / f"{name}-{version}.jar").touch()
            (folder / f"{name}-{version}-tests.jar").touch()


@pytest.mark.parametrize("version", ["3.4.2", "3.1.1.7.1.8.0-801", "3.5.0-SNAPSHOT"])
def test_the_version_of_a_vendor_may_have_a_dash(tmp_path: Path, version: str) -> None:
    install(tmp_path, version)
    distribution = find(str(tmp_path))
    assert distribution is not None
    assert distribution.version == version


def test_a_jar_without_a_version_is_an_error(tmp_path: Path) -> None:
    install(tmp_path, "snapshot")
    with pytest.raises(EngineError, match="hadoop-common has no version"):
        find(str(tmp_path))


def test_one_host_with_java_17_requires_its_option_on_all_hosts() -> None:
    assert required_options([11, 17]) == "--add-opens=java.base/java.lang=ALL-UNNAMED"
    assert required_options([11, 11]) == ""


def test_an_error_without_a_hint_has_the_hint_to_set_hadoop_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise EngineError("Maven did not build Hadoop in time")

    monkeypatch.setattr(distributions, "cache_directory", lambda: tmp_path)
    monkeypatch.setattr(distributions, "_fetch_jars", fail)
    with pytest.raises(EngineError) as caught:
        assemble(print)
    assert caught.value.hint == "set HADOOP_HOME"
