"""Are the clusters' hosts fit to be measured? What `assay check` found last of each cluster, host by host.

In: a repository. Out: for each cluster the newest check: criteria against hosts, and what to change, the worst first.
"""

from dataclasses import dataclass

from assay.model import Criterion, Fitness, Grade, Reading
from assay.model.clusters.host_checks import BETWEEN
from assay.store import Repository
from assay.store.kept_checks import newest_checks


@dataclass(frozen=True, slots=True)
class CriterionRow:
    """One criterion over all hosts; a grade for each host, None where it has nothing to say of one."""

    criterion: Criterion
    grades: tuple[Grade | None, ...]


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing to change, with who recommends what."""

    reading: Reading
    criterion: Criterion


@dataclass(frozen=True, slots=True)
class CheckedCluster:
    """A cluster's newest check. ``rows``: criteria by which something is not fit; the others are counted in ``fit``."""

    fitness: Fitness
    hosts: tuple[str, ...]
    rows: tuple[CriterionRow, ...]
    fit: int
    troubles: tuple[Trouble, ...]
    counts: dict[str, int]


def checked_hosts(repository: Repository) -> tuple[CheckedCluster, ...]:
    """Return the newest check of every cluster that was checked and kept."""
    return tuple(_shown(found) for found in newest_checks(repository))


def _shown(found: Fitness) -> CheckedCluster:
    hosts = (*found.hosts, *([BETWEEN] if len(found.hosts) > 1 else []))
    rows = [CriterionRow(each, tuple(found.worst(host, each.name) for host in hosts)) for each in found.criteria]
    worse = [row for row in rows if any(grade is not None and grade.rank >= Grade.NOTE.rank for grade in row.grades)]
    known = {each.name: each for each in found.criteria}
    return CheckedCluster(
        found,
        hosts,
        tuple(worse),
        len(rows) - len(worse),
        tuple(Trouble(reading, known[reading.criterion]) for reading in found.troubles()),
        {str(grade): found.count(grade) for grade in reversed(Grade)},
    )
