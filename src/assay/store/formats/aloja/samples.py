"""Convert rows of ALOJA's monitoring tables, or of the logs behind these tables, to the trace of a run.

In: rows of ``SAR_cpu SAR_block_devices SAR_memory_util SAR_net_devices VMSTATS BWM BWM2`` as text by column, each with
its time in seconds from the run's start. Out: :class:`assay.model.runs.traces.trace.Trace`, and the seconds that it
covers.

A row holds means over the interval that ends at the row's time; a trace holds counters. The amount of an interval is
rate × interval. A counter is the sum of the amounts, from 0 at the start of the first interval. It stays constant while
samples are missing, so a total is a lower bound. Units follow the manuals of sar(1), vmstat(8) and bwm-ng(1):

- ``rd_sec/s wr_sec/s`` are sectors of 512 bytes. ``%util`` × interval is ``busy_s``; ``avgqu-sz`` × interval is
  ``queue_s``. tps and await are ignored, because they mix reads and writes.
- ``rxkB/s txkB/s kbmem…`` and ``free cache bi bo`` of VMSTATS are in units of 1024 bytes. ``bi bo`` count the whole
  machine, so their subject is the device ``all``.
- ``bytes_in bytes_out`` of BWM2 are bytes of the interval; BWM, of an older bwm-ng, has rates under these names.
- CPU times are in per cent of all cores. If the number of cores is known, they become the counters ``user_s`` …; if
  not, the gauges ``user_share system_share iowait_share steal_share idle_share`` (0 to 1). sar and vmstat count
  interrupts as system time.
- VMSTATS has no clock: its ``time`` counts rows from 0, one row per second since monitoring started, just before the
  run. The first row holds means since the machine's boot; only its memory values are used.

If several tables record the CPU, memory, disks or NICs of a node, only the table with the most samples is used.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from assay.foundation.errors import FormatError
from assay.model import CodedWarning, Trace, WarningCode

TABLES: Final = ("SAR_cpu", "SAR_block_devices", "SAR_memory_util", "SAR_net_devices", "VMSTATS", "BWM2", "BWM")
"""Tables in order of preference, which decides between tables with equally many samples."""
MARGIN_S: Final = 120.0
"""Maximum time between a run and its samples, in seconds: monitoring starts before the run and stops after it."""
SECTOR_BYTES: Final = 512
KIBIBYTE: Final = 1024
INTERVAL_S_MAX: Final = 3600.0
"""Maximum interval of a sample, in seconds. A longer interval is an error in the data."""
VALUE_MAX: Final = 1e12
"""Maximum plausible value: sectors/s or KiB/s of a device, or KiB of a node. A larger value is an
error in the data."""
COVERED_SHARE_MIN: Final = 0.95
"""Minimum share of the run that its samples must cover. With less, the run gets a warning."""
PERCENT_SLACK: Final = 2.5
"""Maximum deviation of the sum of CPU shares from 100 per cent: vmstat rounds each share to a whole per cent."""
UTIL_MAX_PERCENT: Final = 110.0
"""Maximum plausible ``%util``. sar can slightly exceed 100; these values are read as 100."""
GAP_MIN_S: Final = 0.5
"""Minimum time between samples that counts as a gap, in seconds. Shorter times come from rounding."""
_VIRTUAL_NIC = re.compile(r"bond[0-9]|virbr|br-|br[0-9]|docker|veth|vnet|tun|tap|vlan|total$")
_STACKED_DISK = re.compile(r"dev(?:1|7|9|11|24[0-9]|25[0-4])-[0-9]+$")
"""RAM, loop, md and CD devices, and majors for local use (device mapper). Other disks already count their bytes."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample of one subject from one row. ``amounts`` belong to the interval that ends at ``t_s``."""

    t_s: float
    interval_s: float
    subject: str
    amounts: Mapping[str, float]
    gauges: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SampledRun:
    """The trace of a run (None without samples), its source tables, and the least coverage of any node and family."""

    trace: Trace | None
    tables: tuple[str, ...]
    covered_s: float

    def warnings(self, duration_s: float) -> tuple[CodedWarning, ...]:
        """Return a warning if the trace covers too little of the run: its totals are then too low."""
        if self.trace is None or self.covered_s >= COVERED_SHARE_MIN * duration_s:
            return ()
        message = (
            f"the trace covers {self.covered_s:.0f} s of {duration_s:.0f} s: its totals are lower than those of the run"
        )
        return (CodedWarning(WarningCode.TRACE, message),)


