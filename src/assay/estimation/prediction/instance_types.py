"""Predict times on instance types that were never measured, by a Gaussian process over jobs, sizes and hardware.

In: configurations as a table (one row each), and logarithms of their times. Out: by row, the expected logarithm and its
standard deviation. The logarithm of a time is a sum of parts, each normally distributed, whose variances are learned
from the table (restricted to plausible values by a prior) with the exact likelihood:

- the job, its parameters, and each combination of a job and parameters (a case);
- the number of all virtual processors, the number of workers and the memory of the cluster, as lines and as smooth
  curves, one set for all jobs and one for each job;
- clock, memory, network and disks per processor, as lines, one set for all jobs and one for each job;
- an offset of each family of instance types and of each type, one for all jobs and one for each job.

The method is kriging with additive kernels (C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine
Learning (2006), chapters 2 and 5). The variance of an offset has a prior, so that two types with equal times do not
suggest that a third is equal. Types are left out in turn, without learning the variances again. Where their errors
exceed the expected ones, intervals become wider. The width is that of a Student's t whose degrees of freedom are
the number of types plus :data:`PRIOR_TYPES` - 1.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from assay.analysis.statistics import Floats, Ints, RunTable
from assay.estimation.prediction.calibration import LEVEL
from assay.estimation.prediction.features import (
    CORES,
    HARDWARE,
    INSTANCE_TYPE,
    MEMORY,
    WORKERS,
    Encoding,
    instance_types_of,
)

Texts = NDArray[np.str_]
ROWS_MAX = 600
"""Maximum number of configurations to learn from. As many as possible are taken of each type, at random."""
VARIANCE_ROWS_MAX = 300
"""Maximum number of configurations from which the variances are learned. The time grows with the cube of it."""
ESTIMATED_ROWS_MAX = 2_000
"""Maximum number of configurations that are estimated at a time, which limits memory."""
NUMBERS = ("parameters", "processors", "workers", "memory", "hardware")
"""Fields of :class:`ProcessInputs` with numbers."""
TEXTS = ("jobs", "types", "families")
"""Fields of :class:`ProcessInputs` with names."""
PRIOR_TYPES = 4.0
"""Weight of the prior of an interval's width, in instance types that were left out."""
STEPS_MAX = 60
"""Maximum number of steps of the search for the most likely variances."""
PRIOR_SPREAD = 1.0
"""Standard deviation of the logarithm of each standard deviation before any time is known."""
LENGTH = 1.0
"""Distance of logarithms over which a smooth curve changes."""
DEVIATIONS = {
    "job": 2.0,
    "job × parameters, line": 0.5,
    "job × parameters": 0.4,
    "case": 0.15,
    "processors, line": 0.5,
    "processors": 0.2,
    "job × processors, line": 0.3,
    "job × processors": 0.1,
    "case × processors": 0.05,
    "workers, line": 0.1,
    "job × workers, line": 0.1,
    "memory": 0.1,
    "job × memory": 0.15,
    "case × memory": 0.05,
    "hardware, line": 0.15,
    "job × hardware, line": 0.1,
    "family": 0.1,
    "job × family": 0.07,
    "type": 0.07,
    "job × type": 0.05,
    "scatter": 0.04,
}
"""Prior median of each part's standard deviation, in logarithms of time; of lines per unit of their variable."""


def family_of(name: str) -> str:
    """Return the family of an instance type: ``c4`` of ``c4.2xlarge``, ``Standard_D_v2`` of ``Standard_D4_v2``."""
    if "." in name:
        return name.split(".", 1)[0]
    return re.sub(r"-\d+$", "", re.sub(r"^([A-Za-z]+_[A-Z]+)\d+", r"\1", name))


@dataclass(frozen=True, slots=True)
class ProcessInputs:
    """The inputs of the process: the rows of a table as numbers and names."""

    jobs: Texts
    types: Texts
    families: Texts
    parameters: Floats
    """The job's parameters: numbers, and 1 or 0 for each level of a text."""
    processors: Floats
    """Logarithm of the number of all virtual processors, one column."""
    workers: Floats
    """Logarithm of the number of workers, one column."""
    memory: Floats
    """Logarithm of the memory of all workers, one column."""
    hardware: Floats
    """Logarithms of clock, and of memory, network and disks per processor."""

    @classmethod
    def of(cls, encoding: Encoding, table: RunTable) -> Self:
        """Return the inputs of a table's rows."""
        features = encoding.of(table).astype(np.float64)
        facts = {name: features[:, [index]] for index, name in enumerate(encoding.names) if name in encoding.hardware}
        zeros = np.zeros((len(table), 1))
        workers, cores, memory = (facts.get(name, zeros) for name in (WORKERS, CORES, MEMORY))
        rates = [
            values if name == f"{HARDWARE}clock_hz" else values - cores
            for name, values in facts.items()
            if "=" not in name and name not in (WORKERS, CORES)
        ]
        kinds, codes = instance_types_of(table)
        types = np.array([*(kind.removeprefix(INSTANCE_TYPE) for kind in kinds), ""])[codes]
        return cls(
            np.array([table.columns["workload"].text(row) or "" for row in range(len(table))]),
            types,
            np.array([family_of(name) for name in types]),
            features[:, _parameter_columns(encoding)],
            workers + cores,
            workers,
            workers + memory,
            np.concatenate([zeros[:, :0], *rates], axis=1),
        )

    def subset(self, rows: Ints) -> "ProcessInputs":
        """Return the rows at these positions."""
        return replace(self, **{field.name: getattr(self, field.name)[rows] for field in fields(self)})

    def centred(self, means: Mapping[str, Floats], scales: Mapping[str, Floats]) -> "ProcessInputs":
        """Return the inputs with numbers as distances from their means, in units of their scales."""
        return replace(self, **{name: (getattr(self, name) - means[name]) / scales[name] for name in means})


