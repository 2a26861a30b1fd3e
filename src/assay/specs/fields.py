"""Define the types of single values in specification files. Each type parses the user's text, including its unit.

Every type has a JSON Schema (pattern and examples), so that editors check and complete the same forms that assay
accepts. Invalid text raises :class:`ValueError` with the accepted forms.
"""

import datetime
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, TypeAlias

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from assay.foundation import units
from assay.foundation.errors import did_you_mean
from assay.foundation.units import Money

_TEXT_LENGTH_MAX = 1000
_UNIT_LENGTH_MAX = 40
COUNT_MAX = 1000
NODES_MAX = 100_000
"""Maximum number of nodes of a simulated cluster."""
WHOLE_NUMBER_MAX = 1_000_000_000
SCALE_DIVISOR_MAX = 1000
LATENCY_S_MAX = 1
_LATENCY_PATTERN = r"^\d+(?:\.\d+)?\s*(?:us|ms|s)$"


@dataclass(frozen=True, slots=True, eq=False)
class FieldFormat:
    """A field's parser and JSON Schema; used as ``Annotated[TYPE, FieldFormat(...)]``."""

    parse: Callable[[object], Any]
    schema: dict[str, Any]

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return a schema that makes pydantic call :attr:`parse`, without a validation of its result."""
        return core_schema.no_info_plain_validator_function(self.parse)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return a copy of :attr:`schema`, which pydantic puts into the JSON Schema."""
        return dict(self.schema)


def unknown(title: str, word: str, choices: Iterable[str]) -> str:
    """Return ``unknown TITLE 'word'; did you mean 'x'? valid: x, y``."""
    all_choices = list(choices)
    suggestion = did_you_mean(word, all_choices, matches_max=1)
    return f"unknown {title} {word[:60]!r}; {suggestion}valid: {', '.join(all_choices) or 'none'}"


def text_of(value: object) -> str:
    """Return ``value``. Raises :class:`ValueError` if it is not text, is blank, or is too long."""
    if not isinstance(value, str):
        shape = "a list" if isinstance(value, list) else "keys with values"
        raise ValueError(f"one value is expected here, not {shape}")
    if not value.strip():
        raise ValueError("the text is empty")
    if len(value) > _TEXT_LENGTH_MAX:
        raise ValueError(f"the text is longer than {_TEXT_LENGTH_MAX} characters")
    return value


def _text_schema(pattern: str, description: str, *examples: str) -> dict[str, Any]:
    """Return a string schema. Named groups become plain groups: JSON Schema's ECMA-262 lacks Python's ``(?P<name>``."""
    ecma_pattern = re.sub(r"\(\?P<\w+>", "(", pattern)
    return {"type": "string", "pattern": ecma_pattern, "description": description, "examples": list(examples)}


QUANTITY_MAX = 2**63 - 1
"""Maximum of a quantity in bytes, bytes/s, bits/s or seconds. A larger value is a mistake and fits no table column."""


def _quantity(parse: Callable[[str], float], schema: dict[str, Any], *, zero: bool = False) -> FieldFormat:
    """Return the format of a finite number with a unit, greater than 0. ``zero``: 0 is allowed too."""

    def validate(value: object) -> float:
        text = text_of(value)
        if len(text) > _UNIT_LENGTH_MAX:
            raise ValueError(f"{text[:12]!r}… is too long for a quantity")
        number = parse(text)
        if not (0 < number < math.inf or (zero and number == 0)):
            raise ValueError(f"{text!r} must be more than 0")
        if number > QUANTITY_MAX:
            raise ValueError(f"{text!r} is implausibly large")
        return number

    return FieldFormat(validate, schema)


def _parse_price(value: object) -> Money:
    text = text_of(value)
    if len(text) > _UNIT_LENGTH_MAX:
        raise ValueError(f"{text[:12]!r}… is too long for a price")
    return units.parse_money(text)


def _parse_scale(text: str) -> float:
    scale = units.parse_scale(text)
    if scale * SCALE_DIVISOR_MAX < 1:
        raise ValueError(f"{text!r} is too small a scale; the smallest is 1/{SCALE_DIVISOR_MAX}")
    return scale


def _parse_latency(text: str) -> float:
    if re.match(_LATENCY_PATTERN, text.strip()) is None:
        raise ValueError(f'{text!r} is not a latency; write "8.5ms" or "90us"')
    latency_s = units.parse_duration(text)
    if latency_s > LATENCY_S_MAX:
        raise ValueError(f"{text!r} is too long for a disk; the longest is {LATENCY_S_MAX:g}s")
    return latency_s


