"""Store the results of `assay check` in the repository: one JSON file per check, in a folder per cluster.

In: a repository, a :class:`~assay.model.clusters.host_checks.Fitness`. Out: the same, the newest of each cluster first.
"""

from pathlib import Path

import msgspec

from assay.foundation.output import write_whole
from assay.model import Fitness
from assay.store.repository import Repository


def keep_check(repository: Repository, checks: Fitness) -> Path:
    """Keep ``found`` and return its file."""
    folder = repository.folders.checks / checks.cluster
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{checks.checked_at.replace(':', '').replace('+0000', 'Z')}.json"
    write_whole(path, msgspec.json.format(msgspec.json.encode(checks)))
    return path


def newest_checks(repository: Repository) -> list[Fitness]:
    """Return the newest check of each cluster, the newest first; files that can't be read are skipped."""
    checks = []
    for folder in sorted(repository.folders.checks.glob("*/")):
        for path in sorted(folder.glob("*.json"), reverse=True):
            try:
                checks.append(msgspec.json.decode(path.read_bytes(), type=Fitness))
            except (OSError, msgspec.MsgspecError):
                continue
            break
    return sorted(checks, key=lambda check: check.checked_at, reverse=True)
