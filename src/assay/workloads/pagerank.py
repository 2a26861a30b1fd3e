"""PageRank over a generated link graph: HiBench's web search, as MapReduce iterations; assay's own job.

Pages have 1 to 100 links, and both their number and their targets follow Zipf's law. Each iteration is one job, which
moves the whole graph through the shuffle. It is valid when the last one has every page and every link, and ranks that
add up to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from assay.model.program import Outcome, Program
from assay.model.run import Check
from assay.workloads.base import (
    OUTPUT,
    Defaults,
    Facts,
    Input,
    Size,
    Verdict,
    about,
    common_checks,
    equal,
    generated,
    generating,
    own_program,
    reducing,
    replicas,
)

DEFAULT_ITERATIONS = 3
PAGE_BYTES = 182
"""Of one page on average: 28 of record, number and rank, and 8 for each of its 19.3 links."""
_OUTPUT = f"{OUTPUT}/pagerank"
_LINKS = "GRAPH_LINKS"
_UNITS = 1e15
_SUM_ERROR_MAX = 1e-9


def _pages(size: Size) -> int:
    return max(1, size.data_bytes // PAGE_BYTES)


def _graph(size: Size, path: str) -> Program:
    options = {**generating(size), **size.stored}
    return own_program("LinkGraph", _pages(size), path, options=options)


@dataclass(frozen=True, slots=True)
class PageRank(Defaults):
    """Rank the pages of a graph of about ``data`` bytes."""

    name: str = "pagerank"

    def data_bytes(self, size: Size) -> int:
        """Return the bytes of the graph that were asked for."""
        return size.data_bytes

    def input(self, size: Size) -> Input | None:
        """Need the graph, with the number of its links."""
        return generated("linkgraph", partial(_graph, size), size.data_bytes, size.replication, counters=(_LINKS,))

    def program(self, size: Size, input_path: str | None) -> Program:
        """Rank them, in one job for each iteration."""
        iterations = size.iterations or DEFAULT_ITERATIONS
        options = {**size.stored, **reducing(size)}
        return own_program("PageRank", input_path or "", _OUTPUT, _pages(size), iterations, options=options)

    def outputs(self) -> tuple[str, ...]:
        """Name the ranks."""
        return (_OUTPUT,)

    async def verdict(self, size: Size, outcome: Outcome, facts: Facts) -> Verdict:
        """Check pages, links, ranks and replicas of the last iteration, and the graph's real size."""
        stored = await facts.files.stored(_OUTPUT)
        graph = await facts.files.stored(facts.input_place) if facts.input_place else stored
        total = (outcome.counter("PAGERANK_SUM_E15") or 0) / _UNITS
        checks = (
            *common_checks(outcome),
            equal("pages", outcome.counter("REDUCE_OUTPUT_RECORDS"), _pages(size), "pages"),
            equal("links", outcome.counter("PAGERANK_LINKS"), facts.manifest.get(_LINKS, -1), "links"),
            Check("sum of ranks", abs(total - 1) <= _SUM_ERROR_MAX, f"{total:.12f}, expected 1"),
            about("input size", graph.length_bytes, size.data_bytes),
            replicas(stored, size.replication),
        )
        return Verdict(checks, {"input_bytes": float(graph.length_bytes)})