_SIZE = _text_schema(units.BYTES_PATTERN, "A size in bytes", "64GB", "128MiB")
_SIZE_OR_ZERO = {
    **_text_schema(f"{units.BYTES_PATTERN}|^0$", "A size in bytes, or 0", "64MB", "0"),
    "type": ["string", "integer"],
    "minimum": 0,
    "maximum": 0,
}
_BYTE_RATE = _text_schema(units.BYTE_RATE_PATTERN, "A bandwidth", "120MB/s", "1.2GB/s")
_BIT_RATE = _text_schema(units.BIT_RATE_PATTERN, "A link rate", "1Gbit/s", "100Mbit/s")
_DURATION = _text_schema(units.DURATION_PATTERN, "A duration", "30s", "10min", "2h")
_LATENCY = _text_schema(_LATENCY_PATTERN, "A short time, 1 s at most", "8.5ms", "90us")
_PRICE = _text_schema(units.MONEY_PATTERN, "An amount of money", "$400", "€12.50", "400 CHF")
_SCALE = _text_schema(units.SCALE_PATTERN, "A lab's scale; 1 is full size", "1/20", "1/10")

SIZE = _quantity(units.parse_bytes, _SIZE)
Size: TypeAlias = Annotated[int, SIZE]
SizeOrZero: TypeAlias = Annotated[int, _quantity(units.parse_bytes, _SIZE_OR_ZERO, zero=True)]
ByteRate: TypeAlias = Annotated[float, _quantity(units.parse_byte_rate, _BYTE_RATE)]
BitRate: TypeAlias = Annotated[float, _quantity(units.parse_bit_rate, _BIT_RATE)]
Duration: TypeAlias = Annotated[float, _quantity(units.parse_duration, _DURATION)]
Latency: TypeAlias = Annotated[float, _quantity(_parse_latency, _LATENCY)]
Scale: TypeAlias = Annotated[
    float, _quantity(_parse_scale, {**_SCALE, "type": ["string", "integer"], "minimum": 1, "maximum": 1})
]
Price: TypeAlias = Annotated[Money, FieldFormat(_parse_price, _PRICE)]


def whole_number(low: int, high: int) -> FieldFormat:
    """Return the format of a whole number from ``low`` to ``high``."""

    def validate(value: object) -> int:
        text = text_of(value).strip()
        if not re.fullmatch(r"[0-9]{1,10}", text) or not low <= int(text) <= high:
            raise ValueError(f"{text[:20]!r} is not a whole number from {low} to {high}")
        return int(text)

    return FieldFormat(validate, {"type": "integer", "minimum": low, "maximum": high})


COUNT = whole_number(1, COUNT_MAX)
POSITIVE = whole_number(1, WHOLE_NUMBER_MAX)
Count: TypeAlias = Annotated[int, COUNT]
NodeCount: TypeAlias = Annotated[int, whole_number(1, NODES_MAX)]
Positive: TypeAlias = Annotated[int, POSITIVE]
Seed: TypeAlias = Annotated[int, whole_number(0, WHOLE_NUMBER_MAX)]
Port: TypeAlias = Annotated[int, whole_number(1, 65535)]
Rpm: TypeAlias = Annotated[int, whole_number(1000, 100_000)]
QueueDepth: TypeAlias = Annotated[int, whole_number(1, 1024)]
Channels: TypeAlias = Annotated[int, whole_number(1, 256)]


_PLAIN_NUMBER = r"(?P<number>\d+(?:\.\d+)?)"


def _decimal(pattern: str, low: str, high: str, title: str, *examples: str) -> FieldFormat:
    """Return the format of a decimal number from ``low`` to ``high``, the group ``number`` of ``pattern``."""

    def validate(value: object) -> Decimal:
        text = text_of(value).strip()
        match = re.fullmatch(pattern, text)
        number = Decimal(match["number"]) if match and len(text) <= _UNIT_LENGTH_MAX else None
        if number is None or not Decimal(low) <= number <= Decimal(high):
            raise ValueError(f"{text[:20]!r} is not {title} from {low} to {high}; write {' or '.join(examples)}")
        return number

    schema = _text_schema(f"^{pattern}$", f"{title[0].upper()}{title[1:]}", *examples)
    is_plain = pattern == _PLAIN_NUMBER
    return FieldFormat(validate, {**schema, "type": ["string", "number"]} if is_plain else schema)


Number: TypeAlias = Annotated[Decimal, _decimal(_PLAIN_NUMBER, "0.000001", "1000000", "a number", "1.08")]
Years: TypeAlias = Annotated[Decimal, _decimal(_PLAIN_NUMBER, "0.1", "100", "a number of years", "3")]
Pue: TypeAlias = Annotated[Decimal, _decimal(_PLAIN_NUMBER, "1", "10", "a power usage effectiveness", "1.5")]
_PERCENTAGE = _decimal(_PLAIN_NUMBER + r"\s*%", "0", "100", "a percentage", "10%")
Percentage: TypeAlias = Annotated[
    Decimal, FieldFormat(lambda value: _PERCENTAGE.parse(value) / 100, {**_PERCENTAGE.schema, "default": "0%"})
]
_SHARE = _decimal(_PLAIN_NUMBER + r"\s*%", "1", "100", "a share", "55%")
Share: TypeAlias = Annotated[float, FieldFormat(lambda value: float(_SHARE.parse(value) / 100), _SHARE.schema)]
"""A percentage from 1 % to 100 %, as a number of at most 1."""
_SPEED = _decimal(_PLAIN_NUMBER, "0.01", "100", "a relative speed", "0.6")
Speed: TypeAlias = Annotated[
    float, FieldFormat(lambda value: float(_SPEED.parse(value)), {**_SPEED.schema, "default": 1.0})
]
"""Speed relative to the reference, from 0.01 to 100."""
_AMOUNT = _decimal(_PLAIN_NUMBER, "0", "1" + 18 * "0", "an amount", "60")
Amount: TypeAlias = Annotated[float, FieldFormat(lambda value: float(_AMOUNT.parse(value)), _AMOUNT.schema)]
Power: TypeAlias = Annotated[Decimal, _decimal(_PLAIN_NUMBER + r"\s*W", "0", "1000000000", "a power", "350W")]


