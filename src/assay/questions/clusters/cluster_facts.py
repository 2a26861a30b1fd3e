"""Look up the recorded facts of clusters, and find runs that contradict the facts.

In: a repository and a table of runs. Out: the recorded facts of each combination of :data:`HARDWARE` levels, which
prices apply to; and the runs with an implausible data size, which decisions exclude.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from assay.analysis.cost.parts import Counts, counts_from_facts
from assay.analysis.outliers.data_sizes import ImplausibleSizes, implausible_sizes
from assay.analysis.statistics import Floats, RunTable, first_rows, groups_by, usable
from assay.model import LAYOUT_FACTOR, WORKERS_FACTOR, ClusterFacts, Environment
from assay.store import Repository

HARDWARE = ("cluster", LAYOUT_FACTOR, WORKERS_FACTOR)
"""Columns that determine which hardware a run used. A plan that varies workers uses a part of its cluster."""
Hardware = tuple[str, ...]
"""Levels of :data:`HARDWARE`; an empty text for a level that a run does not have."""
FactsByHardware = Mapping[Hardware, ClusterFacts]
"""Recorded facts by hardware, each from one run."""


def hardware_key(levels: Mapping[str, str]) -> Hardware:
    """Return the key of ``levels`` in :data:`FactsByHardware`."""
    return tuple(levels.get(name, "") for name in HARDWARE)


def first_facts(runs: Iterable[tuple[Mapping[str, str], Environment]]) -> dict[Hardware, ClusterFacts]:
    """Return the facts that the first run on each hardware recorded, from the levels and environments of runs."""
    facts: dict[Hardware, ClusterFacts] = {}
    for levels, environment in runs:
        if environment.cluster is not None:
            facts.setdefault(hardware_key(levels), environment.cluster)
    return facts


def facts_by_hardware(repository: Repository, table: RunTable) -> dict[Hardware, ClusterFacts]:
    """Return the facts that one run on each hardware recorded."""
    names = [name for name in HARDWARE if name in table.columns]
    rows = first_rows(groups_by(table, names)).tolist()
    levels = [{name: table.columns[name].text(row) or "" for name in names} for row in rows]
    return first_facts(zip(levels, repository.environments_at(table, rows), strict=True))


def priced_parts(facts: FactsByHardware, levels: Mapping[str, str]) -> Counts:
    """Return the numbers of priced parts of a configuration with ``levels``."""
    return counts_from_facts(facts.get(hardware_key(levels)), levels.get(LAYOUT_FACTOR, ""), levels)


def recorded_workers(table: RunTable, facts: FactsByHardware) -> Floats:
    """Return the number of workers of each run of ``table``; NaN where none is recorded."""
    names = [name for name in HARDWARE if name in table.columns]
    groups = groups_by(table, names)
    workers = []
    for row in first_rows(groups).tolist():
        recorded_facts = facts.get(hardware_key({name: table.columns[name].text(row) or "" for name in names}))
        workers.append(float(recorded_facts.workers) if recorded_facts and recorded_facts.workers else np.nan)
    return np.array(workers)[groups.of_row] if workers else np.full(len(table), np.nan)


def implausible_runs(table: RunTable, facts: FactsByHardware) -> ImplausibleSizes:
    """Return the valid runs of ``table`` whose recorded data size is implausible.

    Times are compared per worker where the workers of all runs are known.
    """
    return implausible_sizes(table, usable(table), recorded_workers(table, facts))
