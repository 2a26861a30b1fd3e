"""Measure how often `assay profile diff` is wrong, on profiles drawn with a known difference.

Draws the rates of 40 methods in each of four phases, with shares like those of real profiles (log-normal, spread 1.5),
then runs: a run's total varies by 5 %, each method's rate by 15 % between runs and by 20 % between task attempts, and
the number of samples of an attempt is Poisson. Between the sides nothing differs, or one method of the reduce phase
uses 5, 20 or 100 % of the phase's time in addition. The comparison is that of the terminal.

A comparison without a difference is wrong if any row has a verdict. With a difference, it is wrong if a row of another
phase has a verdict, or a row of the reduce phase has the verdict "less"; it finds the method if its row says "more".
Single runs have no verdict; their row shows the verdicts that the corrected p values over task attempts would give.

Run it with ``python benchmarks/code_difference_errors.py [--pairs N]``; it prints a Markdown table.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass

import numpy as np

from assay.analysis.code_profile.difference import CodeDifference, ProfiledRun, code_difference
from assay.analysis.code_profile.stacks import Stack
from assay.analysis.statistics import ALPHA, Floats

PHASES = {"map": 8, "shuffle": 3, "merge": 3, "reduce": 3}
"""Phase to task attempts of a run."""
SAMPLES = {"map": 1800, "shuffle": 400, "merge": 150, "reduce": 400}
"""Phase to mean samples of a run."""
METHODS = 40
OF_RUN, OF_METHOD, OF_ATTEMPT = 0.05, 0.15, 0.20
"""Standard deviations of logarithms between runs, of a method between runs, and of a method between attempts."""
PACKAGES = ("com/example/Join", "org/apache/hadoop/hdfs/Client", "java/util/zip/CRC32", "org/apache/hadoop/mapred/Task")
BURN = ("root", "com/example/Burner.burn")
INTERVAL_S, DATA_BYTES = 0.01, 10**9
ADDED = (0.0, 0.05, 0.2, 1.0)
REPETITIONS = (1, 2, 3, 5, 10, 20)


@dataclass(frozen=True, slots=True)
class ComparisonScore:
    """Whether one comparison is wrong, and whether it finds the slow method."""

    wrong: bool
    names_method: bool


def drawn_shares(rng: np.random.Generator) -> dict[str, Floats]:
    """Return the share of each method in its phase."""
    shares_by_phase = {}
    for phase in PHASES:
        weights = np.exp(rng.normal(0, 1.5, METHODS))
        shares_by_phase[phase] = weights / weights.sum()
    return shares_by_phase


def drawn_run(number: int, shares: dict[str, Floats], added: float, rng: np.random.Generator) -> ProfiledRun:
    """Return one run; ``added``: time of the slow method relative to the time of the reduce phase."""
    parts: dict[str, dict[str, Counter[Stack]]] = {}
    run_factor = np.exp(rng.normal(0, OF_RUN))
    for phase, attempts in PHASES.items():
        method_rates = (
            shares[phase] * SAMPLES[phase] / attempts * run_factor * np.exp(rng.normal(0, OF_METHOD, METHODS))
        )
        burn = added * SAMPLES[phase] / attempts if phase == "reduce" else 0.0
        parts[phase] = {}
        for attempt in range(attempts):
            counts = rng.poisson(method_rates * np.exp(rng.normal(0, OF_ATTEMPT, METHODS)))
            stacks: Counter[Stack] = Counter(
                {
                    ("root", f"{PACKAGES[method % len(PACKAGES)]}.m{method}"): int(count)
                    for method, count in enumerate(counts)
                    if count
                }
            )
            if burn:
                stacks[BURN] = int(rng.poisson(burn * run_factor * np.exp(rng.normal(0, OF_ATTEMPT))))
            parts[phase][f"{phase}_{attempt}"] = stacks
    return ProfiledRun(f"run{number}", DATA_BYTES, parts)


def score_of(answer: CodeDifference, added: float) -> ComparisonScore:
    """Return whether the answer is wrong and whether it finds the method."""
    tested_rows = (*answer.phases, *answer.categories, *answer.frames)
    rows = [row for row in tested_rows if row.p is not None and row.p < ALPHA]
    true_rows = [row for row in rows if added and row.code.phase == "reduce" and row.difference_s_per_gb > 0]
    names_method = any(row.code.frame == BURN[-1] for row in true_rows)
    return ComparisonScore(len(true_rows) < len(rows), names_method)


def scores_of(repetitions: int, added: float, pairs: int) -> list[ComparisonScore]:
    """Return the scores of ``pairs`` comparisons."""
    rng = np.random.default_rng([repetitions, round(100 * added)])
    scores = []
    for _ in range(pairs):
        shares = drawn_shares(rng)
        sides = [[drawn_run(n, shares, share, rng) for n in range(repetitions)] for share in (0.0, added)]
        scores.append(score_of(code_difference(sides[0], sides[1], INTERVAL_S), added))
    return scores


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=int, default=500)
    pairs = parser.parse_args().pairs
    header = " | ".join(f"{share:.0%} added: wrong, found" for share in ADDED[1:])
    print(f"| runs of each side | intervals over | nothing differs: wrong | {header} |\n|---|---|---|{'---|' * 3}")
    for repetitions in REPETITIONS:
        cells = []
        for share in ADDED:
            scores = scores_of(repetitions, share, pairs)
            wrong = f"{np.mean([score.wrong for score in scores]):.1%}"
            cells.append(f"{wrong}, {np.mean([score.names_method for score in scores]):.0%}" if share else wrong)
        basis = "repetitions" if repetitions > 1 else "task attempts"
        print(f"| {repetitions} | {basis} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
