"""Checks of limits, clock, Java, and of who else is on the host. In: a survey. Out: what was found. Pure."""

from collections.abc import Iterator

from assay.analysis.host_checks.check import (
    ASSAY,
    LINUX,
    SANDISK,
    CheckFinding,
    DescribedHost,
    HostCheck,
    criterion,
    fit,
    graded,
    unknown,
)
from assay.model import Grade, Survey

OPEN_FILES_FIT, OPEN_FILES_MIN = 32768, 16384
PROCESSES_FIT = 16384
CLOCK_FIT_S, CLOCK_MAX_S = 0.1, 0.5
JAVA_FIT = range(11, 24)
_NEEDED = ("tar", "flock", "setsid")
_WANTED = ("fio", "iperf3")


def _open_files(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    value = host.basics.open_files
    if value is None:
        yield fit("no limit")
    else:
        grade = Grade.NOTE if value >= OPEN_FILES_MIN else Grade.ERROR
        yield graded(value >= OPEN_FILES_FIT, grade, f"{value} for {host.user.name}")


def _daemons_open_files(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    for daemon in host.daemons:
        if daemon.open_files is not None:
            good = daemon.open_files >= OPEN_FILES_FIT
            yield graded(good, Grade.WARNING, f"{daemon.open_files} for {daemon.user}", daemon.role)


def _processes(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    value = host.basics.processes
    yield fit("no limit") if value is None else graded(value >= PROCESSES_FIT, Grade.WARNING, str(value))


def _offset(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    off, uncertain = abs(host.clock.offset_s), host.clock.uncertain_s
    words = f"{host.clock.offset_s:+.3f} s from this machine's, ± {uncertain:.3f} s"
    if off <= max(CLOCK_FIT_S, uncertain):
        yield fit(words)
    else:
        yield CheckFinding(Grade.NOTE if off - uncertain <= CLOCK_MAX_S else Grade.ERROR, words)


def _synchronised(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    running = [name for name in host.services if name in ("chronyd", "ntpd", "systemd-timesyncd")]
    words = f"{', '.join(running) or 'no service runs here'}"
    if host.clock.synchronised is None:
        yield unknown(words)
    else:
        state = "synchronised" if host.clock.synchronised else "not synchronised"
        yield graded(host.clock.synchronised, Grade.WARNING, f"{state}; {words}")


def _java(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    version = host.java.version
    if version is None:
        grade = Grade.NOTE if described.attached or host.java.installed else Grade.ERROR
        others = ", ".join(host.java.installed.values())
        yield CheckFinding(grade, f"none on the PATH{f'; installed: {others}' if others else ''}")
        return
    words = version.removeprefix("1.").split(".")[0].split("-")[0].split("+")[0]
    known = words.isdecimal()
    yield graded(known and (described.attached or int(words) in JAVA_FIT), Grade.ERROR, version)


def _tools(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    missing = [name for name in _NEEDED if not host.tools.get(name)]
    wanted = [] if described.attached else [name for name in _WANTED if not host.tools.get(name)]
    grade = Grade.ERROR if missing else Grade.NOTE
    words = f"missing: {', '.join([*missing, *wanted])}" if missing or wanted else "all are there"
    yield graded(not missing and not wanted, grade, words)


def _sudo(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    words = {
        "root": "logs in as root",
        "free": "sudo without a password",
        "password": "sudo wants a password, which assay never gives",
        "none": "no sudo",
    }
    good = host.user.sudo in ("root", "free")
    yield graded(good, Grade.NOTE, f"{host.user.name}: {words.get(host.user.sudo, host.user.sudo)}")


def _selinux(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    yield graded(host.selinux != "enforcing", Grade.NOTE, host.selinux)


def _firewall(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    active = [name for name in host.services if name in ("firewalld", "ufw")]
    tables = [name for name in host.firewall_tables if name == "filter"]
    words = ", ".join([*active, *(f"iptables: {name}" for name in tables)])
    yield graded(not active, Grade.WARNING, words or "none seen")


def _timers(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    yield graded(not host.scrubs, Grade.NOTE, ", ".join(host.scrubs) or "none of those that read disks")


def _balancer(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    if (host.cpu.sockets or 1) < 2 and host.basics.cores <= 2:
        yield fit("not needed with so few cores")
    else:
        runs = "irqbalance" in host.services
        yield graded(runs or host.basics.virtual, Grade.NOTE, "irqbalance runs" if runs else "no irqbalance")


def _others(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    theirs = sorted({daemon.role for daemon in host.daemons if not daemon.by_assay})
    words = ", ".join(theirs) or "none"
    yield graded(not theirs or described.attached, Grade.ERROR, words)


def _jobs(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    for daemon in host.daemons:
        if daemon.running_jobs is not None:
            words = f"{daemon.running_jobs} jobs, {daemon.containers} containers"
            yield graded(daemon.running_jobs == 0, Grade.WARNING, words, daemon.role)


def _state(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    for daemon in host.daemons:
        if daemon.safe_mode:
            yield CheckFinding(Grade.ERROR, "in safe mode: HDFS can be read, not written", daemon.role)
        elif daemon.unhealthy:
            yield CheckFinding(Grade.WARNING, f"{daemon.unhealthy} NodeManagers are unhealthy", daemon.role)
        elif daemon.role in ("ozone", "router"):
            yield CheckFinding(Grade.ERROR, "assay does not know this kind of file system", daemon.role)
        elif daemon.address:
            yield fit(f"{daemon.version or 'answers'}{' (standby)' if daemon.active is False else ''}", daemon.role)


CHECKS = (
    HostCheck(
        criterion(
            "open-files",
            "open files (nofile)",
            "A DataNode has a file and a socket open for each block that is read, a reducer for each map.",
            "USER - nofile 65536 in /etc/security/limits.d/, or LimitNOFILE of a unit; then log in anew",
            (f"{OPEN_FILES_FIT} or more", ASSAY),
            ("16384", SANDISK),
            ("1024", LINUX),
        ),
        _open_files,
    ),
    HostCheck(
        criterion(
            "daemons-open-files",
            "open files of running daemons",
            "A daemon keeps the limit that applied when it was started.",
            "as for logins; then restart the daemons",
            (f"{OPEN_FILES_FIT} or more", ASSAY),
        ),
        _daemons_open_files,
    ),
    HostCheck(
        criterion(
            "processes",
            "processes (nproc)",
            "Threads count: a few busy JVMs have thousands.",
            "USER - nproc 65536 in /etc/security/limits.d/",
            (f"{PROCESSES_FIT} or more", ASSAY),
        ),
        _processes,
    ),
    HostCheck(
        criterion(
            "clock-offset",
            "clock against this machine's",
            "Samples of different hosts are aligned by time, and Kerberos refuses a difference of 5 minutes.",
            "chronyc makestep, and a time service on every host",
            (f"within {CLOCK_FIT_S:g} s", ASSAY),
        ),
        _offset,
    ),
    HostCheck(
        criterion(
            "clock-service",
            "a service that keeps the clock",
            "Without one the clocks drift apart by seconds a day.",
            "systemctl enable --now chronyd",
            ("synchronised", "adjtimex(2)"),
        ),
        _synchronised,
    ),
    HostCheck(
        criterion(
            "java",
            "Java",
            "Hadoop that assay deploys runs on it.",
            "install a JRE of Java 11 to 23, or set java_home in the cluster file",
            ("11 to 23", "assay: what Hadoop 3.4 runs on, tried"),
        ),
        _java,
    ),
    HostCheck(
        criterion(
            "tools",
            "programs that assay needs",
            "tar, flock and setsid for everything; fio and iperf3 for `assay baseline`.",
            "apt-get install fio iperf3, or dnf",
            ("all of them", ASSAY),
        ),
        _tools,
    ),
    HostCheck(
        criterion(
            "rights",
            "what the login may do",
            "Only root can drop caches: without it runs are not cold, which each says of itself.",
            "USER ALL=(root) NOPASSWD: /usr/bin/tee /proc/sys/vm/drop_caches in /etc/sudoers.d/, or more",
            ("sudo without a password", ASSAY),
        ),
        _sudo,
    ),
    HostCheck(
        criterion(
            "selinux",
            "SELinux",
            "Daemons in unusual folders may be refused files and ports without a word to them.",
            "setenforce 0 for the time, or a policy for assay's home",
            ("permissive or off, or known to work", ASSAY),
        ),
        _selinux,
    ),
    HostCheck(
        criterion(
            "firewall",
            "firewall",
            "Tasks fetch from each other on ports that the kernel chooses.",
            "open everything between the cluster's hosts",
            ("none between the hosts", "Apache Ambari, preparing the environment"),
        ),
        _firewall,
    ),
    HostCheck(
        criterion(
            "scrubs",
            "timers that read disks",
            "A scrub, trim or index of file names that begins in a run halves a disk's rate.",
            "systemctl stop NAME for the time of the campaign",
            ("none in the time of the campaign", ASSAY),
        ),
        _timers,
    ),
    HostCheck(
        criterion(
            "interrupts",
            "interrupts over the cores",
            "One core that serves all interrupts of a quick NIC is full before the link is.",
            "systemctl enable --now irqbalance",
            ("irqbalance, with many cores", ASSAY),
        ),
        _balancer,
    ),
    HostCheck(
        criterion(
            "other-daemons",
            "other Hadoop or Spark daemons",
            "Two of them on one host use the same ports and disks.",
            "attach to it (`provider: attached`), or have its owner stop it",
            ("none, or attached to", ASSAY),
        ),
        _others,
    ),
    HostCheck(
        criterion(
            "other-jobs",
            "jobs on YARN now",
            "They take containers, disks and links from every run.",
            "measure at another time, or in a queue that has its share for certain",
            ("none", ASSAY),
        ),
        _jobs,
    ),
    HostCheck(
        criterion(
            "engine-state",
            "state of the daemons",
            "In safe mode nothing can be written; unhealthy nodes run nothing.",
            "hdfs dfsadmin -safemode get; the NodeManager's page says what ails it",
            ("out of safe mode, healthy", "Apache Hadoop, HDFS Users Guide"),
        ),
        _state,
    ),
)
