"""Test campaigns on the lab with real daemons: kill, resume, answers, and faults."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.execution.lab.state import state_root
from campaign_support import Campaign, assay, assay_json, java_processes, write_lab_plan
from lab_support import lab_for_campaigns, left_of

pytestmark = [pytest.mark.lab, pytest.mark.hadoop]

SMALL = """
layout: {layout}
parameters: {{dfs.replication: 2, dfs.blocksize: 16MiB}}
workloads:
  - dfsio-write: {{files: 2, data: 800MB}}
repetitions: {repetitions}
attempts: {attempts}
timeout: 5min
"""


@pytest.fixture
def name(request: pytest.FixtureRequest) -> Iterator[str]:
    with lab_for_campaigns(f"c{abs(hash(request.node.name)) % 1000}") as name:
        yield name


def job_is_running(name: str) -> bool:
    return bool(java_processes(name, "YarnChild"))


def test_a_killed_campaign_continues_and_answers(name: str, tmp_path: Path) -> None:
    """kill -9 in the second run: the next command clears the lab, the same command finishes, no run is repeated."""
    body = """
parameters: {dfs.replication: 2, dfs.blocksize: 16MiB}
workloads:
  - dfsio-write: {files: 2, data: 800MB}
  - terasort: {data: 400MB, maps: 2, reduces: 2}
factors: {layout: [HDD, SSD]}
repetitions: 1
"""
    plan, repository = write_lab_plan(tmp_path, name, body), tmp_path / "repository"
    with Campaign(plan, repository) as campaign:
        campaign.wait_for("the first run's end", lambda: len(_ends(campaign)) == 1)
        campaign.wait_for("a job of the second run", lambda: job_is_running(name))
        campaign.end(signal.SIGKILL)
    assert left_of(name, state_root()) != []
    assay("lab", "status")
    assert left_of(name, state_root()) == []
    assert java_processes(name) == {}
    before = assay_json("runs", "--repository", repository)
    assert [run["status"] for run in before] == ["valid"]

    resumed = json.loads(assay("run", plan, "--repository", repository, "--json").stdout)
    assert (resumed["already_there"], resumed["made"]) == (1, 3)
    runs = assay_json("runs", "--repository", repository)
    assert [run["status"] for run in runs] == ["valid"] * 4
    assert runs[0] == before[0]
    assert {run["origin"] for run in runs} == {"measured"}
    assert all(run["cold"] is True for run in runs)
    assert assay_json("verify", "--repository", repository) == []
    again = json.loads(assay("run", plan, "--repository", repository, "--json").stdout)
    assert again["left"] == 0

    _check_answers(repository, tmp_path)


def _check_answers(repository: Path, folder: Path) -> None:
    compared = assay_json("decide", "layout", "--details", "groups", "--baseline", "HDD", "--repository", repository)
    results = compared["results"]
    by_workload = {row["group"]: row for row in results}
    assert set(by_workload) == {"dfsio-write", "terasort"}
    for row in results:
        assert (row["runs_baseline"], row["runs_candidate"], row["origin"]) == (1, 1, "measured")
        assert row["low"] is None
        assert row["verdict"] == "not enough runs"
    # A task's stream at 6 MB/s a disk against 23: the disks decide, whatever else the machine does.
    writes = {run["layout"]: run for run in assay_json("runs", "--workload", "dfsio-write", "--repository", repository)}
    streams = {layout: run["metrics"]["per_stream_mb_per_s"] for layout, run in writes.items()}
    assert streams["SSD"] > streams["HDD"]
    durations_s = {layout: run["duration_s"] for layout, run in writes.items()}
    assert by_workload["dfsio-write"]["ratio"] == pytest.approx(durations_s["HDD"] / durations_s["SSD"])
    report = folder / "report.html"
    assay("report", "--by", "layout", "--baseline", "HDD", "-o", report, "--repository", repository)
    assert report.stat().st_size > 20_000
    sort = next(run for run in assay_json("runs", "--repository", repository) if run["workload"] == "terasort")
    shown = assay_json("show", sort["run_id"], "--repository", repository)
    assert {"setup", "map", "shuffle", "reduce"} <= {phase["name"] for phase in shown["phases"]}
    assert shown["metrics"]["disk_write_bytes"] > 20e6
    assert any(check["name"] == "sorted output" and check["passed"] for check in shown["checks"])
    # The run was given a baseline when the campaign went on.
    assert (repository / "bundles" / sort["run_id"] / "baseline.json").exists()


def test_a_datanode_that_is_killed_costs_its_run_and_ctrl_c_in_mid_run_keeps_what_was_measured(
    name: str, tmp_path: Path
) -> None:
    """The run without its DataNode is invalid or failed with the cause, and tried again; the next is interrupted."""
    body = SMALL.format(layout="HDD", repetitions=2, attempts=2)
    with Campaign(write_lab_plan(tmp_path, name, body), tmp_path / "repository") as campaign:
        campaign.wait_for("a running task", lambda: job_is_running(name))
        victims = [pid for pid, command in java_processes(name).items() if command.rstrip().endswith("DataNode")]
        assert len(victims) == 2
        os.kill(victims[0], signal.SIGKILL)
        campaign.wait_for("the second attempt's end", lambda: len(_ends(campaign)) == 2, timeout_s=400)
        campaign.wait_for("a job of the second repetition", lambda: job_is_running(name))
        assert campaign.end(signal.SIGINT) == 130
    assert "Traceback" not in campaign.text()
    assert left_of(name, state_root()) == []
    assert java_processes(name) == {}
    first, second = assay_json("runs", "--repository", campaign.repository)
    assert first["status"] in ("invalid", "failed")
    assert "datanode died" in first["cause"]
    assert first["attempt"] == 1
    assert (second["status"], second["attempt"]) == ("valid", 2)
    shown = assay("show", first["run_id"], "--repository", campaign.repository).stdout
    assert "datanode died" in shown


def test_a_full_disk_is_a_failed_run_with_its_cause_and_tried_a_bounded_number_of_times(
    name: str, tmp_path: Path
) -> None:
    """120 MB in two copies do not fit on two disks of 70 MB. That Hadoop tries a map four times makes it no clearer."""
    body = SMALL.format(layout="SSD", repetitions=1, attempts=2).replace("800MB", "2400MB")
    body = body.replace("16MiB}", "16MiB, mapreduce.map.maxattempts: 1}")
    plan, repository = write_lab_plan(tmp_path, name, body, capacity="1.4GB"), tmp_path / "repository"
    done = assay("run", plan, "--repository", repository, "--no-baseline", check=False)
    assert done.returncode == 1
    runs = assay_json("runs", "--repository", repository)
    assert [(run["status"], run["attempt"]) for run in runs] == [("failed", 1), ("failed", 2)]
    for run in runs:
        assert "could only be written to 0 of" in run["cause"] or "No space left" in run["cause"]
        assert "\tat " not in run["cause"]


def test_network_workers_and_storage_policy_are_on_the_cluster_and_in_the_record(name: str, tmp_path: Path) -> None:
    """Two configurations: what plan files say of links, workers, directories and blocks is read back from the lab."""
    body = """
