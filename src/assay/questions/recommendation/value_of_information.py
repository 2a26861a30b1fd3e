"""Draw the uncertain inputs of a recommendation, and estimate the value of information about each of them.

In: the simulated times of the finalists, their sensitivity to each uncertain input, and price ranges. Out: draws of
time and money, in which every input is drawn once for all clusters, so that errors that clusters share cancel; and for
each input the value of knowing it.

The logarithm of a run's time is assumed to be linear in each input: in CPU, disks, links and fixed costs with the slope
that the simulator shows, in the simulator's own errors with the share of time that each resource limited
(:mod:`assay.estimation.simulator.error_model`). The value of an input is its expected value of partial perfect
information, estimated by regressing each cluster's loss on it (Strong, Oakley, Brennan, Medical Decision Making 2014).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.cost.pareto import PricedRates
from assay.analysis.statistics import Floats, Mask
from assay.estimation.simulator.error_model import REMAINDER_SIGMA, SIGMAS

DRAWS = 2000
"""Default number of draws."""
_DEGREE = 3
"""Degree of the polynomial regression of losses on an input."""
_SHUFFLES = 5
"""Number of shuffles that estimate the value due to chance."""
_MEASURE_DEVICE = "measure a bare device (assay baseline, or fio and assay device calibrate)"
INPUT_TEXTS: Mapping[str, tuple[str, str]] = {
    "cpu": (
        "CPU time of the workloads",
        "run the workloads on one of these machines and learn from it (assay run, assay learn)",
    ),
    "hdd": ("speed of the hard disks", _MEASURE_DEVICE),
    "flash": ("speed of the flash drives", _MEASURE_DEVICE),
    "links": ("speed of the network links", "measure a link (assay baseline, which runs iperf3)"),
    "fixed": (
        "fixed cost of a job",
        "run the smallest job on these machines and learn from it (assay run, assay learn)",
    ),
    "model:cpu": ("simulator error where CPU is the bottleneck", "a measured CPU-bound run, as anchor (assay whatif)"),
    "model:hdd": (
        "simulator error where hard disks are the bottleneck",
        "a measured run on these hard disks, as anchor (assay whatif)",
    ),
    "model:flash": (
        "simulator error where flash drives are the bottleneck",
        "a measured run on these flash drives, as anchor (assay whatif)",
    ),
    "model:network": (
        "simulator error where links are the bottleneck",
        "a measured run on this network, as anchor (assay whatif)",
    ),
    "model:fixed": ("simulator error in fixed costs", "a measured run of a small job (assay run)"),
    "size": (
        "growth of costs beyond the learned data size",
        "a measured run with more data per worker (assay run, assay learn)",
    ),
}
"""Uncertain input to its name in words and how to measure it."""


def input_text(name: str) -> tuple[str, str]:
    """Return an uncertain input in words, and how to measure it."""
    kind, _, price = name.partition(":")
    if kind == "type":
        return f"error of the predicted times on {price}", f"runs on {price} (assay run, or assay import)"
    return (f"price of {price}", "a binding offer") if kind == "price" else INPUT_TEXTS[name]


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """One uncertain input, the value of information about it, and how to measure it."""

    name: str
    what: str
    value: float
    """Mean loss avoided by knowing it, in units of the objective: money, or seconds per day."""
    share: float
    """Share of the value of perfect information."""
    measurement: str


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Change of the logarithm of times (finalists × workloads) for one standard deviation of an uncertain input."""

    name: str
    slopes: Floats


@dataclass(frozen=True, slots=True)
class InputDraws:
    """Draws of times, prices and inputs.

    ``times_s``: draws × finalists × workloads. ``rates_per_h``: draws × finalists.
    """

    times_s: Floats
    rates_per_h: Floats
    inputs: Mapping[str, Floats]
    """Uncertain input to its draws."""


def model_errors(shares: Sequence[Sequence[Mapping[str, float]]]) -> list[Sensitivity]:
    """Return the sensitivity to the simulator's own errors; ``shares`` of time by resource: finalists × workloads."""
    return [
        Sensitivity(
            f"model:{name}",
            np.array([[job_shares.get(name, 0.0) * sigma for job_shares in row_shares] for row_shares in shares]),
        )
        for name, sigma in SIGMAS.items()
    ]


