"""From "this is faster" to "because": the way from a speedup to two configurations that stand for it, side by side.

``/why`` takes what a speedup says (factor, baseline, candidate, workload, origin, scale), chooses the runs to look at
and goes on to the page *Compare*, so that nobody needs to pick runs by hand. Imported runs often tell nothing but their
time: :func:`observed_pairs` says of which others of the workload more is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

import numpy as np
from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from assay.analysis.example_pair import example_pair
from assay.analysis.keys import Mask
from assay.analysis.matched import Speedup
from assay.analysis.overview import Leader
from assay.analysis.table import RunTable
from assay.report import words
from assay.web import api_runs, shown
from assay.web.api_views import Where, selected
from assay.web.context import Context, ContextOf, NotFoundError, require
from assay.web.security import Role
from assay.web.store import METRICS

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse,
                   dependencies=[Depends(require(Role.READ))])  # fmt: skip
OBSERVED_MAX = 6
Level = Annotated[str, Query(min_length=1, max_length=300)]


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


def _pair(context: Context, asked: Asked) -> tuple[str, str, bool] | None:
    """Return the two runs to look at, the baseline's first, and whether both were observed."""

    def make(table: RunTable) -> tuple[str, str, bool] | None:
        chosen = _of_stratum(selected(table, asked.where), asked)
        observed = _observed(chosen)
        rows = example_pair(chosen, asked.by, asked.baseline, asked.candidate, observed) if len(chosen) else None
        if rows is None:
            return None
        ids = context.store.repository.ids_at(chosen, list(rows))
        return ids[0], ids[1], bool(observed[list(rows)].all())

    return context.store.answer(("why", asked), make)


@router.get("/why")
def why(
    context: ContextOf, by: Level, baseline: Level, candidate: Level, where: Where = [],  # noqa: B006
    origin: Annotated[str, Query(max_length=50)] = "", lab_scale: Annotated[str, Query(max_length=50)] = "",
) -> Response:  # fmt: skip
    """Go to two configurations that differ in nothing but the factor."""
    found = _pair(context, Asked(by, baseline, candidate, tuple(where), origin, lab_scale))
    if found is None:
        raise NotFoundError(f"no run with {candidate} is equal to one with {baseline} in everything else",
                            hint="choose two in the list of runs: Compare then says in what they differ")  # fmt: skip
    return RedirectResponse("/compare?" + urlencode([("run", found[0]), ("run", found[1])]), status_code=303)


def of_leader(leader: Leader) -> Asked | None:
    """Return the question why a leader leads; None where nothing was compared."""
    if leader.speedup is None:
        return None
    return Asked(leader.factor, leader.speedup.baseline, leader.speedup.candidate, (f"workload={leader.workload}",),
                 leader.origin, leader.lab_scale or "")  # fmt: skip


def of_speedups(speedups: Sequence[Speedup], where: Sequence[str] | None) -> list[tuple[Speedup, Asked | None]]:
    """Return the speedups that compare something, each with the question why; ``where`` None: it can't be asked."""
    return [(item, None if where is None else _of_speedup(item, where)) for item in speedups if item.ratio is not None]


def _of_speedup(item: Speedup, where: Sequence[str]) -> Asked:
    own = [f"{item.by}={item.group}"] if item.by else []
    also = [text for text in where if text and text not in own and text != f"lab_scale={item.lab_scale}"]
    return Asked(item.factor, item.baseline, item.candidate, (*own, *also), item.origin, item.lab_scale or "")


def observed_pairs(context: Context, workload: str | None = None, *, without: Sequence[str] = ()
                   ) -> list[tuple[str, str, str]]:  # fmt: skip
    """Return comparisons whose runs were observed closely: what, where from, and the address.

    ``workload``: only its own; ``without``: not those of these runs.
    """
    found = []
    for leader in api_runs.summary_of(context).leaders:
        asked = of_leader(leader)
        if asked is None or workload not in (None, leader.workload):
            continue
        pair = _pair(context, asked)
        if pair is not None and pair[2] and not set(pair[:2]) & set(without):
            what = f"{words.workload_title(leader.workload)}: {asked.candidate} against {asked.baseline}"
            found.append((what, shown.origin(leader.origin, leader.lab_scale), asked.address()))
    return found[:OBSERVED_MAX]
