"""Execute a plan for an AI assistant: the command ``assay run`` in a separate process.

In: a repository's folder and the arguments of the tool. Out: the summary of the campaign as the command prints it with
``--json``, and its progress. A campaign handles signals, so it needs a main thread. If the request is cancelled, the
process stops as with Ctrl-C: finished runs are kept.
"""

import asyncio
import json
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assay.foundation.cancellation import finish
from assay.foundation.errors import SpecificationError

RUN = "run"
PROGRESS_LINES_MAX = 40
"""Maximum number of progress lines in the result, which has the last lines."""
STOP_TIMEOUT_S = 600.0
"""Maximum wait for a cancelled campaign to clean up, in seconds."""


class PlanRunRequest(BaseModel):
    """The arguments of the tool."""

    model_config = ConfigDict(extra="forbid")

    plan: str = Field(description="Path of the plan (YAML).")
    simulate: bool = Field(default=False, description="Simulate the runs. Needs no hosts, root or Java.")
    dry_run: bool = Field(default=False, description="Return the schedule and the expected times; run nothing.")
    only: list[str] = Field(default=[], description="Only these workloads, or levels FACTOR=LEVEL.")
    until: str | None = Field(default=None, description="Start no more runs after a time, a duration, or 'N runs'.")
    again: bool = Field(default=False, description="Run a complete plan again.")


def run_tool() -> Tool:
    """Return the description of the tool."""
    return Tool(
        name=RUN,
        description="Execute a plan, or resume its interrupted campaign. It measures real hosts unless `simulate` is "
        "true, and can take hours. Finished runs are not repeated.",
        input_schema=PlanRunRequest.model_json_schema(),
        annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True),
    )


async def run_plan(root: Path, arguments: Mapping[str, Any]) -> CallToolResult:
    """Execute the command; if it fails, the result is an error. Raises SpecificationError for wrong arguments."""
    try:
        request = PlanRunRequest.model_validate(dict(arguments))
    except ValidationError as error:
        first_error = error.errors(include_url=False)[0]
        field_path = ".".join(map(str, first_error["loc"]))
        raise SpecificationError(f"{field_path}: {first_error['msg']}", where=RUN) from error
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "assay", "run", *_options(request, root)),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,  # a client that ends the server's process group must not interrupt the clean-up
    )
    try:
        output, progress = await process.communicate()
    finally:
        await finish(_stop(process), "stopping the campaign", STOP_TIMEOUT_S)
    lines = progress.decode(errors="replace").splitlines()[-PROGRESS_LINES_MAX:]
    text = output.decode(errors="replace").strip()
    return CallToolResult(
        content=[TextContent(text="\n".join([*lines, text]))],
        structured_content={"exit_code": process.returncode, "values": json.loads(text) if text else None},
        is_error=process.returncode != 0,
    )


def _options(request: PlanRunRequest, root: Path) -> list[str]:
    options = [f"--repository={root}", "--json", *(f"--only={name}" for name in request.only)]
    options += [f"--until={request.until}"] if request.until is not None else []
    flags = {"--simulate": request.simulate, "--dry-run": request.dry_run, "--again": request.again}
    return [*options, *(flag for flag, is_set in flags.items() if is_set), "--", request.plan]


async def _stop(process: Process) -> None:
    """Interrupt a process that still runs, and wait for its end."""
    if process.returncode is None:
        process.send_signal(signal.SIGINT)
        await process.communicate()
