"""Find the jobs that a running Hadoop executed during an observation, and read their histories.

In: an attached cluster and an observation's result. Out: the result with jobs, tasks and phases from the histories that
the user may read; other jobs are only counted. REST as in "ResourceManager REST API's", Cluster Applications.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from assay.execution.engines.contract import ProgramResult, ShowProgress
from assay.execution.engines.hadoop.hdfs import ROOT, Hdfs
from assay.execution.engines.hadoop.jobs.histories import JobHistories
from assay.execution.engines.hadoop.settings.site import active_namenode, active_resourcemanager, read_site
from assay.execution.hosts.transport import Transport
from assay.foundation.errors import EngineError, HostError
from assay.model import Cluster, CodedWarning, WarningCode


async def history_reader(
    cluster: Cluster, transports: Mapping[str, Transport], show: ShowProgress
) -> Callable[[ProgramResult], Awaitable[ProgramResult]]:
    """Return a function that adds the executed jobs to an observation. Raises EngineError if Hadoop does not answer."""
    assert cluster.attached is not None
    edge = transports[cluster.attached.edge]
    site = await read_site(edge, cluster.attached.configuration)
    site.check()
    await active_resourcemanager(edge, site)

    async def read_history(result: ProgramResult) -> ProgramResult:
        show("listing the jobs that ran")
        end_unix_s = time.time()
        try:
            resourcemanager = await active_resourcemanager(edge, site)
            started_ms = int(result.started_unix_s * 1000)
            query = f"/ws/v1/cluster/apps?finishedTimeBegin={started_ms}"
            apps = ((await resourcemanager.get(query)).get("apps") or {}).get("app") or []
            storage = Hdfs(await active_namenode(edge, site), site.user, ROOT)
        except (EngineError, HostError) as error:
            message = f"the jobs could not be listed: {error.message}"
            return replace(result, warnings=(*result.warnings, CodedWarning(WarningCode.TRACE, message)))
        ended_apps = [app for app in apps if int(app.get("startedTime", 0)) <= end_unix_s * 1000]
        application_ids = [str(app["id"]) for app in ended_apps if app.get("applicationType") == "MAPREDUCE"]
        job_ids = sorted(name.replace("application_", "job_") for name in application_ids)
        result_with_jobs = await JobHistories(storage, site.history_folders()).add_histories(result, job_ids)
        warnings = left_out_warnings(len(ended_apps), len(job_ids), len(result_with_jobs.jobs), site.user)
        return replace(result_with_jobs, warnings=(*result_with_jobs.warnings, *warnings))

    return read_history


def left_out_warnings(applications: int, jobs: int, read_jobs: int, user: str) -> tuple[CodedWarning, ...]:
    """Return warnings about the applications that a run lacks: other engines' applications, and MapReduce ``jobs``
    without a readable history."""
    messages = []
    if applications > jobs:
        messages.append(
            f"{applications - jobs} of {applications} applications are left out: they are not MapReduce jobs"
        )
    if jobs > read_jobs:
        messages.append(f"{jobs - read_jobs} of {jobs} jobs are left out: {user} could not read their history")
    return tuple(CodedWarning(WarningCode.TRACE, message) for message in messages)
