"""Run one row of the fault table on a lab with real daemons and report the result.

A row holds when: the attempts' classes and the first cause are as the table has them, the fault was noticed within its
bound, the run is valid in the end, each once, nothing is left on the machine, and ``assay verify`` finds nothing.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.execution.lab.disks.diskd import find_daemon
from assay.execution.lab.state import lab_directory, state_root
from campaign_support import Campaign, assay, assay_json, end_java_processes, java_processes, write_lab_plan
from fault_injection import NODES, Scene, ends, executors, shuffle_files
from fault_layer import Layer
from fault_table import Row
from lab_support import left_of

BODY = """
layout: HDD
parameters: {{dfs.replication: 2, dfs.blocksize: 16MiB}}
workloads:
  - terasort: {{data: 600MB, maps: 2, reduces: 2}}
repetitions: {repetitions}
attempts: {attempts}
timeout: 6min
"""
_ATTEMPTS = 3
PHASE_WAIT_S = 240.0


@dataclass
class Became:
    """What became of a row. ``wrong``: what is not as it should be, in words."""

    row: Row
    attempts: str = ""
    """Classes from the disturbed one on."""
    cause: str = ""
    before: int = 0
    """Attempts that had ended before the fault came."""
    noticed_s: float | None = None
    took_s: float = 0.0
    wrong: list[str] = field(default_factory=list)


def phase_reached(scene: Scene, phase: str) -> Callable[[], bool]:
    """Return what says that a campaign is in a phase."""
    words = {"daemons": "waiting: ", "input": "generating input", "caches": "dropping caches", "validation": "check: "}
    repository, since_unix_s = scene.campaign.repository, time.time()

    def is_there() -> bool:
        if phase == "shuffle":
            return len(executors(scene.name)) == len(NODES) - 1 and bool(shuffle_files(scene, since_unix_s))
        if phase == "lab up":
            return (lab_directory(scene.name) / "journal.jsonl").exists()
        if phase == "job":
            return _job_runs(scene)
        if phase == "publish":
            return any((repository / "partial").glob("*/run.json"))  # room for it is there from the beginning
        if phase == "teardown":
            return any(event["event"] == "stop" for event in scene.campaign.events())
        return any(words[phase] in now for now in _now(scene))

    return is_there


def _job_runs(scene: Scene) -> bool:
    """Say whether tasks of the timed job run: its input is made by a job too, but caches are dropped before the job."""
    events = scene.campaign.events()
    last = max((number for number, event in enumerate(events) if event["event"] == "begin"), default=0)
    if not any(event.get("step") == "caches" for event in events[last:]):
        return False
    return any(java_processes(scene.name, main) for main in ("YarnChild", "CoarseGrainedExecutorBackend"))


def _now(scene: Scene) -> list[str]:
    entries = []
    for path in scene.campaign.repository.glob("campaigns/*/now.json"):
        try:
            entries.append(json.loads(path.read_text())["text"])
        except (OSError, ValueError):
            continue
    return entries


def _wait(scene: Scene, reached: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PHASE_WAIT_S
    while time.monotonic() < deadline and scene.campaign.process.poll() is None:
        if reached():
            return True
        time.sleep(0.01)
    return False


def _planned(folder: Path, name: str, engine: str, repetitions: int = 1, attempts: int = _ATTEMPTS) -> Path:
    plan = write_lab_plan(folder, name, BODY.format(repetitions=repetitions, attempts=attempts))
    plan.write_text(plan.read_text().replace("engine: hadoop", f"engine: {engine}"))
    return plan


def carry_out_in_turn(rows: Sequence[Row], folder: Path, name: str) -> tuple[list[Became], list[str]]:
    """Run rows of one engine in one campaign on a lab that is up: a run each, tried once, and one undisturbed run more.

    Returns what became of each, by the first of its attempts, and every other defect.
    """
    results, wrong = [Became(row) for row in rows], list[str]()
    plan = _planned(folder, name, rows[0].engine, repetitions=len(rows) + 1, attempts=1)
    try:
        with Campaign(plan, folder / "repository") as campaign:
            scene = Scene(name, campaign)
            for became in results:
                began_s = time.monotonic()
                if not _wait(scene, phase_reached(scene, became.row.phase)):
                    became.wrong.append(f"the phase {became.row.phase} was not reached: {campaign.text()[-300:]}")
                    break
                became.before, injected_unix_s = ends(scene), time.time()
                became.row.inject(scene)
                _wait(scene, lambda: ends(scene) > became.before)  # noqa: B023
                _judge_noticing(became, campaign, injected_unix_s)
                became.took_s = time.monotonic() - began_s
            _wait(scene, phase_reached(scene, "shuffle"))
            applications = {
                part for path in shuffle_files(scene) for part in path.parts if part.startswith("application_")
            }
            wrong += [f"shuffle files are left: {sorted(applications)}"] if len(applications) > 1 else []
            campaign.finish(900)
            for thread in scene.later:
                thread.join()
            wrong += ["a traceback"] if "Traceback" in campaign.text() else []
        wrong += _judge_in_turn(results, folder / "repository")
    finally:
        wrong += [f"left: process {pid}" for pid in end_java_processes(name)]
    return results, wrong


def _judge_in_turn(results: Sequence[Became], repository: Path) -> list[str]:
    runs: list[dict[str, Any]] = assay_json("runs", "--repository", repository)
    for became in results:
        run = runs[became.before]
        became.attempts, became.cause = run["failure_class"] or run["status"], str(run["cause"] or "")
        wanted = became.row.becomes.split()[0]
        became.wrong += [] if became.attempts == wanted else [f"it became {became.attempts!r} instead of {wanted!r}"]
        became.wrong += [] if re.search(became.row.cause, became.cause) else [f"cause {became.cause!r}"]
    statuses = [run["status"] for run in runs]
    goes_on = statuses.count("valid") == 1 and statuses[-1] == "valid"
    problems = assay_json("verify", "--repository", repository)
    return [*([] if goes_on else [f"the campaign's runs: {statuses}"]), *map(str, problems)]


def carry_out(row: Row, folder: Path, name: str) -> Became:
    """Run one row in an empty folder, on a lab of this name; whatever happens, nothing of it is left running."""
    became, began_s = Became(row), time.monotonic()
    plan, repository = _planned(folder, name, row.engine), folder / "repository"
    layer = Layer(folder / "layer", _layered(row, name, repository)) if row.layer else None
    try:
        with Campaign(plan, repository, _environment(row, layer)) as campaign:
            scene = Scene(name, campaign, layer)
            if not _wait(scene, phase_reached(scene, row.phase)):
                became.wrong.append(f"the phase {row.phase} was not reached: {campaign.text()[-300:]}")
                return became
            became.before = max(sum(event["event"] == "begin" for event in campaign.events()) - 1, 0)
            injected_unix_s = time.time()
            row.inject(scene)
            status = campaign.finish(900)
            for thread in scene.later:
                thread.join()
            if row.exit_code is not None and status != row.exit_code:
                became.wrong.append(f"exit code {status} instead of {row.exit_code}: {campaign.text()[-300:]}")
            if "Traceback" in campaign.text():
                became.wrong.append(f"a traceback: {campaign.text().partition('Traceback')[2][-500:]}")
            _judge_noticing(became, campaign, injected_unix_s)
        if row.again:
            assay("lab", "status")
            assay("run", plan, "--repository", repository, "--no-baseline", check=False)
        _judge(became, repository, time.monotonic() - began_s)
    finally:
        assay("lab", "status", check=False)
        became.wrong += [f"left: {thing}" for thing in left_of(name, state_root())]
        became.wrong += [f"left: process {pid}" for pid in end_java_processes(name)]
        became.took_s = time.monotonic() - began_s
    return became


def _layered(row: Row, name: str, repository: Path) -> Path:
    """Return the folder whose files a row's layer lets fail."""
    return repository if row.layer == "assay" else lab_directory(name)


