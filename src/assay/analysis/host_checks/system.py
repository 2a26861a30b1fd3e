"""Checks of limits, clock, Java, and of other programs on the host. In: a survey. Out: rows of checks. Pure."""

import math
from collections.abc import Iterator
from typing import Any

from assay.analysis.host_checks.check import (
    ASSAY,
    LINUX,
    SANDISK,
    DescribedHost,
    HostCheck,
    ProbedValue,
    at_least,
    by_state,
    check,
    holds,
    host_value,
    none_of,
    nothing,
    one_of,
)
from assay.model import Clock, Grade, Survey

OPEN_FILES_FIT, OPEN_FILES_MIN = 32768, 16384
"""Minimum limit on open files: without a remark, and without an error."""
PROCESSES_FIT = 16384
"""Minimum limit on processes per user."""
CLOCK_FIT_S, CLOCK_MAX_S = 0.1, 0.5
"""Maximum offset of a clock, in seconds: without a remark, and without an error."""
JAVA_FIT = range(11, 24)
"""Major versions of Java on which assay's Hadoop runs."""
_REQUIRED_TOOLS = ("tar", "flock", "setsid")
_OPTIONAL_TOOLS = ("fio", "iperf3")
_RIGHTS = {
    "root": "logs in as root",
    "free": "sudo without a password",
    "password": "sudo needs a password, which assay never gives",
    "none": "no sudo",
}


def _limit(value: int | None) -> float:
    return math.inf if value is None else value


def _limit_text(value: float) -> str:
    return "no limit" if value == math.inf else f"{value:.0f}"


def _daemons_open_files(host: Survey, _: DescribedHost) -> Iterator[ProbedValue[int]]:
    for daemon in host.daemons:
        if daemon.open_files is not None:
            yield ProbedValue(daemon.open_files, f"{daemon.open_files} for {daemon.user}", daemon.role)


def _offset_grade(clock: Clock) -> Grade:
    """Grade the offset of a clock, which is known to within its uncertainty."""
    offset_s = abs(clock.offset_s)
    if offset_s <= max(CLOCK_FIT_S, clock.uncertain_s):
        return Grade.FIT
    return Grade.NOTE if offset_s - clock.uncertain_s <= CLOCK_MAX_S else Grade.ERROR


def _synchronised(host: Survey, _: DescribedHost) -> Iterator[ProbedValue[bool]]:
    running = [name for name in host.services if name in ("chronyd", "ntpd", "systemd-timesyncd")]
    services = ", ".join(running) or "no service runs here"
    synchronised = host.clock.synchronised
    state = "" if synchronised is None else "synchronised; " if synchronised else "not synchronised; "
    yield ProbedValue(synchronised, state + services)


def _java(host: Survey, described: DescribedHost) -> Iterator[ProbedValue[str]]:
    version = host.java.version
    if version is None:
        versions = ", ".join(host.java.installed.values())
        state = "installed" if described.attached or versions else "missing"
        yield ProbedValue(state, f"none on the PATH; installed: {versions}" if versions else "none on the PATH")
        return
    major = version.removeprefix("1.").split(".")[0].split("-")[0].split("+")[0]
    supported = major.isdecimal() and (described.attached or int(major) in JAVA_FIT)
    yield ProbedValue("supported" if supported else "not supported", version)


def _tools(host: Survey, described: DescribedHost) -> Iterator[ProbedValue[str]]:
    missing_tools = [name for name in _REQUIRED_TOOLS if not host.tools.get(name)]
    missing_optional_tools = (
        [] if described.attached else [name for name in _OPTIONAL_TOOLS if not host.tools.get(name)]
    )
    state = "tools missing" if missing_tools else "optional tools missing" if missing_optional_tools else "complete"
    yield ProbedValue(
        state,
        f"missing: {', '.join([*missing_tools, *missing_optional_tools])}"
        if missing_tools or missing_optional_tools
        else "complete",
    )


