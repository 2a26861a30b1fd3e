"""Measure how often statements over matched groups are right: intervals by scope, the joint estimate, the fastest.

Draws tables of runs whose truth is known. The gain of a level varies by 10 % between clusters and by 10 % between
configurations, and a run scatters by 5 %. The code of ``assay decide`` matches the runs and gives the verdicts.

- *tested settings*: the truth is the mean gain of the configurations that were drawn;
- *similar settings*: the mean gain on the clusters that were drawn; *one similar setting*: the gain of one more
  configuration on one of them, measured in the same way;
- *other clusters*: the mean gain over all possible clusters;
- *joint*: the gain on one cluster with four levels, of which each configuration has two;
- the fastest: all levels are equal, so the first must be among the candidates;
- verdicts: of eight levels against a ninth, all equal, or all 1.2 times as fast. With fewer than five groups they are
  about the tested settings, in which no two levels are quite equal.

Run it with ``python benchmarks/matched_errors.py``; it prints Markdown tables.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from assay.analysis.comparison.matched import group_ratios, match, side
from assay.analysis.comparison.scope_estimates import scope_estimates
from assay.analysis.comparison.significance import fastest_levels
from assay.analysis.comparison.speedups import speedups_of
from assay.analysis.statistics import InferenceScope, Verdict
from assay.analysis.statistics.runs.run_table import Column, RunTable

Array = NDArray[np.float64]
APART = 0.10
"""Standard deviation of log gains, between clusters and between configurations."""
SCATTER = 0.05
GAIN = 1.2


@dataclass(frozen=True, slots=True)
class Design:
    """The runs: ``groups`` configurations on each cluster, each with ``levels_each`` of the levels, ``runs`` times."""

    clusters: int
    groups: int
    runs: int
    levels: int = 2
    levels_each: int = 2
    gain: float = GAIN
    apart: float = APART
    """Standard deviation of log gains between clusters."""


@dataclass(frozen=True, slots=True)
class DrawnTable:
    """A table of runs with the truth: log gains of level 1 over level 0."""

    table: RunTable
    gain_by_level: Array
    """The mean log gain of every level over level 0 in the configurations that were drawn."""
    these: float
    """Mean log gain of the configurations that were drawn."""
    here: float
    """Mean log gain on the clusters that were drawn."""
    single: float
    """Measured log gain of one more configuration on one of these clusters."""
    elsewhere: float
    """Mean log gain over all possible clusters."""


def drawn_table(rng: np.random.Generator, design: Design) -> DrawnTable:
    """Return one table of the design."""
    count = design.clusters * design.groups
    true_gains = np.append(0.0, np.full(design.levels - 1, np.log(design.gain)))
    on_cluster = true_gains + rng.normal(0, design.apart / np.sqrt(2), (design.clusters, design.levels))
    speed = np.repeat(on_cluster, design.groups, axis=0) + rng.normal(0, APART / np.sqrt(2), (count, design.levels))
    drawn_levels = np.argsort(rng.random((count, design.levels)), axis=1)[:, : design.levels_each]
    level = np.repeat(np.sort(drawn_levels, axis=1), design.runs, axis=1).ravel()
    configuration = np.repeat(np.arange(count), design.levels_each * design.runs)
    logs = 6 - speed[configuration, level] + rng.normal(0, SCATTER, len(level))
    cluster = rng.integers(design.clusters)
    measurement_error = rng.normal(0, SCATTER * np.sqrt(2 / design.runs))
    single = on_cluster[cluster, 1] - on_cluster[cluster, 0] + rng.normal(0, APART) + measurement_error
    gain_by_level, means = (speed - speed[:, :1]).mean(axis=0), on_cluster.mean(axis=0)
    table = _table(level, configuration, configuration // design.groups, np.exp(logs))
    return DrawnTable(
        table, gain_by_level, float(gain_by_level[1]), float(means[1] - means[0]), float(single), float(true_gains[1])
    )


def _table(
    level: NDArray[np.int64], configuration: NDArray[np.int64], cluster: NDArray[np.int64], seconds: Array
) -> RunTable:
    def column(codes: NDArray[np.int64], *names: str) -> Column:
        return Column(codes.astype(np.int32), names or tuple(f"L{n}" for n in range(int(codes.max()) + 1)))

    rows = np.arange(len(level))
    columns = {
        "workload": column(0 * rows, "terasort"),
        "origin": column(0 * rows, "simulated"),
        "status": column(0 * rows, "valid"),
        "cluster": column(cluster),
        "configuration": column(configuration),
        "level": column(level),
    }
    return RunTable(rows, columns, {"duration_s": seconds, "started_unix_s": rows.astype(np.float64)})


@dataclass(frozen=True, slots=True)
class Coverage:
    """Shares of tables whose intervals hold the truth, by question; NaN without an interval."""

    these: float
    here: float
    single: float
    elsewhere: float
    joint: float


_NAMES = {InferenceScope.TESTED: "these", InferenceScope.SIMILAR: "here", InferenceScope.OTHER_CLUSTERS: "elsewhere"}


def coverage(clusters: int, groups: int, runs: int, *, tables: int, seed: int) -> Coverage:
    """Return how often each interval holds its truth."""
    rng = np.random.default_rng(seed)
    holds_by_question: dict[str, list[bool]] = {field.name: [] for field in fields(Coverage)}

    def note_interval(name: str, truth: float, low: float | None, high: float | None) -> None:
        if low is not None and high is not None:
            holds_by_question[name].append(bool(low <= np.exp(truth) <= high))

    for _ in range(tables):
        truth = drawn_table(rng, Design(clusters, groups, runs))
        matched = match(truth.table, "level")
        ratios = group_ratios(side(matched, 0), side(matched, 1), matched)
        for estimate in scope_estimates(ratios):
            name = _NAMES[estimate.scope]
            note_interval(name, getattr(truth, name), estimate.low, estimate.high)
            if estimate.scope is InferenceScope.SIMILAR:
                note_interval("single", truth.single, estimate.single_low, estimate.single_high)
        mixed = drawn_table(rng, Design(1, clusters * groups, runs, levels=4, levels_each=2))
        row = next((s for s in speedups_of(match(mixed.table, "level"), "L0") if s.candidate == "L1"), None)
        if row is not None and row.joint is not None:
            note_interval("joint", mixed.here, row.joint.low, row.joint.high)
    return Coverage(
        **{name: float(np.mean(ratios)) if ratios else float("nan") for name, ratios in holds_by_question.items()}
    )


def share_with_fastest(levels: int, groups: int, levels_each: int, runs: int, *, tables: int, seed: int) -> float:
    """Return the share of tables of equal levels whose fastest candidates contain the first level, if it is
    compared."""
    rng = np.random.default_rng(seed)
    is_candidate = []
    for _ in range(tables):
        truth = drawn_table(rng, Design(1, groups, runs, levels, levels_each, gain=1.0, apart=0.0))
        best = fastest_levels(match(truth.table, "level"))[0]
        if "L0" not in best.never_compared:
            is_candidate.append("L0" in best.fastest_candidates)
    return float(np.mean(is_candidate))


def verdicts(levels: int, groups: int, runs: int, gain: float, *, tables: int, seed: int) -> tuple[float, float]:
    """Return the share of tables with any wrong verdict, and of levels with the correct verdict "faster".

    A verdict for the tested settings is wrong if the mean gain of the level in them has the other direction.
    """
    rng = np.random.default_rng(seed)
    wrong_tables = correct_count = 0
    for _ in range(tables):
        truth = drawn_table(rng, Design(1, groups, runs, levels, levels, gain, apart=0.0))
        speedups = speedups_of(match(truth.table, "level"), "L0")
        correct_count += sum(speedup.verdict is Verdict.FASTER for speedup in speedups)
        signs = {Verdict.FASTER: 1.0, Verdict.SLOWER: -1.0}
        directed_speedups = [(signs[speedup.verdict], speedup) for speedup in speedups if speedup.verdict in signs]
        gains = [
            truth.gain_by_level[int(speedup.candidate[1:])] if speedup.scope is InferenceScope.TESTED else np.log(gain)
            for _, speedup in directed_speedups
        ]
        wrong_tables += any(sign * true <= 0 for (sign, _), true in zip(directed_speedups, gains, strict=True))
    return wrong_tables / tables, correct_count / tables / (levels - 1)


def _share(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.1%}"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tables", type=int, default=1000)
    tables, seed = parser.parse_args().tables, 7
    print("| clusters | configurations on each | runs a side | " + " | ".join(f.name for f in fields(Coverage)) + " |")
    print("|---" * (3 + len(fields(Coverage))) + "|")
    for clusters, groups, runs in (
        (1, 2, 3),
        (1, 3, 3),
        (1, 5, 1),
        (1, 5, 3),
        (1, 20, 1),
        (2, 10, 2),
        (3, 2, 2),
        (3, 10, 2),
        (5, 10, 1),
        (10, 5, 1),
    ):
        shares = coverage(clusters, groups, runs, tables=tables, seed=seed)
        cells = [_share(getattr(shares, field.name)) for field in fields(Coverage)]
        print(f"| {clusters} | {groups} | {runs} | " + " | ".join(cells) + " |", flush=True)
    print("\n| levels | groups | levels in each | runs a side | the fastest stays in |\n|---|---|---|---|---|")
    for levels, groups, levels_each, runs in (
        (2, 3, 2, 1),
        (4, 3, 4, 3),
        (8, 2, 8, 3),
        (8, 3, 8, 1),
        (8, 3, 8, 3),
        (8, 5, 8, 3),
        (8, 6, 4, 1),
        (8, 12, 3, 1),
        (8, 40, 2, 1),
    ):
        share = share_with_fastest(levels, groups, levels_each, runs, tables=tables, seed=seed)
        print(f"| {levels} | {groups} | {levels_each} | {runs} | {share:.1%} |", flush=True)
    print("\n| groups | runs a side | all equal: any verdict wrong | 1.2: any wrong way round | 1.2: found |")
    print("|---|---|---|---|---|")
    for groups, runs in ((3, 3), (5, 1), (5, 3), (10, 1), (20, 1)):
        equal, _ = verdicts(9, groups, runs, 1.0, tables=tables, seed=seed)
        wrong, power = verdicts(9, groups, runs, GAIN, tables=tables, seed=seed)
        print(f"| {groups} | {runs} | {equal:.1%} | {wrong:.1%} | {power:.1%} |", flush=True)


if __name__ == "__main__":
    main()
