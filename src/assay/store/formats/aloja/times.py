"""Determine when a run of ALOJA's tables started, from columns whose meaning differs between rows.

In: the texts of ``start_time`` and ``end_time`` (``2014-01-29 05:53:50``, or ``20140129055350`` in some of the wider
tables), the duration in seconds, and the folder's name. Out: the start, ISO 8601 in UTC, with its source; empty if
unknown.

ALOJA's importer writes UTC. Its first version took the time from a link to the monitoring system: its rows have the
start 0000-00-00 00:00:00, and ``end_time`` holds the *start*, in Central European Time. The dump of September 2014 has
382 of these rows. If ``end_time`` is read as a start, none of the runs overlap, and all end before the next folder
begins. If it is read as an end, 49 runs overlap with a run of the same folder, and 232 are still running when the next
folder begins on the same cluster. All are winter runs, so the offset is one hour.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from assay.model import CodedWarning, WarningCode
from assay.store.formats.aloja.codes import known_text
from assay.store.formats.aloja.names import FolderName

_ZERO: Final = "0000-00-00"
_CET: Final = timedelta(hours=1)
"""Offset of Central European Time from UTC."""
_CET_ENDS: Final = datetime(2014, 3, 30, 2)
"""Start of summer time. The old importer has no row after it, so its notation of summer time is unknown."""
_OLD_IMPORTER_ENDS: Final = datetime(2014, 3, 1)
"""End of the old importer, whose last row is of 2014-02-24. In tables without starts, an earlier end may be a start."""
_YEARS: Final = range(2000, 2101)
DURATION_S_MAX: Final = 30 * 86_400.0
"""Maximum duration of a run, in seconds. A longer duration is an error: ALOJA's longest run takes 25 hours."""
DISAGREEMENT_S_MAX: Final = 2.0
"""Maximum difference between the duration and the time from start to end, in seconds. Dates are whole seconds."""

FROM_START: Final = "the table's start_time, UTC"
FROM_OLD_ROW: Final = (
    "the table's end_time less one hour: where its start is 0000-00-00, ALOJA's first importer wrote the start there, "
    "in Central European Time"
)
FROM_END: Final = "the table's end time, UTC, less the duration"
ABSENT: Final = "not recorded in the table"
IMPLAUSIBLE: Final = (
    "not known: the table's start is 0000-00-00, and by the folder's name its end_time can't be the start either"
)
AMBIGUOUS: Final = (
    "not known: before March 2014 ALOJA's end time is a start in some rows, and no column of this table says in which"
)


@dataclass(frozen=True, slots=True)
class StartTime:
    """The start of a run. ``at``: ISO 8601 in UTC, or empty. ``source``: its source, or why it is unknown."""

    at: str
    source: str
    warnings: tuple[CodedWarning, ...] = ()


_ABSENT: Final = StartTime("", ABSENT)


def start_time_of(start: str, end: str, duration_s: float, folder: FolderName, *, has_start: bool) -> StartTime:
    """Return when a run started. ``has_start``: whether the table has a column for the start."""
    start_date, end_date = moment(start), moment(end)
    if start_date is not None:
        warnings: tuple[CodedWarning, ...] = ()
        if end_date is not None and abs((end_date - start_date).total_seconds() - duration_s) > DISAGREEMENT_S_MAX:
            difference_s = (end_date - start_date).total_seconds()
            message = f"its start and its end are {difference_s:.0f} s apart, but its duration is {duration_s:.0f} s"
            warnings = (CodedWarning(WarningCode.TIME, message),)
        return StartTime(_iso(start_date), FROM_START, warnings)
    if end_date is None:
        return StartTime("", ABSENT, _unread_warnings(start, end)) if start or end else _ABSENT
    if not has_start:
        is_end = end_date >= _OLD_IMPORTER_ENDS
        return (
            StartTime(_iso(end_date - timedelta(seconds=duration_s)), FROM_END) if is_end else StartTime("", AMBIGUOUS)
        )
    folder_date = moment(folder.stamp)
    possible_start = end_date - _CET
    if folder_date is not None and folder.old and folder_date <= possible_start and end_date < _CET_ENDS:
        return StartTime(_iso(possible_start), FROM_OLD_ROW)
    return StartTime("", IMPLAUSIBLE, _unread_warnings(start, ""))


def _iso(date: datetime) -> str:
    return date.replace(tzinfo=UTC).isoformat()


def moment(text: str) -> datetime | None:
    """Return the time in a cell, without a time zone; None for any other text."""
    text = text.strip()
    try:
        if len(text) == 19 and text[4] == text[7] == "-" and text[10] in " T":
            time = datetime.fromisoformat(text)
        elif len(text) == 14 and text.isascii() and text.isdigit():
            time = datetime(int(text[:4]), *(int(text[index : index + 2]) for index in range(4, 14, 2)))  # type: ignore[arg-type]
        else:
            return None
    except ValueError:
        return None
    return time if time.tzinfo is None and time.year in _YEARS else None


def _unread_warnings(*texts: str) -> tuple[CodedWarning, ...]:
    """Return a warning for every text that is not a time."""
    cell_texts = (known_text(text) for text in texts)
    return tuple(
        CodedWarning(WarningCode.TIME, f"{text[:40]!r} is not a time")
        for text in cell_texts
        if text and not text.startswith(_ZERO) and moment(text) is None
    )
