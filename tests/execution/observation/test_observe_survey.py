"""Test surveys of many hosts at once with Python 3.6 and later; a failing host does not stop the others."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from assay.execution.hosts import LocalTransport
from assay.execution.observation.node import survey as node_survey
from assay.execution.observation.scripts import script_error, source
from assay.execution.observation.survey import survey, survey_all
from assay.model.clusters.cluster import Address
from assay.model.clusters.host_checks import Grade, HostCheckReport
from assay.specs import load_cluster
from assay.store import Repository
from campaign_support import assay
from fleet import Fleet, fleet, run_on_each
from paths import ROOT

OPTIONS = {"directories": ["/nowhere/else"], "peers": ["localhost"], "neighbour": None, "watch_s": 0.05}
OLD_PYTHONS = sorted((Path.home() / ".pyenv" / "versions").glob("3.6.*/bin/python3.6"))


@pytest.mark.slow
async def test_this_machine_is_surveyed_correctly(tmp_path: Path) -> None:
    facts = await survey(LocalTransport("here"), directories=[str(tmp_path), "/nowhere/else"], peers=["localhost"])
    assert facts.basics.cores == os.cpu_count()
    assert facts.user.uid == os.getuid()
    assert facts.peers == {"localhost": ("127.0.0.1",)}
    assert facts.directories[str(tmp_path)].writable
    assert not facts.directories["/nowhere/else"].exists
    assert abs(facts.clock.offset_s) <= facts.clock.uncertain_s + 0.5
    assert any(mount.point == "/" for mount in facts.mounts)
    assert facts.tools["tar"] == shutil.which("tar")


@pytest.mark.parametrize("name", ["survey", "services"])
def test_python_3_6_runs_the_scripts(name: str) -> None:
    if not OLD_PYTHONS:
        pytest.skip("no Python 3.6 on this machine: the scripts are NOT tried by it")
    done = subprocess.run([OLD_PYTHONS[0], "-c", source(name), json.dumps(OPTIONS)], capture_output=True, check=True)
    assert isinstance(json.loads(done.stdout), dict)


@pytest.mark.root
def test_a_virtual_interface_is_not_hardware_but_its_parent_is() -> None:
    """A veth pair tells 10 Gbit/s whatever carries it."""
    make = "ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up && mount -t sysfs s /sys"
    command = ["unshare", "--net", "--mount", "sh", "-c", f'{make} && exec "$@"', "sh", "python3", "-c"]
    done = subprocess.run(
        [*command, source("survey"), json.dumps(OPTIONS)], capture_output=True, text=True, check=False
    )
    if "Operation not permitted" in done.stderr or "Unknown device type" in done.stderr:
        pytest.skip(f"no network namespace here: {done.stderr.strip()}")
    nic = json.loads(done.stdout)["nics"]["v0"]
    assert (nic["speed_mbit_per_s"], nic["hardware"]) == (10_000, False)


def test_the_lowest_limit_of_nested_control_groups_counts(tmp_path: Path) -> None:
    for folder, content in (("", "max"), ("a", "4294967296"), ("a/b", "max"), ("a/b/c", "8589934592")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "memory.max").write_text(content)
        (tmp_path / folder / "cpu.max").write_text("150000 100000" if folder == "a" else "max 100000")
    script = source("survey").partition("if __name__")[0]
    ask = (
        "print(lowest_limit(ROOT, '/a/b/c', lambda folder: number_of(folder + '/memory.max')), "
        "lowest_limit(ROOT, '/a/b/c', quota_of), lowest_limit(ROOT, '/', quota_of))"
    )
    code = f"{script}\nROOT = {str(tmp_path)!r}\n{ask}"
    done = subprocess.run([sys.executable, "-c", code, "{}"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["4294967296", "1.5", "None"]


SMARTCTL_7 = """#!/bin/sh
test "$1" = -j || exit 1
echo '{"smart_status": {"passed": PASSED}}'
exit STATUS
"""
SMARTCTL_6 = """#!/bin/sh
test "$1" = -j && echo "=======> INVALID CHARACTER(S): -j" && exit 1
echo "SMART overall-health self-assessment test result: VERDICT"
exit STATUS
"""


@pytest.mark.parametrize(
    ("program", "verdict"),
    [
        (SMARTCTL_7.replace("PASSED", "true").replace("STATUS", "0"), "PASSED"),
        (SMARTCTL_7.replace("PASSED", "false").replace("STATUS", "8"), "FAILED"),
        (SMARTCTL_6.replace("VERDICT", "PASSED").replace("STATUS", "0"), "PASSED"),
        (SMARTCTL_6.replace("VERDICT", "FAILED!").replace("STATUS", "24"), "FAILED"),
        ("#!/bin/sh\nexit 2\n", None),
    ],
)
def test_the_smart_verdict_is_read_whatever_the_exit_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, verdict: str | None
) -> None:
    """smartctl(8): bit 3 of the exit status is set for a failing disk; before version 7 there is no option -j."""
    (tmp_path / "smartctl").write_text(program)
    (tmp_path / "smartctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert node_survey.health(["sda"], "root") == {"sda": verdict}
    assert node_survey.health(["sda"], "password") == {}


def test_block_devices_agree_with_lsblk() -> None:
    if not shutil.which("lsblk"):
        pytest.skip("no lsblk on this machine: NOT compared")
    columns = "KNAME,SIZE,ROTA,RA,SCHED,PHY-SEC,TYPE"
    done = subprocess.run(["lsblk", "-J", "-b", "-l", "-o", columns], capture_output=True, check=True)
    listed = {row["kname"]: row for row in json.loads(done.stdout)["blockdevices"]}
    devices = {name: device for name, device in node_survey.blocks().items() if name in listed}
    assert devices
    for name, device in devices.items():
        row = listed[name]
        assert device["size_bytes"] == row["size"]
        assert device["rotational"] is row["rota"]
        assert device["read_ahead_kib"] == row["ra"]
        assert device["physical_block_bytes"] == row["phy-sec"]
        assert (device["scheduler"] or "none") == (row["sched"] or "none")
        assert device["kind"] == ("raid" if row["type"].startswith("raid") else row["type"])


@pytest.mark.parametrize("name", ["survey", "sampler"])
def test_a_python_that_is_too_old_is_reported(name: str) -> None:
    """``python3`` on that host is a link to Python 2.7."""
    old = next((Path.home() / ".pyenv" / "versions").glob("2.7.*/bin/python2.7"), None)
    if old is None:
        pytest.skip("no Python before 3.6 on this machine: NOT tried")
    done = subprocess.run([old, "-c", source(name), "{}"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    error = script_error(name, "w1", done.returncode, done.stderr)
    assert error.message == "its python3 is older than 3.6"


@pytest.mark.slow
async def test_an_unreachable_host_is_reported_apart_from_the_others(tmp_path: Path) -> None:
    nowhere = Address("127.0.0.1", 1, "x", known_hosts=str(tmp_path / "none"))
    surveys = await survey_all({"here": None, "there": nowhere})
    assert list(surveys.hosts) == ["here"]
    assert "refuses port 1" in str(surveys.errors["there"])


FORTY = [f"n{number:02}" for number in range(1, 41)]
HANGS, REFUSES, CHANGED, FULL, OLD = "n11", "n12", "n13", "n14", "n15"
GONE = (HANGS, REFUSES, CHANGED)


@pytest.fixture(scope="module")
def forty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("fleet", numbered=True)
    pythons = {OLD: OLD_PYTHONS[0].parent.parent} if OLD_PYTHONS else {}
    with fleet(folder / "hosts", FORTY, disks=FORTY, pythons=pythons) as made:
        yield made


@pytest.mark.lab
@pytest.mark.slow
def test_forty_hosts_are_discovered_except_the_unreachable(forty: Fleet, tmp_path: Path) -> None:
    """One host hangs, one refuses, one has another key, one has a full disk, one has Python 3.6; no login is root."""
    run_on_each(forty, [FULL], "dd if=/dev/zero of=/mnt/data/filler bs=1M || true")
    forty.stop(HANGS, signal.SIGSTOP)
    forty.stop(REFUSES, signal.SIGTERM)
    lines = Path(forty.known_hosts).read_text().splitlines()
    other = lines[0].split(" ", 1)[1]
    changed = [
        f"{forty.address(CHANGED)} {other}" if line.startswith(f"{forty.address(CHANGED)} ") else line for line in lines
    ]
    Path(forty.known_hosts).write_text("".join(f"{line}\n" for line in changed))

    file, began = tmp_path / "cluster.yaml", time.monotonic()
    hosts = [forty.address(name) for name in FORTY]
    done = assay("discover", *hosts, *forty.login, "--below", "assay", "-o", file, check=False)
    took_s = time.monotonic() - began
    assert done.returncode == 3, done.stderr
    messages = {
        name: next(line for line in done.stderr.splitlines() if forty.address(name) + ":" in line) for name in GONE
    }
    assert "does not answer within" in messages[HANGS]
    assert "refuses port 22" in messages[REFUSES]
    assert "is not the one in" in messages[CHANGED]
    cluster = load_cluster(file)
    assert len(cluster.nodes) == 37, done.stderr
    assert {device.directory for node in cluster.workers for device in node.type.devices} == {"/mnt/data/assay"}

    began = time.monotonic()
    checked = assay("check", file, "--json", check=False)
    print(f"discovered in {took_s:.1f} s, checked in {time.monotonic() - began:.1f} s")
    assert checked.returncode == 1, checked.stderr
    report = msgspec.json.decode(checked.stdout, type=HostCheckReport)
    assert (len(report.hosts), report.unreachable) == (37, {})
    full = next(node.name for node in cluster.nodes if node.address and node.address.host == forty.address(FULL))
    assert [host for host in report.hosts if report.worst(host, "free-space") is Grade.ERROR] == [full]


def test_scripts_for_nodes_are_plain_ascii() -> None:
    """Python 3.6 can't read anything else from a command line in the C locale, which logins without a terminal have."""
    scripts = [*(ROOT / "src").rglob("node/*.py")]
    assert len(scripts) > 5
    assert [path.name for path in scripts if not path.read_bytes().isascii()] == []


