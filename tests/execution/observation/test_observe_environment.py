"""Test the environment of this machine, captured over the local transport."""

from __future__ import annotations

import json
import os
import platform
import shutil
from pathlib import Path

import pytest

from assay import __version__
from assay.execution.hosts import LocalTransport
from assay.execution.observation.environment import capture
from assay.execution.observation.scripts import run_script
from assay.foundation.errors import HostError


def text_of(path: str) -> str:
    return Path(path).read_text().strip()


def device_of(path: Path) -> int:
    return path.stat().st_dev


async def test_hardware_kernel_and_versions_are_this_machines(tmp_path: Path) -> None:
    facts = await capture(LocalTransport("n1"), directories=[str(tmp_path), str(tmp_path / "not" / "yet")])
    assert facts["node"] == "n1"
    assert facts["assay"] == __version__
    assert facts["kernel"]["release"] == platform.release()
    assert facts["hardware"]["cpu"]["logical_cores"] == os.cpu_count()
    assert facts["hardware"]["memory"]["total_bytes"] > 100_000_000
    assert facts["sysctls"]["vm.swappiness"] == text_of("/proc/sys/vm/swappiness")
    assert len(facts["limits"]["open_files"]) == 2
    assert facts["java"] is None
    assert json.loads(json.dumps(facts)) == facts


async def test_a_directorys_mount_has_its_options_even_before_the_directory_exists(disk_path: Path) -> None:
    directories = [str(disk_path / "not" / "yet"), "/dev/shm/x"]
    file_systems = (await capture(LocalTransport("n1"), directories=directories))["file_systems"]
    for directory in directories:
        mount_point = file_systems["directories"][directory]
        assert directory.startswith(mount_point)
        mount = file_systems["mounts"][mount_point]
        assert {"device", "type", "source", "options", "super_options", "size_bytes"} <= set(mount)
    assert file_systems["directories"]["/dev/shm/x"] != file_systems["directories"][str(disk_path / "not" / "yet")]
    device_number = device_of(disk_path)
    device = f"{os.major(device_number)}:{os.minor(device_number)}"
    assert file_systems["mounts"][file_systems["directories"][directories[0]]]["device"] == device


async def test_two_captures_differ_only_in_their_time(tmp_path: Path) -> None:
    first = await capture(LocalTransport("n1"), directories=[str(tmp_path)])
    second = await capture(LocalTransport("n1"), directories=[str(tmp_path)])
    for capture_ in (first, second):
        del capture_["captured_at"], capture_["file_systems"]  # others may mount something in between
        del capture_["hardware"]["nics"], capture_["hardware"]["disks"]
    assert first == second


async def test_the_version_of_java_is_captured_and_the_error_of_a_missing_java() -> None:
    missing_java = (await capture(LocalTransport("n1"), directories=[], java="/no/java"))["java"]
    assert missing_java["version"] is None
    assert "No such file" in missing_java["error"]
    if shutil.which("java") is None:
        pytest.skip("no Java here: its version is NOT tested")
    java = (await capture(LocalTransport("n1"), directories=[], java="java"))["java"]
    assert java["version"][0].isdigit()
    assert java["lines"][0].split('"')[1] == java["version"]


async def test_a_script_that_fails_is_an_error_that_names_node_and_script() -> None:
    with pytest.raises(HostError) as caught:
        await run_script(LocalTransport("n1"), "environment", {}, timeout_s=20)
    assert caught.value.where == "n1: environment"
    assert "KeyError" in caught.value.message
