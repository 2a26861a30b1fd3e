"""Build the search space of a tuning: all combinations of the levels in ``--over``, and the plan's configuration. Pure.

In: a plan, one of its workloads, the levels of its factors, texts ``NAME=2..16`` and ``NAME=a,b,c``. Out: a
:class:`Space` of numbered candidates. Candidate 0 is the plan's configuration, called the defaults. The space returns a
candidate as a planned run, or the reason why it can't run. Engine and workload check each candidate like any plan. A
configuration that would wait forever (a container larger than a node) is therefore refused.
"""

import itertools
import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from assay.analysis.statistics import Floats
from assay.execution.planning.order import PlannedRun
from assay.execution.planning.plan_files.changed_plan import CLUSTER_SETTINGS, changed_plan, only_run
from assay.execution.planning.plan_files.plan_reader import checked_plan
from assay.execution.planning.plan_files.settings import setting_names
from assay.execution.planning.plan_files.workload_section import varied_options
from assay.foundation.errors import SpecificationError
from assay.foundation.units import parse_bytes
from assay.model import LAYOUT_FACTOR, Configuration, FailureClass, Plan, WorkloadSpec
from assay.specs.fields import DOTTED, unknown

LEVELS_MAX = 16
"""Maximum levels of a range; of a longer range of whole numbers, values with equal ratios are taken."""
CANDIDATES_MAX = 2_000
"""Maximum number of combinations that are compared. From a larger space they are drawn at random."""
DIMENSIONS_MAX = 12
"""Maximum number of parameters that one tuning varies."""
LINEAR_RATIO_MAX = 4.0
"""Maximum ratio of a range's ends for a linear search scale; wider ranges use a logarithmic scale."""
_RANGE = re.compile(r"(?P<low>\d{1,12})(?P<unit_low>[A-Za-z]*)\.\.(?P<high>\d{1,12})(?P<unit>[A-Za-z]*)")


@dataclass(frozen=True, slots=True)
class Dimension:
    """One varied name with its levels."""

    name: str
    levels: tuple[str, ...]
    default: str | None
    """The plan's level; None if the plan leaves it to the engine."""

    @property
    def numbers(self) -> tuple[float, ...] | None:
        """The levels as numbers between 0 and 1; None if a level is not a number or a size."""
        try:
            values = [_number(level) for level in (*self.levels, *([self.default] if self.default else []))]
        except ValueError:
            return None
        low, high = min(values), max(values)
        if low > 0 and high / low > LINEAR_RATIO_MAX:
            values, low, high = [math.log(value) for value in values], math.log(low), math.log(high)
        return tuple((value - low) / (high - low) if high > low else 0.5 for value in values)


