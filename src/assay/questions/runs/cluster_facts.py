"""Look up the recorded facts of clusters, and find runs that contradict the facts.

In: a repository and a table of runs. Out: the recorded facts of each cluster and layout, which prices apply to; and
the runs whose data size is implausible, which no decision counts.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from assay.analysis.outliers.data_sizes import ImplausibleSizes, implausible_sizes
from assay.analysis.statistics import RunTable, first_rows, groups_by, usable
from assay.model import ClusterFacts, Environment
from assay.store import Repository

FactsByLayout = Mapping[tuple[str, str], ClusterFacts]
"""Cluster and layout to the facts that a run there recorded."""


def first_facts(hosts: Iterable[tuple[str, str, Environment]]) -> dict[tuple[str, str], ClusterFacts]:
    """Return the first recorded facts of each cluster and layout."""
    facts: dict[tuple[str, str], ClusterFacts] = {}
    for cluster, layout, environment in hosts:
        if (cluster, layout) not in facts and environment.cluster is not None:
            facts[cluster, layout] = environment.cluster
    return facts


def facts_by_layout(repository: Repository, table: RunTable) -> dict[tuple[str, str], ClusterFacts]:
    """Return the facts that one run on each cluster and layout recorded."""
    names = [name for name in ("cluster", "layout") if name in table.columns]
    rows = first_rows(groups_by(table, names)).tolist()
    levels = (
        [table.columns[name].text(row) or "" if name in names else "" for row in rows] for name in ("cluster", "layout")
    )
    return first_facts(zip(*levels, repository.environments_at(table, rows), strict=True))


def implausible_runs(table: RunTable, facts: FactsByLayout) -> ImplausibleSizes:
    """Return the valid runs of ``table`` whose recorded data size is implausible.

    ``facts``: as :func:`facts_by_layout` returns them; times are compared per worker where every cluster's are known.
    """
    column = table.columns.get("cluster")
    workers = np.full(len(table), np.nan)
    if column is not None:
        known = {cluster: recorded.workers for (cluster, _), recorded in facts.items() if recorded.workers}
        by_level = np.array([*(float(known.get(level, np.nan)) for level in column.levels), np.nan])
        workers = by_level[column.codes]  # the code of an absent level is -1: the last entry
    return implausible_sizes(table, usable(table), workers)
