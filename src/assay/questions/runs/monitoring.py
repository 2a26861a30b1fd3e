"""Answer what a monitoring system asks: runs by status, the newest time of each kind of run, and running campaigns.

In: the runs as columns, the campaigns, and the options of decisions. Out: :class:`Monitoring`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import RunTable, counts_by, groups_by, has_level
from assay.model import HostSample, RunStatus
from assay.questions.decisions.option_figures import OptionFigures
from assay.store import Repository
from assay.store.campaigns.host_samples import HostSamplesFile
from assay.store.campaigns.status import CampaignStatus

LAST_RUNS_MAX = 1_000
"""Maximum number of kinds of run in an answer, the newest first."""
KIND = ("workload", "cluster", "layout", "network", "origin", "lab_scale")
"""Columns whose levels make a kind of run."""


@dataclass(frozen=True, slots=True)
class LastRun:
    """The newest valid run of one kind."""

    levels: tuple[tuple[str, str], ...]
    """Column and level, in the order of :data:`KIND`; an empty level where the run has none."""
    duration_s: float
    started_unix_s: float
    runs: int
    """Valid runs of this kind."""


@dataclass(frozen=True, slots=True)
class DecisionFigures:
    """The options of a buyer's questions."""

    options: tuple[OptionFigures, ...]
    read_at_s: float
    """Unix time at which the runs of the decisions were read."""


@dataclass(frozen=True, slots=True)
class Monitoring:
    """The state of a repository."""

    runs: tuple[tuple[str, int], ...]
    """Number of runs by status."""
    last_runs: tuple[LastRun, ...]
    running: tuple[CampaignStatus, ...]
    """Campaigns that are being executed."""
    hosts: tuple[tuple[str, HostSample], ...] = ()
    """Campaign id and latest sample of each node of the running jobs."""
    decisions: DecisionFigures | None = None
    """None before they were computed."""


def monitoring(table: RunTable, campaigns: Iterable[CampaignStatus] = ()) -> Monitoring:
    """Return the state of the repository whose runs are ``table``, without its decisions."""
    counts = counts_by(table, "status") if len(table) else {}
    return Monitoring(
        tuple((str(status), counts.get(status, 0)) for status in RunStatus),
        last_runs(table),
        tuple(campaign for campaign in campaigns if campaign.running),
    )


def host_samples(repository: Repository, campaigns: Iterable[CampaignStatus]) -> tuple[tuple[str, HostSample], ...]:
    """Return the latest sample of each node of the jobs that the running ``campaigns`` execute."""
    running_ids = (campaign.campaign_id for campaign in campaigns if campaign.running)
    return tuple(
        (campaign_id, sample)
        for campaign_id in running_ids
        for sample in HostSamplesFile(repository.folders.campaigns / campaign_id).read()
    )


def last_runs(table: RunTable) -> tuple[LastRun, ...]:
    """Return the newest valid run of each kind with a known start, the newest kind first."""
    if not len(table):
        return ()
    start_times, duration = (table.values[name] for name in ("started_unix_s", "duration_s"))
    rows = np.flatnonzero(
        has_level(table, "status", RunStatus.VALID) & np.isfinite(start_times) & np.isfinite(duration)
    )
    rows = rows[np.argsort(start_times[rows], kind="stable")[::-1]]
    names = [name for name in KIND if name in table.columns]
    groups = groups_by(table, names).of_row[rows]
    _, first, number = np.unique(groups, return_index=True, return_counts=True)
    newest = sorted(zip(first.tolist(), number.tolist(), strict=True))[:LAST_RUNS_MAX]
    return tuple(
        LastRun(
            tuple(
                (name, table.columns[name].text(row) or "") if name in table.columns else (name, "") for name in KIND
            ),
            float(duration[row]),
            float(start_times[row]),
            runs,
        )
        for row, runs in ((int(rows[at]), runs) for at, runs in newest)
    )