@dataclass(slots=True)
class Space:
    """The candidates by number. Number 0 has the plan's levels."""

    plan: Plan
    """The plan of the defaults: one configuration and one workload."""
    dimensions: tuple[Dimension, ...]
    points: tuple[tuple[str | None, ...], ...]
    """By candidate, the level of each dimension; None leaves it to the engine, as the plan does."""
    combinations: int
    """Number of all combinations. Above :data:`CANDIDATES_MAX`, the candidates are a random sample."""
    _configurations: dict[int, tuple[Configuration, WorkloadSpec] | str] = field(default_factory=dict)

    def run(self, candidate: int, repetition: int, index: int, block: int) -> PlannedRun | None:
        """Return a candidate as a planned run; None if it can't run (:meth:`why_not`)."""
        configuration_or_reason = self._configuration_or_reason(candidate)
        if isinstance(configuration_or_reason, str):
            return None
        return PlannedRun(index, configuration_or_reason[0], configuration_or_reason[1], repetition, block)

    def why_not(self, candidate: int) -> str | None:
        """Return why a candidate can't run; None if it can."""
        configuration_or_reason = self._configuration_or_reason(candidate)
        return configuration_or_reason if isinstance(configuration_or_reason, str) else None

    def levels(self, candidate: int) -> dict[str, str]:
        """Return a candidate's levels as its runs record them, without those that are left to the engine."""
        pairs = zip(self.dimensions, self.points[candidate], strict=True)
        return {dimension.name: level for dimension, level in pairs if level is not None}

    def candidate_of(self, levels: dict[str, str]) -> int | None:
        """Return the candidate with these levels; None if there is none."""
        point = tuple(levels.get(dimension.name) for dimension in self.dimensions)
        return self.points.index(point) if point in self.points else None

    def coordinates(self) -> Floats:
        """Return the candidates as a matrix, with one row per candidate.

        A numeric dimension is one column; others have a column for each level. A dimension that some candidates leave
        to the engine has an additional column.
        """
        columns: list[list[float]] = []
        for index, dimension in enumerate(self.dimensions):
            levels = [point[index] for point in self.points]
            if (numbers := dimension.numbers) is not None:
                number_of_level = dict(zip((*dimension.levels, dimension.default), numbers, strict=False))
                columns.append([number_of_level[level] if level is not None else 0.5 for level in levels])
            else:
                texts = dict.fromkeys(level for level in levels if level is not None)
                columns += [[float(level == word) / math.sqrt(2) for level in levels] for word in texts]
            if None in levels:
                columns.append([float(level is None) for level in levels])
        return np.array(columns, dtype=np.float64).T

    def _configuration_or_reason(self, candidate: int) -> tuple[Configuration, WorkloadSpec] | str:
        if candidate not in self._configurations:
            self._configurations[candidate] = self._make(candidate)
        return self._configurations[candidate]

    def _make(self, candidate: int) -> tuple[Configuration, WorkloadSpec] | str:
        changes = tuple(self.levels(candidate).items())
        [workload] = self.plan.workloads
        base = only_run(self.plan)
        try:
            run = only_run(changed_plan(self.plan, base.configuration.levels, workload.key, changes))
        except SpecificationError as error:
            if candidate == 0:
                raise
            return error.message
        levels = {**base.configuration.levels, **dict(changes)}
        return replace(run.configuration, levels=levels), run.workload


def space_of(plan: Plan, workload: str, at: dict[str, str], over: Sequence[str], runs: int) -> Space:
    """Return the search space. Raises SpecificationError for a name or level that can't be varied.

    ``at``: levels of the plan's factors, by default the first of each; ``runs``: number of runs of the tuning.
    """
    for name, level in at.items():
        factor = next((plan_factor for plan_factor in plan.factors if plan_factor.name == name), None)
        names = [plan_factor.name for plan_factor in plan.factors]
        if factor is None:
            raise SpecificationError(unknown("factor of the plan", name, names), where="--at")
        if level not in factor.levels:
            raise SpecificationError(unknown(f"level of {name}", level, factor.levels), where="--at")
    if workload not in [spec.key for spec in plan.workloads]:
        raise SpecificationError(unknown("workload", workload, [spec.key for spec in plan.workloads]), where="--for")
    if not over:
        raise SpecificationError("no parameter is varied", where="--over", hint="for example --over containers=2..16")
    base_plan = changed_plan(plan, at, workload)
    dimensions = tuple(_dimension(text, base_plan) for text in over)
    names = [dimension.name for dimension in dimensions]
    if repeated_name := next((name for name in names if names.count(name) > 1), None):
        raise SpecificationError(
            f"{repeated_name} is named twice", where="--over", hint="write all its levels in one --over"
        )
    if len(names) > DIMENSIONS_MAX:
        raise SpecificationError(f"{len(names)} parameters are varied; the maximum is {DIMENSIONS_MAX}", where="--over")
    combinations = math.prod(len(dimension.levels) for dimension in dimensions)
    defaults = tuple(dimension.default for dimension in dimensions)
    sampled_points = _points(dimensions, combinations, plan.seed)
    points = tuple(dict.fromkeys((defaults, *sampled_points)))
    retries = {**base_plan.retries, FailureClass.WORKLOAD: 0, FailureClass.VALIDATION: 0}  # a failure is a result
    return Space(checked_plan(replace(base_plan, repetitions=runs, retries=retries)), dimensions, points, combinations)


