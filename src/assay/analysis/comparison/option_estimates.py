"""Estimate the time ratio of any two options on any workload by one rule.

In: matched groups of runs (``matched.py``) and the joint fit over them (``joint.py``). Out: a log ratio with its error,
and the matched groups and runs behind it.

The rule: two options are compared in the matched groups with both. If there are at least :data:`GROUPS_MIN` such groups
and more than two options, the joint estimate over all groups is used, so that the estimates of several options have the
same data and can be ranked. If it contradicts the groups with both options, the estimate of these groups is used.
Options without a common group are compared through other options; options without any connection are not compared.
The leader and a rival that is not the baseline are compared in the groups with both, as in a question on these two.
The interval of a cost is never narrower than that of the time behind it, because prices add no information on times.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from assay.analysis.comparison.confounding import confounded_by
from assay.analysis.comparison.dependence import (
    SharedDependences,
    allow_for_dependences,
    dependences_of,
    shared_dependences,
)
from assay.analysis.comparison.joint import Fit, contradicts, fit_strata
from assay.analysis.comparison.matched import (
    GROUPS_MIN,
    LogMean,
    MatchedGroups,
    Strata,
    group_ratios,
    log_mean,
    side,
    stratify,
)
from assay.analysis.statistics import Ints, Means


@dataclass(frozen=True, slots=True)
class PairEstimate:
    """The log of the first option's time / the second's, and the data behind it."""

    mean: LogMean
    groups: int
    """Matched groups with both options; 0 if other options connect them."""
    runs: tuple[int, int]
    """Runs of each option behind it."""
    matched_groups: Ints
    """Numbers of these groups."""
    confounded: tuple[str, ...] = ()
    """Ignored factors that differ between the two options; the mean then has no error."""


@dataclass(frozen=True)
class OptionEstimates:
    """Estimates between the levels of one factor, by stratum (workload, origin and lab scale)."""

    matched: MatchedGroups
    strata: Strata
    joint: tuple[Fit, ...]
    times: "OptionEstimates | None" = None
    """Estimates of costs have those of the times of the same runs; None for estimates of times."""

    @classmethod
    def of(cls, matched: MatchedGroups, times: "OptionEstimates | None" = None) -> "OptionEstimates":
        """Return the estimates of the matched groups; ``times``: of the same runs, if ``matched`` has costs."""
        strata = stratify(matched, "workload")
        return cls(matched, strata, tuple(fit_strata(matched, strata)), times)

    @cached_property
    def _means(self) -> list[Means]:
        return [side(self.matched, code) for code in range(len(self.matched.table.columns[self.matched.factor].levels))]

    @cached_property
    def _shared_dependences(self) -> list[Mapping[int, SharedDependences]]:
        return shared_dependences(self.matched, self.strata, self.joint)

    def between(
        self, stratum: int, first: int, second: int, *, common_groups_only: bool = False
    ) -> PairEstimate | None:
        """Return the estimate for two options (codes of the factor); None for options without a connection.

        ``common_groups_only``: from the matched groups with both, if there are any, also where the joint estimate would
        be used. The figure is then that of a question on these two options alone.
        """
        estimate = self._estimate(stratum, first, second, common_groups_only=common_groups_only)
        time = self.times.between(stratum, first, second, common_groups_only=common_groups_only) if self.times else None
        if estimate is None or time is None or time.runs != estimate.runs:
            return estimate
        return replace(estimate, mean=_at_least_as_wide(estimate.mean, time.mean))

    def _estimate(self, stratum: int, first: int, second: int, *, common_groups_only: bool) -> PairEstimate | None:
        fit = self.joint[stratum]
        positions = [np.flatnonzero(fit.codes == code) for code in (first, second)]
        if not all(len(position) for position in positions):
            return None
        ratios = self.strata.only(group_ratios(self._means[first], self._means[second], self.matched), stratum)
        direct = log_mean(ratios)
        joint = fit.contrasts(*positions)[0]
        runs = int(ratios.n[0].sum()), int(ratios.n[1].sum())
        if direct is None:
            if joint is None:
                return None
            return PairEstimate(joint, 0, (self._runs(stratum, first), self._runs(stratum, second)), ratios.groups)
        is_ranked = (
            not common_groups_only
            and len(fit.codes) > 2
            and len(ratios.groups) >= GROUPS_MIN
            and not len(ratios.deployment)
        )
        chosen_mean = direct
        if is_ranked and joint is not None and joint.p is not None and not contradicts(direct, joint):
            chosen_mean = joint
        if self.matched.ignored and (confounded := confounded_by(self.matched, ratios.groups, (first, second))):
            without_error = replace(chosen_mean, error=float("nan"), sessions=None)
            return PairEstimate(without_error, len(ratios.groups), runs, ratios.groups, confounded)
        dependences = dependences_of(self.matched, ratios, self._shared_dependences[stratum].get(first, {}))
        mean = allow_for_dependences(chosen_mean, ratios, dependences)
        return PairEstimate(mean, len(ratios.groups), runs, ratios.groups)

    def _runs(self, stratum: int, code: int) -> int:
        rows = slice(int(self.matched.starts[code]), int(self.matched.starts[code + 1]))
        return int(np.count_nonzero(self.strata.of_group[self.matched.groups.of_row[rows]] == stratum))


def _at_least_as_wide(cost: LogMean, time: LogMean) -> LogMean:
    """Return the mean cost with the error of the time if the interval of the time is wider, or if it has none."""
    if time.p is None or (cost.p is not None and time.ratio.width > cost.ratio.width):
        return replace(time, mean=cost.mean)
    return cost
