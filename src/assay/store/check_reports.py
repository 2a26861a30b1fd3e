"""Store the results of `assay check` in the repository: one JSON file per check, in a folder per cluster.

In: a repository, a :class:`~assay.model.clusters.host_checks.HostCheckReport`. Out: the newest report of each cluster.
"""

from pathlib import Path

import msgspec

from assay.foundation.output import write_output
from assay.model import HostCheckReport
from assay.store.repository import Repository


def store_check(repository: Repository, report: HostCheckReport) -> Path:
    """Store ``report`` and return its file."""
    folder = repository.folders.checks / report.cluster
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{report.checked_at.replace(':', '').replace('+0000', 'Z')}.json"
    write_output(path, msgspec.json.format(msgspec.json.encode(report)))
    return path


def newest_checks(repository: Repository) -> list[HostCheckReport]:
    """Return the newest report of each cluster, newest first; files that can't be read are skipped."""
    reports = []
    for folder in sorted(repository.folders.checks.glob("*/")):
        for path in sorted(folder.glob("*.json"), reverse=True):
            try:
                reports.append(read_check(path.read_bytes()))
            except (OSError, msgspec.MsgspecError):
                continue
            break
    return sorted(reports, key=lambda report: report.checked_at, reverse=True)


def read_check(content: bytes) -> HostCheckReport:
    """Return a report from its JSON.

    The keys ``found`` and ``unreached`` of earlier versions are read as ``message`` and ``unreachable``.

    Raises msgspec.MsgspecError for other content.
    """
    tree = msgspec.json.decode(content)
    readings = tree.get("readings", ()) if isinstance(tree, dict) else ()
    for reading in readings if isinstance(readings, list) else ():
        if isinstance(reading, dict) and "found" in reading:
            reading.setdefault("message", reading.pop("found"))
    if isinstance(tree, dict) and "unreached" in tree:
        tree.setdefault("unreachable", tree.pop("unreached"))
    return msgspec.convert(tree, HostCheckReport)
