"""Execute a campaign: one execution of a plan, on a lab, on this machine, on hosts, or in simulation.

In: a :class:`CampaignRequest` and a repository. :func:`prepare_campaign` returns the schedule, :func:`execute_campaign`
makes its remaining runs, also after an interruption, and returns the :class:`CampaignSummary` of the whole call. If a
lab that the campaign made loses disks or nodes, it is rebuilt; one call makes at most :data:`LABS_MAX` labs.
"""

from collections.abc import Callable
from dataclasses import dataclass

from assay.execution.campaign.attempts.runner import CampaignCluster, CampaignSummary, merge_summaries, run_campaign
from assay.execution.campaign.cluster_hosts import hosts_for
from assay.execution.campaign.loop import CampaignWork, ProgressObserver
from assay.execution.campaign.prepare import PreparedCampaign, prepare
from assay.execution.engines.contract import MakeProvider
from assay.execution.planning.forecast.call_limits import Stop
from assay.execution.planning.forecast.forecast import Schedule
from assay.execution.planning.next_run import NextRuns, remaining_planned
from assay.foundation.cancellation import run_interruptibly
from assay.foundation.process import terminable
from assay.model import Plan
from assay.store import Repository

LABS_MAX = 4
"""Maximum number of labs that one call makes."""


def _accept(plan: Plan, schedule: Schedule) -> None:
    """Accept every run."""


@dataclass(frozen=True, slots=True)
class CampaignRequest:
    """The plan of one call, the engine that executes it, and the selection of its runs."""

    plan: Plan
    provide: MakeProvider
    again: bool = False
    """Whether to start a new campaign if all runs of the plan are made."""
    only: tuple[str, ...] = ()
    """Workloads and levels (``layout=SS2``) of the runs to make now; none means all."""
    stop: Stop | None = None
    """When to stop starting runs; None: after the last run."""
    baseline: bool = True
    """Whether to measure devices and links first."""
    next_runs: NextRuns = remaining_planned
    check: Callable[[Plan, Schedule], None] = _accept
    """Raises SpecificationError for a remaining run that the engine cannot execute."""


def prepare_campaign(request: CampaignRequest, repository: Repository) -> PreparedCampaign:
    """Return the schedule of the request: a new campaign, or the remaining runs of an earlier campaign.

    Raises SpecificationError for runs that cannot be executed.
    """
    schedule = prepare(
        request.plan, repository, again=request.again, only=request.only, stop=request.stop, next_runs=request.next_runs
    )
    if schedule.remaining:
        request.check(request.plan, schedule)
    return schedule


def execute_campaign(
    request: CampaignRequest, schedule: PreparedCampaign, repository: Repository, observer: ProgressObserver
) -> CampaignSummary:
    """Make every remaining run; rebuild the lab when it is lost.

    Raises LabLostError when :data:`LABS_MAX` labs were lost, LabError when a lab that the user made is broken,
    KeyboardInterrupt when a signal ended the call, and the errors of
    :func:`assay.execution.campaign.attempts.runner.run_campaign`.
    """
    plan = request.plan
    summaries: list[CampaignSummary] = []
    while True:
        with terminable(), hosts_for(plan.cluster, observer.step) as (cluster, lab):
            campaign_cluster = CampaignCluster(cluster, lab, request.provide)
            work = CampaignWork(plan, repository, schedule, observer)
            campaign = run_campaign(work, campaign_cluster, with_baseline=request.baseline)
            summaries.append(run_interruptibly(campaign, observer.say))
        lab_error = summaries[-1].lab_lost
        if lab_error is None:
            return merge_summaries(summaries)
        if len(summaries) == LABS_MAX:
            raise lab_error
        observer.say(f"rebuilding the lab: {lab_error.message}")
