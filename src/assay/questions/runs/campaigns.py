"""How a repository's campaigns stand, which plans they carried out, and which clusters plans can be made for.

In: a repository, which another process may be writing, and a time (Unix seconds). Out: frozen answers. Reads only.
"""

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from assay.analysis.statistics import RunTable, has_level
from assay.execution.campaign.plan_texts import PlanText, plan_texts
from assay.execution.campaign.status import CampaignStatus, campaign_folders, find, status_of
from assay.model import Run
from assay.store import Repository

LISTED_MAX = 200
CLUSTERS_MAX = 200
HISTORY_MAX = 5_000
CLUSTER_BYTES_MAX = 200_000
_IS_CLUSTER = re.compile(r"^cluster:.*^nodes:", re.MULTILINE | re.DOTALL)


def campaigns(repository: Repository, now_unix_s: float, most: int | None = None) -> list[CampaignStatus]:
    """Return how the campaigns stand, the newest first; ``most``: no more than so many."""
    folders = campaign_folders(repository.folders.campaigns)[::-1][:most]
    return [status_of(folder, now_unix_s) for folder in folders]


def campaigns_named(repository: Repository, prefix: str | None, now_unix_s: float) -> list[CampaignStatus]:
    """Return the campaigns whose ids begin with ``prefix``; without one those that run, or else the newest.

    Raises RepositoryError when no id begins so.
    """
    return find(repository.folders.campaigns, prefix, now_unix_s)


def plans(repository: Repository) -> list[PlanText]:
    """Return the plans that were carried out, as they were, the newest first."""
    return plan_texts(repository.folders.campaigns)


def newest_on(repository: Repository, table: RunTable, cluster: str) -> list[Run]:
    """Return the newest runs on a cluster, whole, at most :data:`HISTORY_MAX`: what the time of others is told from."""
    return repository.runs_at(table, np.flatnonzero(has_level(table, "cluster", cluster))[-HISTORY_MAX:].tolist())


def cluster_files(repository: Repository, served: Iterable[Path]) -> dict[str, str]:
    """Return the cluster files in the ``served`` folders and the repository's own: name to text; odd ones are left out.

    A file that a link leads out of its folder to is none of them.
    """
    found: dict[str, str] = {}
    for folder in (*served, repository.folders.clusters):
        for path in sorted([*folder.glob("*.yaml"), *folder.glob("*/*.yaml")])[:CLUSTERS_MAX]:
            try:
                if not path.resolve().is_relative_to(folder.resolve()) or path.stat().st_size > CLUSTER_BYTES_MAX:
                    continue
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            if _IS_CLUSTER.search(text):
                found.setdefault(str(path.relative_to(folder)), text)
    return found
