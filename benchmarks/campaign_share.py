"""Measure the share of a campaign's wall time that is spent in jobs, and where the rest goes, from its journal.

``campaign_share.py REPOSITORY [--campaign ID] [--least 60s]`` reads an existing campaign. ``campaign_share.py --local``
first runs a short campaign with real daemons on this machine (about 3 min), ``campaign_share.py --lab PLAN`` first runs
PLAN (as root where it needs a lab). A run's wall time starts at the end of the previous run and includes restarts;
``--least`` selects runs whose job took at least that long. The share of whole calls counts everything from connecting
to the last bundle: baseline, environment, and failed attempts.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.estimation.simulator.campaign import campaign_request
from assay.execution.planning.forecast.estimate import RESTART_S
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.units import format_duration, parse_duration
from assay.interfaces.cli.measure.run import run_campaign_request
from assay.store import Repository
from assay.store.campaigns.status import campaign_folders
from assay.store.campaigns.timeline import JOB, Attempt, attempts_of, read_events

_JOB_STEP = "job and history"
"""The step of an attempt in which its job runs, and in which assay waits for the job history."""
_CLUSTER = """
cluster: campaign-share
local: {{}}
home: {home}
node_types:
  machine:
    cores: 2
    memory: 8GB
    nic: 10Gbit/s
    devices: {{ssd: {{kind: ssd, read: 500MB/s, write: 460MB/s, capacity: 100GB}}}}
nodes:
  node: {{type: machine, roles: [master, worker]}}
"""
_PLAN = """
plan: campaign-share
cluster: cluster.yaml
layout: SSD
parameters: {dfs.replication: 1, dfs.blocksize: 16MiB}
workloads:
  - terasort: {data: 50MB, maps: 2, reduces: 2}
factors:
  mapreduce.task.io.sort.mb: [32, 64]
  yarn.nodemanager.resource.memory-mb: [1536, 2048]
repetitions: 1
"""


def main() -> None:
    """Read or make a campaign and print its share."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", nargs="?", type=Path)
    parser.add_argument("--campaign", default="", help="beginning of its id; the newest otherwise")
    parser.add_argument(
        "--least", default="0", type=parse_duration, help="only runs whose job took at least this long, such as 60s"
    )
    parser.add_argument("--local", action="store_true", help="make a short campaign on this machine first")
    parser.add_argument("--lab", type=Path, metavar="PLAN", help="run PLAN first")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-share-") as folder:
        root = options.repository or Path(folder) / "repository"
        if options.local or options.lab or not options.repository:
            request = campaign_request(load_plan(options.lab or _local_plan(Path(folder))))
            run_campaign_request(replace(request, again=True, baseline=False), root)
        folders = [
            path
            for path in campaign_folders(Repository.open(root).folders.campaigns)
            if path.name.startswith(options.campaign)
        ]
        if not folders:
            parser.error(f"no campaign in {root} begins with {options.campaign!r}")
        events = read_events(folders[-1])
        print_share(time_share(attempts_of(events), options.least))
        total_s = calls_s(events)
        job_s = time_share(attempts_of(events)).job_s
        if total_s > 0:
            print(f"of whole calls: {job_s / total_s:.1%} of {format_duration(total_s)}")


def _local_plan(folder: Path) -> Path:
    (folder / "cluster.yaml").write_text(_CLUSTER.format(home=folder / "home"))
    (folder / "plan.yaml").write_text(_PLAN)
    return folder / "plan.yaml"


@dataclass(frozen=True, slots=True)
class TimeShare:
    """The wall time of a campaign's valid attempts by step, in seconds."""

    wall_s: float
    job_s: float
    runs: int
    steps_s: dict[str, float]
    """All steps except the job, by name. Steps overlap, so their sum may exceed the rest of the wall time."""

    @property
    def share(self) -> float:
        """The share of the wall time that was inside jobs."""
        return self.job_s / self.wall_s if self.wall_s > 0 else 0.0


def time_share(attempts: Sequence[Attempt], job_s_min: float = 0.0) -> TimeShare:
    """Return the time by step of the valid attempts whose jobs took at least ``job_s_min``.

    An attempt's wall time starts at the end of the previous attempt of the same call, so it includes the time between
    two runs.
    """
    wall_s = job_s = 0.0
    runs = 0
    steps: dict[str, float] = {}
    for previous, attempt in zip([None, *attempts], attempts, strict=False):
        if (
            attempt.ended_unix_s is None
            or attempt.status != "valid"
            or attempt.step_s(JOB) < job_s_min
            or not attempt.steps
        ):
            continue
        start_unix_s = attempt.began_unix_s
        if (
            previous is not None
            and previous.ended_unix_s is not None
            and start_unix_s - previous.ended_unix_s < RESTART_S
        ):
            start_unix_s = min(start_unix_s, previous.ended_unix_s)
        end_unix_s = attempt.ended_unix_s
        if previous is not None and previous.ended_unix_s is not None and previous.ended_unix_s > start_unix_s:
            start_unix_s = previous.ended_unix_s  # the previous attempt was published while this one was prepared
        wall_s += max(0.0, end_unix_s - start_unix_s)
        job_s += attempt.step_s(JOB)
        runs += 1
        for step in attempt.steps:
            took_s = step.took_s - (attempt.step_s(JOB) if step.name == _JOB_STEP else 0.0)
            if step.name != JOB:
                name = "history" if step.name == _JOB_STEP else step.name
                steps[name] = steps.get(name, 0.0) + took_s
    return TimeShare(wall_s, job_s, runs, dict(sorted(steps.items(), key=lambda item: -item[1])))


def calls_s(events: Sequence[dict[str, Any]]) -> float:
    """Return the total time of the journal's calls in seconds. A call lasts from connecting to its last line."""
    total_s = start_unix_s = last_unix_s = 0.0
    for event in events:
        if event["event"] == "connect":
            total_s, start_unix_s = total_s + last_unix_s - start_unix_s, event["at_unix_s"]
        last_unix_s = event["at_unix_s"] if start_unix_s else 0.0
    return total_s + last_unix_s - start_unix_s


def print_share(share: TimeShare) -> None:
    """Print a campaign's share, and the rest of its time by step, per run."""
    if not share.runs:
        print("no valid run took that long, or an older assay wrote the journal without steps")
        return
    print(
        f"inside jobs: {share.share:.1%} of {format_duration(share.wall_s)} (n = {share.runs} valid runs, "
        f"jobs of {share.job_s / share.runs:.1f} s on average)"
    )
    for name, took_s in share.steps_s.items():
        print(f"  {name:<12} {took_s / share.runs:6.2f} s a run, {took_s / share.wall_s:6.1%}")


if __name__ == "__main__":
    main()