def _firewall(host: Survey, _: DescribedHost) -> Iterator[ProbedValue[list[str]]]:
    active = [name for name in host.services if name in ("firewalld", "ufw")]
    tables = [f"iptables: {name}" for name in host.firewall_tables if name == "filter"]
    yield ProbedValue(active, ", ".join([*active, *tables]) or "none seen")


def _interrupts(host: Survey, _: DescribedHost) -> Iterator[ProbedValue[bool]]:
    if (host.cpu.sockets or 1) < 2 and host.basics.cores <= 2:
        yield ProbedValue(True, "not needed with two cores")
    else:
        is_running = "irqbalance" in host.services
        yield ProbedValue(is_running or host.basics.virtual, "irqbalance runs" if is_running else "no irqbalance")


def _other_daemons(host: Survey, described: DescribedHost) -> Iterator[ProbedValue[list[str]]]:
    roles = sorted({daemon.role for daemon in host.daemons if not daemon.by_assay})
    yield ProbedValue([] if described.attached else roles, ", ".join(roles) or "none")


def _jobs(host: Survey, _: DescribedHost) -> Iterator[ProbedValue[int]]:
    for daemon in host.daemons:
        if daemon.running_jobs is not None:
            text = f"{daemon.running_jobs} jobs, {daemon.containers} containers"
            yield ProbedValue(daemon.running_jobs, text, daemon.role)


def _state(host: Survey, _: DescribedHost) -> Iterator[ProbedValue[str]]:
    for daemon in host.daemons:
        if daemon.safe_mode:
            yield ProbedValue("safe mode", "in safe mode: HDFS can be read, not written", daemon.role)
        elif daemon.unhealthy:
            yield ProbedValue("unhealthy", f"{daemon.unhealthy} NodeManagers are unhealthy", daemon.role)
        elif daemon.role in ("ozone", "router"):
            yield ProbedValue("not supported", "assay does not support this kind of file system", daemon.role)
        elif daemon.address:
            standby = " (standby)" if daemon.active is False else ""
            yield ProbedValue("answers", f"{daemon.version or 'answers'}{standby}", daemon.role)


