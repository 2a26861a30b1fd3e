"""Ids derived from content: UUIDs of version 8 (RFC 9562) from SHA-256.

The same run of the same file has the same id in every import.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence

import numpy as np

_SEPARATOR = "\x1f"
"""Separates the texts of one id (ASCII unit separator)."""
_RECORD_SEPARATOR = "\x1e"
"""Separates the columns of many ids (ASCII record separator)."""
_DASHES_BEFORE = (4, 6, 8, 10)
"""Positions of the dashes in a UUID, in bytes."""


_MASK = ~(0xF << 76 | 0b11 << 62)
"""Bits of a UUID without its version and variant."""


def uuid8(*parts: str) -> str:
    """Return the id of these texts: 16 bytes of their SHA-256, with version and variant bits."""
    digest = hashlib.sha256(_SEPARATOR.join(parts).encode("utf-8", "surrogatepass")).digest()
    text = f"{int.from_bytes(digest[:16], 'big') & _MASK | 8 << 76 | 0b10 << 62:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def uuids8(texts: Sequence[str], before: str = "", after: str = "") -> list[str]:
    """Return the id of each text between a common first and last text: :func:`uuid8` for many texts at once."""
    digests = b"".join([hashlib.sha256(encoded).digest() for encoded in _encoded(texts, before, after)])
    raw = np.frombuffer(digests, dtype=np.uint8).reshape(-1, 32)[:, :16].copy()
    raw[:, 6] = raw[:, 6] & 0x0F | 0x80
    raw[:, 8] = raw[:, 8] & 0x3F | 0x80
    digits = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
    uuid_bytes = np.full((len(raw), 36), ord("-"), dtype=np.uint8)
    at = 0
    for byte in range(16):
        at += byte in _DASHES_BEFORE
        uuid_bytes[:, at], uuid_bytes[:, at + 1] = digits[raw[:, byte] >> 4], digits[raw[:, byte] & 0xF]
        at += 2
    whole = uuid_bytes.tobytes().decode("ascii")
    return [whole[begin : begin + 36] for begin in range(0, len(whole), 36)]


def _encoded(texts: Sequence[str], before: str, after: str) -> list[bytes]:
    """Return texts as bytes: all at once, unless a text contains the separator."""
    whole = before + f"{after}{_RECORD_SEPARATOR}{before}".join(texts) + after
    if whole.count(_RECORD_SEPARATOR) != len(texts) - 1:
        return [f"{before}{text}{after}".encode("utf-8", "surrogatepass") for text in texts]
    return whole.encode("utf-8", "surrogatepass").split(_RECORD_SEPARATOR.encode())


class RunIds:
    """The ids of an import's runs, by key. The order distinguishes runs with the same key."""

    def __init__(self, format_name: str) -> None:
        self._format = format_name
        self._repetitions: Counter[str] = Counter()
        """Number of repetitions of a key, by the id of its first run."""
        self._given: dict[str, None] = {}

    @property
    def given(self) -> list[str]:
        """All ids in order of creation."""
        return list(self._given)

    def of(self, key: str) -> str:
        """Return the id of the next run with this key."""
        return self._next(key, uuid8("run", self._format, key, "0"))

    def next_ids(self, keys: Sequence[str]) -> list[str]:
        """Return the ids of the next runs with these keys."""
        head, tail = _SEPARATOR.join(("run", self._format, "")), f"{_SEPARATOR}0"
        first = uuids8(keys, head, tail)
        fresh = dict.fromkeys(first)
        if len(fresh) == len(first) and self._given.keys().isdisjoint(fresh):
            self._given.update(fresh)
            return first
        return [self._next(key, first_id) for key, first_id in zip(keys, first, strict=True)]

    def _next(self, key: str, first: str) -> str:
        candidate = first
        if first in self._given:
            self._repetitions[first] += 1
            candidate = uuid8("run", self._format, key, str(self._repetitions[first]))
        self._given[candidate] = None
        return candidate
