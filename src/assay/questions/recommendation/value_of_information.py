"""How sure a choice among clusters is, and what would make it surer.

In: what the simulator said of the finalists, how their times follow from what is uncertain, ranges of prices. Out:
draws of time and money in which everything uncertain is drawn together and once for all clusters, so that what they
share cancels; and for each uncertain thing what knowing it would be worth.

The logarithm of a run's time is taken to follow each uncertain thing in a straight line: CPU, disks, links and fixed
costs by what the simulator says when they change, its own errors by the share of the time in which each resource was
the limit (:mod:`assay.estimation.simulator.error_model`). The worth of knowing one thing is the expected value of
partial perfect information, by regression of each cluster's loss on it (Strong, Oakley, Brennan, Medical Decision
Making 2014).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.cost.pareto import Priced
from assay.analysis.statistics import Floats, Mask
from assay.estimation.simulator.error_model import REST_SIGMA, SIGMAS

DRAWS = 2000
_DEGREE = 3
_SHUFFLES = 5
WORDS: Mapping[str, tuple[str, str]] = {
    "cpu": (
        "what CPU the workloads take",
        "run the workloads on one such machine and learn from it (assay run, assay learn)",
    ),
    "hdd": (
        "how fast the hard disks are",
        "measure one of them bare (assay baseline, or fio and assay device calibrate)",
    ),
    "flash": ("how fast the flash is", "measure one of them bare (assay baseline, or fio and assay device calibrate)"),
    "links": ("how fast the links are", "measure one bare (assay baseline, which runs iperf3)"),
    "fixed": (
        "what every job costs",
        "run the smallest job on such machines and learn from it (assay run, assay learn)",
    ),
    "model:cpu": (
        "the simulator's error where CPU is the limit",
        "a measured run that waits for its CPU, as anchor (assay whatif)",
    ),
    "model:hdd": (
        "the simulator's error where hard disks are the limit",
        "a measured run on such hard disks, as anchor (assay whatif)",
    ),
    "model:flash": (
        "the simulator's error where flash is the limit",
        "a measured run on such flash, as anchor (assay whatif)",
    ),
    "model:network": (
        "the simulator's error where links are the limit",
        "a measured run on such a network, as anchor (assay whatif)",
    ),
    "model:fixed": ("the simulator's error in fixed costs", "a measured run of a small job (assay run)"),
    "size": (
        "how costs grow beyond what was learned",
        "a measured run with more data on each worker (assay run, assay learn)",
    ),
}
"""Uncertain thing to what it is, and how it is measured."""


@dataclass(frozen=True, slots=True)
class Follows:
    """How the logarithm of times (finalists × workloads) follows one uncertain thing, for one spread of it."""

    name: str
    slopes: Floats


@dataclass(frozen=True, slots=True)
class Drawn:
    """Draws of everything. ``times_s``: draws × finalists × workloads; ``bills`` and ``rates``: draws × finalists."""

    times_s: Floats
    rates_per_h: Floats
    things: Mapping[str, Floats]
    """Uncertain thing to its draws."""


def model_errors(shares: Sequence[Sequence[Mapping[str, float]]]) -> list[Follows]:
    """Return how times follow the simulator's own errors: by finalist and workload, shares of the time by resource."""
    found = []
    for name, sigma in SIGMAS.items():
        slopes = np.array([[own.get(name, 0.0) * sigma for own in each] for each in shares])
        found.append(Follows(f"model:{name}", slopes))
    return found


def drawn(
    middle_s: Floats, follows: Sequence[Follows], book: Priced, seed: int, scatter: float = 0.0, draws: int = DRAWS
) -> Drawn:
    """Return the draws; the same seed gives the same numbers whatever else is among the finalists.

    ``scatter``: of single runs around their mean, in the logarithm.
    """
    things: dict[str, Floats] = {}
    log_s = np.repeat(np.log(middle_s)[None, :, :], draws, axis=0)
    for place, one in enumerate(follows):
        if not np.any(one.slopes):
            continue
        things[one.name] = np.random.default_rng((seed, 1, place)).standard_normal(draws)
        log_s += things[one.name][:, None, None] * one.slopes
    own = np.random.default_rng((seed, 2)).standard_normal(log_s.shape)
    log_s += own * np.hypot(REST_SIGMA, scatter)
    amounts = np.tile(book.amounts, (draws, 1))
    for place, price in enumerate(book.prices):
        if price.low < price.high and np.any(book.factors[:, place] > 0):
            low, middle, high = float(price.low), float(price.amount), float(price.high)
            amounts[:, place] = np.random.default_rng((seed, 3, place)).triangular(low, middle, high, draws)
            things[f"price:{price.name}"] = (amounts[:, place] - middle) / (high - low)
    rates: Floats = amounts @ book.factors.T
    return Drawn(np.exp(log_s), rates, things)


def losses(objective: Floats, kept: Mask) -> Floats:
    """Return what each choice costs in each draw (draws × finalists): who misses a limit buys again.

    That is the best that keeps it in that draw, or the dearest of all where none does.
    """
    least = np.where(kept, objective, np.inf).min(axis=1, keepdims=True)
    again = np.where(np.isfinite(least), least, objective.max(axis=1, keepdims=True))
    found: Floats = objective + np.where(kept, 0.0, again)
    return found


def worth_of_knowing(thing: Floats, loss: Floats, chosen: int, seed: int) -> float:
    """Return what knowing one thing saves on average, against choosing ``chosen`` whatever it is; what chance alone
    would show is taken off.
    """
    shuffled = np.random.default_rng((seed, 4))
    found = _saved(thing, loss, chosen)
    by_chance = [_saved(shuffled.permutation(thing), loss, chosen) for _ in range(_SHUFFLES)]
    return max(0.0, found - float(np.mean(by_chance)))


def _saved(thing: Floats, loss: Floats, chosen: int) -> float:
    basis = np.vander(thing / max(float(np.std(thing)), 1e-12), _DEGREE + 1)
    fitted = basis @ np.linalg.lstsq(basis, loss, rcond=None)[0]
    return float(np.mean(fitted[:, chosen] - fitted.min(axis=1)))


def worth_of_everything(loss: Floats, chosen: int) -> float:
    """Return what knowing everything would save on average."""
    return float(np.mean(loss[:, chosen] - loss.min(axis=1)))
