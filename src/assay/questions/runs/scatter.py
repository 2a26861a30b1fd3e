"""Show any metric against any other over the matching runs.

In: a repository, two metrics, conditions, and factors for colour and shape. Out: :class:`ScatterView`: a point for each
valid run that has both metrics, or for :data:`POINTS_MAX` of them: evenly spaced in the order of x, with the smallest
and largest y. The answer counts the runs that are left out, by reason.
"""

from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import ABSENT, Ints, RunTable
from assay.foundation.errors import RepositoryError, SpecificationError, did_you_mean
from assay.questions.runs.runs import comparable, selected
from assay.store import Repository
from assay.text import STARTED

POINTS_MAX = 2000
"""Maximum number of points."""
LEVELS_MAX = 6
"""Maximum number of levels with their own colour or shape; less frequent levels share one."""
OTHER_LEVELS = "other levels"
NO_LEVEL = "not recorded"


@dataclass(frozen=True, slots=True)
class ScatterRequest:
    """Two metrics, factors for colour and shape (empty: none), and conditions.

    Empty ``x``: the start time, or the first metric if no run has a recorded start.
    """

    x: str = ""
    y: str = "duration_s"
    by: str = ""
    shape: str = ""
    where: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScatterPoint:
    """One run."""

    run_id: str
    x: float
    y: float
    colour: str | None
    """Level of the factor; None without a factor."""
    shape: str | None


@dataclass(frozen=True, slots=True)
class ScatterView:
    """The points, their metrics and factors, and the number of runs without a point."""

    x: str
    y: str
    by: str
    shape: str
    matching: int
    """Runs that match the conditions."""
    not_valid: int
    without_metrics: int
    """Valid runs that lack one of the metrics."""
    not_drawn: int
    """Valid runs with both metrics that are left out because there are more than the maximum."""
    points: tuple[ScatterPoint, ...]
    metrics: tuple[str, ...]
    """Metrics to choose from."""
    factors: tuple[str, ...]
    """Factors to choose from."""


def scatter(repository: Repository, request: ScatterRequest) -> ScatterView:
    """Return the points. Raises SpecificationError, with the choices, for an unknown metric or factor."""
    names = repository.metrics()
    if not names:
        raise RepositoryError("there are no runs yet", hint="create runs with `assay import PATH` or `assay demo`")
    metrics = tuple(sorted({*names, "duration_s", STARTED}))
    first = next((name for name in metrics if name not in ("duration_s", STARTED)), STARTED)
    for option, name in (("x", request.x or STARTED), ("y", request.y)):
        if name not in metrics:
            raise SpecificationError(
                f"no run has a metric {name!r}",
                where=option,
                hint=f"{did_you_mean(name, metrics)}metrics: {', '.join(metrics)}",
            )
    all_runs = repository.table(list(dict.fromkeys([request.x or first, STARTED, request.y])))
    x = request.x or (STARTED if np.isfinite(all_runs.values[STARTED]).any() else first)
    factors = tuple(comparable(all_runs))
    for option, name in (("by", request.by), ("shape", request.shape)):
        if name and name not in all_runs.columns:
            raise SpecificationError(
                f"no run has a factor {name!r}",
                where=option,
                hint=f"{did_you_mean(name, factors)}factors: {', '.join(factors)}",
            )
    table = selected(all_runs, request.where)
    is_valid = table.columns["status"].codes == table.columns["status"].code("valid")
    xs, ys = table.values[x], table.values[request.y]
    complete_rows = np.flatnonzero(is_valid & np.isfinite(xs) & np.isfinite(ys))
    drawn_rows = _drawn_rows(complete_rows, table, x, request.y)
    colours, shapes = _levels(table, request.by, complete_rows), _levels(table, request.shape, complete_rows)
    points = (
        tuple(
            ScatterPoint(run_id, float(xs[row]), float(ys[row]), colours.get(row), shapes.get(row))
            for run_id, row in zip(repository.ids_at(table, drawn_rows), drawn_rows, strict=True)
        )
        if drawn_rows
        else ()
    )
    without_metrics = int(is_valid.sum()) - len(complete_rows)
    return ScatterView(
        x=x,
        y=request.y,
        by=request.by,
        shape=request.shape,
        matching=len(table),
        not_valid=len(table) - int(is_valid.sum()),
        without_metrics=without_metrics,
        not_drawn=len(complete_rows) - len(drawn_rows),
        points=points,
        metrics=metrics,
        factors=factors,
    )


def _drawn_rows(complete_rows: Ints, table: RunTable, x: str, y: str) -> list[int]:
    """Return the rows that become points, in the order of x."""
    ordered_rows = complete_rows[np.argsort(table.values[x][complete_rows], kind="stable")]
    if len(ordered_rows) <= POINTS_MAX:
        return [int(row) for row in ordered_rows]
    y_values = table.values[y][ordered_rows]
    at = {int(y_values.argmin()), int(y_values.argmax())}
    at |= set(np.linspace(0, len(ordered_rows) - 1, POINTS_MAX - 2).round().astype(int).tolist())
    return [int(ordered_rows[position]) for position in sorted(at)]


def _levels(table: RunTable, name: str, rows: Ints) -> dict[int, str]:
    """Return each row's level of a factor; less frequent levels are combined. Empty without a factor."""
    if not name:
        return {}
    column = table.columns[name]
    codes, counts = np.unique(column.codes[rows], return_counts=True)
    frequent_codes = set(codes[np.argsort(-counts, kind="stable")][:LEVELS_MAX].tolist())
    return {
        int(row): NO_LEVEL if code == ABSENT else column.levels[code] if code in frequent_codes else OTHER_LEVELS
        for row, code in zip(rows.tolist(), column.codes[rows].tolist(), strict=True)
    }


def counts_text(view: ScatterView) -> str:
    """Return which runs are points, and why others are not."""
    text = f"{len(view.points):,} of {view.matching:,} matching runs"
    reasons = [
        (view.not_valid, "not valid"),
        (view.without_metrics, "without one of the metrics"),
        (
            view.not_drawn,
            f"not drawn: at most {POINTS_MAX:,} are drawn, evenly spaced in the order of x, with the extremes of y",
        ),
    ]
    return "; ".join([text, *(f"{number:,} {reason}" for number, reason in reasons if number)]) + "."
