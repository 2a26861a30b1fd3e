"""How often statements are wrong where runs depend on each other: sessions, clusters, unequal sides, drift.

Draws repositories with a known truth by the processes of ``processes.py`` and asks each question as its command does.
Printed for each: the share of repositories in which a statement is wrong, the share of 95 % intervals that hold the
truth, and how often a true effect is stated. ``statement_errors.py`` prints the same for runs that are independent.

Run it with ``python benchmarks/dependence_errors.py``; with 500 repositories a row, a rate of 5 % is known to 2 %.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import processes
from cost_errors import decision_on_costs
from processes import Drawn, Rng

from assay.compare.findings import ClaimAnswer, findings
from assay.compare.matched import InferenceScope, match
from assay.compare.significance import best_of
from assay.compare.speedups import speedups_of
from assay.quality.anomalies import find_anomalies
from assay.quality.changes import histories
from assay.statistics import Verdict

NOTHING = float("nan")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One answer: whether any statement is wrong, the share of its intervals that hold, and of what is true stated."""

    wrong: bool
    held: float = NOTHING
    stated: float = NOTHING


def verdicts(drawn: Drawn, gain: float, **asked: object) -> Outcome:
    """Ask for the speedup of every level over L0, which is the same for all of them."""
    ignore = frozenset({"cluster"}) if asked.get("ignore_cluster") else frozenset()
    found = speedups_of(match(drawn.table, "layout", ignore), "L0")
    said = [one.verdict for one in found]
    wrong = {Verdict.SLOWER} if gain > 1 else {Verdict.FASTER, Verdict.SLOWER}
    truth = float(np.exp(drawn.log_gain))
    held = [one.low <= truth <= one.high for one in found if one.low is not None and one.high is not None]
    stated = float(np.mean([one is Verdict.FASTER for one in said])) if gain > 1 else NOTHING
    return Outcome(any(one in wrong for one in said), float(np.mean(held)) if held else NOTHING, stated)


def of_clusters(rng: Rng, gain: float, clusters: int) -> Outcome:
    """Ask for the gain on another cluster: the only statement that is about clusters not measured."""
    found = speedups_of(match(processes.clusters_apart(rng, gain, clusters=clusters).table, "layout"), "HDD")
    answers = [answer for one in found for answer in one.by_scope if answer.scope is InferenceScope.OTHER_CLUSTERS]
    held = [one.low <= gain <= one.high for one in answers if one.low is not None and one.high is not None]
    return Outcome(not all(held), float(np.mean(held)) if held else NOTHING)


def of_findings(rng: Rng, gain: float, clusters: int) -> Outcome:
    """Ask the two claims on SSDs: on shuffle-heavy jobs they are faster, on CPU-bound ones within 10 %."""
    (found,) = findings(processes.clusters_apart(rng, gain, clusters=clusters).table).values()
    answers = {one.name: one.answer for one in found}
    truth = {"ssd-helps-shuffle": gain > 1, "ssd-not-for-cpu": gain <= 1.1}
    right = {True: ClaimAnswer.SUPPORTED, False: ClaimAnswer.CONTRADICTED}
    wrong = any(answers[name] is right[not true] for name, true in truth.items())
    return Outcome(wrong, NOTHING, float(np.mean([answers[name] is right[true] for name, true in truth.items()])))


def of_fastest(rng: Rng) -> Outcome:
    """Ask which levels may be the fastest of each of fifteen workloads: L0 is as good as any, and must stay in all."""
    best = best_of(match(processes.many_workloads(rng).table, "layout"))
    return Outcome(any("L0" not in one.may_be_best for one in best))


def of_cost(rng: Rng, spreads: tuple[float, ...], runs: tuple[int, ...]) -> Outcome:
    """Four layouts of one price that are all alike: naming any of them the cheapest without a tie is wrong."""
    codes = np.repeat(np.arange(4), runs)
    times = np.exp(6 + rng.normal(0, 1, len(codes)) * np.array(spreads)[codes])
    decision = decision_on_costs(codes, times, rng)
    costs = [option.cost for option in decision.options if option.cost]
    held = [cost.low <= 1 <= cost.high for cost in costs if cost.low is not None and cost.high is not None]
    wrong = decision.cheapest is not None and not decision.cheapest.ties
    return Outcome(wrong, float(np.mean(held)) if held else NOTHING)


def of_outliers(rng: Rng, noise: float) -> Outcome:
    """Ask for outliers where there is none; ``held`` is the share of runs that are not flagged."""
    table = processes.repetitions(rng, noise=noise)
    flagged = len(set(find_anomalies(table).positions.tolist()))
    return Outcome(flagged > 0, 1 - flagged / len(table))


def of_changes(rng: Rng, draw: Callable[[Rng], object]) -> Outcome:
    """Ask for changes where nothing changed but sessions, or where the level only wanders."""
    return Outcome(bool(histories(draw(rng)).changed))  # type: ignore[arg-type]


def _verdict(draw: Callable[..., Drawn], **more: object) -> Callable[[Rng, float], Outcome]:
    ignore = {"ignore_cluster": more.pop("ignore_cluster", False)}
    return lambda rng, gain: verdicts(draw(rng, gain, **more), gain, **ignore)


