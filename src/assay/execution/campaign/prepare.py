"""Prepare a call of ``assay run``: schedule the plan's runs, and find the campaign to resume.

In: a plan, a repository or None, the options of the command line. Out: a :class:`PreparedCampaign`, and its
schedule as text. It connects to no host. With ``write=False`` it writes nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.execution.campaign.failures import retry_text
from assay.execution.campaign.overheads import measured_overheads
from assay.execution.planning.expansion import expand
from assay.execution.planning.forecast.call_limits import Stop, parse_selection
from assay.execution.planning.forecast.forecast import Schedule, update_schedule, with_warnings
from assay.execution.planning.next_run import NextRuns, remaining_planned
from assay.execution.planning.order import restarts, schedule
from assay.foundation.errors import RepositoryError
from assay.foundation.units import format_duration
from assay.model import Plan, Run
from assay.store import Repository
from assay.store.bundles.unpublished import publish_copies
from assay.store.campaigns.journal import CampaignJournal, create_campaign, known_campaigns
from assay.text import plural


@dataclass(frozen=True, slots=True)
class PreparedCampaign(Schedule):
    """A schedule with its campaign."""

    campaign: CampaignJournal | None = None
    """None in a preview of a campaign that is not started."""
    is_resumed: bool = False
    """Whether an earlier call started the campaign."""

    @property
    def journal(self) -> CampaignJournal:
        """The campaign's folder. Raises RepositoryError in a preview of a new campaign."""
        if self.campaign is None:
            raise RepositoryError("this campaign has not started")
        return self.campaign


def prepare(
    plan: Plan,
    repository: Repository | None,
    *,
    again: bool,
    only: Sequence[str] = (),
    stop: Stop | None = None,
    write: bool = True,
    history: Sequence[Run] | None = None,
    next_runs: NextRuns = remaining_planned,
) -> PreparedCampaign:
    """Return the schedule of ``plan``: a new campaign, or the remaining runs of a started campaign.

    ``repository`` may be None in a preview (``write=False``) if there is no repository yet. ``history``: the cluster's
    runs; None reads all runs of the repository. Raises :class:`SpecificationError`, before anything is started, for
    data that does not fit on the devices; a preview warns instead.
    """
    prepared_campaign = PreparedCampaign(schedule(plan, expand(plan)), stop=stop, next_runs=next_runs)
    prepared_campaign = replace(prepared_campaign, selection=parse_selection(only, prepared_campaign.runs))
    if history is None:
        history = repository.runs(environment=False) if repository else []
    if repository:
        campaigns = repository.folders.campaigns
        campaign = find_campaign(campaigns, plan, history, prepared_campaign, again=again)
        overheads = measured_overheads(campaigns, plan.cluster.name)
        campaign_id = campaign.campaign_id if campaign else None
        prepared_campaign = replace(
            prepared_campaign,
            campaign=campaign,
            campaign_id=campaign_id,
            is_resumed=campaign is not None,
            overheads=overheads,
        )
    prepared_campaign = with_warnings(
        plan, update_schedule(plan, prepared_campaign, history), history, refuse=write and stop is None
    )
    if repository and write and prepared_campaign.campaign is None:
        journal = create_campaign(repository.folders.campaigns, plan, len(prepared_campaign.runs))
        prepared_campaign = replace(prepared_campaign, campaign=journal, campaign_id=journal.campaign_id)
    return prepared_campaign


def find_campaign(
    campaigns: Path, plan: Plan, finished_runs: Sequence[Run], schedule: Schedule, *, again: bool
) -> CampaignJournal | None:
    """Return the campaign to resume; None when a new campaign is needed. Writes nothing.

    ``campaigns``: the repository's folder of campaigns. ``finished_runs``: the repository's runs. A complete campaign
    is returned too, unless ``again`` is set.
    """
    for _, path, fingerprint in sorted(known_campaigns(campaigns), reverse=True):
        if fingerprint != plan.fingerprint:
            continue
        journal = CampaignJournal(path.parent, path.parent.name)
        runs = [run for run in finished_runs if run.campaign_id == journal.campaign_id]
        return None if again and not schedule.next_runs(plan, schedule.runs, runs) else journal
    return None


def recover_unpublished(repository: Repository, journal: CampaignJournal, say: Callable[[str], None]) -> None:
    """Store runs that an earlier call of this campaign could not store. Raises RepositoryError if that fails again."""
    for run in publish_copies(journal.campaign_id, repository.place_copy):
        journal.record_end(run.position, run)
        say(f"run {run.run_id}, which an earlier call could not store, is stored now")


def plan_lines(plan: Plan, prepared_campaign: PreparedCampaign, repository_root: Path) -> list[str]:
    """Return a call's schedule as lines of text."""
    configurations = list(dict.fromkeys(run.configuration.key for run in prepared_campaign.runs))
    workloads = list(dict.fromkeys(run.workload.key for run in prepared_campaign.runs))
    repetitions = max(run.repetition for run in prepared_campaign.runs)
    repetitions_text = f"{plan.repetitions} to {repetitions}" if plan.until else str(repetitions)
    lines = [
        f"{plural(len(workloads), 'workload')} ({', '.join(workloads)}) × "
        f"{plural(len(configurations), 'configuration')} "
        f"({'; '.join(configurations)}) × {repetitions_text} repetition{'' if repetitions_text == '1' else 's'} = "
        f"{plural(len(prepared_campaign.runs), 'run')}"
    ]
    if prepared_campaign.is_resumed:
        done_text = f"{prepared_campaign.done} of {len(prepared_campaign.runs)} runs are done"
        lines.append(f"resuming campaign {prepared_campaign.journal.campaign_id}: {done_text}")
    daemon_starts = sum(
        reason is not None for reason in restarts((run for run, _ in prepared_campaign.remaining), plan)
    )
    counts = f"remaining runs: {len(prepared_campaign.remaining)}; daemon starts: {daemon_starts}"
    lines.append(f"{counts}; retries per run: {retry_text(plan)}")
    lines += [f"warning: {message}" for message in prepared_campaign.warnings]
    lines.append(f"expected to take {format_duration(prepared_campaign.expected_s)}; runs go to {repository_root}")
    return lines
