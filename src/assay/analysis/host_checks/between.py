"""Differences between hosts that should be alike. In: the surveys of all. Out: what differs, and on which. Pure."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping

from assay.analysis.host_checks.check import ASSAY, BetweenCheck, BetweenJudge, CheckFinding, criterion, fit, unknown
from assay.foundation.units import format_bit_rate, format_bytes
from assay.model import Grade, Survey

_NAMED_MAX = 4
_MEMORY_STEP_BYTES = 2**29
CLOCKS_MAX_S = 0.25
PAIR_SHARE_MIN = 0.7
"""Of the slower NIC's rate, and of the median pair: TCP over Ethernet reaches 0.94 of it at packets of 1500 bytes."""


def alike(values: Mapping[str, str | None], otherwise: Grade, subject: str = "") -> CheckFinding:
    """Return whether all hosts share one value; where not, what the fewest have, and which these are."""
    known = {host: value for host, value in values.items() if value is not None}
    if not known:
        return unknown("no host tells", subject)
    counts = Counter(known.values())
    common, most = counts.most_common(1)[0]
    if len(counts) == 1:
        return fit(f"{common} on all {len(known)}", subject)
    sets: dict[str, list[str]] = defaultdict(list)
    for host, value in known.items():
        if value != common:
            sets[value].append(host)
    words = [f"{value} on {_named(hosts)}" for value, hosts in sorted(sets.items())]
    return CheckFinding(otherwise, f"{common} on {most}, but {'; '.join(words)}", subject)


def _named(hosts: list[str]) -> str:
    more = f" and {len(hosts) - _NAMED_MAX} more" if len(hosts) > _NAMED_MAX else ""
    return ", ".join(hosts[:_NAMED_MAX]) + more


def _of(value: Callable[[Survey], str | None], otherwise: Grade) -> BetweenJudge:
    def judge(hosts: Mapping[str, Survey]) -> Iterator[CheckFinding]:
        yield alike({name: value(host) for name, host in hosts.items()}, otherwise)

    return judge


def _memory(host: Survey) -> str:
    return format_bytes(round(host.basics.memory_bytes / _MEMORY_STEP_BYTES) * _MEMORY_STEP_BYTES)


def _disks(host: Survey) -> str:
    ends = [name for mount in host.data_mounts() for name in host.disks_of(host.block_of(mount) or "")]
    kinds = Counter(host.blocks[name].model or "disk" for name in dict.fromkeys(ends))
    return ", ".join(f"{count} × {model}" for model, count in sorted(kinds.items())) or "none"


def _mount_options(host: Survey) -> str:
    times = {next((o for o in mount.options if o.endswith("atime")), "strictatime") for mount in host.data_mounts()}
    systems = {mount.file_system for mount in host.data_mounts()}
    return ", ".join([*sorted(systems), *sorted(times)]) or "none"


def _sysctls(hosts: Mapping[str, Survey]) -> Iterator[CheckFinding]:
    names = sorted({name for host in hosts.values() for name in host.basics.sysctls})
    differing = 0
    for name in names:
        # What the kernel computes from a host's own memory differs by itself.
        if name in ("fs.file-max", "vm.min_free_kbytes"):
            continue
        readings = alike({host: survey.basics.sysctls.get(name) for host, survey in hosts.items()}, Grade.WARNING, name)
        if readings.grade is not Grade.FIT:
            differing += 1
            yield readings
    if not differing:
        yield fit(f"{len(names)} settings are alike")


def _clocks(hosts: Mapping[str, Survey]) -> Iterator[CheckFinding]:
    offsets = {name: host.clock.offset_s for name, host in hosts.items()}
    sure = max((host.clock.uncertain_s for host in hosts.values()), default=0.0)
    apart = max(offsets.values()) - min(offsets.values())
    last, first = max(offsets, key=offsets.__getitem__), min(offsets, key=offsets.__getitem__)
    words = f"{apart:.3f} s apart at most, ± {2 * sure:.3f} s"
    far = apart > CLOCKS_MAX_S + 2 * sure
    yield CheckFinding(Grade.ERROR, f"{words}: {last} is ahead of {first}") if far else fit(words)


def _pairs(hosts: Mapping[str, Survey]) -> Iterator[CheckFinding]:
    """Hold each pair against the slower of its two NICs, where they tell their rates, and against all other pairs."""
    rates = {(name, to): rate for name, host in hosts.items() for to, rate in host.sent_bits_per_s.items()}
    for name, host in hosts.items():
        for to, why in host.unsent.items():
            yield CheckFinding(Grade.ERROR, why, f"{name} → {to}")
    if not rates:
        yield unknown("measured on demand: assay check --bandwidth")
        return
    middle, slow = statistics.median(rates.values()), 0
    for (name, to), rate in sorted(rates.items(), key=lambda item: item[1]):
        speeds = [nic.speed_mbit_per_s for end in (name, to) if end in hosts and (nic := hosts[end].nic)]
        able = min((speed * 1e6 for speed in speeds if speed), default=None)
        words = format_bit_rate(rate)
        if rate < PAIR_SHARE_MIN * middle:
            yield CheckFinding(
                Grade.WARNING, f"{words}, where the median pair has {format_bit_rate(middle)}", f"{name} → {to}"
            )
        elif able and rate < PAIR_SHARE_MIN * able:
            yield CheckFinding(Grade.WARNING, f"{words}, over NICs of {format_bit_rate(able)}", f"{name} → {to}")
        else:
            continue
        slow += 1
    if not slow:
        yield fit(
            f"{len(rates)} pairs: {format_bit_rate(min(rates.values()))} to {format_bit_rate(max(rates.values()))}"
        )


