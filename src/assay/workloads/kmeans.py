"""K-means over generated points: HiBench's machine learning, as MapReduce iterations of assay's own job.

Points have 20 dimensions and are distributed around random centres. Each iteration is one job, which reads all points
and shuffles almost nothing. A run is valid if every iteration assigned every point to a cluster, and if the squared
distances from the centroids never grew (in k-means they can't).
"""

from collections.abc import Mapping
from functools import partial
from itertools import pairwise

from assay.model import Check, Outcome, Program
from assay.workloads.common.checks import approximately_equal, common_checks, equal
from assay.workloads.common.hadoop_options import assay_program, generator, reduce_options
from assay.workloads.common.inputs import OUTPUT, Input, generated_input
from assay.workloads.common.spark_options import partitions, spark_program
from assay.workloads.data_flow import DataFlow
from assay.workloads.workload import (
    INPUT_BYTES,
    ITERATIONS,
    MAPS,
    REDUCES,
    SEED,
    Figure,
    Option,
    Size,
    ValidationInput,
    ValidationResult,
    Workload,
)

DEFAULT_ITERATIONS = 5
DEFAULT_CLUSTERS = 10
POINT_BYTES = 180
"""Size of a point: 20 coordinates of 8 bytes, its number, and 12 bytes for lengths."""
CLUSTERS = Option("clusters", "Number of clusters to find, and of centres around which points are generated.")
_OUTPUT = f"{OUTPUT}/kmeans"
_ROUNDING = 1e-9


def _points(size: Size) -> int:
    return max(1, size.data_bytes // POINT_BYTES)


def _generator(size: Size, path: str) -> Program:
    return generator("Points", _points(size), size.clusters or DEFAULT_CLUSTERS, path, size=size)


async def _iterations(validation_input: ValidationInput, iterations: int) -> list[tuple[int, float]]:
    """Return the number of points and the sum of squared distances of each iteration, over its clusters."""
    sums = []
    for iteration in range(1, iterations + 1):
        lines = (await validation_input.files.read(f"{_OUTPUT}/centroids-{iteration}")).decode().splitlines()
        columns = [line.split("\t") for line in lines]
        sums.append((sum(int(column[0]) for column in columns), sum(float(column[1]) for column in columns)))
    return sums


class KMeans(Workload):
    """Cluster about ``data`` bytes of points."""

    name, title = "kmeans", "K-means"
    options = (MAPS, REDUCES, ITERATIONS, CLUSTERS, SEED)
    flow = DataFlow(read=1, iterations=DEFAULT_ITERATIONS)
    outputs = (_OUTPUT,)
    figures = (INPUT_BYTES, Figure("squared_distances", "sum over the last iteration's clusters, as the job wrote it"))

    def data_moved(self, size: Size, engine: str) -> DataFlow:
        """Return the bytes moved. On Spark the points are read once and cached."""
        return DataFlow(read=1) if engine == "spark" else super().data_moved(size, engine)

    def input(self, size: Size) -> Input | None:
        """Return the points, generated around as many centres as there are clusters."""
        return generated_input("points", partial(_generator, size), size.data_bytes, size.replication)

    def programs(self, size: Size, input_path: str | None) -> Mapping[str, Program]:
        """Return the programs, with one job for each iteration."""
        counts = (size.clusters or DEFAULT_CLUSTERS, self.iterations(size))
        arguments = (input_path or "", _OUTPUT, *counts)
        return {
            "hadoop": assay_program("KMeans", *arguments, options=reduce_options(size)),
            "spark": spark_program("KMeans", *arguments, partitions(size), options={}),
        }

    async def validate(self, size: Size, outcome: Outcome, validation_input: ValidationInput) -> ValidationResult:
        """Check that each iteration has all points and does not increase the distances, and check the input's actual
        size."""
        if outcome.exit_status != 0:
            return ValidationResult(common_checks(outcome))
        source = await validation_input.files.stored(validation_input.input_path or _OUTPUT)
        totals = await _iterations(validation_input, self.iterations(size))
        worse_iterations = [
            number
            for number, ((_, previous_distances), (_, distances)) in enumerate(pairwise(totals), 2)
            if distances > previous_distances * (1 + _ROUNDING)
        ]
        distances_text = ", ".join(f"{distances:.6g}" for _, distances in totals)
        checks = (
            *common_checks(outcome),
            equal("points read", outcome.counter("MAP_INPUT_RECORDS"), _points(size), "points"),
            equal("points in clusters", min(points for points, _ in totals), _points(size), "points"),
            Check(
                "squared distances",
                not worse_iterations,
                f"by iteration: {distances_text}" + (f"; {worse_iterations} are worse" if worse_iterations else ""),
            ),
            approximately_equal("input size", source.length_bytes, size.data_bytes),
        )
        return ValidationResult(checks, {"input_bytes": float(source.length_bytes), "squared_distances": totals[-1][1]})


WORKLOADS = (KMeans(),)
