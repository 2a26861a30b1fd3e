"""Checks for differences between hosts that should be equal. In: all surveys. Out: rows of checks. Pure."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from assay.analysis.host_checks.check import ASSAY, CheckFinding, CrossHostCheck, criterion
from assay.foundation.units import format_bit_rate, format_bytes, format_percent
from assay.model import Grade, Survey

_NAMED_MAX = 4
"""Maximum number of hosts named for one value."""
_MEMORY_STEP_BYTES = 2**29
"""Step to which memory sizes are rounded before they are compared, in bytes."""
CLOCKS_MAX_S = 0.25
"""Maximum difference between the clocks of any two hosts, in seconds, beyond the uncertainty."""
PAIR_SHARE_MIN = 0.7
"""Minimum share of the slower NIC's rate, and of the median pair: TCP over Ethernet reaches 0.94 at an MTU of 1500."""
BetweenProbe = Callable[[Mapping[str, Survey]], Iterable[CheckFinding]]


def compare_values(values: Mapping[str, str | None], otherwise: Grade, subject: str = "") -> CheckFinding:
    """Return whether all hosts have the same value; if not, name the values with their hosts."""
    known_values = {host: value for host, value in values.items() if value is not None}
    if not known_values:
        return CheckFinding(Grade.UNKNOWN, "no host reports it", subject)
    counts = Counter(known_values.values())
    common_value, common_count = counts.most_common(1)[0]
    if len(counts) == 1:
        return CheckFinding(Grade.FIT, f"{common_value} on all {len(known_values)}", subject)
    hosts_by_value: dict[str, list[str]] = defaultdict(list)
    for host, value in known_values.items():
        if value != common_value:
            hosts_by_value[value].append(host)
    texts = []
    for value, hosts in sorted(hosts_by_value.items()):
        others_text = f" and {len(hosts) - _NAMED_MAX} more" if len(hosts) > _NAMED_MAX else ""
        texts.append(f"{value} on {', '.join(hosts[:_NAMED_MAX])}{others_text}")
    return CheckFinding(otherwise, f"{common_value} on {common_count}, but {'; '.join(texts)}", subject)


def _probe_values(value: Callable[[Survey], str | None], otherwise: Grade) -> BetweenProbe:
    """Return a probe that compares one value of all hosts."""
    return lambda hosts: [compare_values({name: value(host) for name, host in hosts.items()}, otherwise)]


def _memory(host: Survey) -> str:
    return format_bytes(round(host.basics.memory_bytes / _MEMORY_STEP_BYTES) * _MEMORY_STEP_BYTES)


def _disks(host: Survey) -> str:
    disk_names = [name for mount in host.data_mounts() for name in host.disks_of(host.block_of(mount) or "")]
    kinds = Counter(host.blocks[name].model or "disk" for name in dict.fromkeys(disk_names))
    return ", ".join(f"{count} × {model}" for model, count in sorted(kinds.items())) or "none"


def _mount_options(host: Survey) -> str:
    times = {next((o for o in mount.options if o.endswith("atime")), "strictatime") for mount in host.data_mounts()}
    systems = {mount.file_system for mount in host.data_mounts()}
    return ", ".join([*sorted(systems), *sorted(times)]) or "none"


def _sysctls(hosts: Mapping[str, Survey]) -> Iterator[CheckFinding]:
    names = sorted({name for host in hosts.values() for name in host.basics.sysctls})
    difference_count = 0
    for name in names:
        # The kernel computes these from the memory of the host.
        if name in ("fs.file-max", "vm.min_free_kbytes"):
            continue
        finding = compare_values(
            {host: survey.basics.sysctls.get(name) for host, survey in hosts.items()}, Grade.WARNING, name
        )
        if finding.grade is not Grade.FIT:
            difference_count += 1
            yield finding
    if not difference_count:
        yield CheckFinding(Grade.FIT, f"{len(names)} settings are equal")


def _clocks(hosts: Mapping[str, Survey]) -> Iterator[CheckFinding]:
    offsets = {name: host.clock.offset_s for name, host in hosts.items()}
    uncertain_s = max((host.clock.uncertain_s for host in hosts.values()), default=0.0)
    difference_s = max(offsets.values()) - min(offsets.values())
    latest, earliest = max(offsets, key=offsets.__getitem__), min(offsets, key=offsets.__getitem__)
    text = f"{difference_s:.3f} s apart at most, ± {2 * uncertain_s:.3f} s"
    if difference_s > CLOCKS_MAX_S + 2 * uncertain_s:
        yield CheckFinding(Grade.ERROR, f"{text}: {latest} is ahead of {earliest}")
    else:
        yield CheckFinding(Grade.FIT, text)