def _nic(host: Survey) -> str | None:
    nic = host.nic
    if nic is None:
        return None
    return f"{nic.driver or 'no driver'}, {nic.speed_mbit_per_s or '?'} Mbit/s"


def _mtu(host: Survey) -> str | None:
    return str(host.nic.mtu_bytes) if host.nic and host.nic.mtu_bytes else None


def _hadoop(host: Survey) -> str | None:
    versions = sorted({daemon.version for daemon in host.daemons if daemon.version})
    return ", ".join(versions) or None


def _check(name: str, title: str, why: str, change: str, judge: BetweenJudge) -> BetweenCheck:
    return BetweenCheck(criterion(name, title, why, change, ("alike on all hosts", ASSAY)), judge)


_SLOWEST = "a job waits for the slowest host"

CHECKS = (
    _check(
        "kernels-alike",
        "kernels",
        "They differ in schedulers, page cache and defaults.",
        "upgrade all to one release, and reboot",
        _of(lambda host: host.basics.kernel, Grade.WARNING),
    ),
    _check(
        "distributions-alike",
        "distributions",
        "They differ in defaults and libraries.",
        "install one release",
        _of(lambda host: host.basics.distribution, Grade.NOTE),
    ),
    _check(
        "javas-alike",
        "Java versions",
        "They differ in collectors and compilers.",
        "install one version, or set java_home in the cluster file",
        _of(lambda host: host.java.version, Grade.WARNING),
    ),
    _check(
        "processors-alike",
        "processors",
        f"Otherwise {_SLOWEST}.",
        "describe them as separate node types, and compare only equal hosts",
        _of(lambda host: f"{host.basics.cores} × {host.basics.processor}", Grade.WARNING),
    ),
    _check(
        "memory-alike",
        "memory",
        "More memory is more page cache: reads differ.",
        "describe them as separate node types, and compare only equal hosts",
        _of(_memory, Grade.WARNING),
    ),
    _check(
        "disks-alike",
        "models of the data disks",
        f"Otherwise {_SLOWEST}.",
        "describe them as separate node types, or replace the different disk",
        _of(_disks, Grade.NOTE),
    ),
    _check(
        "mounts-alike",
        "file systems of data and their options",
        "Their costs differ.",
        "one line in every /etc/fstab",
        _of(_mount_options, Grade.WARNING),
    ),
    _check(
        "settings-alike",
        "kernel settings (sysctl)",
        "One host that was tuned by hand makes runs depend on where tasks land.",
        "one file in /etc/sysctl.d/ on all hosts",
        _sysctls,
    ),
    _check(
        "nics-alike",
        "NICs and their rates",
        f"Otherwise {_SLOWEST}.",
        "look at the odd host's cable and port",
        _of(_nic, Grade.WARNING),
    ),
    BetweenCheck(
        criterion(
            "pair-bandwidth",
            "bandwidth between each two hosts",
            "A bad cable, port or uplink makes every shuffle wait for one pair.",
            "look at cable, port and duplex of the host that all slow pairs share, or at the uplink that they share",
            (
                "94 % of the NIC's rate: what TCP has at an MTU of 1500",
                "sizes of headers in IEEE 802.3, RFC 791 and RFC 9293",
            ),
            (f"{PAIR_SHARE_MIN:.0%} of the NIC's rate, and of the median pair, or more", ASSAY),
        ),
        _pairs,
    ),
    _check(
        "mtu-alike",
        "MTU",
        "A larger packet than the other end takes is lost, and a transfer hangs.",
        "ip link set INTERFACE mtu 9000 (or 1500) on all hosts, and on the switch",
        _of(_mtu, Grade.ERROR),
    ),
    _check(
        "clocks-alike", "clocks", "Samples of different hosts are aligned by time.", "one time service for all", _clocks
    ),
    _check(
        "zones-alike",
        "time zones",
        "Logs of two hosts can't be read side by side.",
        "timedatectl set-timezone Etc/UTC on all",
        _of(lambda host: host.clock.zone, Grade.NOTE),
    ),
    _check(
        "hadoop-alike",
        "versions of running Hadoop or Spark",
        "A rolling upgrade that stands still in the middle is two clusters.",
        "have its owner finish it",
        _of(_hadoop, Grade.WARNING),
    ),
)
