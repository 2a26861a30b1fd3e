"""Checks of links and host names. In: a survey. Out: rows of checks. Pure."""

from collections.abc import Callable, Iterator
from typing import Any

from assay.analysis.host_checks.check import (
    ASSAY,
    CLOUDERA_RA,
    LINUX,
    NOT_REPORTED,
    DescribedHost,
    HostCheck,
    Probe,
    ProbedValue,
    T,
    at_least,
    at_most,
    by_state,
    check,
    holds,
    nothing,
    sysctl,
)
from assay.foundation.units import format_bit_rate
from assay.model import Grade, Interface, Survey

CARRIER_CHANGES_MAX = 10
"""Maximum number of link changes since the host started."""
CONNECTIONS_MIN = 1024
"""Minimum ``net.core.somaxconn``."""
_NAMES_MAX = 5
"""Maximum number of hosts named in a message."""


def _name(host: Survey) -> str:
    return next((name for name, nic in host.nics.items() if nic is host.nic), "")


def _of_nic(read: Callable[[Interface], tuple[T | None, str]]) -> Probe[T]:
    """Return a probe of the interface by which the host was reached; ``read`` returns the value and its text."""

    def probe(host: Survey, _: DescribedHost) -> Iterator[ProbedValue[T]]:
        if host.nic is None:
            yield ProbedValue(None, "no interface is up")
        else:
            yield ProbedValue(*read(host.nic), _name(host))

    return probe


def _rate(host: Survey, described: DescribedHost) -> Iterator[ProbedValue[float]]:
    nic = host.nic
    rate = nic.link_bits_per_s if nic else None
    if nic is None or rate is None:
        yield ProbedValue(None, nic.no_rate_reason if nic else "no interface is up", _name(host))
    elif described.type is None:
        yield ProbedValue(1.0, format_bit_rate(rate), _name(host))
    else:
        described_rate = described.type.nic.rate_bits_per_s
        yield ProbedValue(
            rate / described_rate, f"{format_bit_rate(rate)}, described: {format_bit_rate(described_rate)}", _name(host)
        )


def _negotiated(nic: Interface) -> tuple[bool | None, str]:
    if nic.link_bits_per_s is None:
        return None, nic.no_rate_reason
    if not nic.speed_mbit_per_s or not nic.supported_mbit_per_s:
        return None, "the driver does not report what the hardware supports"
    text = f"{nic.speed_mbit_per_s} Mbit/s, supported: {nic.supported_mbit_per_s} Mbit/s, {nic.duplex} duplex"
    return nic.speed_mbit_per_s >= nic.supported_mbit_per_s and nic.duplex != "half", text


def _ring(nic: Interface) -> tuple[float | None, str]:
    if not nic.ring_receive_max:
        return None, "the driver has none, or does not report it"
    return (nic.ring_receive or 0) / nic.ring_receive_max, f"{nic.ring_receive} of {nic.ring_receive_max}"


def _errors(nic: Interface) -> tuple[float, str]:
    packets, errors = nic.rx_packets + nic.tx_packets, nic.rx_errors + nic.tx_errors
    return errors / max(packets, 1), f"{errors} in {packets} packets"


def _drops(nic: Interface) -> tuple[float, str]:
    packets, drops = nic.rx_packets + nic.tx_packets, nic.rx_dropped + nic.tx_dropped
    return drops / max(packets, 1), f"{drops} in {packets} packets"


def _carrier(nic: Interface) -> tuple[int | None, str]:
    changes = nic.carrier_changes
    return changes, NOT_REPORTED if changes is None else f"{changes} since the start"


def _full_mtu(host: Survey, _: DescribedHost) -> Iterator[ProbedValue[bool]]:
    if host.full_mtu_passes is None:
        yield ProbedValue(None, "there is no ping, or the next host does not answer it", _name(host))
    else:
        mtu_bytes = host.nic.mtu_bytes if host.nic else None
        passes = "passes" if host.full_mtu_passes else "does not pass"
        yield ProbedValue(host.full_mtu_passes, f"a packet of {mtu_bytes} bytes {passes} to the next host", _name(host))


def _host_name_address(host: Survey, _: DescribedHost) -> Iterator[ProbedValue[str]]:
    addresses = ", ".join(host.name_addresses)
    if not addresses:
        yield ProbedValue("missing", f"{host.hostname} has no address")
    elif all(address.startswith("127.") for address in host.name_addresses):
        yield ProbedValue("loopback", f"{host.hostname} is {addresses}: daemons would listen to this host only")
    else:
        yield ProbedValue("reachable", f"{host.hostname} is {addresses}")


