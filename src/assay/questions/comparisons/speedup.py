"""Compute the speedups of a factor's levels over matched groups, the fastest candidates, and other differences.

In: a repository and its table of runs, the factors, the baseline. Out: one :class:`SpeedupView`, which the terminal,
pages and report show; and the speedups as published studies define them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.comparison.baselines import baseline_of
from assay.analysis.comparison.claims.published import AVERAGE, PublishedFigure, aloja, lisa14, mean_improvement
from assay.analysis.comparison.details.differences import environment_warnings, host_facts
from assay.analysis.comparison.factors.compression import paired_parameter
from assay.analysis.comparison.factors.derived_factors import with_factors
from assay.analysis.comparison.joint import LevelNetwork, LevelPairs, fit_strata, level_pairs, network_of
from assay.analysis.comparison.matched import combined_or_named, match, stratify
from assay.analysis.comparison.result import SpeedupResult
from assay.analysis.comparison.sessions import session_warnings
from assay.analysis.comparison.significance import FastestLevels, fastest_levels
from assay.analysis.comparison.speedups import speedups_of
from assay.analysis.statistics import RunTable, counts_by
from assay.analysis.statistics.sessions import SessionVariance
from assay.foundation.errors import SpecificationError
from assay.model import LAYOUT_FACTOR, CodedWarning, WarningCode
from assay.questions.decisions.sentences.decision_sentences import DecisionAnswer
from assay.store import Repository

RUNS_PER_LEVEL_MAX = 50
"""Maximum number of runs per level whose host records are compared, evenly spaced from the first run to the last."""


def _joint_change_warnings(table: RunTable, names: Sequence[str]) -> list[CodedWarning]:
    """Return a warning for each of ``names`` that changes with another factor: few runs then differ in it alone."""
    pairs = [(name, paired_parameter(name, table)) for name in names]
    return [
        CodedWarning(
            WarningCode.CONFOUNDED, f"{other} changes together with {name}: --by compression compares both as one"
        )
        for name, other in pairs
        if other and other not in names
    ]


def _confounding(results: Sequence[SpeedupResult]) -> list[CodedWarning]:
    """Return a warning for ignored factors that differ between the sides of some comparison."""
    names = dict.fromkeys(name for item in results for name in item.confounded)
    why = "it differs between the two sides, so nothing is concluded"
    return [CodedWarning(WarningCode.CONFOUNDED, f"confounded by {name}: {why}") for name in names]


def differences(
    repository: Repository, table: RunTable, factor: str, results: Sequence[SpeedupResult]
) -> list[CodedWarning]:
    """Return a warning for each host fact that differs between levels, from :data:`RUNS_PER_LEVEL_MAX` runs each."""
    column, status = table.columns[factor], table.columns["status"]
    is_valid = status.codes == status.code("valid")

    def sample(level: str) -> list[int]:
        rows = ((column.codes == column.code(level)) & is_valid).nonzero()[0]
        even_steps = np.linspace(0, len(rows) - 1, min(len(rows), RUNS_PER_LEVEL_MAX)).round().astype(np.int64)
        positions: list[int] = rows[even_steps].tolist()
        return positions

    compared_results = [item for item in results if item.ratio is not None]
    if not compared_results:
        return []
    baseline, *levels = dict.fromkeys((compared_results[0].baseline, *(item.candidate for item in compared_results)))
    samples = {level: sample(level) for level in (baseline, *levels)}
    all_positions = [position for positions in samples.values() for position in positions]
    hosts = dict(zip(all_positions, repository.environments_at(table, all_positions), strict=True))
    sides = {level: host_facts((hosts[at] for at in positions), factor) for level, positions in samples.items()}
    warnings = (warning for level in levels for warning in environment_warnings(sides[baseline], sides[level]))
    return list(dict.fromkeys(warnings))


@dataclass(frozen=True, slots=True)
class SpeedupRequest:
    """One question: how much faster is each level of ``factors`` than the baseline, over all matched groups?"""

    factors: tuple[str, ...] = (LAYOUT_FACTOR,)
    """Several factors are joined to one."""
    baseline: str | None = None
    """The level to compare with. None: hard disks, or the level of the first run."""
    group: str | None = "workload"
    """The factor whose levels each have their own estimate; None: one estimate over all runs."""
    ignore: tuple[str, ...] = ()
    """Factors that may differ within a matched group: the answer is then confounded by them."""
    deployments: bool = False
    """Whether runs are matched within campaigns only, which are then the unit of resampling."""


@dataclass(frozen=True, slots=True)
class SpeedupView:
    """Every level of a factor against its baseline, the fastest candidates, and other differences."""

    factor: str
    baseline: str
    group: str | None
    results: tuple[SpeedupResult, ...]
    """Two-sided: each level against the baseline."""
    best: tuple[FastestLevels, ...]
    """One-sided: the fastest candidates."""
    level_pairs: tuple[LevelPairs, ...]
    """All pairs of levels, by workload."""
    warnings: tuple[CodedWarning, ...]
    runs_by_status: Mapping[str, int]
    """Number of runs read, by status. Only valid runs are compared."""
    decisions: tuple[DecisionAnswer, ...] = ()
    """The decisions on the factor; the other fields are details. Empty where the question has no decision."""

    @property
    def network(self) -> LevelNetwork | None:
        """Which levels were compared with which, over all workloads; None for fewer than three levels."""
        return network_of(self.level_pairs)


def speedups_over(table: RunTable, request: SpeedupRequest, spread: SessionVariance | None = None) -> SpeedupView:
    """Return the speedups over the matched groups of a table alone, without the differences between hosts.

    Raises :class:`SpecificationError` for factors and levels that no run has.
    """
    factors, group, ignore = request.factors, request.group, frozenset(request.ignore)
    joined_table, name = combined_or_named(with_factors(table, factors), factors[0] if len(factors) == 1 else factors)
    baseline = baseline_of(joined_table, name, requested=request.baseline)
    matched = match(joined_table, name, ignore, deployments=request.deployments, spread=spread)
    compared_groups = match(joined_table, name, ignore, spread=spread) if request.deployments else matched
    strata = stratify(compared_groups, group or "workload")
    stratum_fits = fit_strata(compared_groups, strata)
    results = speedups_of(matched, baseline, by=group, stratum_fits=None if request.deployments else stratum_fits)
    fastest = fastest_levels(compared_groups, group, stratum_fits) if group else []
    pairs = level_pairs(compared_groups, strata, stratum_fits, baseline)
    warnings = (*_confounding(results), *session_warnings([s for s in results if s.log_error is not None]))
    fastest = [] if any(item.confounded for item in results) else fastest
    warnings = (*warnings, *_joint_change_warnings(table, factors))
    return SpeedupView(
        factor=name,
        baseline=baseline,
        group=group,
        results=tuple(results),
        best=tuple(fastest),
        level_pairs=tuple(pairs),
        warnings=warnings,
        runs_by_status=counts_by(table, "status"),
    )


def speedup_view(
    repository: Repository, table: RunTable, request: SpeedupRequest, spread: SessionVariance | None = None
) -> SpeedupView:
    """Return the speedups, with warnings about other differences between the hosts."""
    table = with_factors(table, request.factors)
    view = speedups_over(table, request, spread)
    hosts = differences(repository, table, request.factors[0], view.results) if len(request.factors) == 1 else []
    return replace(view, warnings=(*hosts, *view.warnings))


@dataclass(frozen=True, slots=True)
class PublishedSpeedups:
    """The speedups of a factor's levels by a publication's definition."""

    figures: tuple[PublishedFigure, ...]
    mean_gains: Mapping[str, float]
    """Mean gain of each level over all workloads; empty where the publication does not define it."""


def published_speedups(table: RunTable, factor: str, baseline: str | None, method: str) -> PublishedSpeedups:
    """Return the speedups as a publication defines them: ``aloja`` or ``lisa14``."""
    table = with_factors(table, (factor,))
    if method == "aloja":
        return PublishedSpeedups(tuple(aloja(table, factor, baseline or AVERAGE)), {})
    if baseline is None:
        raise SpecificationError("LISA'14 normalises to a setup", where="--baseline", hint="name it")
    figures = lisa14(table, factor, baseline)
    return PublishedSpeedups(tuple(figures), mean_improvement(figures))
