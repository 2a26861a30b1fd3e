"""A campaign's folder in the repository: which plan, which runs were begun, and who is carrying it out.

``campaigns/<id>/`` holds ``campaign.json``, the plan's text and ``journal.jsonl``, one line for each step, written and
synced before the step. What is finished is read from the bundles, which are the truth; the journal tells what was
begun and cut off. A campaign goes on when its plan's fingerprint is the same and something of it is left.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.analysis.significance import precise_enough
from assay.campaign.order import PlannedRun
from assay.errors import RepositoryError
from assay.model.plan import Plan
from assay.model.run import Run, RunStatus
from assay.repository.ids import new_run_id


@dataclass(frozen=True, slots=True)
class Journal:
    """One campaign's folder."""

    folder: Path
    campaign_id: str

    def write(self, event: str, **values: Any) -> None:
        """Append one line and sync it to disk."""
        line = json.dumps({"at_unix_s": round(time.time(), 3), "event": event, **values}, ensure_ascii=False)
        with (self.folder / "journal.jsonl").open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
            file.flush()
            os.fsync(file.fileno())

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Be the only one who carries out this campaign. Raises RepositoryError when somebody else does."""
        with (self.folder / "lock").open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                file.seek(0)
                raise RepositoryError(
                    f"this campaign is under way already (process {file.read().strip()})",
                    where=str(self.folder),
                    hint="wait for it, or end that process",
                ) from error
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
            yield


def open_campaign(root: Path, plan: Plan, finished: Sequence[Run], runs: Sequence[PlannedRun], *,
                  again: bool) -> tuple[Journal, bool]:  # fmt: skip
    """Return the campaign to go on with, or a new one, and whether it is an old one.

    ``finished``: the repository's runs. With ``again``, a campaign that is complete is followed by a new one; without,
    it is returned as it is.
    """
    campaigns = root / "campaigns"
    known = sorted(campaigns.glob("*/campaign.json"), reverse=True)
    for path in known:
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            continue
        if not isinstance(stored, dict) or stored.get("fingerprint") != plan.fingerprint:
            continue
        journal = Journal(path.parent, path.parent.name)
        if again and not remaining(plan, runs, [r for r in finished if r.campaign_id == journal.campaign_id]):
            break
        return journal, True
    campaign_id = new_run_id()
    folder = campaigns / campaign_id
    folder.mkdir(parents=True)
    (folder / "plan.yaml").write_text(plan.source, encoding="utf-8")
    (folder / "campaign.json").write_text(
        json.dumps({"campaign_id": campaign_id, "plan": plan.name, "fingerprint": plan.fingerprint,
                    "runs": len(runs), "started_unix_s": round(time.time(), 3)}, indent=2) + "\n",
        encoding="utf-8",
    )  # fmt: skip
    return Journal(folder, campaign_id), False


def key_of(run: Run) -> tuple[str, str, int]:
    """Return the planned run's key that a finished run belongs to."""
    levels = " ".join(f"{name}={level}" for name, level in run.levels.items())
    return (run.workload, levels, run.repetition)


def wanted(planned: PlannedRun, plan: Plan, finished: Sequence[Run]) -> bool:
    """Say whether a run is to be made, given the campaign's finished ones.

    The plan's own repetitions always are. With ``until`` each further one is, as long as the interval of the mean over
    the valid runs of its workload and configuration is wider than asked.
    """
    if plan.until is None or planned.repetition <= plan.repetitions:
        return True
    alike = [
        run.duration_s
        for run in finished
        if run.status is RunStatus.VALID and key_of(run)[:2] == (planned.workload.key, planned.configuration.key)
    ]
    return not precise_enough(alike, plan.until.half_width)


def remaining(plan: Plan, runs: Sequence[PlannedRun], finished: Sequence[Run]) -> list[tuple[PlannedRun, int]]:
    """Return the runs that are still to be made, each with its next attempt's number.

    A run is done when it has a valid result. How often one call tries is the caller's affair: whoever starts the
    campaign again has mended something.
    """
    tries: dict[tuple[str, str, int], list[Run]] = {}
    for run in finished:
        tries.setdefault(key_of(run), []).append(run)
    left: list[tuple[PlannedRun, int]] = []
    for planned in runs:
        made = tries.get(planned.key, [])
        if not any(run.status is RunStatus.VALID for run in made) and wanted(planned, plan, finished):
            left.append((planned, len(made) + 1))
    return left