def draw_inputs(
    middle_s: Floats,
    sensitivities: Sequence[Sensitivity],
    prices: PricedRates,
    seed: int,
    run_sigma: float = 0.0,
    draws: int = DRAWS,
) -> InputDraws:
    """Return the draws. With the same seed, an input has the same draws for every set of finalists.

    ``run_sigma``: standard deviation of the logarithm of single runs around their mean.
    """
    inputs: dict[str, Floats] = {}
    log_s = np.repeat(np.log(middle_s)[None, :, :], draws, axis=0)
    for number, sensitivity in enumerate(sensitivities):
        if np.any(sensitivity.slopes):
            values = np.random.default_rng((seed, 1, number)).standard_normal(draws)
            inputs[sensitivity.name] = values
            log_s += values[:, None, None] * sensitivity.slopes
    residuals = np.random.default_rng((seed, 2)).standard_normal(log_s.shape)
    log_s += residuals * np.hypot(REMAINDER_SIGMA, run_sigma)
    amounts = np.tile(prices.amounts, (draws, 1))
    for number, price in enumerate(prices.prices):
        if price.low < price.high and np.any(prices.factors[:, number] > 0):
            low, middle, high = float(price.low), float(price.amount), float(price.high)
            amounts[:, number] = np.random.default_rng((seed, 3, number)).triangular(low, middle, high, draws)
            inputs[f"price:{price.name}"] = (amounts[:, number] - middle) / (high - low)
    rates_per_h: Floats = amounts @ prices.factors.T
    return InputDraws(np.exp(log_s), rates_per_h, inputs)


def losses(objective: Floats, is_kept: Mask) -> Floats:
    """Return the loss of each choice in each draw (draws × finalists): its objective, plus a second cluster's if it
    breaks a constraint.

    The second cluster is the best that keeps all constraints in that draw, or the most expensive where none does.
    """
    best_objective = np.where(is_kept, objective, np.inf).min(axis=1, keepdims=True)
    second_loss = np.where(np.isfinite(best_objective), best_objective, objective.max(axis=1, keepdims=True))
    loss: Floats = objective + np.where(is_kept, 0.0, second_loss)
    return loss


def value_of_information(values: Floats, loss: Floats, chosen_finalist: int, seed: int) -> float:
    """Return the mean loss avoided by knowing one input, compared with always choosing ``chosen_finalist``.

    The estimate for shuffled draws of the input, which is due to chance, is subtracted.
    """
    generator = np.random.default_rng((seed, 4))
    by_chance = [_avoided_loss(generator.permutation(values), loss, chosen_finalist) for _ in range(_SHUFFLES)]
    return max(0.0, _avoided_loss(values, loss, chosen_finalist) - float(np.mean(by_chance)))


def _avoided_loss(values: Floats, loss: Floats, chosen_finalist: int) -> float:
    basis = np.vander(values / max(float(np.std(values)), 1e-12), _DEGREE + 1)
    fitted_loss = basis @ np.linalg.lstsq(basis, loss, rcond=None)[0]
    return float(np.mean(fitted_loss[:, chosen_finalist] - fitted_loss.min(axis=1)))


def value_of_perfect_information(loss: Floats, chosen_finalist: int) -> float:
    """Return the mean loss avoided by knowing every input."""
    return float(np.mean(loss[:, chosen_finalist] - loss.min(axis=1)))


def best_shares(objective: Floats, is_kept: Mask) -> Floats:
    """Return the share of draws in which each finalist is the best that keeps the constraints; ties share a draw."""
    allowed_objective = np.where(is_kept, objective, np.inf)
    is_best = (allowed_objective == allowed_objective.min(axis=1, keepdims=True)) & np.isfinite(allowed_objective)
    shares: Floats = (is_best / np.maximum(1, is_best.sum(axis=1, keepdims=True))).mean(axis=0)
    return shares
