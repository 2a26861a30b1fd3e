"""Shuffle: maps generate records, reduces receive them, and HDFS is neither read nor written; assay's own job.

LISA'14, table 2: "Shuffle-only job, modified from randomtextwriter in hadoop-examples". A run is valid if both sides
counted the requested bytes and the same checksum, and if reduces fetched exactly the bytes that maps had written to
their disks.
"""

from collections.abc import Mapping

from assay.model import Outcome, Program
from assay.workloads.common.checks import common_checks, equal, equal_to_counter, no_output_check
from assay.workloads.common.hadoop_options import DEFAULT_MAPS, assay_program, generator_options, reduce_options
from assay.workloads.common.spark_options import partitions, spark_program
from assay.workloads.data_flow import DataFlow
from assay.workloads.workload import (
    MAPS,
    PAYLOAD,
    REDUCES,
    SEED,
    Figure,
    Option,
    Size,
    ValidationInput,
    ValidationResult,
    Workload,
)

_BURN = "CPU milliseconds that each {} task spends in the method burnCpu, to test profiles. 0 if left out."
MAP_BURN_MS = Option("map_burn_ms", _BURN.format("map"), minimum=0)
REDUCE_BURN_MS = Option("reduce_burn_ms", _BURN.format("reduce"), minimum=0)


class Shuffle(Workload):
    """Send ``data`` bytes of keys and values from maps to reduces."""

    name, title = "shuffle", "Shuffle"
    options = (MAPS, REDUCES, PAYLOAD, SEED, MAP_BURN_MS, REDUCE_BURN_MS)
    flow = DataFlow(shuffled=1)
    figures = (Figure("shuffle_bytes", "counter of the bytes that reduces fetched"),)
    wave_options = ("maps", "reduces")

    def programs(self, size: Size, input_path: str | None) -> Mapping[str, Program]:  # noqa: ARG002
        """Return the programs of the shuffle."""
        map_burn_ms, reduce_burn_ms = (size.options.get(burn.name, "0") for burn in (MAP_BURN_MS, REDUCE_BURN_MS))
        burns = {"assay.shuffle.map-burn-ms": map_burn_ms, "assay.shuffle.reduce-burn-ms": reduce_burn_ms}
        options = {**generator_options(size), "assay.payload": size.payload, **reduce_options(size), **burns}
        maps = size.maps or DEFAULT_MAPS
        counts = (size.data_bytes, maps, partitions(size), size.payload, size.seed, map_burn_ms, reduce_burn_ms)
        return {
            "hadoop": assay_program("Shuffle", size.data_bytes, options=options),
            "spark": spark_program("Shuffle", *counts, options={}),
        }

    async def validate(self, size: Size, outcome: Outcome, validation_input: ValidationInput) -> ValidationResult:  # noqa: ARG002
        """Check that the received bytes equal the sent bytes."""
        fetched = outcome.counter("REDUCE_SHUFFLE_BYTES")
        checks = (
            *common_checks(outcome),
            equal("bytes sent", outcome.counter("SHUFFLE_SENT_BYTES"), size.data_bytes),
            equal("bytes received", outcome.counter("SHUFFLE_RECEIVED_BYTES"), size.data_bytes),
            equal_to_counter(
                "checksum",
                outcome.counter("SHUFFLE_RECEIVED_CHECKSUM"),
                outcome,
                "SHUFFLE_SENT_CHECKSUM",
                "(sum of CRC32)",
            ),
            equal_to_counter("bytes fetched", fetched, outcome, "MAP_OUTPUT_MATERIALIZED_BYTES"),
            no_output_check(outcome),
        )
        return ValidationResult(checks, {"shuffle_bytes": float(fetched)} if fetched else {})


WORKLOADS = (Shuffle(),)
