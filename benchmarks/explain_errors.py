"""Measure how often `assay explain` is wrong: importance of factors, the strongest factor, the unexplained rest.

Draws repositories whose times follow a formula of six factors: *nothing* matters, *one* factor is faster on one level,
or *several* matter and two of them interact. Single runs of 60 of the 384 configurations scatter by 5 %. A model learns
from them and explains them as `assay explain` does. The true importance of a factor is the variance that it causes,
with everything else as measured, divided by the variance of the times.

Run it with ``python benchmarks/explain_errors.py``; it prints a Markdown table. With 500 repositories per row, the 95 %
interval of a rate of 5 % is ±2 %.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis.statistics.runs.run_table import Column, RunTable, coded
from assay.estimation.prediction.explaining import FactorImportance, explain
from assay.estimation.prediction.model import learn

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Rng = np.random.Generator
FACTORS = {
    "layout": 2,
    "network": 2,
    "mapreduce.map.output.compress": 2,
    "dfs.blocksize": 4,
    "mapreduce.tasktracker.map.tasks.maximum": 4,
    "dfs.replication": 3,
}
NAMES = tuple(FACTORS)
PAIR = ("layout", "mapreduce.map.output.compress")
SCATTER = 0.05


@dataclass(frozen=True)
class World:
    """Log times by level of each factor, and the additional effect of the second levels of the pair."""

    effects: Mapping[str, Array]
    pair: float = 0.0

    def logs(self, codes: Codes) -> Array:
        """Return the log times of configurations without scatter."""
        effects: Array = np.sum([self.effects[name][codes[:, column]] for column, name in enumerate(NAMES)], axis=0)
        second_levels = [codes[:, NAMES.index(name)] == 1 for name in PAIR]
        effects += self.pair * (second_levels[0] & second_levels[1])
        return effects

    def shares(self, codes: Codes) -> dict[str, float]:
        """Return each factor's share of the variance of times among these configurations."""
        total_variance = float(self.logs(codes).var()) + SCATTER**2
        return {name: self._variance(codes, column) / total_variance for column, name in enumerate(NAMES)}

    def _variance(self, codes: Codes, column: int) -> float:
        weights = np.bincount(codes[:, column], minlength=FACTORS[NAMES[column]]) / len(codes)
        means = []
        for level in range(FACTORS[NAMES[column]]):
            changed_codes = codes.copy()
            changed_codes[:, column] = level
            means.append(float(self.logs(changed_codes).mean()))
        variance = float(weights @ np.square(np.array(means) - weights @ np.array(means)))
        return variance if variance > 1e-12 else 0.0


def no_effect(rng: Rng) -> World:
    """Return a world in which nothing matters."""
    del rng
    return World({name: np.zeros(levels) for name, levels in FACTORS.items()})


def one_factor(gain: float, rng: Rng) -> World:
    """Return a world in which one factor is ``gain`` times faster on one level."""
    effects = dict(no_effect(rng).effects)
    name = NAMES[int(rng.integers(len(NAMES)))]
    effects[name] = -math.log(gain) * (np.arange(FACTORS[name]) == 0)
    return World(effects)


def several_factors(rng: Rng) -> World:
    """Return a world in which four factors matter, each half as much as the one before, and two interact."""
    effects = dict(no_effect(rng).effects)
    for name, size in zip(rng.permutation(NAMES)[:4].tolist(), (0.3, 0.15, 0.08, 0.04), strict=True):
        effects[name] = rng.permutation(np.linspace(-size, size, FACTORS[name]))
    return World(effects, 0.15)


WORLDS: Mapping[str, Callable[[Rng], World]] = {
    "nothing": no_effect,
    "one, 1.1 times": lambda rng: one_factor(1.1, rng),
    "one, 1.3 times": lambda rng: one_factor(1.3, rng),
    "several": several_factors,
}


