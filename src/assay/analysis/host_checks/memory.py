"""Checks of memory and of how the kernel deals with it. In: a survey. Out: what was found. Pure."""

from collections.abc import Iterator

from assay.analysis.host_checks.check import (
    ASSAY,
    CLOUDERA,
    HORTONWORKS,
    LINUX,
    SAMMER,
    SANDISK,
    CheckFinding,
    DescribedHost,
    HostCheck,
    criterion,
    fit,
    graded,
    unknown,
)
from assay.foundation.units import format_bytes
from assay.model import Grade, Survey

SWAPPINESS_FIT = 10
SWAPPINESS_OLD = 20
DIRTY_RATIO_MAX = 40
MAP_COUNT_MIN = 65530
_DESCRIBED_SHARE = 0.9


def _setting(host: Survey, name: str) -> int | None:
    text = host.basics.sysctls.get(name, "")
    return int(text) if text.isdecimal() else None


def _swappiness(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    value = _setting(host, "vm.swappiness")
    if value is None:
        yield unknown("the kernel does not tell")
    elif host.basics.swap_bytes == 0:
        yield fit(f"{value}, and there is no swap")
    else:
        grade = Grade.NOTE if value <= SWAPPINESS_OLD else Grade.WARNING
        yield graded(value <= SWAPPINESS_FIT, grade, str(value))


def _overcommit(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    value = _setting(host, "vm.overcommit_memory")
    if value is None:
        yield unknown("the kernel does not tell")
        return
    ratio = _setting(host, "vm.overcommit_ratio")
    words = f"2 with vm.overcommit_ratio {ratio}" if value == 2 else str(value)
    yield graded(value != 2, Grade.WARNING, words)


def _huge_pages(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    value = host.basics.huge_pages
    yield (
        unknown("the kernel has none, or hides it")
        if value is None
        else graded(value != "always", Grade.WARNING, value)
    )


def _huge_pages_defrag(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    value = host.basics.huge_pages_defrag
    yield (
        unknown("the kernel has none, or hides it")
        if value is None
        else graded(value != "always", Grade.WARNING, value)
    )


def _swap_in_use(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    used = host.burden.swap_used_bytes
    yield graded(used < 2**26, Grade.WARNING, f"{format_bytes(used)} of {format_bytes(host.basics.swap_bytes)}")


def _zone_reclaim(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    value = _setting(host, "vm.zone_reclaim_mode")
    yield unknown("the kernel does not tell") if value is None else graded(value == 0, Grade.WARNING, str(value))


def _dirty(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    ratio, background = _setting(host, "vm.dirty_ratio"), _setting(host, "vm.dirty_background_ratio")
    if ratio is None or background is None:
        yield unknown("the kernel does not tell")
        return
    words = f"vm.dirty_ratio {ratio}, vm.dirty_background_ratio {background}"
    yield graded(ratio == 0 or (background < ratio <= DIRTY_RATIO_MAX), Grade.NOTE, words)


def _map_count(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    value = _setting(host, "vm.max_map_count")
    yield (
        unknown("the kernel does not tell")
        if value is None
        else graded(value >= MAP_COUNT_MIN, Grade.WARNING, str(value))
    )


def _as_described(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    if described.type is None:
        return
    has, wanted = host.usable_memory_bytes, described.type.memory_bytes
    words = f"{format_bytes(has)}, described: {format_bytes(wanted)}"
    yield graded(has >= wanted * _DESCRIBED_SHARE, Grade.ERROR, words)


def _control_group(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    group = host.control_group
    memory = group.memory_bytes if host.usable_memory_bytes < host.basics.memory_bytes else None
    limits = [
        *([f"memory {format_bytes(memory)}"] if memory else []),
        *([f"{group.cores:g} cores"] if group.cores and group.cores < host.basics.cores else []),
    ]
    yield graded(not limits, Grade.WARNING, ", ".join(limits) or "none")


def _memory_errors(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    errors = host.cpu.memory_errors
    yield (
        unknown("no memory controller reports")
        if errors is None
        else graded(errors == 0, Grade.WARNING, f"{errors} since the start")
    )


CHECKS = (
    HostCheck(
        criterion(
            "swappiness",
            "vm.swappiness",
            "A kernel that swaps out a daemon to keep file pages makes it pause for seconds, and a run with it.",
            "sysctl -w vm.swappiness=1, and the same line in /etc/sysctl.d/",
            ("1, at most 10", CLOUDERA),
            ("0", SAMMER),
            ("20, down from 60", SANDISK),
            ("60", LINUX),
        ),
        _swappiness,
    ),
    HostCheck(
        criterion(
            "overcommit",
            "vm.overcommit_memory",
            "With 2, a JVM that reserves its heap, or forks, is refused memory that it would never touch.",
            "sysctl -w vm.overcommit_memory=0 (or 1), and the same line in /etc/sysctl.d/",
            ("1, with overcommit_ratio 50", SAMMER),
            ("0", LINUX),
            ("2, for databases on the same hosts", "VMware Greenplum, system requirements"),
        ),
        _overcommit,
    ),
    HostCheck(
        criterion(
            "huge-pages",
            "transparent huge pages: enabled",
            "The kernel collapses pages behind running JVMs, which costs system CPU that looks like the job's.",
            "echo never > /sys/kernel/mm/transparent_hugepage/enabled, at each start",
            ("never", HORTONWORKS),
            ("madvise, or never", ASSAY),
            ("always or madvise", LINUX),
        ),
        _huge_pages,
    ),
    HostCheck(
        criterion(
            "huge-pages-defrag",
            "transparent huge pages: defrag",
            "Allocations wait while memory is compacted for them.",
            "echo never > /sys/kernel/mm/transparent_hugepage/defrag, at each start",
            ("never", CLOUDERA),
            ("madvise", LINUX),
        ),
        _huge_pages_defrag,
    ),
    HostCheck(
        criterion(
            "swap-in-use",
            "swap in use",
            "Swapped-out pages are read back during a run.",
            "swapoff -a && swapon -a, when enough memory is free",
            ("none", ASSAY),
        ),
        _swap_in_use,
    ),
    HostCheck(
        criterion(
            "zone-reclaim",
            "vm.zone_reclaim_mode",
            "With 1, a node of a NUMA machine drops its file pages while the other has room: reads come from disk.",
            "sysctl -w vm.zone_reclaim_mode=0",
            ("0", LINUX),
        ),
        _zone_reclaim,
    ),
    HostCheck(
        criterion(
            "dirty-pages",
            "room for dirty pages",
            "The more may be dirty, the longer a run's writes outlive its end: its time says less of the disks.",
            "sysctl -w vm.dirty_ratio=20 vm.dirty_background_ratio=10",
            ("20 and 10", LINUX),
            ("alike on all hosts, and not above 40", ASSAY),
        ),
        _dirty,
    ),
    HostCheck(
        criterion(
            "map-count",
            "vm.max_map_count",
            "A JVM with many threads and mapped files ends when it reaches it.",
            "sysctl -w vm.max_map_count=262144",
            (f"{MAP_COUNT_MIN} at least", LINUX),
        ),
        _map_count,
    ),
    HostCheck(
        criterion(
            "memory-as-described",
            "memory against the cluster file",
            "Containers are sized by the file: with less memory than it says, the host swaps or kills.",
            "correct node_types, or let `assay discover` write them; or look for a module that is not seen",
            ("at least 90 % of what the file says", ASSAY),
        ),
        _as_described,
    ),
    HostCheck(
        criterion(
            "control-group",
            "limits of the login's control group",
            "Daemons that are started from here get no more than this, whatever the machine has.",
            "systemctl set-property user.slice MemoryMax=infinity CPUQuota=, or the container's settings",
            ("none", ASSAY),
        ),
        _control_group,
    ),
    HostCheck(
        criterion(
            "memory-errors",
            "memory errors",
            "A module that is being corrected slows the host down, and will fail.",
            "find the module: `edac-util -v` or the management controller's log",
            ("0", ASSAY),
        ),
        _memory_errors,
    ),
)
