"""List the campaigns of a repository with their progress, their plans, and the cluster files for new plans.

In: a repository, which another process may be writing, and a time (Unix seconds). Out: frozen answers. Reads only.
"""

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from assay.analysis.statistics import RunTable, has_level
from assay.model import Run
from assay.store import Repository
from assay.store.campaigns.plan_texts import PlanText, plan_texts
from assay.store.campaigns.status import CampaignStatus, campaign_folders, find_campaigns, status_of

LISTED_MAX = 200
"""Maximum number of listed campaigns."""
CLUSTERS_MAX = 200
"""Maximum number of cluster files read from one folder."""
HISTORY_MAX = 5_000
"""Maximum number of runs read of one cluster (the newest)."""
CLUSTER_BYTES_MAX = 200_000
"""Maximum size of a cluster file, in bytes."""
_CLUSTER_FILE = re.compile(r"^cluster:.*^nodes:", re.MULTILINE | re.DOTALL)


def campaigns(repository: Repository, now_unix_s: float, campaigns_max: int | None = None) -> list[CampaignStatus]:
    """Return the progress of the campaigns, newest first; at most ``campaigns_max``."""
    folders = campaign_folders(repository.folders.campaigns)[::-1][:campaigns_max]
    return [status_of(folder, now_unix_s) for folder in folders]


def campaigns_named(repository: Repository, prefix: str | None, now_unix_s: float) -> list[CampaignStatus]:
    """Return the campaigns whose ids begin with ``prefix``; without it, the running campaigns, or else the newest.

    Raises RepositoryError if no id begins with it.
    """
    return find_campaigns(repository.folders.campaigns, prefix, now_unix_s)


def plans(repository: Repository) -> list[PlanText]:
    """Return the plans of the campaigns, newest first."""
    return plan_texts(repository.folders.campaigns)


def newest_on(repository: Repository, table: RunTable, cluster: str) -> list[Run]:
    """Return the newest runs on a cluster, at most :data:`HISTORY_MAX`: the basis of time estimates."""
    return repository.runs_at(table, np.flatnonzero(has_level(table, "cluster", cluster))[-HISTORY_MAX:].tolist())


def runs_of_campaign(table: RunTable, campaign_id: str) -> int:
    """Return the number of runs of a campaign in the table."""
    return int(np.count_nonzero(has_level(table, "campaign_id", campaign_id))) if len(table) else 0


def cluster_files(repository: Repository, served_folders: Iterable[Path]) -> dict[str, str]:
    """Return the text of each cluster file in ``served_folders`` and in the repository, by name.

    Files that are too large, unreadable, or reached by a link out of the folder are left out.
    """
    texts: dict[str, str] = {}
    for folder in (*served_folders, repository.folders.clusters):
        for path in sorted([*folder.glob("*.yaml"), *folder.glob("*/*.yaml")])[:CLUSTERS_MAX]:
            try:
                if not path.resolve().is_relative_to(folder.resolve()) or path.stat().st_size > CLUSTER_BYTES_MAX:
                    continue
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            if _CLUSTER_FILE.search(text):
                texts.setdefault(str(path.relative_to(folder)), text)
    return texts
