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
"""Bytes of a UUID that follow a dash, counted from 0."""
_MASK = ~(0xF << 76 | 0b11 << 62)
"""Bits of a UUID without its version and variant."""


def uuid8(*parts: str) -> str:
    """Return the id of these texts: 16 bytes of their SHA-256, with version and variant bits."""
    digest = hashlib.sha256(_SEPARATOR.join(parts).encode("utf-8", "surrogatepass")).digest()
    text = f"{int.from_bytes(digest[:16], 'big') & _MASK | 8 << 76 | 0b10 << 62:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def uuids8(texts: Sequence[str], prefix: str = "", suffix: str = "") -> list[str]:
    """Return the id of each text between a common prefix and suffix: :func:`uuid8` for many texts at once."""
    digests = b"".join([hashlib.sha256(encoded).digest() for encoded in _encoded(texts, prefix, suffix)])
    raw = np.frombuffer(digests, dtype=np.uint8).reshape(-1, 32)[:, :16].copy()
    raw[:, 6] = raw[:, 6] & 0x0F | 0x80
    raw[:, 8] = raw[:, 8] & 0x3F | 0x80
    digits = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
    uuid_bytes = np.full((len(raw), 36), ord("-"), dtype=np.uint8)
    position = 0
    for byte in range(16):
        position += byte in _DASHES_BEFORE
        uuid_bytes[:, position], uuid_bytes[:, position + 1] = digits[raw[:, byte] >> 4], digits[raw[:, byte] & 0xF]
        position += 2
    joined_uuids = uuid_bytes.tobytes().decode("ascii")
    return [joined_uuids[begin : begin + 36] for begin in range(0, len(joined_uuids), 36)]


def _encoded(texts: Sequence[str], prefix: str, suffix: str) -> list[bytes]:
    """Return texts as bytes: all at once, unless a text contains the separator."""
    joined_texts = prefix + f"{suffix}{_RECORD_SEPARATOR}{prefix}".join(texts) + suffix
    if joined_texts.count(_RECORD_SEPARATOR) != len(texts) - 1:
        return [f"{prefix}{text}{suffix}".encode("utf-8", "surrogatepass") for text in texts]
    return joined_texts.encode("utf-8", "surrogatepass").split(_RECORD_SEPARATOR.encode())


class RunIds:
    """The ids of an import's runs, by key. The order distinguishes runs with the same key."""

    def __init__(self, format_name: str) -> None:
        self._format = format_name
        self._repetitions: Counter[str] = Counter()
        """Number of repetitions of a key, by the id of its first run."""
        self._ids: dict[str, None] = {}

    @property
    def ids(self) -> list[str]:
        """All ids in order of creation."""
        return list(self._ids)

    def of(self, key: str) -> str:
        """Return the id of the next run with this key."""
        return self._next(key, uuid8("run", self._format, key, "0"))

    def next_ids(self, keys: Sequence[str]) -> list[str]:
        """Return the ids of the next runs with these keys."""
        prefix, suffix = _SEPARATOR.join(("run", self._format, "")), f"{_SEPARATOR}0"
        first_ids = uuids8(keys, prefix, suffix)
        distinct_ids = dict.fromkeys(first_ids)
        if len(distinct_ids) == len(first_ids) and self._ids.keys().isdisjoint(distinct_ids):
            self._ids.update(distinct_ids)
            return first_ids
        return [self._next(key, first_id) for key, first_id in zip(keys, first_ids, strict=True)]

    def _next(self, key: str, first_id: str) -> str:
        run_id = first_id
        if first_id in self._ids:
            self._repetitions[first_id] += 1
            run_id = uuid8("run", self._format, key, str(self._repetitions[first_id]))
        self._ids[run_id] = None
        return run_id
