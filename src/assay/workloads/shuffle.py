"""Shuffle: maps make records, reduces take them, and nothing is read from HDFS or written to it; assay's own job.

LISA'14, table 2: "Shuffle-only job, modified from randomtextwriter in hadoop-examples". It is valid when both sides
counted the bytes that were asked for and the same checksum, and when reduces fetched just what maps had put on their
disks.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay.model.program import Outcome, Program
from assay.workloads.base import (
    Defaults,
    Facts,
    Size,
    Verdict,
    common_checks,
    equal,
    generating,
    nothing_written,
    own_program,
    reducing,
)


@dataclass(frozen=True, slots=True)
class Shuffle(Defaults):
    """Send ``data`` bytes of keys and values from maps to reduces."""

    name: str = "shuffle"

    def data_bytes(self, size: Size) -> int:
        """Return the bytes of all keys and values."""
        return size.data_bytes

    def program(self, size: Size, input_path: str | None) -> Program:  # noqa: ARG002
        """Shuffle them."""
        options = {**generating(size), "assay.payload": size.payload, **reducing(size)}
        return own_program("Shuffle", size.data_bytes, options=options)

    def outputs(self) -> tuple[str, ...]:
        """Leave nothing."""
        return ()

    async def verdict(self, size: Size, outcome: Outcome, facts: Facts) -> Verdict:  # noqa: ARG002
        """Check that what was sent is what was received, byte for byte."""
        fetched = outcome.counter("REDUCE_SHUFFLE_BYTES")
        checks = (
            *common_checks(outcome),
            equal("bytes sent", outcome.counter("SHUFFLE_SENT_BYTES"), size.data_bytes),
            equal("bytes received", outcome.counter("SHUFFLE_RECEIVED_BYTES"), size.data_bytes),
            equal(
                "checksum",
                outcome.counter("SHUFFLE_RECEIVED_CHECKSUM"),
                outcome.counter("SHUFFLE_SENT_CHECKSUM") or -1,
                "(sum of CRC32)",
            ),
            equal("bytes fetched", fetched, outcome.counter("MAP_OUTPUT_MATERIALIZED_BYTES") or -1),
            nothing_written(outcome),
        )
        return Verdict(checks, {"shuffle_bytes": float(fetched)} if fetched else {})
