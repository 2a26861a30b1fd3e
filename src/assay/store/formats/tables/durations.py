"""Parse the durations that people write into tables: ``95s``, ``1h30m``, ``2 h 5 min``, ``00:10:05``.

In: a cell's text. Out: seconds, or a ValueError with the reason. Ambiguous texts are rejected: ``10:05`` may be minutes
and seconds or hours and minutes.
"""

import re
from typing import Final

from assay.foundation.units import parse_duration

_PARTS: Final = re.compile(
    r"(?:(?P<d>[0-9]+) ?d(?:ays?)?)? ?(?:(?P<h>[0-9]+) ?h(?:ours?|rs?)?)? ?"
    r"(?:(?P<min>[0-9]+) ?m(?:in(?:utes?)?)?)? ?(?:(?P<s>[0-9]+(?:\.[0-9]+)?) ?s(?:ec(?:onds?)?)?)?"
)
_CLOCK: Final = re.compile(r"(?P<h>[0-9]+):(?P<min>[0-5][0-9]):(?P<s>[0-5][0-9](?:\.[0-9]+)?)")
_SHORT: Final = re.compile(r"[0-9]+:[0-5][0-9](?:\.[0-9]+)?")
_UNIT_S: Final = {"d": 86_400, "h": 3600, "min": 60, "s": 1}
_BOUNDS: Final = {"h": 24, "min": 60, "s": 60}
"""Upper bound of a part that follows a larger unit: ``1h90m`` is a typing error."""


def written_duration_s(text: str) -> float:
    """Return a duration in seconds. Raises ValueError for text that is ambiguous or not a duration."""
    text = text.strip()
    if _SHORT.fullmatch(text):
        raise ValueError(f"{text!r} may be minutes and seconds or hours and minutes: write 00:{text} or {text}:00")
    clock = _CLOCK.fullmatch(text)
    if clock:
        return sum(float(clock[name]) * _UNIT_S[name] for name in ("h", "min", "s"))
    parts = _PARTS.fullmatch(text)
    value_by_unit = {name: value for name, value in parts.groupdict().items() if value} if parts else {}
    if not value_by_unit:
        return parse_duration(text)
    largest_unit = next(iter(value_by_unit))
    for name, value in value_by_unit.items():
        if name != largest_unit and float(value) >= _BOUNDS[name]:
            bound = f"{_BOUNDS[name]} {name}"
            raise ValueError(
                f"{text!r} is not a duration: after a larger unit, {value} {name} must be less than {bound}"
            )
    return sum(float(value) * _UNIT_S[name] for name, value in value_by_unit.items())
