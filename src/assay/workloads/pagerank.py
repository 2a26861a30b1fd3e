"""PageRank over a generated link graph: HiBench's web search, as MapReduce iterations of assay's own job.

Pages have 1 to 100 links, and both their number and their targets follow Zipf's law. Each iteration is one job, which
moves the whole graph through the shuffle. A run is valid if the last iteration has every page and every link, and ranks
that add up to 1.
"""

from collections.abc import Mapping
from functools import partial

from assay.model import Check, Outcome, Program
from assay.workloads.common.checks import approximately_equal, common_checks, equal, equal_to_manifest, replicas
from assay.workloads.common.hadoop_options import assay_program, generator, reduce_options, storage_options
from assay.workloads.common.inputs import OUTPUT, Input, generated_input
from assay.workloads.common.spark_options import partitions, spark_program
from assay.workloads.data_flow import DataFlow
from assay.workloads.workload import (
    INPUT_BYTES,
    ITERATIONS,
    MAPS,
    REDUCES,
    SEED,
    Size,
    ValidationInput,
    ValidationResult,
    Workload,
)

DEFAULT_ITERATIONS = 3
PAGE_BYTES = 182
"""Mean size of a page: 28 bytes for record, number and rank, and 8 for each of its 19.3 links."""
_OUTPUT = f"{OUTPUT}/pagerank"
_LINKS = "GRAPH_LINKS"
_RANK_SUM_FACTOR = 1e15
"""Factor of the sum of ranks in the counter ``PAGERANK_SUM_E15``, which is a whole number."""
_SUM_ERROR_MAX = 1e-9
_SHARES_SHUFFLED = 0.45
"""Bytes of shares that Spark shuffles in an iteration, per byte of the graph: 0.41 and 0.49 in a measured run."""


def _pages(size: Size) -> int:
    return max(1, size.data_bytes // PAGE_BYTES)


def _graph(size: Size, path: str) -> Program:
    return generator("LinkGraph", _pages(size), path, size=size)


class PageRank(Workload):
    """Rank the pages of a graph of about ``data`` bytes."""

    name, title = "pagerank", "PageRank"
    options = (MAPS, REDUCES, ITERATIONS, SEED)
    flow = DataFlow(read=1, shuffled=1, written=1, iterations=DEFAULT_ITERATIONS)
    outputs = (_OUTPUT,)
    figures = (INPUT_BYTES,)

    def data_moved(self, size: Size, engine: str) -> DataFlow:
        """Return the bytes moved. On Spark the graph is read and shuffled once and cached; then only shares of rank
        are shuffled."""
        if engine != "spark":
            return super().data_moved(size, engine)
        return DataFlow(read=1, shuffled=1 + _SHARES_SHUFFLED * self.iterations(size), written=1)

    def input(self, size: Size) -> Input | None:
        """Return the graph, with the number of its links."""
        return generated_input(
            "linkgraph", partial(_graph, size), size.data_bytes, size.replication, counters=(_LINKS,)
        )

    def programs(self, size: Size, input_path: str | None) -> Mapping[str, Program]:
        """Return the programs, with one job for each iteration."""
        arguments = (input_path or "", _OUTPUT, _pages(size), self.iterations(size))
        return {
            "hadoop": assay_program("PageRank", *arguments, options={**storage_options(size), **reduce_options(size)}),
            "spark": spark_program("PageRank", *arguments, partitions(size), options=storage_options(size)),
        }

    async def validate(self, size: Size, outcome: Outcome, validation_input: ValidationInput) -> ValidationResult:
        """Check pages, links, ranks and replicas of the last iteration, and the graph's actual size."""
        stored_files = await validation_input.files.stored(_OUTPUT)
        graph = (
            await validation_input.files.stored(validation_input.input_path)
            if validation_input.input_path
            else stored_files
        )
        rank_sum = (outcome.counter("PAGERANK_SUM_E15") or 0) / _RANK_SUM_FACTOR
        checks = (
            *common_checks(outcome),
            equal("pages", outcome.counter("REDUCE_OUTPUT_RECORDS"), _pages(size), "pages"),
            equal_to_manifest("links", outcome.counter("PAGERANK_LINKS"), validation_input, _LINKS, "links"),
            Check("sum of ranks", abs(rank_sum - 1) <= _SUM_ERROR_MAX, f"{rank_sum:.12f}, expected 1"),
            approximately_equal("input size", graph.length_bytes, size.data_bytes),
            replicas(stored_files, size.replication),
        )
        return ValidationResult(checks, {"input_bytes": float(graph.length_bytes)})


WORKLOADS = (PageRank(),)
