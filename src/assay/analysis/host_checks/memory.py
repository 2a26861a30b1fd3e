"""Checks of memory and of the kernel's memory settings. In: a survey. Out: rows of checks. Pure."""

from collections.abc import Iterator
from typing import Any

from assay.analysis.host_checks.check import (
    ASSAY,
    CLOUDERA,
    HORTONWORKS,
    LINUX,
    NOT_REPORTED,
    SAMMER,
    SANDISK,
    DescribedHost,
    HostCheck,
    ProbedValue,
    at_least,
    at_most,
    check,
    holds,
    host_value,
    none_of,
    nothing,
    setting,
    sysctl,
)
from assay.foundation.units import format_bytes
from assay.model import Grade, Survey

DIRTY_RATIO_MAX = 40
"""Maximum ``vm.dirty_ratio``, in percent of memory."""
MAP_COUNT_MIN = 65530
"""Minimum ``vm.max_map_count``."""
NO_HUGE_PAGES = "the kernel has no transparent huge pages, or hides them"


def _swappiness(host: Survey, _: DescribedHost) -> Iterator[ProbedValue[int]]:
    value = setting(host, "vm.swappiness")
    if value is not None and host.basics.swap_bytes == 0:
        yield ProbedValue(0, f"{value}, and there is no swap")
    else:
        yield ProbedValue(value, NOT_REPORTED if value is None else str(value))


def _overcommit_text(host: Survey, value: int) -> str:
    ratio = setting(host, "vm.overcommit_ratio")
    return f"2 with vm.overcommit_ratio {ratio}" if value == 2 else str(value)


def _dirty(host: Survey, _: DescribedHost) -> Iterator[ProbedValue[bool]]:
    ratio, background = setting(host, "vm.dirty_ratio"), setting(host, "vm.dirty_background_ratio")
    if ratio is None or background is None:
        yield ProbedValue(None, NOT_REPORTED)
    else:
        text = f"vm.dirty_ratio {ratio}, vm.dirty_background_ratio {background}"
        yield ProbedValue(ratio == 0 or background < ratio <= DIRTY_RATIO_MAX, text)


def _as_described(host: Survey, described: DescribedHost) -> Iterator[ProbedValue[float]]:
    if described.type is not None:
        usable_bytes, described_bytes = host.usable_memory_bytes, described.type.memory_bytes
        yield ProbedValue(
            usable_bytes / described_bytes, f"{format_bytes(usable_bytes)}, described: {format_bytes(described_bytes)}"
        )


def _control_group(host: Survey, _: DescribedHost) -> Iterator[ProbedValue[list[str]]]:
    group = host.control_group
    memory = group.memory_bytes if host.usable_memory_bytes < host.basics.memory_bytes else None
    limits = [
        *([f"memory {format_bytes(memory)}"] if memory else []),
        *([f"{group.cores:g} cores"] if group.cores and group.cores < host.basics.cores else []),
    ]
    yield ProbedValue(limits, ", ".join(limits) or "none")