def _pairs(hosts: Mapping[str, Survey]) -> Iterator[CheckFinding]:
    """Compare each pair with the slower of its two NICs, if their rates are known, and with all other pairs."""
    rates = {(name, target): rate for name, host in hosts.items() for target, rate in host.sent_bits_per_s.items()}
    for name, host in hosts.items():
        for target, why in host.unmeasured_links.items():
            yield CheckFinding(Grade.ERROR, why, f"{name} → {target}")
    if not rates:
        yield CheckFinding(Grade.UNKNOWN, "measured on demand: assay check --bandwidth")
        return
    median_rate, slow_pairs = statistics.median(rates.values()), 0
    for (name, target), rate in sorted(rates.items(), key=lambda item: item[1]):
        speeds = [nic.speed_mbit_per_s for end in (name, target) if end in hosts and (nic := hosts[end].nic)]
        nic_bits_per_s = min((speed * 1e6 for speed in speeds if speed), default=None)
        if rate < PAIR_SHARE_MIN * median_rate:
            limit = f"where the median pair has {format_bit_rate(median_rate)}"
        elif nic_bits_per_s and rate < PAIR_SHARE_MIN * nic_bits_per_s:
            limit = f"over NICs of {format_bit_rate(nic_bits_per_s)}"
        else:
            continue
        slow_pairs += 1
        yield CheckFinding(Grade.WARNING, f"{format_bit_rate(rate)}, {limit}", f"{name} → {target}")
    if not slow_pairs:
        slowest, fastest = format_bit_rate(min(rates.values())), format_bit_rate(max(rates.values()))
        yield CheckFinding(Grade.FIT, f"{len(rates)} pairs: {slowest} to {fastest}")


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


def _check(name: str, title: str, why: str, change: str, probe: BetweenProbe) -> CrossHostCheck:
    return CrossHostCheck(criterion(name, title, why, change, ("equal on all hosts", ASSAY)), probe)


_SLOWEST = "A job waits for the slowest host."
_SEPARATE = "describe them as separate node types, and compare only equal hosts"

CHECKS = (
    _check(
        "kernels-alike",
        "kernels",
        "They differ in schedulers, page cache and defaults.",
        "upgrade all to one release, and reboot",
        _probe_values(lambda host: host.basics.kernel, Grade.WARNING),
    ),
    _check(
        "distributions-alike",
        "distributions",
        "They differ in defaults and libraries.",
        "install one release",
        _probe_values(lambda host: host.basics.distribution, Grade.NOTE),
    ),
    _check(
        "javas-alike",
        "Java versions",
        "They differ in garbage collectors and compilers.",
        "install one version, or set java_home in the cluster file",
        _probe_values(lambda host: host.java.version, Grade.WARNING),
    ),
    _check(
        "processors-alike",
        "processors",
        _SLOWEST,
        _SEPARATE,
        _probe_values(lambda host: f"{host.basics.cores} × {host.basics.processor}", Grade.WARNING),
    ),
    _check(
        "memory-alike",
        "memory",
        "More memory is more page cache, so reads differ.",
        _SEPARATE,
        _probe_values(_memory, Grade.WARNING),
    ),
    _check(
        "disks-alike",
        "models of the data disks",
        _SLOWEST,
        "describe them as separate node types, or replace the different disk",
        _probe_values(_disks, Grade.NOTE),
    ),
    _check(
        "mounts-alike",
        "file systems of data and their options",
        "File systems and mount options differ in speed.",
        "one line in every /etc/fstab",
        _probe_values(_mount_options, Grade.WARNING),
    ),
    _check(
        "settings-alike",
        "kernel settings (sysctl)",
        "A host with other settings makes run times depend on where tasks start.",
        "one file in /etc/sysctl.d/ on all hosts",
        _sysctls,
    ),
    _check(
        "nics-alike",
        "NICs and their rates",
        _SLOWEST,
        "check the cable and port of the different host",
        _probe_values(_nic, Grade.WARNING),
    ),
    CrossHostCheck(
        criterion(
            "pair-bandwidth",
            "bandwidth between pairs of hosts",
            "A bad cable, port or uplink makes every shuffle wait for one pair.",
            "check cable, port and duplex of the host, or the uplink, that all slow pairs share",
            (
                "94 % of the NIC's rate: what TCP has at an MTU of 1500",
                "sizes of headers in IEEE 802.3, RFC 791 and RFC 9293",
            ),
            (f"{format_percent(PAIR_SHARE_MIN)} of the NIC's rate, and of the median pair, or more", ASSAY),
        ),
        _pairs,
    ),
    _check(
        "mtu-alike",
        "MTU",
        "A packet larger than the other end accepts is lost, and the transfer hangs.",
        "ip link set INTERFACE mtu 9000 (or 1500) on all hosts, and on the switch",
        _probe_values(_mtu, Grade.ERROR),
    ),
    _check(
        "clocks-alike", "clocks", "Samples of different hosts are aligned by time.", "one time service for all", _clocks
    ),
    _check(
        "zones-alike",
        "time zones",
        "Logs of two hosts can't be read side by side.",
        "timedatectl set-timezone Etc/UTC on all",
        _probe_values(lambda host: host.clock.zone, Grade.NOTE),
    ),
    _check(
        "hadoop-alike",
        "versions of running Hadoop or Spark",
        "A rolling upgrade that stopped halfway is two clusters.",
        "have the owner of the cluster finish it",
        _probe_values(_hadoop, Grade.WARNING),
    ),
)
