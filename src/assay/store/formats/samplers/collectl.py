"""Import collectl's disk statistics as text (``collectl -sD``): each disk of a host, sample by sample.

In: the plot format (``-P``: a header, a line of column names, one line per sample) or the screen format (a block
``# DISK STATISTICS (/sec)`` with one line per disk, with or without times or ``### RECORD`` lines). Out: one run of the
workload ``observation`` per recording, with its trace.

Units, from collectl's documentation: KBytes are 1024 bytes (sectors over two); reads, writes and bytes are rates per
second; waits are in ms; ``Util`` is the share of time with requests in flight, in percent. Figures that were not
normalised (``-on``) or that the screen abbreviated (``12M``) are skipped because their meaning is uncertain. The screen
shows whole numbers, so the bytes of a slow disk are rounded.

**Time.** Plot lines have date and time in the zone that the header names. Screen lines may have a time of day
(``-oT``), also a date (``-oD``), or a record's UTC seconds. Without times, the interval comes from the line
``waiting for N second sample``. Each sample, including the first, describes the interval before it. Missing samples
leave a gap in the trace.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from statistics import median
from typing import Final

from assay.foundation.errors import FormatError
from assay.model import ImportedRun, SkippedItem
from assay.store.formats.format import Format, read_each
from assay.store.formats.samplers.rates import (
    BYTES_PER_S_MAX,
    INTERVAL_S_MAX,
    KIB,
    PER_S_MAX,
    PERCENT_MAX,
    MetricValues,
    Recorder,
    day_time,
    intervals_s,
)
from assay.store.formats.source import Source

_HOST = re.compile(r"# Host:\s+(\S+)")
_ZONE = re.compile(r"\bTZ:\s+([+-])(\d\d)(\d\d)\b", re.ASCII)
_INTERVAL = re.compile(r"\bInterval:\s+(\d+(?:\.\d+)?)", re.ASCII)
_OPTIONS = re.compile(r"# SubSys:\s+\S+\s+Options: (\S*)")
_WAITING = re.compile(r"waiting for (\d+(?:\.\d+)?) second sample", re.ASCII)
_RECORD = re.compile(r"### RECORD\s+\d+ >>> (\S+) <<< \((\d{9,11}(?:\.\d{1,6})?)\)", re.ASCII)
_PLOT = re.compile(r"#(?:Date(.)Time|UTC)(.)", re.ASCII)
_COLUMN = re.compile(r"\[DSK:(?P<disk>[^\]]+)\](?P<field>\w+)\Z")
_SCREEN = re.compile(r"#\s*(?P<times>(?:Date\s+)?(?:Time\s+)?)Name\s+(?P<columns>KBytes\s.*)\Z")
_DATE = re.compile(r"(\d{4})(\d\d)(\d\d)\Z", re.ASCII)
_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(\.\d{1,6})?\Z", re.ASCII)
_SECONDS = re.compile(r"\d{9,11}(?:\.\d{1,6})?\Z", re.ASCII)
_FIGURE = re.compile(r"\d{1,15}(?:\.\d{1,6})?\Z", re.ASCII)
_DAY_S: Final = 86_400
_CLOCK_S: Final = 1.0
"""Resolution of times in whole seconds, in seconds."""
_FINE_CLOCK_S: Final = 0.05
"""Maximum error of times with decimals, in seconds."""
_DISTANCE_MAX: Final = 1.5
"""Maximum distance of consecutive samples, in intervals. At a larger distance, samples are missing."""

_KIB_MAX: Final = BYTES_PER_S_MAX / KIB
_COUNTERS: Final = {
    "RKBytes": ("read_bytes", KIB, _KIB_MAX),
    "WKBytes": ("write_bytes", KIB, _KIB_MAX),
    "Reads": ("reads", 1.0, PER_S_MAX),
    "Writes": ("writes", 1.0, PER_S_MAX),
    "Util": ("busy_s", 0.01, PERCENT_MAX),
}
_GAUGES: Final = {
    "WaitR": ("read_latency_s", 1e-3, PER_S_MAX),
    "WaitW": ("write_latency_s", 1e-3, PER_S_MAX),
    "Wait": ("request_latency_s", 1e-3, PER_S_MAX),
    "QueLen": ("queue_requests", 1.0, PER_S_MAX),
}
_SCREEN_FIELDS: Final = {
    "KBytes Merged IOs Size KBytes Merged IOs Size RWSize QLen Wait SvcTim Util": (
        "RKBytes . Reads . WKBytes . Writes . . QueLen Wait . Util"
    ),
    "KBytes Merged IOs Size Wait KBytes Merged IOs Size Wait RWSize QLen Wait SvcTim Util": (
        "RKBytes . Reads . WaitR WKBytes . Writes . WaitW . QueLen Wait . Util"
    ),
}
"""The screen's columns (before and after collectl 4) under the plot format's names; a point marks an ignored column."""


@dataclass(slots=True)
class _Sample:
    """Figures by disk and field, and the time in seconds from any origin; None if the file has no times."""

    line: int
    time_s: float | None
    disks: dict[str, dict[str, float]] = field(default_factory=dict)


@dataclass(slots=True)
class _Recording:
    """The output of one invocation of collectl."""

    line: int
    host: str = ""
    zone: timezone | None = None
    interval_s: float | None = None
    is_raw: bool = False
    """Whether figures are not normalised to seconds."""
    is_fine: bool = False
    """Whether the clock has fractions of a second."""
    is_dated: bool = False
    """Whether times are seconds since 1970, in UTC or in ``zone``, and not times of day."""
    is_utc: bool = False
    samples: list[_Sample] = field(default_factory=list)
    skipped: list[SkippedItem] = field(default_factory=list)


def _recognises(name: str, head: bytes) -> bool:
    del name
    text = head.decode("latin-1")
    plot = any(_PLOT.match(line) and "[DSK:" in line for line in text.splitlines() if line.startswith("#"))
    return plot or ("# DISK STATISTICS" in text and "SvcTim" in text)


def _read(source: Source) -> Iterator[ImportedRun | SkippedItem]:
    recordings = _CollectlReader(source.name).read(source.text())
    any_run = False
    for recording in recordings:
        yield from recording.skipped
        if recording.samples:
            any_run = True
            yield from _imported_runs(source.name, recording)
    if not any_run and not any(recording.skipped for recording in recordings):
        raise FormatError("holds no disk statistics of collectl", where=source.name, hint="run collectl -sD")


def _imported_runs(name: str, recording: _Recording) -> Iterator[ImportedRun | SkippedItem]:
    samples = recording.samples
    where = f"{name}:{samples[0].line}"
    try:
        times_s, intervals_before_s = _times(recording)
    except FormatError as error:
        yield SkippedItem(where, error.message)
        return
    begin_s = times_s[0] - intervals_before_s[0]
    recorder = Recorder(recording.host, tolerance_s=_FINE_CLOCK_S if recording.is_fine else _CLOCK_S)
    skipped_lines = len(recording.skipped)
    for sample, time_s, interval_s in zip(samples, times_s, intervals_before_s, strict=True):
        if sample is samples[0] and not interval_s:
            continue
        since_last_s = time_s - begin_s - recorder.end_s
        if not 0 < interval_s <= INTERVAL_S_MAX / 2 or not 0 < since_last_s <= INTERVAL_S_MAX:
            skipped_lines += 1
            yield SkippedItem(
                f"{name}:{sample.line}", "its time is not within a day after that of the sample before it"
            )
            continue
        growth, gauges = _growth(sample, interval_s)
        recorder.sample(time_s - begin_s, interval_s, growth, gauges)
    if not len(recorder.trace):
        yield SkippedItem(where, "holds one sample and does not record its interval")
        return
    start_time = None
    if recording.is_dated and (recording.is_utc or recording.zone):
        start_time = datetime.fromtimestamp(begin_s, UTC) - (
            timedelta() if recording.is_utc or not recording.zone else recording.zone.utcoffset(None)
        )
    warnings = [f"lines that could not be read: {skipped_lines}"] if skipped_lines else []
    environment = {"node": recording.host} if recording.host else {}
    run = recorder.run(started=start_time, environment=environment, source="collectl", warnings=warnings)
    yield ImportedRun(f"{recording.host} {_key_of(recording)}", where, run, trace=recorder.trace)


def _key_of(recording: _Recording) -> str:
    """Return a key that identifies the recording on its host: a hash of the first sample with its time."""
    first_sample = recording.samples[0]
    first_rows = (
        f"{first_sample.time_s} {sorted((disk, sorted(row.items())) for disk, row in first_sample.disks.items())}"
    )
    return hashlib.sha256(first_rows.encode()).hexdigest()[:16]


def _times(recording: _Recording) -> tuple[list[float], list[float]]:
    """Return each sample's time and the interval before it, in seconds. The first interval is 0 if it is unknown."""
    times_s = [sample.time_s for sample in recording.samples if sample.time_s is not None]
    declared_s = recording.interval_s
    count = len(recording.samples)
    if not times_s:
        if declared_s is None:
            raise FormatError("has neither times nor the interval: run collectl with -oT or -P")
        return [declared_s * index for index in range(1, count + 1)], [declared_s] * count
    if len(times_s) < count:
        raise FormatError("some of its samples have a time and others don't")
    if not recording.is_dated:
        day_s = 0.0
        seconds_of_day = list(times_s)
        for index in range(1, count):
            day_s += _DAY_S if seconds_of_day[index - 1] - seconds_of_day[index] > _DAY_S / 2 else 0.0
            times_s[index] = day_s + seconds_of_day[index]
    clock_s = _FINE_CLOCK_S if recording.is_fine else _CLOCK_S
    distances = intervals_s(times_s, 0.0 if recording.skipped else clock_s)
    is_even = len(set(distances)) == 1 and distances[0] > 0
    if is_even:
        times_s = [times_s[0] + distances[0] * index for index in range(count)]
    usual_s = median(distances) if distances else declared_s or 0.0
    if declared_s and usual_s < _DISTANCE_MAX * declared_s and declared_s < _DISTANCE_MAX * usual_s:
        short_s = declared_s / _DISTANCE_MAX - (0.0 if recording.is_fine else _CLOCK_S)
        return times_s, [declared_s, *(distance if distance < short_s else declared_s for distance in distances)]
    if is_even:
        return times_s, [usual_s] * count
    usual_max = _DISTANCE_MAX * usual_s + (0.0 if recording.is_fine else _CLOCK_S / 2)
    return times_s, [0.0, *(usual_s if distance >= usual_max else distance for distance in distances)]