CHECKS: tuple[HostCheck[Any], ...] = (
    check(
        "swappiness",
        "vm.swappiness",
        "A kernel that swaps out a daemon to keep file pages pauses it, and the run, for seconds.",
        "sysctl -w vm.swappiness=1, and the same line in /etc/sysctl.d/",
        _swappiness,
        at_most((10, Grade.FIT), (20, Grade.NOTE), otherwise=Grade.WARNING),
        ("1, at most 10", CLOUDERA),
        ("0", SAMMER),
        ("20, down from 60", SANDISK),
        ("60", LINUX),
    ),
    check(
        "overcommit",
        "vm.overcommit_memory",
        "With 2, the kernel refuses memory to a JVM that reserves its heap or forks, although it would not use it.",
        "sysctl -w vm.overcommit_memory=0 (or 1), and the same line in /etc/sysctl.d/",
        host_value(lambda host: setting(host, "vm.overcommit_memory"), _overcommit_text),
        none_of((2,), Grade.WARNING),
        ("1, with overcommit_ratio 50", SAMMER),
        ("0", LINUX),
        ("2, for databases on the same hosts", "VMware Greenplum, system requirements"),
    ),
    check(
        "huge-pages",
        "transparent huge pages: enabled",
        "The kernel collapses pages of running JVMs, which costs system CPU that looks like the job's.",
        "echo never > /sys/kernel/mm/transparent_hugepage/enabled, at each start",
        host_value(lambda host: host.basics.huge_pages, unknown=NO_HUGE_PAGES),
        none_of(("always",), Grade.WARNING),
        ("never", HORTONWORKS),
        ("madvise, or never", ASSAY),
        ("always or madvise", LINUX),
    ),
    check(
        "huge-pages-defrag",
        "transparent huge pages: defrag",
        "Allocations wait while the kernel compacts memory for them.",
        "echo never > /sys/kernel/mm/transparent_hugepage/defrag, at each start",
        host_value(lambda host: host.basics.huge_pages_defrag, unknown=NO_HUGE_PAGES),
        none_of(("always",), Grade.WARNING),
        ("never", CLOUDERA),
        ("madvise", LINUX),
    ),
    check(
        "swap-in-use",
        "swap in use",
        "Swapped-out pages are read back during a run.",
        "swapoff -a && swapon -a, when enough memory is free",
        host_value(
            lambda host: host.background_load.swap_used_bytes,
            lambda host, used: f"{format_bytes(used)} of {format_bytes(host.basics.swap_bytes)}",
        ),
        at_most((2**26, Grade.FIT), otherwise=Grade.WARNING),
        ("none", ASSAY),
    ),
    check(
        "zone-reclaim",
        "vm.zone_reclaim_mode",
        "With 1, a full NUMA node drops file pages while the other has room, so reads come from disk.",
        "sysctl -w vm.zone_reclaim_mode=0",
        sysctl("vm.zone_reclaim_mode"),
        at_most((0, Grade.FIT), otherwise=Grade.WARNING),
        ("0", LINUX),
    ),
    check(
        "dirty-pages",
        "room for dirty pages",
        "With more dirty pages, more of a run's writes happen after its end, so its time depends less on the disks.",
        "sysctl -w vm.dirty_ratio=20 vm.dirty_background_ratio=10",
        _dirty,
        holds(Grade.NOTE),
        ("20 and 10", LINUX),
        (f"equal on all hosts, and at most {DIRTY_RATIO_MAX}", ASSAY),
    ),
    check(
        "map-count",
        "vm.max_map_count",
        "A JVM with many threads and mapped files ends when it reaches this limit.",
        "sysctl -w vm.max_map_count=262144",
        sysctl("vm.max_map_count"),
        at_least((MAP_COUNT_MIN, Grade.FIT), otherwise=Grade.WARNING),
        (f"{MAP_COUNT_MIN} at least", LINUX),
    ),
    check(
        "memory-as-described",
        "memory against the cluster file",
        "assay sizes containers by the cluster file: with less memory the host swaps, or kills processes.",
        "correct node_types, or let `assay discover` write them; or look for a memory module that is not detected",
        _as_described,
        at_least((0.9, Grade.FIT), otherwise=Grade.ERROR),
        ("at least 90 % of the described memory", ASSAY),
    ),
    check(
        "control-group",
        "limits of the login's control group",
        "Daemons that this login starts get no more than this, although the machine has more.",
        "systemctl set-property user.slice MemoryMax=infinity CPUQuota=, or the container's settings",
        _control_group,
        nothing(Grade.WARNING),
        ("none", ASSAY),
    ),
    check(
        "memory-errors",
        "memory errors",
        "A memory module with corrected errors slows the host down, and will fail.",
        "find the module: `edac-util -v` or the management controller's log",
        host_value(
            lambda host: host.cpu.memory_errors,
            lambda _, errors: f"{errors} since the start",
            "no memory controller reports errors",
        ),
        nothing(Grade.WARNING),
        ("0", ASSAY),
    ),
)
