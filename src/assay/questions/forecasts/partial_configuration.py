"""Complete a partly named configuration: read short names and sizes, and add the levels that are not named.

In: ``COLUMN=LEVEL`` texts (a text may hold several, separated by commas), and runs as a table. Out: a table of one row.
The factors that are not named get their most common combination of levels among the runs with the named levels.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import (
    FACTOR_SYNONYMS,
    LAYOUT_DEVICES,
    Column,
    Mask,
    RunTable,
    coded,
    counts_by,
    first_rows,
    groups_by,
    usable,
)
from assay.estimation.prediction.features import EncodedFactor, Encoding, hardware_values, number_of
from assay.foundation.errors import SpecificationError
from assay.foundation.units import parse_bytes
from assay.model import SHORT_PARAMETER_NAMES, Hardware
from assay.specs.instances import shipped_instances
from assay.text import workload_named

SHORT = {**FACTOR_SYNONYMS, **SHORT_PARAMETER_NAMES}
"""Common words and short names of factors, including ALOJA's. A name may also be given by its last parts
(``blocksize``)."""
_RENTED_CLUSTER = re.compile(r"([1-9][0-9]{0,4})x (\S+)")
_ORDER = ("workload", "cluster", "layout")


@dataclass(frozen=True, slots=True)
class CompleteConfiguration:
    """A configuration with a level for every factor."""

    table: RunTable
    """One row, without a time."""
    named: Mapping[str, str]
    assumed: Mapping[str, str]
    """Levels that were not named, of factors that vary."""


def first_question(table: RunTable) -> tuple[str, ...]:
    """Return the default conditions: the workload with most valid runs. Empty without runs."""
    counts = {name: number for name, number in counts_by(table.subset(usable(table)), "workload").items() if name}
    return (f"workload={max(counts, key=lambda name: counts[name])}",) if counts else ()


def conditions(where: Sequence[str], encoding: Encoding) -> dict[str, str]:
    """Return factor to level. Raises SpecificationError for another form than ``COLUMN=LEVEL``, and unknown factors."""
    named_levels = []
    for text in (part.strip() for condition in where for part in condition.split(",")):
        name, equals, level = text.partition("=")
        if not equals or not name or not level:
            raise SpecificationError(f"{text!r} is not COLUMN=LEVEL", where="--where", hint="such as workload=terasort")
        named_levels.append((name, level))
    return levels_named(named_levels, encoding)


def levels_named(name_levels: Iterable[tuple[str, str]], encoding: Encoding) -> dict[str, str]:
    """Return factor to level from pairs. Raises SpecificationError for a factor that is unknown or named twice."""
    levels: dict[str, str] = {}
    for name, level in name_levels:
        factor = factor_named(name, encoding, "--where")
        if factor.name in levels:
            raise SpecificationError(f"{factor.name} is named twice", where="--where", hint="one level of each")
        levels[factor.name] = _level(factor, level)
    return levels


def factor_named(name: str, encoding: Encoding, option: str) -> EncodedFactor:
    """Return the factor that a short name means. Raises SpecificationError for an unknown or ambiguous name."""
    by_name = {factor.name: factor for factor in encoding.factors}
    exact_factor = by_name.get(name) or by_name.get(SHORT.get(name, name))
    factors_with_ending = [factor for factor in encoding.factors if factor.name.endswith(f".{name}")]
    matching_factors = [exact_factor] if exact_factor else factors_with_ending
    if len(matching_factors) == 1:
        return matching_factors[0]
    factors_text = ", ".join(factor.name for factor in matching_factors)
    known_text = ", ".join(sorted(factor.name for factor in encoding.factors if factor.varied))
    raise SpecificationError(
        f"{name!r} is ambiguous: {factors_text}" if matching_factors else f"no run has a factor {name!r}",
        where=f"{option} {name}",
        hint="write the full name" if matching_factors else f"factors that vary: {known_text}",
    )


def _level(factor: EncodedFactor, text: str) -> str:
    if factor.name == "workload":
        return workload_named(text, factor.levels)
    equal_levels = [level for level in factor.levels if level.casefold() == text.casefold()]
    if equal_levels or not factor.numeric:
        return equal_levels[0] if equal_levels else text
    value = number_of(text)
    if np.isnan(value):
        try:
            value = float(parse_bytes(text))
        except ValueError:
            raise SpecificationError(
                f"{factor.name} must be a number or a size, not {text!r}", where=f"--where {factor.name}"
            ) from None
    return next(
        (level for level in factor.levels if number_of(level) == value), f"{value:g}" if value % 1 else f"{value:.0f}"
    )


def complete_configuration(
    table: RunTable, encoding: Encoding, named_levels: Mapping[str, str], hardware: Hardware | None = None
) -> CompleteConfiguration:
    """Return the complete configuration; ``hardware``: that of a cluster without runs."""
    is_kept = usable(table)
    for name in sorted(named_levels, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER)):
        column = table.columns[name]
        code = column.code(named_levels[name])
        rows: Mask = column.codes == code if code >= 0 else np.zeros(len(table), dtype=np.bool_)
        matching_rows = rows & is_kept
        is_kept = matching_rows if matching_rows.any() else is_kept
    matching_table = table.subset(is_kept)
    groups = groups_by(matching_table, [name for name in table.factors if name not in named_levels])
    most_common = matching_table.subset(first_rows(groups)[[int(np.argmax(np.bincount(groups.of_row)))]])
    columns = {name: coded([named_levels.get(name, most_common.columns[name].text(0))]) for name in table.factors}
    if most_common.columns.get("layout", Column(np.zeros(1, np.int32), ("",))).text(0) == named_levels.get("layout"):
        columns[LAYOUT_DEVICES] = coded(
            [most_common.columns[LAYOUT_DEVICES].text(0)] if LAYOUT_DEVICES in most_common.columns else [None]
        )
    values = {name: value for name, value in most_common.values.items() if name.startswith("cluster.")}
    is_other_cluster = "cluster" in named_levels and most_common.columns["cluster"].text(0) != named_levels["cluster"]
    if is_other_cluster or hardware is not None:
        described_hardware = hardware or rented_cluster(named_levels["cluster"])
        values = hardware_values([described_hardware], shipped_instances()) if described_hardware else {}
    varied_names = {factor.name for factor in encoding.factors if factor.varied}
    assumed_levels = {n: c.text(0) or "none" for n, c in columns.items() if n not in named_levels and n in varied_names}
    return CompleteConfiguration(RunTable(np.zeros(1, np.int64), columns, values), named_levels, assumed_levels)


def rented_cluster(name: str) -> Hardware | None:
    """Return the hardware of a cluster named ``8x i4i.2xlarge``; None for other names and unknown instance types."""
    match = _RENTED_CLUSTER.fullmatch(name)
    if match is None or match[2] not in shipped_instances():
        return None
    return Hardware(int(match[1]), None, None, match[2])
