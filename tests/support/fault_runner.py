"""Run one row of the fault table on a lab with real daemons and report the result.

A row holds if the attempts' classes and the first cause are those of the table, the fault was detected within its time
limit, each run is valid once at the end, nothing remains on the machine, and ``assay verify`` reports no damage.
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
class FaultResult:
    """The result of a row. ``wrong``: a message for each condition that does not hold."""

    row: Row
    attempts: str = ""
    """Classes of the attempts, from the disturbed attempt on."""
    cause: str = ""
    before: int = 0
    """Attempts that had ended before the fault."""
    noticed_s: float | None = None
    took_s: float = 0.0
    wrong: list[str] = field(default_factory=list)


def phase_reached(scene: Scene, phase: str) -> Callable[[], bool]:
    """Return a function that returns whether the campaign is in a phase."""
    words = {"daemons": "waiting: ", "input": "generating input", "caches": "dropping caches", "validation": "check: "}
    repository, since_unix_s = scene.campaign.repository, time.time()

    def is_reached() -> bool:
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

    return is_reached


def _job_runs(scene: Scene) -> bool:
    """Return whether tasks of the timed job run. A job also makes its input, but caches are dropped only after that."""
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


def inject_faults_in_turn(rows: Sequence[Row], folder: Path, name: str) -> tuple[list[FaultResult], list[str]]:
    """Run rows of one engine in one campaign on a lab that is up: one run for each row, tried once, and one
    undisturbed run.

    Returns the result of each row, from the first attempt of its run, and all other defects.
    """
    results, wrong = [FaultResult(row) for row in rows], list[str]()
    plan = _planned(folder, name, rows[0].engine, repetitions=len(rows) + 1, attempts=1)
    try:
        with Campaign(plan, folder / "repository") as campaign:
            scene = Scene(name, campaign)
            for result in results:
                began_s = time.monotonic()
                if not _wait(scene, phase_reached(scene, result.row.phase)):
                    result.wrong.append(f"the phase {result.row.phase} was not reached: {campaign.text()[-300:]}")
                    break
                result.before, injected_unix_s = ends(scene), time.time()
                result.row.inject(scene)
                _wait(scene, lambda: ends(scene) > result.before)  # noqa: B023
                _check_detection(result, campaign, injected_unix_s)
                result.took_s = time.monotonic() - began_s
            _wait(scene, phase_reached(scene, "shuffle"))
            applications = {
                part for path in shuffle_files(scene) for part in path.parts if part.startswith("application_")
            }
            wrong += [f"shuffle files are left: {sorted(applications)}"] if len(applications) > 1 else []
            campaign.finish(900)
            for thread in scene.later:
                thread.join()
            wrong += ["a traceback"] if "Traceback" in campaign.text() else []
        wrong += _check_in_turn(results, folder / "repository")
    finally:
        wrong += [f"left: process {pid}" for pid in end_java_processes(name)]
    return results, wrong


def _check_in_turn(results: Sequence[FaultResult], repository: Path) -> list[str]:
    runs: list[dict[str, Any]] = assay_json("runs", "--repository", repository)
    for result in results:
        run = runs[result.before]
        result.attempts, result.cause = run["failure_class"] or run["status"], str(run["cause"] or "")
        expected_class = result.row.becomes.split()[0]
        result.wrong += (
            []
            if result.attempts == expected_class
            else [f"it became {result.attempts!r} instead of {expected_class!r}"]
        )
        result.wrong += [] if re.search(result.row.cause, result.cause) else [f"cause {result.cause!r}"]
    statuses = [run["status"] for run in runs]
    is_continued = statuses.count("valid") == 1 and statuses[-1] == "valid"
    problems = assay_json("verify", "--repository", repository)
    return [*([] if is_continued else [f"the campaign's runs: {statuses}"]), *map(str, problems)]


def inject_fault(row: Row, folder: Path, name: str) -> FaultResult:
    """Run one row in an empty folder, on a lab of this name. No process of it is left running, also after an error."""
    result, began_s = FaultResult(row), time.monotonic()
    plan, repository = _planned(folder, name, row.engine), folder / "repository"
    layer = Layer(folder / "layer", _layered(row, name, repository)) if row.layer else None
    try:
        with Campaign(plan, repository, _environment(row, layer)) as campaign:
            scene = Scene(name, campaign, layer)
            if not _wait(scene, phase_reached(scene, row.phase)):
                result.wrong.append(f"the phase {row.phase} was not reached: {campaign.text()[-300:]}")
                return result
            result.before = max(sum(event["event"] == "begin" for event in campaign.events()) - 1, 0)
            injected_unix_s = time.time()
            row.inject(scene)
            status = campaign.finish(900)
            for thread in scene.later:
                thread.join()
            if row.exit_code is not None and status != row.exit_code:
                result.wrong.append(f"exit code {status} instead of {row.exit_code}: {campaign.text()[-300:]}")
            if "Traceback" in campaign.text():
                result.wrong.append(f"a traceback: {campaign.text().partition('Traceback')[2][-500:]}")
            _check_detection(result, campaign, injected_unix_s)
        if row.again:
            assay("lab", "status")
            assay("run", plan, "--repository", repository, "--no-baseline", check=False)
        _check_result(result, repository, time.monotonic() - began_s)
    finally:
        assay("lab", "status", check=False)
        result.wrong += [f"left: {thing}" for thing in left_of(name, state_root())]
        result.wrong += [f"left: process {pid}" for pid in end_java_processes(name)]
        result.took_s = time.monotonic() - began_s
    return result


def _layered(row: Row, name: str, repository: Path) -> Path:
    """Return the folder with the files in which the layer of a row injects errors."""
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


def _check_detection(result: FaultResult, campaign: Campaign, injected_unix_s: float) -> None:
    row = result.row
    troubles = [event["at_unix_s"] for event in campaign.events() if event["event"] == "trouble"]
    noticed = [at_unix_s for at_unix_s in troubles if at_unix_s >= injected_unix_s]
    result.noticed_s = noticed[0] - injected_unix_s if noticed else None
    if row.bound_s is not None and (result.noticed_s is None or result.noticed_s > row.bound_s):
        result.wrong.append(f"noticed after {result.noticed_s} s, not within {row.bound_s}")


def _check_result(result: FaultResult, repository: Path, took_s: float) -> None:
    row = result.row
    all_runs: list[dict[str, Any]] = assay_json("runs", "--repository", repository)
    runs = sorted(all_runs, key=lambda run: run["attempt"])[result.before :]
    result.attempts = " ".join(run["failure_class"] or run["status"] for run in runs)
    result.cause = str(runs[0]["cause"] or "") if runs else ""
    if not re.fullmatch(row.becomes, result.attempts):
        result.wrong.append(f"attempts {result.attempts!r} instead of {row.becomes!r}")
    if row.cause and not re.search(row.cause, result.cause):
        result.wrong.append(f"cause {result.cause!r}")
    if sum(run["status"] == "valid" for run in all_runs) != 1:
        result.wrong.append("not one valid run in the end")
    if wrong_durations := [run["duration_s"] for run in all_runs if not 0 <= (run["duration_s"] or 0) < took_s]:
        result.wrong.append(f"durations {wrong_durations} of a campaign of {took_s:.0f} s")
    problems = assay_json("verify", "--repository", repository)
    if problems:
        result.wrong.append(f"verify: {problems}")
    result.wrong += [f"left in the repository: {path.name}" for path in (repository / "partial").glob("*")]