@dataclass(slots=True)
class Samples:
    """The samples of one run. ``cores``: number of cores of each node; None if unknown."""

    duration_s: float
    cores: int | None = None
    series: dict[tuple[str, str], dict[str, list[Sample]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    """(node, family) to table to samples; the families are ``cpu``, ``memory``, ``disk`` and ``nic``."""

    def add(self, table: str, node: str, row: Mapping[str, str], t_s: float) -> None:
        """Add a row. Raises :class:`FormatError`, without a location, for an invalid row or time."""
        if not -MARGIN_S <= t_s <= self.duration_s + MARGIN_S:
            raise FormatError("are outside their run")
        if not node:
            raise FormatError("name no host")
        for sample in _READERS[table](row, t_s, self.cores):
            self.series[node, sample.subject.partition(":")[0]][table].append(sample)

    def selected_tables(self) -> dict[tuple[str, str], tuple[str, list[Sample]]]:
        """Return for each node and family the table with the most samples, and its distinct samples in time order."""
        selection = {}
        for key, tables in self.series.items():
            table = max(tables, key=lambda name: (len({s.t_s for s in tables[name]}), -TABLES.index(name)))
            selection[key] = table, _ordered(_without_partitions(tables[table]))
        return selection

    def sampled_run(self) -> SampledRun:
        """Return the trace, its source tables, and the least coverage of any node and family."""
        selected = self.selected_tables()
        trace = Trace()
        for (node, _), (_, samples) in sorted(selected.items()):
            by_subject: dict[str, list[Sample]] = defaultdict(list)
            for sample in samples:
                by_subject[sample.subject].append(sample)
            for subject, subject_samples in sorted(by_subject.items()):
                _append(trace, node, subject, subject_samples)
        used_tables = {table for table, _ in selected.values()}
        spans_s = [_covered_s(samples, self.duration_s) for _, samples in selected.values()]
        tables = tuple(table for table in TABLES if table in used_tables)
        return SampledRun(trace if len(trace) else None, tables, min(spans_s, default=0.0))


def _covered_s(samples: Iterable[Sample], duration_s: float) -> float:
    ends = {sample.t_s: sample.interval_s for sample in samples}
    return sum(max(0.0, min(t_s, duration_s) - max(t_s - interval_s, 0.0)) for t_s, interval_s in ends.items())


def _without_partitions(samples: list[Sample]) -> list[Sample]:
    """Drop partitions and other devices whose bytes are counted on another recorded device."""
    return [s for s in samples if not _is_stacked(s.subject)] or samples


def _is_stacked(subject: str) -> bool:
    kind, _, name = subject.partition(":")
    return bool((_VIRTUAL_NIC if kind == "nic" else _STACKED_DISK).match(name)) if name else False


def _ordered(samples: list[Sample]) -> list[Sample]:
    """Return the samples in time order. Of several samples with equal time and subject, keep the first."""
    first_samples: dict[tuple[float, str], Sample] = {}
    for sample in samples:
        first_samples.setdefault((sample.t_s, sample.subject), sample)
    return [first_samples[key] for key in sorted(first_samples)]


def _append(trace: Trace, node: str, subject: str, samples: list[Sample]) -> None:
    """Add the samples of one subject. After a gap, a counter also gets a point at the start of the next interval."""
    totals: dict[str, float] = defaultdict(float)
    last_s: dict[str, float] = {}
    for sample in samples:
        for metric, value in sample.gauges.items():
            trace.append(sample.t_s, node, subject, metric, counter=False, value=value)
        for metric, amount in sample.amounts.items():
            begin_s = sample.t_s - sample.interval_s
            if begin_s > last_s.get(metric, -math.inf) + GAP_MIN_S:
                trace.append(begin_s, node, subject, metric, counter=True, value=totals[metric])
            totals[metric] += amount
            last_s[metric] = sample.t_s
            trace.append(sample.t_s, node, subject, metric, counter=True, value=totals[metric])


def _number(row: Mapping[str, str], column: str, maximum: float = VALUE_MAX) -> float:
    """Return a value from 0 to ``maximum``. Raises :class:`FormatError` if the cell has no such value."""
    text = row.get(column)
    if text is None:
        raise FormatError(f"have no {column}")
    try:
        value = float(text)
    except ValueError:
        raise FormatError(f"have a {column} that is not a number") from None
    if not 0 <= value <= maximum:
        raise FormatError(f"have an impossible {column} such as {text}")
    return value


def _interval_s(row: Mapping[str, str]) -> float:
    interval_s = _number(row, "interval", INTERVAL_S_MAX)
    if interval_s == 0:
        raise FormatError("have an interval of 0 s")
    return interval_s


def _device(row: Mapping[str, str], column: str) -> str:
    name = row.get(column, "").strip()
    if not name:
        raise FormatError(f"have no {column}")
    return name


def _cpu(shares: Mapping[str, float], t_s: float, interval_s: float, cores: int | None) -> Sample:
    """Return a CPU sample from shares in per cent. Raises :class:`FormatError` unless they add up to 100."""
    if abs(sum(shares.values()) - 100) > PERCENT_SLACK:
        raise FormatError("have shares of CPU time that don't add up to 100 %")
    if cores is None:
        return Sample(t_s, interval_s, "cpu", {}, {f"{name}_share": share / 100 for name, share in shares.items()})
    times_s = {f"{name}_s": share / 100 * interval_s * cores for name, share in shares.items()}
    return Sample(t_s, interval_s, "cpu", times_s, {"cores": float(cores)})


def _sar_cpu(row: Mapping[str, str], t_s: float, cores: int | None) -> Iterable[Sample]:
    if row.get("CPU", "-1") not in ("-1", "all"):
        return []
    shares = {name: _number(row, f"%{name}", 100) for name in ("user", "system", "iowait", "steal", "idle")}
    shares["user"] += _number(row, "%nice", 100)
    return [_cpu(shares, t_s, _interval_s(row), cores)]


def _sar_disk(row: Mapping[str, str], t_s: float, _: int | None) -> Iterable[Sample]:
    interval_s = _interval_s(row)
    amounts = {
        "read_bytes": _number(row, "rd_sec/s") * SECTOR_BYTES * interval_s,
        "write_bytes": _number(row, "wr_sec/s") * SECTOR_BYTES * interval_s,
        "busy_s": min(_number(row, "%util", UTIL_MAX_PERCENT), 100) / 100 * interval_s,
        "queue_s": _number(row, "avgqu-sz") * interval_s,
    }
    return [Sample(t_s, interval_s, f"disk:{_device(row, 'DEV')}", amounts)]


def _sar_memory(row: Mapping[str, str], t_s: float, _: int | None) -> Iterable[Sample]:
    free, used = _number(row, "kbmemfree") * KIBIBYTE, _number(row, "kbmemused") * KIBIBYTE
    cached = _number(row, "kbcached") * KIBIBYTE
    if cached > free + used:
        raise FormatError("have more cached bytes than memory")
    gauges = {"total_bytes": free + used, "free_bytes": free, "cached_bytes": cached}
    return [Sample(t_s, _interval_s(row), "memory", {}, gauges)]


def _sar_nic(row: Mapping[str, str], t_s: float, _: int | None) -> Iterable[Sample]:
    interval_s, name = _interval_s(row), _device(row, "IFACE")
    return _nic(
        name, t_s, interval_s, *(_number(row, f"{prefix}kB/s") * KIBIBYTE * interval_s for prefix in ("rx", "tx"))
    )


def _nic(name: str, t_s: float, interval_s: float, received: float, sent: float) -> Iterable[Sample]:
    if name in ("lo", "total"):
        return []
    return [Sample(t_s, interval_s, f"nic:{name}", {"receive_bytes": received, "transmit_bytes": sent})]


def _vmstat(row: Mapping[str, str], t_s: float, cores: int | None) -> Iterable[Sample]:
    gauges = {"free_bytes": _number(row, "free") * KIBIBYTE, "cached_bytes": _number(row, "cache") * KIBIBYTE}
    memory = Sample(t_s, 1.0, "memory", {}, gauges)
    if _number(row, "time") == 0:
        return [memory]
    columns = {"user": "us", "system": "sy", "iowait": "wa", "idle": "id", "steal": "st"}
    shares = {name: _number(row, column, 100) for name, column in columns.items() if column in row}
    amounts = {"read_bytes": _number(row, "bi") * KIBIBYTE, "write_bytes": _number(row, "bo") * KIBIBYTE}
    return [memory, _cpu(shares, t_s, 1.0, cores), Sample(t_s, 1.0, "disk:all", amounts)]


def _bwm(row: Mapping[str, str], t_s: float, _: int | None) -> Iterable[Sample]:
    received, sent = _number(row, "bytes_in"), _number(row, "bytes_out")
    return _nic(_device(row, "iface_name"), t_s, 1.0, received, sent)


_READERS: Final[Mapping[str, Callable[[Mapping[str, str], float, int | None], Iterable[Sample]]]] = {
    "SAR_cpu": _sar_cpu,
    "SAR_block_devices": _sar_disk,
    "SAR_memory_util": _sar_memory,
    "SAR_net_devices": _sar_nic,
    "VMSTATS": _vmstat,
    "BWM2": _bwm,
    "BWM": _bwm,
}
