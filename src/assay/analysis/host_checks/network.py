"""Checks of links and names. In: a survey. Out: what was found. Pure."""

from collections.abc import Iterator

from assay.analysis.host_checks.check import (
    ASSAY,
    CLOUDERA_RA,
    LINUX,
    CheckFinding,
    DescribedHost,
    HostCheck,
    criterion,
    fit,
    graded,
    unknown,
)
from assay.foundation.units import format_bit_rate
from assay.model import Grade, Survey

ERROR_SHARE_MAX = 1e-6
DROP_SHARE_MAX = 1e-4
CARRIER_CHANGES_MAX = 10
CONNECTIONS_MIN = 1024
_DESCRIBED_SHARE = 0.9


def _name(host: Survey) -> str:
    return next((name for name, nic in host.nics.items() if nic is host.nic), "")


def _rate(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    nic = host.nic
    rate = nic.link_bits_per_s if nic else None
    if nic is None or rate is None:
        yield unknown(nic.no_rate if nic else "no interface is up", _name(host))
        return
    if described.type is None:
        yield fit(format_bit_rate(rate), _name(host))
        return
    wanted = described.type.nic.rate_bits_per_s
    words = f"{format_bit_rate(rate)}, described: {format_bit_rate(wanted)}"
    yield graded(rate >= wanted * _DESCRIBED_SHARE, Grade.ERROR, words, _name(host))


def _negotiated(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    nic = host.nic
    if nic is None or nic.link_bits_per_s is None:
        yield unknown(nic.no_rate if nic else "no interface is up", _name(host))
        return
    if not nic.speed_mbit_per_s or not nic.able_mbit_per_s:
        yield unknown("the driver does not tell what the hardware could", _name(host))
        return
    words = f"{nic.speed_mbit_per_s} Mbit/s, the hardware could {nic.able_mbit_per_s}, {nic.duplex} duplex"
    good = nic.speed_mbit_per_s >= nic.able_mbit_per_s and nic.duplex != "half"
    yield graded(good, Grade.WARNING, words, _name(host))


def _rings(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    nic = host.nic
    if nic is None or not nic.ring_receive_max:
        yield unknown("the driver has none, or does not tell", _name(host))
        return
    words = f"{nic.ring_receive} of {nic.ring_receive_max}"
    yield graded((nic.ring_receive or 0) >= nic.ring_receive_max, Grade.NOTE, words, _name(host))


def _errors(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    nic = host.nic
    if nic is None:
        yield unknown("no interface is up")
        return
    packets, errors = nic.rx_packets + nic.tx_packets, nic.rx_errors + nic.tx_errors
    yield graded(errors <= packets * ERROR_SHARE_MAX, Grade.WARNING, f"{errors} in {packets} packets", _name(host))


def _drops(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    nic = host.nic
    if nic is None:
        yield unknown("no interface is up")
        return
    packets, drops = nic.rx_packets + nic.tx_packets, nic.rx_dropped + nic.tx_dropped
    yield graded(drops <= packets * DROP_SHARE_MAX, Grade.NOTE, f"{drops} in {packets} packets", _name(host))


def _carrier(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    changes = host.nic.carrier_changes if host.nic else None
    yield (
        unknown("the kernel does not tell", _name(host))
        if changes is None
        else graded(changes <= CARRIER_CHANGES_MAX, Grade.WARNING, f"{changes} since the start", _name(host))
    )


def _whole_packet(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    mtu = host.nic.mtu_bytes if host.nic else None
    if host.whole_packet is None:
        yield unknown("there is no ping, or the next host does not answer it", _name(host))
    else:
        words = f"a packet of {mtu} bytes {'passes' if host.whole_packet else 'does not pass'} to the next host"
        yield graded(host.whole_packet, Grade.ERROR, words, _name(host))


def _host_name_address(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    addresses = host.name_addresses
    if not addresses:
        yield CheckFinding(Grade.ERROR, f"{host.hostname} has no address")
    elif all(address.startswith("127.") for address in addresses):
        yield CheckFinding(
            Grade.WARNING, f"{host.hostname} is {', '.join(addresses)}: daemons would listen to this host alone"
        )
    else:
        yield fit(f"{host.hostname} is {', '.join(addresses)}")


def _peers(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    unknown_names = sorted(name for name, addresses in host.peers.items() if not addresses)
    words = f"{len(host.peers) - len(unknown_names)} of {len(host.peers)} known"
    if unknown_names:
        words += f"; not {', '.join(unknown_names[:5])}"
    yield graded(not unknown_names, Grade.ERROR, words)


def _reverse(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    if host.entered_by is None:
        yield unknown("it was not reached by an address")
    elif host.entered_name is None:
        yield CheckFinding(Grade.WARNING, f"{host.entered_by} has no name")
    else:
        same = host.entered_name.split(".")[0] == host.hostname.split(".")[0]
        words = f"{host.entered_by} is {host.entered_name}, which calls itself {host.hostname}"
        yield graded(same, Grade.NOTE, words)


def _connections(host: Survey, _: DescribedHost) -> Iterator[CheckFinding]:
    text = host.basics.sysctls.get("net.core.somaxconn", "")
    yield (
        graded(int(text) >= CONNECTIONS_MIN, Grade.NOTE, text)
        if text.isdecimal()
        else unknown("the kernel does not tell")
    )


CHECKS = (
    HostCheck(
        criterion(
            "link-rate",
            "link rate against the cluster file",
            "The shuffle and every copy of a block go over it.",
            "correct nic in the cluster file; look at cable, switch port and driver",
            ("as the file says", ASSAY),
        ),
        _rate,
    ),
    HostCheck(
        criterion(
            "negotiated",
            "negotiated rate against the hardware's",
            "A bad cable makes 1 Gbit/s of 10, and nothing says so.",
            "change the cable or the port; ethtool INTERFACE shows what both ends offer",
            ("the hardware's highest, full duplex", ASSAY),
        ),
        _negotiated,
    ),
    HostCheck(
        criterion(
            "ring-buffers",
            "receive ring",
            "Bursts that do not fit are dropped, and sent again.",
            "ethtool -G INTERFACE rx MAXIMUM",
            ("the driver's maximum", CLOUDERA_RA),
        ),
        _rings,
    ),
    HostCheck(
        criterion(
            "link-errors",
            "errors on the link",
            "Damaged packets are sent again, after a wait.",
            "change the cable or the optics",
            ("at most one in a million", ASSAY),
        ),
        _errors,
    ),
    HostCheck(
        criterion(
            "link-drops",
            "dropped packets",
            "What the host could not take is sent again.",
            "larger rings, receive queues over more cores",
            ("at most one in ten thousand", ASSAY),
        ),
        _drops,
    ),
    HostCheck(
        criterion(
            "link-flaps",
            "times the link came and went",
            "A link that goes away for a second fails tasks.",
            "look at cable, optics and switch port",
            (f"at most {CARRIER_CHANGES_MAX} since the start", ASSAY),
        ),
        _carrier,
    ),
    HostCheck(
        criterion(
            "whole-packet",
            "packets of the whole MTU",
            "Where one port on the way has a smaller MTU, large transfers hang while small ones work.",
            "the same MTU on every interface and port",
            ("pass to every host", ASSAY),
        ),
        _whole_packet,
    ),
    HostCheck(
        criterion(
            "own-name",
            "the host's own name",
            "Hadoop's daemons register under it.",
            "the host's address before its name in /etc/hosts or DNS, not 127.0.1.1",
            ("an address that others reach", "Apache Hadoop wiki, ConnectionRefused"),
        ),
        _host_name_address,
    ),
    HostCheck(
        criterion(
            "peers",
            "names of the other hosts",
            "A task fetches map output from hosts by their names.",
            "DNS, or the same /etc/hosts on every host",
            ("each has an address", ASSAY),
        ),
        _peers,
    ),
    HostCheck(
        criterion(
            "reverse-name",
            "the name of the host's address",
            "A NameNode looks DataNodes up by address, and refuses those without a name unless told otherwise.",
            "a PTR record, or /etc/hosts",
            ("the host's own name", "Apache Hadoop, dfs.namenode.datanode.registration.ip-hostname-check"),
        ),
        _reverse,
    ),
    HostCheck(
        criterion(
            "connections",
            "net.core.somaxconn",
            "When many reducers fetch at once, connections beyond it are refused, and tried again after seconds.",
            "sysctl -w net.core.somaxconn=4096",
            (f"{CONNECTIONS_MIN} or more", ASSAY),
            ("4096 since Linux 5.4, 128 before", LINUX),
        ),
        _connections,
    ),
)