@dataclass(frozen=True)
class ScoredShares:
    """The estimated importance of factors in one repository, and the truth."""

    estimate: FactorImportance
    shares: Mapping[str, float]
    paired: bool = False
    """Whether the pair interacts."""

    @property
    def held(self) -> list[bool]:
        """Whether the interval of each factor that matters holds its true share."""
        return [
            low_high(factor.share)[0] <= self.shares[factor.factor] <= low_high(factor.share)[1]
            for factor in self.estimate.factors
            if self.shares[factor.factor] > 0
        ]

    @property
    def invented(self) -> bool:
        """Whether a factor without effect gets an interval above 0."""
        return any(
            low_high(factor.share)[0] > 0 and self.shares[factor.factor] == 0 for factor in self.estimate.factors
        )

    @property
    def pairs_invented(self) -> list[bool]:
        """Whether the interval of each pair without interaction is above 0."""
        independent_pairs = [
            pair for pair in self.estimate.pairs if not (self.paired and set(pair.factors) == set(PAIR))
        ]
        return [low_high(pair.share)[0] > 0 for pair in independent_pairs]

    @property
    def first_right(self) -> bool | None:
        """Whether the factor ranked first is the strongest; None if no interval is above 0, or no factor matters."""
        first = self.estimate.factors[0]
        if not any(self.shares.values()) or low_high(first.share)[0] <= 0:
            return None
        return self.shares[first.factor] == max(self.shares.values())


def low_high(share: object) -> tuple[float, float]:
    """Return the ends of an estimate."""
    return float(getattr(share, "low", None) or 0.0), float(getattr(share, "high", None) or 0.0)


def score(world: World, configurations: int, rng: Rng) -> ScoredShares:
    """Return the estimate from one run of each of ``configurations`` configurations."""
    drawn_configurations = rng.choice(math.prod(FACTORS.values()), configurations, replace=False)
    codes = np.stack(np.unravel_index(drawn_configurations, tuple(FACTORS.values())), axis=1)
    logs = 6 + world.logs(codes) + rng.normal(0, SCATTER, configurations)
    columns: dict[str, Column] = {
        name: coded([str(10 * level + 1) for level in codes[:, column].tolist()]) for column, name in enumerate(NAMES)
    }
    constant_levels = {"workload": "terasort", "cluster": "one", "status": "valid", "origin": "measured"}
    columns |= {name: coded([level] * configurations) for name, level in constant_levels.items()}
    table = RunTable(np.arange(configurations), columns, {"duration_s": np.exp(logs)})
    return ScoredShares(explain(learn(table), table), world.shares(codes), world.pair != 0)


def repositories(name: str, count: int, configurations: int, seed: int) -> Iterator[ScoredShares]:
    """Yield the estimates of ``count`` repositories."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield score(WORLDS[name](rng), configurations, rng)


def cells(scores: Sequence[ScoredShares]) -> list[str]:
    """Return a row of the table."""
    in_interval = [in_interval for item in scores for in_interval in item.held]
    ranked_right = [right for item in scores if (right := item.first_right) is not None]
    return [
        f"{np.mean([item.invented for item in scores]):.1%}",
        f"{np.mean([invented for item in scores for invented in item.pairs_invented]):.1%}",
        f"{1 - np.mean(ranked_right):.1%} of {len(ranked_right)}" if ranked_right else "–",
        f"{np.mean(in_interval):.1%}" if in_interval else "–",
        f"{np.mean([item.estimate.rest for item in scores]):.0%}",
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repositories", type=int, default=500)
    parser.add_argument("--configurations", type=int, default=60)
    parser.add_argument("--only", default="", help="Only worlds whose name begins with this text.")
    options = parser.parse_args()
    print(
        "| what matters | any factor said to matter that does not | a pair, of each | another is said to matter most "
        "| intervals hold the share | left over, mean |"
    )
    print("|---|---|---|---|---|---|")
    for name in (name for name in WORLDS if name.startswith(options.only)):
        scores = list(repositories(name, options.repositories, options.configurations, seed=4))
        print(f"| {name} | " + " | ".join(cells(scores)) + " |", flush=True)


if __name__ == "__main__":
    main()