def _growth(sample: _Sample, interval_s: float) -> tuple[MetricValues, MetricValues]:
    growth: MetricValues = {}
    gauges: MetricValues = {}
    for disk, row in sample.disks.items():
        for name, figure in row.items():
            if name in _COUNTERS:
                metric, unit, _ = _COUNTERS[name]
                growth[f"disk:{disk}", metric] = (min(figure, 100.0) if name == "Util" else figure) * unit * interval_s
            else:
                metric, unit, _ = _GAUGES[name]
                gauges[f"disk:{disk}", metric] = figure * unit
    return growth, gauges


class _CollectlReader:
    """A reader of the lines of one file, in either format."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._recording = _Recording(1)
        self._recordings = [self._recording]
        self._group: list[str] | None = None
        """Fields of one disk in the plot format, which repeat for each disk; None outside the plot format."""
        self._columns_before = 0
        """Number of columns before the first disk."""
        self._disks: list[str] = []
        self._columns_after = 0
        """Number of columns after the last disk."""
        self._separator = " "
        self._columns: list[str] | None = None
        """Fields of the screen format; None outside a disk block."""
        self._time_columns = 0
        self._record_s: float | None = None
        self._new_sample = True

    def read(self, text: str) -> list[_Recording]:
        for number, line in enumerate(text.splitlines(), start=1):
            try:
                self._line(number, line.rstrip())
            except FormatError as error:
                self._recording.skipped.append(SkippedItem(f"{self._name}:{number}", error.message))
        return self._recordings

    def _line(self, number: int, line: str) -> None:
        match = _WAITING.search(line)
        if match:
            self._recording.interval_s = _plausible_interval_s(float(match[1]))
        elif line.startswith("#"):
            self._header(number, line)
        elif line and self._group is not None:
            self._plot_row(number, line)
        elif line and self._columns is not None:
            self._screen_row(number, line)

    def _header(self, number: int, line: str) -> None:
        if line.startswith("# Collectl:") and self._recording.samples:
            self._recording = _Recording(number)
            self._recordings.append(self._recording)
            self._group = self._columns = None
        host, zone, record = _HOST.match(line), _ZONE.search(line), _RECORD.match(line)
        if host:
            self._recording.host = host[1]
        if zone:
            minutes = int(f"{zone[1]}{zone[2]}") * 60 + int(f"{zone[1]}{zone[3]}")
            self._recording.zone = timezone(timedelta(minutes=minutes)) if abs(minutes) < 1440 else None
        options, interval = _OPTIONS.match(line), _INTERVAL.search(line)
        if options:
            self._recording.is_raw = "n" in options[1]
            self._recording.interval_s = _plausible_interval_s(float(interval[1])) if interval else None
        if record:
            self._recording.host, self._record_s = record[1], float(record[2])
            self._recording.is_dated = self._recording.is_utc = self._recording.is_fine = self._new_sample = True
            self._columns = None
        elif line.startswith("# DISK STATISTICS"):
            self._recording.is_raw = "(/sec)" not in line
            self._columns, self._group = [], None
        elif self._columns is not None and (screen := _SCREEN.match(line)):
            self._columns = _SCREEN_FIELDS.get(" ".join(screen["columns"].split()), "").split()
            self._time_columns = len(screen["times"].split())
            if not self._columns:
                self._columns = None
                raise FormatError("has columns that collectl does not write")
        elif re.match(r"# [A-Z]{3,}", line):
            self._columns = None
        elif _PLOT.match(line):
            self._plot_header(line)

    def _plot_header(self, line: str) -> None:
        header = _PLOT.match(line)
        assert header
        self._separator, self._recording.is_utc = header[2], header[1] is None
        columns = line[1:].split(self._separator)
        disks = [(index, match) for index, column in enumerate(columns) if (match := _COLUMN.match(column))]
        self._group = self._columns = None
        if not disks:
            return
        names = list(dict.fromkeys(match["disk"] for _, match in disks))
        group = [match["field"] for _, match in disks if match["disk"] == names[0]]
        expected = [(name, part) for name in names for part in group]
        first_column = disks[0][0]
        if (
            [(match["disk"], match["field"]) for _, match in disks] != expected
            or [index for index, _ in disks] != list(range(first_column, first_column + len(disks)))
            or group[0] != "Name"
            or "RKBytes" not in group
        ):
            raise FormatError("its disks have different columns")
        self._group, self._disks, self._columns_before = group, names, first_column
        self._columns_after = len(columns) - first_column - len(disks)

    def _plot_row(self, number: int, line: str) -> None:
        assert self._group
        cells = line.split(self._separator)
        width, stamps = len(self._group), 1 if self._recording.is_utc else 2
        disk_count, remainder = divmod(len(cells) - self._columns_before - self._columns_after, width)
        if remainder or disk_count < len(self._disks) or (disk_count > len(self._disks) and self._columns_after):
            raise FormatError(f"has {len(cells)} fields where its header has {len(self._disks)} disks of {width}")
        self._check_raw()
        sample = _Sample(number, self._stamp(cells[:stamps]))
        for index in range(disk_count):
            begin = self._columns_before + index * width
            fields = dict(zip(self._group, cells[begin : begin + width], strict=True))
            disk = fields.pop("Name")
            if not disk or disk in sample.disks or (index < len(self._disks) and disk != self._disks[index]):
                raise FormatError(f"names the disk {disk!r} where its header has another")
            sample.disks[disk] = _figures(fields)
        self._recording.samples.append(sample)

    def _screen_row(self, number: int, line: str) -> None:
        cells = line.split()
        if not self._columns or len(cells) != self._time_columns + 1 + len(self._columns):
            raise FormatError("is not a line of disk statistics")
        self._check_raw()
        time_s = self._stamp(cells[: self._time_columns]) if self._time_columns else self._record_s
        disk = cells[self._time_columns]
        figures = _figures(dict(zip(self._columns, cells[self._time_columns + 1 :], strict=True)))
        samples = self._recording.samples
        if self._new_sample or not samples or disk in samples[-1].disks or samples[-1].time_s != time_s:
            samples.append(_Sample(number, time_s))
            self._new_sample = False
        samples[-1].disks[disk] = figures

    def _check_raw(self) -> None:
        if self._recording.is_raw:
            raise FormatError("its figures are not per second (collectl -on), so their interval is not certain")

    def _stamp(self, cells: list[str]) -> float:
        """Return the time in a line's first cells, in seconds: in UTC, as if the zone were UTC, or since midnight."""
        if len(cells) == 1 and self._recording.is_utc:
            if not _SECONDS.match(cells[0]):
                raise FormatError(f"begins with {cells[0][:30]!r}, which is not a time")
            self._recording.is_dated, self._recording.is_fine = True, self._recording.is_fine or "." in cells[0]
            return float(cells[0])
        clock, date = _TIME.match(cells[-1]), _DATE.match(cells[0])
        if not clock or (len(cells) == 2 and not date):
            raise FormatError(f"begins with {' '.join(cells)[:30]!r}, which is not a time")
        hour, minute, second = int(clock[1]), int(clock[2]), int(clock[3]) + float(clock[4] or 0)
        self._recording.is_fine = self._recording.is_fine or bool(clock[4])
        year, month, day = map(int, date.groups()) if date and len(cells) == 2 else (2000, 1, 1)
        moment = day_time(year, month, day, hour, minute, second).replace(tzinfo=UTC).timestamp()
        self._recording.is_dated = self._recording.is_dated or len(cells) == 2
        return moment if len(cells) == 2 else moment % _DAY_S


def _plausible_interval_s(interval_s: float) -> float | None:
    return interval_s if 0 < interval_s <= INTERVAL_S_MAX / 2 else None


def _figures(cells: dict[str, str]) -> dict[str, float]:
    """Return the figures as printed. Raises FormatError for text, and for an abbreviated or impossible figure."""
    figures = {}
    for name, text in cells.items():
        conversion = _COUNTERS.get(name) or _GAUGES.get(name)
        if not conversion:
            continue
        if not _FIGURE.match(text):
            hint = ": collectl abbreviated it, run it with -w or -P" if re.match(r"\d+[KMGT]\Z", text) else ""
            raise FormatError(f"{name} is {text[:30]!r}, which is not a number{hint}")
        if float(text) > conversion[2]:
            raise FormatError(f"{name} is {text[:30]}, which is impossible")
        figures[name] = float(text)
    return figures


FORMAT = Format("collectl", "collectl's disk statistics (collectl -sD)", _recognises, read_each(_read))
