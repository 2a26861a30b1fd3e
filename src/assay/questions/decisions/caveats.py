"""List the limits of a decision, with numbers, the most harmful first.

In: a decision and the runs behind it. Out: caveats in the order of
:class:`~assay.questions.decisions.decision.CaveatKind`.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from assay.analysis.comparison.factors.disk_counts import DISK_KIND
from assay.analysis.comparison.matched import CLUSTER, GROUPS_MIN, MatchedGroups
from assay.analysis.statistics import (
    ALPHA,
    InferenceScope,
    Ints,
    RunTable,
    Verdict,
    counts_by,
    has_level,
    smallest_reachable_p,
)
from assay.model import WORKERS_FACTOR, Origin, RunStatus
from assay.questions.decisions.costs.run_costs import RunCosts
from assay.questions.decisions.decision import Caveat, CaveatKind, Decision, DecisionRequest
from assay.questions.decisions.sentences.amount_sentences import other_size_text
from assay.questions.decisions.sentences.option_words import compared_option
from assay.text import capitalised, joined, plural, scale_text, workload_title

_ORDER = {kind: number for number, kind in enumerate(CaveatKind)}
"""Position of a caveat among the caveats of a decision, by kind."""
RUNS_COMFORTABLE = 5
"""From this many runs per option on, a rank test can reach 5 %."""
UNEVEN_EXCLUSION_MIN = 0.1
"""From this difference on, shares of excluded runs are stated by option."""
_NAMED = 3
"""Maximum number of names listed in one caveat."""


def in_order(caveats: Sequence[Caveat]) -> tuple[Caveat, ...]:
    """Return the caveats, the most harmful first."""
    return tuple(sorted(caveats, key=lambda caveat: _ORDER[caveat.kind]))


def options_of_answer(decision: Decision) -> tuple[str, ...]:
    """Return the options that the answer is about: the leader, the cheapest option and their ties.

    Without a faster option, the answer is about all compared options. Caveats are about these options.
    """
    answer_options = [decision.leader, *decision.ties]
    answer_options += [decision.cheapest.option, *decision.cheapest.ties] if decision.cheapest else []
    has_faster_leader = any(o.option == decision.leader and o.verdict is Verdict.FASTER for o in decision.options)
    return tuple(
        o.option for o in decision.options if (o.option in answer_options if has_faster_leader else o.time is not None)
    )


def caveats_of(
    decision: Decision, matched: MatchedGroups, positions: Ints, request: DecisionRequest, costs: RunCosts | None
) -> tuple[Caveat, ...]:
    """Return the caveats of ``decision``; ``positions``: positions in the table of the runs behind it."""
    table = matched.table.subset(positions)
    return in_order(
        [
            *_confounded(decision, request),
            *_origin(decision),
            *_scope(decision, table),
            *_baseline(decision, request),
            *_clusters(table),
            *_caches(table),
            *_excluded(decision, matched.table),
            *_one_price(decision, matched.table, costs, positions),
            *_other_size(decision),
            *_unpriced_runs(decision, costs, positions),
        ]
    )


def _confounded(decision: Decision, request: DecisionRequest) -> Iterator[Caveat]:
    if request.ignore:
        names = joined(request.ignore)
        yield Caveat(
            CaveatKind.CONFOUNDED,
            f"Confounded by {names}: {plural(decision.runs, 'run')} are compared although they differ in {names}, so "
            f"the ratio is not the effect of {request.factor} alone.",
        )


def _origin(decision: Decision) -> Iterator[Caveat]:
    if decision.origin == Origin.SIMULATED:
        subject = _all_runs_text(decision.runs, "simulated")
        yield Caveat(CaveatKind.SIMULATED, f"{subject}. The intervals include the simulator's own error.")
    if decision.lab_scale:
        yield Caveat(
            CaveatKind.LAB_SCALE,
            f"Measured in a lab at scale {scale_text(float(decision.lab_scale))}: use the ratios, not the times and "
            "costs.",
        )


def _scope(decision: Decision, table: RunTable) -> Iterator[Caveat]:
    answer_options = options_of_answer(decision)
    times = [(r.time, workload_title(r.workload)) for r in decision.results if r.time and r.option in answer_options]
    tested_groups = [(time.groups, workload) for time, workload in times if time.scope is InferenceScope.TESTED]
    if tested_groups:
        groups, workload = min(tested_groups)
        text = "Nothing is shown for other settings"
        if groups < GROUPS_MIN:
            text += (
                f": {workload} has {plural(groups, 'matched group')} and needs {GROUPS_MIN}. assay run adds them with "
                "a plan that varies one more factor, such as containers"
            )
        yield Caveat(CaveatKind.TESTED_ONLY, f"{text}.")
    times_of_one_group = [time for time, _ in times if time.groups == 1]
    runs_per_option = min(
        (min(time.runs_baseline, time.runs_option) for time in times_of_one_group), default=RUNS_COMFORTABLE
    )
    smallest_p = smallest_reachable_p(runs_per_option, runs_per_option)
    if smallest_p > ALPHA and decision.origin != Origin.SIMULATED:
        yield Caveat(
            CaveatKind.FEW_RUNS,
            f"{plural(runs_per_option, 'run')} per option {'are' if runs_per_option > 1 else 'is'} too few for a test "
            "without assumptions.",
        )
    if len(decision.headline_workloads) == 1:
        workload = workload_title(decision.headline_workloads[0])
        number = sum(1 for runs in counts_by(table, "workload").values() if runs)
        subject = (
            f"The answer is for 1 of {number} workloads"
            if number > 1
            else _all_runs_text(len(table), "of one workload")
        )
        yield Caveat(CaveatKind.ONE_WORKLOAD, f"{subject}, {workload}.")


def _all_runs_text(number: int, description: str) -> str:
    """Return the beginning of a sentence that states that all runs are ``description``."""
    return f"All {number:,} runs are {description}" if number > 1 else f"The only run is {description}"


def _baseline(decision: Decision, request: DecisionRequest) -> Iterator[Caveat]:
    if request.baseline is not None and request.baseline != decision.baseline:
        yield Caveat(
            CaveatKind.CONFOUNDED,
            f"{request.baseline} was never compared with these options, so the baseline is {decision.baseline}.",
        )


def _clusters(table: RunTable) -> Iterator[Caveat]:
    clusters = [name for name, number in counts_by(table, "cluster").items() if number]
    if len(clusters) == 1:
        subject = _all_runs_text(len(table), "of one cluster")
        yield Caveat(CaveatKind.ONE_CLUSTER, f"{subject}, {clusters[0]}.")


def _caches(table: RunTable) -> Iterator[Caveat]:
    counts = counts_by(table, "cold")
    if counts.get("warm"):
        yield Caveat(
            CaveatKind.CACHES,
            f"{counts['warm']:,} of {plural(len(table), 'run')} started with warm caches: part of the data came from "
            "memory.",
        )
    if counts.get(""):
        runs_text = f"all {counts['']:,}" if counts[""] == len(table) > 1 else f"{counts['']:,} of {len(table):,}"
        yield Caveat(CaveatKind.CACHES, f"The cache state of {runs_text} runs is unknown.")


def _excluded(decision: Decision, table: RunTable) -> Iterator[Caveat]:
    counts = counts_by(table, "status")
    excluded_counts = {name: number for name, number in counts.items() if name != RunStatus.VALID and number}
    if excluded_counts:
        texts = joined([f"{number:,} {name or 'of unknown status'}" for name, number in excluded_counts.items()])
        yield Caveat(CaveatKind.EXCLUDED, f"Of {plural(len(table), 'run')}, {texts} do not count.")
        yield from _excluded_unevenly(decision, table)


def _excluded_unevenly(decision: Decision, table: RunTable) -> Iterator[Caveat]:
    """Yield a caveat if the shares of runs that do not count differ much between the options.

    The remaining runs of an option may then not be like the excluded ones.
    """
    if decision.factor not in table.columns:
        return
    if decision.disks:
        kinds = [has_level(table, DISK_KIND, disks.kind) for disks in decision.disks.compared]
        table = table.subset(np.logical_or.reduce(kinds))
    all_runs = counts_by(table, decision.factor)
    valid_counts = counts_by(table.subset(np.flatnonzero(has_level(table, "status", RunStatus.VALID))), decision.factor)
    names = [decision.baseline, *options_of_answer(decision)]
    excluded_counts = {name: all_runs[name] - valid_counts.get(name, 0) for name in names if all_runs.get(name)}
    shares = {name: number / all_runs[name] for name, number in excluded_counts.items()}
    if len(shares) < 2 or max(shares.values()) - min(shares.values()) < UNEVEN_EXCLUSION_MIN:
        return
    most_excluded, *_, least_excluded = sorted(shares, key=lambda name: -shares[name])
    other_option = (
        decision.baseline if decision.baseline in shares and decision.baseline != most_excluded else least_excluded
    )
    statuses_of_most_excluded = counts_by(
        table.subset(np.flatnonzero(has_level(table, decision.factor, most_excluded))), "status"
    )
    why = joined(
        [
            name or "of unknown status"
            for name, runs in statuses_of_most_excluded.items()
            if name != RunStatus.VALID and runs
        ]
    )
    yield Caveat(
        CaveatKind.EXCLUDED_UNEVENLY,
        f"{excluded_counts[most_excluded]:,} of {all_runs[most_excluded]:,} runs with "
        f"{compared_option(decision, most_excluded)} do not count ({why}), and {excluded_counts[other_option]:,} of "
        f"{all_runs[other_option]:,} with {compared_option(decision, other_option)}.",
    )


def _one_price(decision: Decision, table: RunTable, costs: RunCosts | None, positions: Ints) -> Iterator[Caveat]:
    """Yield a caveat for each price of a whole cluster that applies to clusters that the item does not distinguish.

    These are several clusters, unless the item has a condition on the cluster, and several numbers of workers of one
    cluster, unless it has a condition on workers.
    """
    if costs is None or costs.clusters is None or not any(result.cost for result in decision.results):
        return
    for number, item in enumerate(costs.clusters.items):
        rows = positions[costs.clusters.item_of_run[positions] == number]
        clusters = [name for name, runs in counts_by(table.subset(rows), CLUSTER).items() if name and runs]
        workers = costs.clusters.workers[rows]
        sizes = {name: workers[has_level(table.subset(rows), CLUSTER, name)] for name in clusters}
        clusters_of_several_sizes = [
            name
            for name, cluster_workers in sizes.items()
            if len(np.unique(cluster_workers[~np.isnan(cluster_workers)])) > 1
        ]
        undistinguished_texts = []
        if len(clusters) > 1 and CLUSTER not in item.when:
            more_text = [f"{len(clusters) - _NAMED} more"] if len(clusters) > _NAMED else []
            undistinguished_texts.append(f"{len(clusters)} clusters ({joined([*clusters[:_NAMED], *more_text])})")
        if clusters_of_several_sizes and WORKERS_FACTOR not in item.when:
            worker_counts = np.concatenate([sizes[name] for name in clusters_of_several_sizes])
            undistinguished_texts.append(f"{np.nanmin(worker_counts):.0f} to {np.nanmax(worker_counts):.0f} workers")
        if undistinguished_texts:
            yield Caveat(
                CaveatKind.ONE_PRICE,
                f"Price book {costs.book} has one price for {joined(undistinguished_texts)}: {item.name!r} is per "
                f"{item.per} and has no condition that distinguishes them. "
                f"It prices {len(rows):,} of {plural(len(positions), 'run')}.",
            )


def _other_size(decision: Decision) -> Iterator[Caveat]:
    costs = decision.baseline_costs
    if costs and any(size.workers for size in costs.other_sizes) and (text := other_size_text(costs)):
        yield Caveat(CaveatKind.OTHER_SIZE, f"{capitalised(text)}.")


def _unpriced_runs(decision: Decision, costs: RunCosts | None, positions: Ints) -> Iterator[Caveat]:
    if costs is None or not costs.unpriced or all(result.cost for result in decision.results if result.time):
        return
    number = int(np.isnan(costs.per_h[positions]).sum())
    reason = next(iter(costs.unpriced.values()))
    runs_text = f"{number:,} of {plural(len(positions), 'run')}" if number else next(iter(costs.unpriced))
    yield Caveat(CaveatKind.UNPRICED, f"Price book {costs.book} has no price for {runs_text}: {reason}.")
