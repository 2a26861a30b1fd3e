"""Measure how often statements are wrong if runs depend on each other: sessions, clusters, unequal sides, drift.

Draws repositories with a known truth by the processes of ``processes.py`` and answers each question as its command
does, with ``decide`` where a decision answers it. The table has for each question the share of repositories in which a
statement is wrong, the share of 95 % intervals that hold the truth, and how often a true effect is stated.
``statement_errors.py`` prints the same for runs that are independent.

Run it with ``python benchmarks/dependence_errors.py``; with 500 repositories per row, the standard error of a rate of 5
% is 1 %.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import processes
from cost_errors import decision_on_costs
from processes import DrawnRuns, Rng

from assay.analysis.changes import histories
from assay.analysis.comparison.matched import match
from assay.analysis.comparison.significance import fastest_levels
from assay.analysis.comparison.speedups import speedups_of
from assay.analysis.outliers.anomalies import find_anomalies
from assay.analysis.statistics import ALPHA, InferenceScope, Verdict
from assay.questions.claims.claims import ClaimAnswer
from assay.questions.claims.findings import findings
from assay.questions.decisions.costs.run_costs import RunCosts
from assay.questions.decisions.decide import decide
from assay.questions.decisions.decision import DecisionRequest

NO_VALUE = float("nan")
Ask = Callable[[Rng, float], "Outcome"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One answer: whether a statement is wrong, the share of its intervals that hold, and the share of true effects
    stated."""

    wrong: bool
    held: float = NO_VALUE
    stated: float = NO_VALUE
    withheld: float = NO_VALUE
    """Share of options without a verdict."""


def decided(drawn: DrawnRuns, gain: float, *, ignore: tuple[str, ...] = (), baseline: str = "L0") -> Outcome:
    """Decide which options are faster; all except the baseline have the same gain. Wrong: a false verdict."""
    (decision,) = decide(drawn.table, DecisionRequest("layout", baseline, ignore=ignore))
    gains = [drawn.log_gains_here.get(result.workload, drawn.log_gain) for result in decision.results]
    wrong = any(
        (result.verdict is Verdict.FASTER and true_gain <= 0) or (result.verdict is Verdict.SLOWER and true_gain >= 0)
        for result, true_gain in zip(decision.results, gains, strict=True)
    )
    in_interval = [
        result.time.low <= np.exp(true_gain) <= result.time.high
        for result, true_gain in zip(decision.results, gains, strict=True)
        if result.time and result.time.low is not None and result.time.high is not None
    ]
    stated = float(np.mean([result.verdict is Verdict.FASTER for result in decision.results])) if gain > 1 else NO_VALUE
    stated_verdicts = (Verdict.FASTER, Verdict.SLOWER, Verdict.EQUIVALENT)
    withheld = float(np.mean([result.verdict not in stated_verdicts for result in decision.results]))
    return Outcome(wrong, float(np.mean(in_interval)) if in_interval else NO_VALUE, stated, withheld)


def outside_one(drawn: DrawnRuns) -> Outcome:
    """Read each 95 % interval alone, without the correction for several comparisons. Wrong: one excludes 1."""
    (decision,) = decide(drawn.table, DecisionRequest("layout", "L0"))
    times = [result.time for result in decision.results if result.time]
    return Outcome(any(time.p is not None and time.p < ALPHA for time in times))


def leading(drawn: DrawnRuns, gain: float) -> Outcome:
    """Return the leader and its ties. Wrong: an option that is one of the fastest is neither."""
    (decision,) = decide(drawn.table, DecisionRequest("layout", "L0"))
    return Outcome(("L1" if gain > 1 else "L0") not in {decision.leader, *decision.ties})


def one_price(runs: int) -> RunCosts:
    """Return a price of 1 per hour for each run."""
    return RunCosts(
        per_h=np.ones(runs),
        currency="USD",
        book="one price",
        date="2026-01-01",
        years=3.0,
        site_power_w=np.zeros(runs),
        kwh_price=None,
        unpriced={},
        configurations=({},),
        configuration_of_run=np.zeros(runs, dtype=np.int64),
    )


