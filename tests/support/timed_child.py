"""Run one program on the toy engine as a process that tests can stop: FOLDER SCRIPT LIMIT_S MISSED_S.

Printed as JSON: exit status, duration, source of the duration, the run's status, cause and class of failure.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import assay.execution.engines.timing
from assay.execution.campaign.attempts.run_context import AttemptState
from assay.execution.campaign.attempts.validation import status_of
from assay.execution.engines.contract import EngineFacts, ProgramResult
from assay.execution.hosts import LocalTransport
from assay.execution.planning.forecast.call_limits import NO_HISTORY
from assay.model.plans.program import Program
from assay.specs.cluster import load_cluster
from assay.workloads.workload import ValidationResult
from campaign_support import write_local_plan
from toy_engine import ToyEngine, ToyStorage


async def run_script(folder: Path, script: str, limit_s: float = 60) -> ProgramResult:
    """Run ``script`` by sh as the engine's job."""
    write_local_plan(folder, "toy", "")
    cluster = load_cluster(folder / "cluster.yaml")
    transports = {cluster.master.name: LocalTransport(cluster.master.name)}
    engine = ToyEngine(EngineFacts("toy", "1"), ToyStorage(folder), cluster, transports)
    program = Program("sh", ("-c", script), engine="toy")
    return await engine.run(program, {}, timeout_s=limit_s, label="job", show=lambda _: None)


def main() -> None:
    """Run the script, and print its result."""
    assay.execution.engines.timing.BEAT_GAP_MAX_S = float(sys.argv[4])  # ten seconds would make each test a long one
    result = asyncio.run(run_script(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])))
    status = status_of(AttemptState(program_result=result, validation=ValidationResult(())), None, NO_HISTORY)
    outcome = result.outcome
    print(json.dumps([outcome.exit_status, outcome.duration_s, result.sources["duration_s"], *status]))


if __name__ == "__main__":
    main()
