"""Measure how often a recommendation is wrong in worlds drawn from its own stated uncertainty.

Draws questions (prices, a mix, an objective, with or without a deadline) over a catalogue of 28 clusters, answers each
as `assay recommend` does, and draws worlds with a known truth. In a world, processors, devices, links and fixed costs
differ as the answer's uncertainty permits, every cluster is simulated with these values, the simulator errs as its
error model states, costs extrapolate within the stated range, every run scatters by 5 %, and prices are within their
ranges. The answer is less exact: it takes log times as linear in each input, and simulates only a part of the clusters.
So the benchmark tests whether the stated certainty follows from the stated uncertainty. docs/measurements/simulator.md
has the simulator's errors on real clusters.

Run it with ``python benchmarks/recommend_errors.py``; it prints a Markdown table. Needs the simulator.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis.cost.pareto import PricedRates
from assay.estimation.recommendation.candidates import candidates
from assay.estimation.simulator.draws import DEVICE_SIGMA, LINK_SIGMA, REPETITION_SIGMA, cpu_sigma, log_sigma
from assay.estimation.simulator.error_model import REMAINDER_SIGMA, SIGMAS, Z90
from assay.estimation.simulator.pool import SimulatorPool
from assay.estimation.simulator.process import SimulationResult
from assay.estimation.simulator.scenario import shares_of
from assay.execution.planning.plan_files.hardware_file import catalogue_of
from assay.model import YEAR_H, PriceBook
from assay.questions.costs.mix import DAY_S
from assay.questions.forecasts.learning import shipped_profile
from assay.questions.recommendation.clusters.choice import Choice
from assay.questions.recommendation.finalists import FAR_SIGMA
from assay.questions.recommendation.measured_types import TimeSources
from assay.questions.recommendation.recommend import Recommendation, recommend
from assay.questions.recommendation.request import Objective, RecommendRequest
from assay.questions.recommendation.search import ClusterSearch, start_search
from assay.questions.recommendation.sensitivity import hardware_of
from assay.specs.prices import prices_of

Array = NDArray[np.float64]
Rng = np.random.Generator
CATALOGUE = """\
catalogue: small
source: a benchmark
parameters: {dfs.replication: 2}
workers:
  node:
    count: [3, 5]
    cores: 8
    cpu: {speed: 3, low: 2, high: 4}
    memory: 32GB
    networks: {1G: 1Gbit/s, 10G: 10Gbit/s}
    devices:
      hdd: {kind: hdd, count: [0, 2, 4], read: 150MB/s, write: 150MB/s, iops: 120, capacity: 1TB}
      ssd: {kind: ssd, count: [0, 1], read: 500MB/s, write: 450MB/s, capacity: 1TB}
"""
PRICES = """\
prices: small
currency: USD
date: 2026-01-01
source: a benchmark
amortisation: {{years: 3}}
items:
  - {{name: node, price: "${node}", per: node, low: "${low}", high: "${high}"}}
  - {{name: hdd, price: "$200", per: device, device: hdd}}
  - {{name: ssd, price: "${ssd}", per: device, device: ssd}}
  - {{name: port, price: "${port}", per: port, when: {{network: [10G]}}}}
