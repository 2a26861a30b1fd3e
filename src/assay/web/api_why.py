"""The API of reasons: which two runs show a speedup, and what was observed of runs that are compared.

In: a speedup (factor, baseline, candidate, conditions) or ids of runs. Out: ids, and phases, disks and
CPUs side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

import numpy as np
from fastapi import APIRouter, Depends, Query

from assay.compare.example_pair import example_pair
from assay.compare.side_by_side import Sides
from assay.explain.reasons import Reasons, SideSeen, reasons
from assay.questions.runs import selected
from assay.statistics.keys import Mask
from assay.statistics.run_table import RunTable
from assay.web.api_compare import Of, RunIds, kept_sides
from assay.web.api_runs import close_view
from assay.web.context import PROBLEMS, Context, ContextOf, Where, require
from assay.web.models import Model
from assay.web.rendering import NotFoundError
from assay.web.security import Role
from assay.web.store import METRICS

router = APIRouter(prefix="/api/v1", responses=PROBLEMS, dependencies=[Depends(require(Role.READ))], tags=["views"])
Level = Annotated[str, Query(min_length=1, max_length=300)]
Stratum = Annotated[str, Query(max_length=50, description="Empty: any; an origin without a scale is full size.")]


class Pair(Model):
    """Two runs that are equal in everything but a factor."""

    runs: list[str]
    """The baseline's first."""
    observed: bool
    """Whether more than the times of both is known."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The speedup that is asked about."""

    by: str
    baseline: str
    candidate: str
    where: tuple[str, ...] = ()
    origin: str = ""
    """Empty: any. ``lab_scale`` belongs to it: empty with an origin is full size."""
    lab_scale: str = ""

    def address(self) -> str:
        """Return the address that leads to the runs that show it."""
        pairs = [("by", self.by), ("baseline", self.baseline), ("candidate", self.candidate)]
        pairs += [("where", text) for text in self.where if text]
        pairs += [(name, text) for name, text in (("origin", self.origin), ("lab_scale", self.lab_scale)) if text]
        return f"/why?{urlencode(pairs)}"


def _observed(table: RunTable) -> Mask:
    """Return which runs tell more than their time: assay's own, and imports with a trace of their disks."""
    told: Mask = np.isfinite(np.array([table.values[name] for name in METRICS])).any(axis=0)
    return told


def _of_stratum(table: RunTable, asked: Asked) -> RunTable:
    if not asked.origin:
        return table
    keep = np.ones(len(table), dtype=np.bool_)
    for name, text in (("origin", asked.origin), ("lab_scale", asked.lab_scale)):
        column = table.columns.get(name)
        keep &= column.codes == column.code(text) if column is not None else not text
    return table.taken(np.flatnonzero(keep))


def pair_of(context: Context, asked: Asked) -> Pair | None:
    """Return the two runs to look at; None when no two match."""

    def make(table: RunTable) -> Pair | None:
        chosen = _of_stratum(selected(table, asked.where), asked)
        observed = _observed(chosen)
        rows = example_pair(chosen, asked.by, asked.baseline, asked.candidate, observed) if len(chosen) else None
        if rows is None:
            return None
        ids = context.store.repository.ids_at(chosen, list(rows))
        return Pair(runs=ids, observed=bool(observed[list(rows)].all()))

    return context.store.answer(("why", asked), make)


def required_pair(context: Context, asked: Asked) -> Pair:
    """Return the two runs to look at. Raises NotFoundError when no two match."""
    found = pair_of(context, asked)
    if found is None:
        raise NotFoundError(
            f"no run with {asked.candidate} is equal to one with {asked.baseline} in everything else",
            hint="choose two in the list of runs: Compare then says in what they differ",
        )
    return found


@router.get("/why")
def why(
    context: ContextOf,
    by: Level,
    baseline: Level,
    candidate: Level,
    where: Where = [],  # noqa: B006
    origin: Stratum = "",
    lab_scale: Stratum = "",
) -> Pair:
    """Give two runs that show why a level is faster: equal in all else, observed closely if any are, typical."""
    return required_pair(context, Asked(by, baseline, candidate, tuple(where), origin, lab_scale))


def reasons_of(context: Context, sides: Sides) -> Reasons:
    """Return what was observed of one run of each side, the one nearest to its median."""
    seen = [(side.label, close_view(context, side.typical_run_id)) for side in sides.sides]
    return reasons([SideSeen(label, one.run.duration_s, one.detail) for label, one in seen])


@router.get("/reasons")
def reasons_for(context: ContextOf, run: RunIds, of: Of = "configurations") -> Reasons:
    """Tell where the time of runs or configurations went, and what disks and CPUs did meanwhile."""
    return reasons_of(context, kept_sides(context, run, of))