def _parameter_columns(encoding: Encoding) -> list[int]:
    """Return the features that are parameters of jobs: the number of a numeric factor, the levels of another."""
    columns: list[int] = []
    start = 0
    for factor in encoding.factors:
        if not factor.varied:
            continue
        end = start + len(factor.feature_levels) + (2 if factor.numeric else 0)
        if factor.name not in ("workload", "cluster") and not factor.of_cluster:
            columns += range(end - 2 if factor.numeric else start, end)
        start = end
    return columns


def _parts(a: ProcessInputs, b: ProcessInputs) -> dict[str, Floats]:
    """Return the covariance of rows of ``a`` and ``b`` by part, for a standard deviation of 1."""
    same_job, same_type, same_family = (
        (getattr(a, name)[:, None] == getattr(b, name)[None, :]).astype(np.float64)
        for name in ("jobs", "types", "families")
    )
    distance = _squared_distance(a.parameters, b.parameters)
    same_case = same_job * (distance < 1e-6)
    processors, memory = (
        np.exp(-_squared_distance(getattr(a, name), getattr(b, name)) / (2 * LENGTH**2))
        for name in ("processors", "memory")
    )
    lines = {name: getattr(a, name) @ getattr(b, name).T for name in ("processors", "workers", "hardware")}
    return {
        "job": same_job,
        "job × parameters, line": same_job * (a.parameters @ b.parameters.T),
        "job × parameters": same_job * np.exp(-distance / 2),
        "case": same_case,
        "processors, line": lines["processors"],
        "processors": processors,
        "job × processors, line": same_job * lines["processors"],
        "job × processors": same_job * processors,
        "case × processors": same_case * processors,
        "workers, line": lines["workers"],
        "job × workers, line": same_job * lines["workers"],
        "memory": memory,
        "job × memory": same_job * memory,
        "case × memory": same_case * memory,
        "hardware, line": lines["hardware"],
        "job × hardware, line": same_job * lines["hardware"],
        "family": same_family,
        "job × family": same_job * same_family,
        "type": same_type,
        "job × type": same_job * same_type,
    }


def _squared_distance(a: Floats, b: Floats) -> Floats:
    squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None, :] - 2 * a @ b.T
    distance: Floats = np.maximum(squares, 0.0)
    return distance


@dataclass(frozen=True, slots=True)
class InstanceTypeModel:
    """A Gaussian process over jobs, sizes and hardware."""

    inputs: ProcessInputs
    """The learned configurations, centred."""
    means: Mapping[str, Floats]
    scales: Mapping[str, Floats]
    deviations: Mapping[str, float]
    """Standard deviation of each part."""
    mean_log: float
    """Mean of the logarithms of times."""
    weights: Floats
    """Inverse covariance of the learned rows, times their logarithms."""
    precision: Floats
    """Inverse covariance of the learned rows."""
    width: float
    """Half width of a 90 % interval, in standard deviations."""
    types: int
    """Number of types that were left out in turn to find ``width``."""

    def estimates(self, inputs: ProcessInputs) -> tuple[Floats, Floats]:
        """Return the expected logarithm of each row's time, and the half width of its 90 % interval."""
        centred = inputs.centred(self.means, self.scales)
        logs, half_widths = np.empty((2, len(centred.jobs)))
        for start in range(0, len(logs), ESTIMATED_ROWS_MAX):
            rows = np.arange(start, min(start + ESTIMATED_ROWS_MAX, len(logs)))
            chunk = centred.subset(rows)
            covariance = _covariance(_parts(chunk, self.inputs), self.deviations)
            variance = _variance(chunk, self.deviations) - ((covariance @ self.precision) * covariance).sum(axis=1)
            logs[rows] = self.mean_log + covariance @ self.weights
            half_widths[rows] = self.width * np.sqrt(np.maximum(variance, self.deviations["scatter"] ** 2))
        return logs, half_widths


def _covariance(parts: Mapping[str, Floats], deviations: Mapping[str, float]) -> Floats:
    """Return the covariance of all parts together, with these standard deviations."""
    total = np.zeros(next(iter(parts.values())).shape)
    for name, part in parts.items():
        total += deviations[name] ** 2 * part
    return total


