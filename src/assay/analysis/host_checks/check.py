"""What a check is: a criterion, and how a host's survey is evaluated by it. In: surveys. Out: what was found. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from assay.model import Advice, Criterion, Grade, Mount, NodeType, Role, Survey

CLOUDERA = "Cloudera, CDP 7.1.9, Managing Clusters"
CLOUDERA_RA = "Cloudera, CDP Private Cloud Base Reference Architecture: Kernel and OS tuning"
HORTONWORKS = "Hortonworks Community, OS Configurations for Better Hadoop Performance"
SANDISK = "SanDisk, CloudSpeed SSDs under TestDFSIO (2014), section on tuning"
SAMMER = "E. Sammer, Hadoop Operations (O'Reilly 2012), chapter 4"
ARENADATA = "Arenadata Hadoop, file system requirements"
LINUX = "Linux's own default"
ASSAY = "assay: what makes runs comparable"


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """One thing that was found; ``subject``: the device, mount or interface that it is about."""

    grade: Grade
    message: str
    subject: str = ""


@dataclass(frozen=True, slots=True)
class DescribedHost:
    """What the cluster file says of a host; all of it empty where there is no file."""

    type: NodeType | None = None
    roles: frozenset[Role] = frozenset()
    directories: Mapping[str, str] = field(default_factory=dict)
    """Device to directory."""
    home: str | None = None
    attached: bool = False


HostJudge = Callable[[Survey, DescribedHost], Iterable[CheckFinding]]
BetweenJudge = Callable[[Mapping[str, Survey]], Iterable[CheckFinding]]


@dataclass(frozen=True, slots=True)
class HostCheck:
    """A criterion of each host by itself."""

    criterion: Criterion
    judge: HostJudge


@dataclass(frozen=True, slots=True)
class BetweenCheck:
    """A criterion of all hosts together: they are to be alike."""

    criterion: Criterion
    judge: BetweenJudge


def criterion(name: str, title: str, why: str, change: str, *advice: tuple[str, str]) -> Criterion:
    """Return a criterion; each advice is a value and its source."""
    return Criterion(name, title, why, change, tuple(Advice(*entry) for entry in advice))


def fit(message: str, subject: str = "") -> CheckFinding:
    """Return that something is as it should be."""
    return CheckFinding(Grade.FIT, message, subject)


def unknown(why: str, subject: str = "") -> CheckFinding:
    """Return that something could not be known, and why."""
    return CheckFinding(Grade.UNKNOWN, why, subject)


def graded(good: bool, otherwise: Grade, message: str, subject: str = "") -> CheckFinding:
    """Return ``message`` as fit where ``good``, else with the grade ``otherwise``."""
    return CheckFinding(Grade.FIT if good else otherwise, message, subject)


def data_mounts(host: Survey, described: DescribedHost) -> list[Mount]:
    """Return the file systems with data: those of the described directories, else all that are for data."""
    if not described.directories:
        return host.data_mounts()
    mounts = {mount.point: mount for d in described.directories.values() if (mount := host.mount_at(d))}
    return list(mounts.values())


def data_blocks(host: Survey, described: DescribedHost) -> list[str]:
    """Return the names of the block devices on which these file systems lie, each once."""
    names = [host.block_of(mount) for mount in data_mounts(host, described)]
    return list(dict.fromkeys(name for name in names if name))


def data_disks(host: Survey, described: DescribedHost) -> list[str]:
    """Return the names of the disks under them in the end."""
    return list(dict.fromkeys(disk for name in data_blocks(host, described) for disk in host.disks_of(name)))
