"""Convert the rates that a monitor printed into counters from 0, as in a trace, and into an observed run.

In: for each sample, the growth of each counter over the sample's interval. Out: a
:class:`~assay.model.runs.traces.trace.Trace` with one growing counter per subject and metric, and a run of the workload
``observation`` that lasts from the first to the last sample. Rates are per second. The growth is rate × interval, and
the sum of the growths is the integral of the rate, with the monitor's rounding error. An interval that was not observed
adds nothing: the counter stays constant, and the run has a warning. Units are bytes, seconds and counts, without
prefixes.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final

from assay.foundation.errors import FormatError
from assay.model import CodedWarning, Run, Trace, WarningCode, foreign_run

OBSERVATION: Final = "observation"
KIB: Final = 1024
SECTOR_BYTES: Final = 512
"""Sector size in the kernel's disk statistics, in bytes. It does not depend on the sectors of the device."""
BYTES_PER_S_MAX: Final = 1e13
"""Maximum rate of a device or link; a higher figure is damaged."""
PER_S_MAX: Final = 1e10
"""Maximum of any other value: requests per second, or milliseconds. A higher value is damaged."""
INTERVAL_S_MAX: Final = 86_400.0
"""Maximum interval, in seconds. A longer interval, such as sysstat's 184467440737095516, has no earlier sample."""
PERCENT_MAX: Final = 110.0
"""Maximum percentage. Values from 100 to 110 occur through rounding and clock differences, and count as 100."""
_WHOLE_DISK = re.compile(r"(?:[shv]d[a-z]{1,3}|xvd[a-z]{1,3}|nvme\d+n\d+|mmcblk\d+)\Z")
_LINK = re.compile(r"(?:eth\d+|en[opsx]\w+|em\d+|ib\w+)\Z")
_TOTALS: Final = {
    "disk": (_WHOLE_DISK, {"read_bytes": "disk_read_bytes", "write_bytes": "disk_write_bytes"}),
    "nic": (_LINK, {"receive_bytes": "nic_receive_bytes", "transmit_bytes": "nic_transmit_bytes"}),
}
_BUSY = ("user_s", "system_s", "irq_s", "steal_s")
_IDLE = ("idle_s", "iowait_s")

MetricValues = dict[tuple[str, str], float]
"""By subject and metric: the growth of a counter over one interval or, for gauges, the value."""


def number(row: Mapping[str, Any], key: str, maximum: float = PER_S_MAX) -> float | None:
    """Return ``row``'s figure; None if absent. Raises FormatError unless it is a number from 0 to ``maximum``."""
    value = row.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= maximum:
        raise FormatError(f'"{key}" is {short_form(value)}, which is impossible')
    return float(value)


def short_form(value: object) -> str:
    """Return a short form of a value that should be a figure or a time, for messages."""
    return "a number of 19 digits or more" if isinstance(value, int) and abs(value) >= 10**18 else repr(value)[:40]


def share(row: Mapping[str, Any], key: str) -> float | None:
    """Return a percentage of ``row`` as a share from 0 to 1; None if absent."""
    percent = number(row, key, PERCENT_MAX)
    return None if percent is None else min(percent, 100.0) / 100.0


def intervals_s(times_s: Sequence[float], resolution_s: float) -> list[float]:
    """Return the time between each sample and the one before it (one value fewer than samples).

    A monitor rounds its clock, so if all times are equal within ``resolution_s``, each is replaced by their mean. A
    time that is not positive means that a sample is out of order.
    """
    distances = [later - earlier for earlier, later in pairwise(times_s)]
    if not distances:
        return []
    mean = (times_s[-1] - times_s[0]) / len(distances)
    if mean > 0 and all(abs(distance - mean) <= resolution_s for distance in distances):
        return [mean] * len(distances)
    return distances


