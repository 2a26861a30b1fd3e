"""Format plurals, lists, capitals, times and anchors."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime


def plural(number: int, singular: str, plural_form: str | None = None) -> str:
    """Return ``1 run`` or ``2 runs``."""
    return f"{number:,} {singular if number == 1 else plural_form or singular + 's'}"


def joined(names: Sequence[str], word: str = "and") -> str:
    """Return names as a list in a sentence: ``A, B and C``."""
    return f"{', '.join(names[:-1])} {word} {names[-1]}" if len(names) > 1 else "".join(names)


def capitalised(text: str) -> str:
    """Return a text with its first letter in upper case. The other letters do not change."""
    return text[:1].upper() + text[1:]


def moment(text: str) -> str:
    """Return an ISO 8601 time in UTC as ``2026-01-05 10:00``; other texts are returned unchanged."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{time:%Y-%m-%d %H:%M}" if text.endswith(("Z", "+00:00")) else text


def period(first_unix_s: float, last_unix_s: float) -> str:
    """Return the days in UTC between two times: ``2026-01-05`` or ``2026-01-05 to 2026-02-01``."""
    first, last = (f"{datetime.fromtimestamp(time_s, UTC):%Y-%m-%d}" for time_s in (first_unix_s, last_unix_s))
    return first if first == last else f"{first} to {last}"


def slug(text: str) -> str:
    """Return a text as the name of a file or an anchor: ``terasort-1-tb``; at least one letter."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60].strip("-") or "x"