def cheapest(drawn: DrawnRuns) -> Outcome:
    """Return the cheapest of equal options of one price. Wrong: the first option is not among the cheapest."""
    costs = one_price(len(drawn.table))
    (decision,) = decide(drawn.table, DecisionRequest("layout", "L0"), costs)
    costs_of_options = [result.cost for result in decision.results if result.cost]
    in_interval = [
        cost.low <= 1 <= cost.high for cost in costs_of_options if cost.low is not None and cost.high is not None
    ]
    answer = decision.cheapest
    wrong = answer is not None and "L0" not in {answer.option, *answer.ties}
    return Outcome(wrong, float(np.mean(in_interval)) if in_interval else NO_VALUE)


def of_clusters(rng: Rng, gain: float, clusters: int) -> Outcome:
    """Estimate the gain on clusters that were not measured, over both workloads. Wrong: the interval misses the true
    gain.
    """
    speedups = speedups_of(
        match(processes.clusters_apart(rng, gain, clusters=clusters).table, "layout"), "HDD", by=None
    )
    answers = [answer for row in speedups for answer in row.by_scope if answer.scope is InferenceScope.OTHER_CLUSTERS]
    in_interval = [
        answer.low <= gain <= answer.high for answer in answers if answer.low is not None and answer.high is not None
    ]
    return Outcome(not all(in_interval), float(np.mean(in_interval)) if in_interval else NO_VALUE)


def of_findings(drawn: DrawnRuns, gain: float) -> Outcome:
    """Test the two claims on SSDs: faster on shuffle-heavy jobs, and within 10 % on CPU-bound jobs."""
    (claims,) = findings(drawn.table).values()
    answers = {claim.name: claim.answer for claim in claims}
    truth = {"ssd-helps-shuffle": gain > 1, "ssd-not-for-cpu": gain <= 1.1}
    right_answer = {True: ClaimAnswer.SUPPORTED, False: ClaimAnswer.CONTRADICTED}
    wrong = any(answers[name] is right_answer[not true] for name, true in truth.items())
    return Outcome(
        wrong, NO_VALUE, float(np.mean([answers[name] is right_answer[true] for name, true in truth.items()]))
    )


def of_fastest(rng: Rng) -> Outcome:
    """Return the fastest candidates on each of fifteen workloads. All levels are equal, so L0 must be among them."""
    best = fastest_levels(match(processes.many_workloads(rng).table, "layout"))
    return Outcome(any("L0" not in answer.fastest_candidates for answer in best))


def of_cost(rng: Rng, spreads: tuple[float, ...], runs: tuple[int, ...]) -> Outcome:
    """Return the cheapest of four equal layouts of one price. Wrong: one is named without a tie."""
    codes = np.repeat(np.arange(4), runs)
    times = np.exp(6 + rng.normal(0, 1, len(codes)) * np.array(spreads)[codes])
    decision = decision_on_costs(codes, times, rng)
    costs = [option.cost for option in decision.options if option.cost]
    in_interval = [cost.low <= 1 <= cost.high for cost in costs if cost.low is not None and cost.high is not None]
    wrong = decision.cheapest is not None and not decision.cheapest.ties
    return Outcome(wrong, float(np.mean(in_interval)) if in_interval else NO_VALUE)


def of_outliers(rng: Rng, noise: float) -> Outcome:
    """Search for outliers where none exists; ``held`` is the share of runs that are not flagged."""
    table = processes.repetitions(rng, noise=noise)
    flagged = len(set(find_anomalies(table).positions.tolist()))
    return Outcome(flagged > 0, 1 - flagged / len(table))


def of_changes(rng: Rng, draw: Callable[[Rng], object]) -> Outcome:
    """Search for changes where only sessions differ, or where the level is a random walk."""
    return Outcome(bool(histories(draw(rng)).changed))  # type: ignore[arg-type]


def _decided(draw: Callable[..., DrawnRuns], ignore: tuple[str, ...] = (), **draw_options: object) -> Ask:
    return lambda rng, gain: decided(draw(rng, gain, **draw_options), gain, ignore=ignore)


