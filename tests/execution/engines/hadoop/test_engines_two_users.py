"""Test a user who is not root: the sort is valid, and leaves no files in /tmp that another user could not replace.

Root's campaign in `tests/execution/campaign/test_campaign_local.py` leaves none either.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.foundation.installation import cache_directory
from campaign_support import left_in_tmp, require_hadoop, write_local_plan
from paths import ROOT

OTHER = "nobody"
BODY = """
layout: SSD
# In the ApplicationMaster's JVM, as two tasks would be three more JVMs. Root's campaign has tasks in containers.
parameters: {dfs.replication: 1, dfs.blocksize: 16MiB, mapreduce.job.ubertask.enable: true}
workloads:
  - terasort: {data: 5MB, maps: 1, reduces: 1}
repetitions: 1
attempts: 1
"""


def _environment(home: Path, cache: Path) -> dict[str, str]:
    packages = sysconfig.get_path("purelib")
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "ASSAY_CACHE": str(cache),
        "ASSAY_STATE": str(home / "state"),
        "PYTHONPATH": f"{ROOT / 'src'}:{packages}",
        "LANG": "C.UTF-8",
    }


def _python_for(user: str, home: Path, cache: Path) -> str:
    """Return a Python that ``user`` can run with this tree and its packages; skips the test, saying so, without."""
    same = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for path in (sys.executable, f"/usr/bin/{same}", f"/usr/local/bin/{same}"):
        try:
            done = subprocess.run(
                [path, "-c", "import assay, duckdb, numpy"],
                user=user,
                env=_environment(home, cache),
                cwd="/",
                capture_output=True,
                check=False,
            )
        except OSError:
            continue
        if done.returncode == 0:
            return path
    pytest.skip(f"no Python {same} here that {user} may run with assay's packages")


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that all users of the machine may enter."""
    if os.geteuid() != 0:
        pytest.skip("only root can be two users")
    require_hadoop()
    folder = Path(tempfile.mkdtemp(prefix="assay-users-", dir="/var/tmp"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _runs(user: str, folder: Path) -> list[dict[str, Any]]:
    """Carry out the plan as ``user``, who owns ``folder``, and return the run's row."""
    folder.mkdir()
    plan = write_local_plan(folder, f"users-{user}-{os.getpid()}", BODY)
    for path in (folder, *folder.rglob("*")):
        shutil.chown(path, user)
    # This user can't read root's cache. A copy that the user can't write gets no class archive, which takes long.
    unused = shutil.ignore_patterns("classes-*", "tests-*", "spark-*", "async-profiler-*")
    cache = shutil.copytree(cache_directory(), folder / "cache", ignore=unused)
    python = _python_for(user, folder, cache)
    command = [python, "-m", "assay"]
    repository = folder / "repository"

    def assay(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *arguments, "--repository", str(repository)],
            user=user,
            extra_groups=[],
            env=_environment(folder, cache),
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    done = assay("run", str(plan), "--no-baseline")
    assert "Traceback" not in done.stderr, done.stderr
    rows: list[dict[str, Any]] = json.loads(assay("runs", "--json").stdout)
    assert rows, done.stderr
    return rows


@pytest.mark.hadoop
@pytest.mark.later
def test_a_second_users_sort_is_valid_too_and_nothing_stays_in_tmp(shared: Path) -> None:
    before = left_in_tmp()
    [run] = _runs(OTHER, shared / OTHER)
    assert (run["status"], run["cause"]) == ("valid", None)
    assert left_in_tmp() == before
