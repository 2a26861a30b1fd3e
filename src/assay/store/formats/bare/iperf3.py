"""Parse iperf3's JSON report (``--json``): the throughput of a TCP stream from client to server.

In: the client's report as bytes. Out: :class:`Iperf3Report` with bits/s of payload. Headers of TCP, IP and Ethernet are
not included, so a full link shows about 5 % less than its rate. If iperf3 fails, the report has the reason in ``error``
and an otherwise empty ``end``.
"""

from dataclasses import dataclass

import msgspec

from assay.foundation.errors import FormatError


@dataclass(frozen=True, slots=True)
class Iperf3Report:
    """The result of a test: bits/s that the sender sent and the receiver received over ``duration_s``."""

    version: str
    duration_s: float
    sent_bits_per_s: float
    received_bits_per_s: float
    retransmits: int | None


class _Sum(msgspec.Struct):
    bits_per_second: float
    seconds: float
    retransmits: int | None = None


class _Iperf3End(msgspec.Struct):
    sum_sent: _Sum | None = None
    sum_received: _Sum | None = None


class _VersionEntry(msgspec.Struct):
    version: str = ""


class _Iperf3Json(msgspec.Struct):
    start: _VersionEntry = msgspec.field(default_factory=_VersionEntry)
    end: _Iperf3End = msgspec.field(default_factory=_Iperf3End)
    error: str | None = None


def parse_iperf3(report: bytes) -> Iperf3Report:
    """Parse a report. Raises FormatError if it is not iperf3's JSON, or with iperf3's message if the test failed."""
    try:
        content = msgspec.json.decode(report, type=_Iperf3Json)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FormatError(f"not a JSON report of iperf3: {error}", hint="iperf3 writes one with --json") from error
    if content.error:
        raise FormatError(f"iperf3 failed: {content.error}")
    sent, received = content.end.sum_sent, content.end.sum_received
    if sent is None or received is None:
        raise FormatError("iperf3's report has no sums of what was sent and received")
    return Iperf3Report(
        content.start.version, received.seconds, sent.bits_per_second, received.bits_per_second, sent.retransmits
    )