def _variance(inputs: ProcessInputs, deviations: Mapping[str, float]) -> Floats:
    """Return the variance of each row's logarithm before any time is known, with scatter."""
    squares = {name: (getattr(inputs, name) ** 2).sum(axis=1) for name in NUMBERS}
    variance = np.zeros(len(inputs.jobs))
    for part, deviation in deviations.items():
        variable = part.removesuffix(", line").removeprefix("job × ")
        variance += deviation**2 * (squares[variable] if part.endswith(", line") else 1.0)
    return variance


def learn_instance_types(inputs: ProcessInputs, logs: Floats, seed: int) -> InstanceTypeModel:
    """Return the model of configurations and the logarithms of their times."""
    rows = _sample(inputs.types, seed)
    numbers = {name: getattr(inputs, name)[rows] for name in NUMBERS}
    means = {name: values.mean(axis=0) for name, values in numbers.items()}
    scales = {name: np.ones(values.shape[1]) for name, values in numbers.items()}
    scales["parameters"] = np.where((spread := numbers["parameters"].std(axis=0)) > 1e-9, spread, 1.0)
    learned_inputs = inputs.subset(rows).centred(means, scales)
    mean_log = float(logs[rows].mean())
    centred = logs[rows] - mean_log
    parts = {**_parts(learned_inputs, learned_inputs), "scatter": np.eye(len(rows))}
    variance_rows = slice(VARIANCE_ROWS_MAX)
    deviations = _most_likely(
        {name: part[variance_rows, variance_rows] for name, part in parts.items()}, centred[variance_rows]
    )
    precision: Floats = np.linalg.inv(_covariance(parts, deviations)).astype(np.float64)
    width, types = _width(precision, centred, learned_inputs.types)
    return InstanceTypeModel(
        learned_inputs, means, scales, deviations, mean_log, precision @ centred, precision, width, types
    )


def _sample(types: Texts, seed: int) -> Ints:
    """Return at most :data:`ROWS_MAX` rows, at random: one of each type, then a second of each type, and so on."""
    order = np.random.default_rng(seed).permutation(len(types))
    _, codes = np.unique(types[order], return_inverse=True)
    turns = np.empty(len(types), dtype=np.int64)
    for code in range(codes.max() + 1):
        rows_of_type = np.flatnonzero(codes == code)
        turns[rows_of_type] = np.arange(len(rows_of_type))
    return order[np.argsort(turns, kind="stable")][:ROWS_MAX]


def _most_likely(parts: Mapping[str, Floats], centred: Floats) -> dict[str, float]:
    """Return the standard deviations of the parts that maximise likelihood times prior."""
    from scipy.optimize import minimize

    names = list(parts)
    prior = np.log([DEVIATIONS[name] for name in names])

    def cost(logs: Floats) -> tuple[float, Floats]:
        variances = np.exp(2 * logs)
        covariance = _covariance(parts, dict(zip(names, np.exp(logs), strict=True)))
        precision = np.linalg.inv(covariance)
        weights = precision @ centred
        _, log_determinant = np.linalg.slogdet(covariance)
        outer = np.outer(weights, weights) - precision
        slope = np.array([-v * float((outer * parts[name]).sum()) for v, name in zip(variances, names, strict=True)])
        distances = (logs - prior) / PRIOR_SPREAD
        return 0.5 * (centred @ weights + log_determinant + distances @ distances), slope + distances / PRIOR_SPREAD

    bounds = [(value - 4, value + 4) for value in prior]
    solution = minimize(cost, prior, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS_MAX})
    return dict(zip(names, np.exp(solution.x).tolist(), strict=True))


def _width(precision: Floats, centred: Floats, types: Texts) -> tuple[float, int]:
    """Return the half width of a 90 % interval in standard deviations, from types that are left out in turn."""
    from scipy.stats import t

    weights = precision @ centred
    squares = []
    for name in np.unique(types):
        errors, spread = left_out_errors(precision, weights, np.flatnonzero(types == name))
        squares.append(float(np.quantile(np.abs(errors) / spread, LEVEL)) ** 2)
    normal = float(t.ppf((1 + LEVEL) / 2, np.inf))
    count = len(squares)
    width_ratio = np.sqrt((sum(squares) + PRIOR_TYPES * normal**2) / (count + PRIOR_TYPES)) / normal
    return float(max(1.0, width_ratio) * t.ppf((1 + LEVEL) / 2, count + PRIOR_TYPES - 1)), count


def left_out_errors(precision: Floats, weights: Floats, rows: Ints) -> tuple[Floats, Floats]:
    """Return the errors of ``rows`` that are predicted from all other rows, and their standard deviations.

    Both follow from the inverse covariance of all rows (Rasmussen and Williams, section 5.4.2, for groups of rows).
    """
    covariance = np.linalg.inv(precision[np.ix_(rows, rows)])
    return covariance @ weights[rows], np.sqrt(np.diag(covariance))
