"""Read the status of a repository's campaigns, while another process may be writing.

In: the repository's folder of campaigns. Out: for each campaign the executing process, the runs done, failed and in
progress, and the expected end; Unix seconds and seconds.
"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.foundation.errors import RepositoryError
from assay.foundation.process import lock_holder
from assay.store.campaigns.journal import LOCK, NOW
from assay.store.campaigns.timeline import Attempt, attempts_of, read_events

FAILURES_SHOWN = 5
"""Maximum number of failures in a campaign's status, newest last."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An attempt that was not valid."""

    title: str
    status: str
    failure_class: str | None
    cause: str | None
    ended_unix_s: float


@dataclass(frozen=True, slots=True)
class CampaignStatus:
    """The status of one campaign."""

    campaign_id: str
    plan: str
    cluster: str | None
    started_unix_s: float | None
    running: bool
    pid: int | None
    """Process id of the assay that executes the campaign, if it runs on this machine."""
    planned: int
    done: int
    """Planned runs with a valid result."""
    failed: int
    """Planned runs whose last attempt failed or was invalid."""
    run: int | None
    """Number of the current run, from 1."""
    title: str | None
    since_unix_s: float | None
    """When the current run began."""
    phase: str | None
    """The current step."""
    left_s: float | None
    """Expected time for the remaining runs of this call."""
    expected_end_unix_s: float | None
    failures: tuple[Failure, ...]
    """The last failures, the newest last."""
    stopped: str | None
    """Why the last call ended; None while a call runs, or if the last call was cut off."""
    changed_unix_s: float | None
    """Time of the journal's last line."""


def campaign_folders(campaigns: Path) -> list[Path]:
    """Return the folders of a repository's campaigns, the newest last."""
    return sorted(path.parent for path in campaigns.glob("*/campaign.json"))


def status_of(folder: Path, now_unix_s: float) -> CampaignStatus:
    """Return the status of the campaign in ``folder``."""
    description = object_in(folder / "campaign.json")
    holder = lock_holder(folder / LOCK)
    events = read_events(folder)
    attempts = attempts_of(events)
    calls = [event for event in events if event["event"] in ("start", "stop")]
    current = attempts[-1] if holder and attempts and _is_open(attempts[-1]) and _in_last_call(events) else None
    expected_end_unix_s = None
    if current is not None and isinstance(current.left_s, int | float):
        expected_end_unix_s = max(now_unix_s, current.began_unix_s + current.left_s)
    last_attempts = {attempt.run: attempt for attempt in attempts if not _is_open(attempt)}
    outcomes = Counter("done" if attempt.status == "valid" else "failed" for attempt in last_attempts.values())
    last_stop = calls[-1] if calls and calls[-1]["event"] == "stop" and not holder else None
    return CampaignStatus(
        campaign_id=folder.name,
        plan=str(description.get("plan", "")),
        cluster=description.get("cluster"),
        started_unix_s=description.get("started_unix_s"),
        running=holder is not None,
        pid=holder.pid if holder else None,
        planned=int(description.get("runs", 0)),
        done=_done(calls, attempts, outcomes["done"]),
        failed=outcomes["failed"],
        run=current.run + 1 if current else None,
        title=current.title if current else None,
        since_unix_s=current.began_unix_s if current else None,
        phase=_phase(folder) if holder else None,
        left_s=expected_end_unix_s - now_unix_s if expected_end_unix_s is not None else None,
        expected_end_unix_s=expected_end_unix_s,
        failures=_failures(attempts),
        stopped=str(last_stop.get("why")) if last_stop else None,
        changed_unix_s=events[-1]["at_unix_s"] if events else None,
    )


def find_campaigns(campaigns: Path, prefix: str | None, now_unix_s: float) -> list[CampaignStatus]:
    """Return the campaigns whose ids begin with ``prefix``; without a prefix the running campaigns, or else the
    newest campaign.

    Raises RepositoryError when no id begins with it.
    """
    folders = campaign_folders(campaigns)
    if prefix is not None:
        matching_folders = [folder for folder in folders if folder.name.startswith(prefix)]
        if not matching_folders:
            raise RepositoryError(
                f"no campaign's id begins with {prefix!r}",
                where=str(campaigns.parent),
                hint="`assay campaign list` lists them",
            )
        return [status_of(folder, now_unix_s) for folder in matching_folders]
    running_folders = [folder for folder in folders if lock_holder(folder / LOCK)]
    return [status_of(folder, now_unix_s) for folder in running_folders or folders[-1:]]


def _done(calls: list[dict[str, Any]], attempts: list[Attempt], valid_runs: int) -> int:
    """Return the number of runs done, in the last call and before it."""
    last_start = next((event for event in reversed(calls) if event["event"] == "start"), None)
    if last_start is None:
        return valid_runs
    runs_since_start = {
        attempt.run
        for attempt in attempts
        if attempt.began_unix_s >= last_start["at_unix_s"] and attempt.status == "valid"
    }
    return int(last_start.get("done", 0)) + len(runs_since_start)


def _failures(attempts: list[Attempt]) -> tuple[Failure, ...]:
    failures = [
        Failure(attempt.title, str(attempt.status), attempt.failure_class, attempt.cause, attempt.ended_unix_s)
        for attempt in attempts
        if attempt.ended_unix_s is not None and attempt.status != "valid"
    ]
    return tuple(failures[-FAILURES_SHOWN:])


def _is_open(attempt: Attempt) -> bool:
    return attempt.ended_unix_s is None


def _in_last_call(events: Iterable[dict[str, Any]]) -> bool:
    """Return whether the last attempt began in the last call; an earlier attempt was cut off.

    The order of the lines decides, because several can have the same time.
    """
    names = [event["event"] for event in events if event["event"] in ("start", "stop", "begin")]
    return bool(names) and names[-1] == "begin"


def _phase(folder: Path) -> str | None:
    text = object_in(folder / NOW).get("text")
    return text if isinstance(text, str) else None


def object_in(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file of a campaign; empty if the file is missing or holds no object."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
