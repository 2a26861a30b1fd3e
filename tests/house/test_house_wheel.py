"""Test the wheel on a system with Python and the lab's programs alone: no source tree, no Rust, no Maven.

It is built from this tree and installed into a new environment. Third-party packages are the suite's, by a path file,
so that nothing is downloaded. Hadoop's jars come from a server on this machine that serves Maven's local cache.
"""

from __future__ import annotations

import functools
import http.server
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
import venv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from assay import __version__
from assay.execution.lab.disks.diskd import FUSE
from assay.foundation.installation import installation
from java_archives import SMALL_JVM
from lab_support import require_lab, unique_name
from paths import ROOT

# What a wheel has to do without.
_ABSENT = {"cargo", "rustc", "mvn", "javac", "git"}
_TIMEOUT_S = 300
_PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")

pytestmark = pytest.mark.lab


@dataclass(frozen=True)
class Installed:
    """The wheel's program, the folder of its parts, and an empty folder with an environment to run it in."""

    wheel: Path
    program: Path
    shipped: Path
    folder: Path
    environment: dict[str, str]

    def run(self, *arguments: str, exit_code: int = 0, **settings: str) -> str:
        done = subprocess.run(
            [str(self.program), *arguments],
            cwd=self.folder,
            env={**self.environment, **settings},
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == exit_code, done.stdout + done.stderr
        return done.stdout if exit_code == 0 else done.stderr


def _programs_without(folder: Path) -> str:
    """Return a PATH of links to this machine's programs but the absent ones."""
    folder.mkdir()
    for directory in ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"):
        for program in Path(directory).glob("*"):
            link = folder / program.name
            if program.name not in _ABSENT and not link.is_symlink():
                link.symlink_to(program)
    return str(folder)


def _built(folder: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    options = ["wheel", "-q", "--no-deps", "--no-index", "--no-build-isolation", "-w", str(folder), str(ROOT)]
    return subprocess.run(
        [*_PIP, *options], env=environment, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    for needed in ("cargo", "mvn", "javac"):
        if shutil.which(needed) is None:
            pytest.skip(f"{needed} is not installed: no wheel can be built here")
    if find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed: tools/setup.sh test installs it")
    top = tmp_path_factory.mktemp("wheel")
    # Not optimised: no test measures the wheel's programs, and rustc needs two thirds less CPU time.
    done = _built(top, {**os.environ, **SMALL_JVM, "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0"})
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = top.glob("*.whl")
    venv.create(top / "venv", symlinks=True)
    (packages,) = (top / "venv" / "lib").glob("python*/site-packages")
    (packages / "suite.pth").write_text(f"{Path(click.__file__).parents[1]}\n")
    python = top / "venv" / "bin" / "python"
    options = ["--python", str(python), "install", "-q", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([*_PIP, *options], check=True, timeout=_TIMEOUT_S)
    folder = top / "empty"
    folder.mkdir()
    environment = {
        "PATH": f"{python.parent}:{_programs_without(top / 'programs')}",
        "HOME": str(top),
        "ASSAY_CACHE": str(top / "cache"),
        "ASSAY_STATE": str(top / "state"),
        "LC_ALL": "C.UTF-8",
    }
    return Installed(wheel, python.with_name("assay"), packages / "assay" / "shipped", folder, environment)


@pytest.fixture
def maven_repository() -> Iterator[str]:
    """Serve Maven's local cache as a Maven repository."""
    local_cache = Path.home() / ".m2" / "repository"

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

    handler = functools.partial(Quiet, directory=str(local_cache))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_wheel_is_for_its_platform_and_states_its_commit(installed: Installed) -> None:
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    assert installed.wheel.name == f"assay-{__version__}-py3-none-{platform}.whl"
    assert installed.run("--version") == f"assay {installation().version}\n"
    assert (installed.shipped.parent / "py.typed").is_file()
    assert "hard disks against SSDs" in installed.run("demo", "--help")


def test_a_wheel_without_its_parts_is_not_built(installed: Installed, tmp_path: Path) -> None:
    done = _built(tmp_path, installed.environment)
    assert done.returncode != 0
    assert "install cargo and rustc" in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_lab_with_modelled_disks_is_created_and_removed(installed: Installed) -> None:
    require_lab()
    if not FUSE.exists():
        pytest.skip(f"there is no {FUSE}: disks can't be modelled here")
    name = unique_name("wheel")
    installed.run("examples", name)
    try:
        installed.run("lab", "up", f"{name}/lab/cluster.yaml", "--name", name)
        (status,) = json.loads(installed.run("lab", "status", "--json"))
        assert status["name"] == name
        words = installed.run("lab", "ssh", name, "worker1", "findmnt -no FSTYPE,SOURCE /mnt/hdd1; cat /proc/mounts")
        assert "ext4" in words
        running = [
            path.read_bytes().split(b"\0")
            for path in Path("/proc").glob("[0-9]*/cmdline")
            if os.fsencode(installed.shipped / "assay-diskd") in path.read_bytes()
        ]
        assert running, "the disks' daemon is not the wheel's"
    finally:
        installed.run("lab", "down", name)
    assert json.loads(installed.run("lab", "status", "--json")) == []


def test_hadoop_is_fetched_without_maven(installed: Installed, maven_repository: str) -> None:
    assert "assay hadoop fetch" in installed.run("hadoop", "where", exit_code=5)
    for command in (["hadoop", "fetch"], ["demo"]):  # a demo says so before it measures anything
        assert "MAVEN_REPOSITORY" in installed.run(*command, exit_code=5)
    assert not (installed.folder / "repository").exists()
    listed = [line.split("  ")[2] for line in (installed.shipped / "hadoop-jars.txt").read_text().splitlines()]
    assert any("hadoop-mapreduce-examples" in path for path in listed)
    absent = [path for path in listed if not (Path.home() / ".m2" / "repository" / path).is_file()]
    if absent:
        pytest.skip(f"Maven keeps {len(absent)} of the jars elsewhere: the fetch can't be tried here")
    installed.run("hadoop", "fetch", MAVEN_REPOSITORY=maven_repository)
    where = json.loads(installed.run("hadoop", "where", "--json"))
    assert where["jobs"] == str(installed.shipped / "assay-jobs.jar")
    assert len(list((Path(where["home"]) / "lib").glob("*.jar"))) == len(listed)