def _leading(draw: Callable[..., DrawnRuns], **draw_options: object) -> Ask:
    return lambda rng, gain: leading(draw(rng, **draw_options), gain)


def _on_clusters(clusters: int) -> Ask:
    return lambda rng, gain: decided(processes.clusters_apart(rng, gain, clusters=clusters), gain, baseline="HDD")


def _cost(draw: Callable[..., DrawnRuns], **draw_options: object) -> Ask:
    return lambda rng, _: cheapest(draw(rng, **draw_options))


def _claims(draw: Callable[..., DrawnRuns], **draw_options: object) -> Ask:
    return lambda rng, gain: of_findings(draw(rng, gain, **draw_options), gain)


def _walks(configurations: int) -> Ask:
    return lambda rng, _: of_changes(rng, lambda rng: processes.random_walks(rng, configurations=configurations))


Question = tuple[Ask, tuple[float, ...]]
GAINS, NO_GAIN = (1.0, 1.1, 1.3, 2.0), (1.0,)
"""True gains of a question; all options are equal at a gain of 1."""


def _many(**draw_options: Any) -> Ask:
    return lambda rng, gain: decided(processes.depends_on_factor(rng, gain, **MANY, **draw_options), gain)


CLAIM_GAINS = (1.0, 1.3)
MANY: dict[str, Any] = {"options": 6, "workloads": 8}
"""Options and workloads of an answer with 48 comparisons, and six means over the workloads."""
QUESTIONS: dict[str, Question] = {
    "decide: one session a side, 5 runs each": (_decided(processes.one_after_the_other), GAINS),
    "decide: one session a side, 20 runs each": (_decided(processes.one_after_the_other, runs=20), GAINS),
    "decide: one session a side, order of runs unknown": (_decided(processes.one_after_the_other, dated=False), GAINS),
    "decide: one session a side, sessions differ by 15 %": (
        _decided(processes.one_after_the_other, spread=0.15),
        GAINS,
    ),
    "decide: one session a side, 50 other sessions known": (_decided(processes.with_known_sessions), GAINS),
    "decide: four sessions a side, 5 runs each": (_decided(processes.one_after_the_other, sessions=4), GAINS),
    "decide: ten sessions a side, 3 runs each": (_decided(processes.one_after_the_other, sessions=10, runs=3), GAINS),
    "decide: blocks of one campaign, 5 runs each": (_decided(processes.in_blocks), GAINS),
    "decide: blocks of three campaigns, 5 runs each": (_decided(processes.in_blocks, sessions=3), GAINS),
    "decide: four options in blocks of one campaign": (_decided(processes.in_blocks, levels=4), GAINS),
    "decide: four options, a session for each": (_decided(processes.one_after_the_other, levels=4), GAINS),
    "decide: nine options, a session for each": (_decided(processes.one_after_the_other, levels=9), GAINS),
    "decide: two of four options in turns, 5 runs each": (_decided(processes.partly_alternating), GAINS),
    "decide: two of four options in turns, 20 groups": (
        _decided(processes.partly_alternating, rounds=1, groups=20),
        GAINS,
    ),
    "decide: one option after the other on each of four workloads": (
        _decided(processes.alternating_over_workloads),
        GAINS,
    ),
    "decide: four options with 2, 2, 20 and 20 runs": (
        lambda rng, gain: decided(processes.uneven_levels(rng), gain),
        NO_GAIN,
    ),
    "decide: 3 against 20 runs, bimodal": (_decided(processes.unequal, bimodal=True), GAINS),
    "decide: 3 runs that scatter by 10 % against 20": (_decided(processes.unequal, bimodal=False), GAINS),
    "decide: the gain depends on a factor of 3 levels": (_decided(processes.depends_on_factor), GAINS),
    "decide: the gain depends on a factor of 6 levels": (_decided(processes.depends_on_factor, levels=6), GAINS),
    "many: 48 gains that depend on no factor": (_many(apart=0.0), GAINS),
    "many: 48 gains that depend on a factor of 3 levels": (_many(), GAINS),
    "many: 48 gains that depend on a factor of 6 levels": (_many(levels=6), GAINS),
    "many: 8 gains that depend weakly on a factor of 3 levels": (
        lambda rng, gain: decided(processes.depends_on_factor(rng, gain, options=1, workloads=8, apart=0.03), gain),
        GAINS,
    ),
    "many: 48 gains that depend on no factor, intervals alone": (
        lambda rng, _: outside_one(processes.depends_on_factor(rng, **MANY, apart=0.0)),
        NO_GAIN,
    ),
    "many: 48 gains that depend on a factor of 3 levels, intervals alone": (
        lambda rng, _: outside_one(processes.depends_on_factor(rng, **MANY)),
        NO_GAIN,
    ),
    "decide: 2 clusters 10 % apart, on these clusters": (_on_clusters(2), GAINS),
    "decide: 3 clusters 10 % apart, on these clusters": (_on_clusters(3), GAINS),
    "decide: clusters confound layouts, --ignore cluster": (_decided(processes.confounded, ("cluster",)), GAINS),
    "decide: leader of four, blocks of one campaign": (_leading(processes.in_blocks, levels=4), NO_GAIN),
    "decide: leader of four, a session for each": (_leading(processes.one_after_the_other, levels=4), NO_GAIN),
    "decide: leader of four, four sessions for each": (
        _leading(processes.one_after_the_other, levels=4, sessions=4),
        NO_GAIN,
    ),
    "decide: leader of four, two of them in turns": (_leading(processes.partly_alternating), NO_GAIN),
    "decide: leader of four with 2, 2, 20 and 20 runs": (_leading(processes.uneven_levels), NO_GAIN),
    "decide: cheapest, blocks of one campaign": (_cost(processes.in_blocks, levels=4), NO_GAIN),
    "decide: cheapest, a session for each of four options": (_cost(processes.one_after_the_other, levels=4), NO_GAIN),
    "decide: cheapest, four sessions for each of four options": (
        _cost(processes.one_after_the_other, levels=4, sessions=4),
        NO_GAIN,
    ),
    "decide: cheapest of four, two of them in turns, 20 groups": (
        _cost(processes.partly_alternating, rounds=1, groups=20),
        NO_GAIN,
    ),
    "decide: cheapest, four options with 2, 2, 20 and 20 runs": (_cost(processes.uneven_levels), NO_GAIN),
    "speedup: for other clusters, 2 clusters 10 % apart": (lambda rng, gain: of_clusters(rng, gain, 2), NO_GAIN),
    "speedup: for other clusters, 3 clusters 10 % apart": (lambda rng, gain: of_clusters(rng, gain, 3), NO_GAIN),
    "speedup: the fastest of four, 15 workloads": (lambda rng, _: of_fastest(rng), NO_GAIN),
    "findings: two claims, a session for each kind of disk": (
        _claims(processes.claims_in_sessions, apart=True),
        CLAIM_GAINS,
    ),
    "findings: two claims, in turns in one session": (_claims(processes.claims_in_sessions, apart=False), CLAIM_GAINS),
    "findings: two claims, 2 clusters 10 % apart": (_claims(processes.clusters_apart, clusters=2), CLAIM_GAINS),
    "findings: two claims, 3 clusters 10 % apart": (_claims(processes.clusters_apart, clusters=3), CLAIM_GAINS),
    "findings: two claims, 8 clusters 10 % apart": (_claims(processes.clusters_apart, clusters=8), CLAIM_GAINS),
    "cost: spreads of 2, 2, 2 and 15 %, 5 runs each": (
        lambda rng, _: of_cost(rng, (0.02, 0.02, 0.02, 0.15), (5, 5, 5, 5)),
        NO_GAIN,
    ),
    "cost: spreads of 2, 2, 2 and 15 %, 3 runs each": (
        lambda rng, _: of_cost(rng, (0.02, 0.02, 0.02, 0.15), (3, 3, 3, 3)),
        NO_GAIN,
    ),
    "cost: 2, 2, 20 and 20 runs, 10 and 2 %": (
        lambda rng, _: of_cost(rng, (0.10, 0.10, 0.02, 0.02), (2, 2, 20, 20)),
        NO_GAIN,
    ),
    "outliers: 90 runs, scatter of 8 %": (lambda rng, _: of_outliers(rng, 0.08), NO_GAIN),
    "outliers: 90 runs, scatter of 10 %": (lambda rng, _: of_outliers(rng, 0.10), NO_GAIN),
    "changes: sessions of 5 runs": (lambda rng, _: of_changes(rng, processes.histories_in_sessions), NO_GAIN),
    "changes: random walk of 2 % a run, one configuration": (_walks(1), NO_GAIN),
    "changes: random walk of 2 % a run, 10 configurations": (_walks(10), NO_GAIN),
    "changes: random walk of 2 % a run, 15 configurations": (_walks(15), NO_GAIN),
    "changes: random walk of 2 % a run, 20 configurations": (_walks(20), NO_GAIN),
    "changes: random walk of 2 % a run, 30 configurations": (_walks(30), NO_GAIN),
}