@pytest.mark.lab
@pytest.mark.slow
def test_hosts_behind_a_jump_host_are_discovered_checked_and_observed_without_root(
    forty: Fleet, tmp_path: Path
) -> None:
    names, file, root = ["n31", "n32", OLD], tmp_path / "rack.yaml", tmp_path / "repository"
    run_on_each(forty, names, "mkdir /mnt/data/bench && chown 43210 /mnt/data/bench")
    hosts = [forty.address(name) for name in names]
    assay("discover", *hosts, *forty.login, "--jump", forty.address("n40"), "--below", "bench", "-o", file)
    checked = assay("check", file, "--json", "--keep", root, check=False)
    report = msgspec.json.decode(checked.stdout, type=HostCheckReport)
    assert report.unreachable == {}
    assert {report.worst(host, "writable") for host in ("worker1", "worker2")} == {Grade.FIT}
    assert report.worst("worker1", "rights") is Grade.NOTE
    assay("observe", file, "--repository", root, "--for", "1s")
    [run] = Repository.open(root).runs()
    assert set(run.environment["nodes"]) == {"master", "worker1", "worker2"}
    gone = assay("discover", *hosts[:1], *forty.login, "--jump", "127.0.0.1:1", check=False)
    assert gone.returncode == 3
    assert "jump" in gone.stderr
