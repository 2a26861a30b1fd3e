"""Look up what runs recorded of their clusters, which prices apply to.

In: a repository and a table of runs. Out: the recorded facts of each cluster and layout.
"""

from collections.abc import Iterable, Mapping

from assay.analysis.statistics import RunTable, first_rows, groups_by
from assay.model import ClusterFacts, Environment
from assay.store import Repository

PlaceFacts = Mapping[tuple[str, str], ClusterFacts]
"""Cluster and layout to the facts that a run there recorded."""


def first_facts(hosts: Iterable[tuple[str, str, Environment]]) -> dict[tuple[str, str], ClusterFacts]:
    """Return the first recorded facts of each cluster and layout."""
    facts: dict[tuple[str, str], ClusterFacts] = {}
    for cluster, layout, environment in hosts:
        if (cluster, layout) not in facts and environment.cluster is not None:
            facts[cluster, layout] = environment.cluster
    return facts


def facts_of_places(repository: Repository, table: RunTable) -> dict[tuple[str, str], ClusterFacts]:
    """Return the facts that one run on each cluster and layout recorded."""
    names = [name for name in ("cluster", "layout") if name in table.columns]
    rows = first_rows(groups_by(table, names)).tolist()
    levels = (
        [table.columns[name].text(row) or "" if name in names else "" for row in rows] for name in ("cluster", "layout")
    )
    return first_facts(zip(*levels, repository.environments_at(table, rows), strict=True))
