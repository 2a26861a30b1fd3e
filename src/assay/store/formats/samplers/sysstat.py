"""Parse the JSON that all of sysstat's programs share: the hosts, and the CPU's shares.

In: the file's text, samples as dictionaries. Out: :class:`Host`; CPU seconds of an interval, summed over the cores.
sysstat prints shares of all cores' time in percent with two decimals. Its plain ``system`` includes interrupts; only
the long format (``cpu-load-all``) distinguishes them.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from assay.foundation.errors import FormatError
from assay.foundation.units import format_percent
from assay.store.formats.samplers.rates import MetricValues, share
from assay.store.formats.source import Source

_SUM_MAX: Final = 1.02
"""Maximum sum of the shares: each of ten is rounded to 0.01 %, and the clock has an error."""
_SAMPLE_END = re.compile(r"[\]}]\s*\}")
"""End of a sample: of its list of disks or, without disks, of its object of CPU shares."""
_CPU_PARTS: Final = {
    "user_s": ("user", "usr", "nice", "guest", "gnice"),
    "system_s": ("system", "sys"),
    "irq_s": ("irq", "soft"),
    "iowait_s": ("iowait",),
    "steal_s": ("steal",),
    "idle_s": ("idle",),
}


class Host(msgspec.Struct):
    """One host of a report; ``statistics`` are its samples in order of time."""

    nodename: str
    statistics: list[dict[str, Any]] = []
    sysname: str = ""
    release: str = ""
    machine: str = ""
    cores: int | None = msgspec.field(name="number-of-cpus", default=None)
    date: str = ""
    restarts: list[Any] = []

    def environment(self) -> dict[str, Any]:
        """Return the report's facts about the machine."""
        facts = {"node": self.nodename, "kernel": self.release, "machine": self.machine, "cores": self.cores}
        return {name: value for name, value in facts.items() if value}


class _SysstatHosts(msgspec.Struct):
    hosts: list[Host]


class _SysstatReport(msgspec.Struct):
    sysstat: _SysstatHosts


def parse_hosts(source: Source, program: str) -> list[Host]:
    """Return the report's hosts. Raises FormatError if it is not sysstat's."""
    return _decoded(source.text(), source.name, program)


def parse_possibly_cut(source: Source, program: str) -> tuple[list[Host], str | None]:
    """Return the report's hosts, and why the last sample is missing if the program was killed while it wrote.

    The text then ends with an incomplete sample. It is parsed up to the last complete sample, with closing brackets.
    """
    text = source.text()
    try:
        return _decoded(text, source.name, program), None
    except FormatError:
        ends = [match.end() for match in _SAMPLE_END.finditer(text)]
        if not ends:
            raise
        hosts = _decoded(text[: ends[-1]] + "]}]}}", source.name, program)
        return hosts, f"the file was cut off: {program} was killed while it wrote; the complete samples are imported"


def _decoded(text: str, name: str, program: str) -> list[Host]:
    try:
        return msgspec.json.decode(text.encode(), type=_SysstatReport).sysstat.hosts
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        hint = "was it cut off? End the program with Ctrl-C, which closes the file"
        raise FormatError(f"not a JSON report of {program}: {error}", where=name, hint=hint) from error


def cpu_growth(row: Mapping[str, Any], cores: int | None, interval_s: float) -> MetricValues:
    """Return the CPU seconds of an interval by their use; empty if the number of cores is unknown."""
    growth: MetricValues = {}
    if not cores or not 0 < cores <= 2**20:
        return growth
    total = 0.0
    for metric, keys in _CPU_PARTS.items():
        parts = [part for key in keys if (part := share(row, key)) is not None]
        if parts:
            growth["cpu", metric] = sum(parts) * cores * interval_s
            total += sum(parts)
    if total > _SUM_MAX:
        raise FormatError(f"the CPU's shares add up to {format_percent(total)}")
    return growth
