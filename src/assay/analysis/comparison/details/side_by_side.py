"""Compare two to six runs or configurations: what differs between them, and how much faster each is.

In: the loaded runs of each side. Out: :class:`Sides`: the sides with their times, the ratio of the first side's time to
that of each other side with a 95 % interval, their job counters, and every difference with its kind. A difference was
varied on purpose (a factor of the plan, or of the imported study), not varied on purpose (any other part of the
configuration), or found on the hosts. Only valid runs of the same job (workload, data, origin, scale) have ratios.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import compress

import numpy as np

from assay.analysis.comparison.comparison import log_ratio
from assay.analysis.comparison.details.counters import CounterTable, compare_counters
from assay.analysis.comparison.details.differences import cpu_warnings, differing_facts
from assay.analysis.comparison.details.level_summary import LevelSummary, summarise
from assay.analysis.comparison.sessions import two_sides
from assay.analysis.statistics import (
    ABSENT,
    LAYOUT_PARAMETERS,
    InferenceScope,
    Ints,
    RunTable,
    Verdict,
    groups_by,
    holm_where_known,
    level_of,
    matching_factors,
    table_of,
    texts_of_run,
    too_few_runs,
    usable,
    verdict_of,
    warm_among_cold,
)
from assay.foundation.errors import SpecificationError
from assay.model import CodedWarning, Origin, Run, RunStatus
from assay.text import layout_text, workload_title

SIDES_MIN, SIDES_MAX = 2, 6
LETTERS = "ABCDEF"
CACHES = "caches"
_JOB = ("workload", "data_bytes", "origin", "lab_scale")
"""Properties of a job: runs that differ in one of these did different jobs."""
_LABEL_LEVELS_MAX = 3
"""Maximum number of levels in the label of a side."""
_LEVEL_LENGTH_MAX = 24
"""Maximum length of a level in a label, in characters."""


class DifferenceKind(StrEnum):
    """The kind of a difference between sides."""

    PURPOSE = "varied on purpose"
    INCIDENTAL = "not varied on purpose"
    HOSTS = "found on the hosts"


@dataclass(frozen=True, slots=True)
class Difference:
    """One property that differs between sides; ``levels``: the texts of each side, several if its runs differ, or
    none."""

    name: str
    kind: DifferenceKind
    levels: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """One side: a run, or all runs of a configuration. ``ratio``: the first side's time / this one's."""

    label: str
    """Letter of the side, with its distinguishing levels; unique."""
    run_id: str
    """The run by which the side was chosen."""
    typical_run_id: str
    """The run nearest to the median; its phases and traces are shown."""
    workload: str
    layout: str
    origin: Origin
    lab_scale: float | None
    status: RunStatus
    summary: LevelSummary
    left_out: int
    """Number of runs that do not count: not valid, without a time, or warm while others are cold."""
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    scope: InferenceScope
    """The settings and clusters that the interval covers."""
    verdict: Verdict | None
    """Verdict on this side against the first; None for the first side, and for different jobs."""


@dataclass(frozen=True, slots=True)
class Sides:
    """All sides, and what differs between them."""

    sides: tuple[ComparedSide, ...]
    differences: tuple[Difference, ...]
    same: dict[str, str]
    """Properties of the configuration that are equal on all sides."""
    different_jobs: tuple[str, ...]
    """Properties in which the jobs differ, so that their times can't be compared; empty if they can."""
    counters: CounterTable
    """Job counters of the runs that count."""
    warnings: tuple[CodedWarning, ...]

    @property
    def factors(self) -> tuple[str, ...]:
        """Factors that differ between sides, with one level on each side: a decision can compare these."""
        return tuple(
            item.name
            for item in self.differences
            if item.kind is not DifferenceKind.HOSTS
            and item.name != CACHES
            and all(len(levels) == 1 for levels in item.levels)
        )

    @property
    def baseline(self) -> str:
        """The first side's levels of :attr:`factors`, joined like those of a combined factor."""
        levels = {item.name: item.levels[0] for item in self.differences}
        return " + ".join(levels[name][0] for name in self.factors)


def same_configuration(table: RunTable, run: Run) -> Ints:
    """Return the rows of the runs that have the same configuration as ``run``."""
    texts = texts_of_run(run)
    keep = np.ones(len(table), dtype=np.bool_)
    for name in table.factors:
        column = table.columns[name]
        keep &= column.codes == (column.code(texts[name]) if name in texts else ABSENT)
    return np.flatnonzero(keep)


def _counted_runs(sides: Sequence[Sequence[Run]]) -> list[list[Run]]:
    """Return the runs of each side that count. A warm run counts if it is the only run of its side."""
    table = table_of([run for side in sides for run in side])
    is_usable = usable(table)
    is_single = np.repeat([len(side) == 1 for side in sides], [len(side) for side in sides])
    is_counted = is_usable & (is_single | ~warm_among_cold(table, groups_by(table, ()), is_usable))
    ends = np.cumsum([len(side) for side in sides])[:-1]
    return [list(compress(side, selectors)) for side, selectors in zip(sides, np.split(is_counted, ends), strict=True)]


def _levels(side: Sequence[Run], name: str, kind: DifferenceKind) -> tuple[str, ...]:
    if kind is DifferenceKind.PURPOSE:
        levels = (level_of(run, name) for run in side)
    else:
        levels = (matching_factors(run, "").get(name) for run in side)
    return tuple(dict.fromkeys(text for text in levels if text is not None))


