"""Read the logs of ALOJA's benchmark scripts in a run's folder: duration of each benchmark, and the monitors' logs.

In: text. Out: :class:`Execution` for each benchmark; rows of vmstat and bwm-ng by the column names of ALOJA's tables.
The formats follow ``shell/OLD/run_*.sh`` and ``shell/common/common_benchmarks.sh`` of github Aloja/aloja:

- ``log_FOLDER.log`` has for each benchmark a line ``SENDING: hibench.runs END <a href='…&period=S'>NAME CONF</a>
  <strong>Time:</strong> S s.``: END in seconds since 1970, S the wall time in whole seconds.
- ``config.sh`` (from 2015) holds the shell's variables, among them the arrays ``EXEC_TIME`` (s), ``EXEC_START`` and
  ``EXEC_END`` (ms since 1970) and ``EXEC_STATUS`` (exit status), each by the benchmark's name.
- ``vmstat-HOST.log`` is ``vmstat -n 1``: two lines of header, then a row each second.
- ``bwm-HOST.log`` is ``bwm-ng -o csv -t 1000``: no header, 10 or 15 and more fields, separated by semicolons.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from assay.foundation.errors import FormatError
from assay.store.formats.aloja.times import DISAGREEMENT_S_MAX, DURATION_S_MAX

UNIX_S_RANGE: Final = (1_104_537_600.0, 4_102_444_800.0)
"""Plausible end of a run: 2005 to 2100."""
_SENT_REPORT = re.compile(
    r"SENDING: hibench\.runs (?P<end>[0-9]{1,12}) <a href='(?P<url>[^'\n]{0,500})'>(?P<bench>[\w.,-]{1,80}) "
    r"(?P<conf>[\w.-]{1,200})</a> <strong>Time:</strong> (?P<time>[0-9]{1,9}) s\.",
    re.ASCII,
)
_SENT_PREFIX: Final = "SENDING: hibench.runs"
_PERIOD = re.compile(r"&period=([0-9]{1,9})$")
_VARIABLE = re.compile(r"^(?:declare -[A-Za-z-]+ )?([A-Za-z_]\w*)=(.*)$", re.ASCII)
_ENTRY = re.compile(r"\[\"?([\w.,-]{1,80})\"?\]=(\"[^\"]*\"|'[^']*'|[^\s)]*)", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?")
_OLD_FIELDS: Final = 10
"""Number of fields of a line of the older form (table BWM). A separator at the end of a line adds an empty field."""
_BWM: Final = {"unix_timestamp": 0, "iface_name": 1, "bytes_out": 2, "bytes_in": 3}
_BWM2: Final = {"unix_timestamp": 0, "iface_name": 1, "bytes_in": 5, "bytes_out": 6}
"""Column of the table BWM or BWM2 to the position of its field in a line."""
_VMSTAT_COLUMNS: Final = frozenset({"free", "cache", "bi", "bo", "us", "sy", "id", "wa"})


@dataclass(frozen=True, slots=True)
class Execution:
    """One benchmark's execution. ``start_unix_s`` is None if unknown."""

    bench: str
    line: int
    duration_s: float
    start_unix_s: float | None
    exit_statuses: str = ""
    """Exit statuses as the shell wrote them; empty if unknown."""

    @property
    def failed(self) -> bool:
        """Whether an exit status other than 0 is recorded."""
        return bool(self.exit_statuses.strip(" 0"))


@dataclass(frozen=True, slots=True)
class UnreadableLine:
    """A line about an execution that could not be parsed."""

    line: int
    why: str


def executions_of_log(text: str, conf: str) -> Iterator[Execution | UnreadableLine]:
    """Yield the executions of a ``log_FOLDER.log``; ``conf``: the configuration in the folder's name (``conf_…``)."""
    for number, line in enumerate(text.split("\n"), start=1):
        if _SENT_PREFIX not in line:
            continue
        match = _SENT_REPORT.search(line)
        if not match:
            yield UnreadableLine(number, "reports a benchmark's end, but its time can't be read")
            continue
        end_s, duration_s = float(match["end"]), float(match["time"])
        period = _PERIOD.search(match["url"])
        if period and float(period[1]) != duration_s:
            yield UnreadableLine(number, f"has two times of {match['bench']}: {period[1]} s and {match['time']} s")
        elif match["conf"] != conf:
            yield UnreadableLine(number, f"belongs to another configuration than its folder: {match['conf']}")
        elif why := reason_impossible(duration_s, end_s):
            yield UnreadableLine(number, f"{match['bench']}: {why}")
        else:
            yield Execution(match["bench"], number, duration_s, end_s - duration_s)