parameters: {dfs.blocksize: 2MiB, compression: snappy, containers: 2}
workloads:
  - teragen: {data_per_node: 100MB, waves: 1}
factors:
  setup:
    small: {workers: 1, network: 1Gbit/s, dfs.replication: 1}
    large: {workers: 2, network: 4Gbit/s, dfs.replication: 2}
layout: tiered
layouts:
  tiered: {hdfs: {hdd1: 1, ssd1: 3}, intermediate: {ssd1: 2}, policy: ONE_SSD}
repetitions: 1
attempts: 1
"""
    seen = {}
    with Campaign(write_lab_plan(tmp_path, name, body), tmp_path / "repository") as campaign:
        for number in (1, 2):
            ends = number - 1
            campaign.wait_for(f"job {number}", lambda: len(_ends(campaign)) == ends and job_is_running(name))  # noqa: B023
            seen[_began(campaign)] = (_datanodes(name), _link_bits_per_s(name, "worker1"))
        assert campaign.finish() == 0
    (small_nodes, small_rate), (large_nodes, large_rate) = seen["small"], seen["large"]
    assert (len(small_nodes), len(large_nodes)) == (1, 2)
    assert (small_rate, large_rate) == (50e6, 200e6)  # at 1/20
    assert {"hdd1/tiered.ONE_SSD.1: hdfs", "ssd1/tiered.ONE_SSD.1: hdfs1 hdfs2 hdfs3 local1 local2"} <= small_nodes[0]
    assert all("ssd1/tiered.ONE_SSD: hdfs1 hdfs2 hdfs3 local1 local2" in node for node in large_nodes)
    runs = {run["levels"]["setup"]: run for run in assay_json("runs", "--repository", campaign.repository)}
    assert {run["status"] for run in runs.values()} == {"valid"}
    for level, workers, maps, directories in (("small", 1, "1", "on SSD"), ("large", 2, "3", "on DISK+SSD")):
        shown = assay_json("show", runs[level]["run_id"], "--repository", campaign.repository)
        environment = shown["environment"]
        assert environment["cluster"]["workers"] == workers
        assert len(environment["network"]["link_bits_per_s"]) == workers + 1
        assert shown["data_bytes"] == workers * 5_000_000
        assert shown["workload_parameters"]["maps"] == maps, "one wave: all containers but the ApplicationMaster's"
        (check,) = (check for check in shown["checks"] if check["name"] == "storage policy")
        assert check["passed"]
        assert directories in check["detail"]


def _ends(campaign: Campaign) -> list[str]:
    return [event["status"] for event in campaign.events() if event["event"] == "end"]


def _began(campaign: Campaign) -> str:
    """Return the level of ``setup`` of the run that started last."""
    title = [event["title"] for event in campaign.events() if event["event"] == "begin"][-1]
    return "small" if "setup=small" in title else "large"


def _datanodes(name: str) -> list[set[str]]:
    """Return for every DataNode of the lab the deployments on its node's devices, and the directories of each."""
    mounts = [
        Path("/proc", str(pid), "root", "mnt")
        for pid, command in java_processes(name).items()
        if command.rstrip().endswith("DataNode")
    ]
    return [
        {
            f"{path.parts[-3]}/{path.name}: {' '.join(sorted(entry.name for entry in path.iterdir()))}"
            for path in root.glob("[hs][ds]d1/assay/*")
        }
        for root in mounts
    ]


def _link_bits_per_s(name: str, node: str) -> float:
    shown = subprocess.run(
        ["tc", "-j", "-n", f"assay-{name}-{node}", "qdisc", "show", "dev", "eth0"],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(8 * json.loads(shown.stdout)[0]["options"]["rate"])
