"""The levels of a factor as the sample of a mean over matched groups (``dependence.py``)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SampledLevels:
    """The levels that count as the values of a mean over matched groups, because the gain depends on them."""

    factor: str
    count: int
