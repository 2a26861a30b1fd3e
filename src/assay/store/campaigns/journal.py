"""A campaign's folder in the repository: its plan, the runs that were started, and the process that executes it.

``campaigns/<id>/`` holds ``campaign.json``, the texts of the plan and its cluster file, ``lock`` (the executing
process), ``now.json`` (the current step), ``samples.json`` (:mod:`assay.store.campaigns.host_samples`) and
``journal.jsonl``, one JSON object per line with ``at_unix_s`` and ``event``::

    connect a call of `assay run` connects to the hosts
    start   the call begins: numbers of planned, completed and remaining runs, restarts, process id
    begin   a run begins: its number, title, attempt, time limit, and the expected time for all remaining runs;
            synced to disk before the run
    step    a step of a run has ended: its name, start and duration; steps may overlap
    trouble an attempt is stopped early, and why
    end     a run has ended: its status, cause, failure class and duration
    stop    the call has ended, and why

Finished runs are read from the bundles, which are authoritative. The journal records which runs were started or cut
off, and where the time went. A campaign is resumed when its plan's fingerprint is the same and runs are left.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.foundation.errors import RepositoryError
from assay.foundation.process import Lock, lock_holder
from assay.model import Plan, Run
from assay.store.bundles.ids import new_run_id
from assay.store.campaigns.host_samples import HostSamplesFile

JOURNAL = "journal.jsonl"
LOCK = "lock"
NOW = "now.json"
CLUSTER_TEXT = "cluster.yaml"


@dataclass(frozen=True, slots=True)
class CampaignJournal:
    """One campaign's folder."""

    folder: Path
    campaign_id: str

    @property
    def host_samples(self) -> HostSamplesFile:
        """The latest samples of the nodes of the running job."""
        return HostSamplesFile(self.folder)

    def write(self, event: str, *, synced: bool = True, **values: Any) -> None:
        """Append one event as a new line, also after a half-written line; sync the file to disk if ``synced``."""
        line = json.dumps({"at_unix_s": round(time.time(), 3), "event": event, **values}, ensure_ascii=False)
        with _failure_explained(self.folder), (self.folder / JOURNAL).open("ab+") as file:
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(size - 1)
                line = line if file.read(1) == b"\n" else f"\n{line}"
            file.write(f"{line}\n".encode())
            file.flush()
            if synced:
                os.fsync(file.fileno())

    def record_end(self, index: int, run: Run) -> None:
        """Record that an attempt at the planned run ``index`` has ended and is stored."""
        self.write(
            "end",
            run=index,
            attempt=run.attempt,
            run_id=run.run_id,
            status=run.status,
            cause=run.cause,
            failure_class=run.failure_class,
            duration_s=run.duration_s,
        )

    def set_step(self, text: str) -> None:
        """Replace the text of the current step atomically: a reader sees the old text or the new text."""
        temporary_file = self.folder / f"{NOW}.{os.getpid()}"
        try:
            temporary_file.write_text(
                json.dumps({"at_unix_s": round(time.time(), 3), "text": text}, ensure_ascii=False)
            )
            temporary_file.replace(self.folder / NOW)
        except OSError:  # only `assay campaign status` reads it, so the campaign continues
            temporary_file.unlink(missing_ok=True)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Lock the campaign for this process.

        Raises RepositoryError when another process holds it, HostError if the repository's file system has no locks.
        """
        with _failure_explained(self.folder):
            lock = Lock.try_take(self.folder / LOCK, mode=0o666)
        if lock is None:
            raise RepositoryError(
                f"this campaign is running already ({lock_holder(self.folder / LOCK) or 'by another process'})",
                where=str(self.folder),
                hint="wait for it, or end that process; `assay campaign status` shows it",
            )
        try:
            self.host_samples.remove()
            yield
        finally:
            (self.folder / NOW).unlink(missing_ok=True)
            lock.release()


def known_campaigns(campaigns: Path) -> Iterator[tuple[int, Path, str]]:
    """Yield each campaign's number, file and fingerprint; numbers grow even if the clock is set back, unlike ids."""
    for path in campaigns.glob("*/campaign.json"):
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(stored, dict):
            number = stored.get("number")
            yield number if isinstance(number, int) else 0, path, str(stored.get("fingerprint"))


@contextmanager
def _failure_explained(folder: Path) -> Iterator[None]:
    """Turn an OSError into a RepositoryError that says that the campaign's folder can't be written."""
    try:
        yield
    except OSError as error:
        raise RepositoryError(
            f"the campaign can't be stored: {error.strerror or error}",
            where=str(error.filename or folder),
            hint="make the repository writable, or choose another repository with --repository",
        ) from error


def create_campaign(campaigns: Path, plan: Plan, runs: int) -> CampaignJournal:
    """Create a campaign of ``runs`` runs: its folder, with the texts of its plan and cluster."""
    campaign_id = new_run_id()
    folder = campaigns / campaign_id
    number = 1 + max((number for number, _, _ in known_campaigns(campaigns)), default=0)
    with _failure_explained(folder):
        folder.mkdir(parents=True)
        (folder / "plan.yaml").write_text(plan.source, encoding="utf-8")
        (folder / CLUSTER_TEXT).write_text(plan.cluster_source, encoding="utf-8")
        (folder / "campaign.json").write_text(
            json.dumps(
                {
                    "campaign_id": campaign_id,
                    "number": number,
                    "plan": plan.name,
                    "fingerprint": plan.fingerprint,
                    "cluster": plan.cluster.name,
                    "runs": runs,
                    "started_unix_s": round(time.time(), 3),
                },
                indent=2,
            )
            + "\n",
            encoding="utf-8",
        )
    return CampaignJournal(folder, campaign_id)
