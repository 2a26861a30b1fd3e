"""Read the progress of running jobs on YARN, and the histories of ended jobs.

In: the ResourceManager's REST API, the folders of HDFS with histories. Out: progress as text; a
:class:`~assay.execution.engines.contract.ProgramResult` with jobs, tasks and phases, all times in seconds from the
program's start.
"""

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.execution.engines.contract import ProgramResult
from assay.execution.engines.hadoop.hdfs import Hdfs
from assay.execution.engines.hadoop.jobs.rest import Endpoint
from assay.foundation.errors import EngineError, HostError
from assay.store.formats.hadoop.configuration import without_secrets
from assay.store.formats.hadoop.jhist import JobHistory, job_of, parse_jhist, phases

_WAIT_S = 20.0
"""Maximum wait for the job histories of a successful program, in seconds."""
_WAIT_AFTER_FAILURE_S = 3.0
"""Maximum wait for the job histories of a failed program, in seconds."""


def job_ids(output: str) -> list[str]:
    """Return the ids of the jobs in a client's output, in order."""
    return list(dict.fromkeys(re.findall(r"Running job: (job_\d+_\d+)", output)))


async def running_applications(resourcemanager: Endpoint) -> list[dict[str, Any]]:
    """Return YARN's accepted and running applications. Raises EngineError if the ResourceManager does not answer."""
    answer = await resourcemanager.get("/ws/v1/cluster/apps?states=ACCEPTED,RUNNING")
    return list((answer.get("apps") or {}).get("app") or [])


async def progress(resourcemanager: Endpoint, app: Mapping[str, Any]) -> str:
    """Return an application's progress from its ApplicationMaster. Raises EngineError if it does not answer."""
    path = f"/proxy/{app['id']}/ws/v1/mapreduce/jobs"
    jobs = (await resourcemanager.get(path)).get("jobs") or {}
    job = (jobs.get("job") or [{}])[0]
    maps, reduces = float(job.get("mapProgress", 0)), float(job.get("reduceProgress", 0))
    return f"{app['name']}: map {maps:.0f} %, reduce {reduces:.0f} %"


@dataclass(frozen=True, slots=True)
class JobHistories:
    """The folders of job histories."""

    storage: Hdfs
    folders: Sequence[str]

    async def add_histories(self, result: ProgramResult, ids: Sequence[str]) -> ProgramResult:
        """Return the result with the histories of the jobs with these ids."""
        wait_s = _WAIT_S if result.outcome.exit_status == 0 else _WAIT_AFTER_FAILURE_S
        histories: list[JobHistory] = []
        logs: dict[str, bytes] = {}
        for job_id in ids:
            files = await self._files(job_id, wait_s)
            logs |= files
            for name, content in files.items():
                if name.endswith(".jhist"):
                    histories.append(parse_jhist(content, start_unix_s=result.started_unix_s))
        return _with_histories(result, histories, logs)

    async def _files(self, job_id: str, wait_s: float) -> dict[str, bytes]:
        """Return a job's ``.jhist`` and ``_conf.xml``, from either folder of the history server."""
        deadline = time.monotonic() + wait_s
        while time.monotonic() < deadline:
            for root in self.folders:
                try:
                    files = [p for p in await self.storage.paths(root) if p.rsplit("/", 1)[-1].startswith(job_id)]
                    if any(path.endswith(".jhist") for path in files):
                        bundle_paths = [path for path in files if path.endswith((".jhist", "_conf.xml"))]
                        contents = await asyncio.gather(*(self._read(path) for path in bundle_paths))
                        suffixes = (".jhist" if path.endswith(".jhist") else "_conf.xml" for path in bundle_paths)
                        return dict(zip((f"{job_id}{suffix}" for suffix in suffixes), contents, strict=True))
                except (EngineError, HostError):  # the file is being moved, is not readable, or HDFS is gone
                    continue
            await asyncio.sleep(0.2)
        return {}

    async def _read(self, path: str) -> bytes:
        """Return a file's content; secrets are removed from a configuration."""
        content = await self.storage.read(path)
        return without_secrets(content) if path.endswith("_conf.xml") else content


def _with_histories(result: ProgramResult, histories: Sequence[JobHistory], logs: Mapping[str, bytes]) -> ProgramResult:
    """Return the result with jobs, tasks and phases from the histories, as values that all engines share."""
    if not histories:
        return replace(result, logs={**result.logs, **logs})
    started_unix_s, last_history = result.started_unix_s, histories[-1]
    failed_tasks = sum(history.failed_maps + history.failed_reduces for history in histories)
    return replace(
        result,
        outcome=replace(result.outcome, counters=last_history.counters, failed_tasks=failed_tasks),
        jobs=tuple(job_of(history, started_unix_s) for history in histories),
        tasks=tuple(task for history in histories for task in history.tasks),
        phases=phases(last_history, started_unix_s),
        logs={**result.logs, **logs},
        sources={**result.sources, "phases": "job history", "tasks": "job history"},
    )
