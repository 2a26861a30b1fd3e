"""Define a host check: a row with a criterion, a probe that reads a survey, and a rule that grades the value.

In: the survey of a host and its description in the cluster file. Out: findings with a grade. Pure. The classes
``Criterion`` and ``Grade`` are in ``model/clusters/host_checks.py``.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from assay.model import Advice, Criterion, Grade, Mount, NodeType, Role, Survey

CLOUDERA = "Cloudera, CDP 7.1.9, Managing Clusters"
CLOUDERA_RA = "Cloudera, CDP Private Cloud Base Reference Architecture: Kernel and OS tuning"
HORTONWORKS = "Hortonworks Community, OS Configurations for Better Hadoop Performance"
SANDISK = "SanDisk, CloudSpeed SSDs under TestDFSIO (2014), section on tuning"
SAMMER = "E. Sammer, Hadoop Operations (O'Reilly 2012), chapter 4"
ARENADATA = "Arenadata Hadoop, file system requirements"
LINUX = "Linux's own default"
ASSAY = "assay: what makes runs comparable"
NOT_REPORTED = "the kernel does not report it"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DescribedHost:
    """The description of a host in the cluster file; empty without a file."""

    type: NodeType | None = None
    roles: frozenset[Role] = frozenset()
    directories: Mapping[str, str] = field(default_factory=dict)
    """Device to directory."""
    home: str | None = None
    attached: bool = False


@dataclass(frozen=True, slots=True)
class ProbedValue(Generic[T]):
    """One value that a probe read; ``subject``: the device, mount or interface that it is about."""

    value: T | None
    """None: not known."""
    text: str
    """The value as text, or the reason why it is not known."""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """The grade of one observation."""

    grade: Grade
    message: str
    subject: str = ""


Probe = Callable[[Survey, DescribedHost], Iterable[ProbedValue[T]]]
Rule = Callable[[T], Grade]


@dataclass(frozen=True, slots=True)
class HostCheck(Generic[T]):
    """A check of each host separately."""

    criterion: Criterion
    probe: Probe[T]
    rule: Rule[T]

    def findings(self, host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
        """Yield a finding for each observation; a value that is not known is graded as unknown."""
        for observation in self.probe(host, described):
            grade = Grade.UNKNOWN if observation.value is None else self.rule(observation.value)
            yield CheckFinding(grade, observation.text, observation.subject)


@dataclass(frozen=True, slots=True)
class CrossHostCheck:
    """A check for differences between hosts that should be equal."""

    criterion: Criterion
    findings: Callable[[Mapping[str, Survey]], Iterable[CheckFinding]]


def check(
    name: str, title: str, why: str, change: str, probe: Probe[T], rule: Rule[T], *advice: tuple[str, str]
) -> HostCheck[T]:
    """Return a check; ``change``: how to change the value; each advice is a value and its source."""
    return HostCheck(criterion(name, title, why, change, *advice), probe, rule)


def criterion(name: str, title: str, why: str, change: str, *advice: tuple[str, str]) -> Criterion:
    """Return a criterion; each advice is a value and its source."""
    return Criterion(name, title, why, change, tuple(Advice(*entry) for entry in advice))


def host_value(
    read: Callable[[Survey], T | None],
    text: Callable[[Survey, T], str] = lambda _, value: str(value),
    unknown: str = NOT_REPORTED,
) -> Probe[T]:
    """Return a probe of a single value of the host; ``unknown``: why the value can be missing."""

    def probe(host: Survey, _: DescribedHost) -> Iterator[ProbedValue[T]]:
        value = read(host)
        yield ProbedValue(value, unknown if value is None else text(host, value))

    return probe


def sysctl(name: str) -> Probe[int]:
    """Return a probe of a kernel setting that is a whole number."""
    return host_value(lambda host: setting(host, name))


def setting(host: Survey, name: str) -> int | None:
    """Return a kernel setting of a host; None if it is missing or not a number."""
    text = host.basics.sysctls.get(name, "")
    return int(text) if text.isdecimal() else None


def at_most(*limits: tuple[float, Grade], otherwise: Grade) -> Rule[float]:
    """Return a rule: the grade of the first limit that the value does not exceed."""
    return lambda value: next((grade for limit, grade in limits if value <= limit), otherwise)


def at_least(*limits: tuple[float, Grade], otherwise: Grade) -> Rule[float]:
    """Return a rule: the grade of the first limit that the value reaches."""
    return lambda value: next((grade for limit, grade in limits if value >= limit), otherwise)


def one_of(values: Collection[T], otherwise: Grade) -> Rule[T]:
    """Return a rule: these values are fit."""
    return lambda value: Grade.FIT if value in values else otherwise


def none_of(values: Collection[T], otherwise: Grade) -> Rule[T]:
    """Return a rule: all values but these are fit."""
    return lambda value: otherwise if value in values else Grade.FIT


def holds(otherwise: Grade) -> Rule[bool]:
    """Return a rule: true is fit."""
    return lambda value: Grade.FIT if value else otherwise


def nothing(otherwise: Grade) -> Rule[object]:
    """Return a rule: zero, or an empty list, is fit."""
    return lambda value: otherwise if value else Grade.FIT


def by_state(grades: Mapping[str, Grade]) -> Rule[str]:
    """Return a rule: the grade of the state that the probe named."""
    return grades.__getitem__


def data_mounts(host: Survey, described: DescribedHost) -> list[Mount]:
    """Return the data file systems: those of the described directories, else all file systems for data."""
    if not described.directories:
        return host.data_mounts()
    mounts = {mount.point: mount for d in described.directories.values() if (mount := host.mount_at(d))}
    return list(mounts.values())


def data_blocks(host: Survey, described: DescribedHost) -> list[str]:
    """Return the names of the block devices under these file systems, each once."""
    names = [host.block_of(mount) for mount in data_mounts(host, described)]
    return list(dict.fromkeys(name for name in names if name))


def data_disks(host: Survey, described: DescribedHost) -> list[str]:
    """Return the names of the disks under these block devices."""
    return list(dict.fromkeys(disk for name in data_blocks(host, described) for disk in host.disks_of(name)))