CHECKS: tuple[HostCheck[Any], ...] = (
    check(
        "open-files",
        "open files (nofile)",
        "A DataNode opens a file and a socket for each block that is read, a reducer for each map.",
        "USER - nofile 65536 in /etc/security/limits.d/, or LimitNOFILE of a unit; then log in again",
        host_value(
            lambda host: _limit(host.basics.open_files),
            lambda host, value: f"{_limit_text(value)} for {host.user.name}",
        ),
        at_least((OPEN_FILES_FIT, Grade.FIT), (OPEN_FILES_MIN, Grade.NOTE), otherwise=Grade.ERROR),
        (f"{OPEN_FILES_FIT} or more", ASSAY),
        ("16384", SANDISK),
        ("1024", LINUX),
    ),
    check(
        "daemons-open-files",
        "open files of running daemons",
        "A daemon keeps the limit that applied when it was started.",
        "raise the limit as for logins, then restart the daemons",
        _daemons_open_files,
        at_least((OPEN_FILES_FIT, Grade.FIT), otherwise=Grade.WARNING),
        (f"{OPEN_FILES_FIT} or more", ASSAY),
    ),
    check(
        "processes",
        "processes (nproc)",
        "Threads count: a few busy JVMs have thousands.",
        "USER - nproc 65536 in /etc/security/limits.d/",
        host_value(lambda host: _limit(host.basics.processes), lambda _, value: _limit_text(value)),
        at_least((PROCESSES_FIT, Grade.FIT), otherwise=Grade.WARNING),
        (f"{PROCESSES_FIT} or more", ASSAY),
    ),
    check(
        "clock-offset",
        "clock against this machine's",
        "Samples of different hosts are aligned by time, and Kerberos refuses a difference of 5 minutes.",
        "chronyc makestep, and a time service on every host",
        host_value(
            lambda host: host.clock,
            lambda _, clock: f"{clock.offset_s:+.3f} s from this machine's, ± {clock.uncertain_s:.3f} s",
        ),
        _offset_grade,
        (f"within {CLOCK_FIT_S:g} s", ASSAY),
    ),
    check(
        "clock-service",
        "a time service",
        "Without a time service the clocks drift apart by seconds a day.",
        "systemctl enable --now chronyd",
        _synchronised,
        holds(Grade.WARNING),
        ("synchronised", "adjtimex(2)"),
    ),
    check(
        "java",
        "Java",
        "The Hadoop that assay deploys runs on it.",
        "install a JRE of Java 11 to 23, or set java_home in the cluster file",
        _java,
        by_state(
            {"supported": Grade.FIT, "installed": Grade.NOTE, "not supported": Grade.ERROR, "missing": Grade.ERROR}
        ),
        ("11 to 23", "assay: Java versions tried with Hadoop 3.4"),
    ),
    check(
        "tools",
        "programs that assay needs",
        "tar, flock and setsid are always needed; fio and iperf3 for `assay baseline`.",
        "apt-get install fio iperf3, or dnf",
        _tools,
        by_state({"complete": Grade.FIT, "optional tools missing": Grade.NOTE, "tools missing": Grade.ERROR}),
        ("all of them", ASSAY),
    ),
    check(
        "rights",
        "rights of the login",
        "Only root can drop caches: without it runs are labelled warm.",
        "USER ALL=(root) NOPASSWD: /usr/bin/tee /proc/sys/vm/drop_caches in /etc/sudoers.d/, or more",
        host_value(lambda host: host.user.sudo, lambda host, sudo: f"{host.user.name}: {_RIGHTS.get(sudo, sudo)}"),
        one_of(("root", "free"), Grade.NOTE),
        ("sudo without a password", ASSAY),
    ),
    check(
        "selinux",
        "SELinux",
        "It can refuse files and ports to daemons in unusual folders without a message from them.",
        "setenforce 0 during the campaign, or a policy for assay's home",
        host_value(lambda host: host.selinux),
        none_of(("enforcing",), Grade.NOTE),
        ("permissive or off, or known to work", ASSAY),
    ),
    check(
        "firewall",
        "firewall",
        "Tasks fetch from each other on ports that the kernel chooses.",
        "open all ports between the cluster's hosts",
        _firewall,
        nothing(Grade.WARNING),
        ("none between the hosts", "Apache Ambari, preparing the environment"),
    ),
    check(
        "scrubs",
        "timers that read disks",
        "A scrub, a trim or an index of file names that starts during a run halves a disk's rate.",
        "systemctl stop NAME during the campaign",
        host_value(lambda host: host.scrubs, lambda _, names: ", ".join(names) or "none"),
        nothing(Grade.NOTE),
        ("none during the campaign", ASSAY),
    ),
    check(
        "interrupts",
        "interrupts over the cores",
        "A core that serves all interrupts of a fast NIC is saturated before the link is.",
        "systemctl enable --now irqbalance",
        _interrupts,
        holds(Grade.NOTE),
        ("irqbalance, with many cores", ASSAY),
    ),
    check(
        "other-daemons",
        "other Hadoop or Spark daemons",
        "Two deployments on one host use the same ports and disks.",
        "attach to it (`provider: attached`), or have its owner stop it",
        _other_daemons,
        nothing(Grade.ERROR),
        ("none, unless attached", ASSAY),
    ),
    check(
        "other-jobs",
        "jobs on YARN now",
        "They take containers, disks and links from every run.",
        "measure later, or in a queue with a guaranteed share",
        _jobs,
        nothing(Grade.WARNING),
        ("none", ASSAY),
    ),
    check(
        "engine-state",
        "state of the daemons",
        "In safe mode nothing can be written; unhealthy nodes run nothing.",
        "hdfs dfsadmin -safemode get; the NodeManager's page shows the reason",
        _state,
        by_state(
            {"answers": Grade.FIT, "unhealthy": Grade.WARNING, "safe mode": Grade.ERROR, "not supported": Grade.ERROR}
        ),
        ("out of safe mode, healthy", "Apache Hadoop, HDFS Users Guide"),
    ),
)
