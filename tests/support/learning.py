"""Make tables with known truth: times follow a formula of the configuration with noise of known width."""

from __future__ import annotations

import math
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.analysis.statistics.runs.run_table import RunTable, table_of
from assay.model.runs.run import Run
from assay.questions.forecasts.model_cache import learned
from assay.store import Repository
from builders import make_run
from made_once import made_once

WORKLOADS = {"terasort": 1.0, "wordcount": 0.4, "sort": 0.7}
LAYOUTS = {"HDD": 3.0, "SSD": 1.0, "HD2": 2.0}
NETWORKS = {"ETH": 1.2, "IB": 1.0}
NOISE = 0.03


def time_s(workload: str, layout: str, network: str, slots: int, cores: int) -> float:
    """Return the true time: storage matters less the more a workload computes."""
    disk = LAYOUTS[layout] * WORKLOADS[workload]
    return 100.0 * (disk + 2.0 * (8 / min(slots, cores)) + 0.5 * NETWORKS[network])


def learning_runs(
    clusters: Sequence[int] = (8, 12), slots: Sequence[int] = (2, 4, 6, 8, 10, 12), seed: int = 7
) -> list[Run]:
    """Return a run of each configuration on clusters with the given cores, and a second run of some."""
    noise, runs = random.Random(seed), list[Run]()
    for cores in clusters:
        for workload in WORKLOADS:
            for layout in LAYOUTS:
                for network in NETWORKS:
                    for slot in slots:
                        for _ in range(2 if slot == 4 else 1):
                            true_s = time_s(workload, layout, network, slot, cores)
                            runs.append(
                                configured(
                                    len(runs),
                                    workload,
                                    layout,
                                    network,
                                    slot,
                                    cores,
                                    duration_s=true_s * math.exp(noise.gauss(0.0, NOISE)),
                                )
                            )
    return runs


def configured(number: int, workload: str, layout: str, network: str, slots: int, cores: int, **changes: Any) -> Run:
    """Return a run of one configuration."""
    cluster = {"name": f"c{cores}", "workers": 3, "cores": cores, "ram_gb": 64.0}
    fields: dict[str, Any] = {
        "workload": workload,
        "workload_parameters": {},
        "layout": layout,
        "levels": {"layout": layout, "network": network},
        "cluster": f"c{cores}",
        "parameters": {"mapreduce.tasktracker.map.tasks.maximum": str(slots)},
        "lab_scale": None,
        "environment": {"cluster": cluster},
    }
    return make_run(number, **{**fields, **changes})


def learning_table(**how: Any) -> RunTable:
    """Return the same as a table."""
    return table_of(learning_runs(**how))


def learned_repository(factory: pytest.TempPathFactory) -> Repository:
    """Return a copy of a repository of the same runs with their model, which is learned once for a test session."""
    copy = factory.mktemp("learned") / "repository"
    shutil.copytree(made_once(factory, "learned-repository", _learn_in), copy)
    return Repository.open(copy)


def _learn_in(root: Path) -> None:
    repository = Repository.create(root)
    for run in learning_runs():
        repository.publish(run)
    learned(repository)