def _differences_and_equal_levels(sides: Sequence[Sequence[Run]]) -> tuple[list[Difference], dict[str, str]]:
    """Return the differences, those varied on purpose first, and the properties of the configuration that are equal."""
    varied_names = dict.fromkeys(name for side in sides for run in side for name in run.levels)
    other_names = dict.fromkeys(
        name
        for side in sides
        for name in matching_factors(side[0], "")
        if name not in varied_names and name not in LAYOUT_PARAMETERS
    )
    differences, equal_levels = [], {}
    for kind, names in ((DifferenceKind.PURPOSE, varied_names), (DifferenceKind.INCIDENTAL, other_names)):
        for name in names:
            levels = tuple(_levels(side, name, kind) for side in sides)
            if len({text for side in levels for text in side}) > 1 or (any(levels) and not all(levels)):
                differences.append(Difference(name, kind, levels))
            elif levels[0] and levels[0][0] not in ("", "None"):
                equal_levels[name] = levels[0][0]
    cache_states = tuple(tuple(dict.fromkeys(run.cache_state or "not known" for run in side)) for side in sides)
    if len({text for side in cache_states for text in side}) > 1:
        differences.append(Difference(CACHES, DifferenceKind.INCIDENTAL, cache_states))
    listed_paths = {f"parameters.{item.name}" for item in differences}
    differences += [
        Difference(name, DifferenceKind.HOSTS, levels)
        for name, levels in differing_facts(sides).items()
        if name not in listed_paths
    ]
    return differences, equal_levels


def _level_words(name: str, level: str) -> str:
    """Return a layout or a workload in words; the layout's code if the words are too long for a label."""
    words = {"layout": layout_text, "workload": workload_title}.get(name, str)(level)
    return words if name != "layout" or len(words) <= _LEVEL_LENGTH_MAX else level


def _short_text(name: str, levels: Sequence[str]) -> str:
    text = " or ".join(_level_words(name, level) for level in levels)
    return (text.rpartition(".")[2] if name.endswith(".codec") else text)[:_LEVEL_LENGTH_MAX]


def _labels(sides: Sequence[Sequence[Run]], differences: Sequence[Difference]) -> list[str]:
    names = {item.name for item in differences}
    omitted_names = {CACHES, *(("data_bytes",) if "workload" in names else ())}
    label_items = [
        item
        for item in differences
        if item.kind is not DifferenceKind.HOSTS
        and item.name not in omitted_names
        and not (item.kind is DifferenceKind.INCIDENTAL and not all(item.levels))
    ][:_LABEL_LEVELS_MAX]
    labels = []
    for number in range(len(sides)):
        texts = [_short_text(item.name, item.levels[number]) for item in label_items]
        run = sides[number][0]
        job = _level_words("layout", run.layout) if run.layout else workload_title(run.workload)
        labels.append(f"{LETTERS[number]}: {' '.join(filter(None, texts)) or job}")
    return labels


def side_by_side(sides: Sequence[Sequence[Run]]) -> Sides:
    """Return the comparison of the sides; the first run of each side is the run by which it was chosen.

    Raises SpecificationError unless there are two to six, each with a run.
    """
    if not SIDES_MIN <= len(sides) <= SIDES_MAX or not all(sides):
        raise SpecificationError(
            f"{len(sides)} can't be compared side by side",
            where="run",
            hint=f"choose {SIDES_MIN} to {SIDES_MAX} in the list of runs",
        )
    differences, equal_levels = _differences_and_equal_levels(sides)
    counted_runs, labels = _counted_runs(sides), _labels(sides, differences)
    different_jobs = tuple(item.name for item in differences if item.name in _JOB)
    first = counted_runs[0]
    ratios = [
        log_ratio(first, runs, two_sides(first, runs)) if number and not different_jobs else None
        for number, runs in enumerate(counted_runs)
    ]
    have_too_few_runs = [too_few_runs(1, (len(first), len(runs))) for runs in counted_runs]
    p_values = [
        ratio.p if ratio and not too_few else None for ratio, too_few in zip(ratios, have_too_few_runs, strict=True)
    ]
    corrected_p = holm_where_known(p_values)
    compared_sides = []
    for number, (side, runs, label, ratio) in enumerate(zip(sides, counted_runs, labels, ratios, strict=True)):
        example, estimate = side[0], ratio.ratio if ratio else None
        verdict = verdict_of(estimate, corrected_p[number], 1, (len(first), len(runs)))
        summary = summarise(runs, workload=example.workload, context="", level=label, example=example)
        compared_sides.append(
            ComparedSide(
                label=label,
                run_id=example.run_id,
                typical_run_id=summary.typical_run_id or example.run_id,
                workload=example.workload,
                layout=example.layout,
                origin=example.origin,
                lab_scale=example.lab_scale,
                status=example.status,
                summary=summary,
                left_out=len(side) - len(runs),
                ratio=estimate.value if estimate else None,
                ratio_low=estimate.low if estimate else None,
                ratio_high=estimate.high if estimate else None,
                scope=ratio.scope if ratio else InferenceScope.TESTED,
                verdict=verdict if number and not different_jobs else None,
            )
        )
    warnings = tuple(dict.fromkeys(cpu_warnings([run for side in counted_runs for run in side])))
    return Sides(
        tuple(compared_sides),
        tuple(differences),
        equal_levels,
        different_jobs,
        compare_counters(counted_runs),
        warnings,
    )