"""
CERTAIN_MIN = 0.9
"""Minimum share of draws in which the hardware is the best, for an answer that counts as certain."""


@dataclass(frozen=True)
class World:
    """The truth in one world: by cluster (row), times by workload in seconds, and money over the years."""

    times_s: Array
    bills: Array
    rates_per_h: Array


@dataclass(frozen=True)
class AnsweredQuestion:
    """One question with its answer, and the search from which worlds are drawn."""

    question: RecommendRequest
    answer: Recommendation
    search: ClusterSearch


@dataclass(frozen=True)
class ScoredAnswer:
    """One answer in one world. ``regret``: additional cost over the best, a share; inf: a limit was exceeded."""

    claimed: float
    """Stated probability that the chosen hardware is the best."""
    best: bool
    """Whether it is the best."""
    too_close: bool
    extrapolated: bool
    named: bool
    """Whether the best hardware is the chosen one or the runner-up."""
    claimed_for_two: float
    """Share of draws in which the hardware of the best estimate or of the runner-up is the best."""
    regret: float
    claimed_keep: float
    """Stated probability that the choice meets every limit."""
    kept: bool
    """Whether it meets every limit."""
    holds_time: bool
    holds_bill: bool
    holds_runs: tuple[bool, ...]


def drawn_question(rng: Rng) -> tuple[RecommendRequest, PriceBook]:
    """Return a random question, with prices."""
    node = float(rng.uniform(2_000, 8_000))
    amounts = {"node": node, "low": node * 0.85, "high": node * 1.3}
    amounts |= {"ssd": float(rng.uniform(100, 1_500)), "port": float(rng.uniform(50, 800))}
    text = PRICES.format(**{name: round(value) for name, value in amounts.items()})
    sizes = rng.integers(2, 20, 2)
    works = (f"terasort:{sizes[0]}GB:{int(rng.integers(1, 20))}/day", f"wordcount:{sizes[1]}GB:daily")
    deadline = float(np.exp(rng.uniform(math.log(30), math.log(240)))) if rng.random() < 0.5 else None
    objective = list(Objective)[int(rng.integers(3))]
    limit = "" if deadline is None else f"{deadline:.3f}s"
    question = RecommendRequest(works, deadline=limit, minimize=objective, seed=int(rng.integers(2**31)))
    return question, prices_of(text, "drawn")


def worlds(answered: AnsweredQuestion, pool: SimulatorPool, count: int, rng: Rng) -> Iterator[World]:
    """Yield worlds, drawn from the uncertainty that the answer states."""
    search, works = answered.search, answered.search.works
    rows, profile = search.rows, search.profile
    option = search.candidates.machines[0].option
    cpu = math.hypot(cpu_sigma(profile), math.log(option.cpu_speed_high / option.cpu_speed_low) / (2 * Z90))
    sigmas = {"cpu": cpu, "disks": DEVICE_SIGMA, "links": LINK_SIGMA, "fixed": log_sigma(profile.costs.job_start_s)}
    doublings = _doublings(search)
    for _ in range(count):
        draw = {name: math.exp(sigma * rng.standard_normal()) for name, sigma in sigmas.items()}
        simulations = [search.scenario(int(row), work, draw) for row in rows for work in works]
        answers = list(pool.simulate_each([document for _, _, document in simulations]))
        errors = {name: sigma * rng.standard_normal() for name, sigma in SIGMAS.items()}
        logs = []
        for (scenario, _, _), answer in zip(simulations, answers, strict=True):
            assert isinstance(answer, SimulationResult)
            simulator_error = sum(
                share * errors.get(name, 0.0) for name, share in shares_of(scenario, [answer]).items()
            )
            logs.append(math.log(answer.duration_s) + simulator_error)
        log_s = np.reshape(logs, (len(rows), len(works))) + FAR_SIGMA * rng.standard_normal() * doublings
        log_s += rng.normal(0, math.hypot(REMAINDER_SIGMA, REPETITION_SIGMA), log_s.shape)
        rates = _rates(search.priced(rows), rng)
        yield World(np.exp(log_s), rates * search.constraints.years * YEAR_H, rates)


def _doublings(search: ClusterSearch) -> Array:
    """Return the doublings of the data per worker, and of the workers, beyond the learned range: rows × workloads."""
    learned, workers = search.profile.learned, search.candidates.workers[search.rows].astype(np.float64)
    beyond = np.log2(np.maximum(1.0, workers / max(1, learned.workers_max)))
    columns = []
    for work in search.works:
        known_bytes = search.profile.workloads[work.workload].data_bytes_max / (learned.lab_scale or 1.0)
        data_ratio = work.data_bytes / workers / max(1.0, known_bytes / max(1, learned.workers_max))
        columns.append(np.log2(np.maximum(1.0, data_ratio)) + beyond)
    return np.stack(columns, axis=1)


def _rates(priced_rates: PricedRates, rng: Rng) -> Array:
    amounts = priced_rates.amounts.copy()
    for index, price in enumerate(priced_rates.prices):
        if price.low < price.high:
            amounts[index] = rng.triangular(float(price.low), float(price.amount), float(price.high))
    rates: Array = priced_rates.factors @ amounts
    return rates


def score(answered: AnsweredQuestion, chosen: Choice, world: World) -> ScoredAnswer:
    """Return how the answer fits one world."""
    search, limits = answered.search, answered.search.constraints
    day_s = world.times_s @ search.per_day
    meets_limits = day_s <= DAY_S
    if limits.deadline_s is not None:
        meets_limits &= world.times_s.max(axis=1) <= limits.deadline_s
    objective = {
        Objective.TIME: day_s,
        Objective.DAY_COST: world.rates_per_h * day_s / 3600,
        Objective.PRICE: world.bills,
    }[search.objective]
    levels = [search.candidates.levels(int(row)) for row in search.rows]
    index = levels.index(dict(chosen.levels))
    feasible_objective = np.where(meets_limits, objective, np.inf)
    best_row = int(np.argmin(feasible_objective))
    answer, winner = answered.answer, hardware_of(levels[best_row])
    is_same_hardware = winner == hardware_of(chosen.levels)
    runner_up = answer.runner_up is not None and winner == hardware_of(answer.runner_up.levels)
    feasible = bool(np.isfinite(feasible_objective[best_row]))
    return ScoredAnswer(
        claimed=chosen.hardware_probability,
        best=feasible and is_same_hardware,
        too_close=answer.too_close,
        extrapolated=answer.extrapolated,
        named=feasible and (is_same_hardware or runner_up),
        claimed_for_two=min(
            1.0, chosen.hardware_probability + (answer.runner_up.hardware_probability if answer.runner_up else 0.0)
        ),
        regret=float(feasible_objective[index] / feasible_objective[best_row] - 1)
        if np.isfinite(feasible_objective[best_row])
        else math.inf,
        claimed_keep=chosen.keeps_probability,
        kept=bool(meets_limits[index]),
        holds_time=bool(chosen.day_low_s <= day_s[index] <= chosen.day_high_s),
        holds_bill=bool(chosen.bill_low * (1 - 1e-9) <= world.bills[index] <= chosen.bill_high * (1 + 1e-9)),
        holds_runs=tuple(
            interval.low_s <= time <= interval.high_s
            for interval, time in zip(chosen.times, world.times_s[index].tolist(), strict=True)
        ),
    )


def scores(questions: int, worlds_each: int, seed: int) -> Iterator[list[ScoredAnswer] | None]:
    """Yield the scores of each question in ``worlds_each`` worlds; None where nothing was recommended."""
    rng, profile, catalogue = np.random.default_rng(seed), shipped_profile(), catalogue_of(CATALOGUE)
    all_candidates = candidates(catalogue)
    with SimulatorPool(1) as pool:
        for _ in range(questions):
            question, book = drawn_question(rng)
            answer = recommend(question, catalogue, book, TimeSources(profile), pool)
            search = start_search(question, all_candidates, book, profile, pool)
            answered = AnsweredQuestion(question, answer, search)
            if answer.chosen is None:
                yield None
                continue
            yield [score(answered, answer.chosen, world) for world in worlds(answered, pool, worlds_each, rng)]


def lines(answers: Sequence[list[ScoredAnswer] | None]) -> Iterator[tuple[str, str, str]]:
    """Yield each statement with its stated and its actual frequency."""
    scored_answers = [item for answer in answers if answer is not None for item in answer]
    yield ("questions with a recommendation", "–", f"{np.mean([answer is not None for answer in answers]):.1%}")
    claimed = float(np.mean([item.claimed for item in scored_answers]))
    yield "its hardware is the best, mean", f"{claimed:.1%}", f"{np.mean([item.best for item in scored_answers]):.1%}"
    for low, high in ((0.0, 0.5), (0.5, CERTAIN_MIN), (CERTAIN_MIN, 1.01)):
        answers_in_range = [item for item in scored_answers if low <= item.claimed < high]
        if answers_in_range:
            mean_claim = float(np.mean([item.claimed for item in answers_in_range]))
            name = f"the same, where {low:.0%} to {min(high, 1):.0%} is stated ({len(answers_in_range)})"
            yield name, f"{mean_claim:.1%}", f"{np.mean([item.best for item in answers_in_range]):.1%}"
    clear_answers = [item for item in scored_answers if not item.too_close]
    if clear_answers:
        claim = float(np.mean([item.claimed for item in clear_answers]))
        yield (
            f"recommended: its hardware is the best ({len(clear_answers)})",
            f"{claim:.1%}",
            f"{np.mean([item.best for item in clear_answers]):.1%}",
        )
    close_answers = [item for item in scored_answers if item.too_close]
    if close_answers:
        yield (
            f"too close to call: the best estimate is the best ({len(close_answers)})",
            "-",
            f"{np.mean([item.best for item in close_answers]):.1%}",
        )
        claim_for_two = float(np.mean([item.claimed_for_two for item in close_answers]))
        named_share = float(np.mean([item.named for item in close_answers]))
        yield "too close to call: the best is one of the two named", f"{claim_for_two:.1%}", f"{named_share:.1%}"
    yield "extrapolated", "-", f"{np.mean([item.extrapolated for item in scored_answers]):.1%}"
    mean_claim = float(np.mean([item.claimed_keep for item in scored_answers]))
    yield "it meets every limit", f"{mean_claim:.1%}", f"{np.mean([item.kept for item in scored_answers]):.1%}"
    yield (
        "the time of a day's work is in its interval",
        "90.0%",
        f"{np.mean([item.holds_time for item in scored_answers]):.1%}",
    )
    runs = [held for item in scored_answers for held in item.holds_runs]
    yield "the time of a run is in its interval", "90.0%", f"{np.mean(runs):.1%}"
    yield "the cost is in its interval", "90.0%", f"{np.mean([item.holds_bill for item in scored_answers]):.1%}"
    regrets = np.array([item.regret for item in scored_answers])
    worst = float(np.quantile(regrets, 0.95, method="lower"))
    worst_text = "a limit is exceeded" if math.isinf(worst) else f"{worst:.1%}"
    yield "regret, mean over the answers that meet every limit", "–", f"{regrets[np.isfinite(regrets)].mean():.1%}"
    yield "regret, 95th percentile", "–", worst_text


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--worlds", type=int, default=10, help="Worlds of each question.")
    options = parser.parse_args()
    answers = list(scores(options.questions, options.worlds, seed=9))
    print("| statement | stated frequency | actual frequency |\n|---|---|---|")
    for cells in lines(answers):
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
