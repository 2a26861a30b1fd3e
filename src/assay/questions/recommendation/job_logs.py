"""Read the logs of one job: MapReduce histories or Spark event logs.

In: files and folders. Out: :class:`JobLogs`, with at least one run of a single job. A log that describes no finished
batch job is refused with the reason.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from assay.foundation.errors import FormatError
from assay.foundation.progress import Progress
from assay.model import ImportedRun, RunStatus
from assay.store.bundles.folders import MARKER
from assay.store.formats.catalogue import sorted_by_format
from assay.store.formats.hadoop import jhist_import
from assay.store.formats.source import sources_in, with_progress
from assay.store.formats.spark import event_import

_FORMATS = {log_format.name: log_format for log_format in (jhist_import.FORMAT, event_import.FORMAT)}
_JOB = re.compile(r"job_[0-9]+_[0-9]+")


@dataclass(frozen=True, slots=True)
class JobLogs:
    """Runs of one job, and the files that were left out, each with the reason."""

    name: str
    """The job as the engine names it."""
    runs: tuple[ImportedRun, ...]
    skipped: tuple[str, ...] = ()


def read_job_logs(paths: Sequence[Path], progress: Progress | None = None) -> JobLogs:
    """Return the runs in the logs.

    Raises :class:`FormatError` if no log describes a finished job, for a repository, a streaming application, and
    several jobs.
    """
    if stored := [path for path in paths if (path / MARKER).is_file()]:
        raise FormatError(
            "this is a repository of runs, and a cluster is sized from the log of a job",
            where=str(stored[0]),
            hint="name the log that the engine wrote (job_….jhist, or a Spark event log); "
            f"`assay recommend --repository {quote(str(stored[0]))}` chooses hardware from the runs, "
            f"`assay runs --repository {quote(str(stored[0]))}` lists them",
        )
    sources = list(dict.fromkeys(sources_in([*paths, *_configurations(paths)])))
    if progress is not None:
        sources = with_progress(sources, progress)
    by_format, reasons_by_name = sorted_by_format(sources, _FORMATS)
    runs: list[ImportedRun] = []
    skipped_texts = [f"{name}: {reason}" for name, reason in reasons_by_name.items()]
    for name, files in by_format.items():
        for item in _FORMATS[name].read(files):
            if isinstance(item, ImportedRun):
                _refuse(item)
                runs.append(item)
            else:
                skipped_texts.append(f"{item.where}: {item.why}")
    if not runs:
        reason = "; ".join(skipped_texts[:3]) or "the folder holds no files"
        raise FormatError(
            f"no log of a finished job: {reason}",
            where=", ".join(str(path) for path in paths[:3]),
            hint="name a MapReduce history (job_….jhist) or a Spark event log of an application that has ended",
        )
    names = sorted({_job_name(run) for run in runs})
    if len(names) > 1:
        raise FormatError(
            f"these are logs of {len(names)} jobs: {', '.join(names[:5])}",
            where=runs[0].where,
            hint="name the logs of one job; several runs of it narrow the intervals",
        )
    return JobLogs(names[0], tuple(runs), tuple(skipped_texts))


def _configurations(paths: Sequence[Path]) -> list[Path]:
    """Return the configuration of each history that is named alone: it is in the same folder."""
    files: list[Path] = []
    for path in paths:
        job = _JOB.search(path.name)
        if job and path.is_file():
            files += sorted(path.parent.glob(f"{job[0]}_conf.xml*"))
    return [path for path in files if path not in paths]


def _refuse(item: ImportedRun) -> None:
    """Raise :class:`FormatError` for a run from which no cluster can be sized."""
    run = item.run
    if item.is_streaming:
        raise FormatError(
            "this is a streaming application: it runs as long as its stream, so its time is no measure of its work",
            where=item.where,
            hint="size the cluster from a batch job",
        )
    if run.status is not RunStatus.VALID:
        raise FormatError(
            f"the job did not succeed: {run.cause or run.status}",
            where=item.where,
            hint="use the log of a run that succeeded",
        )
    if not item.tasks:
        raise FormatError(
            "the log has no task attempts, so what the job needs is not known",
            where=item.where,
            hint="a log that Spark compacted has lost them: set spark.eventLog.rolling.enabled to false",
        )


def _job_name(item: ImportedRun) -> str:
    job = item.run.environment.get("job")
    name = job.get("name") if isinstance(job, dict) else None
    return str(name or item.run.workload)
