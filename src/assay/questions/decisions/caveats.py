"""List the limits of a decision, with numbers, the most harmful first.

In: a decision and the runs behind it. Out: caveats in the order of :class:`~.values.CaveatKind`.
"""

from collections.abc import Iterator, Sequence

from assay.analysis.comparison.matched import MatchedGroups
from assay.analysis.statistics import ALPHA, InferenceScope, Ints, RunTable, counts_by, smallest_reachable_p
from assay.model import Origin, RunStatus
from assay.questions.decisions.costs import RunCosts
from assay.questions.decisions.values import Caveat, CaveatKind, Decision, DecisionRequest
from assay.text import joined, plural, scale_text, workload_title

_ORDER = {kind: number for number, kind in enumerate(CaveatKind)}
RUNS_COMFORTABLE = 5
"""From this many runs per option on, a rank test can reach 5 %."""
_NAMED = 3
"""Maximum number of names listed in one caveat."""


def in_order(caveats: Sequence[Caveat]) -> tuple[Caveat, ...]:
    """Return the caveats, the most harmful first."""
    return tuple(sorted(caveats, key=lambda caveat: _ORDER[caveat.kind]))


def caveats_of(
    decision: Decision, matched: MatchedGroups, counted: Ints, request: DecisionRequest, costs: RunCosts | None
) -> tuple[Caveat, ...]:
    """Return the caveats of ``decision``; ``counted``: positions in the table of the runs behind it."""
    table = matched.table.taken(counted)
    return in_order(
        [
            *_confounded(request),
            *_origin(decision),
            *_scope(decision),
            *_baseline(decision, request),
            *_clusters(table),
            *_caches(table),
            *_excluded(matched.table),
            *_unpriced(decision, costs),
        ]
    )


def _confounded(request: DecisionRequest) -> Iterator[Caveat]:
    if request.ignore:
        names = joined(request.ignore)
        yield Caveat(
            CaveatKind.CONFOUNDED,
            f"Confounded by {names}: runs that differ in {names} are compared with each other, so the ratio is not the "
            f"effect of {request.factor} alone.",
        )


def _origin(decision: Decision) -> Iterator[Caveat]:
    if decision.origin == Origin.SIMULATED:
        yield Caveat(CaveatKind.SIMULATED, "Every run is simulated. The intervals include the simulator's own error.")
    if decision.lab_scale:
        yield Caveat(
            CaveatKind.LAB_SCALE,
            f"Measured in a lab at scale {scale_text(float(decision.lab_scale))}: use the ratios, not the absolute "
            "times and costs.",
        )


def _scope(decision: Decision) -> Iterator[Caveat]:
    times = [option.time for option in decision.options if option.time]
    if any(time.scope is InferenceScope.TESTED for time in times):
        yield Caveat(
            CaveatKind.TESTED_ONLY,
            "The intervals cover the tested settings only: fewer than five matched groups per workload say nothing "
            "about other settings, data sizes or clusters.",
        )
    single = [result.time for result in decision.results if result.time and result.time.groups == 1]
    few = min((min(time.runs_baseline, time.runs_option) for time in single), default=RUNS_COMFORTABLE)
    smallest_p = smallest_reachable_p(few, few)
    if smallest_p > ALPHA and decision.origin != Origin.SIMULATED:
        yield Caveat(
            CaveatKind.FEW_RUNS,
            f"{plural(few, 'run')} per option: no rank test can reach 5 % (its smallest p is {smallest_p:.2g}). "
            "The interval assumes that the logarithms of run times are normally distributed.",
        )
    if len(decision.shared_workloads) == 1:
        yield Caveat(
            CaveatKind.ONE_WORKLOAD, f"One workload: {workload_title(decision.shared_workloads[0])}. Others may differ."
        )


def _baseline(decision: Decision, request: DecisionRequest) -> Iterator[Caveat]:
    if request.baseline is not None and request.baseline != decision.baseline:
        yield Caveat(
            CaveatKind.CONFOUNDED,
            f"{request.baseline} was never compared with these options, so the baseline is {decision.baseline}.",
        )


def _clusters(table: RunTable) -> Iterator[Caveat]:
    clusters = [name for name, number in counts_by(table, "cluster").items() if number]
    if len(clusters) == 1:
        yield Caveat(CaveatKind.ONE_CLUSTER, f"One cluster: {clusters[0]}. Other clusters may differ.")


def _caches(table: RunTable) -> Iterator[Caveat]:
    cold = counts_by(table, "cold")
    if cold.get("warm"):
        yield Caveat(
            CaveatKind.CACHES,
            f"{cold['warm']:,} of {plural(len(table), 'run')} started with warm caches: part of the data came from "
            "memory.",
        )
    if cold.get(""):
        yield Caveat(CaveatKind.CACHES, f"The cache state of {cold['']:,} of {plural(len(table), 'run')} is unknown.")


def _excluded(table: RunTable) -> Iterator[Caveat]:
    counts = counts_by(table, "status")
    excluded = {name: number for name, number in counts.items() if name != RunStatus.VALID and number}
    if excluded:
        texts = joined([f"{number:,} {name or 'of unknown status'}" for name, number in excluded.items()])
        yield Caveat(CaveatKind.EXCLUDED, f"Of {plural(len(table), 'run')}, {texts} do not count.")


def _unpriced(decision: Decision, costs: RunCosts | None) -> Iterator[Caveat]:
    if costs is None or not costs.unpriced or all(result.cost for result in decision.results if result.time):
        return
    named = list(costs.unpriced)[:_NAMED]
    more = len(costs.unpriced) - len(named)
    hardware = joined([*named, f"{more} more"] if more else named)
    yield Caveat(CaveatKind.UNPRICED, f"Price book {costs.book} has no price for {hardware}.")
