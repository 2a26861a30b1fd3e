"""Sample a node during a run, and convert the samples to the run's trace.

In: a transport and what to sample. Out: the sampler's lines unchanged (JSONL, stored in the bundle), and rows of
:class:`assay.model.runs.traces.trace.Trace` in bytes and seconds. ``node/sampler.py`` describes the format of the lines
and the kernel's units.
"""

import contextlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from assay.execution.hosts.transport import RemoteProcess, Transport
from assay.execution.observation.stream import NodeStream
from assay.foundation.errors import HostError
from assay.model import CodedWarning, HostSample, Trace, WarningCode
from assay.model.runs.traces.host_sample import DEVICES_MAX

STOP_TIMEOUT_S = 5.0
"""Maximum wait for a sampler to end by itself, and then for its termination, in seconds."""
CLOCK_TOLERANCE_S = 0.5
"""Maximum clock difference between a node and this machine without a warning, in seconds."""
SECTOR_BYTES = 512
"""Sector size in the kernel's disk statistics, whatever the device's own sectors are."""
_CPU = ("user_s", "nice_s", "system_s", "idle_s", "iowait_s", "irq_s", "steal_s")
_MEMORY = ("total_bytes", "free_bytes", "available_bytes", "cached_bytes", "dirty_bytes", "writeback_bytes")
_PRESSURE = ("cpu_some_s", "io_some_s", "io_full_s", "memory_some_s", "memory_full_s")
_DISK = (
    ("reads", 1.0),
    ("read_bytes", SECTOR_BYTES),
    ("read_s", 1e-3),
    ("writes", 1.0),
    ("write_bytes", SECTOR_BYTES),
    ("write_s", 1e-3),
    ("busy_s", 1e-3),
    ("queue_s", 1e-3),
    ("read_merges", 1.0),
    ("write_merges", 1.0),
)
"""Metrics of a disk, in the sampler's order, each with the factor to bytes or seconds."""
_DISK_COUNTS = (8, len(_DISK))
"""Valid numbers of values per disk: without merge counts, which older samplers did not send, and with them."""
_CGROUP = (("cpu_s", 1e-9, True), ("memory_bytes", 1.0, False), ("cache_bytes", 1.0, False), ("rss_bytes", 1.0, False))
"""Metrics of a cgroup, in the sampler's order: the factor to bytes or seconds, and whether it is a counter."""


@dataclass(frozen=True, slots=True)
class SamplerOptions:
    """The interval, disks, interfaces and control group to sample on a node."""

    interval_s: float = 1.0
    disks: Mapping[str, str] = field(default_factory=dict)
    """Device name to ``"major:minor"``, device file, or a directory on it."""
    nics: Sequence[str] | None = None
    """None: interfaces with hardware, or if there are none, all but lo."""
    cgroup: Mapping[str, str] | None = None
    """``{"cpu": directory, "memory": directory}`` as the node sees them, of cgroup v1 (cpuacct) or v2."""


class Sampler(NodeStream):
    """A sampler on a node that runs until :meth:`stop`, or until the connection or assay dies."""

    script, title, stop_timeout_s = "sampler", "the sampler", STOP_TIMEOUT_S

    def __init__(self, transport: Transport, process: RemoteProcess) -> None:
        self._lines: list[bytes] = []
        self._header_unix_s: float | None = None
        super().__init__(transport, process)

    @classmethod
    async def start(cls, transport: Transport, options: SamplerOptions) -> Self:
        """Start sampling; return after the node's header has arrived. Raises HostError on failure."""
        arguments = {
            "interval_s": options.interval_s,
            "disks": dict(options.disks),
            "nics": list(options.nics) if options.nics is not None else None,
            "cgroup": dict(options.cgroup) if options.cgroup else None,
        }
        return await cls.start_script(transport, arguments)

    @property
    def has_reported(self) -> bool:
        """Whether the header has arrived."""
        return self._header_unix_s is not None

    def take(self, line: bytes) -> bool:
        """Store a line."""
        self._lines.append(line)
        if self._header_unix_s is None:
            self._header_unix_s = time.time()
        return True

    def handle_end(self, error: HostError | None) -> None:
        """Record that the sampler has ended; its lines stay."""

    @property
    def hostname(self) -> str:
        """The node's own host name; empty before its header."""
        with contextlib.suppress(ValueError, KeyError, TypeError, IndexError):
            return str(json.loads(self._lines[0])["hostname"])
        return ""

    def latest_sample(self) -> HostSample | None:
        """Return the values of the newest line; None if it is no complete sample."""
        return host_sample(self.transport.name, [self._lines[0], self._lines[-1]]) if self._lines else None

    async def stop(self) -> bytes:
        """Stop sampling and return all lines. Never raises: lines of a dead sampler or node just end early."""
        await self.end()
        return b"".join([*self._lines, self._clock_line()])

    def _clock_line(self) -> bytes:
        """Return a line with the node's clock offset on arrival of its header."""
        if self._header_unix_s is None:
            return b""
        with contextlib.suppress(ValueError, KeyError, TypeError):
            ahead_s = json.loads(self._lines[0])["t"] - self._header_unix_s
            separator = b"" if self._lines[-1].endswith(b"\n") else b"\n"
            return separator + json.dumps({"clock_ahead_s": round(ahead_s, 6)}).encode() + b"\n"
        return b""


