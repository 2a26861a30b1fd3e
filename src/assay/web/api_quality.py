"""The API of what the runs are worth: causes of runs that are not valid, missing traces, repetitions still needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Depends, Query

from assay.model.run import RunStatus
from assay.quality.causes import Cause, causes_of
from assay.quality.precision import precision
from assay.statistics.facets import level_counts
from assay.statistics.keys import Floats, has_level
from assay.statistics.run_table import Column, RunTable
from assay.web.api_views import Where, selected
from assay.web.context import PROBLEMS, Context, ContextOf, require
from assay.web.models import Model
from assay.web.security import Role

router = APIRouter(prefix="/api/v1", responses=PROBLEMS, dependencies=[Depends(require(Role.READ))], tags=["quality"])

NOT_VALID_MAX = 2_000
"""Of how many runs the causes are read at most: the newest."""
NEEDS_MAX = 100
NO_PLAN = "no plan named"
PRECISION = 0.05
Wanted = Annotated[float, Query(gt=0, le=10, allow_inf_nan=False, description="Half-width: 0.05 is 5 %.")]


class CausesAnswer(Model):
    """Why runs are not valid, the most frequent first."""

    not_valid: int
    looked_at: int
    causes: list[Cause]


class Coverage(Model):
    """What of a plan's runs is there, and whether their caches were cold."""

    plan: str
    runs: int
    traced: int
    cold: int
    warm: int
    unknown: int


class NeedRow(Model):
    """One configuration that is not known precisely enough."""

    run_id: str
    configuration: dict[str, str]
    runs: int
    half_width: float | None
    needed: int | None
    assumed: bool


class PrecisionAnswer(Model):
    """How many repetitions are still needed."""

    wanted: float
    configurations: int
    enough: int
    single: int
    more_runs: int
    unknown: int
    needs: list[NeedRow]


def causes(context: Context, where: Sequence[str]) -> CausesAnswer:
    """Return why the runs that match are not valid."""

    def make(table: RunTable) -> CausesAnswer:
        chosen = selected(table, where)
        rows = np.flatnonzero(~has_level(chosen, "status", RunStatus.VALID.value))
        runs = context.store.repository.runs_at(chosen, rows[-NOT_VALID_MAX:].tolist()) if len(rows) else []
        return CausesAnswer(not_valid=len(rows), looked_at=len(runs), causes=causes_of(runs))

    return context.store.answer(("causes", tuple(where)), make)


def coverage(context: Context, where: Sequence[str]) -> list[Coverage]:
    """Return for each plan how many of its runs have a trace, and cold caches."""

    def traced(table: RunTable) -> Floats:
        there = context.store.repository.traced_runs()
        found = np.zeros(len(table))
        found[context.store.repository.positions_of(table, sorted(there)) if there else []] = 1.0
        return found

    def make(table: RunTable) -> list[Coverage]:
        there = context.store.answer(("traced",), traced)
        marked = RunTable(table.rows, table.columns, {**table.values, "traced": there}, table.source)
        chosen = selected(marked, where)
        every = np.ones(len(chosen), np.bool_)
        nameless = Column(np.zeros(len(chosen), np.int32), (NO_PLAN,))
        named = chosen.columns.get("plan", nameless)
        plans = Column(
            np.where(named.codes < 0, len(named.levels), named.codes).astype(np.int32), (*named.levels, NO_PLAN)
        )
        cold, warm = (has_level(chosen, "cold", level) for level in ("cold", "warm"))
        counts = [level_counts(plans, mask) for mask in (every, chosen.values["traced"].astype(bool), cold, warm)]
        return [
            Coverage(plan=plan, runs=int(n), traced=int(t), cold=int(c), warm=int(w), unknown=int(n - c - w))
            for plan, n, t, c, w in zip(plans.levels, *counts, strict=True)
            if n
        ]

    return context.store.answer(("coverage", tuple(where)), make)


def needs(context: Context, where: Sequence[str], wanted: float) -> PrecisionAnswer:
    """Return how many repetitions each configuration still needs."""

    def make(table: RunTable) -> PrecisionAnswer:
        chosen = selected(table, where)
        found = precision(chosen, wanted, NEEDS_MAX)
        ids = context.store.repository.ids_at(chosen, [need.position for need in found.needs]) if found.needs else []
        several = [name for name in chosen.factors if len(chosen.columns[name].levels) > 1]
        rows = [
            NeedRow(
                run_id=run_id,
                runs=need.runs,
                half_width=need.half_width,
                needed=need.needed,
                assumed=need.assumed,
                configuration={
                    name: text for name in several if (text := chosen.columns[name].text(need.position)) is not None
                },
            )
            for run_id, need in zip(ids, found.needs, strict=True)
        ]
        return PrecisionAnswer(
            wanted=wanted,
            configurations=found.configurations,
            enough=found.enough,
            single=found.single,
            more_runs=found.more_runs,
            unknown=found.unknown,
            needs=rows,
        )

    return context.store.answer(("needs", tuple(where), wanted), make)


@router.get("/causes")
def get_causes(context: ContextOf, where: Where = []) -> CausesAnswer:  # noqa: B006
    """Tell why runs are invalid or failed: alike causes together, with whose fault they were."""
    return causes(context, where)


@router.get("/coverage")
def get_coverage(context: ContextOf, where: Where = []) -> list[Coverage]:  # noqa: B006
    """Tell for each plan how many runs have a trace, and how many were proven cold."""
    return coverage(context, where)


@router.get("/precision")
def get_precision(context: ContextOf, wanted: Wanted = PRECISION, where: Where = []) -> PrecisionAnswer:  # noqa: B006
    """Tell how many repetitions each configuration still needs for a stated precision."""
    return needs(context, where, wanted)