SLOW = "changes"
"""Prefix of the questions that take ten times as long; they get a fifth of the repositories."""
WITHHELD_AT = 1.3
"""The true gain at which withheld verdicts are counted."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Shares of repositories with a wrong statement, of intervals that hold, and of true effects that are stated."""

    wrong: float
    held: float
    stated: float
    withheld: float
    repositories: int


def rates(name: str, gain: float, *, repositories: int, seed: int) -> Rates:
    """Return how often the answers to a question are wrong, right and withheld."""
    ask, _ = QUESTIONS[name]
    rng = np.random.default_rng(seed)
    outcomes = [ask(rng, gain) for _ in range(repositories)]
    held, stated, withheld = (
        _mean([getattr(outcome, field) for outcome in outcomes]) for field in ("held", "stated", "withheld")
    )
    return Rates(float(np.mean([outcome.wrong for outcome in outcomes])), held, stated, withheld, repositories)


def _mean(values: list[float]) -> float:
    present_values = [value for value in values if not np.isnan(value)]
    return float(np.mean(present_values)) if present_values else NO_VALUE


def _cells(*shares: float) -> str:
    return " | ".join("–" if np.isnan(share) else f"{share:.1%}" for share in shares)


def print_equal(names: list[str], repositories: int, seed: int) -> None:
    """Print one row for each question without a true difference; withheld verdicts are counted at a gain of 1.3."""
    print(f"| question | wrong | 95 % intervals that hold | verdict withheld at {WITHHELD_AT:g} | repositories |")
    print("|---|---|---|---|---|")
    for name in names:
        count = max(200, repositories // 5) if name.startswith(SLOW) else repositories
        equal, withheld = rates(name, 1.0, repositories=count, seed=seed), NO_VALUE
        if WITHHELD_AT in QUESTIONS[name][1]:
            withheld = rates(name, WITHHELD_AT, repositories=count, seed=seed).withheld
        print(f"| {name} | {_cells(equal.wrong, equal.held, withheld)} | {count} |", flush=True)


def print_gains(names: list[str], repositories: int, seed: int) -> None:
    """Print one row for each question and true gain."""
    print("| question | true gain | wrong | 95 % intervals that hold | true effect stated | repositories |")
    print("|---|---|---|---|---|---|")
    for name in names:
        for gain in QUESTIONS[name][1]:
            row = rates(name, gain, repositories=repositories, seed=seed)
            print(f"| {name} | {gain:g} | {_cells(row.wrong, row.held, row.stated)} | {repositories} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repositories", type=int, default=500)
    parser.add_argument("--only", default="", help="Only questions whose name begins with this text.")
    parser.add_argument("--equal", action="store_true", help="only questions without a true difference")
    parser.add_argument("--seed", type=int, default=3, help="of the drawn repositories")
    options = parser.parse_args()
    names = [name for name in QUESTIONS if name.startswith(options.only)]
    (print_equal if options.equal else print_gains)(names, options.repositories, options.seed)


if __name__ == "__main__":
    main()