@dataclass(slots=True)
class _ParserState:
    """State of parsing one node's lines."""

    ticks_per_s: float = 100.0
    cores: float = 0.0
    sample_count: int = 0
    damaged_count: int = 0
    has_ended: bool = False
    has_header: bool = False
    warnings: list[CodedWarning] = field(default_factory=list)

    def warn(self, message: str, code: WarningCode = WarningCode.TRACE) -> None:
        """Add a warning."""
        self.warnings.append(CodedWarning(code, message))


def parse_samples(node: str, raw: bytes, start_unix_s: float, trace: Trace) -> list[CodedWarning]:
    """Append a node's samples to ``trace``, with ``t_s`` counted from ``start_unix_s``. Return warnings.

    Damaged lines are omitted with a warning. Missing sources and samplers that ended early also give warnings.
    """
    state = _ParserState()
    for line in raw.splitlines():
        try:
            _add_line(node, json.loads(line), start_unix_s, trace, state)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            state.damaged_count += 1
    if not state.has_header:
        return [CodedWarning(WarningCode.TRACE, f"{node}: the sampler sent nothing")]
    if not state.has_ended:
        state.warn(f"{node}: the sampler ended early, after {state.sample_count} samples")
    elif state.damaged_count:
        state.warn(f"{node}: {state.damaged_count} lines of the sampler are damaged and left out")
    return state.warnings


def host_sample(node: str, lines: Sequence[bytes]) -> HostSample | None:
    """Return the counters of the last sample in a node's header and samples; None if it has none."""
    trace = Trace()
    parse_samples(node, b"\n".join(lines), 0.0, trace)
    if not len(trace):
        return None
    values: dict[str, dict[str, float]] = {}
    for subject, metric, value in zip(trace.subject, trace.metric, trace.value, strict=True):
        values.setdefault(subject, {})[metric] = value
    cpu = values.get("cpu", {})
    disks: dict[str, tuple[float, float, float]] = {}
    nics: dict[str, tuple[float, float]] = {}
    for subject, counters in values.items():
        kind, _, name = subject.partition(":")
        if kind == "disk" and len(disks) < DEVICES_MAX:
            disks[name] = (counters["read_bytes"], counters["write_bytes"], counters["busy_s"])
        elif kind == "nic" and len(nics) < DEVICES_MAX:
            nics[name] = (counters["receive_bytes"], counters["transmit_bytes"])
    return HostSample(
        node,
        trace.t_s[-1],
        cores=cpu.get("cores"),
        cpu_s={metric.removesuffix("_s"): cpu[metric] for metric in _CPU if metric in cpu},
        cgroup_cpu_s=values.get("cgroup", {}).get("cpu_s"),
        disks=disks,
        nics=nics,
    )


def _add_line(node: str, line: dict[str, Any], start_unix_s: float, trace: Trace, state: _ParserState) -> None:
    if "assay_sampler" in line:
        state.has_header = True
        state.ticks_per_s, state.cores = float(line["ticks_per_s"]), float(line["cores"])
        for source, reason in line["missing"].items():
            state.warn(f"{node}: {source} was not observed: {reason}")
    elif "end" in line:
        state.has_ended = True
    elif "clock_ahead_s" in line:
        ahead_s = float(line["clock_ahead_s"])
        if abs(ahead_s) > CLOCK_TOLERANCE_S:
            direction = "ahead of" if ahead_s > 0 else "behind"
            message = f"{node}: its clock is {abs(ahead_s):.1f} s {direction} ours; its trace is shifted"
            state.warn(message, WarningCode.CLOCK)
    else:
        rows = _rows(line, state)
        t_s = float(line["t"]) - start_unix_s
        for subject, metric, counter, value in rows:
            trace.append(t_s, node, subject, metric, counter=counter, value=value)
        state.sample_count += 1
        for key, reason in line.get("lost", {}).items():
            state.warn(f"{node}: {key} was not observed until the end: {reason}")


def _rows(line: Mapping[str, Any], state: _ParserState) -> list[tuple[str, str, bool, float]]:
    """Return (subject, metric, counter, value) of one sample, complete or not at all."""
    rows: list[tuple[str, str, bool, float]] = []
    if "cpu" in line:
        user, nice, system, idle, iowait, irq, softirq, steal = (ticks / state.ticks_per_s for ticks in line["cpu"])
        values = (user, nice, system, idle, iowait, irq + softirq, steal)
        rows += [("cpu", metric, True, value) for metric, value in zip(_CPU, values, strict=True)]
        rows += [("cpu", "cores", False, state.cores)]
    if "mem" in line:
        rows += [("memory", metric, False, kib * 1024.0) for metric, kib in zip(_MEMORY, line["mem"], strict=True)]
    if "psi" in line:
        rows += [("pressure", metric, True, total * 1e-6) for metric, total in zip(_PRESSURE, line["psi"], strict=True)]
    for name, values in line.get("disk", {}).items():
        if len(values) not in _DISK_COUNTS:
            raise ValueError(f"{len(values)} figures of a disk")
        rows += [
            (f"disk:{name}", metric, True, value * unit) for (metric, unit), value in zip(_DISK, values, strict=False)
        ]
    for name, (received, sent) in line.get("nic", {}).items():
        nic = f"nic:{name}"
        rows += [(nic, "receive_bytes", True, float(received)), (nic, "transmit_bytes", True, float(sent))]
    if "cgroup" in line:
        rows += [
            ("cgroup", metric, is_counter, value * unit)
            for (metric, unit, is_counter), value in zip(_CGROUP, line["cgroup"], strict=True)
        ]
    return rows
