"""Compute the curve of a numeric factor: speed, efficiency and cost at each level, and the knee.

In: a decision whose options are numbers. Out: a :class:`Curve`, or None for fewer than three levels. The knee is the
level beyond which speed hardly rises.
"""

from dataclasses import dataclass

from assay.analysis.comparison.factors.disk_counts import DISKS
from assay.analysis.statistics.scalability import ScalabilityLaw, fit_law
from assay.foundation.units import format_percent
from assay.model import WORKERS_FACTOR
from assay.questions.decisions.buyer import parallelism_factors
from assay.questions.decisions.decision import Decision
from assay.text import format_interval, format_ratio

LEVELS_MIN = 3
"""Minimum number of levels of a curve."""
EXTRAPOLATION_MAX = 2.0
"""A peak beyond this multiple of the largest measured level is not stated."""
KNEE_GAIN = 0.05
"""A step to the next level pays when it raises the speed by more than this share."""
SCALING_FACTORS = (WORKERS_FACTOR, DISKS, *parallelism_factors())
"""Factors that count resources: parallel efficiency is speed / resources."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One level, relative to the smallest."""

    level: float
    speed: float
    low: float | None
    high: float | None
    """Ends of the 95 % interval of the speed; None for the smallest level."""
    efficiency: float | None
    """Speed / (level / smallest level); None for a factor that does not count resources."""
    cost: float | None
    """Cost per job relative to the smallest level; None without prices."""


@dataclass(frozen=True, slots=True)
class Curve:
    """All levels in ascending order, over the workloads that they share."""

    points: tuple[CurvePoint, ...]
    law: ScalabilityLaw | None
    """The fitted Universal Scalability Law; None where it does not fit or the levels are too few."""
    knee: float
    """The smallest level beyond which no step raises the speed by more than 5 %."""
    cheapest: float | None
    """The measured level with the lowest cost per job; None without prices."""

    @property
    def sentence(self) -> str:
        """The speed at the largest level, the knee, the peak and the cheapest level, in words."""
        first, last, knee = self.points[0], self.points[-1], next(p for p in self.points if p.level == self.knee)
        interval = (
            f" ({format_interval(last.low, last.high)})" if last.low is not None and last.high is not None else ""
        )
        text = f"At {last.level:g}, speed is {format_ratio(last.speed)}×{interval} that at {first.level:g}"
        text += (
            f", with a parallel efficiency of {format_percent(last.efficiency)}."
            if last.efficiency is not None
            else "."
        )
        if knee.level < last.level:
            text += f" Beyond {knee.level:g}, no measured step adds more than {format_percent(KNEE_GAIN)}."
        if self.law is not None and (peak := self.law.peak) is not None:
            level = peak * first.level
            if level <= last.level:
                text += f" The fitted scalability law peaks at {level:.3g}."
            elif level <= EXTRAPOLATION_MAX * last.level:
                text += f" Extrapolated: the fitted scalability law peaks at {level:.3g}, beyond the measured range."
        if self.cheapest is not None:
            text += f" A job costs least at {self.cheapest:g}."
        return text


def curve_of(decision: Decision) -> Curve | None:
    """Return the curve over the workloads of the headline, without options that have other workloads.

    None unless the baseline and the options are at least three positive numbers, the baseline the smallest.
    """
    workloads = set(decision.headline_workloads)
    options_by_name = {
        option.option: option for option in decision.options if option.time and set(option.workloads) == workloads
    }
    names = [decision.baseline, *options_by_name]
    numbers = {name: float(name) for name in names if name.replace(".", "", 1).isdecimal() and float(name) > 0}
    if len(numbers) < max(LEVELS_MIN, len(names)) or numbers[decision.baseline] != min(numbers.values()):
        return None
    is_scaling_factor = decision.factor in SCALING_FACTORS
    first_cost = None if decision.currency is None else 1.0
    points = []
    for name, level in sorted(numbers.items(), key=lambda item: item[1]):
        option = options_by_name.get(name)
        speed = option.time.ratio if option and option.time else 1.0
        efficiency = speed / (level / numbers[decision.baseline]) if is_scaling_factor else None
        cost = (option.cost.ratio if option.cost else None) if option else first_cost
        low, high = (option.time.low, option.time.high) if option and option.time else (None, None)
        points.append(CurvePoint(level, speed, low, high, efficiency, cost))
    priced_points = [point for point in points if point.cost is not None]
    knee = points[-1]
    for smaller, larger in zip(points[-2::-1], points[:0:-1], strict=True):
        if larger.speed > smaller.speed * (1 + KNEE_GAIN):
            break
        knee = smaller
    law = fit_law([point.level for point in points], [point.speed for point in points]) if is_scaling_factor else None
    cheapest = (
        min(priced_points, key=lambda point: point.cost or 0.0).level if len(priced_points) == len(points) else None
    )
    return Curve(tuple(points), law, knee.level, cheapest)