def _points(dimensions: Sequence[Dimension], combinations: int, seed: int) -> list[tuple[str | None, ...]]:
    if combinations <= CANDIDATES_MAX:
        return list(itertools.product(*(dimension.levels for dimension in dimensions)))
    generator = random.Random(seed)  # noqa: S311 - a sample, not a secret
    points: dict[tuple[str | None, ...], None] = {}
    while len(points) < CANDIDATES_MAX:
        points[tuple(generator.choice(dimension.levels) for dimension in dimensions)] = None
    return list(points)


def _dimension(text: str, plan: Plan) -> Dimension:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not (name and equals and value):
        message = f"{text[:80]!r} is not NAME=LEVELS"
        raise SpecificationError(message, where="--over", hint="examples: containers=2..16, compression=none,snappy")
    [workload] = plan.workloads
    options = varied_options(workload.name)
    option = name.partition(".")[2] if name.partition(".")[0] in (workload.key, workload.name) else name
    if name in CLUSTER_SETTINGS:
        message = f"{name} describes the cluster, which a tuning does not change"
        raise SpecificationError(message, where="--over", hint="`assay whatif` estimates times on another cluster")
    if option in _NOT_TUNED:
        raise SpecificationError(f"{name} changes the work, not the way it is done", where="--over")
    names = (
        LAYOUT_FACTOR,
        *setting_names(plan.rules),
        *(option_name for option_name in options if option_name not in _NOT_TUNED),
    )
    if name not in names and not re.fullmatch(DOTTED, name):
        message = f"{unknown('setting', name, names)}, or an engine parameter such as dfs.blocksize"
        raise SpecificationError(message, where="--over")
    levels = _levels(name, value)
    if len(levels) < 2:
        raise SpecificationError(f"{name} has only one level", where="--over", hint=f"give two or more: {name}=A,B")
    return Dimension(name, levels, _default(name, option, plan))


_NOT_TUNED = ("data", "data_per_node", "waves")
"""Options that set the amount of data or work, and so are not tuned."""


def _default(name: str, option: str, plan: Plan) -> str | None:
    """Return the plan's level of a name; None if the plan does not set it."""
    run = only_run(plan)
    if name == LAYOUT_FACTOR:
        return run.configuration.layout.name
    [workload] = plan.workloads
    if option in varied_options(workload.name):
        return workload.parameters.get(option)
    return plan.parameters.get(name)


def _levels(name: str, text: str) -> tuple[str, ...]:
    match = _RANGE.fullmatch(text)
    if match is None:
        if ".." in text:
            message = f"{name}: {text[:40]!r} is not a range of whole numbers or sizes"
            raise SpecificationError(message, where="--over", hint="examples: 2..16, 32MiB..256MiB")
        levels = [part.strip() for part in text.split(",")]
        if not all(levels):
            raise SpecificationError(f"{name}: a level is missing in {text[:40]!r}", where="--over")
        if len(set(levels)) < len(levels):
            raise SpecificationError(f"{name}: a level is given twice", where="--over")
        return tuple(levels)
    unit = match["unit"]
    if match["unit_low"] not in ("", unit):
        raise SpecificationError(f"{name}: write both ends of {text[:40]!r} in one unit", where="--over")
    low, high = int(match["low"]), int(match["high"])
    if low >= high:
        message = f"{name}: {text[:40]!r} goes from {low} to {high}; write the lower end first"
        raise SpecificationError(message, where="--over")
    count = high - low + 1
    if count <= LEVELS_MAX:
        values = list(range(low, high + 1))
    else:
        start = math.log(max(low, 1))
        step = (math.log(high) - start) / (LEVELS_MAX - 1)
        values = [low, *(round(math.exp(start + step * index)) for index in range(1, LEVELS_MAX - 1)), high]
    return tuple(dict.fromkeys(f"{value}{unit}" for value in values))


def _number(level: str) -> float:
    try:
        return float(level)
    except ValueError:
        return float(parse_bytes(level))
