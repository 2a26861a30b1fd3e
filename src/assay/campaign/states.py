"""How far a repository's campaigns are, read from their journals while they go on.

In: a repository's folder. Out: one :class:`State` for each campaign, newest first. Nothing is locked or written; a
journal that is being written to has a last line that may be half, which is left out.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LISTED_MAX = 200
TEXT_BYTES_MAX = 1_000_000
_JOURNAL_BYTES_MAX = 50_000_000


@dataclass(frozen=True, slots=True)
class State:
    """One campaign."""

    campaign_id: str
    plan: str
    started_unix_s: float | None
    planned: int
    ended: int
    """Runs that came to an end, whatever their status."""
    failed: int
    """Of those, how many did not finish or are invalid."""
    current: str | None
    """The title of the run that was begun last and has not ended."""
    under_way: bool
    """Whether a process carries it out now."""


def campaign_states(root: Path) -> list[State]:
    """Return the state of each campaign of the repository at ``root``, newest first, at most :data:`LISTED_MAX`."""
    return [state for folder in _folders(root) if (state := _state(folder)) is not None]


def plan_texts(root: Path) -> list[tuple[str, str, str]]:
    """Return plan, campaign and the plan's text of each campaign, newest first; those that can't be read are left."""
    found = []
    for folder in _folders(root):
        known = _described(folder)
        with contextlib.suppress(OSError, UnicodeDecodeError), (folder / "plan.yaml").open("rb") as file:
            text = file.read(TEXT_BYTES_MAX).decode("utf-8")
            found.append((str(known.get("plan", "")), folder.name, text))
    return found


def _folders(root: Path) -> list[Path]:
    try:
        entries = [entry for entry in os.scandir(root / "campaigns") if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    names = sorted((entry.name for entry in entries), reverse=True)  # ids sort by time
    return [root / "campaigns" / name for name in names[:LISTED_MAX]]


def _described(folder: Path) -> dict[str, Any]:
    try:
        value = json.loads((folder / "campaign.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _events(folder: Path) -> Iterator[dict[str, Any]]:
    try:
        with (folder / "journal.jsonl").open("rb") as file:
            lines = file.read(_JOURNAL_BYTES_MAX).splitlines()
    except OSError:
        return
    for line in lines:
        with contextlib.suppress(ValueError):
            value = json.loads(line)
            if isinstance(value, dict):
                yield value


def _state(folder: Path) -> State | None:
    known = _described(folder)
    if not known:
        return None
    ended = failed = 0
    current: str | None = None
    for event in _events(folder):
        if event.get("event") == "begin":
            current = str(event.get("title", ""))
        elif event.get("event") == "end":
            ended, current = ended + 1, None
            failed += event.get("status") != "valid"
    started, planned = known.get("started_unix_s"), known.get("runs")
    return State(
        folder.name, str(known.get("plan", "")), started if isinstance(started, int | float) else None,
        planned if isinstance(planned, int) else 0, ended, failed, current, _held(folder),
    )  # fmt: skip


def _held(folder: Path) -> bool:
    """Say whether somebody holds the campaign's lock."""
    try:
        with (folder / "lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
