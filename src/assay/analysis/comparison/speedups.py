"""Compute the speedup of each level of a factor over all configurations that ran with it and with the baseline.

In: runs as a table (durations in seconds). Out: one :class:`~assay.analysis.comparison.result.SpeedupResult` for each
candidate level and each workload (or level of another factor), over matched groups: see ``matched.py``. Verdicts are
corrected for the number of results of an answer (S. Holm, Scand. J. Stat. 6, 1979).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from assay.analysis.comparison.baselines import baseline_of
from assay.analysis.comparison.confounding import confounded_by
from assay.analysis.comparison.dependence import (
    SharedDependences,
    allow_for_dependences,
    dependences_of,
    shared_dependences,
)
from assay.analysis.comparison.joint import Fit, fit_strata
from assay.analysis.comparison.matched import (
    COUNTED,
    FAILED,
    INVALID,
    OVER_MATCHED_GROUPS,
    WARM,
    GroupRatios,
    LogMean,
    MatchedGroups,
    Strata,
    combine,
    group_ratios,
    log_mean,
    pick,
    side,
    stratify,
)
from assay.analysis.comparison.result import CombinedParts, Exclusion, SpeedupResult, mean_fields, with_verdicts
from assay.analysis.comparison.scope_estimates import (
    ScopeEstimate,
    cluster_estimates,
    estimate_of,
    scope_estimates,
    trimmed_ratio,
)
from assay.analysis.statistics import Estimate, InferenceScope, Means, means_by, require_factor
from assay.foundation.errors import SpecificationError


def _groups_with_differences(matched: MatchedGroups, ratios: GroupRatios, levels: tuple[int, int]) -> dict[str, int]:
    """Return the number of groups in which each ignored factor had more than one level."""
    parts = [np.arange(matched.starts[level], matched.starts[level + 1]) for level in levels]
    rows = np.concatenate(parts)
    counts = {}
    for name in matched.ignored:
        codes = matched.table.columns[name].codes[matched.positions[rows]].astype(np.float64)
        variances = means_by(codes, matched.groups.of_row[rows], matched.groups.count).variance[ratios.groups]
        counts[name] = int(np.count_nonzero(variances > 0))
    return counts


def _excluded(
    strata: Strata, stratum: int, levels: tuple[int, int], used_runs: tuple[int, int]
) -> dict[Exclusion, int]:
    """Return the runs of the two levels (codes) that do not count; ``used_runs``: the numbers that count."""
    counts = strata.counts[stratum]
    excluded = {
        Exclusion.NO_BASELINE: int(counts[levels[1], COUNTED]) - used_runs[1],
        Exclusion.NO_CANDIDATE: int(counts[levels[0], COUNTED]) - used_runs[0],
        Exclusion.FAILED: int(counts[list(levels), FAILED].sum()),
        Exclusion.INVALID: int(counts[list(levels), INVALID].sum()),
        Exclusion.WARM: int(counts[list(levels), WARM].sum()),
    }
    return {reason: runs for reason, runs in excluded.items() if runs}


def _candidate_results(
    matched: MatchedGroups,
    strata: Strata,
    baseline: int,
    baseline_means: Means,
    candidate: int,
    joint: Sequence[Mapping[int, Estimate]],
    shared: Sequence[Mapping[int, SharedDependences]],
) -> list[tuple[int, SpeedupResult]]:
    """Return the results of one level, before correction, with the number of their stratum."""
    column = matched.table.columns[matched.factor]
    ratios_of_groups = group_ratios(baseline_means, side(matched, candidate), matched)
    stratum_of = strata.of_group[ratios_of_groups.groups]
    order = np.argsort(stratum_of, kind="stable")
    bounds = np.searchsorted(stratum_of[order], np.arange(len(strata.counts) + 1))
    results = []
    for stratum in np.flatnonzero(strata.counts[:, candidate].sum(axis=1)).tolist():
        ratios = pick(ratios_of_groups, order[bounds[stratum] : bounds[stratum + 1]])
        level = strata.levels(matched.table, stratum)
        used_runs = int(ratios.n[0].sum()), int(ratios.n[1].sum())
        confounded = confounded_by(matched, ratios.groups, (baseline, candidate)) if matched.ignored else ()
        mean = log_mean(ratios)
        dependences = dependences_of(matched, ratios, shared[stratum].get(baseline, {}) if shared else {})
        if mean is not None:
            mean = allow_for_dependences(mean, ratios, dependences)
        result = SpeedupResult(
            **mean_fields(mean, OVER_MATCHED_GROUPS, confounded),
            factor=matched.factor,
            baseline=column.levels[baseline],
            candidate=column.levels[candidate],
            by=strata.by,
            group=(level.get(strata.by) or "") if strata.by else "",
            origin=level.get("origin") or "",
            lab_scale=level.get("lab_scale"),
            groups=len(ratios.groups),
            runs_baseline=used_runs[0],
            runs_candidate=used_runs[1],
            excluded=_excluded(strata, stratum, (baseline, candidate), used_runs),
            ignored=_groups_with_differences(matched, ratios, (baseline, candidate)) if matched.ignored else {},
            confounded=confounded,
            depends_on=dependences[0].dependence if dependences else None,
            by_scope=() if confounded else scope_estimates(ratios, dependences),
            clusters=() if confounded else cluster_estimates(matched, ratios),
            trimmed=None if confounded else trimmed_ratio(ratios),
            joint=joint[stratum].get(candidate) if joint and not confounded else None,
        )
        results.append((stratum, result))
    return results


def speedups_of(
    matched: MatchedGroups,
    baseline: str | None = None,
    *,
    by: str | None = "workload",
    stratum_fits: Sequence[Fit] | None = None,
) -> list[SpeedupResult]:
    """Return the speedup of every level of the factor over ``baseline`` (default: see ``baselines.py``).

    ``by``: the factor that separates parts, each with its own results, in the order of the rows; None for one result
    over all workloads, with equal weights (:func:`over_parts`). ``stratum_fits``: the result
    of :func:`~assay.analysis.comparison.joint.fit_strata`. Raises SpecificationError for names and levels that no run
    has.
    """
    if by is None:
        return over_parts(speedups_of(matched, baseline, stratum_fits=stratum_fits))
    table, factor = matched.table, matched.factor
    column = table.columns[factor]
    baseline = baseline_of(table, factor, requested=baseline)
    if by == factor or by in matched.ignored:
        raise SpecificationError(f"runs can't be grouped by {by!r}: it differs within the matched groups")
    require_factor(table, by)
    strata = stratify(matched, by)
    code_b = column.code(baseline)
    baseline_means = side(matched, code_b)
    stratum_fits = fit_strata(matched, strata) if stratum_fits is None and not len(matched.deployment) else stratum_fits
    joint = [fit.against(code_b) for fit in stratum_fits or ()]
    shared = shared_dependences(matched, strata, stratum_fits) if stratum_fits else []
    numbered_results = [
        result
        for code in range(len(column.levels))
        if code != code_b
        for result in _candidate_results(matched, strata, code_b, baseline_means, code, joint, shared)
    ]
    return with_verdicts([result for _, result in sorted(numbered_results, key=lambda item: strata.first_row[item[0]])])


def over_parts(parts: Sequence[SpeedupResult]) -> list[SpeedupResult]:
    """Return one result for each candidate and origin: the geometric mean over ``parts`` with equal weights.

    Its interval has the scope of most parts; parts with another scope are excluded.
    """
    keys = dict.fromkeys((part.candidate, part.origin, part.lab_scale) for part in parts)
    return with_verdicts(
        [
            _mean_over_parts([part for part in parts if (part.candidate, part.origin, part.lab_scale) == key])
            for key in keys
        ]
    )


def _mean_over_parts(parts: Sequence[SpeedupResult]) -> SpeedupResult:
    parts_with_interval = [part for part in parts if part.log_error is not None]
    counts = Counter(part.scope for part in parts_with_interval)
    scope = max(
        counts,
        key=lambda candidate: (counts[candidate], candidate is InferenceScope.SIMILAR),
        default=InferenceScope.SIMILAR,
    )
    used_parts = [part for part in parts_with_interval if part.scope is scope]
    excluded, ignored = Counter[Exclusion](), Counter[str]()
    for part in parts:
        excluded.update(part.excluded)
        ignored.update(part.ignored)
        if part not in used_parts and part.groups:
            reason = Exclusion.OTHER_SCOPE if part in parts_with_interval else Exclusion.NO_INTERVAL
            excluded[reason] += part.runs_baseline + part.runs_candidate
    example = parts[0]
    confounded = tuple(dict.fromkeys(name for part in parts for name in part.confounded))
    if confounded:
        used_parts = [part for part in parts if part.ratio is not None]
    mean = None
    if used_parts:
        mean = _mean_of_confounded(used_parts) if confounded else combine([part.log_mean for part in used_parts])
    return SpeedupResult(
        **mean_fields(mean, OVER_MATCHED_GROUPS, confounded),
        factor=example.factor,
        baseline=example.baseline,
        candidate=example.candidate,
        by=None,
        group="",
        combined=CombinedParts(example.by or "", len(used_parts), len(parts)),
        origin=example.origin,
        lab_scale=example.lab_scale,
        groups=sum(part.groups for part in used_parts),
        runs_baseline=sum(part.runs_baseline for part in used_parts),
        runs_candidate=sum(part.runs_candidate for part in used_parts),
        excluded=excluded,
        ignored=ignored,
        confounded=confounded,
        by_scope=tuple(_scopes_over(used_parts)),
    )


def _mean_of_confounded(parts: Sequence[SpeedupResult]) -> LogMean:
    """Return the geometric mean of the ratios of ``parts``, without an error."""
    mean = float(np.mean([np.log(part.ratio or 1.0) for part in parts]))
    return LogMean(mean, float("nan"), 0.0, parts[0].method, parts[0].scope)


def _scopes_over(parts: Sequence[SpeedupResult]) -> Iterator[ScopeEstimate]:
    """Yield the mean over ``parts`` for each scope that all of them have."""
    for scope in InferenceScope:
        estimates = [estimate for part in parts for estimate in part.by_scope if estimate.scope is scope]
        if parts and len(estimates) == len(parts):
            yield estimate_of(combine([item.log_mean for item in estimates]), sum(item.units for item in estimates))