def _matching(pattern: str, title: str, form: str, *examples: str) -> FieldFormat:
    """Return the format of text that fully matches ``pattern``; ``title`` and ``form`` explain it in errors."""

    def validate(value: object) -> str:
        text = text_of(value)
        if not re.fullmatch(pattern, text):
            raise ValueError(f"{text[:60]!r} is not {title}; {form}")
        return text

    return FieldFormat(validate, _text_schema(f"^(?:{pattern})$", f"{title[0].upper()}{title[1:]}: {form}", *examples))


DOTTED = r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+"
HOST_NAME = _matching(
    r"[a-z](?:[a-z0-9-]{0,28}[a-z0-9])?",
    "a name",
    "use at most 30 lower-case letters, digits and hyphens, a letter first",
    "worker",
    "hdd",
)
_NAME = _matching(
    r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}",
    "a name",
    "use at most 64 letters, digits, '.', '_' and '-', a letter or digit first",
    "hdd-vs-ssd",
)
LABEL = _matching(
    r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}",
    "a label",
    "use at most 64 letters, digits, '_' and '-', a letter or digit first",
    "terasort-large",
)
_FACTOR = _matching(
    f"[A-Za-z0-9][A-Za-z0-9_-]{{0,63}}|{DOTTED}",
    "a factor",
    "write layout, network, workers, containers, compression, profile, an engine parameter such as dfs.blocksize, "
    "WORKLOAD.option such as terasort.reduces, or a name of your own with levels that set several of these",
    "layout",
    "dfs.blocksize",
    "terasort.reduces",
)
_ADDRESS = _matching(
    r"[A-Za-z0-9:][A-Za-z0-9.:%_-]{0,252}", "a host address", "write a host name or an IP address", "10.0.0.11"
)
_DIRECTORY = _matching(
    r"(?:/[A-Za-z0-9._+@=-]+)+/?", "a directory", "write an absolute path without spaces, commas and colons", "/data1"
)
_PARAMETER = _matching(
    f"network|workers|containers|compression|profile|{DOTTED}",
    "an engine parameter",
    "write words joined by dots, or one of network, workers, containers, compression, profile",
    "dfs.replication",
    "dfs.blocksize",
)

HostName: TypeAlias = Annotated[str, HOST_NAME]
Name: TypeAlias = Annotated[str, _NAME]
Label: TypeAlias = Annotated[str, LABEL]
FactorName: TypeAlias = Annotated[str, _FACTOR]
HostAddress: TypeAlias = Annotated[str, _ADDRESS]
Directory: TypeAlias = Annotated[str, _DIRECTORY]
ParameterName: TypeAlias = Annotated[str, _PARAMETER]
UserName: TypeAlias = Annotated[
    str, _matching(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,31}", "a user name", "write the login name", "hadoop")
]
CurrencyCode: TypeAlias = Annotated[
    str, _matching(r"[A-Z]{3}", "a currency", "write its ISO 4217 code: USD, EUR, CHF", "USD", "EUR")
]
MetricName: TypeAlias = Annotated[
    str,
    _matching(
        r"[a-z][a-z0-9_]{0,63}", "a metric", "use small letters, digits and '_', the unit last", "per_stream_mb_per_s"
    ),
]


def parse_date(value: object) -> str:
    """Return ``value``. Raises :class:`ValueError` unless it is a valid date ``YYYY-MM-DD``."""
    text = text_of(value)
    try:
        is_valid = re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) is not None
        datetime.date.fromisoformat(text)
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ValueError(f"{text[:40]!r} is not a date; write year-month-day, such as 2014-06-01")
    return text


Date: TypeAlias = Annotated[
    str, FieldFormat(parse_date, _text_schema(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "A date", "2014-06-01"))
]
Text: TypeAlias = Annotated[str, FieldFormat(text_of, {"type": "string", "minLength": 1})]
_SCALAR = {"type": ["string", "number", "boolean"], "description": "A single value; the engine gets it as written"}
SCALAR = FieldFormat(text_of, _SCALAR)
Scalar: TypeAlias = Annotated[str, SCALAR]


def choice(title: str, choices: Iterable[str]) -> FieldFormat:
    """Return the format of a value that must be one of ``choices``; ``title`` names it in errors."""
    choice_texts = [str(choice) for choice in choices]

    def validate(value: object) -> str:
        text = text_of(value)
        if text not in choice_texts:
            raise ValueError(unknown(title, text, choice_texts))
        return text

    return FieldFormat(validate, {"type": "string", "enum": choice_texts})
