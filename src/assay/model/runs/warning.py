"""Warnings about a result: a code for decisions, and a text for the reader.

Runs of versions without codes have texts alone; :func:`recognised` finds the code of a text when a bundle is read.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class WarningCode(StrEnum):
    """What a warning is about."""

    CPU_LIMIT = "cpu_limit"
    """The processors, not the devices, set the pace."""
    CACHES = "caches"
    """Runs are warm, or not shown to be cold."""
    TRACE = "trace"
    """What was observed is not complete."""
    CLOCK = "clock"
    """Clocks differed."""
    TIME = "time"
    """The duration or the start is not told as such, or does not fit."""
    LEFT_OUT = "left_out"
    """A figure that can't be, or is not told, is left out."""
    NOT_READ = "not_read"
    """Part of the source was not read."""
    SOURCES_DIFFER = "sources_differ"
    """What sources say of the run does not agree, or not enough."""
    FLAGGED = "flagged"
    """The source itself has doubts about the run."""
    HOSTS_DIFFER = "hosts_differ"
    """Something recorded of the hosts was not the same in all runs."""
    DISTURBED = "disturbed"
    """Others used the cluster meanwhile."""
    CONFOUNDED = "confounded"
    """Something else was varied together with the factor."""
    SESSIONS = "sessions"
    """The sides were run in different sessions, or their order is not known."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class CodedWarning:
    """A warning about a run or a comparison."""

    code: WarningCode
    words: str

    def __str__(self) -> str:
        """Return the words."""
        return self.words


_WORDS: Mapping[WarningCode, re.Pattern[str]] = {
    WarningCode.CPU_LIMIT: re.compile(r".*CPU.*limit|.*limit.*CPU"),
    WarningCode.CACHES: re.compile(r"not shown to be cold"),
    WarningCode.CLOCK: re.compile(r".*(its clock is|clocks differed)"),
    WarningCode.TRACE: re.compile(r"the trace covers|gaps between|.*(was not observed|lost on the way|the sampler)"),
    WarningCode.TIME: re.compile(r"the duration follows|its start and its end|.*is not a time$"),
    WarningCode.LEFT_OUT: re.compile(r".*left out"),
    WarningCode.FLAGGED: re.compile(r"ALOJA"),
}


def recognised(words: str) -> CodedWarning:
    """Return the warning that ``words`` of a version without codes are."""
    return CodedWarning(next((code for code, form in _WORDS.items() if form.match(words)), WarningCode.OTHER), words)
