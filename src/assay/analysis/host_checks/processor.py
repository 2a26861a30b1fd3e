"""Checks of the CPU, and of other programs that use it. In: a survey. Out: rows of checks. Pure."""

from collections.abc import Iterator
from typing import Any

from assay.analysis.host_checks.check import (
    ASSAY,
    CLOUDERA,
    LINUX,
    NOT_REPORTED,
    DescribedHost,
    HostCheck,
    ProbedValue,
    at_least,
    at_most,
    check,
    holds,
    host_value,
    nothing,
    one_of,
)
from assay.foundation.units import format_percent
from assay.model import Grade, Survey

BUSY_FIT, BUSY_MAX = 0.05, 0.25
"""Maximum share of the CPU that other programs use: without a remark, and without a warning."""
DRIFT_MAX = 0.15
"""Maximum difference between the clock rates of the cores, as a share."""
STEADY_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "xen", "timebase")
FIT_PROFILES = ("throughput-performance", "latency-performance", "network-throughput", "hpc-compute", "none")


def _frequency(host: Survey, _: DescribedHost) -> Iterator[ProbedValue[float]]:
    slowest_mhz, fastest_mhz = host.cpu.slowest_mhz, host.cpu.fastest_mhz
    if not slowest_mhz or not fastest_mhz:
        yield ProbedValue(None, NOT_REPORTED)
    else:
        is_idle = (host.background_load.cpu_share or 0) < BUSY_FIT
        yield ProbedValue(
            slowest_mhz / fastest_mhz, f"{slowest_mhz:.0f} to {fastest_mhz:.0f} MHz{' while idle' if is_idle else ''}"
        )


def _numa(host: Survey, _: DescribedHost) -> Iterator[ProbedValue[bool]]:
    nodes, balancing = host.cpu.numa_nodes or 1, host.basics.sysctls.get("kernel.numa_balancing")
    if nodes == 1:
        yield ProbedValue(True, "one NUMA node")
    else:
        text = f"{nodes} NUMA nodes, kernel.numa_balancing {balancing or 'not reported'}"
        yield ProbedValue(balancing != "0", text)


def _cores(host: Survey, described: DescribedHost) -> Iterator[ProbedValue[float]]:
    if described.type is not None:
        cores, described_cores = host.usable_cores, described.type.cores
        yield ProbedValue(cores / described_cores, f"{cores}, described: {described_cores}")


def _load_text(host: Survey, share: float) -> str:
    load = host.background_load.load[0] if host.background_load.load else 0.0
    return f"{format_percent(share)} of the CPU busy for half a second, load {load:g}"


CHECKS: tuple[HostCheck[Any], ...] = (
    check(
        "governor",
        "CPU governor",
        "A clock rate that follows the load slows the first seconds of every phase, and hosts differ.",
        "cpupower frequency-set -g performance, or the firmware's power profile",
        host_value(
            lambda host: host.cpu.governors or None,
            lambda _, governors: ", ".join(governors),
            "the kernel does not control it: this is a virtual machine, or the firmware does",
        ),
        one_of((("performance",),), Grade.WARNING),
        ("performance", ASSAY),
        ("schedutil or ondemand", LINUX),
    ),
    check(
        "frequency",
        "clock rates of the cores",
        "Cores at different rates make the same task take different times.",
        "set the governor to performance; look for a power limit in the firmware",
        _frequency,
        at_least((1 - DRIFT_MAX, Grade.FIT), otherwise=Grade.NOTE),
        ("within 15 % of each other", ASSAY),
    ),
    check(
        "throttling",
        "thermal throttling",
        "A CPU that was too hot once will be too hot again under load.",
        "check fans, filters and the cooling of the rack",
        host_value(lambda host: host.cpu.throttled, lambda _, count: f"{count} times since the start"),
        nothing(Grade.WARNING),
        ("never", ASSAY),
    ),
    check(
        "numa",
        "NUMA",
        "Tasks whose memory is on the other socket are slower, so run times vary with where tasks start.",
        "sysctl -w kernel.numa_balancing=1, or bind NodeManagers",
        _numa,
        holds(Grade.NOTE),
        ("balancing on, where there are several nodes", LINUX),
    ),
    check(
        "cores-as-described",
        "cores against the cluster file",
        "assay counts containers by the cluster file.",
        "correct node_types, or let `assay discover` write them",
        _cores,
        at_least((1, Grade.FIT), otherwise=Grade.ERROR),
        ("at least the described cores", ASSAY),
    ),
    check(
        "background-load",
        "CPU use by other programs",
        "They compete with every run, and not with all runs equally.",
        "see `top`; end them, or measure later",
        host_value(lambda host: host.background_load.cpu_share, _load_text),
        at_most((BUSY_FIT, Grade.FIT), (BUSY_MAX, Grade.NOTE), otherwise=Grade.WARNING),
        ("below 5 %", ASSAY),
    ),
    check(
        "clock-source",
        "the kernel's clock source",
        "Other sources cost a system call, or an access to the chip set, for each time stamp that Java takes.",
        "boot with clocksource=tsc, if the machine's TSC is stable",
        host_value(lambda host: host.basics.clock_source),
        one_of(STEADY_CLOCKS, Grade.NOTE),
        (", ".join(STEADY_CLOCKS[:3]), ASSAY),
    ),
    check(
        "tuned",
        "tuned's profile",
        "Profiles that save power, and those for guests and desktops, change settings of disks, CPU and memory.",
        "tuned-adm profile throughput-performance, or systemctl disable --now tuned",
        host_value(lambda host: host.tuned_profile or "none"),
        one_of(FIT_PROFILES, Grade.NOTE),
        ("tuned off", CLOUDERA),
        ("throughput-performance", "Red Hat Enterprise Linux, its default on servers"),
    ),
)