def _environment(row: Row, layer: Layer | None) -> dict[str, str] | None:
    """Return the environment that puts a row's layer below assay itself, or below the daemon behind the disks."""
    if layer is None:
        return None
    if row.layer == "assay":
        return layer.environment
    daemon = find_daemon()
    assert daemon
    return {**os.environ, "ASSAY_DISKD": str(layer.around(daemon))}


def _judge_noticing(became: Became, campaign: Campaign, injected_unix_s: float) -> None:
    row = became.row
    troubles = [event["at_unix_s"] for event in campaign.events() if event["event"] == "trouble"]
    noticed = [at_unix_s for at_unix_s in troubles if at_unix_s >= injected_unix_s]
    became.noticed_s = noticed[0] - injected_unix_s if noticed else None
    if row.bound_s is not None and (became.noticed_s is None or became.noticed_s > row.bound_s):
        became.wrong.append(f"noticed after {became.noticed_s} s, not within {row.bound_s}")


def _judge(became: Became, repository: Path, took_s: float) -> None:
    row = became.row
    every: list[dict[str, Any]] = assay_json("runs", "--repository", repository)
    runs = sorted(every, key=lambda run: run["attempt"])[became.before :]
    became.attempts = " ".join(run["failure_class"] or run["status"] for run in runs)
    became.cause = str(runs[0]["cause"] or "") if runs else ""
    if not re.fullmatch(row.becomes, became.attempts):
        became.wrong.append(f"attempts {became.attempts!r} instead of {row.becomes!r}")
    if row.cause and not re.search(row.cause, became.cause):
        became.wrong.append(f"cause {became.cause!r}")
    if sum(run["status"] == "valid" for run in every) != 1:
        became.wrong.append("not one valid run in the end")
    if odd := [run["duration_s"] for run in every if not 0 <= (run["duration_s"] or 0) < took_s]:
        became.wrong.append(f"durations {odd} of a campaign of {took_s:.0f} s")
    problems = assay_json("verify", "--repository", repository)
    if problems:
        became.wrong.append(f"verify: {problems}")
    became.wrong += [f"left in the repository: {path.name}" for path in (repository / "partial").glob("*")]
