"""Check the arguments of the Python API, and read the files that they name. Wrong arguments raise
SpecificationError."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from pathlib import Path

from assay.foundation.errors import SpecificationError
from assay.model import PriceBook

Where = Mapping[str, object] | Sequence[str] | str
"""Conditions on runs: ``{"layout": "SSD"}``, ``{"nodes": [4, 8]}``, or texts ``COLUMN=LEVEL``."""

SEED_MAX = 2**32 - 1
"""Highest seed of random numbers."""


def conditions(where: Where) -> tuple[str, ...]:
    """Return the conditions as texts ``COLUMN=LEVEL``."""
    hint = 'a mapping, such as {"layout": "SSD"}, or texts, such as ["layout=SSD"]'
    if isinstance(where, str):
        return (where,)
    if isinstance(where, Mapping):
        return tuple(
            f"{column}={level}"
            for column, levels in where.items()
            for level in (levels if isinstance(levels, list | tuple | set | frozenset) else (levels,))
        )
    if not isinstance(where, Iterable):
        raise SpecificationError(f"conditions can't be {type(where).__name__}", where="where", hint=hint)
    texts = tuple(where)
    if not all(isinstance(text, str) for text in texts):
        raise SpecificationError("a condition is not a text", where="where", hint=hint)
    return texts


def texts(values: str | Sequence[str], name: str) -> tuple[str, ...]:
    """Return one or several texts as a tuple. ``name``: the argument, for messages."""
    if isinstance(values, str):
        return (values,)
    if not isinstance(values, Iterable):
        raise SpecificationError(
            f"{type(values).__name__} is not a text", where=name, hint="a text, or a list of texts"
        )
    return tuple(text(value, name) for value in values)


def text(value: object, name: str) -> str:
    """Return a text; raise SpecificationError for another type."""
    if not isinstance(value, str):
        raise SpecificationError(f"{type(value).__name__} is not a text", where=name, hint=f"{name} is a text")
    return value


def optional_text(value: object, name: str) -> str | None:
    """Return a text or None; raise SpecificationError for another type."""
    return None if value is None else text(value, name)


def integer_within(value: int, low: int, high: int | None, name: str) -> int:
    """Return the integer; raise SpecificationError unless ``low`` <= ``value`` <= ``high``. None: no upper limit."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < low or (high is not None and value > high):
        bounds = f"of {low:,} or more" if high is None else f"from {low:,} to {high:,}"
        raise SpecificationError(f"{value!r} is not an integer {bounds}", where=name)
    return int(value)


def price_book(prices: PriceBook | Path | str) -> PriceBook:
    """Return the price book; read it if ``prices`` is a file."""
    if isinstance(prices, PriceBook):
        return prices
    from assay.specs import load_prices

    return load_prices(file_path(prices, "prices"))


def file_path(value: Path | str, name: str) -> Path:
    """Return the path; raise SpecificationError for another type."""
    if not isinstance(value, str | Path):
        raise SpecificationError(f"{type(value).__name__} is not a path", where=name, hint=f"{name} is a file's path")
    if "\0" in str(value):
        raise SpecificationError("a path can't contain a null character", where=name, hint=f"{name} is a file's path")
    return Path(value)


def number_within(value: float, low: float, high: float, name: str) -> float:
    """Return the number; raise SpecificationError unless ``low`` <= ``value`` <= ``high``."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise SpecificationError(f"{value!r} is not a number from {low:g} to {high:g}", where=name)
    return value


def one_of(value: str, choices: Sequence[str], name: str) -> str:
    """Return the value; raise SpecificationError with the nearest choice if it is none of them."""
    from assay.foundation.errors import did_you_mean

    if value not in choices:
        suggestion = did_you_mean(str(value), choices)
        raise SpecificationError(f"unknown {value!r}", where=name, hint=f"{suggestion}choices: {', '.join(choices)}")
    return value
