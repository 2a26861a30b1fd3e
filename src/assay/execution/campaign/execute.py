"""Execute a plan on a lab, on this machine, on hosts, or in simulation.

In: a plan, its remaining runs, its engine, a watcher. Out: the :class:`CampaignSummary` of the whole call. A lab that
the campaign made and that loses its disks or nodes is rebuilt, a bounded number of times.
"""

from assay.execution.campaign.attempts.runner import CampaignSummary, added_up, run_campaign
from assay.execution.campaign.cluster_hosts import hosts_for
from assay.execution.campaign.loop import ProgressObserver
from assay.execution.campaign.prepare import PreparedCampaign
from assay.execution.engines.contract import MakeProvider
from assay.foundation.cancellation import run_interruptibly
from assay.foundation.process import terminable
from assay.model import Plan
from assay.store import Repository

LABS_MAX = 4
"""Maximum number of labs that one call makes."""


def execute_campaign(
    plan: Plan,
    repository: Repository,
    schedule: PreparedCampaign,
    watcher: ProgressObserver,
    provide: MakeProvider,
    *,
    baseline: bool,
) -> CampaignSummary:
    """Make every remaining run; rebuild the lab when it is lost.

    Raises LabLostError when the last permitted lab is lost too, LabError when a lab that the user made is broken,
    KeyboardInterrupt when a signal ended the call, and the errors of
    :func:`assay.execution.campaign.attempts.runner.run_campaign` raises.
    """
    parts: list[CampaignSummary] = []
    while True:
        with terminable(), hosts_for(plan.cluster, watcher.step) as (cluster, lab):
            work = run_campaign(plan, cluster, lab, repository, schedule, watcher, provide, with_baseline=baseline)
            parts.append(run_interruptibly(work, watcher.say))
        lost = parts[-1].lab_lost
        if lost is None:
            return added_up(parts)
        if len(parts) == LABS_MAX:
            raise lost
        watcher.say(f"rebuilding the lab: {lost.message}")
