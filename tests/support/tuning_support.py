"""Make a completed tuning of containers as a campaign stores it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from assay.estimation.tuning.planned_tuning import TUNING
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.model.runs.run_status import FailureClass, RunStatus
from assay.store import Repository
from assay.store.bundles.ids import new_run_id
from assay.store.campaigns.journal import CampaignJournal, create_campaign
from builders import make_run
from paths import ROOT

PLAN = ROOT / "examples" / "bsc-2015" / "quick-containers.yaml"


def published_tuning(repository: Repository, times_s: Sequence[tuple[int, float | None]]) -> CampaignJournal:
    """Publish the runs of a tuning: four of the search, then pairs; a run without a time has failed."""
    journal = create_campaign(repository.folders.campaigns, load_plan(PLAN), len(times_s))
    document = {
        "workload": "terasort",
        "over": {"containers": ["2", "4", "6"]},
        "defaults": {"containers": "2"},
        "budget": 4,
        "pairs": 2,
        "strategy": "bayesian",
        "warm": "nothing",
    }
    (journal.folder / TUNING).write_text(json.dumps(document))
    for at, (containers, time_s) in enumerate(times_s):
        repository.publish(
            make_run(
                run_id=new_run_id(),
                campaign_id=journal.campaign_id,
                workload="terasort",
                levels={"layout": "HDD", "containers": str(containers)},
                repetition=at + 1,
                position=at,
                block=at if at < 4 else 4 + (at - 4) // 2,
                duration_s=time_s or 5.0,
                status=RunStatus.VALID if time_s else RunStatus.FAILED,
                failure_class=None if time_s else FailureClass.WORKLOAD,
                cause=None if time_s else "it <died>",
            )
        )
    return journal
