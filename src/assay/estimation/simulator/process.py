"""Run the simulator as a process: scenarios go in as JSON lines, results come out in the same order.

In: scenarios (:mod:`assay.estimation.simulator.scenario`). Out: :class:`SimulationResult` values. The program is a
native part of this installation (``assay-simulate``, rust/simulate); it needs neither root nor Java, reads no clock and
no file.
"""

import asyncio
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from assay.estimation.simulator.scenario_document import SimulatorInput
from assay.foundation.errors import HostError, SpecificationError
from assay.foundation.installation import installation
from assay.model.clusters.credits import CreditUse

SIMULATOR_PATH_VARIABLE = "ASSAY_SIMULATE"
"""Environment variable with the path of another simulator program."""
TIMEOUT_S = 600.0
"""Maximum time of one call of the simulator, in seconds."""


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """The result of one simulation. ``tree``: the complete result (docs/reference/simulator-scenarios.md)."""

    duration_s: float
    limits: Mapping[str, float]
    """Shares of the tasks' time by limiting resource, which add up to 1."""
    assumptions: tuple[str, ...]
    tree: Mapping[str, Any]
    credits: tuple[CreditUse, ...] = ()
    """Use of the credits of rented machines (:mod:`assay.estimation.simulator.credits`)."""


def simulator() -> Path:
    """Return the path of the program. Raises HostError with a hint if it is missing."""
    path_text = os.environ.get(SIMULATOR_PATH_VARIABLE)
    path = Path(path_text) if path_text else installation().simulator
    if path is None or not os.access(path, os.X_OK):
        raise HostError(
            "the simulator (assay-simulate) is missing",
            where=str(path) if path else "",
            hint="a wheel contains it; in a source tree `make setup` builds it (it needs cargo)",
        )
    return path


def simulate(scenarios: Sequence[SimulatorInput], timeout_s: float = TIMEOUT_S) -> list[SimulationResult]:
    """Return the results of ``scenarios``, in their order.

    Raises SpecificationError with the simulator's message for a scenario that can't be simulated, and HostError if the
    process fails.
    """
    if not scenarios:
        return []
    try:
        completed_process = subprocess.run(
            [str(simulator())], input=_lines(scenarios), capture_output=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise HostError(
            f"the simulator did not end within {timeout_s:.0f} s", hint="simulate fewer tasks or a smaller cluster"
        ) from error
    return _results(scenarios, completed_process.returncode, completed_process.stdout, completed_process.stderr)


async def run_simulations(scenarios: Sequence[SimulatorInput]) -> list[SimulationResult]:
    """Return the results as :func:`simulate`, without a time limit. Cancellation ends the simulator."""
    process = await asyncio.create_subprocess_exec(
        str(simulator()), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        output, errors = await process.communicate(_lines(scenarios))
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    # Large answers take seconds to read, in which the event loop must continue.
    return await asyncio.to_thread(_results, scenarios, process.returncode or 0, output, errors)


def _lines(scenarios: Sequence[SimulatorInput]) -> bytes:
    return b"".join(msgspec.json.encode(scenario) + b"\n" for scenario in scenarios)


def _results(scenarios: Sequence[SimulatorInput], status: int, output: bytes, errors: bytes) -> list[SimulationResult]:
    answers = output.splitlines()
    if status != 0 or len(answers) != len(scenarios):
        error_lines = errors.decode(errors="replace").strip().splitlines()
        raise HostError(
            f"the simulator ended with {status} after {len(answers)} of {len(scenarios)} answers",
            where=str(simulator()),
            hint=error_lines[-1] if error_lines else "try again; if it fails again, report a bug in assay",
        )
    return [result_of(msgspec.json.decode(answer)) for answer in answers]


def result_of(tree: Mapping[str, Any]) -> SimulationResult:
    """Return the result in one line of the simulator. Raises SpecificationError if the line holds an error."""
    if "error" in tree:
        raise SpecificationError(f"this can't be simulated: {tree['error']}", where="scenario")
    limits = tree.get("limits", {})
    return SimulationResult(
        duration_s=float(tree["duration_s"]),
        limits={str(name): float(share) for name, share in (limits.get("shares") or {}).items()},
        assumptions=tuple(str(assumption) for assumption in tree.get("assumptions", ())),
        tree=tree,
    )
