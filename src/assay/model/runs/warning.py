"""Warnings about a result: a code for decisions, and a text for the reader.

Runs of versions without codes have only texts; :func:`coded_warning` derives the code when a bundle is read.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class WarningCode(StrEnum):
    """Subject of a warning."""

    CPU_LIMIT = "cpu_limit"
    """The CPU, not the devices, limits the speed."""
    CACHES = "caches"
    """Runs are warm, or not proven cold."""
    TRACE = "trace"
    """The trace is incomplete."""
    CLOCK = "clock"
    """Clocks differed."""
    TIME = "time"
    """The duration or the start is not recorded directly, or is inconsistent."""
    LEFT_OUT = "left_out"
    """A figure is omitted because it is impossible or not recorded."""
    NOT_READ = "not_read"
    """Part of the source was not read."""
    SOURCES_DIFFER = "sources_differ"
    """Sources of the run disagree, or agree too little."""
    FLAGGED = "flagged"
    """The source itself marks the run as doubtful."""
    HOSTS_DIFFER = "hosts_differ"
    """A recorded fact of the hosts differs between runs."""
    DISTURBED = "disturbed"
    """Other programs used the cluster during the run."""
    CONFOUNDED = "confounded"
    """Another setting was varied together with the factor."""
    SESSIONS = "sessions"
    """The sides were run in different sessions, or their order is unknown."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class CodedWarning:
    """A warning about a run or a comparison."""

    code: WarningCode
    words: str

    def __str__(self) -> str:
        """Return the text."""
        return self.words


_TEXTS: Mapping[WarningCode, re.Pattern[str]] = {
    WarningCode.CPU_LIMIT: re.compile(r".*CPU.*limit|.*limit.*CPU"),
    WarningCode.CACHES: re.compile(r"not shown to be cold"),
    WarningCode.CLOCK: re.compile(r".*(its clock is|clocks differed)"),
    WarningCode.TRACE: re.compile(r"the trace covers|gaps between|.*(was not observed|lost on the way|the sampler)"),
    WarningCode.TIME: re.compile(r"the duration follows|its start and its end|.*is not a time$"),
    WarningCode.LEFT_OUT: re.compile(r".*left out"),
    WarningCode.FLAGGED: re.compile(r"ALOJA"),
}


def coded_warning(message: str) -> CodedWarning:
    """Return the coded warning for a text of a version without codes."""
    code = next((code for code, pattern in _TEXTS.items() if pattern.match(message)), WarningCode.OTHER)
    return CodedWarning(code, message)
