"""Views over many runs that more than one face shows: which runs are looked at, and what else differed between them.

In: a repository and its table of runs. Out: tables and lines of warning. The command line and the web app call the same
functions, so that one question has one answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.compare.compression import moves_with, with_compression
from assay.compare.differences import environment_warnings, host_facts
from assay.compare.matched import Speedup, matched_speedups
from assay.compare.published import AVERAGE, Figure, aloja, lisa14
from assay.compare.significance import BestSet, indistinguishable_from_best
from assay.errors import SpecificationError
from assay.model.plan import COMPRESSION
from assay.model.price import PriceBook
from assay.model.run import Run
from assay.questions.planes import PlaneView, Question, default_factors, facts_told, plane_views
from assay.repository import Repository
from assay.statistics.keys import first_rows, groups_by
from assay.statistics.run_table import RunTable

SAMPLED = 50
"""Of how many runs of each level the hosts' records are compared."""


def with_factors(table: RunTable, names: Sequence[str]) -> RunTable:
    """Return the table with the factors that are made of several parameters, where they are asked for."""
    return with_compression(table) if COMPRESSION in names else table


def _moving(table: RunTable, names: Sequence[str]) -> list[str]:
    """Return a warning for each factor that another one moves with, so that few runs are equal in all else."""
    pairs = [(name, moves_with(name, table)) for name in names]
    return [
        f"{other} changes together with {name}: --by compression compares both as one"
        for name, other in pairs
        if other and other not in names
    ]


def differences(repository: Repository, table: RunTable, factor: str, found: Sequence[Speedup]) -> list[str]:
    """Return what was recorded of the hosts and differs between the levels, from up to :data:`SAMPLED` runs of each."""
    column, status = table.columns[factor], table.columns["status"]
    valid = status.codes == status.code("valid")

    def sample(level: str) -> list[int]:
        at = ((column.codes == column.code(level)) & valid).nonzero()[0]
        positions: list[int] = at[:: max(1, len(at) // SAMPLED)][:SAMPLED].tolist()
        return positions

    compared = [item for item in found if item.ratio is not None]
    if not compared:
        return []
    baseline, *levels = dict.fromkeys((compared[0].baseline, *(item.candidate for item in compared)))
    samples = {level: sample(level) for level in (baseline, *levels)}
    every = [position for positions in samples.values() for position in positions]
    hosts = dict(zip(every, repository.environments_at(table, every), strict=True))
    sides = {level: host_facts((hosts[at] for at in positions), factor) for level, positions in samples.items()}
    told = (warning for level in levels for warning in environment_warnings(sides[baseline], sides[level]))
    return list(dict.fromkeys(told))


@dataclass(frozen=True, slots=True)
class SpeedupView:
    """Every level of a factor against its baseline, with what may be the fastest and what else differed."""

    factor: str
    baseline: str | None
    group: str | None
    speedups: tuple[Speedup, ...]
    best: tuple[BestSet, ...]
    warnings: tuple[str, ...]


def speedup_view(
    repository: Repository,
    table: RunTable,
    factors: Sequence[str],
    baseline: str | None,
    *,
    group: str | None = "workload",
    ignore: frozenset[str] = frozenset(),
    deployments: bool = False,
) -> SpeedupView:
    """Return the speedups over matched sets. Raises :class:`SpecificationError` for what no run has."""
    table = with_factors(table, factors)
    factor: str | list[str] = factors[0] if len(factors) == 1 else list(factors)
    found = matched_speedups(table, factor, baseline, by=group, ignore=ignore, deployments=deployments)
    best = indistinguishable_from_best(table, factor, by=group, ignore=ignore) if group else []
    warnings = differences(repository, table, factors[0], found) if len(factors) == 1 else []
    warnings += _moving(table, factors)
    first = found[0].baseline if found else baseline
    return SpeedupView(" + ".join(factors), first, group, tuple(found), tuple(best), tuple(warnings))


def published_figures(table: RunTable, factor: str, baseline: str | None, method: str) -> list[Figure]:
    """Return a publication's own definition of a speedup: ``aloja`` or ``lisa14``."""
    if method == "aloja":
        return aloja(table, factor, baseline or AVERAGE)
    if baseline is None:
        raise SpecificationError("LISA'14 normalises to a setup", where="--baseline", hint="name it")
    return lisa14(table, factor, baseline)


def cost_planes(
    repository: Repository, table: RunTable, book: PriceBook, question: Question | None = None, by: Sequence[str] = ()
) -> list[PlaneView]:
    """Return the cost-effectiveness plane of each job, from one run's word on each cluster and layout."""
    table = with_factors(table, by)
    places = [name for name in ("cluster", "layout") if name in table.columns]
    rows = first_rows(groups_by(table, places)).tolist()
    names = (
        [table.columns[name].text(row) or "" if name in places else "" for row in rows]
        for name in ("cluster", "layout")
    )
    facts = facts_told(zip(*names, repository.environments_at(table, rows), strict=True))
    factors = tuple(by) or default_factors(table)
    asked = question or Question()
    asked = Question(factors, asked.take, asked.on, asked.currency, asked.skip_unpriced, asked.seed)
    return plane_views(table, facts, book, asked)


def examples_of(repository: Repository, table: RunTable) -> list[Run]:
    """Return one run of each cluster, engine and origin, whole."""
    names = [name for name in ("cluster", "engine", "engine_version", "origin") if name in table.columns]
    return repository.runs_at(table, first_rows(groups_by(table, names)).tolist()) if len(table) else []
