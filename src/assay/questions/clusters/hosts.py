"""Read the newest host checks of each cluster, by host.

In: a repository. Out: for each cluster the criteria by host, and the problems, the worst first.
"""

from dataclasses import dataclass

from assay.model import CheckReading, Criterion, Grade, HostCheckReport
from assay.model.clusters.host_checks import BETWEEN
from assay.store import Repository
from assay.store.check_reports import newest_checks


@dataclass(frozen=True, slots=True)
class CriterionRow:
    """One criterion with its grade on each host; None if the host has no value."""

    criterion: Criterion
    grades: tuple[Grade | None, ...]


@dataclass(frozen=True, slots=True)
class HostProblem:
    """One value to improve, with its criterion."""

    reading: CheckReading
    criterion: Criterion


@dataclass(frozen=True, slots=True)
class CheckedCluster:
    """A cluster's newest check. ``rows``: criteria with a note or worse on some host; ``fit``: number of other
    criteria."""

    report: HostCheckReport
    hosts: tuple[str, ...]
    rows: tuple[CriterionRow, ...]
    fit: int
    problems: tuple[HostProblem, ...]
    counts: dict[str, int]


def checked_hosts(repository: Repository) -> tuple[CheckedCluster, ...]:
    """Return the newest stored check of every cluster."""
    return tuple(_checked_cluster(report) for report in newest_checks(repository))


def _checked_cluster(report: HostCheckReport) -> CheckedCluster:
    hosts = (*report.hosts, *([BETWEEN] if len(report.hosts) > 1 else []))
    rows = [
        CriterionRow(criterion, tuple(report.worst(host, criterion.name) for host in hosts))
        for criterion in report.criteria
    ]
    rows_to_improve = [
        row for row in rows if any(grade is not None and grade.rank >= Grade.NOTE.rank for grade in row.grades)
    ]
    criteria = {criterion.name: criterion for criterion in report.criteria}
    return CheckedCluster(
        report,
        hosts,
        tuple(rows_to_improve),
        len(rows) - len(rows_to_improve),
        tuple(HostProblem(reading, criteria[reading.criterion]) for reading in report.problems()),
        {str(grade): report.count(grade) for grade in reversed(Grade)},
    )
