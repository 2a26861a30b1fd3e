"""Checks of the CPU, and of what uses it already. In: a survey. Out: what was found. Pure."""

from collections.abc import Iterator

from assay.analysis.host_checks.check import (
    ASSAY,
    CLOUDERA,
    LINUX,
    CheckFinding,
    DescribedHost,
    HostCheck,
    criterion,
    fit,
    graded,
    unknown,
)
from assay.model import Grade, Survey

BUSY_FIT, BUSY_MAX = 0.05, 0.25
DRIFT_MAX = 0.15
STEADY_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "xen", "timebase")
FIT_PROFILES = ("throughput-performance", "latency-performance", "network-throughput", "hpc-compute", "none")


def _governor(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    if not host.cpu.governors:
        yield unknown("the kernel does not govern it: a virtual machine, or the firmware does")
        return
    names = ", ".join(host.cpu.governors)
    yield graded(host.cpu.governors == ("performance",), Grade.WARNING, names)


def _drift(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    slow, fast = host.cpu.slowest_mhz, host.cpu.fastest_mhz
    if not slow or not fast:
        yield unknown("clock rates are not known")
        return
    idle = (host.burden.cpu_share or 0) < BUSY_FIT
    words = f"{slow:.0f} to {fast:.0f} MHz{' while idle' if idle else ''}"
    yield graded(slow >= fast * (1 - DRIFT_MAX), Grade.NOTE, words)


def _throttled(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    yield graded(host.cpu.throttled == 0, Grade.WARNING, f"{host.cpu.throttled} times since the start")


def _numa(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    nodes, balancing = host.cpu.numa_nodes or 1, host.basics.sysctls.get("kernel.numa_balancing")
    if nodes == 1:
        yield fit("one NUMA node")
    else:
        words = f"{nodes} NUMA nodes, kernel.numa_balancing {balancing or 'not told'}"
        yield graded(balancing != "0", Grade.NOTE, words)


def _cores(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    if described.type is not None:
        has, wanted = host.usable_cores, described.type.cores
        yield graded(has >= wanted, Grade.ERROR, f"{has}, described: {wanted}")


def _background(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    share = host.burden.cpu_share
    if share is None:
        yield unknown("the kernel does not tell")
        return
    load = host.burden.load[0] if host.burden.load else 0.0
    words = f"{share:.0%} of the CPU busy for half a second, load {load:g}"
    yield graded(share <= BUSY_FIT, Grade.NOTE if share <= BUSY_MAX else Grade.WARNING, words)


def _clock_source(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    source = host.basics.clock_source
    yield unknown("the kernel does not tell") if source is None else graded(source in STEADY_CLOCKS, Grade.NOTE, source)


def _tuned(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    profile = host.tuned_profile or "none"
    yield graded(profile in FIT_PROFILES, Grade.NOTE, profile)


CHECKS = (
    HostCheck(
        criterion(
            "governor",
            "CPU governor",
            "A clock that follows the load makes the first seconds of every phase slower, and hosts unlike.",
            "cpupower frequency-set -g performance, or the firmware's power profile",
            ("performance", ASSAY),
            ("schedutil or ondemand", LINUX),
        ),
        _governor,
    ),
    HostCheck(
        criterion(
            "frequency",
            "clock rates of the cores",
            "Cores at different rates make the same task take different times.",
            "as for the governor; look for a power cap in the firmware",
            ("within 15 % of each other", ASSAY),
        ),
        _drift,
    ),
    HostCheck(
        criterion(
            "throttling",
            "slowed down by heat",
            "A CPU that was too hot once is so again under load.",
            "look after fans, filters and the rack's air",
            ("never", ASSAY),
        ),
        _throttled,
    ),
    HostCheck(
        criterion(
            "numa",
            "NUMA",
            "Tasks whose memory is on the other socket are slower, so run times vary with where tasks start.",
            "sysctl -w kernel.numa_balancing=1, or bind NodeManagers",
            ("balancing on, where there are several nodes", LINUX),
        ),
        _numa,
    ),
    HostCheck(
        criterion(
            "cores-as-described",
            "cores against the cluster file",
            "Containers are counted by the file.",
            "correct node_types, or let `assay discover` write them",
            ("as many as the file says", ASSAY),
        ),
        _cores,
    ),
    HostCheck(
        criterion(
            "background-load",
            "what uses the CPU now",
            "It competes with every run, and not with all alike.",
            "see `top`; end it, or measure when it is over",
            ("below 5 %", ASSAY),
        ),
        _background,
    ),
    HostCheck(
        criterion(
            "clock-source",
            "the kernel's clock source",
            "Others cost a system call, or a trip to the chip set, for each time stamp that Java takes.",
            "boot with clocksource=tsc, where the machine's is stable",
            (", ".join(STEADY_CLOCKS[:3]), ASSAY),
        ),
        _clock_source,
    ),
    HostCheck(
        criterion(
            "tuned",
            "tuned's profile",
            "Profiles that save power, or those for guests and desktops, set disks, CPU and memory back to their own.",
            "tuned-adm profile throughput-performance, or systemctl disable --now tuned",
            ("tuned off", CLOUDERA),
            ("throughput-performance", "Red Hat Enterprise Linux, its default on servers"),
        ),
        _tuned,
    ),
)
