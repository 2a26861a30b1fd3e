"""Engine parameters that a plan's own sense depends on: how many copies HDFS keeps, and how long its blocks are.

All others pass through as they are; only the engine knows them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from assay.model.cluster import Cluster
from assay.model.plan import WORKERS_FACTOR, Factor
from assay.spec.document import Problems
from assay.spec.settings import places
from assay.units import parse_bytes

REPLICATION = "dfs.replication"
BLOCK_SIZE = "dfs.blocksize"
REPLICATION_DEFAULT = 3
"""Hadoop's own (hdfs-default.xml); a cluster of fewer workers gets as many copies as it can hold."""
BLOCK_MIN_BYTES = 2**20
"""The NameNode refuses shorter blocks (dfs.namenode.fs-limits.min-block-size)."""


def engine_parameters(
    given: Mapping[str, str], factors: Sequence[Factor], cluster: Cluster, problems: Problems
) -> dict[str, str]:
    """Return the parameters of all runs, with the number of copies when the plan does not say it; note mistakes.

    Where the number of workers is varied, all runs keep as many copies as the fewest workers can hold.
    """
    found = places(given, factors)
    numbers = [value for _, name, value in found if name == WORKERS_FACTOR]
    workers = min([len(cluster.workers), *(int(one) for one in numbers if re.fullmatch("[1-9][0-9]{0,8}", one))])
    checks: dict[str, Callable[[str], str | None]] = {
        REPLICATION: lambda text: _replication_mistake(text, len(cluster.workers)),
        BLOCK_SIZE: _block_mistake,
    }
    for at, name, value in found:
        mistake = checks[name](value) if name in checks else None
        if mistake:
            problems.add(at, f"{name}: {mistake}")
    return {REPLICATION: str(min(REPLICATION_DEFAULT, workers)), **given}


def _replication_mistake(text: str, workers: int) -> str | None:
    if not text.isdecimal() or len(text) > 9 or int(text) < 1:
        return f"{text[:20]!r} is not a number of copies: write 1, 2, 3, …"
    if int(text) > workers:
        return f"{text} copies need as many workers, and the cluster has {workers}"
    return None


def _block_mistake(text: str) -> str | None:
    try:
        length = int(text) if text.isdecimal() and len(text) < 20 else parse_bytes(text)
    except ValueError as error:
        return str(error)
    if length < BLOCK_MIN_BYTES or length % 512:
        return f"{text} is no block size: HDFS takes multiples of 512 bytes from 1 MiB on"
    return None