def reason_impossible(duration_s: float, end_unix_s: float | None) -> str:
    """Return why a run can't have this duration or end; empty if it can."""
    if duration_s <= 0:
        return f"took {duration_s:g} s: nothing was measured"
    if duration_s > DURATION_S_MAX:
        return f"took {duration_s:.0f} s, more than 30 days"
    if end_unix_s is not None and not UNIX_S_RANGE[0] <= end_unix_s <= UNIX_S_RANGE[1]:
        return f"ended {end_unix_s:.0f} s after 1970, which is not a plausible date"
    return ""


def variables(text: str) -> dict[str, tuple[int, str]]:
    """Return the shell variables of a ``config.sh``: name to line and text."""
    values: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if match := _VARIABLE.match(line.rstrip("\r")):
            values.setdefault(match[1], (number, match[2]))
    return values


def plain(text: str) -> str:
    """Return a shell word without quotes; empty for an expression that the shell would evaluate."""
    word = text.strip()
    if len(word) >= 2 and word[0] == word[-1] and word[0] in "'\"":
        word = word[1:-1]
    return "" if "$" in word or "`" in word else word


def executions_of_config(config: dict[str, tuple[int, str]]) -> Iterator[Execution | UnreadableLine]:
    """Yield the executions in the variables of a ``config.sh``, in order."""
    line, times_text = config.get("EXEC_TIME", (0, ""))
    starts, ends, statuses = (_array(config, f"EXEC_{name}") for name in ("START", "END", "STATUS"))
    for bench, time in _array_of(times_text):
        if not _NUMBER.fullmatch(time):
            yield UnreadableLine(line, f"the time of {bench} is {time[:40]!r}, which is not a number")
            continue
        duration_s = float(time)
        start_s, end_s = (_seconds(times_by_bench.get(bench, "")) for times_by_bench in (starts, ends))
        if end_s is None and start_s is not None:
            end_s = start_s + duration_s
        if why := reason_impossible(duration_s, end_s):
            yield UnreadableLine(line, f"{bench}: {why}")
        elif end_s is not None and start_s is not None and abs(end_s - start_s - duration_s) > DISAGREEMENT_S_MAX:
            yield UnreadableLine(
                line, f"{bench} took {time} s, but from its start to its end it is {end_s - start_s:.3f} s"
            )
        else:
            begin_s = end_s - duration_s if start_s is None and end_s is not None else start_s
            yield Execution(bench, line, duration_s, begin_s, statuses.get(bench, ""))


def _array(config: dict[str, tuple[int, str]], name: str) -> dict[str, str]:
    return dict(_array_of(config.get(name, (0, ""))[1]))


def _array_of(text: str) -> list[tuple[str, str]]:
    return [(name, plain(value)) for name, value in _ENTRY.findall(text)]


def _seconds(text_ms: str) -> float | None:
    return float(text_ms) / 1000 if _NUMBER.fullmatch(text_ms) else None


def vmstat_rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the lines and rows of ``vmstat -n 1``, with the row's number from 0 as ``time``.

    Raises :class:`FormatError`, without a location, if the header is not vmstat's or occurs twice.
    """
    lines = enumerate(text.split("\n"), start=1)
    header: list[str] = []
    for _, line in lines:
        header = line.split()
        if header and not header[0].startswith("procs"):
            break
    if not set(header) >= _VMSTAT_COLUMNS:
        raise FormatError("has no header of vmstat")
    time = 0
    for number, line in lines:
        fields = line.split()
        if fields and fields[0].startswith("procs"):
            raise FormatError("holds two recordings whose times can't be distinguished")
        if fields:
            row = dict(zip(header, fields, strict=False)) if len(fields) == len(header) else {}
            yield number, row | {"time": str(time)}
            time += 1


def bwm_rows(text: str) -> Iterator[tuple[int, str, dict[str, str]]]:
    """Yield line, table (``BWM`` or ``BWM2``, by the number of fields) and row of ``bwm-ng -o csv``."""
    table, columns = "", _BWM
    for number, line in enumerate(text.split("\n"), start=1):
        fields = line.strip().split(";")
        if len(fields) == 1:
            continue
        if not table:
            table, columns = ("BWM2", _BWM2) if len(fields) > _OLD_FIELDS + 1 else ("BWM", _BWM)
        is_complete = len(fields) > max(columns.values())
        yield number, table, {name: fields[position] for name, position in columns.items()} if is_complete else {}
