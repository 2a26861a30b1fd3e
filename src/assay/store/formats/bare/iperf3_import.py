"""Import iperf3's measurements of links (``iperf3 -J`` on the client): the throughput from one host to another.

In: files with one or more JSON reports. Out: one run of the workload ``iperf3`` per report. Its duration is the time
during which the receiver got data. Its metrics are payload bits/s as received (``link_bits_per_s``) and as sent, and
TCP's retransmits. A failed test is a failed run with iperf3's message. A server's report is skipped because the
client's report describes the same test from both sides.
"""

import hashlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from assay.foundation.errors import FormatError
from assay.model import ImportedRun, Run, RunStatus, SkippedItem, foreign_run
from assay.store.formats.bare.iperf3 import parse_iperf3
from assay.store.formats.format import Format, read_each
from assay.store.formats.plausible import DURATION_MAX_S, REPORT_UNIX_S
from assay.store.formats.source import Source

_REPORT = re.compile(r"^\{", re.MULTILINE)
_RECORDED_OPTIONS: Final = (
    "protocol",
    "num_streams",
    "blksize",
    "duration",
    "omit",
    "reverse",
    "bidir",
    "target_bitrate",
    "tos",
)
_BITS_PER_S_MAX: Final = 1e14
"""Maximum rate of a link, in bits per second. A larger value is an error in the file."""
_RELATIVE_DIFFERENCE_MAX: Final = 0.02
"""Maximum relative difference between the bits of a test and its rate times its duration."""


class _Peer(msgspec.Struct):
    host: str = ""


class _Timestamp(msgspec.Struct):
    timesecs: float = 0.0


class _StartEntry(msgspec.Struct):
    version: str = ""
    timestamp: _Timestamp | None = None
    connecting_to: _Peer | None = None
    accepted_connection: _Peer | None = None
    cookie: str = ""
    test_start: dict[str, Any] = {}


class _TopLevel(msgspec.Struct):
    start: _StartEntry
    intervals: list[Any]
    end: dict[str, Any]
    error: str | None = None


def _recognises(name: str, head: bytes) -> bool:
    del name
    return b'"start"' in head and (b'"iperf ' in head or (b'"error"' in head and b'"intervals"' in head))


def _read(source: Source) -> Iterator[ImportedRun | SkippedItem]:
    text = source.text()
    starts = [match.start() for match in _REPORT.finditer(text)]
    if not starts:
        raise FormatError("holds no JSON report of iperf3", where=source.name, hint="run iperf3 with --json")
    line, counted_until = 1, 0
    for begin, end in zip(starts, [*starts[1:], len(text)], strict=True):
        line, counted_until = line + text.count("\n", counted_until, begin), begin
        where = f"{source.name}:{line}"
        try:
            yield _imported_run(where, text[begin:end])
        except FormatError as error:
            yield SkippedItem(where, error.message)


def _imported_run(where: str, text: str) -> ImportedRun:
    report = text[: text.rfind("}") + 1].encode()
    try:
        top_level = msgspec.json.decode(report, type=_TopLevel)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise FormatError(f"not a JSON report of iperf3: {error}") from error
    if top_level.start.accepted_connection:
        raise FormatError("is the server's report: import the client's report, which has both sides")
    if not top_level.error and top_level.end.get("sum_sent_bidir_reverse"):
        raise FormatError("is a test in both directions at once, which has no single throughput")
    key = top_level.start.cookie or hashlib.sha256(report).hexdigest()[:16]
    return ImportedRun(key, where, _failed_run(top_level) if top_level.error else _completed_run(top_level, report))


def _completed_run(top_level: _TopLevel, report: bytes) -> Run:
    result = parse_iperf3(report)
    _check_sums(top_level.end)
    if not 0 < result.duration_s <= DURATION_MAX_S:
        raise FormatError(f"lasted {result.duration_s:.6g} s, which is impossible")
    metrics = {"link_bits_per_s": result.received_bits_per_s, "link_sent_bits_per_s": result.sent_bits_per_s}
    for value in metrics.values():
        if not 0 <= value <= _BITS_PER_S_MAX:
            raise FormatError(f"has {value:.6g} bits/s, which is impossible")
    if result.retransmits is not None:
        if not 0 <= result.retransmits <= 10**12:
            raise FormatError("has an impossible number of retransmits")
        metrics["retransmits"] = float(result.retransmits)
    no_data = result.received_bits_per_s == 0
    return _run(
        top_level,
        duration_s=result.duration_s,
        metrics={} if no_data else metrics,
        data_bytes=_received_bytes(top_level),
        status=RunStatus.INVALID if no_data else RunStatus.VALID,
        cause="the receiver got nothing before the test ended: too short to measure a link" if no_data else None,
    )


def _check_sums(end: dict[str, Any]) -> None:
    """Raise FormatError for a report in which bytes, seconds and bits/s of one side contradict each other."""
    for side in ("sum_sent", "sum_received"):
        summary = end.get(side)
        if not isinstance(summary, dict):
            continue
        values = [summary.get(name) for name in ("bytes", "seconds", "bits_per_second")]
        sizes = [value for value in values if isinstance(value, int | float) and 0 <= value <= 2**63]
        if None not in values and len(sizes) < len(values):
            raise FormatError(f'"{side}" has an impossible value')
        if len(sizes) == len(values):
            bits, expected_bits = sizes[0] * 8.0, sizes[1] * sizes[2]
            if abs(bits - expected_bits) > _RELATIVE_DIFFERENCE_MAX * max(bits, expected_bits):
                raise FormatError(f'"{side}" contradicts itself: {bits:.6g} bits in {sizes[1]:.6g} s')


def _received_bytes(top_level: _TopLevel) -> int | None:
    summary = top_level.end.get("sum_received")
    value = summary.get("bytes") if isinstance(summary, dict) else None
    return value if isinstance(value, int) and 0 <= value < 2**63 else None


def _failed_run(top_level: _TopLevel) -> Run:
    return _run(top_level, duration_s=0.0, status=RunStatus.FAILED, cause=f"iperf3: {top_level.error}")


def _run(top_level: _TopLevel, *, duration_s: float, **run_fields: Any) -> Run:
    start = top_level.start
    begin_s = start.timestamp.timesecs if start.timestamp else 0.0
    is_plausible_date = REPORT_UNIX_S[0] <= begin_s <= REPORT_UNIX_S[1]
    return foreign_run(
        workload="iperf3",
        duration_s=duration_s,
        engine="iperf3",
        engine_version=start.version.removeprefix("iperf "),
        parameters={
            f"iperf3.{name}": _text(start.test_start[name]) for name in _RECORDED_OPTIONS if name in start.test_start
        },
        started_at=datetime.fromtimestamp(begin_s, UTC).isoformat(timespec="seconds") if is_plausible_date else "",
        environment={"server": start.connecting_to.host} if start.connecting_to else {},
        sources={"duration_s": "iperf3: the receiver's seconds", "metrics": "iperf3's report"},
        **run_fields,
    )


def _text(value: object) -> str:
    """Return an option as text; a whole number has no decimal point."""
    return str(value)[:80] if isinstance(value, str) or not isinstance(value, float) else f"{value:g}"


FORMAT = Format("iperf3", "iperf3's JSON reports", _recognises, read_each(_read))