def _peers(host: Survey, _: DescribedHost) -> Iterator[ProbedValue[list[str]]]:
    names_without_address = sorted(name for name, addresses in host.peers.items() if not addresses)
    text = f"{len(host.peers) - len(names_without_address)} of {len(host.peers)} have an address"
    yield ProbedValue(
        names_without_address,
        f"{text}; not {', '.join(names_without_address[:_NAMES_MAX])}" if names_without_address else text,
    )


def _reverse(host: Survey, _: DescribedHost) -> Iterator[ProbedValue[str]]:
    if host.login_address is None:
        yield ProbedValue(None, "it was not reached by an address")
    elif host.login_address_name is None:
        yield ProbedValue("missing", f"{host.login_address} has no name")
    else:
        is_same = host.login_address_name.split(".")[0] == host.hostname.split(".")[0]
        text = f"{host.login_address} is {host.login_address_name}, and the host's name is {host.hostname}"
        yield ProbedValue("same" if is_same else "different", text)


CHECKS: tuple[HostCheck[Any], ...] = (
    check(
        "link-rate",
        "link rate against the cluster file",
        "The shuffle and every copy of a block use this link.",
        "correct nic in the cluster file; check cable, switch port and driver",
        _rate,
        at_least((0.9, Grade.FIT), otherwise=Grade.ERROR),
        ("the described rate", ASSAY),
    ),
    check(
        "negotiated",
        "negotiated rate against the hardware's",
        "A bad cable turns 10 Gbit/s into 1 Gbit/s without any message.",
        "change the cable or the port; ethtool INTERFACE shows the rates that both ends offer",
        _of_nic(_negotiated),
        holds(Grade.WARNING),
        ("the hardware's highest, full duplex", ASSAY),
    ),
    check(
        "ring-buffers",
        "receive ring",
        "Bursts that do not fit are dropped, and sent again.",
        "ethtool -G INTERFACE rx MAXIMUM",
        _of_nic(_ring),
        at_least((1, Grade.FIT), otherwise=Grade.NOTE),
        ("the driver's maximum", CLOUDERA_RA),
    ),
    check(
        "link-errors",
        "errors on the link",
        "Damaged packets are sent again, after a wait.",
        "change the cable or the optics",
        _of_nic(_errors),
        at_most((1e-6, Grade.FIT), otherwise=Grade.WARNING),
        ("at most one in a million", ASSAY),
    ),
    check(
        "link-drops",
        "dropped packets",
        "Packets that the host could not take are sent again.",
        "larger rings, receive queues over more cores",
        _of_nic(_drops),
        at_most((1e-4, Grade.FIT), otherwise=Grade.NOTE),
        ("at most one in ten thousand", ASSAY),
    ),
    check(
        "link-flaps",
        "interruptions of the link",
        "A link that is down for a second fails tasks.",
        "check cable, optics and switch port",
        _of_nic(_carrier),
        at_most((CARRIER_CHANGES_MAX, Grade.FIT), otherwise=Grade.WARNING),
        (f"at most {CARRIER_CHANGES_MAX} since the start", ASSAY),
    ),
    check(
        "whole-packet",
        "packets of the whole MTU",
        "If one port on the way has a smaller MTU, large transfers hang while small transfers work.",
        "the same MTU on every interface and port",
        _full_mtu,
        holds(Grade.ERROR),
        ("pass to every host", ASSAY),
    ),
    check(
        "own-name",
        "the host's name",
        "Hadoop's daemons register under it.",
        "the host's address before its name in /etc/hosts or DNS, not 127.0.1.1",
        _host_name_address,
        by_state({"reachable": Grade.FIT, "loopback": Grade.WARNING, "missing": Grade.ERROR}),
        ("an address that others reach", "Apache Hadoop wiki, ConnectionRefused"),
    ),
    check(
        "peers",
        "names of the other hosts",
        "A task fetches map output from hosts by their names.",
        "DNS, or the same /etc/hosts on every host",
        _peers,
        nothing(Grade.ERROR),
        ("each has an address", ASSAY),
    ),
    check(
        "reverse-name",
        "the name of the host's address",
        "By default, a NameNode refuses DataNodes whose address has no name.",
        "a PTR record, or /etc/hosts",
        _reverse,
        by_state({"same": Grade.FIT, "different": Grade.NOTE, "missing": Grade.WARNING}),
        ("the host's name", "Apache Hadoop, dfs.namenode.datanode.registration.ip-hostname-check"),
    ),
    check(
        "connections",
        "net.core.somaxconn",
        "When many reducers fetch at once, connections beyond it are refused, and tried again after seconds.",
        "sysctl -w net.core.somaxconn=4096",
        sysctl("net.core.somaxconn"),
        at_least((CONNECTIONS_MIN, Grade.FIT), otherwise=Grade.NOTE),
        (f"{CONNECTIONS_MIN} or more", ASSAY),
        ("4096 since Linux 5.4, 128 before", LINUX),
    ),
)