Question = tuple[Callable[[Rng, float], Outcome], tuple[float, ...]]
BOTH, EQUAL = (1.0, 1.1, 1.3, 2.0), (1.0,)
QUESTIONS: dict[str, Question] = {
    "compare: one session a side, 5 runs each": (_verdict(processes.one_after_the_other), BOTH),
    "compare: one session a side, 20 runs each": (_verdict(processes.one_after_the_other, runs=20), EQUAL),
    "compare: order of runs unknown, 5 runs each": (_verdict(processes.one_after_the_other, dated=False), BOTH),
    "compare: four sessions a side, 5 runs each": (_verdict(processes.one_after_the_other, sessions=4), BOTH),
    "compare: ten sessions a side, 3 runs each": (_verdict(processes.one_after_the_other, sessions=10, runs=3), BOTH),
    "compare: blocks of one campaign, 5 runs each": (_verdict(processes.in_blocks), BOTH),
    "compare: blocks of three campaigns, 5 runs each": (_verdict(processes.in_blocks, sessions=3), BOTH),
    "compare: 3 against 20 runs, bimodal": (_verdict(processes.unequal, bimodal=True), BOTH),
    "compare: 3 runs that scatter by 10 % against 20": (_verdict(processes.unequal, bimodal=False), BOTH),
    "compare: eight verdicts, a session for each level": (_verdict(processes.one_after_the_other, levels=9), BOTH),
    "speedup: the gain depends on a factor of 3 levels": (_verdict(processes.depends_on_factor), BOTH),
    "speedup: the gain depends on a factor of 6 levels": (_verdict(processes.depends_on_factor, levels=6), BOTH),
    "speedup: for another cluster, 2 clusters 10 % apart": (lambda rng, gain: of_clusters(rng, gain, 2), EQUAL),
    "speedup: for another cluster, 3 clusters 10 % apart": (lambda rng, gain: of_clusters(rng, gain, 3), EQUAL),
    "speedup: clusters confound layouts, --ignore cluster": (_verdict(processes.confounded, ignore_cluster=True), BOTH),
    "speedup: the fastest of four, 15 workloads": (lambda rng, _: of_fastest(rng), EQUAL),
    "findings: two claims, 2 clusters 10 % apart": (lambda rng, gain: of_findings(rng, gain, 2), (1.0, 1.3)),
    "findings: two claims, 3 clusters 10 % apart": (lambda rng, gain: of_findings(rng, gain, 3), (1.0, 1.3)),
    "findings: two claims, 8 clusters 10 % apart": (lambda rng, gain: of_findings(rng, gain, 8), (1.0, 1.3)),
    "cost: spreads of 2, 2, 2 and 15 %, 5 runs each": (
        lambda rng, _: of_cost(rng, (0.02, 0.02, 0.02, 0.15), (5, 5, 5, 5)),
        EQUAL,
    ),
    "cost: spreads of 2, 2, 2 and 15 %, 3 runs each": (
        lambda rng, _: of_cost(rng, (0.02, 0.02, 0.02, 0.15), (3, 3, 3, 3)),
        EQUAL,
    ),
    "cost: 2, 2, 20 and 20 runs, 10 and 2 %": (
        lambda rng, _: of_cost(rng, (0.10, 0.10, 0.02, 0.02), (2, 2, 20, 20)),
        EQUAL,
    ),
    "outliers: 90 runs, scatter of 8 %": (lambda rng, _: of_outliers(rng, 0.08), EQUAL),
    "outliers: 90 runs, scatter of 10 %": (lambda rng, _: of_outliers(rng, 0.10), EQUAL),
    "changes: sessions of 5 runs": (lambda rng, _: of_changes(rng, processes.histories_in_sessions), EQUAL),
    "changes: random walk of 2 % a run": (lambda rng, _: of_changes(rng, processes.random_walks), EQUAL),
}


def rates(name: str, gain: float, *, repositories: int, seed: int) -> tuple[float, float, float]:
    """Return the shares of repositories with a wrong statement, of intervals that hold, and of true effects stated."""
    ask, _ = QUESTIONS[name]
    rng = np.random.default_rng(seed)
    found = [ask(rng, gain) for _ in range(repositories)]
    held, stated = ([getattr(one, field) for one in found] for field in ("held", "stated"))
    return float(np.mean([one.wrong for one in found])), _mean(held), _mean(stated)


def _mean(values: list[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else NOTHING


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repositories", type=int, default=500)
    parser.add_argument("--only", default="", help="only questions that begin so")
    parser.add_argument("--equal", action="store_true", help="only where nothing differs")
    asked = parser.parse_args()
    print("| question | true effect | any statement wrong | 95 % intervals that hold | true effect stated |")
    print("|---|---|---|---|---|")
    for name, (_, gains) in QUESTIONS.items():
        for gain in gains[:1] if asked.equal else gains:
            if name.startswith(asked.only):
                cells = rates(name, gain, repositories=asked.repositories, seed=3)
                told = " | ".join("–" if np.isnan(cell) else f"{cell:.1%}" for cell in cells)
                print(f"| {name} | {gain:g} | {told} |", flush=True)


if __name__ == "__main__":
    main()