@dataclass(slots=True)
class Recorder:
    """A collector of one host's samples as counters. Gaps up to ``tolerance_s`` are ignored as rounding."""

    node: str
    tolerance_s: float = 1e-6
    trace: Trace = field(default_factory=Trace)
    end_s: float = 0.0
    gaps: int = 0
    _counters: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)

    def sample(self, t_s: float, interval_s: float, growth: MetricValues, gauges: MetricValues) -> None:
        """Add a sample taken at ``t_s`` over the ``interval_s`` before it. Samples come in order of time."""
        begin_s = max(0.0, t_s - interval_s)
        if self.end_s > 0 and begin_s > self.end_s + self.tolerance_s:
            self.gaps += 1
        for (subject, metric), amount in growth.items():
            last_s, total = self._counters.get((subject, metric), (-math.inf, 0.0))
            if begin_s > last_s + self.tolerance_s:
                self._append(begin_s, subject, metric, total, counter=True)
            self._append(t_s, subject, metric, total + amount, counter=True)
            self._counters[subject, metric] = (t_s, total + amount)
        for (subject, metric), value in gauges.items():
            self._append(t_s, subject, metric, value, counter=False)
        self.end_s = t_s

    def _append(self, t_s: float, subject: str, metric: str, value: float, *, counter: bool) -> None:
        self.trace.append(t_s, self.node, subject, metric, counter=counter, value=value)

    def total(self, subject: str, metric: str) -> float | None:
        """Return the growth of a counter over all samples; None if the counter does not exist."""
        counter = self._counters.get((subject, metric))
        return counter and counter[1]

    def metrics(self) -> dict[str, float]:
        """Return the run's figures: bytes of disks and links, and the CPU's busy share.

        Only whole disks and links with the kernel's names count, because a partition, a volume or a bond moves the
        same bytes again. sysstat's sum over the devices (subject ``io``) takes precedence.
        """
        values: dict[str, float] = {}
        for (subject, metric), (_, total) in self._counters.items():
            kind, _, name = subject.partition(":")
            pattern, names = _TOTALS.get(kind, (_WHOLE_DISK, {}))
            if metric in names and pattern.match(name):
                values[names[metric]] = values.get(names[metric], 0.0) + total
        for metric in ("read_bytes", "write_bytes"):
            total_bytes = self.total("io", metric)
            if total_bytes is not None:
                values[f"disk_{metric}"] = total_bytes
        busy_s, idle_s = (sum(self.total("cpu", metric) or 0.0 for metric in names) for names in (_BUSY, _IDLE))
        if busy_s + idle_s > 0:
            values["cpu_busy_share"] = busy_s / (busy_s + idle_s)
        return values

    def run(
        self, *, started: datetime | None, environment: Mapping[str, Any], source: str, warnings: Sequence[str] = ()
    ) -> Run:
        """Return the run of the recording. ``started``: None if the source has no time zone."""
        gaps = (f"gaps between the samples: {self.gaps}; the activity in them is unknown",) if self.gaps else ()
        coded_warnings = tuple(CodedWarning(WarningCode.TRACE, message) for message in (*warnings, *gaps))
        return foreign_run(
            workload=OBSERVATION,
            engine="",
            duration_s=self.end_s,
            started_at=started.astimezone(UTC).isoformat(timespec="seconds") if started else "",
            metrics=self.metrics(),
            environment=dict(environment),
            warnings=coded_warnings,
            sources={
                "trace": source,
                "duration_s": f"{source}: span of the samples",
                "metrics": f"{source}: rates × intervals",
            },
        )


def day_time(year: int, month: int, day: int, hour: int, minute: int, second: float) -> datetime:
    """Return a time without a zone. Raises FormatError for an impossible time, or a year outside 1990 to 2200."""
    try:
        moment = datetime(year, month, day, hour, minute, int(second), min(999_999, round(second % 1 * 1e6)))
    except ValueError as error:
        raise FormatError(f"{year}-{month}-{day} {hour}:{minute}:{second} is not a time: {error}") from error
    if not 1990 <= year <= 2200:
        raise FormatError(f"{year}-{month}-{day} is not a plausible date of measurement")
    return moment
