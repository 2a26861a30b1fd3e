"""Find the level of a factor that runs have in common without recording it.

In: a repository, its valid runs, and a factor. Out: the levels by the facts and the cluster files of the runs. A run
records only what its plan sets: the network, the workers and the containers of other runs follow from the cluster file
of their campaign, or from the example that describes their cluster, and from the defaults of their engine.
"""

from collections.abc import Sequence

import numpy as np

from assay.analysis.statistics import RunTable, first_rows, groups_by, has_level
from assay.foundation.errors import AssayError
from assay.model import CONTAINERS, NETWORK_FACTOR, WORKERS_FACTOR
from assay.questions.clusters.cluster_facts import facts_by_hardware, recorded_workers
from assay.questions.forecasts.measured import Configured, measured_of
from assay.questions.runs.plans import example_of
from assay.store import Repository

_HARDWARE = ("cluster", "campaign_id", "engine", NETWORK_FACTOR, WORKERS_FACTOR)
"""Columns that determine the cluster file of a run, and which part of the cluster it uses."""
_READ_MAX = 50
"""Maximum number of configurations whose cluster file is read."""


def common_levels(repository: Repository, valid_table: RunTable, factor: str) -> tuple[tuple[str, ...], int]:
    """Return the levels of ``factor`` that facts and cluster files state, and the number of runs with a stated level.

    ``factor`` is one that no run records. Empty where no run has a stated level.
    """
    levels: dict[str, int] = {}
    if factor == WORKERS_FACTOR:
        workers = recorded_workers(valid_table, facts_by_hardware(repository, valid_table))
        counts, numbers = np.unique(workers[np.isfinite(workers)], return_counts=True)
        levels = {f"{count:g}": int(number) for count, number in zip(counts, numbers, strict=True)}
    if not levels and factor in (WORKERS_FACTOR, NETWORK_FACTOR, CONTAINERS):
        levels = _levels_of_files(repository, valid_table, factor)
    return tuple(sorted(levels)), sum(levels.values())


def link_rates(repository: Repository, valid_table: RunTable, networks: Sequence[str]) -> dict[str, str]:
    """Return the rate per node of each network, ``1 Gbit/s``, where all its runs have the same stated rate."""
    rates: dict[str, str] = {}
    for network in networks:
        network_table = valid_table.subset(np.flatnonzero(has_level(valid_table, NETWORK_FACTOR, network)))
        levels = _levels_of_files(repository, network_table, NETWORK_FACTOR)
        if len(levels) == 1 and sum(levels.values()) == len(network_table):
            rates[network] = next(iter(levels)).replace("Gbit", " Gbit")
    return rates


def _levels_of_files(repository: Repository, valid_table: RunTable, factor: str) -> dict[str, int]:
    """Return the number of runs at each level, by the cluster files of the runs."""
    groups = groups_by(valid_table, [name for name in _HARDWARE if name in valid_table.columns])
    rows = first_rows(groups)
    if len(rows) > _READ_MAX:
        return {}
    numbers = np.bincount(groups.of_row, minlength=len(rows))
    levels: dict[str, int] = {}
    for run, number in zip(repository.runs_at(valid_table, rows.tolist()), numbers.tolist(), strict=True):
        try:
            groups_of_run = (
                measured_of(repository, [run])[0] or measured_of(repository, [run], example_of(run.cluster))[0]
            )
            level = _level(groups_of_run[0].configured(), factor) if groups_of_run else None
        except AssayError:  # a file of an older version, or an edited file
            level = None
        if level is not None:
            levels[level] = levels.get(level, 0) + number
    return levels


def _level(configured: Configured, factor: str) -> str | None:
    """Return the level of a factor as plans write it: ``10Gbit/s``, ``3``."""
    if factor == NETWORK_FACTOR:
        return f"{configured.link_bits_per_s / 1e9:g}Gbit/s"
    number = configured.workers if factor == WORKERS_FACTOR else configured.containers
    return None if number is None else f"{number}"
