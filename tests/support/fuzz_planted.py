"""Contain a parser with a defect behind two conditions, which a fuzzer has to find."""

from __future__ import annotations

from pathlib import Path


def seeds(_name: str) -> list[bytes]:
    """Return what its corpus begins with."""
    return [b"RUN 1 2"]


def target(_name: str, _folder: Path) -> object:
    """Return the function that breaks."""
    return planted


def planted(content: bytes) -> int:
    """Divide by nothing for a certain rate."""
    words = content.split(b" ")
    if len(words) > 1 and words[0] == b"RATE" and words[1][:2] == b"-7":
        raise ZeroDivisionError("planted")
    return 0
