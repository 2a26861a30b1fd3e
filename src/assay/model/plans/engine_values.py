"""Parse durations and sizes as Spark and Hadoop parse them in their settings.

Pure. In: the text of a setting, and the project. Out: seconds or bytes. The rules follow the sources: Spark 4.3
``org.apache.spark.network.util.JavaUtils`` (``timeStringAs``, ``byteStringAs``), Hadoop 3.4
``org.apache.hadoop.conf.Configuration`` (``getTimeDuration``, ``getLongBytes`` with
``StringUtils.TraditionalBinaryPrefix``). Both accept whole numbers, ignore case and surrounding blanks, use powers of
1024 for sizes, and store 64 bits. A bare number has the unit of its setting. Both accept negative numbers; assay
rejects them, because none of its settings has a use for them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from assay.foundation.units import parse_bytes

_LONG_MAX = 2**63 - 1
"""Largest value of Java's ``long``."""
_SECONDS: Mapping[str, int | Fraction] = {
    "d": 86400,
    "h": 3600,
    "m": 60,
    "s": 1,
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
}
_BYTES = {letter: 1024**power for power, letter in enumerate("bkmgtp")}
_SPARK_BYTES = {**_BYTES, **{f"{letter}{end}": _BYTES[letter] for letter in "kmgtp" for end in ("b", "ib")}}
_HADOOP_BYTES = {**{letter: _BYTES[letter] for letter in "kmgtp"}, "e": 1024**6}


@dataclass(frozen=True, slots=True)
class Notation:
    """Notation of one quantity in one project."""

    title: str
    """Name of the quantity and the project, for messages."""
    units: Mapping[str, int | Fraction]
    """Suffix to seconds or bytes."""
    signed: bool
    """Whether ``+`` may precede a number."""
    examples: str


SPARK_DURATION = Notation("a duration of Spark", {**_SECONDS, "min": 60}, False, "500ms, 3s or 2min")
SPARK_SIZE = Notation("a size of Spark", _SPARK_BYTES, False, "640m or 2g")
HADOOP_SIZE = Notation("a size of Hadoop", _HADOOP_BYTES, True, "134217728 or 128m")


def engine_amount(text: str, notation: Notation, unit: int | Fraction = 1) -> float:
    """Return the seconds or bytes of a setting's text.

    ``unit``: unit of a bare number, in seconds or bytes. Raises ValueError with the accepted forms for text that the
    project rejects.
    """
    match = re.fullmatch(rf"({'[+]?' if notation.signed else ''}[0-9]+)([a-z]*)", text.strip().lower(), re.ASCII)
    factor = (notation.units.get(match[2]) if match[2] else Fraction(unit)) if match else None
    if match is None or factor is None or len(match[1]) > 20 or int(match[1]) > _LONG_MAX:
        raise ValueError(f"{text[:40]!r} is not {notation.title}; write {notation.examples}")
    amount = int(match[1]) * factor
    is_size = "g" in notation.units
    if is_size and amount > _LONG_MAX:
        raise ValueError(f"{text[:40]!r} is larger than {notation.title} can be")
    return float(amount)


def block_size_bytes(text: str) -> int:
    """Return the bytes of a block size (``dfs.blocksize``), in Hadoop's notation or with a unit of plans (``64MiB``).

    Raises ValueError for anything else.
    """
    return parse_bytes(text) if text.strip().endswith("B") else int(engine_amount(text, HADOOP_SIZE))
