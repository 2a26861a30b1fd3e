"""Detect and escape control characters in text from other sources.

C0 (U+0000 to U+001F), DEL and C1 (U+0080 to U+009F) of ISO/IEC 6429. A terminal executes them: they can change its
title, hide lines or type a command (CWE-150).
"""

import re
from typing import Final

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_NOT_LAYOUT: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def has_control_characters(text: str, *, many_lines: bool = False) -> bool:
    """Return whether a text has control characters; ``many_lines``: newlines and tabs are allowed."""
    return (_NOT_LAYOUT if many_lines else _CONTROL).search(text) is not None


def printable(text: str) -> str:
    r"""Return the text with control characters escaped as ``\x1b``, except newlines and tabs."""
    return _NOT_LAYOUT.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
