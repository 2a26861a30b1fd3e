"""Execute a plan from Python: the campaign that ``assay run PLAN`` executes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from assay.foundation.errors import SpecificationError
from assay.interfaces.python.answer import Answer
from assay.interfaces.python.arguments import Where, conditions, file_path, text, texts
from assay.questions.json_values import json_value

if TYPE_CHECKING:
    from assay.execution.campaign.attempts.runner import CampaignSummary
    from assay.model import Run

_log = logging.getLogger("assay.run")


class CampaignLog:
    """Writes the progress of a campaign to the log ``assay.run``, at the level INFO.

    ``finished_run_ids``: receives the ids of finished runs.
    """

    def __init__(self, finished_run_ids: list[str]) -> None:
        self._finished_run_ids = finished_run_ids

    def say(self, message: str) -> None:
        """Log a line."""
        _log.info("%s", message)

    def step(self, message: str) -> None:
        """Log the current step."""
        _log.debug("%s", message)

    def begin(self, number: int, total: int, title: str, left_s: float | None) -> None:
        """Log the run that begins. ``left_s``: expected seconds for all remaining runs, if known."""
        left_text = "" if left_s is None else f", about {left_s:.0f} s left"
        _log.info("run %d of %d: %s%s", number, total, title, left_text)

    def end(self, run: Run) -> None:
        """Log a finished run."""
        self._finished_run_ids.append(run.run_id)
        _log.info("%s: %s, %.1f s", run.run_id, run.status, run.duration_s)


def run_plan(
    plan: Path | str,
    repository: Path | str = "repository",
    *,
    only: str | Sequence[str] = (),
    until: str | None = None,
    again: bool = False,
    baseline: bool = True,
    simulate: bool = False,
    profile: Path | str | None = None,
    learn_from: Path | str | None = None,
    where: Where = (),
    otlp: str | None = None,
) -> Answer[CampaignSummary]:
    """Execute a plan, or resume its interrupted campaign. Finished runs are not repeated.

    ``plan``: its file. ``repository``: the folder of the runs; it is created if needed. ``only``: workloads, or
    ``FACTOR=LEVEL``. ``until``: start no more runs after this time, duration or number of runs. ``again``: run a
    complete plan again. ``baseline``: measure devices and links first. ``simulate``: simulate the runs, with the
    profile in the file ``profile``, or learned from the repository ``learn_from``; otherwise with the shipped profile.
    ``otlp``: when the campaign ends, send its runs as OpenTelemetry spans to this address.

    Progress goes to the log ``assay.run``. Raises SpecificationError inside a running event loop, as in a notebook.
    """
    from assay.estimation.simulator.campaign import campaign_request
    from assay.execution.campaign.execute import execute_campaign, prepare_campaign
    from assay.execution.planning.forecast.call_limits import parse_stop
    from assay.execution.planning.plan_files.plan_reader import load_plan
    from assay.interfaces.telemetry.sending import spans_sent
    from assay.questions.forecasts.learning import ProfileRequest, profile_from
    from assay.store import Repository

    _refuse_event_loop(plan)
    loaded_plan = load_plan(file_path(plan, "plan"))
    is_simulated = simulate or loaded_plan.cluster.simulated
    if not is_simulated and (profile is not None or learn_from is not None or conditions(where)):
        raise SpecificationError("a profile applies to simulations", where="profile", hint="add simulate=True")
    files = (file_path(profile, "profile"),) if profile is not None else ()
    learning_folder = file_path(learn_from, "learn_from") if learn_from is not None else None
    costs = profile_from(ProfileRequest(files, learning_folder, conditions(where))) if is_simulated else None
    stop = parse_stop(text(until, "until"), datetime.now().astimezone()) if until is not None else None
    request = replace(
        campaign_request(loaded_plan, costs), again=again, only=texts(only, "only"), stop=stop, baseline=baseline
    )
    opened_repository = Repository.create(file_path(repository, "repository"))
    with spans_sent(
        text(otlp, "otlp") if otlp is not None else None, opened_repository.root, _log.info
    ) as finished_run_ids:
        summary = execute_campaign(
            request, prepare_campaign(request, opened_repository), opened_repository, CampaignLog(finished_run_ids)
        )
    counts = ", ".join(f"{count} {status}" for status, count in summary.statuses.items()) or "none"
    return Answer(
        summary,
        f"attempts: {summary.made} ({counts}); runs finished earlier: {summary.already_there}",
        (summary.stopped,) if summary.stopped else (),
        json_values=lambda: json_value(asdict(summary)),
        rows=lambda values: [values],
    )


def _refuse_event_loop(plan: Path | str) -> None:
    """Raise SpecificationError inside a running event loop: a campaign has its own, and handles signals."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise SpecificationError(
        "a campaign can't run inside an event loop, as in a notebook",
        where="assay.run",
        hint=f"run it as a command, in a cell with `!assay run {plan}`, then use assay.open",
    )
