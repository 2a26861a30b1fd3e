"""Parse the mix of workloads that a cluster is for: names, data sizes and frequencies.

In: texts ``NAME:SIZE[:HOW OFTEN[:OPTION=VALUE,…]]``, for example ``terasort:1TB:daily``. Out: :class:`Work`. Defaults:
once a day, and one wave of tasks or, where the workload counts files, files of 1 GB.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.execution.planning.plan_files.workload_section import varied_options
from assay.foundation.errors import SpecificationError
from assay.foundation.units import format_bytes, parse_bytes
from assay.specs.fields import unknown
from assay.workloads.catalogue import workloads

DAY_S = 86_400.0
RUNS_PER_DAY = {"hourly": 24.0, "daily": 1.0, "weekly": 1 / 7, "monthly": 12 / 365}
"""Frequency by name: runs per day."""
_DAY_SHARE = {"hour": 24.0, "day": 1.0, "week": 1 / 7, "month": 12 / 365}
_RATE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)/(hour|day|week|month)")
WORKS_MAX = 20
"""Maximum number of workloads in a mix."""
_PART_LENGTH_MAX = 40
"""Maximum length of a size or frequency, in characters."""


@dataclass(frozen=True, slots=True)
class Work:
    """One workload of the mix."""

    workload: str
    data_bytes: int
    per_day: float
    often: str
    options: Mapping[str, str]

    @property
    def label(self) -> str:
        """The workload with its size and frequency: ``terasort 1 TB daily``."""
        return f"{self.workload} {format_bytes(self.data_bytes)} {self.often}"

    def entry(self, factor: float = 1.0) -> dict[str, dict[str, str]]:
        """Return the entry in a plan's ``workloads``, with the data multiplied by ``factor``."""
        return {self.workload: {"data": f"{round(self.data_bytes * factor)}B", **self.options}}


def parse_mix(texts: Sequence[str]) -> tuple[Work, ...]:
    """Return the mix. Raises SpecificationError for a text of another form."""
    if not 0 < len(texts) <= WORKS_MAX:
        raise SpecificationError(
            f"a mix has 1 to {WORKS_MAX} workloads, and {len(texts)} are named", where="--workload", hint=_MIX_SYNTAX
        )
    return tuple(_work(text) for text in texts)


_MIX_SYNTAX = (
    "write NAME:SIZE:HOW OFTEN, such as terasort:1TB:daily, wordcount:200GB:4/day or dfsio-read:1TB:weekly:files=512"
)


def _work(text: str) -> Work:
    name, *other_parts = text.strip().split(":")
    if any(len(part) > _PART_LENGTH_MAX for part in other_parts[:2]):
        raise SpecificationError(
            f"{text[:30]!r}… is too long for a size or a number", where="--workload", hint=_MIX_SYNTAX
        )
    if not 1 <= len(other_parts) <= 3:
        raise SpecificationError(f"{text[:80]!r} is not a workload with its size", where="--workload", hint=_MIX_SYNTAX)
    if name not in workloads():
        raise SpecificationError(unknown("workload", name, workloads()), where=f"--workload {text[:80]}")
    frequency = other_parts[1] if len(other_parts) > 1 and other_parts[1] else "daily"
    try:
        data_bytes = parse_bytes(other_parts[0])
        options = _options(name, other_parts[2]) if len(other_parts) > 2 and other_parts[2] else {}
        per_day = _per_day(frequency)
    except ValueError as error:
        raise SpecificationError(str(error), where=f"--workload {text[:80]}", hint=_MIX_SYNTAX) from error
    if not 0 < data_bytes < 2**60:
        raise SpecificationError(
            f"{other_parts[0][:20]!r} must be more than 0, and less than 1 EiB", where="--workload"
        )
    return Work(name, data_bytes, per_day, frequency, _with_default_options(name, options, data_bytes))


def _per_day(text: str) -> float:
    match = _RATE.fullmatch(text)
    per_day = float(match[1]) * _DAY_SHARE[match[2]] if match else RUNS_PER_DAY.get(text, 0.0)
    if not per_day > 0:
        raise ValueError(
            f"{text[:20]!r} is not a frequency; write {', '.join(RUNS_PER_DAY)}, or a number such as 4/day, 2/week"
        )
    return per_day


def _options(name: str, text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    forms = {key: form for key, form in varied_options(name).items() if not key.startswith("data")}
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or key not in forms:
            raise ValueError(unknown(f"option of {name}", key, forms))
        forms[key].parse(value)
        options[key] = value
    return options


def _with_default_options(name: str, options: Mapping[str, str], data_bytes: int) -> dict[str, str]:
    """Return the options, completed by files of 1 GB or one wave of tasks where the workload needs them."""
    workload = workloads()[name]
    if "waves" in options or any(option in options for option in workload.wave_options):
        return dict(options)
    if workload.wave_options == ("files",):
        return {**options, "files": str(max(1, round(data_bytes / 1e9)))}
    return {**options, **({"waves": "1"} if workload.wave_options else {})}
